//! What Spark determines of the rows of an operator.

mod aggregates;
mod joins;

use std::collections::HashMap;

use catalyst::{
    Attribute, DataType, Expr, ExprId, ExprKind, Generator, MAX_LONG_DIGITS, ObjectOperator,
    Operator, OperatorKind, PythonUdf, SortOrder,
};

use super::rows::{Column, Determined, Slot};

/// Which rows an operator puts out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rows {
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

pub(super) const LIMITED: &str = "rows of which a limit may have kept others";
pub(super) const MAPPED: &str = "rows that a function of Python makes of all of a partition";
pub(super) const SUMS: &str = "rows that depend on the last digits of sums";

/// What is determined of the rows of an operator.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) rows: Rows,
    /// Whether they come in one order only.
    pub(super) ordered: bool,
    /// By which columns they are sorted.
    pub(super) sorted: Vec<ExprId>,
    /// Columns that are not determined to the last bit.
    pub(super) loose: HashMap<ExprId, Determined>,
}

impl Rows {
    pub(super) fn only_number(self) -> Self {
        match self {
            Self::Nothing(why) => Self::Nothing(why),
            _ => Self::Number,
        }
    }
}

fn is_float(of: &DataType) -> bool {
    matches!(of, DataType::Float | DataType::Double)
}

