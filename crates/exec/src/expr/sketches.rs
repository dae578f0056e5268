//! Functions of sketches: `HllSketchEstimate`, `HllUnion`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewBuilder, Int64Array};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::{DataFusionError, Result};
use datafusion_physical_expr::PhysicalExpr;
use sketches::hll::{HllSketch, HllUnion, Source};
use sketches::{CountMinPlan, Unreadable};

use super::fdlibm;
use super::kernel::{Arg, Kernel, single, union_nulls};
use super::refused;
use catalyst::{Function, Unsupported};
use rows::error::bail_out;

/// What the JVM makes of a sketch that is not read here is for it to say.
pub(crate) fn left(reason: Unreadable) -> DataFusionError {
    bail_out(reason.0)
}

/// Why two sketches are not united: without leave they must be of one size, and Spark's versions differ in what size
/// comes of one that is of nothing.
pub(crate) fn refused_sizes(
    [left, right]: [u8; 2],
    one_is_empty: bool,
    any_size: bool,
) -> Result<()> {
    match left == right {
        true => Ok(()),
        false if one_is_empty => Err(bail_out("an empty HLL sketch of another size")),
        false if !any_size => Err(bail_out("HLL sketches of different sizes")),
        false => Ok(()),
    }
}

/// What count-min sketches of an error, a confidence and a seed have in common.
// As Java, which has the nearest int for what is none.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn count_min_plan(error: f64, confidence: f64, seed: i32) -> Option<CountMinPlan> {
    if !(error > 0.0 && confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let width = (2.0 / error).ceil() as i32;
    // Java's `log1p` is that of fdlibm.
    let depth = (-fdlibm::log1p(-confidence) / std::f64::consts::LN_2).ceil() as i32;
    CountMinPlan::new(depth, width, seed)
}

pub(super) fn lower(
    function: Function,
    types: &[ArrowType],
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use ArrowType as A;
    let name = function.name();
    Ok(match (function, types) {
        (Function::HllSketchEstimate, [A::BinaryView]) => {
            Kernel::strict(name, args, A::Int64, |args, _| {
                let sketches = single(args)?.binary()?;
                let estimates = sketches.iter().map(|bytes| {
                    let estimate = |bytes: &[u8]| HllSketch::read(bytes)?.estimate();
                    bytes.map(estimate).transpose().map_err(left)
                });
                Ok(Arc::new(estimates.collect::<Result<Int64Array>>()?))
            })
        }
        (Function::HllUnion, [A::BinaryView, A::BinaryView, A::Boolean]) => {
            Kernel::strict(name, args, A::BinaryView, unions)
        }
        _ => return Err(refused(function, types)),
    })
}

fn unions(args: &[Arg], rows: usize) -> Result<ArrayRef> {
    let [first, second, any_size] = args else {
        return Err(bail_out("another number of arguments"));
    };
    let nulls = union_nulls(&[first, second, any_size]);
    let (left_bytes, right_bytes) = (first.binary()?, second.binary()?);
    let sizes = any_size.boolean()?;
    let mut builder = BinaryViewBuilder::with_capacity(rows);
    for row in 0..rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            builder.append_null();
            continue;
        }
        let one = HllSketch::read(left_bytes.value(first.at(row))).map_err(left)?;
        let other = HllSketch::read(right_bytes.value(second.at(row))).map_err(left)?;
        let any_size = sizes.value(any_size.at(row));
        let lg_k = [one.lg_k(), other.lg_k()];
        refused_sizes(lg_k, one.is_empty() || other.is_empty(), any_size)?;
        let union = HllUnion::new(one.lg_k().min(other.lg_k()));
        let mut union = union.ok_or_else(|| bail_out("an HLL sketch of no size"))?;
        union.add(one, Source::Object);
        union.add(other, Source::Object);
        builder.append_value(union.finish().to_bytes());
    }
    Ok(Arc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTHS: [(f64, i32); 42] = [
        (1.0E-9, 1),
        (0.3, 1),
        (0.9, 4),
        (0.95, 5),
        (0.99, 7),
        (0.999, 10),
        (0.49999999999999994, 1),
        (0.5, 1),
        (0.5000000000000001, 2),
        (0.7499999999999999, 2),
        (0.75, 2),
        (0.7500000000000001, 3),
        (0.8749999999999999, 3),
        (0.875, 3),
        (0.8750000000000001, 4),
        (0.9374999999999999, 4),
        (0.9375, 4),
        (0.9375000000000001, 5),
        (0.9687499999999999, 5),
        (0.96875, 5),
        (0.9687500000000001, 6),
        (0.9843749999999999, 6),
        (0.984375, 6),
        (0.9843750000000001, 7),
        (0.9921874999999999, 7),
        (0.9921875, 7),
        (0.9921875000000001, 8),
        (0.9960937499999999, 8),
        (0.99609375, 8),
        (0.9960937500000001, 9),
        (0.9980468749999999, 9),
        (0.998046875, 9),
        (0.9980468750000001, 10),
        (0.9990234374999999, 10),
        (0.9990234375, 10),
        (0.9990234375000001, 11),
        (0.9995117187499999, 11),
        (0.99951171875, 11),
        (0.9995117187500001, 12),
        (0.9997558593749999, 12),
        (0.999755859375, 12),
        (0.9997558593750001, 13),
    ];

    /// From Spark 4.3.0: `CountMinSketch.create(1.0, confidence, 1).depth()`.
    #[test]
    fn depths_are_sparks() {
        for (confidence, depth) in DEPTHS {
            let plan = count_min_plan(1.0, confidence, 1).unwrap();
            assert_eq!(Some(plan), CountMinPlan::new(depth, 2, 1), "{confidence}");
        }
        for [error, confidence] in [
            [0.0, 0.5],
            [-1.0, 0.5],
            [1.0, 0.0],
            [1.0, 1.0],
            [1e-12, 0.5],
        ] {
            assert_eq!(count_min_plan(error, confidence, 1), None);
        }
    }
}
