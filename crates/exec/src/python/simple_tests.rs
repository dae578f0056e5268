use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use arrow::array::{Float64Array, Int64Array};
use arrow::datatypes::{Field, Schema};
use datafusion_physical_expr::expressions::Column;
use pyfunc::Expression;
use rows::types::ToArrow as _;

use super::*;
use crate::simple_functions::SimpleObserver;

const PICKLED: Fit = Fit { over_arrow: false };
const ARROW: Fit = Fit { over_arrow: true };

fn list(values: Vec<Value<'static>>) -> Value<'static> {
    Value::List(values)
}

fn strings() -> DataType {
    DataType::Array {
        element: Box::new(DataType::String),
        contains_null: true,
    }
}

/// What becomes of a value: its text, or why there is none.
fn made(fit: Fit, of: &DataType, value: &Value<'_>) -> Result<String, Unfit> {
    let column = fit.column(of, std::slice::from_ref(value))?;
    assert_eq!(column.data_type(), &of.to_arrow().unwrap(), "{of}");
    let shown = arrow::util::display::array_value_to_string(&column, 0).unwrap();
    Ok(match column.is_null(0) || *of == DataType::Null {
        true => "null".to_owned(),
        false => shown,
    })
}

#[test]
fn values_are_taken_as_spark_takes_pickled_ones() {
    let texts = list(vec![Value::Str("a".into()), Value::None, Value::Int(1)]);
    let cases = [
        (DataType::Long, Value::Int(i64::MIN), "-9223372036854775808"),
        (DataType::Integer, Value::Int(1 << 32 | 5), "5"),
        (DataType::Byte, Value::Int(200), "-56"),
        (DataType::Integer, Value::Bool(true), "null"),
        (DataType::Long, Value::Float(1.0), "null"),
        (DataType::Double, Value::Int(1), "null"),
        (DataType::Double, Value::Float(-0.0), "-0.0"),
        (DataType::Float, Value::Float(1e300), "inf"),
        (DataType::Boolean, Value::Int(1), "null"),
        (DataType::Boolean, Value::Bool(false), "false"),
        (DataType::String, Value::Int(-7), "-7"),
        (DataType::String, Value::Bool(true), "true"),
        (DataType::String, Value::None, "null"),
        (DataType::Null, Value::Int(1), "null"),
        (strings(), texts, "[a, , 1]"),
        (strings(), Value::Tuple(vec![Value::Str("b".into())]), "[b]"),
        (strings(), Value::Str("no list".into()), "null"),
        (strings(), Value::None, "null"),
    ];
    for (of, value, expected) in cases {
        assert_eq!(
            made(PICKLED, &of, &value),
            Ok(expected.to_owned()),
            "{value:?} as {of}"
        );
    }
    let float = Value::Float(1.5);
    assert_eq!(made(PICKLED, &DataType::String, &float), Err(Unfit::Left));
}

#[test]
fn values_are_taken_as_arrow_takes_them() {
    let cases = [
        (DataType::Integer, Value::Int(7), Ok("7")),
        (DataType::Integer, Value::Int(1 << 40), Err(Unfit::Left)),
        (DataType::Integer, Value::Bool(true), Err(Unfit::OtherKind)),
        (DataType::Long, Value::Float(1.0), Err(Unfit::OtherKind)),
        (DataType::Double, Value::Int(1), Ok("1.0")),
        (
            DataType::Double,
            Value::Int(1 << 53),
            Ok("9007199254740992.0"),
        ),
        (
            DataType::Double,
            Value::Int((1 << 53) + 1),
            Err(Unfit::OtherKind),
        ),
        (
            DataType::Float,
            Value::Int((1 << 24) + 1),
            Err(Unfit::OtherKind),
        ),
        (DataType::Boolean, Value::Int(1), Err(Unfit::OtherKind)),
        (DataType::Boolean, Value::None, Ok("null")),
        (DataType::String, Value::Bool(false), Ok("false")),
        (DataType::String, Value::Float(1.5), Err(Unfit::Left)),
        (DataType::Null, Value::Int(1), Err(Unfit::Left)),
        (strings(), Value::Tuple(Vec::new()), Err(Unfit::Left)),
        (strings(), list(Vec::new()), Ok("[]")),
    ];
    for (of, value, expected) in cases {
        let expected = expected.map(str::to_owned);
        assert_eq!(made(ARROW, &of, &value), expected, "{value:?} as {of}");
    }
    let never_null = DataType::Array {
        element: Box::new(DataType::Long),
        contains_null: false,
    };
    for fit in [PICKLED, ARROW] {
        let with_null = list(vec![Value::Int(1), Value::None]);
        assert_eq!(made(fit, &never_null, &with_null), Err(Unfit::Left));
    }
}

#[test]
fn texts_of_one_column_have_a_limit() {
    let large = "x".repeat(MAX_TEXTS / 2 + 1);
    let values = [(); 2].map(|()| Value::Str(Cow::Borrowed(large.as_str())));
    assert!(PICKLED.column(&DataType::String, &values[..1]).is_ok());
    let both = PICKLED.column(&DataType::String, &values);
    assert_eq!(both.map(drop), Err(Unfit::Left));
}

#[test]
fn numbers_in_texts_are_those_of_python() {
    for (text, expected) in [
        ("12", Ok(12)),
        (" +7\n", Ok(7)),
        ("-0", Ok(0)),
        ("9223372036854775808", Err(LeftToPython)),
        ("1_0", Err(LeftToPython)),
        ("٣", Err(LeftToPython)),
        ("\u{a0}1", Err(LeftToPython)),
        ("", Err(LeftToPython)),
    ] {
        assert_eq!(Ascii.int(text), expected, "{text:?}");
    }
    for (text, expected) in [
        ("1e400", Ok(f64::INFINITY)),
        (" -.5e1 ", Ok(-5.0)),
        ("1.", Ok(1.0)),
        ("nan", Err(LeftToPython)),
        ("1_0.0", Err(LeftToPython)),
        (".", Err(LeftToPython)),
        ("1e", Err(LeftToPython)),
    ] {
        assert_eq!(Ascii.float(text), expected, "{text:?}");
    }
    assert_eq!(Ascii.upper("aß"), Err(LeftToPython));
    assert_eq!(Ascii.upper("a1"), Ok("A1".to_owned()));
    assert_eq!(Ascii.lower("A1"), Ok("a1".to_owned()));
}

#[derive(Debug, Default)]
struct Counts([AtomicUsize; 3]);

impl SimpleObserver for Counts {
    fn computed(&self, rows: usize) {
        self.0[0].fetch_add(rows, Relaxed);
    }

    fn left_to_python(&self) {
        self.0[1].fetch_add(1, Relaxed);
    }

    fn misfit(&self) {
        self.0[2].fetch_add(1, Relaxed);
    }
}

/// A function of one long that is doubled and then halved by `//`, and who is told of it.
fn doubled_and_halved(result: DataType, fit: Fit) -> (SimpleColumn, Arc<Counts>) {
    let encoded = [
        r#"[["argument",0],["call","+",[0,0]]]"#,
        r#"[["argument",0],["constant",2],["call","//",[0,1]]]"#,
    ];
    let expressions = encoded.map(|encoded| Expression::decode(encoded, 1).unwrap());
    let observer = Arc::new(Counts::default());
    let column = SimpleColumn {
        place: 0,
        arguments: vec![(0, DataType::Long)],
        function: SimpleFunction {
            expressions: Arc::new(expressions.into()),
            observer: Arc::clone(&observer) as _,
        },
        result,
        fit,
    };
    (column, observer)
}

fn batch(values: Vec<Option<i64>>) -> RecordBatch {
    let schema = Schema::new(vec![Field::new(
        "x",
        DataType::Long.to_arrow().unwrap(),
        true,
    )]);
    let column = Arc::new(Int64Array::from(values));
    RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap()
}

#[test]
fn batches_are_computed_or_left_to_python_whole() {
    let argument: [Arc<dyn PhysicalExpr>; 1] = [Arc::new(Column::new("x", 0))];
    let (column, observer) = doubled_and_halved(DataType::Long, PICKLED);
    let made = column.evaluate(&argument, &batch(vec![Some(1), Some(-3)]));
    let made = made.unwrap().unwrap();
    assert_eq!(
        made.as_primitive::<Int64Type>(),
        &Int64Array::from(vec![1, -3])
    );
    // An integer of more than 64 bits on the way; `None` that is added.
    for odd in [Some(i64::MAX), None] {
        let made = column.evaluate(&argument, &batch(vec![Some(1), odd]));
        assert!(made.unwrap().is_none());
    }
    let none = column.evaluate(&argument, &batch(Vec::new())).unwrap();
    assert_eq!(none.unwrap().len(), 0);
    let counts = observer.0.each_ref().map(|count| count.load(Relaxed));
    assert_eq!(counts, [2, 2, 0]);
}

#[test]
fn results_whose_column_depends_on_others_are_the_jvms() {
    let argument: [Arc<dyn PhysicalExpr>; 1] = [Arc::new(Column::new("x", 0))];
    let (column, observer) = doubled_and_halved(DataType::Boolean, ARROW);
    let made = column.evaluate(&argument, &batch(vec![Some(1)]));
    assert!(made.unwrap_err().to_string().contains("of another kind"));
    assert_eq!(observer.0[2].load(Relaxed), 1);
    let (column, _) = doubled_and_halved(DataType::Double, ARROW);
    let made = column.evaluate(&argument, &batch(vec![Some(1)]));
    let expected = Float64Array::from(vec![1.0]);
    assert_eq!(
        made.unwrap().unwrap().as_primitive::<Float64Type>(),
        &expected
    );
}