/// Whether there are floats in arrays or structs: other bytes may be equal then.
fn has_equals(of: &DataType) -> bool {
    let has = |of: &DataType| is_float(of) || has_equals(of);
    match of {
        DataType::Array { element, .. } => has(element),
        DataType::Struct(fields) => fields.iter().any(|field| has(&field.data_type)),
        _ => false,
    }
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

    /// Of what an operator puts out.
    pub(super) fn of(operator: &Operator) -> Self {
        // The operators are as deep as the decoder lets them be.
        match &operator.kind {
            OperatorKind::FileSourceScan(_)
            | OperatorKind::LocalTableScan { .. }
            | OperatorKind::OneRowRelation { .. }
            | OperatorKind::Range { .. } => Self::leaf(true),
            OperatorKind::ShuffleRead { .. } | OperatorKind::PickledScan(_) => Self::leaf(false),
            // What one attempt has kept the other one reads.
            OperatorKind::CheckpointScan(_) => Self::leaf(true),
            OperatorKind::KeepRows { child, .. } => Self::of(child),
            OperatorKind::InMemoryTableScan(scan) => {
                let child = &scan.table.child;
                let columns = child.output.known().unwrap_or_default();
                let columns = scan.places.iter().filter_map(|place| columns.get(*place));
                let output = operator.output.known().unwrap_or_default();
                Self::of(child).renamed(columns, output)
            }
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
            OperatorKind::Sort { .. }
            | OperatorKind::Limit { .. }
            | OperatorKind::TopK { .. }
            | OperatorKind::Coalesce(_) => Self::arranged(&operator.kind),
            OperatorKind::BroadcastHashJoin { .. }
            | OperatorKind::BroadcastNestedLoopJoin { .. }
            | OperatorKind::ShuffledHashJoin { .. }
            | OperatorKind::SortMergeJoin { .. }
            | OperatorKind::CartesianProduct { .. } => Self::of_join(&operator.kind),
            OperatorKind::Union(children) => Self::union(operator.output.known(), children),
            OperatorKind::Window {
                expressions,
                partition,
                order,
                child,
            } => Self::of(child).with_windows(expressions, partition, order),
            OperatorKind::WindowPython { window, child } => {
                let columns = window.functions.iter().map(|of| of.output.id);
                Self::of(child).windowed(columns, &window.partition, &window.order)
            }
            OperatorKind::WindowGroupLimit {
                partition,
                order,
                rank,
                child,
                ..
            } => Self::of(child).within_groups(partition, order, *rank),
            OperatorKind::Generate {
                generator,
                generated,
                child,
                ..
            } => Self::of(child).generated(generator, generated),
            OperatorKind::EvalPython {
                udfs,
                results,
                child,
                ..
            } => Self::of(child).evaluated(udfs, results),
            OperatorKind::Objects { objects, .. } if objects.chain == [ObjectOperator::Scan] => {
                Self::leaf(false)
            }
            OperatorKind::TablePython { .. }
            | OperatorKind::MapInBatch { .. }
            | OperatorKind::MapGroups { .. }
            | OperatorKind::Objects { .. }
            | OperatorKind::AggregatePython { .. } => Self {
                rows: Rows::Nothing(MAPPED),
                ..Self::leaf(false)
            },
            OperatorKind::Expand { projections, child } => {
                let columns = operator.output.known().unwrap_or_default();
                Self::of(child).expanded(columns, projections)
            }
        }
    }

    /// Of operators that leave rows as they are but for their order and number.
    fn arranged(kind: &OperatorKind) -> Self {
        match kind {
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
            OperatorKind::Coalesce(child) => {
                let mut facts = Self::of(child);
                facts.sorted.clear();
                facts.rows = worse(Rows::All, facts.rows);
                facts
            }
            _ => Self::leaf(false),
        }
    }

    fn union(output: Option<&[Attribute]>, children: &[Operator]) -> Self {
        let mut all = Self::leaf(true);
        for child in children {
            let one = Self::of(child);
            all.ordered &= one.ordered;
            all.rows = worse(all.rows, one.rows);
            let columns = (output, child.output.known());
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

    /// Some columns under other names.
    fn renamed<'a>(
        self,
        columns: impl Iterator<Item = &'a Attribute>,
        output: &[Attribute],
    ) -> Self {
        let names: Vec<_> = columns.map(|of| of.id).zip(output).collect();
        let name = |id: &ExprId| {
            let mut found = names.iter().filter(|(of, _)| of == id);
            found.next().map(|(_, output)| output.id)
        };
        let mut facts = Self {
            rows: worse(Rows::All, self.rows),
            ..Self::leaf(self.ordered)
        };
        facts.sorted = self.sorted.iter().map_while(name).collect();
        for (of, output) in &names {
            if let Some(look) = self.loose.get(of) {
                facts.loosen(output.id, *look);
            }
        }
        facts
    }

    fn expanded(self, columns: &[Attribute], projections: &[Vec<Expr>]) -> Self {
        let mut facts = Self {
            rows: worse(Rows::All, self.rows.clone()),
            ..Self::leaf(self.ordered)
        };
        for projection in projections {
            for (own, expr) in columns.iter().zip(projection) {
                facts.loosen(own.id, self.look(expr));
            }
        }
        facts
    }

    /// What is determined of an expression over these columns.
    pub(super) fn look(&self, expr: &Expr) -> Determined {
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

    pub(super) fn column(&self, of: &Attribute) -> Column {
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

    fn sort(&mut self, order: &[SortOrder]) {
        let keys = order
            .iter()
            .map_while(|by| match has_equals(&by.child.data_type) {
                true => None,
                false => column_of(&by.child),
            });
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
    pub(super) fn limited(&self, limit: Option<u64>, from_end: bool) -> Rows {
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
    /// With columns that functions of Python compute.
    fn evaluated(self, udfs: &[PythonUdf], results: &[Attribute]) -> Self {
        let mut facts = self;
        for (udf, column) in udfs.iter().zip(results) {
            let looks = udf
                .arguments
                .iter()
                .map(|argument| facts.look(&argument.value));
            let exact =
                udf.deterministic && looks.max().is_none_or(|look| look == Determined::Exact);
            facts.loosen(
                column.id,
                if exact {
                    Determined::Exact
                } else {
                    Determined::Free
                },
            );
        }
        facts
    }

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
}

/// Stands for what is no column.
const NO_COLUMN: ExprId = ExprId {
    id: i64::MIN,
    jvm_id: 0,
};

fn worse(one: Rows, other: Rows) -> Rows {
    match (one, other) {
        (Rows::Nothing(why), _) | (_, Rows::Nothing(why)) => Rows::Nothing(why),
        (Rows::All, Rows::All) => Rows::All,
        _ => Rows::Number,
    }
}
