//! What of a stage's output Spark determines, whichever executor runs a task, and in whichever order blocks arrive.
//! Where Spark is free, so is the native attempt: which rows a limit keeps, and the order in which floating-point
//! numbers are added up.

use std::collections::HashMap;

use catalyst::{
    AggregateExpression, AggregateKind, AggregateMode, AggregateStrategy, Attribute, BuildSide,
    DataType, EquiJoin, Expr, ExprId, ExprKind, FrameUnit, Generator, JoinType, MAX_LONG_DIGITS,
    Operator, OperatorKind, Output, Partitioning, RankLike, SortOrder, Stage, WindowExpression,
    WindowFunction,
};

use super::rows::{Column, Count, Determined, Sequence, Slot, View};

/// How the output of a stage's tasks is compared.
#[derive(Debug)]
pub(in crate::lanes::sql) struct Rules {
    pub(super) view: View,
    /// Whether it is determined which row goes to which reduce partition.
    pub(super) partitions: bool,
    /// Why nothing can be compared.
    pub(super) nothing: Option<&'static str>,
}

/// Which rows an operator puts out.
#[derive(Debug, Clone, PartialEq)]
enum Rows {
    All,
    /// The first by these columns.
    First {
        keys: Vec<ExprId>,
        limit: u64,
    },
    /// As many as are determined.
    Number,
    /// Not even their number is.
    Nothing(&'static str),
}

const LIMITED: &str = "rows of which a limit may have kept others";
const SUMS: &str = "rows that depend on the last digits of sums";

/// What is determined of the rows of an operator.
#[derive(Debug, Clone)]
struct Facts {
    rows: Rows,
    /// Whether they come in one order only.
    ordered: bool,
    /// By which columns they are sorted.
    sorted: Vec<ExprId>,
    /// Columns that are not determined to the last bit.
    loose: HashMap<ExprId, Determined>,
}

impl Rules {
    /// For all tasks of a stage.
    pub(in crate::lanes::sql) fn new(stage: &Stage) -> Self {
        let facts = Facts::of(&stage.root);
        let output = stage.root.output.known();
        let mut rows = facts.rows.clone();
        let mut partitions = true;
        let mut keys_count = false;
        match &stage.output {
            Output::ShuffleWrite(write) => {
                let all = rows == Rows::All;
                let exact = |expr: &Expr| facts.look(expr) == Determined::Exact;
                partitions = match &write.partitioning {
                    Partitioning::Single => true,
                    Partitioning::Hash(exprs) => all && exprs.iter().all(exact),
                    Partitioning::Range { order, .. } => {
                        all && order.iter().all(|by| exact(&by.child))
                    }
                    // The place of a row is that among all.
                    Partitioning::RoundRobin { sorted } => {
                        all && facts.loose.is_empty() && (*sorted || facts.ordered)
                    }
                };
                if write.partitioning != Partitioning::Single && !matches!(rows, Rows::All) {
                    rows = rows.only_number();
                }
            }
            Output::Collect {
                limit,
                take_from_end,
                ..
            } => {
                keys_count = true;
                rows = facts.limited(u64::try_from(*limit).ok(), *take_from_end);
            }
            Output::TakeOrdered => keys_count = true,
            Output::RangeSample { order, .. } => {
                let exact = order
                    .iter()
                    .all(|by| facts.look(&by.child) == Determined::Exact);
                if !(facts.ordered && exact && rows == Rows::All) {
                    rows = rows.only_number();
                }
                let (count, nothing) = rows.resolve(&[]);
                let ordered = match count {
                    Count::All => Sequence::Rows,
                    _ => Sequence::Nothing,
                };
                return Self {
                    view: View {
                        columns: None,
                        count,
                        sequence: ordered,
                    },
                    partitions,
                    nothing,
                };
            }
        }
        let columns = output.map(|output| output.iter().map(|of| facts.column(of)).collect());
        let output = output.unwrap_or_default();
        let sorted = places(&facts.sorted, output);
        let sequence = match rows {
            _ if !keys_count => Sequence::Nothing,
            Rows::All if facts.ordered => Sequence::Rows,
            Rows::All | Rows::First { .. } if !sorted.is_empty() => Sequence::Keys(sorted),
            _ => Sequence::Nothing,
        };
        let (count, nothing) = rows.resolve(output);
        Self {
            view: View {
                columns,
                count,
                sequence,
            },
            partitions,
            nothing,
        }
    }
}

impl Rows {
    fn only_number(self) -> Self {
        match self {
            Self::Nothing(why) => Self::Nothing(why),
            _ => Self::Number,
        }
    }

