//! `FlatMapGroupsInPandasExec`, `FlatMapCoGroupsInPandasExec` and their kin: rows that a function of Python makes of
//! those of the same keys, of one input or of two.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, Fields, Schema};
use catalyst::{Attribute, DataType, Expr, GroupedInput, Inputs, MapGroups, Operator, Unsupported};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::MetricBuilder;
use futures::stream::StreamExt as _;

use super::DATA_SENT;
use super::batches::BatchWriter;
use super::conversion::type_for_python;
use super::group_frames::{Form, GroupFrames, Side};
use super::made::{Made, Maker};
use super::map::fields_of;
use super::stream::ArrowDecoder;
use crate::exec::{OperatorExec, Start};
use crate::expr::lower;
use crate::groups::GroupKeys;
use crate::lower::{Build, Demand, Lowered, Lowering, Result, built, inputs_of};
use crate::sources::{PythonCall, PythonCallee, PythonRows, PythonTimes, Sources};

/// What is known of the operator when it is judged.
struct Plan {
    map: MapGroups,
    inputs: Vec<Given>,
}

/// What is given of an input.
struct Given {
    keys: Arc<GroupKeys>,
    arguments: Arc<[Arc<dyn PhysicalExpr>]>,
    schema: Schema,
    /// The fields of the only column, if rows are sent as structs.
    fields: Option<Fields>,
}

/// Lowers a function of Python over groups of the rows of one input or two.
pub(in super::super) fn map_groups(
    lowering: &Lowering,
    map: &MapGroups,
    children: &[Operator],
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let of_children = inputs_of(children, inputs)?;
    if children.len() != map.inputs.len() {
        return Err(Unsupported::of_use("inputs of another shape"));
    }
    if let [left, right] = &map.inputs[..] {
        let types = |of: &GroupedInput| -> Vec<DataType> {
            of.keys.iter().map(|key| key.data_type.clone()).collect()
        };
        if types(left) != types(right) {
            return Err(Unsupported::of_use("groups by keys of different types"));
        }
    }
    let zone = Arc::from(map.time_zone.as_str());
    type_for_python(&DataType::Struct(fields_of(&map.output)), &zone)?;
    let (mut lowered, mut given) = (Vec::new(), Vec::new());
    for ((child, inputs), of) in children.iter().zip(of_children).zip(&map.inputs) {
        // The function sees the order of rows.
        let all = Demand {
            columns: None,
            ordered: true,
        };
        let child = lowering.operator(child, inputs, all)?;
        let as_structs = map.kind.sees_structs();
        given.push(Given::new(of, child.output()?, &zone, as_structs)?);
        lowered.push(child);
    }
    let (made, attributes) = Made::new(&map.output, demand);
    let schema = rows::types::schema_of(&attributes)?;
    let (map, inputs, made) = (map.clone(), given, Arc::new(made));
    let plan = Arc::new(Plan { map, inputs });
    let build: Build = Box::new(move |task, inputs| {
        let children = built(&lowered, task, inputs)?;
        let (plan, made) = (Arc::clone(&plan), Arc::clone(&made));
        let sources = Arc::clone(&task.sources);
        let start = move |start: &Start<'_>| {
            let begin = begin(&plan, &sources, start)?;
            Ok(made.rows(start, begin).boxed())
        };
        Ok(Arc::new(OperatorExec::new(
            "MapGroupsExec",
            children,
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

impl Given {
    fn new(
        of: &GroupedInput,
        input: &[Attribute],
        zone: &Arc<str>,
        as_structs: bool,
    ) -> Result<Self> {
        let column = |of: &Attribute| {
            let own: ArrowType = type_for_python(&of.data_type, zone)?;
            Ok(Field::new(&of.name, own, of.nullable))
        };
        let fields: Vec<Field> = of.columns.iter().map(column).collect::<Result<_>>()?;
        let (schema, fields) = match as_structs {
            false => (Schema::new(fields), None),
            true => {
                let row = DataType::Struct(fields_of(&of.columns));
                let row = Field::new("struct", type_for_python(&row, zone)?, true);
                (Schema::new(vec![row]), Some(Fields::from(fields)))
            }
        };
        let keys = of.keys.iter().cloned().map(Expr::attribute);
        let arguments = of.columns.iter().cloned();
        let arguments = arguments.map(|column| lower(&Expr::attribute(column), input));
        Ok(Self {
            keys: Arc::new(GroupKeys::new(keys, input)?),
            arguments: arguments.collect::<Result<_>>()?,
            schema,
            fields,
        })
    }
}

/// What begins a task. No worker is asked for if there are no rows.
fn begin(
    plan: &Arc<Plan>,
    sources: &Arc<dyn Sources>,
    start: &Start<'_>,
) -> DataFusionResult<impl FnOnce() -> DataFusionResult<Option<Maker>> + use<>> {
    let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
    let mut sides = Vec::new();
    for (place, given) in plan.inputs.iter().enumerate() {
        let memory = MemoryConsumer::new("MapGroupsExec");
        sides.push(Side::new(
            start.input(place)?,
            Arc::clone(&given.keys),
            Arc::clone(&given.arguments),
            BatchWriter::new(given.schema.clone(), given.fields.clone())?,
            memory.register(start.context.memory_pool()),
        ));
    }
    let (sent, times) = (counter(DATA_SENT), PythonTimes::new(counter));
    let (plan, sources) = (Arc::clone(plan), Arc::clone(sources));
    Ok(move || {
        let map = &plan.map;
        let form = Form::of(sides.len(), map.in_batches, &*sources)?;
        let divides = map.in_batches && !map.kind.sees_batches();
        let mut frames = GroupFrames::new(sides, form, divides, sent);
        if !frames.has_rows()? {
            return Ok(None);
        }
        let frames = sources.python(&call(map), Box::new(frames), times)?;
        let decoder = ArrowDecoder::of_rows(&map.output, false)?;
        Ok(Some(Maker::Worker(frames, Box::new(decoder))))
    })
}

fn call(map: &MapGroups) -> PythonCall {
    let places = map.inputs.iter().flat_map(|input| &input.places);
    let callee = PythonCallee {
        functions: vec![map.function],
        arguments: places.map(|place| (*place, None)).collect(),
        result_id: map.result_id,
    };
    PythonCall {
        callees: vec![callee],
        job_artifact_uuid: map.job_artifact_uuid.clone(),
        table: None,
        rows: PythonRows::without_types(map.kind.eval_type(), map.settings.clone()),
    }
}
