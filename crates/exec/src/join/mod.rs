//! Joins: a table of one side, along which the other is streamed, in parts if both sides are large; or sorted sides
//! that are merged.

mod cartesian;
mod divide;
mod gather;
mod hash;
mod hybrid;
#[cfg(test)]
mod memory_tests;
mod merge;
mod probe;
mod shuffled;
mod side;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;
use futures::StreamExt;

pub(super) use self::cartesian::cartesian;
use self::probe::{Build, Emit, Plan, Probe};
pub(super) use self::shuffled::shuffled;
use self::side::{Column, Condition};
use super::exec::{OperatorExec, Start, pipe};
use super::expr::lower;
use super::lower::{Demand, Lowered, Lowering, Result, all_references, needed};
use super::sources::{SharedMemory, Sources};
use catalyst::DataType;
use catalyst::Inputs;
use catalyst::Literal;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr, ExprKind, Function};
use catalyst::{Broadcast, Operator};
use catalyst::{BuildSide, EquiJoin, JoinType};
use rows::error::bail_out;
use rows::types::{ToArrow as _, schema_of};
use rows::{Relation, RelationKind, RelationTable, Serializer};

/// A join with a broadcast side.
#[derive(Debug, Clone, Copy)]
pub(super) struct BroadcastJoin<'a> {
    /// Keys; `None` for a nested loop join.
    pub(super) keys: Option<&'a EquiJoin>,
    pub(super) join_type: &'a JoinType,
    pub(super) condition: Option<&'a Expr>,
    pub(super) build_side: BuildSide,
    pub(super) null_aware_anti: bool,
    pub(super) broadcast: Broadcast,
    pub(super) build_output: &'a [Attribute],
    pub(super) streamed: &'a Operator,
}

/// Lowers a join with a broadcast side.
pub(super) fn broadcast(
    lowering: &Lowering,
    join: BroadcastJoin<'_>,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let emit = match emit(join.join_type, join.build_side, join.null_aware_anti)? {
        // Which rows of the table match is known by all tasks together only.
        Emit::Pairs { build: true, .. } | Emit::BuildSemi | Emit::BuildAnti => {
            return Err(Unsupported::of_use(format!(
                "a broadcast {} join of the {:?} side",
                join.join_type, join.build_side
            )));
        }
        emit => emit,
    };
    if emit == Emit::NullAwareAnti
        && (join.condition.is_some() || join.keys.is_none_or(|keys| keys.left_keys.len() != 1))
    {
        return Err(Unsupported::of_use(
            "a null-aware anti join of several keys",
        ));
    }
    let (streamed_keys, build_keys): (&[Expr], &[Expr]) = match (join.keys, join.build_side) {
        (None, _) => (&[], &[]),
        (Some(keys), BuildSide::Left) => (&keys.right_keys, &keys.left_keys),
        (Some(keys), BuildSide::Right) => (&keys.left_keys, &keys.right_keys),
    };
    if join.keys.is_some() && streamed_keys.is_empty() {
        return Err(Unsupported::of_use("a join without keys"));
    }
    let below = needed(demand, streamed_keys.iter().chain(join.condition));
    let child = lowering.operator(join.streamed, inputs, demand.of(below.as_ref()))?;
    let streamed = child.output()?;
    let sides = Sides {
        join_type: join.join_type,
        build_side: join.build_side,
        streamed,
        build: join.build_output,
    };
    let (output, columns) = sides.output(demand);
    let plan = Arc::new(Plan {
        emit,
        keys: lower_keys(streamed_keys, streamed)?,
        condition: sides.condition(join.condition)?,
        output: columns,
    });
    comparable_keys(join.keys)?;
    let schema = schema_of(&output)?;
    let of = join.broadcast;
    let table = Arc::new(TableOf {
        // Attributes print themselves with their ids: other columns or keys are another table.
        name: format!(
            "{} by {}",
            catalyst::list(join.build_output),
            catalyst::list(build_keys)
        ),
        types: join
            .build_output
            .iter()
            .map(|column| column.data_type.clone())
            .collect(),
        keys: lower_keys(build_keys, join.build_output)?,
    });
    let name = match join.keys {
        Some(_) => "BroadcastHashJoinExec",
        None => "BroadcastNestedLoopJoinExec",
    };
    let has_keys = join.keys.is_some();
    Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let input = child.build(task, inputs)?;
            let sources = Arc::clone(&task.sources);
            let (plan, table) = (Arc::clone(&plan), Arc::clone(&table));
            let start = move |start: &Start<'_>| {
                let build = table.of(sources.as_ref(), &of)?;
                match (build.kind, plan.emit) {
                    (RelationKind::AllNullKeys, Emit::NullAwareAnti) => {
                        return Ok(futures::stream::empty().boxed());
                    }
                    (RelationKind::AllNullKeys, _) => {
                        return Err(bail_out("a relation of null keys"));
                    }
                    (RelationKind::Rows, _) if has_keys => {
                        return Err(bail_out("a relation without keys"));
                    }
                    _ => {}
                }
                let plan = match plan.emit {
                    // Nothing is in nothing, not even null.
                    Emit::NullAwareAnti if build.batch.num_rows() == 0 => Arc::new(Plan {
                        emit: Emit::Anti,
                        keys: plan.keys.clone(),
                        condition: None,
                        output: plan.output.clone(),
                    }),
                    _ => Arc::clone(&plan),
                };
                let input = start.input(0)?;
                let (schema, size) = (Arc::clone(start.schema), start.batch_size());
                let sources = Arc::clone(&sources);
                let probe = Probe::new(sources, plan, build, input.schema(), schema, size);
                Ok(pipe(probe, input, start.baseline()))
            };
            let schema = Arc::clone(&schema);
            Ok(Arc::new(OperatorExec::new(
                name,
                vec![input],
                schema,
                Arc::new(start),
            )))
        }),
    )
}

