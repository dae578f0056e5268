#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, DurationMicrosecondArray, Float64Array, Int32Array,
    RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use arrow::compute::SortOptions;

use javatime::{TimeZone, Zones};

use super::*;
use catalyst::Decimal;
use catalyst::SortOrder;
use catalyst::{EvalMode, ExprId, Function};
use rows::error::RunError;

fn attributes(types: &[DataType]) -> Vec<Attribute> {
    types
        .iter()
        .zip(0..)
        .map(|(of, id)| Attribute {
            name: format!("a{id}"),
            data_type: of.clone(),
            nullable: true,
            id: ExprId { id, jvm_id: 0 },
        })
        .collect()
}

fn args(input: &[Attribute]) -> Vec<Expr> {
    input.iter().cloned().map(Expr::attribute).collect()
}

fn int(value: i32) -> Expr {
    Expr {
        kind: ExprKind::Literal(Literal::Integer(value)),
        data_type: DataType::Integer,
        nullable: false,
    }
}

fn call(function: Function, args: Vec<Expr>, of: DataType, mode: Option<EvalMode>) -> Expr {
    Expr {
        kind: ExprKind::Call {
            function,
            args,
            mode,
            time_zone: Some(TimeZone::new("UTC", &Zones::default())),
        },
        data_type: of,
        nullable: true,
    }
}

fn run(expr: &Expr, input: &[Attribute], columns: Vec<ArrayRef>) -> Result<ArrayRef, RunError> {
    let batch = RecordBatch::try_new(schema_of(input).unwrap(), columns).unwrap();
    let lowered = lower(expr, input).unwrap();
    let of = lowered.data_type(&batch.schema()).unwrap();
    assert_eq!(of, expr.data_type.to_arrow().unwrap());
    lowered
        .evaluate(&batch)
        .and_then(|value| value.into_array(batch.num_rows()))
        .map_err(RunError::of)
}

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

#[test]
fn what_is_not_needed_does_not_fail() {
    let input = attributes(&[DataType::Integer]);
    let x = || Expr::attribute(input[0].clone());
    let boolean = |function, args| call(function, args, DataType::Boolean, None);
    let ansi = Some(EvalMode::Ansi);
    let rest = call(
        Function::Remainder,
        vec![int(10), x()],
        DataType::Integer,
        ansi,
    );
    let even = boolean(Function::EqualTo, vec![rest.clone(), int(0)]);
    let zero = boolean(Function::EqualTo, vec![x(), int(0)]);
    let column = || ints(&[Some(0), Some(5), None, Some(3)]);
    let or = boolean(Function::Or, vec![zero.clone(), even.clone()]);
    let found = run(&or, &input, vec![column()]).unwrap();
    let expected = BooleanArray::from(vec![Some(true), Some(true), None, Some(false)]);
    assert_eq!(found.as_boolean(), &expected);
    let not_zero = boolean(Function::Not, vec![zero.clone()]);
    let and = boolean(Function::And, vec![not_zero, even.clone()]);
    let found = run(&and, &input, vec![column()]).unwrap();
    let expected = BooleanArray::from(vec![Some(false), Some(true), None, Some(false)]);
    assert_eq!(found.as_boolean(), &expected);
    // The other way round it does.
    let first = boolean(Function::Or, vec![even, zero.clone()]);
    assert!(run(&first, &input, vec![column()]).is_err());
    let when = call(
        Function::If,
        vec![zero, int(-1), rest.clone()],
        DataType::Integer,
        None,
    );
    let found = run(&when, &input, vec![column()]).unwrap();
    assert_eq!(&found, &ints(&[Some(-1), Some(0), None, Some(1)]));
    let first = call(Function::Coalesce, vec![x(), rest], DataType::Integer, None);
    let found = run(&first, &input, vec![ints(&[Some(0), Some(1)])]).unwrap();
    assert_eq!(&found, &ints(&[Some(0), Some(1)]));
}

#[test]
fn overflow_is_by_the_mode() {
    let input = attributes(&[DataType::Integer, DataType::Integer]);
    let columns = || {
        vec![
            ints(&[Some(i32::MAX), Some(1), None]),
            ints(&[Some(1), Some(1), Some(1)]),
        ]
    };
    let add = |mode| call(Function::Add, args(&input), DataType::Integer, Some(mode));
    let run = |mode| run(&add(mode), &input, columns());
    let wrapped = ints(&[Some(i32::MIN), Some(2), None]);
    assert_eq!(&run(EvalMode::Legacy).unwrap(), &wrapped);
    assert_eq!(&run(EvalMode::Try).unwrap(), &ints(&[None, Some(2), None]));
    assert!(matches!(run(EvalMode::Ansi), Err(RunError::BailOut(_))));
}

