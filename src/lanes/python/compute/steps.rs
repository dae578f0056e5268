//! Steps as iterators.

use std::sync::Arc;

use javaser::arena::NodeId;

use super::{CachedPartition, Services, checkpoint, files};
use crate::files::{FilePath, HadoopConf, checkpoint_part};
use crate::lanes::python::plan::{Files, Step};
use crate::python::{Element, Elements};
use crate::task::{StageBinary, TaskContext, TaskError};
use javaser::XorShiftRandom;

/// A task that computes steps.
#[derive(Debug, Clone)]
pub(in super::super) struct Run {
    pub(in super::super) services: Arc<dyn Services>,
    pub(in super::super) stage: Arc<StageBinary>,
    pub(in super::super) context: Arc<TaskContext>,
}

impl Run {
    /// Looks for what cannot be done, before anything is begun.
    ///
    /// # Errors
    /// [`TaskError::BailOut`], or what keeps the settings of files from being read.
    pub(in super::super) fn check(&self, step: &Step) -> Result<(), TaskError> {
        match step {
            Step::Values(_)
            | Step::Shuffle { .. }
            | Step::Rows(_)
            | Step::LocalCheckpoint { .. } => Ok(()),
            Step::ReliableCheckpoint { dir, .. } => {
                let conf = self.conf_of(&dir.path, dir.conf)?;
                self.services.file_systems().of(&dir.path, &conf)?;
                Ok(())
            }
            Step::Python { rdd, input, .. } => {
                self.services.check_python(&self.stage, *rdd)?;
                self.check(input)
            }
            Step::Pairwise(input)
            | Step::Second(input)
            | Step::Strings(input)
            | Step::Distribute { input, .. }
            | Step::Cached { input, .. } => self.check(input),
            Step::Chain(inputs) => inputs.iter().try_for_each(|input| self.check(input)),
            Step::Zip(left, right) | Step::Cartesian(left, right) => {
                self.check(left)?;
                self.check(right)
            }
            Step::Files { files, ranges } => self.files(files)?.check(ranges),
        }
    }

    /// The elements that a step gives.
    ///
    /// # Errors
    /// What keeps it from beginning.
    pub(in super::super) fn elements(
        &self,
        step: &Arc<Step>,
    ) -> Result<Elements<'static>, TaskError> {
        Ok(match &**step {
            Step::Values(values) => Box::new(values.clone().into_iter().map(Ok)),
            Step::Python { rdd, split, input } => {
                let input = self.elements(input)?;
                self.services
                    .python(&self.stage, *rdd, *split, input, &self.context)?
            }
            Step::Pairwise(input) => pairwise(self.elements(input)?),
            Step::Second(input) => Box::new(self.elements(input)?.map(|element| {
                element.map(|element| match element {
                    Element::Pair(_, value) => Element::Bytes(value),
                    Element::Tuple(pair) => pair.1,
                    other => other,
                })
            })),
            Step::Strings(input) => Box::new(self.elements(input)?.map(|element| {
                // What Java makes of other bytes is for Java to say.
                let other = || TaskError::BailOut("a text that is not UTF-8".to_owned());
                match element? {
                    Element::Bytes(bytes) => match std::str::from_utf8(&bytes) {
                        Ok(_) => Ok(Element::Text(bytes)),
                        Err(_) => Err(other()),
                    },
                    _ => Err(other()),
                }
            })),
            Step::Distribute {
                split,
                partitions,
                input,
            } => distribute(self.elements(input)?, *split, *partitions),
            Step::Shuffle { input, partition } => {
                self.services.shuffle(input, *partition, &self.context)?
            }
            Step::Chain(inputs) => {
                let (run, inputs) = (self.clone(), inputs.clone());
                Box::new(inputs.into_iter().flat_map(move |input| run.begin(&input)))
            }
            Step::Zip(left, right) => zip(self.elements(left)?, self.elements(right)?),
            Step::Cartesian(left, right) => {
                let (run, right) = (self.clone(), Arc::clone(right));
                // As in Spark, the right side is computed again for each element of the left one.
                Box::new(self.elements(left)?.flat_map(move |left| match left {
                    Err(error) => failed(error),
                    Ok(left) => {
                        Box::new(run.begin(&right).map(move |right| {
                            right.map(|right| Element::tuple(left.clone(), right))
                        }))
                    }
                }))
            }
            Step::Files { files, ranges } => self.files(files)?.read(ranges.clone()),
            Step::Rows(rows) => {
                let batches = rows.batches(&self.context)?;
                Box::new(batches.map(|batch| batch.map(Element::Bytes)))
            }
            Step::Cached {
                rdd,
                split,
                level,
                text,
                input,
            } => {
                let partition = CachedPartition {
                    rdd: *rdd,
                    split: *split,
                    level: *level,
                    text: *text,
                };
                let (run, input) = (self.clone(), Arc::clone(input));
                let make = Box::new(move || run.elements(&input));
                self.services.cached(&partition, &self.context, make)?
            }
            Step::ReliableCheckpoint { dir, split } => {
                let conf = self.conf_of(&dir.path, dir.conf)?;
                let path = checkpoint_part(&dir.path, *split);
                let systems = self.services.file_systems();
                let file = systems.input(&path, 0..u64::MAX, &conf, &self.context.cancellation);
                checkpoint::read(&path, file, self.services.checkpoint_codec())?
            }
            // Its partitions are cached blocks; it is only asked if there is none.
            Step::LocalCheckpoint { rdd, split } => {
                return Err(TaskError::spark(format_args!(
                    "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_{rdd}_{split} not found!\n\
                     Either the executor that originally checkpointed this partition is no longer alive, or the original RDD is unpersisted.\n\
                     If this problem persists, you may consider using `rdd.checkpoint()` instead, which is slower than local checkpointing \
                     but more fault-tolerant."
                )));
            }
        })
    }

    /// What reads files.
    fn files(&self, files: &Files) -> Result<files::Source, TaskError> {
        let services = &self.services;
        Ok(files::Source {
            conf: services.hadoop_conf(&self.stage, files.conf, &self.context)?,
            files: files.clone(),
            systems: Arc::clone(services.file_systems()),
            context: Arc::clone(&self.context),
        })
    }

    /// The settings for a path. This machine's files need none.
    fn conf_of(&self, path: &FilePath, conf: NodeId) -> Result<Arc<HadoopConf>, TaskError> {
        match path.scheme.as_str() {
            "file" => Ok(Arc::default()),
            _ => self.services.hadoop_conf(&self.stage, conf, &self.context),
        }
    }

    /// As [`Run::elements`], with a failure as the only element.
    fn begin(&self, step: &Arc<Step>) -> Elements<'static> {
        self.elements(step).unwrap_or_else(failed)
    }
}

