//! Joins of two large sides: sorted by DataFusion, which may spill, and merged by it.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use datafusion_common::{JoinSide, JoinType as MergeType, NullEquality};
use datafusion_physical_expr::expressions::CastExpr;
use datafusion_physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::SortMergeJoinExec;
use datafusion_physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion_physical_plan::sorts::sort::SortExec;
use futures::StreamExt;

use super::side::Column;
use super::{Sides, lower_keys};
use crate::exec::{OperatorExec, Start, batch_of};
use crate::expr::order_key;
use crate::lower::{Demand, Lowered, Result};
use catalyst::DataType;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr};
use catalyst::{BuildSide, EquiJoin, JoinType};
use rows::is_ordered;
use rows::types::ToArrow as _;

/// A join of sorted sides.
pub(super) struct Merge {
    keys: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
    join_type: MergeType,
    filter: Option<JoinFilter>,
    /// Places of the columns that come out.
    places: Vec<usize>,
}

/// As Spark sorts the inputs of a merge.
const ORDER: SortOptions = SortOptions {
    descending: false,
    nulls_first: true,
};

impl Merge {
    pub(super) fn new(
        join: &EquiJoin,
        left: &Lowered,
        right: &Lowered,
        output: &[Attribute],
    ) -> Result<Self> {
        let comparable = |key: &Expr| match key.data_type {
            DataType::Struct(_) | DataType::Array { .. } => {
                let of = key.data_type.to_arrow();
                of.is_ok_and(|of| is_ordered(&of))
            }
            _ => matches!(
                key.data_type,
                DataType::Boolean
                    | DataType::Byte
                    | DataType::Short
                    | DataType::Integer
                    | DataType::Long
                    | DataType::Decimal(_)
                    | DataType::Date
                    | DataType::String
                    | DataType::Binary
                    | DataType::Timestamp
                    | DataType::TimestampNtz
                    | DataType::Time(_)
            ),
        };
        if let Some(key) = join.left_keys.iter().find(|key| !comparable(key)) {
            let text = format!("a merge by {}", key.data_type);
            return Err(Unsupported::of_use(text));
        }
        let sides = Sides {
            join_type: &join.join_type,
            build_side: BuildSide::Right,
            streamed: left.output()?,
            build: right.output()?,
        };
        let (columns, _) = sides.output(Demand::unordered(None));
        let place = |of: &Attribute| columns.iter().position(|column| column.id == of.id);
        let places: Option<Vec<usize>> = output.iter().map(place).collect();
        let filter = sides.condition(join.condition.as_ref())?.map(|condition| {
            let columns = condition.columns.iter().filter_map(|column| match column {
                Column::Streamed(index) => Some((*index, JoinSide::Left)),
                Column::Build(index) => Some((*index, JoinSide::Right)),
                Column::Exists => None,
            });
            let columns = columns.map(|(index, side)| ColumnIndex { index, side });
            JoinFilter::new(condition.predicate, columns.collect(), condition.schema)
        });
        let left_keys = merge_keys(&join.left_keys, left.output()?)?;
        let right_keys = merge_keys(&join.right_keys, right.output()?)?;
        Ok(Self {
            keys: left_keys.into_iter().zip(right_keys).collect(),
            join_type: match &join.join_type {
                JoinType::Inner => MergeType::Inner,
                JoinType::LeftOuter => MergeType::Left,
                JoinType::RightOuter => MergeType::Right,
                JoinType::FullOuter => MergeType::Full,
                JoinType::LeftSemi => MergeType::LeftSemi,
                JoinType::LeftAnti => MergeType::LeftAnti,
                JoinType::Existence(_) => MergeType::LeftMark,
            },
            filter,
            places: places.ok_or_else(|| Unsupported::of_use("a join of other columns"))?,
        })
    }

    pub(super) fn exec(
        &self,
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (left_keys, right_keys): (Vec<_>, Vec<_>) = self.keys.iter().cloned().unzip();
        let merge = SortMergeJoinExec::try_new(
            sorted(left, left_keys)?,
            sorted(right, right_keys)?,
            self.keys.clone(),
            self.filter.clone(),
            self.join_type,
            vec![ORDER; self.keys.len()],
            NullEquality::NullEqualsNothing,
        );
        let merge = merge.map_err(|error| Unsupported::of_use(format!("a merge: {error}")))?;
        let places: Arc<[usize]> = self.places.as_slice().into();
        let start = move |start: &Start<'_>| {
            let (schema, places) = (Arc::clone(start.schema), Arc::clone(&places));
            let baseline = start.baseline();
            let batches = start.input(0)?.map(move |batch| {
                let batch = batch?;
                let rows = batch.num_rows();
                baseline.record_output(rows);
                let columns = batch.project(&places)?.columns().to_vec();
                batch_of(&schema, columns, rows)
            });
            Ok(batches.boxed())
        };
        let (inputs, start) = (vec![Arc::new(merge) as _], Arc::new(start));
        let name = "SortMergeJoinExec";
        Ok(Arc::new(OperatorExec::new(name, inputs, schema, start)))
    }
}

/// What DataFusion merges by: not by timestamps with a time zone, nor by arrays and structs.
fn merge_keys(keys: &[Expr], input: &[Attribute]) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
    let lowered = lower_keys(keys, input)?;
    let pairs = lowered.into_iter().zip(keys);
    let keys = pairs.map(|(key, of)| match of.data_type {
        DataType::Timestamp => Ok(Arc::new(CastExpr::new(key, ArrowType::Int64, None)) as _),
        _ => order_key(&of.data_type.to_arrow()?, key),
    });
    keys.collect()
}

fn sorted(
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<SortExec>> {
    let keys = keys
        .into_iter()
        .map(|key| PhysicalSortExpr::new(key, ORDER));
    let order = LexOrdering::new(keys);
    let order = order.ok_or_else(|| Unsupported::of_use("a join without keys"))?;
    Ok(Arc::new(SortExec::new(order, input)))
}
