//! Calls of a function that counts the bytes of texts and refuses one.

use std::sync::atomic::AtomicUsize;

use arrow::array::{Array, AsArray, Int64Array, StringArray, StringViewArray};
use arrow::datatypes::Int64Type;
use catalyst::{Attribute, Expr, ExprId, ExprKind};
use datafusion_common::DataFusionError;
use datafusion_execution::memory_pool::UnboundedMemoryPool;
use datafusion_physical_expr::PhysicalExpr;
use rows::error::RunError;

use super::*;
use crate::expr::lower;

struct ByteCount;

impl NativeScalar for ByteCount {
    fn result(&self) -> &ArrowType {
        &ArrowType::Int64
    }

    fn execute(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let texts = arguments[0].as_any().downcast_ref::<StringArray>();
        let texts = texts.expect("texts as Python gets them");
        assert_eq!(texts.len(), rows);
        if texts.iter().any(|text| text == Some("no")) {
            return Err(bail_out("function 'bytes' failed"));
        }
        let lengths = texts.iter().map(|text| text.map(|text| text.len() as i64));
        Ok(Arc::new(lengths.collect::<Int64Array>()))
    }
}

/// Has the function of `libtext.so`, and counts how often it is bound.
#[derive(Debug, Default)]
struct Bound(AtomicUsize);

impl Sources for Bound {
    fn alive(&self) -> Result<()> {
        Ok(())
    }

    fn native_function(&self, call: NativeCall<'_>) -> Result<Option<NativeFunction>> {
        let NativeCallee::Library(function) = call.function else {
            return Ok(None);
        };
        assert_eq!(*call.arguments[0].data_type(), ArrowType::Utf8);
        self.0.fetch_add(1, Ordering::Relaxed);
        let known = function.library == "libtext.so";
        Ok(known.then(|| NativeFunction::Scalar(Box::new(ByteCount))))
    }
}

fn call(library: &str) -> Arc<dyn PhysicalExpr> {
    let text = Attribute {
        name: "t".to_owned(),
        data_type: DataType::String,
        nullable: true,
        id: ExprId { id: 1, jvm_id: 0 },
    };
    let function = NativeUdf {
        library: library.to_owned(),
        module: "text".to_owned(),
        version: "1".to_owned(),
        function: "bytes".to_owned(),
        signature: 0,
        time_zone: "UTC".to_owned(),
        ansi: false,
    };
    let expr = Expr {
        kind: ExprKind::Native {
            function: Box::new(function),
            args: vec![Expr::attribute(text.clone())],
        },
        data_type: DataType::Long,
        nullable: true,
    };
    lower(&expr, &[text]).unwrap()
}

fn evaluate(expr: &Arc<dyn PhysicalExpr>, texts: Vec<Option<&str>>) -> Result<Vec<Option<i64>>> {
    let texts: ArrayRef = Arc::new(StringViewArray::from(texts));
    let schema = schema_of_types(&[DataType::String]).unwrap();
    let batch = RecordBatch::try_new(schema, vec![texts])?;
    let values = expr.evaluate(&batch)?.into_array(batch.num_rows())?;
    Ok(values.as_primitive::<Int64Type>().iter().collect())
}

fn why(error: DataFusionError) -> String {
    match RunError::of(error) {
        RunError::BailOut(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn expressions_call_the_functions_of_the_task_that_evaluates_them() {
    let (expr, other) = (call("libtext.so"), call("libother.so"));
    let outside = evaluate(&expr, vec![Some("a")]).unwrap_err();
    assert_eq!(why(outside), "a native function outside of its task");

    let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    let sources = [Arc::new(Bound::default()), Arc::new(Bound::default())];
    let tasks = sources
        .each_ref()
        .map(|sources| TaskCalls::new(Arc::clone(sources) as _, Arc::clone(&pool)));
    let bound = || sources.each_ref().map(|of| of.0.load(Ordering::Relaxed));
    let first = tasks[0].enter();
    let values = evaluate(&expr, vec![Some("ab"), None, Some("é")]).unwrap();
    assert_eq!(values, [Some(2), None, Some(2)]);
    {
        // A task within a task.
        let _second = tasks[1].enter();
        assert_eq!(evaluate(&expr, vec![None]).unwrap(), [None]);
    }
    assert_eq!(evaluate(&expr, vec![Some("abc")]).unwrap(), [Some(3)]);
    assert_eq!(bound(), [1, 1]);

    let failed = evaluate(&expr, vec![Some("no")]).unwrap_err();
    assert_eq!(why(failed), "function 'bytes' failed");
    let unknown = evaluate(&other, vec![Some("a")]).unwrap_err();
    assert_eq!(why(unknown), "text.bytes#0 is no scalar function");
    drop(first);
    assert!(evaluate(&expr, vec![Some("a")]).is_err());
}

/// An `UnsafeRow` of one text.
fn row(text: Option<&[u8]>) -> Vec<u8> {
    let Some(text) = text else {
        return [1_u64, 0]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
    };
    let place = 16_u64 << 32 | text.len() as u64;
    let mut row: Vec<u8> = [0, place]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    row.extend(text);
    row.resize(row.len().next_multiple_of(8), 0);
    row
}

#[test]
fn rows_give_rows() {
    let arguments = [DataType::String];
    let mut call = RowCall::new(&arguments, &DataType::Long, "UTC", Box::new(ByteCount)).unwrap();
    let long = |value: u64| {
        Some(
            [0, value]
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect(),
        )
    };
    assert_eq!(call.call(&row(Some(b"abc"))).unwrap(), long(3));
    assert_eq!(call.call(&row(Some(b""))).unwrap(), long(0));
    assert_eq!(call.call(&row(None)).unwrap(), None);
    assert_eq!(
        why(call.call(&row(Some(b"no"))).unwrap_err()),
        "function 'bytes' failed"
    );
    // Neither a text, nor a row, nor one whose text lies in it.
    assert!(call.call(&row(Some(&[0xff]))).is_err());
    assert!(call.call(&[]).is_err());
    let mut outside = row(Some(b"abc"));
    outside[8] = 99;
    assert!(call.call(&outside).is_err());
    assert_eq!(call.call(&row(Some(b"abcd"))).unwrap(), long(4));
    assert!(RowCall::new(&arguments, &DataType::Integer, "UTC", Box::new(ByteCount)).is_err());
}
