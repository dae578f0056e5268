//! What tests of operators share: plans over rows in memory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::Bytes;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_execution::config::SessionConfig;
use datafusion_execution::runtime_env::RuntimeEnvBuilder;
use futures::TryStreamExt;
use javaser::Limits;
use javaser::arena::Graph;

use super::sources::{HadoopSettings, PythonArguments, PythonCall, PythonFrames, PythonTimes};
use super::{BlockStream, FileBytes, Make, NativeStage, Records, Shared, Sources, TaskPlan};
use catalyst::JoinType;
use catalyst::Metric;
use catalyst::{Attribute, Expr, ExprId};
use catalyst::{Broadcast, Columns, LeafId, Operator, OperatorKind, ShuffleRead};
use catalyst::{CollectResult, Output, Stage};
use catalyst::{DataType, StructField};
use catalyst::{Inputs, LeafInput, ShufflePartitionSpec, TaskInputs};
use rows::RowEncoder;
use rows::error::RunError;

/// Every kind of join.
pub(super) const JOINS: [fn() -> JoinType; 7] = [
    || JoinType::Inner,
    || JoinType::LeftOuter,
    || JoinType::RightOuter,
    || JoinType::FullOuter,
    || JoinType::LeftSemi,
    || JoinType::LeftAnti,
    || JoinType::Existence(column(9, DataType::Boolean)),
];

/// A broadcast variable, of which only the id is looked at.
pub(super) fn broadcast() -> Broadcast {
    // A string.
    let value = [0xac, 0xed, 0, 5, 0x74, 0, 1, b'b'];
    let graph = Graph::parse(&value, &Limits::default()).unwrap();
    let node = graph.root().unwrap().node().unwrap();
    Broadcast { id: 5, node }
}

/// A field that may be null.
pub(super) fn field(name: &str, data_type: DataType) -> StructField {
    StructField {
        name: name.to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    }
}

pub(super) fn column(id: i64, data_type: DataType) -> Attribute {
    Attribute {
        name: format!("a{id}"),
        data_type,
        nullable: true,
        id: ExprId { id, jvm_id: 0 },
    }
}

pub(super) fn reference(column: &Attribute) -> Expr {
    Expr::attribute(column.clone())
}

pub(super) fn operator(kind: OperatorKind, output: Vec<Attribute>) -> Operator {
    operator_of(kind, Columns::Known(output))
}

pub(super) fn operator_of(kind: OperatorKind, output: Columns) -> Operator {
    Operator {
        kind,
        output,
        metrics: vec![Metric {
            name: "numOutputRows".to_owned(),
            accumulator: 1,
        }],
    }
}

pub(super) fn local(leaf: LeafId, output: &[Attribute]) -> Box<Operator> {
    let mut local = operator(OperatorKind::LocalTableScan { leaf }, output.to_vec());
    local.metrics.clear();
    Box::new(local)
}

pub(super) fn batch(columns: &[Attribute], arrays: Vec<ArrayRef>) -> RecordBatch {
    let schema = rows::types::schema_of(columns).unwrap();
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).unwrap()
}

/// Rows as they come with a task.
pub(super) fn rows(columns: &[Attribute], batches: &[RecordBatch]) -> LeafInput {
    let mut encoder = RowEncoder::new(columns.iter().map(|column| &column.data_type)).unwrap();
    let mut rows = Vec::new();
    for batch in batches {
        rows.extend(encoder.encode(batch).unwrap().rows().map(<[u8]>::to_vec));
    }
    LeafInput::Rows(rows)
}

/// Sources of a test.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) broadcasts: HashMap<i64, Shared>,
    pub(super) blocks: Vec<Bytes>,
    /// Settings of Hadoop.
    pub(super) hadoop: HashMap<String, String>,
    /// How often [`Sources::alive`] may be asked before the task is killed; 0 for ever.
    pub(super) asked: AtomicUsize,
    pub(super) life: usize,
    pub(super) partition: i32,
    /// Answers calls of functions of Python.
    pub(super) worker: Option<fn(&PythonCall, PythonArguments) -> PythonFrames>,
}

impl Sources for Given {
    fn shuffle(&self, _: &ShuffleRead, _: ShufflePartitionSpec) -> Result<Box<dyn BlockStream>> {
        Ok(Box::new(Blocks(self.blocks.clone().into_iter())))
    }

    fn shuffle_bytes(&self, _: &ShuffleRead, _: ShufflePartitionSpec) -> Option<u64> {
        Some(self.blocks.iter().map(|block| block.len() as u64).sum())
    }

    fn of_broadcast(&self, broadcast: &Broadcast, _: &str, _: &mut Make<'_>) -> Result<Shared> {
        Ok(Arc::clone(&self.broadcasts[&broadcast.id]))
    }