/// Bytes of a table for each row, about.
const TABLE_ROW: usize = 48;

/// What makes the table of a broadcast side.
struct TableOf {
    name: String,
    types: Vec<DataType>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
}

impl TableOf {
    /// The table, made by the first task that asks.
    fn of(&self, sources: &dyn Sources, broadcast: &Broadcast) -> DataFusionResult<Arc<Build>> {
        let shared = sources.of_broadcast(broadcast, &self.name, &mut |value, memory| {
            Ok(Arc::new(self.make(value, sources.serializer(), memory)?))
        })?;
        let build = shared.downcast();
        build.map_err(|_| bail_out("a broadcast of something else"))
    }

    fn make(
        &self,
        value: &[u8],
        serializer: Serializer,
        mut memory: Box<dyn SharedMemory>,
    ) -> DataFusionResult<Build> {
        // Rows are copied, and columns made of them.
        memory.resize(value.len().saturating_mul(2))?;
        let relation = Relation::read(value, serializer, self.types.iter())?;
        let (kind, rows) = (relation.kind, relation.memory_size());
        let batch = relation.batch;
        let table = match self.keys.is_empty() {
            true => None,
            false => {
                let table = batch.num_rows().saturating_mul(TABLE_ROW);
                memory.resize(rows.saturating_add(table))?;
                let keys = super::project::evaluate(&self.keys, &batch)?;
                Some(RelationTable::new(&keys, batch.num_rows())?)
            }
        };
        let table_size = table.as_ref().map_or(0, RelationTable::memory_size);
        memory.resize(rows.saturating_add(table_size))?;
        Ok(Build {
            kind,
            batch,
            table,
            memory: Some(memory),
        })
    }
}

/// Which rows come out of a join if one side is made into a table.
fn emit(join_type: &JoinType, build_side: BuildSide, null_aware_anti: bool) -> Result<Emit> {
    let pairs = |streamed, build| Emit::Pairs { streamed, build };
    Ok(match (join_type, build_side) {
        (JoinType::LeftAnti, BuildSide::Right) if null_aware_anti => Emit::NullAwareAnti,
        _ if null_aware_anti => return Err(Unsupported::of_use("a null-aware join")),
        (JoinType::Inner, _) => pairs(false, false),
        (JoinType::LeftOuter, BuildSide::Right) | (JoinType::RightOuter, BuildSide::Left) => {
            pairs(true, false)
        }
        (JoinType::LeftOuter, BuildSide::Left) | (JoinType::RightOuter, BuildSide::Right) => {
            pairs(false, true)
        }
        (JoinType::FullOuter, _) => pairs(true, true),
        (JoinType::LeftSemi, BuildSide::Right) => Emit::Semi,
        (JoinType::LeftSemi, BuildSide::Left) => Emit::BuildSemi,
        (JoinType::LeftAnti, BuildSide::Right) => Emit::Anti,
        (JoinType::LeftAnti, BuildSide::Left) => Emit::BuildAnti,
        (JoinType::Existence(_), BuildSide::Right) => Emit::Existence,
        (JoinType::Existence(_), BuildSide::Left) => {
            return Err(Unsupported::of_use("an existence join of the Left side"));
        }
    })
}

/// The columns of both sides.
#[derive(Debug, Clone, Copy)]
struct Sides<'a> {
    join_type: &'a JoinType,
    build_side: BuildSide,
    streamed: &'a [Attribute],
    build: &'a [Attribute],
}