fn failed(error: TaskError) -> Elements<'static> {
    Box::new(std::iter::once(Err(error)))
}

/// `PairwiseRDD.compute`: the hash of a key as eight bytes, then the pickled batch.
fn pairwise(mut input: Elements<'static>) -> Elements<'static> {
    Box::new(std::iter::from_fn(move || {
        let key = match input.next()? {
            Ok(key) => key,
            Err(error) => return Some(Err(error)),
        };
        Some(match (key, input.next()) {
            (_, Some(Err(error))) => Err(error),
            (Element::Bytes(key), Some(Ok(Element::Bytes(value)))) => match key.first_chunk() {
                Some(key) => Ok(Element::Pair(i64::from_be_bytes(*key), value)),
                None => Err(unexpected()),
            },
            _ => Err(unexpected()),
        })
    }))
}

fn unexpected() -> TaskError {
    TaskError::spark("PairwiseRDD: unexpected value: List([B)")
}

/// The function that `RDD.coalesce` maps over partitions before a shuffle.
fn distribute(input: Elements<'static>, split: i32, partitions: i32) -> Elements<'static> {
    let mut position = XorShiftRandom::new(split.into()).next_int(partitions);
    Box::new(input.map(move |element| {
        position = position.wrapping_add(1);
        match element? {
            Element::Bytes(value) => Ok(Element::Pair(position.into(), value)),
            _ => Err(TaskError::spark(
                "repartition of something other than byte[]",
            )),
        }
    }))
}

/// `RDD.zip`
fn zip(mut left: Elements<'static>, mut right: Elements<'static>) -> Elements<'static> {
    Box::new(std::iter::from_fn(move || {
        match (left.next(), right.next()) {
            (Some(Err(error)), _) | (_, Some(Err(error))) => Some(Err(error)),
            (Some(Ok(left)), Some(Ok(right))) => Some(Ok(Element::tuple(left, right))),
            (None, None) => None,
            _ => Some(Err(TaskError::spark(
                "Can only zip RDDs with same number of elements in each partition",
            ))),
        }
    }))
}