    fn resolve(self, output: &[Attribute]) -> (Count, Option<&'static str>) {
        match self {
            Self::All => (Count::All, None),
            Self::Number => (Count::Number, None),
            Self::Nothing(why) => (Count::Number, Some(why)),
            Self::First { keys, limit } => {
                let found = places(&keys, output);
                match found.len() == keys.len() {
                    true => (Count::First { keys: found, limit }, None),
                    false => (Count::Number, None),
                }
            }
        }
    }
}

/// Where these columns are, up to the first that is not there.
fn places(ids: &[ExprId], output: &[Attribute]) -> Vec<usize> {
    ids.iter()
        .map_while(|id| output.iter().position(|of| of.id == *id))
        .collect()
}

fn is_float(of: &DataType) -> bool {
    matches!(of, DataType::Float | DataType::Double)
}

/// The column that an expression is.
fn column_of(expr: &Expr) -> Option<ExprId> {
    match &expr.kind {
        ExprKind::Attribute(attribute) => Some(attribute.id),
        _ => None,
    }
}

impl Facts {
    fn leaf(ordered: bool) -> Self {
        Self {
            rows: Rows::All,
            ordered,
            sorted: Vec::new(),
            loose: HashMap::new(),
        }
    }

    fn of(operator: &Operator) -> Self {
        // The operators are as deep as the decoder lets them be.
        match &operator.kind {
            OperatorKind::FileSourceScan(_)
            | OperatorKind::LocalTableScan { .. }
            | OperatorKind::OneRowRelation { .. }
            | OperatorKind::Range { .. } => Self::leaf(true),
            OperatorKind::ShuffleRead { .. } => Self::leaf(false),
            OperatorKind::Filter { condition, child } => {
                let mut facts = Self::of(child).all_rows();
                facts.decided_by(condition);
                facts
            }
            OperatorKind::Project { list, child } => Self::of(child).projected(list),
            OperatorKind::Aggregate {
                strategy,
                grouping,
                aggregates,
                result,
                child,
                ..
            } => Self::of(child).aggregated(*strategy, grouping, aggregates, result),
            OperatorKind::Sort { order, child, .. } => {
                let mut facts = Self::of(child);
                facts.sort(order);
                facts.ordered = false;
                facts.rows = match facts.rows {
                    Rows::All => Rows::All,
                    other => other.only_number(),
                };
                facts
            }
            OperatorKind::Limit {
                limit,
                offset,
                child,
            } => {
                let mut facts = Self::of(child);
                let limit = u64::try_from(*limit).ok();
                facts.rows = match *offset > 0 && !facts.ordered {
                    true => facts.rows.only_number(),
                    false => facts.limited(limit, false),
                };
                facts
            }
            OperatorKind::TopK {
                limit,
                order,
                child,
            } => {
                let mut facts = Self::of(child);
                facts.ordered = false;
                facts.sort(order);
                facts.rows = facts.limited(u64::try_from(*limit).ok(), false);
                facts
            }
            OperatorKind::BroadcastHashJoin {
                join,
                build_side,
                streamed,
                ..
            } => {
                let mut facts = Self::of(streamed).all_rows();
                facts.decided_by_join(join);
                let keeps = !matches!(
                    (&join.join_type, build_side),
                    (JoinType::FullOuter, _)
                        | (JoinType::LeftOuter, BuildSide::Left)
                        | (JoinType::RightOuter, BuildSide::Right)
                );
                if !keeps {
                    facts.sorted.clear();
                }
                facts.ordered &= matches!(
                    join.join_type,
                    JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Existence(_)
                );
                facts
            }
            OperatorKind::BroadcastNestedLoopJoin {
                condition,
                streamed,
                ..
            } => {
                let mut facts = Self::of(streamed).all_rows();
                if let Some(condition) = condition {
                    facts.decided_by(condition);
                }
                facts.sorted.clear();
                facts.ordered = false;
                facts
            }
            OperatorKind::ShuffledHashJoin {
                join, left, right, ..
            } => Self::joined(join, left, right),
            OperatorKind::SortMergeJoin { join, left, right } => {
                let mut facts = Self::joined(join, left, right);
                let keys: &[Expr] = match join.join_type {
                    JoinType::FullOuter => &[],
                    JoinType::RightOuter => &join.right_keys,
                    _ => &join.left_keys,
                };
                facts.sorted = keys.iter().map_while(column_of).collect();
                facts
            }
            OperatorKind::CartesianProduct {
                condition,
                left,
                right,
            } => {
                let mut facts = Self::of(left).all_rows();
                let right = Self::of(right).all_rows();
                facts.rows = worse(facts.rows, right.rows);
                facts.loose.extend(right.loose);
                if let Some(condition) = condition {
                    facts.decided_by(condition);
                }
                facts.sorted.clear();
                facts.ordered = false;
                facts
            }
            OperatorKind::Union(children) => {
                let mut all = Self::leaf(true);
                for child in children {
                    let one = Self::of(child);
                    all.ordered &= one.ordered;
                    all.rows = worse(all.rows, one.rows);
                    let columns = (operator.output.known(), child.output.known());
                    let (Some(own), Some(of)) = columns else {
                        continue;
                    };
                    for (own, of) in own.iter().zip(of) {
                        if let Some(look) = one.loose.get(&of.id) {
                            all.loosen(own.id, *look);
                        }
                    }
                }
                all
            }
            OperatorKind::Coalesce(child) => {
                let mut facts = Self::of(child);
                facts.sorted.clear();
                facts.rows = worse(Rows::All, facts.rows);
                facts
            }
            OperatorKind::Window {
                expressions,
                partition,
                order,
                child,
            } => {
                let mut facts = Self::of(child).all_rows();
                facts.decided_by_spec(partition, order);
                let looks: Vec<_> = expressions
                    .iter()
                    .map(|of| (of.output.id, facts.look_of_window(of)))
                    .collect();
                for (id, look) in looks {
                    facts.loosen(id, look);
                }
                facts
            }
            OperatorKind::WindowGroupLimit {
                partition,
                order,
                rank,
                child,
                ..
            } => {
                let mut facts = Self::of(child).all_rows();
                facts.decided_by_spec(partition, order);
                // Which of several peers are kept.
                if *rank == RankLike::RowNumber {
                    facts.rows = facts.rows.only_number();
                }
                facts
            }
            OperatorKind::Generate {
                generator,
                generated,
                child,
                ..
            } => Self::of(child).generated(generator, generated),
            OperatorKind::Expand { projections, child } => {
                let child = Self::of(child);
                let mut facts = Self {
                    rows: worse(Rows::All, child.rows.clone()),
                    ..Self::leaf(child.ordered)
                };
                for projection in projections {
                    let columns = operator.output.known().unwrap_or_default();
                    for (own, expr) in columns.iter().zip(projection) {
                        facts.loosen(own.id, child.look(expr));
                    }
                }
                facts
            }
        }
    }

