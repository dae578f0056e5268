//! An attempt: from a partition's rows to what it returns.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use javaser::arena::NodeId;
use wire::messages::Accumulator;

use super::lane::JudgedPlan;
use super::partition::{SqlPartition, TaskRows};
use super::sink::Sink;
use super::verify::Expected;
use crate::task::{AcceptedTask, TaskContext, TaskError, TaskValue};

/// A task that the lane can run.
#[derive(Debug)]
pub(super) struct SqlPlan {
    pub(super) plan: Arc<JudgedPlan>,
    pub(super) partition: SqlPartition,
}

impl AcceptedTask for SqlPlan {
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        caught(|| self.attempt(context))
    }

    fn accumulator(&self) -> Option<NodeId> {
        self.plan.stage.accumulator()
    }
}

/// A panic is a bail-out: nothing of an attempt is visible before its last step.
pub(super) fn caught<T>(run: impl FnOnce() -> Result<T, TaskError>) -> Result<T, TaskError> {
    std::panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let what = crate::panic_text(&*panic).unwrap_or("no message");
        tracing::error!("Panic in a stage of Spark SQL: {what}");
        Err(TaskError::BailOut(format!("an error in Firesteel: {what}")))
    })
}

/// Gives a sink all rows that it wants. Gives what the driver is to be told of cached tables.
fn pour(rows: &mut TaskRows, sink: &mut dyn Sink) -> Result<Vec<Accumulator>, TaskError> {
    while sink.wants_more() {
        let Some(batch) = rows.next()? else {
            break;
        };
        sink.take(&batch)?;
    }
    // Nothing may bail out once the sink has finished: what it has written may be visible.
    let made = rows.end()?;
    sink.end()?;
    Ok(made)
}

impl SqlPlan {
    fn attempt(&self, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        let plan = &*self.plan;
        let shared = &self.partition.shared;
        let rules = plan.rules.as_ref();
        let mut rows = self.partition.start(Some(context.partition_id), context)?;
        let native = &plan.stage.native;
        // Keys of a shuffle are expressions, too.
        let _entered = rows.calls.enter();
        let mut sink = plan.output.sink(native, rules, shared, &rows, context)?;
        let made = pour(&mut rows, &mut *sink)?;
        let evaluated = context.evaluator.finish();
        let evaluated = evaluated.map_err(|error| sink.too_late(error))?;
        for (name, count) in evaluated.metrics {
            context.metrics.add(&name, count);
        }
        let finished = sink.finish()?;
        let values = rows.count(&finished.metrics);
        let mut updates = context.accumulator_updates.lock();
        // Of several updates of one the UI shows the last: the JVM may have nothing but zeros for native operators.
        updates.extend(evaluated.accumulators);
        updates.extend(plan.stage.metrics.updates(&values));
        updates.extend(made);
        drop(updates);
        let verified = rules.zip(shared.verifier.as_ref());
        let expected = verified.and_then(|(rules, verifier)| {
            let expected = Expected::of(&finished.value, rules)?;
            Some(verifier.expect(context.task_attempt_id, expected))
        });
        match expected {
            Some(for_the_jvm) => Err(for_the_jvm),
            None => Ok(finished.value),
        }
    }
}
