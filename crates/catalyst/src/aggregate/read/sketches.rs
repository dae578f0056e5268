//! Aggregates that make sketches.

use super::{Fields, Parts};
use crate::aggregate::AggregateKind;
use crate::error::{Result, Unsupported};
use crate::expr::ExprKind;
use crate::literal::Literal;
use crate::types::DataType;

impl Fields<'_, '_> {
    fn constant(self, field: &str) -> Result<Literal> {
        match self.arg(field)?.kind {
            ExprKind::Literal(literal) => Ok(literal),
            _ => Err(self.without_constant(field)),
        }
    }

    fn without_constant(self, field: &str) -> Unsupported {
        let name = self.object.name();
        Unsupported::of_use(format!("{name} without a constant {field}"))
    }

    /// Sketches have registers of a byte: no release of Spark makes others.
    fn of_bytes(self) -> Result<()> {
        let kind = self
            .reader
            .graph
            .enum_constant(self.object.value("targetType")?);
        match kind.as_deref() {
            Some("HLL_8") => Ok(()),
            _ => Err(Unsupported::of_use(format!(
                "{} of other registers",
                self.object.name()
            ))),
        }
    }

    pub(super) fn hll_sketch(self) -> Result<Parts> {
        // The last is lazy, of the second.
        self.only_placed(&["left", "right", "targetType", "lgConfigK"])?;
        self.of_bytes()?;
        let lg_k = match self.constant("right")? {
            Literal::Integer(lg_k) => u8::try_from(lg_k).ok(),
            _ => None,
        };
        let lg_k = lg_k.ok_or_else(|| self.without_constant("lgConfigK"))?;
        let child = self.arg("left")?;
        Ok((
            AggregateKind::HllSketch { lg_k },
            vec![child],
            DataType::Binary,
        ))
    }

    pub(super) fn hll_union(self) -> Result<Parts> {
        // The last is lazy, of the second.
        self.only_placed(&["left", "right", "targetType", "allowDifferentLgConfigK"])?;
        self.of_bytes()?;
        let Literal::Boolean(any_size) = self.constant("right")? else {
            return Err(self.without_constant("allowDifferentLgConfigK"));
        };
        let child = self.arg("left")?;
        Ok((
            AggregateKind::HllUnion { any_size },
            vec![child],
            DataType::Binary,
        ))
    }

    pub(super) fn count_min_sketch(self) -> Result<Parts> {
        self.only_placed(&[
            "child",
            "epsExpression",
            "confidenceExpression",
            "seedExpression",
            // Lazy, of the expressions above.
            "eps",
            "confidence",
            "seed",
        ])?;
        let child = self.arg("child")?;
        Ok((AggregateKind::CountMinSketch, vec![child], DataType::Binary))
    }

    /// Error, confidence and seed.
    pub(super) fn count_min_constants(self) -> Result<Vec<Literal>> {
        let fields = ["epsExpression", "confidenceExpression", "seedExpression"];
        fields
            .into_iter()
            .map(|field| self.constant(field))
            .collect()
    }
}