    /// What is determined of an expression over these columns.
    fn look(&self, expr: &Expr) -> Determined {
        let own = match column_of(expr) {
            Some(id) => self.loose.get(&id).copied(),
            None => None,
        };
        let below = expr.children().map(|child| self.look(child)).max();
        match own.max(below).unwrap_or(Determined::Exact) {
            // Anything else may come out as another value altogether.
            Determined::Near | Determined::Moment if !is_float(&expr.data_type) => Determined::Free,
            look => look,
        }
    }

    fn loosen(&mut self, id: ExprId, look: Determined) {
        if look != Determined::Exact {
            let known = self.loose.entry(id).or_insert(look);
            *known = look.max(*known);
        }
    }

    fn column(&self, of: &Attribute) -> Column {
        let slot = match &of.data_type {
            DataType::Float => Slot::Float,
            DataType::Double => Slot::Double,
            DataType::Decimal(decimal) if decimal.precision > MAX_LONG_DIGITS => Slot::Variable,
            DataType::String
            | DataType::Binary
            | DataType::Struct(_)
            | DataType::Array { .. }
            | DataType::Map { .. } => Slot::Variable,
            _ => Slot::Fixed,
        };
        let look = self.loose.get(&of.id).copied().unwrap_or(Determined::Exact);
        Column { slot, look }
    }

    /// For operators of which every row depends on all that they are made of.
    fn all_rows(mut self) -> Self {
        self.rows = match self.rows {
            Rows::All => Rows::All,
            Rows::Nothing(why) => Rows::Nothing(why),
            _ => Rows::Nothing(LIMITED),
        };
        self
    }

