//! Simple functions of Python, which stages compute without Python: what they compute is asked of a worker once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use datafusion_common::Result;
use exec::{SimpleCall, SimpleFunction, SimpleObserver};
use parking_lot::Mutex;
use pyfunc::Expression;
use sha2::{Digest as _, Sha256};

use super::failure::of_source;
use crate::python::PythonFunction;
use crate::python::worker::PythonWorkers;
use crate::report::PythonFunctions;
use crate::task::TaskContext;

/// Functions that are remembered.
const MAX_KNOWN: usize = 1024;
/// Batches of a function that Python may have to see, before it is asked whether these are more than one of so many.
const FEW: u64 = 8;
const ONE_OF: u64 = 4;

/// Why functions are left to Python, beside what workers say of them.
const OLD_ARROW: &str = "Arrow-optimized functions before Spark 4.1";
const OTHER_KIND: &str = "results of another kind than declared";
const OFTEN: &str = "too many batches that Python has to see";
const STRANGE: &str = "a function of another stage";

/// The functions that an executor knows.
#[derive(Debug, Default)]
pub(super) struct SimpleFunctions {
    known: Mutex<HashMap<Key, Arc<Known>>>,
    counts: Arc<Mutex<PythonFunctions>>,
}

/// A digest of all that what a function computes depends on, and what becomes of it.
type Key = [u8; 32];

/// A function.
#[derive(Debug)]
struct Known {
    /// Once a worker was asked: what it computes, or why it is left to Python. Locked while one is asked.
    expressions: Mutex<Option<Result<Arc<Vec<Expression>>, String>>>,
    experience: Arc<Experience>,
}

/// What came of a function's batches in all tasks.
#[derive(Debug, Default)]
struct Experience {
    batches: AtomicU64,
    left: AtomicU64,
    other_kind: AtomicBool,
    counts: Arc<Mutex<PythonFunctions>>,
}

impl SimpleObserver for Experience {
    fn computed(&self, rows: usize) {
        self.batches.fetch_add(1, Relaxed);
        self.counts.lock().rows += rows as u64;
    }

    fn left_to_python(&self) {
        self.batches.fetch_add(1, Relaxed);
        self.left.fetch_add(1, Relaxed);
        self.counts.lock().left_to_python += 1;
    }

    fn misfit(&self) {
        self.other_kind.store(true, Relaxed);
    }
}

impl Experience {
    /// Why a task should not begin with the function.
    fn advice(&self) -> Option<&'static str> {
        let left = self.left.load(Relaxed);
        if self.other_kind.load(Relaxed) {
            return Some(OTHER_KIND);
        }
        let often = left >= FEW && left.saturating_mul(ONE_OF) > self.batches.load(Relaxed);
        often.then_some(OFTEN)
    }
}

/// Who answers what functions compute, for a task.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) workers: &'a PythonWorkers,
    pub(super) spark: (u32, u32),
    pub(super) context: &'a Arc<TaskContext>,
}

impl SimpleFunctions {
    /// What was counted since the last time.
    pub(super) fn take_counts(&self) -> PythonFunctions {
        std::mem::take(&mut *self.counts.lock())
    }

    /// What a function computes, which is the last of these that each take what the one before it gives; `None` if it
    /// is Python's.
    ///
    /// # Errors
    /// The task was killed.
    pub(super) fn of(
        &self,
        call: &SimpleCall<'_>,
        functions: Option<&[Arc<PythonFunction>]>,
        asking: Asking<'_>,
    ) -> Result<Option<SimpleFunction>> {
        let found = match (call.refused, functions) {
            (Some(reason), _) => Err(reason.to_owned()),
            _ if call.over_arrow && asking.spark < (4, 1) => Err(OLD_ARROW.to_owned()),
            (None, None) => Err(STRANGE.to_owned()),
            (None, Some(functions)) => self.known(call, functions, asking)?,
        };
        let mut counts = self.counts.lock();
        match found {
            Ok(function) => {
                counts.computed += 1;
                Ok(Some(function))
            }
            Err(reason) => {
                *counts.not_simple.entry(reason).or_default() += 1;
                Ok(None)
            }
        }
    }

    fn known(
        &self,
        call: &SimpleCall<'_>,
        functions: &[Arc<PythonFunction>],
        asking: Asking<'_>,
    ) -> Result<Result<SimpleFunction, String>> {
        let known = self.slot(key(call, functions));
        let mut expressions = known.expressions.lock();
        let found = match &*expressions {
            Some(found) => found.clone(),
            None => {
                let uuid = call.job_artifact_uuid;
                let arguments = call.callee.arguments.len();
                let translated =
                    asking
                        .workers
                        .translate(functions, uuid, arguments, asking.context);
                let found = translated.map_err(of_source)?.map(Arc::new);
                if let Err(reason) = &found {
                    tracing::info!("A function of Python runs in workers: {reason}");
                }
                expressions.insert(found).clone()
            }
        };
        drop(expressions);
        Ok(
            found.and_then(|expressions| match known.experience.advice() {
                Some(reason) => Err(reason.to_owned()),
                None => Ok(SimpleFunction {
                    expressions,
                    observer: Arc::clone(&known.experience) as _,
                }),
            }),
        )
    }

    fn slot(&self, key: Key) -> Arc<Known> {
        let mut known = self.known.lock();
        if known.len() >= MAX_KNOWN && !known.contains_key(&key) {
            // What is in use stays with who uses it; the others are asked for again.
            known.clear();
        }
        let slot = known.entry(key).or_insert_with(|| {
            let experience = Experience {
                counts: Arc::clone(&self.counts),
                ..Experience::default()
            };
            Arc::new(Known {
                expressions: Mutex::default(),
                experience: Arc::new(experience),
            })
        });
        Arc::clone(slot)
    }
}

fn key(call: &SimpleCall<'_>, functions: &[Arc<PythonFunction>]) -> Key {
    let mut digest = Sha256::new();
    let mut add = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    let how = (
        call.callee.arguments.len(),
        call.result,
        call.over_arrow,
        call.job_artifact_uuid,
    );
    add(format!("{how:?}").as_bytes());
    for function in functions {
        add(&function.command);
        let broadcasts = function.broadcast_vars.iter().map(|variable| variable.id);
        let around = (
            &function.python_exec,
            &function.python_ver,
            &function.python_includes,
            &function.env_vars,
            broadcasts.collect::<Vec<_>>(),
        );
        add(format!("{around:?}").as_bytes());
    }
    digest.finalize().into()
}