/// What Spark's `try_add`, `try_subtract` and `try_divide` say.
#[test]
fn what_overflows_is_null_where_errors_are_caught() {
    use DataType as T;
    let days = |count: i64| count * 86_400_000_000;
    let of = |function, types: [T; 2], to: T, columns: Vec<ArrayRef>, mode| {
        let input = attributes(&types);
        run(&call(function, args(&input), to, mode), &input, columns)
    };
    let durations =
        |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(DurationMicrosecondArray::from(values)) };
    let stamps = |values: Vec<Option<i64>>| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC"))
    };
    // From 2020-01-31 on.
    let start = days(18_292);
    let later = |starts: Vec<Option<i64>>, by: Vec<Option<i64>>, mode| {
        let columns = vec![stamps(starts), durations(by)];
        let types = [T::Timestamp, T::DayTimeInterval];
        of(
            Function::TimestampAddInterval,
            types,
            T::Timestamp,
            columns,
            mode,
        )
    };
    let by = vec![Some(days(106_751_991)), Some(days(1)), None];
    let starts = vec![Some(start); 3];
    let found = later(starts.clone(), by.clone(), Some(EvalMode::Try)).unwrap();
    assert_eq!(&found, &stamps(vec![None, Some(start + days(1)), None]));
    assert!(matches!(later(starts, by, None), Err(RunError::BailOut(_))));
    // Java's local times go on where microseconds end.
    let end = later(vec![Some(i64::MAX)], vec![Some(1)], Some(EvalMode::Try));
    assert!(matches!(end, Err(RunError::BailOut(_))));
    let sums = |function, mode| {
        let columns = vec![
            durations(vec![Some(i64::MAX), Some(5)]),
            durations(vec![Some(-1), Some(7)]),
        ];
        let types = [T::DayTimeInterval, T::DayTimeInterval];
        of(function, types, T::DayTimeInterval, columns, mode)
    };
    let found = sums(Function::Subtract, Some(EvalMode::Try)).unwrap();
    assert_eq!(&found, &durations(vec![None, Some(-2)]));
    let found = sums(Function::Add, Some(EvalMode::Legacy)).unwrap();
    assert_eq!(&found, &durations(vec![Some(i64::MAX - 1), Some(12)]));
    assert!(sums(Function::Subtract, Some(EvalMode::Legacy)).is_err());
    let decimal = Decimal {
        precision: 5,
        scale: 1,
    };
    let numbers = Decimal128Array::from(vec![15, 0, -20]);
    let numbers: ArrayRef = Arc::new(numbers.with_precision_and_scale(5, 1).unwrap());
    let columns = vec![durations(vec![Some(10), Some(1), Some(5)]), numbers];
    let types = [T::DayTimeInterval, T::Decimal(decimal)];
    let divide = Function::DivideDTInterval;
    let found = of(
        divide,
        types,
        T::DayTimeInterval,
        columns,
        Some(EvalMode::Try),
    )
    .unwrap();
    assert_eq!(&found, &durations(vec![Some(7), None, Some(-3)]));
}

#[test]
fn nan_is_equal_and_largest_and_zeros_are_one() {
    let input = attributes(&[DataType::Double, DataType::Double]);
    let columns = || -> Vec<ArrayRef> {
        vec![
            Arc::new(Float64Array::from(vec![-f64::NAN, -0.0, f64::INFINITY])),
            Arc::new(Float64Array::from(vec![f64::NAN, 0.0, f64::NAN])),
        ]
    };
    let compare = |function| {
        let expr = call(function, args(&input), DataType::Boolean, None);
        let found = run(&expr, &input, columns()).unwrap();
        found
            .as_boolean()
            .iter()
            .map(Option::unwrap)
            .collect::<Vec<_>>()
    };
    assert_eq!(compare(Function::EqualTo), [true, true, false]);
    assert_eq!(compare(Function::LessThan), [false, false, true]);
    let order = SortOrder {
        child: args(&input).remove(0),
        ascending: false,
        nulls_first: true,
    };
    let key = lower_sort(&order, &input).unwrap();
    assert_eq!(
        key.options,
        SortOptions {
            descending: true,
            nulls_first: true
        }
    );
    let batch = RecordBatch::try_new(schema_of(&input).unwrap(), columns()).unwrap();
    let keys = key.expr.evaluate(&batch).unwrap().into_array(3).unwrap();
    let keys = keys.as_primitive::<arrow::datatypes::Float64Type>();
    assert_eq!(keys.value(0).to_bits(), f64::NAN.to_bits());
    assert_eq!(keys.value(1).to_bits(), 0);
}