    fn file(
        &self,
        path: &str,
        _: u64,
        _: i64,
        _: HadoopSettings<'_>,
    ) -> Result<Arc<dyn FileBytes>> {
        Ok(Arc::new(Local(File::open(
            path.trim_start_matches("file:"),
        )?)))
    }

    fn stream(
        &self,
        path: &str,
        part: Range<u64>,
        _: HadoopSettings<'_>,
    ) -> Result<Box<dyn Read + Send>> {
        let mut file = File::open(path.trim_start_matches("file:"))?;
        file.seek(SeekFrom::Start(part.start))?;
        Ok(Box::new(file))
    }

    fn hadoop_setting(&self, _: HadoopSettings<'_>, key: &str) -> Result<Option<String>> {
        Ok(self.hadoop.get(key).cloned())
    }

    fn python(
        &self,
        call: &PythonCall,
        arguments: PythonArguments,
        _: PythonTimes,
    ) -> Result<PythonFrames> {
        Ok(self.worker.unwrap()(call, arguments))
    }

    fn partition(&self) -> Option<i32> {
        Some(self.partition)
    }

    fn alive(&self) -> Result<()> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        match self.life > 0 && asked >= self.life {
            true => Err(RunError::Killed.into()),
            false => Ok(()),
        }
    }
}

struct Blocks(std::vec::IntoIter<Bytes>);

impl BlockStream for Blocks {
    fn next(&mut self) -> Result<Option<Records>> {
        Ok(self.0.next().map(Records::Rows))
    }
}

#[derive(Debug)]
struct Local(File);

impl FileBytes for Local {
    fn read_at(&self, range: std::ops::Range<u64>) -> Result<Bytes> {
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap()];
        self.0.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes.into())
    }
}

/// A stage whose rows are collected, or, if their order does not matter, sampled.
pub(super) fn stage(root: Operator, inputs: Inputs, ordered: bool) -> Arc<Stage> {
    let output = match ordered {
        true => Output::Collect {
            limit: -1,
            take_from_end: false,
            result: CollectResult::Array,
        },
        false => Output::RangeSample {
            order: Vec::new(),
            sample_size: 0,
            rdd_id: 0,
        },
    };
    Arc::new(Stage {
        root,
        inputs,
        output,
        kryo: None,
    })
}

/// A stage with one leaf.
pub(super) fn simple(root: Operator) -> NativeStage {
    NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap()
}

pub(super) fn plan(stage: &NativeStage, inputs: &TaskInputs, sources: Given) -> TaskPlan {
    stage.task(inputs, Arc::new(sources)).unwrap()
}

/// Runs a plan with so many bytes of memory.
pub(super) fn run_within(
    plan: &TaskPlan,
    memory: usize,
) -> std::result::Result<Vec<RecordBatch>, RunError> {
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0);
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(64);
    run_with(plan, runtime, config)
}

/// Runs a plan in surroundings of its own.
pub(super) fn run_with(
    plan: &TaskPlan,
    runtime: RuntimeEnvBuilder,
    config: SessionConfig,
) -> std::result::Result<Vec<RecordBatch>, RunError> {
    let context = TaskContext::default()
        .with_session_config(config)
        .with_runtime(Arc::new(runtime.build().unwrap()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let batches = plan.root.execute(0, Arc::new(context));
        let batches = batches.map_err(RunError::of)?;
        batches.try_collect().await.map_err(RunError::of)
    })
}

pub(super) fn run(plan: &TaskPlan) -> Vec<RecordBatch> {
    run_within(plan, 1 << 30).unwrap()
}

/// Runs a stage with one leaf of rows.
pub(super) fn run_rows(
    root: Operator,
    columns: &[Attribute],
    arrays: Vec<ArrayRef>,
) -> Vec<String> {
    let input = rows(columns, &[batch(columns, arrays)]);
    let stage = simple(root);
    let plan = plan(&stage, &TaskInputs::Leaf(0, input), Given::default());
    let batches = run(&plan);
    for batch in &batches {
        assert_eq!(batch.schema(), stage.schema());
    }
    text(&batches)
}

/// Each row as a text.
pub(super) fn text(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("null");
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column, &options).unwrap());
        let columns: Vec<_> = columns.collect();
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.value(row).to_string());
            rows.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    rows
}

pub(super) fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// A message as workers' streams are divided: what is before its description, that, and its body.
pub(super) fn divided(message: Vec<u8>) -> Vec<Bytes> {
    let mut rest = Bytes::from(message);
    let start = rest.split_to(8);
    let length = u32::from_le_bytes(*start[4..].first_chunk().unwrap());
    let description = rest.split_to(length as usize);
    let parts = [start, description, rest].into_iter();
    parts.filter(|part| !part.is_empty()).collect()
}
