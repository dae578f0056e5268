//! What is reported of an application.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::gain::{Gain, NativeTime};
use crate::judge::Verdict;

/// Reasons that are told apart in one summary.
const MAX_REASONS: usize = 1000;

/// What would have become of an application.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Application {
    /// Its id, if the log has it.
    pub id: Option<String>,
    /// Its name.
    pub name: String,
    /// The version of Spark that wrote the log.
    pub spark_version: String,
    /// Whether the log has its end.
    pub ended: bool,
    /// Milliseconds from its start to its end, if the log has both.
    pub duration_ms: Option<u64>,
    /// All tasks, if stages carry their operators (the jar is on the driver, or generated code is off).
    pub with_jar: Summary,
    /// All tasks, with what is found in the stages as they are.
    pub without_jar: Summary,
    /// Queries, and jobs that are of none, in their order.
    pub queries: Vec<Query>,
    /// What is to be known about the numbers.
    pub notes: Vec<String>,
    /// What the log was made of.
    pub lines: Lines,
}

/// A query, or a job outside of all queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Query {
    /// `sql` or `job`; `other` for tasks that the log does not say more about.
    pub kind: &'static str,
    /// Number of the execution or job.
    pub id: i64,
    /// What the program called it, or where it is in the program.
    pub description: String,
    /// As for the application.
    pub with_jar: Summary,
    /// As for the application.
    pub without_jar: Summary,
}

/// Tasks by what would have become of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// How many.
    pub tasks: Split,
    /// Milliseconds that they ran on executors.
    pub task_ms: Split,
    /// Milliseconds of processor time.
    pub cpu_ms: Split,
    /// The native share of the time; none if no time was measured.
    pub native_share: Option<f64>,
    /// Why tasks are left to the JVM, the most time first. A stage with several reasons counts for each of them.
    pub reasons: Vec<Reason>,
    /// What the log does not tell, likewise.
    pub unknown: Vec<Reason>,
    /// An estimate of what is to be gained.
    pub gain: Gain,
}

/// A number of each kind of task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Would run natively.
    pub native: u64,
    /// Would be left to the JVM.
    pub delegated: u64,
    /// The log does not tell.
    pub unknown: u64,
}

/// A reason with the tasks that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// In words.
    pub reason: String,
    /// How many tasks.
    pub tasks: u64,
    /// Milliseconds that they ran.
    pub task_ms: u64,
}

/// Lines of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// All.
    pub read: u64,
    /// No event of Spark's, or not as Spark writes it.
    pub malformed: u64,
    /// Longer than is looked at, or with more operators.
    pub too_large: u64,
    /// The last one, if it was still being written.
    pub cut_off: u64,
}

impl Split {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.native
            .saturating_add(self.delegated)
            .saturating_add(self.unknown)
    }

    /// The native part of all; `None` of nothing.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let all = self.all();
        (all > 0).then(|| (self.native as f64 / all as f64 * 10_000.0).round() / 10_000.0)
    }
}

/// Tasks of stages that have ended alike.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tasks {
    pub(crate) count: u64,
    pub(crate) ms: u64,
    pub(crate) cpu_ns: u64,
}

impl Tasks {
    pub(crate) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.ms = self.ms.saturating_add(other.ms);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }
}

/// A summary that is being made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    native: Tasks,
    delegated: Tasks,
    unknown: Tasks,
    native_time: NativeTime,
    reasons: BTreeMap<String, Tasks>,
    doubts: BTreeMap<String, Tasks>,
}

fn note(reasons: &mut BTreeMap<String, Tasks>, reason: &str, tasks: Tasks) {
    let known = reasons.contains_key(reason) || reasons.len() < MAX_REASONS;
    let reason = if known { reason } else { "other reasons" };
    reasons.entry(reason.to_owned()).or_default().add(tasks);
}

impl Sums {
    pub(crate) fn add(&mut self, verdict: &Verdict, tasks: Tasks) {
        match verdict {
            Verdict::Native(lane) => {
                self.native.add(tasks);
                self.native_time.add(NativeTime::of(*lane, tasks.ms));
            }
            Verdict::Delegated(reasons) => {
                self.delegated.add(tasks);
                for reason in reasons {
                    note(&mut self.reasons, reason, tasks);
                }
            }
            Verdict::Unknown(doubts) => {
                self.unknown.add(tasks);
                for doubt in doubts {
                    note(&mut self.doubts, doubt, tasks);
                }
            }
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.native.add(other.native);
        self.delegated.add(other.delegated);
        self.unknown.add(other.unknown);
        self.native_time.add(other.native_time);
        for (reason, tasks) in &other.reasons {
            note(&mut self.reasons, reason, *tasks);
        }
        for (doubt, tasks) in &other.doubts {
            note(&mut self.doubts, doubt, *tasks);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.native
            .count
            .saturating_add(self.delegated.count)
            .saturating_add(self.unknown.count)
    }

    pub(crate) fn summary(&self) -> Summary {
        let split = |of: fn(&Tasks) -> u64| Split {
            native: of(&self.native),
            delegated: of(&self.delegated),
            unknown: of(&self.unknown),
        };
        let task_ms = split(|tasks| tasks.ms);
        Summary {
            tasks: split(|tasks| tasks.count),
            task_ms,
            cpu_ms: split(|tasks| tasks.cpu_ns / 1_000_000),
            native_share: task_ms.share(),
            reasons: sorted(&self.reasons),
            unknown: sorted(&self.doubts),
            gain: Gain::of(self.native_time, task_ms.delegated, task_ms.unknown),
        }
    }
}

fn sorted(reasons: &BTreeMap<String, Tasks>) -> Vec<Reason> {
    let mut all: Vec<_> = reasons
        .iter()
        .map(|(reason, tasks)| Reason {
            reason: reason.clone(),
            tasks: tasks.count,
            task_ms: tasks.ms,
        })
        .collect();
    // By name where times are equal.
    all.sort_by_key(|reason| std::cmp::Reverse((reason.task_ms, reason.tasks)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Lane;

    #[test]
    fn tasks_are_of_one_kind_and_of_all_their_reasons() {
        let mut sums = Sums::default();
        let tasks = |count, ms| Tasks {
            count,
            ms,
            cpu_ns: ms * 1_000_000,
        };
        sums.add(&Verdict::Native(Lane::Sql), tasks(3, 60));
        sums.add(
            &Verdict::Delegated(vec!["a".to_owned(), "b".to_owned()]),
            tasks(1, 30),
        );
        sums.add(&Verdict::Unknown(vec!["c".to_owned()]), tasks(1, 10));
        let mut twice = sums.clone();
        twice.add_all(&sums);
        let summary = twice.summary();
        assert_eq!((summary.tasks.native, summary.tasks.all()), (6, 10));
        assert_eq!(summary.native_share, Some(0.6));
        let reasons: Vec<_> = summary
            .reasons
            .iter()
            .map(|it| (it.reason.as_str(), it.task_ms))
            .collect();
        assert_eq!(reasons, [("a", 60), ("b", 60)]);
        assert_eq!(summary.unknown[0].tasks, 2);
        assert_eq!(summary.cpu_ms.delegated, 60);
    }

    #[test]
    fn reasons_without_end_become_one() {
        let mut sums = Sums::default();
        let task = Tasks {
            count: 1,
            ..Tasks::default()
        };
        for number in 0..2000 {
            sums.add(&Verdict::Delegated(vec![number.to_string()]), task);
        }
        let summary = sums.summary();
        assert_eq!(summary.reasons.len(), MAX_REASONS + 1);
        assert_eq!(summary.reasons[0].tasks, 1000);
    }
}