impl Sides<'_> {
    /// Columns of pairs, left before right.
    fn pairs(&self) -> Vec<(Attribute, Column)> {
        let streamed = self.streamed.iter().cloned().enumerate();
        let streamed = streamed.map(|(place, column)| (column, Column::Streamed(place)));
        let build = self.build.iter().cloned().enumerate();
        let build = build.map(|(place, column)| (column, Column::Build(place)));
        match self.build_side {
            BuildSide::Left => build.chain(streamed).collect(),
            BuildSide::Right => streamed.chain(build).collect(),
        }
    }

    /// The columns that come out.
    fn output(&self, demand: Demand<'_>) -> (Vec<Attribute>, Vec<Column>) {
        let is_left = |column: &Column| match self.build_side {
            BuildSide::Left => matches!(column, Column::Build(_)),
            BuildSide::Right => matches!(column, Column::Streamed(_)),
        };
        let mut columns = self.pairs();
        if let JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Existence(_) = self.join_type {
            columns.retain(|(_, column)| is_left(column));
        }
        if let JoinType::Existence(exists) = self.join_type {
            columns.push((exists.clone(), Column::Exists));
        }
        if let Some(ids) = demand.columns {
            columns.retain(|(column, _)| ids.contains(&column.id));
        }
        columns.into_iter().unzip()
    }

    fn condition(&self, condition: Option<&Expr>) -> Result<Option<Condition>> {
        let Some(condition) = condition else {
            return Ok(None);
        };
        let mut pairs = self.pairs();
        if let Some(ids) = all_references([condition]) {
            pairs.retain(|(column, _)| ids.contains(&column.id));
        }
        let (input, columns): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        Ok(Some(Condition {
            predicate: lower(condition, &input)?,
            schema: schema_of(&input)?,
            columns,
        }))
    }
}

fn lower_keys(keys: &[Expr], input: &[Attribute]) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
    keys.iter().map(|key| lower(key, input)).collect()
}

/// Whether equal values of the key have equal bits. Spark makes one zero and one NaN of the keys of a join, of arrays
/// and structs where they are made (`NormalizeFloatingNumbers`), and then compares bits; but not of those of joins that
/// it makes of `NOT IN` later.
fn is_one_of_bits(key: &Expr) -> bool {
    if !has_floats(&key.data_type) {
        return true;
    }
    match &key.kind {
        ExprKind::Call { function, args, .. } => match function {
            Function::KnownFloatingPointNormalized => true,
            Function::CreateArray | Function::Coalesce => args.iter().all(is_one_of_bits),
            Function::If => args.iter().skip(1).all(is_one_of_bits),
            _ => false,
        },
        ExprKind::CreateNamedStruct(parts) => parts.iter().all(is_one_of_bits),
        ExprKind::CaseWhen {
            branches,
            otherwise,
        } => {
            let values = branches.iter().map(|(_, value)| value);
            values.chain(otherwise.as_deref()).all(is_one_of_bits)
        }
        ExprKind::Literal(value) => has_one_of_bits(value),
        _ => false,
    }
}

/// Whether all floats in it are such that only they themselves are equal to them.
fn has_one_of_bits(value: &Literal) -> bool {
    match value {
        Literal::Float(value) => !value.is_nan() && value.to_bits() != (-0.0_f32).to_bits(),
        Literal::Double(value) => !value.is_nan() && value.to_bits() != (-0.0_f64).to_bits(),
        Literal::Array(parts) | Literal::Struct(parts) => parts.iter().all(has_one_of_bits),
        Literal::Map(_) => false,
        _ => true,
    }
}

fn has_floats(of: &DataType) -> bool {
    match of {
        DataType::Float | DataType::Double => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(&field.data_type)),
        DataType::Array { element, .. } => has_floats(element),
        // Which are not compared at all.
        DataType::Map { .. } => true,
        _ => false,
    }
}

/// Fails if keys cannot be compared by their values.
fn comparable_keys(keys: Option<&EquiJoin>) -> Result<()> {
    let Some(keys) = keys else {
        return Ok(());
    };
    let mut all = keys.left_keys.iter().chain(&keys.right_keys);
    if !all.all(is_one_of_bits) {
        return Err(Unsupported::of_use("a join by the bits of floats"));
    }
    let mut all = keys.left_keys.iter().chain(&keys.right_keys);
    if all.any(|key| key.data_type.has_variants()) {
        return Err(Unsupported::of_use("a join by variants"));
    }
    // Parts of keys may be null on one side only.
    for (left, right) in keys.left_keys.iter().zip(&keys.right_keys) {
        if left.data_type.to_arrow()? != right.data_type.to_arrow()? {
            return Err(Unsupported::of_use("join keys of different types"));
        }
    }
    Ok(())
}
