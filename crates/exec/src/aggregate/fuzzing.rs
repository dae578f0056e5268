//! Buffers of aggregate functions, as other executors send them, as the fuzz target sees them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryViewArray, Int64Array};
use catalyst::{
    AggregateFunction, AggregateKind, Attribute, Between, DataType, Decimal, Expr, ExprId,
    ExprKind, Literal, StructField, Ties,
};
use javaser::ScalaVersion;

use super::accumulator::Factory;
use super::{hll, sketch};

/// Merges bytes as the buffer of each function that has one of its own, alone and into what was there, and asks for the
/// result and for the buffer that is sent on.
pub fn aggregation_buffers(data: &[u8]) {
    let buffer: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([data, data]));
    for function in typed() {
        merge(&function, std::slice::from_ref(&buffer));
    }
    let words = data.chunks_exact(8).map(|word| {
        let word: [u8; 8] = word.try_into().expect("eight bytes");
        i64::from_le_bytes(word)
    });
    let words: Vec<i64> = words.collect();
    let word = |place: usize| words.get(place).copied().unwrap_or_default();
    let kind = AggregateKind::ApproxCountDistinct { precision: 9 };
    let mut distinct = function(kind, &DataType::Long, &[], DataType::Long);
    let mut registers: Vec<ArrayRef> = Vec::new();
    for (place, id) in (0..hll::words(9)).zip(0..) {
        let both = vec![word(place), word(place + 1)];
        registers.push(Arc::new(Int64Array::from(both)));
        distinct.input_buffer.push(Attribute {
            name: format!("MS[{place}]"),
            data_type: DataType::Long,
            nullable: false,
            id: ExprId { id, jvm_id: 0 },
        });
    }
    merge(&distinct, &registers);
}

fn merge(function: &AggregateFunction, buffers: &[ArrayRef]) {
    let Ok(factory) = Factory::new(function) else {
        return;
    };
    for asks_for_buffers in [false, true] {
        let mut accumulator = factory.accumulator().expect("a function that was judged");
        // Two groups, and the first again.
        let merged = accumulator
            .merge(buffers, &[0, 1], 2)
            .and_then(|()| accumulator.merge(buffers, &[0, 0], 2));
        if merged.is_err() {
            continue;
        }
        match asks_for_buffers {
            true => {
                if let Ok(columns) = accumulator.buffers() {
                    assert!(columns.iter().all(|column| column.len() == 2));
                }
            }
            false => {
                if let Ok(results) = accumulator.evaluate() {
                    assert_eq!(results.len(), 2, "{:?}", function.kind);
                }
            }
        }
    }
}

/// Functions whose buffers are bytes.
fn typed() -> Vec<AggregateFunction> {
    let doubles = || DataType::Array {
        element: Box::new(DataType::Double),
        contains_null: false,
    };
    let list = |of: &DataType| DataType::Array {
        element: Box::new(of.clone()),
        contains_null: false,
    };
    let mut all = sketches();
    let decimal = DataType::Decimal(Decimal {
        precision: 20,
        scale: 2,
    });
    for of in [
        DataType::Boolean,
        DataType::Integer,
        DataType::Long,
        DataType::Double,
        DataType::String,
        DataType::Date,
        decimal,
        list(&DataType::String),
    ] {
        all.push(function(AggregateKind::CollectList, &of, &[], list(&of)));
        for scala in [ScalaVersion::V2_12, ScalaVersion::V2_13] {
            let kind = AggregateKind::CollectSet { scala };
            all.push(function(kind, &of, &[], list(&of)));
        }
        for between in [Between::Line, Between::Lower] {
            let kind = AggregateKind::Percentile {
                reverse: false,
                between,
            };
            all.push(function(kind, &of, &[0.5], DataType::Double));
            all.push(function(kind, &of, &[0.0, 0.25, 1.0], doubles()));
        }
        let bin = |of: &DataType| {
            DataType::Struct(
                [of, &DataType::Double]
                    .map(|of| StructField {
                        name: String::new(),
                        data_type: of.clone(),
                        nullable: true,
                        field_id: None,
                        exists_default: None,
                    })
                    .to_vec(),
            )
        };
        let kind = AggregateKind::Histogram { bins: 5 };
        all.push(function(kind, &of, &[], list(&bin(&of))));
        for ties in [Ties::First, Ties::Greatest] {
            all.push(function(AggregateKind::Mode { ties }, &of, &[], of.clone()));
        }
        let kind = AggregateKind::ApproxPercentile { accuracy: 100 };
        all.push(function(kind, &of, &[0.5], of.clone()));
        all.push(function(kind, &of, &[0.1, 0.9], list(&of)));
    }
    all
}

/// Functions whose buffers are sketches.
fn sketches() -> Vec<AggregateFunction> {
    let kinds = [
        AggregateKind::HllSketch { lg_k: 4 },
        AggregateKind::HllSketch { lg_k: 12 },
        AggregateKind::HllUnion { any_size: false },
        AggregateKind::HllUnion { any_size: true },
        AggregateKind::CountMinSketch,
    ];
    let functions = kinds.into_iter().map(|kind| AggregateFunction {
        constants: sketch::example(),
        ..function(kind, &DataType::Binary, &[], DataType::Binary)
    });
    functions.collect()
}

fn function(
    kind: AggregateKind,
    of: &DataType,
    percentages: &[f64],
    result: DataType,
) -> AggregateFunction {
    let argument = Expr {
        kind: ExprKind::Literal(Literal::Null),
        data_type: of.clone(),
        nullable: true,
    };
    AggregateFunction {
        kind,
        args: vec![argument],
        percentages: percentages.to_vec(),
        constants: Vec::new(),
        data_type: result,
        input_buffer: Vec::new(),
    }
}
