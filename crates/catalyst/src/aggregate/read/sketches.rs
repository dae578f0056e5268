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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use javaser::Limits;
    use javaser::arena::Graph;
    use testkit::{Distribution, VERSIONS, from_hex};

    use super::*;
    use crate::aggregate::AggregateFunction;
    use crate::expr::{Expr, Function};
    use crate::object::Reader;
    use crate::stage::Settings;

    /// What Spark of a version serializes.
    fn serialized(version: &str) -> Vec<Graph> {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/Aggregates.java");
        let class_path = Distribution::find(version).class_path();
        let mut java = Command::new(testkit::jdk().join("bin/java"));
        let output = java.args(["-cp", &class_path, program]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let graph = |line| {
            Graph::parse_first(&from_hex(line), &Limits::default())
                .unwrap()
                .0
        };
        text.lines().map(graph).collect()
    }

    fn aggregate(graph: &Graph) -> AggregateFunction {
        let reader = Reader::new(graph, Settings::default());
        let object = reader.expect(graph.root().unwrap()).unwrap();
        AggregateFunction::read(&reader, object).unwrap()
    }

    fn call(graph: &Graph) -> (Function, DataType, usize) {
        let reader = Reader::new(graph, Settings::default());
        let expr = Expr::read(&reader, graph.root().unwrap()).unwrap();
        match expr.kind {
            ExprKind::Call { function, args, .. } => (function, expr.data_type, args.len()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sketches_of_every_version_are_read() {
        let counts = [
            Literal::Double(0.5),
            Literal::Double(0.9),
            Literal::Integer(7),
        ];
        for version in VERSIONS {
            let graphs = serialized(version);
            let [fresh, used, functions] = [&graphs[..3], &graphs[3..6], &graphs[6..]];
            for aggregates in [fresh, used] {
                let [sketch, union, count] = [0, 1, 2].map(|at| aggregate(&aggregates[at]));
                assert_eq!(
                    sketch.kind,
                    AggregateKind::HllSketch { lg_k: 10 },
                    "{version}"
                );
                assert_eq!(sketch.args[0].data_type, DataType::String);
                assert_eq!(union.kind, AggregateKind::HllUnion { any_size: true });
                assert_eq!(count.kind, AggregateKind::CountMinSketch);
                assert_eq!(count.constants, counts);
                for of in [sketch, union, count] {
                    assert_eq!(of.data_type, DataType::Binary);
                    assert_eq!(of.args.len(), 1);
                }
            }
            assert_eq!(
                call(&functions[0]),
                (Function::HllSketchEstimate, DataType::Long, 1)
            );
            assert_eq!(
                call(&functions[1]),
                (Function::HllUnion, DataType::Binary, 3)
            );
        }
    }
}