    fn decided_by(&mut self, condition: &Expr) {
        if self.look(condition) != Determined::Exact && self.rows == Rows::All {
            self.rows = Rows::Nothing(SUMS);
        }
    }

    fn decided_by_spec(&mut self, partition: &[Expr], order: &[SortOrder]) {
        for expr in partition.iter().chain(order.iter().map(|by| &by.child)) {
            self.decided_by(expr);
        }
    }

    /// What is determined of a window: the order of peers is not, nor what depends on it.
    fn look_of_window(&self, window: &WindowExpression) -> Determined {
        match &window.function {
            WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => Determined::Exact,
            WindowFunction::RowNumber
            | WindowFunction::NTile { .. }
            | WindowFunction::Offset { .. }
            | WindowFunction::NthValue { .. } => Determined::Free,
            WindowFunction::Aggregate(aggregate) => {
                let peers_together =
                    window.frame.unit == FrameUnit::Range || window.frame.is_whole();
                match peers_together {
                    true => typed(self.look_of_aggregate(aggregate), &window.output.data_type),
                    false => Determined::Free,
                }
            }
        }
    }

    fn decided_by_join(&mut self, join: &EquiJoin) {
        for expr in join.left_keys.iter().chain(&join.right_keys) {
            self.decided_by(expr);
        }
        if let Some(condition) = &join.condition {
            self.decided_by(condition);
        }
    }

    fn joined(join: &EquiJoin, left: &Operator, right: &Operator) -> Self {
        let mut facts = Self::of(left).all_rows();
        let right = Self::of(right).all_rows();
        facts.rows = worse(facts.rows, right.rows);
        facts.loose.extend(right.loose);
        facts.decided_by_join(join);
        facts.sorted.clear();
        facts.ordered = false;
        facts
    }

    fn sort(&mut self, order: &[SortOrder]) {
        let keys = order.iter().map_while(|by| column_of(&by.child));
        self.sorted = keys.collect();
        let exact = |id: &ExprId| !self.loose.contains_key(id);
        let count = self.sorted.iter().take_while(|id| exact(id)).count();
        self.sorted.truncate(count);
        // A limit above has to know all keys.
        if count < order.len() {
            self.sorted.push(NO_COLUMN);
        }
    }

    /// The rows that a limit keeps.
    fn limited(&self, limit: Option<u64>, from_end: bool) -> Rows {
        let rows = self.rows.clone();
        match (limit, rows) {
            (None, rows) => rows,
            (Some(_), Rows::All) if self.ordered => Rows::All,
            (Some(limit), Rows::All)
                if !from_end && !self.sorted.is_empty() && !self.sorted.contains(&NO_COLUMN) =>
            {
                Rows::First {
                    keys: self.sorted.clone(),
                    limit,
                }
            }
            (Some(_), rows) => rows.only_number(),
        }
    }

    fn projected(self, list: &[Expr]) -> Self {
        let mut facts = Self {
            loose: HashMap::new(),
            ..self.clone()
        };
        let mut names = HashMap::new();
        for expr in list {
            let Some(attribute) = expr.to_attribute() else {
                continue;
            };
            facts.loosen(attribute.id, self.look(expr));
            let source = match &expr.kind {
                ExprKind::Alias { child, .. } => column_of(child),
                _ => column_of(expr),
            };
            if let Some(source) = source {
                names.entry(source).or_insert(attribute.id);
            }
        }
        let renamed = |ids: &[ExprId]| -> Vec<ExprId> {
            let new = ids.iter().map_while(|id| names.get(id).copied());
            new.collect()
        };
        facts.sorted = renamed(&self.sorted);
        if facts.sorted.len() < self.sorted.len() {
            facts.sorted.push(NO_COLUMN);
        }
        if let Rows::First { keys, limit } = &self.rows {
            let renamed = renamed(keys);
            facts.rows = match renamed.len() == keys.len() {
                true => Rows::First {
                    keys: renamed,
                    limit: *limit,
                },
                false => Rows::Number,
            };
        }
        facts
    }

    /// A generator makes more rows of some than of others, in their order.
    fn generated(self, generator: &Generator, generated: &[Attribute]) -> Self {
        let mut facts = self.all_rows();
        for arg in generator.args() {
            facts.decided_by(arg);
        }
        let looks = generator.args().into_iter().map(|arg| facts.look(arg));
        let look = looks.max().unwrap_or(Determined::Exact);
        for column in generated {
            let look = match is_float(&column.data_type) {
                false if look != Determined::Exact => Determined::Free,
                _ => look,
            };
            facts.loosen(column.id, look);
        }
        facts
    }

