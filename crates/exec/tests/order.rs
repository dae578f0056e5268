//! The order of nested values against a plain model of Spark's.

use std::cmp::Ordering;

use arrow::array::{Array, AsArray};
use proptest::collection::vec;
use proptest::prelude::*;

use catalyst::{DataType, Decimal, Literal, StructField};
use rows::{array_of, order_key};

fn field(data_type: DataType) -> StructField {
    StructField {
        name: "f".to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    }
}

/// A type with values of it.
type Typed = (DataType, BoxedStrategy<Literal>);

fn or_null(values: BoxedStrategy<Literal>) -> BoxedStrategy<Literal> {
    prop_oneof![1 => Just(Literal::Null), 4 => values].boxed()
}

fn doubles() -> BoxedStrategy<f64> {
    let other_nan = f64::from_bits(0xfff8_0000_0000_0001);
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(other_nan),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        any::<f64>(),
    ]
    .boxed()
}

/// Values that are often equal, and else of all kinds.
fn leaves() -> Vec<Typed> {
    let decimal = |precision, scale| DataType::Decimal(Decimal { precision, scale });
    let some = |of: BoxedStrategy<Literal>| of;
    let int = || prop_oneof![-2..3, any::<i32>()];
    let long = || prop_oneof![-2..3_i64, any::<i64>()];
    let text = || prop_oneof!["[ab\u{e9}\u{1f600}]{0,3}", "[a-c]{30,70}"];
    let bytes = || {
        prop_oneof![
            vec(prop_oneof![Just(0), Just(127), Just(128), Just(255)], 0..4),
            vec(0..2_u8, 30..70)
        ]
    };
    vec![
        (
            DataType::Boolean,
            any::<bool>().prop_map(Literal::Boolean).boxed(),
        ),
        (DataType::Byte, (-2..3_i8).prop_map(Literal::Byte).boxed()),
        (
            DataType::Short,
            any::<i16>().prop_map(Literal::Short).boxed(),
        ),
        (DataType::Integer, int().prop_map(Literal::Integer).boxed()),
        (DataType::Date, int().prop_map(Literal::Integer).boxed()),
        (
            DataType::YearMonthInterval,
            int().prop_map(Literal::Integer).boxed(),
        ),
        (DataType::Long, long().prop_map(Literal::Long).boxed()),
        (DataType::Timestamp, long().prop_map(Literal::Long).boxed()),
        (
            DataType::TimestampNtz,
            long().prop_map(Literal::Long).boxed(),
        ),
        (
            DataType::DayTimeInterval,
            long().prop_map(Literal::Long).boxed(),
        ),
        (DataType::Time(6), long().prop_map(Literal::Long).boxed()),
        (
            DataType::Double,
            doubles().prop_map(Literal::Double).boxed(),
        ),
        (
            DataType::Float,
            doubles().prop_map(|of| Literal::Float(of as f32)).boxed(),
        ),
        (
            decimal(9, 2),
            (-200..200_i128).prop_map(Literal::Decimal).boxed(),
        ),
        (
            decimal(38, 4),
            any::<i64>()
                .prop_map(|of| Literal::Decimal(i128::from(of) << 40))
                .boxed(),
        ),
        (
            DataType::String,
            text()
                .prop_map(|of| Literal::String(of.into_bytes()))
                .boxed(),
        ),
        (
            DataType::Binary,
            some(bytes().prop_map(Literal::Binary).boxed()),
        ),
    ]
}

fn array((of, values): Typed) -> Typed {
    let values = vec(or_null(values), 0..4).prop_map(Literal::Array).boxed();
    let element = Box::new(of);
    let contains_null = true;
    (
        DataType::Array {
            element,
            contains_null,
        },
        values,
    )
}

fn structs(parts: Vec<Typed>) -> Typed {
    let (types, values): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let values: Vec<_> = values.into_iter().map(or_null).collect();
    let of = DataType::Struct(types.into_iter().map(field).collect());
    (of, values.prop_map(Literal::Struct).boxed())
}

fn types() -> Vec<Typed> {
    let mut all: Vec<Typed> = leaves().into_iter().map(array).collect();
    all.extend(leaves().into_iter().map(|of| structs(vec![of])));
    all.push(structs(leaves()));
    all.extend(leaves().into_iter().map(|of| array(array(of))));
    let pairs = leaves().into_iter().zip(leaves().into_iter().rev());
    all.extend(pairs.map(|(a, b)| array(structs(vec![array(a), structs(vec![b])]))));
    all
}

/// As `InterpretedOrdering` and `PhysicalArrayType` have it: nulls first, then the first parts that differ.
fn compare(a: &Literal, b: &Literal) -> Ordering {
    use Literal as L;
    let all = |a: &[L], b: &[L]| {
        let parts = a.iter().zip(b).map(|(a, b)| compare(a, b));
        let first = parts.into_iter().find(|order| order.is_ne());
        first.unwrap_or_else(|| a.len().cmp(&b.len()))
    };
    // `SQLOrderingUtil.compareDoubles`.
    let doubles = |a: f64, b: f64| match a == b {
        true => Ordering::Equal,
        false => a
            .partial_cmp(&b)
            .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
    };
    match (a, b) {
        (L::Null, L::Null) => Ordering::Equal,
        (L::Null, _) => Ordering::Less,
        (_, L::Null) => Ordering::Greater,
        (L::Boolean(a), L::Boolean(b)) => a.cmp(b),
        (L::Byte(a), L::Byte(b)) => a.cmp(b),
        (L::Short(a), L::Short(b)) => a.cmp(b),
        (L::Integer(a), L::Integer(b)) => a.cmp(b),
        (L::Long(a), L::Long(b)) => a.cmp(b),
        (L::Decimal(a), L::Decimal(b)) => a.cmp(b),
        (L::Float(a), L::Float(b)) => doubles((*a).into(), (*b).into()),
        (L::Double(a), L::Double(b)) => doubles(*a, *b),
        (L::String(a), L::String(b)) | (L::Binary(a), L::Binary(b)) => a.cmp(b),
        (L::Array(a), L::Array(b)) | (L::Struct(a), L::Struct(b)) => all(a, b),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn keys_are_ordered_as_values_are(
        (of, values) in prop::sample::select((0..types().len()).collect::<Vec<_>>()).prop_flat_map(|place| {
            let (of, values) = types().swap_remove(place);
            (Just(of), vec(or_null(values), 2..12))
        }),
        split in 0..12_usize,
    ) {
        let column = array_of(&of, values.iter().collect()).unwrap();
        // Keys of several batches are compared with each other.
        let split = split.min(values.len());
        let parts = [column.slice(0, split), column.slice(split, values.len() - split)];
        let keys: Vec<_> = parts.iter().map(|part| order_key(part).unwrap()).collect();
        let keys: Vec<_> = keys.iter().flat_map(|keys| keys.as_binary::<i32>().iter()).collect();
        prop_assert_eq!(keys.len(), values.len());
        for (a, value) in keys.iter().zip(&values) {
            prop_assert_eq!(a.is_none(), *value == Literal::Null);
            for (b, other) in keys.iter().zip(&values) {
                prop_assert_eq!(a.cmp(b), compare(value, other), "{:?} {:?}", value, other);
            }
        }
    }
}
