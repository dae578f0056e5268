//! Expressions that a JVM evaluates, which is one that doubles numbers here.

use std::sync::Mutex;

use arrow::array::{AsArray, Int64Array, StringViewArray};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use catalyst::{Attribute, EvalMode, Expr, ExprId, ExprKind, Function, Literal};
use datafusion_execution::memory_pool::UnboundedMemoryPool;
use datafusion_physical_expr::PhysicalExpr;
use rows::types::schema_of;

use super::*;
use crate::expr::{is_native, lower};
use crate::native_calls::TaskCalls;
use crate::sources::Sources;

/// Doubles the first column of rows, and remembers how many there were.
#[derive(Debug, Default)]
struct Doubling(Mutex<Vec<usize>>);

impl Sources for Doubling {
    fn alive(&self) -> Result<()> {
        Ok(())
    }

    fn jvm_rows(&self, call: &JvmCall, rows: &[u8]) -> Result<Bytes> {
        if call.expression.class == "Fails" {
            return Err(bail_out("Fails fails in the JVM"));
        }
        let mut decoder = RowDecoder::new([&DataType::Long, &DataType::String]).unwrap();
        decoder.push(Bytes::copy_from_slice(rows));
        let mut batches = Vec::new();
        while let Some(batch) = decoder.next()? {
            batches.push(batch);
        }
        batches.extend(decoder.finish()?);
        let mut out = Vec::new();
        for batch in batches {
            self.0.lock().unwrap().push(batch.num_rows());
            let numbers = batch.column(0).as_primitive::<Int64Type>().clone();
            let doubled = numbers.unary::<_, Int64Type>(|number| 2 * number);
            let few = call.expression.class == "Loses";
            let doubled = doubled.slice(0, doubled.len() - usize::from(few));
            let schema = schema_of_types([&DataType::Long]).unwrap();
            let batch = RecordBatch::try_new(schema, vec![Arc::new(doubled)])?;
            let mut encoder = RowEncoder::new([&DataType::Long]).unwrap();
            out.extend_from_slice(encoder.encode(&batch)?.bytes());
        }
        Ok(out.into())
    }
}

fn column(id: i64, data_type: DataType) -> Attribute {
    Attribute {
        name: format!("c{id}"),
        data_type,
        nullable: true,
        id: ExprId { id, jvm_id: 0 },
    }
}

fn columns() -> [Attribute; 2] {
    [column(1, DataType::Long), column(2, DataType::String)]
}

fn in_jvm(class: &str) -> Expr {
    let columns = columns();
    let expression = JvmExpression {
        class: class.to_owned(),
        stream: Vec::new(),
        columns: columns.iter().map(|column| column.id).collect(),
    };
    Expr {
        kind: ExprKind::Jvm {
            expression: Arc::new(expression),
            columns: columns.into_iter().map(Expr::attribute).collect(),
        },
        data_type: DataType::Long,
        nullable: true,
    }
}

fn batch(rows: i64) -> RecordBatch {
    let numbers = (0..rows).map(|row| (row % 5 != 3).then_some(row));
    let texts = (0..rows).map(|row| (row % 2 == 0).then(|| format!("text {row}")));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(numbers.collect::<Int64Array>()),
        Arc::new(texts.collect::<StringViewArray>()),
    ];
    RecordBatch::try_new(schema_of(&columns()).unwrap(), arrays).unwrap()
}

fn evaluated(expr: &Arc<dyn PhysicalExpr>, rows: i64) -> Result<ArrayRef> {
    let batch = batch(rows);
    expr.evaluate(&batch)?.into_array(batch.num_rows())
}

#[test]
fn rows_go_there_in_parts_and_come_back() {
    let sources = Arc::new(Doubling::default());
    let pool = Arc::new(UnboundedMemoryPool::default());
    let calls = TaskCalls::new(Arc::clone(&sources) as _, pool);
    let expr = lower(&in_jvm("Doubles"), &columns()).unwrap();
    // Outside of a task there is nobody to ask.
    assert!(evaluated(&expr, 1).is_err());
    let _entered = calls.enter();
    assert!(evaluated(&expr, 0).unwrap().is_empty());
    let results = evaluated(&expr, 20_000).unwrap();
    let results = results.as_primitive::<Int64Type>();
    assert_eq!(results.len(), 20_000);
    for (row, result) in results.iter().enumerate() {
        assert_eq!(result, (row % 5 != 3).then_some(2 * row as i64));
    }
    assert_eq!(*sources.0.lock().unwrap(), [8192, 8192, 3616]);
    for class in ["Fails", "Loses"] {
        let expr = lower(&in_jvm(class), &columns()).unwrap();
        assert!(evaluated(&expr, 10).is_err(), "{class}");
    }
}

#[test]
fn what_is_not_needed_is_not_evaluated() {
    let sources = Arc::new(Doubling::default());
    let pool = Arc::new(UnboundedMemoryPool::default());
    let calls = TaskCalls::new(Arc::clone(&sources) as _, pool);
    let _entered = calls.enter();
    let call = |function, args| Expr {
        kind: ExprKind::Call {
            function,
            args,
            mode: None,
            time_zone: None,
        },
        data_type: DataType::Boolean,
        nullable: true,
    };
    let number = |value| Expr {
        kind: ExprKind::Literal(Literal::Long(value)),
        data_type: DataType::Long,
        nullable: false,
    };
    let [first, _] = columns();
    let small = call(Function::LessThan, vec![Expr::attribute(first), number(10)]);
    let doubled = call(Function::GreaterThan, vec![in_jvm("Doubles"), number(7)]);
    let both = call(Function::And, vec![small, doubled]);
    let expr = lower(&both, &columns()).unwrap();
    let results = evaluated(&expr, 100).unwrap();
    assert_eq!(results.as_boolean().true_count(), 5);
    // Those below 10, and nulls.
    assert_eq!(*sources.0.lock().unwrap(), [28]);
}

#[test]
fn an_expression_is_judged_without_what_it_is_made_of() {
    assert!(is_native(&in_jvm("Any")));
    let cast = |child, to| Expr {
        kind: ExprKind::Cast {
            child: Box::new(child),
            mode: EvalMode::Legacy,
            time_zone: None,
        },
        data_type: to,
        nullable: true,
    };
    // A cast of what is computed natively nowhere is judged as a cast of a number.
    let unknown = Expr {
        kind: ExprKind::BoundReference { ordinal: 9 },
        data_type: DataType::Long,
        nullable: true,
    };
    assert!(is_native(&cast(unknown.clone(), DataType::String)));
    let map = DataType::Map {
        key: Box::new(DataType::String),
        value: Box::new(DataType::Long),
        value_contains_null: true,
    };
    assert!(!is_native(&cast(unknown, map)));
}