#[test]
fn prices_are_exact() {
    let of = |precision, scale| DataType::Decimal(Decimal { precision, scale });
    let input = attributes(&[of(15, 2), of(15, 2)]);
    let column = |value: i128| -> ArrayRef {
        let array = Decimal128Array::from(vec![Some(value), None]);
        Arc::new(array.with_precision_and_scale(15, 2).unwrap())
    };
    let one = Expr {
        kind: ExprKind::Literal(Literal::Decimal(1)),
        data_type: of(1, 0),
        nullable: false,
    };
    let args = |index: usize| Expr::attribute(input[index].clone());
    let rest = call(
        Function::Subtract,
        vec![one, args(1)],
        of(16, 2),
        Some(EvalMode::Legacy),
    );
    let price = call(
        Function::Multiply,
        vec![args(0), rest],
        of(32, 4),
        Some(EvalMode::Legacy),
    );
    let found = run(&price, &input, vec![column(1_234_567), column(7)]).unwrap();
    let found = found.as_primitive::<arrow::datatypes::Decimal128Type>();
    assert_eq!(
        found.iter().collect::<Vec<_>>(),
        [Some(1_234_567 * 93), None]
    );
}

#[test]
fn lists_and_texts() {
    let input = attributes(&[DataType::String]);
    let texts = |values: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringViewArray::from(values)) };
    let text = |value: &str| Expr {
        kind: ExprKind::Literal(Literal::String(value.into())),
        data_type: DataType::String,
        nullable: false,
    };
    let code = call(
        Function::Substring,
        vec![Expr::attribute(input[0].clone()), int(1), int(2)],
        DataType::String,
        None,
    );
    let expr = Expr {
        kind: ExprKind::In {
            value: Box::new(code),
            list: vec![text("13"), text("31")],
            legacy_null_in_empty: false,
        },
        data_type: DataType::Boolean,
        nullable: true,
    };
    let column = texts(vec![Some("13-702-694-6315"), Some("25-989"), None]);
    let found = run(&expr, &input, vec![column]).unwrap();
    let expected = BooleanArray::from(vec![Some(true), Some(false), None]);
    assert_eq!(found.as_boolean(), &expected);
}

#[test]
fn what_is_not_known_is_refused() {
    let input = attributes(&[DataType::Timestamp]);
    let hour = Expr {
        kind: ExprKind::Call {
            function: Function::Hour,
            args: vec![Expr::attribute(input[0].clone())],
            mode: None,
            time_zone: Some(TimeZone::new("Europe/Zurich", &Zones::default())),
        },
        data_type: DataType::Integer,
        nullable: true,
    };
    let reason = lower(&hour, &input).unwrap_err();
    assert_eq!(
        reason.to_string(),
        "time zone Europe/Zurich: no JDK whose time zones could be read"
    );
    let other = attributes(&[DataType::Integer]);
    assert!(lower(&Expr::attribute(input[0].clone()), &other).is_err());
}

/// Why a function of columns of these types, and then of constants, is left to Spark.
fn refusal(function: Function, types: &[DataType], constants: &[&str], of: DataType) -> String {
    let input = attributes(types);
    let constants = constants.iter().map(|text| Expr {
        kind: ExprKind::Literal(Literal::String(text.as_bytes().to_vec())),
        data_type: DataType::String,
        nullable: false,
    });
    let args = args(&input).into_iter().chain(constants).collect();
    let call = call(function, args, of, Some(EvalMode::Legacy));
    lower(&call, &input).unwrap_err().to_string()
}

#[test]
fn what_versions_or_javas_do_differently_is_refused() {
    use DataType as T;
    use Function as F;
    let array = |element: T| T::Array {
        element: Box::new(element),
        contains_null: true,
    };
    let doubles = [array(T::Double), array(T::Double)];
    let cases = [
        (
            refusal(F::FormatNumber, &[T::Double, T::Integer], &[], T::String),
            "FormatNumber(Float64, Int32)",
        ),
        (
            refusal(F::Elt, &[T::Integer, T::String, T::Binary], &[], T::String),
            "Elt of different types",
        ),
        (
            refusal(F::GetTimestamp, &[T::String], &["yyyy-DDD"], T::Timestamp),
            "the date format yyyy-DDD for reading",
        ),
        (
            refusal(F::GetTimestamp, &[T::String, T::String], &[], T::Timestamp),
            "a variable format of dates",
        ),
        (
            refusal(F::FromUnixTime, &[T::Long], &["EEEEE"], T::String),
            "the date format EEEEE",
        ),
        (
            refusal(F::LikeAny, &[T::String], &["a\\b"], T::Boolean),
            "an invalid pattern",
        ),
        (
            refusal(F::ArrayUnion, &doubles, &[], array(T::Double)),
            "ArrayUnion(List(Float64)",
        ),
        (
            refusal(F::ToPrettyString, &[array(T::Binary)], &[], T::String),
            "a cast from array<binary> to string",
        ),
        (
            refusal(
                F::Overlay,
                &[T::Binary, T::Binary, T::Integer, T::Integer],
                &[],
                T::Binary,
            ),
            "Overlay(BinaryView",
        ),
    ];
    for (reason, part) in cases {
        assert!(reason.contains(part), "{reason} for {part}");
    }
}
