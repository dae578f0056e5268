//! What columns an operator object puts out, without reading what it does.

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, read_attribute, read_attributes};
use crate::join::JoinType;
use crate::object::{Object, Reader};
use crate::objects::object_output;

/// `SparkPlan.output` of an operator object.
pub(crate) fn plan_output(reader: &Reader<'_>, plan: Object<'_>) -> Result<Vec<Attribute>> {
    reader.nested(|| nested(reader, plan))
}

fn nested(reader: &Reader<'_>, plan: Object<'_>) -> Result<Vec<Attribute>> {
    let of = |field: &str| plan_output(reader, plan.object(field)?);
    let named = |field: &str| named_output(reader, plan, field);
    match plan.name() {
        "FileSourceScanExec"
        | "RDDScanExec"
        | "LocalTableScanExec"
        | "CommandResultExec"
        | "OneRowRelationExec"
        | "RangeExec"
        | "UnionLoopExec"
        | "EmptyRelationExec"
        | "ExpandExec"
        | "ReusedExchangeExec"
        | "BatchScanExec"
        | "MicroBatchScanExec"
        | "RowDataSourceScanExec"
        | "MapInPandasExec"
        | "MapInArrowExec"
        | "PythonMapInArrowExec"
        | "FlatMapGroupsInPandasExec"
        | "FlatMapGroupsInArrowExec"
        | "FlatMapCoGroupsInPandasExec"
        | "FlatMapCoGroupsInArrowExec"
        // Of `carried`.
        | "OtherStage" => read_attributes(reader, plan.elements("output")?),
        "HiveTableScanExec" => read_attributes(reader, plan.elements("requestedAttributes")?),
        "InMemoryTableScanExec" => read_attributes(reader, plan.elements("attributes")?),
        "FilterExec"
        | "SortExec"
        | "LocalLimitExec"
        | "GlobalLimitExec"
        | "CollectLimitExec"
        | "InputAdapter"
        | "WholeStageCodegenExec"
        | "ColumnarToRowExec"
        | "AQEShuffleReadExec"
        | "SubqueryExec"
        | "ReusedSubqueryExec"
        | "ShuffleExchangeExec"
        | "BroadcastExchangeExec"
        | "CoalesceExec"
        | "WindowGroupLimitExec"
        | "SampleExec" => of("child"),
        "ShuffleQueryStageExec"
        | "BroadcastQueryStageExec"
        | "ResultQueryStageExec"
        | "TableCacheQueryStageExec" => of("plan"),
        // The first plan has subqueries that did not run yet.
        "AdaptiveSparkPlanExec" => match plan.maybe("currentPhysicalPlan") {
            Some(current) => plan_output(reader, current),
            None => of("inputPlan"),
        },
        "ProjectExec" | "TakeOrderedAndProjectExec" => named("projectList"),
        "HashAggregateExec"
        | "SortAggregateExec"
        | "ObjectHashAggregateExec"
        | "AggregateInPandasExec"
        | "ArrowAggregatePythonExec" => named("resultExpressions"),
        "SerializeFromObjectExec" | "AppendColumnsExec" | "AppendColumnsWithObjectExec" => {
            object_output(reader, plan)
        }
        "WindowExec" | "WindowInPandasExec" | "ArrowWindowPythonExec" => {
            Ok([of("child")?, named("windowExpression")?].concat())
        }
        "GenerateExec" => Ok([
            read_attributes(reader, plan.elements("requiredChildOutput")?)?,
            read_attributes(reader, plan.elements("generatorOutput")?)?,
        ]
        .concat()),
        "BatchEvalPythonExec" | "ArrowEvalPythonExec" => Ok([
            of("child")?,
            read_attributes(reader, plan.elements("resultAttrs")?)?,
        ]
        .concat()),
        "BatchEvalPythonUDTFExec" | "ArrowEvalPythonUDTFExec" => Ok([
            read_attributes(reader, plan.elements("requiredChildOutput")?)?,
            read_attributes(reader, plan.elements("resultAttrs")?)?,
        ]
        .concat()),
        "UnionExec" => {
            let children = plan
                .elements("children")?
                .into_iter()
                .map(|child| plan_output(reader, reader.expect(child)?))
                .collect::<Result<Vec<_>>>()?;
            Ok(union_output(&children))
        }
        "BroadcastHashJoinExec"
        | "ShuffledHashJoinExec"
        | "SortMergeJoinExec"
        | "BroadcastNestedLoopJoinExec" => {
            let join_type = JoinType::read(reader, plan)?;
            Ok(join_type.output(&of("left")?, &of("right")?))
        }
        "CartesianProductExec" => Ok([of("left")?, of("right")?].concat()),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

/// Attributes of named expressions. Of an alias around something unknown nothing but its type is missing: that fails.
fn named_output(reader: &Reader<'_>, plan: Object<'_>, field: &str) -> Result<Vec<Attribute>> {
    plan.elements(field)?
        .into_iter()
        .map(|value| {
            if reader.class(value).ends_with(".AttributeReference") {
                return read_attribute(reader, value);
            }
            let named = Expr::read(reader, value)?;
            named
                .to_attribute()
                .ok_or_else(|| Unsupported::of_use("an output without a name"))
        })
        .collect()
}

/// Columns of the first child, null where any child's may be.
pub(crate) fn union_output(children: &[Vec<Attribute>]) -> Vec<Attribute> {
    let mut output = children.first().cloned().unwrap_or_default();
    for child in children {
        for (column, other) in output.iter_mut().zip(child) {
            column.nullable |= other.nullable;
        }
    }
    output
}
