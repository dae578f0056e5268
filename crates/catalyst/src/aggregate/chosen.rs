//! Aggregate functions that choose among values: by others, by how often they come, by how near they are.

use super::read::{Fields, Parts};
use super::{AggregateKind, Ties};
use crate::error::{Result, Unsupported};
use crate::expr::ExprKind;
use crate::literal::Literal;
use crate::types::{DataType, StructField};

impl Fields<'_, '_> {
    pub(super) fn extremum_by(self, name: &str) -> Result<Parts> {
        self.only(&["valueExpr", "orderingExpr"])?;
        let (value, by) = (self.arg("valueExpr")?, self.arg("orderingExpr")?);
        let data_type = value.data_type.clone();
        let kind = match name {
            "MaxBy" => AggregateKind::MaxBy,
            _ => AggregateKind::MinBy,
        };
        Ok((kind, vec![value, by], data_type))
    }

    pub(super) fn extremes_by(self) -> Result<Parts> {
        self.only_placed(&[
            "valueExpr",
            "orderingExpr",
            "kExpr",
            "reverse",
            "k",
            "valuesAttr",
            "orderingsAttr",
            "heapIndicesAttr",
            "inputAggBufferAttributes",
            "VALUES_OFFSET",
            "ORDERINGS_OFFSET",
            "HEAP_OFFSET",
        ])?;
        // From 1 to 100000, as analysis has seen.
        let rows = match self.arg("kExpr")?.kind {
            ExprKind::Literal(Literal::Byte(rows)) => Some(i32::from(rows)),
            ExprKind::Literal(Literal::Short(rows)) => Some(i32::from(rows)),
            ExprKind::Literal(Literal::Integer(rows)) => Some(rows),
            ExprKind::Literal(Literal::Long(rows)) => i32::try_from(rows).ok(),
            _ => None,
        };
        let rows = rows.filter(|rows| (1..=100_000).contains(rows));
        let rows = rows.ok_or_else(|| Unsupported::of_use("MaxMinByK of no number of rows"))?;
        let args = self.args(&["valueExpr", "orderingExpr"])?;
        let data_type = match args.first() {
            Some(value) => DataType::Array {
                element: Box::new(value.data_type.clone()),
                contains_null: true,
            },
            None => return Err(self.object.missing("valueExpr")),
        };
        let least = self.object.bool("reverse")?;
        Ok((AggregateKind::ExtremesBy { least, rows }, args, data_type))
    }

    pub(super) fn histogram(self) -> Result<Parts> {
        self.only_placed(&["child", "nBins", "nb", "propagateInputType"])?;
        let child = self.arg("child")?;
        let bins = match self.arg("nBins")?.kind {
            ExprKind::Literal(Literal::Integer(bins)) if bins >= 2 => bins,
            _ => return Err(Unsupported::of_use("a histogram without a number of bins")),
        };
        // Lazy, of a setting; whoever was not asked for its type has none that anybody sees.
        let centers = match self.object.flag("propagateInputType") {
            true => child.data_type.clone(),
            false => DataType::Double,
        };
        let fields =
            [("x", centers), ("y", DataType::Double)].map(|(name, data_type)| StructField {
                name: name.to_owned(),
                data_type,
                nullable: true,
                field_id: None,
                exists_default: None,
            });
        let data_type = DataType::Array {
            element: Box::new(DataType::Struct(fields.to_vec())),
            contains_null: true,
        };
        Ok((AggregateKind::Histogram { bins }, vec![child], data_type))
    }

    pub(super) fn mode(self) -> Result<Parts> {
        self.only_placed(&["child", "reverseOpt", "collationId"])?;
        let reverse = match self.object.get("reverseOpt") {
            // Before Spark 4.0.
            None => None,
            Some(_) => self.object.option("reverseOpt")?,
        };
        let ties = match reverse.map(|reverse| self.reader.graph.bool(reverse)) {
            None => Ties::First,
            Some(Some(true)) => Ties::Least,
            Some(Some(false)) => Ties::Greatest,
            Some(None) => return Err(self.object.missing("reverseOpt")),
        };
        let child = self.arg("child")?;
        let data_type = child.data_type.clone();
        Ok((AggregateKind::Mode { ties }, vec![child], data_type))
    }
}