    fn aggregated(
        self,
        strategy: AggregateStrategy,
        grouping: &[Expr],
        aggregates: &[AggregateExpression],
        result: &[Expr],
    ) -> Self {
        let mut groups = self.all_rows();
        for expr in grouping {
            groups.decided_by(expr);
        }
        let mut loose = Vec::new();
        // Where the buffers of a function are among what comes out of partial ones.
        let mut at = grouping.len();
        for aggregate in aggregates {
            let function = &aggregate.function;
            let look = groups.look_of_aggregate(aggregate);
            match aggregate.mode {
                AggregateMode::Partial | AggregateMode::PartialMerge => {
                    for column in &function.input_buffer {
                        loose.push((column.id, typed(look, &column.data_type)));
                    }
                    // A list does not say which column is its own.
                    if function.kind == AggregateKind::CollectList
                        && let Some(column) = result.get(at).and_then(Expr::to_attribute)
                    {
                        loose.push((column.id, look));
                    }
                    at += function.input_buffer.len().max(1);
                }
                AggregateMode::Final | AggregateMode::Complete => {
                    loose.push((aggregate.result_id, typed(look, &function.data_type)));
                }
            }
        }
        for (id, look) in loose {
            groups.loosen(id, look);
        }
        // Groups of sorted rows come in their order.
        if strategy == AggregateStrategy::Sort {
            let keys: Vec<_> = grouping
                .iter()
                .filter_map(Expr::to_attribute)
                .map(|key| key.id)
                .collect();
            let count = groups
                .sorted
                .iter()
                .take_while(|id| keys.contains(id))
                .count();
            groups.sorted.truncate(count);
        } else {
            groups.sorted.clear();
        }
        groups.ordered = grouping.is_empty();
        groups.projected(result)
    }

    /// What is determined of an aggregate whose buffers are floating-point numbers. What is computed exactly is exact
    /// whatever the type.
    fn look_of_aggregate(&self, aggregate: &AggregateExpression) -> Determined {
        let function = &aggregate.function;
        let args = function.args.iter().map(|arg| self.look(arg));
        let buffers = function.input_buffer.iter();
        let buffers = buffers.filter_map(|of| self.loose.get(&of.id).copied());
        let inputs = match aggregate.mode.merges() {
            true => buffers.max(),
            false => args.max(),
        };
        let inputs = inputs.unwrap_or(Determined::Exact);
        let filter = aggregate.filter.as_ref().map(|filter| self.look(filter));
        if filter.is_some_and(|look| look != Determined::Exact) {
            return Determined::Free;
        }
        match function.kind {
            AggregateKind::First { .. }
            | AggregateKind::Last { .. }
            | AggregateKind::CollectList
                if !self.ordered =>
            {
                Determined::Free
            }
            // Lists of sums are not looked into.
            AggregateKind::CollectList if inputs != Determined::Exact => Determined::Free,
            // Which values are null is known of sums.
            AggregateKind::Count if inputs != Determined::Free => Determined::Exact,
            AggregateKind::First { .. }
            | AggregateKind::Last { .. }
            | AggregateKind::Count
            | AggregateKind::CollectList
            | AggregateKind::BloomFilter { .. } => inputs,
            // Of two zeros, or of several kinds of NaN, either may be the least.
            AggregateKind::CentralMoment { .. } => inputs.max(Determined::Moment),
            _ => inputs.max(Determined::Near),
        }
    }
}

/// Stands for what is no column.
const NO_COLUMN: ExprId = ExprId {
    id: i64::MIN,
    jvm_id: 0,
};

/// Of a number that is computed from loose ones, or from exact ones by adding them up.
fn typed(look: Determined, of: &DataType) -> Determined {
    match look {
        // Sums of other types are exact: they do not depend on the order.
        Determined::Near | Determined::Moment if !is_float(of) => Determined::Exact,
        look => look,
    }
}

fn worse(one: Rows, other: Rows) -> Rows {
    match (one, other) {
        (Rows::Nothing(why), _) | (_, Rows::Nothing(why)) => Rows::Nothing(why),
        (Rows::All, Rows::All) => Rows::All,
        _ => Rows::Number,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
