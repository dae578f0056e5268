//! What of a stage's output Spark determines, whichever executor runs a task, and in whichever order blocks arrive.
//! Where Spark is free, so is the native attempt: which rows a limit keeps, and the order in which floating-point
//! numbers are added up.

use catalyst::{Attribute, Expr, ExprId, Output, Partitioning, Stage};

use super::facts::{Facts, Rows};
use super::rows::{Count, Determined, Sequence, View};

/// How the output of a stage's tasks is compared.
#[derive(Debug)]
pub(in crate::lanes::sql) struct Rules {
    pub(super) view: View,
    /// Whether it is determined which row goes to which reduce partition.
    pub(super) partitions: bool,
    /// Why nothing can be compared.
    pub(super) nothing: Option<&'static str>,
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
            // These are not run natively where attempts are compared.
            Output::Unit
            | Output::Count
            | Output::Checkpoint(_)
            | Output::Files(_)
            | Output::JsonTypes(_)
            | Output::CsvTypes(_)
            | Output::Pickled(_)
            | Output::ArrowBatches(_)
            | Output::Rest(_) => {}
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

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
