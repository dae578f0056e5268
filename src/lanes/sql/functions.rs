//! Functions of Python that a stage calls for its rows.

use std::collections::HashMap;
use std::sync::Arc;

use catalyst::{Operator, OperatorKind, PythonForm, TableForm};
use datafusion_common::Result;
use exec::{PythonArguments, PythonCall, PythonFrames, PythonRows, PythonTimes};
use javaser::arena::{Graph, NodeId};
use rows::error::bail_out;
use wire::task_description::TaskDescription;

use super::failure::{of_run, of_source};
use super::functions_session::changes_functions;
use super::lane::SqlParts;
use crate::native_functions::Marker;
use crate::python::worker::{
    ArrowStream, PythonCallee, PythonOutput, PythonRowCall, PythonTable, PythonWorkers, WorkerTimes,
};
use crate::python::{Element, FetchedFile, PythonFunction, accumulator_of, read_function};
use crate::task::{TaskContext, TaskError};

/// The functions of a stage.
#[derive(Debug, Default)]
pub(super) struct Functions {
    functions: HashMap<NodeId, Arc<PythonFunction>>,
    /// Those that stand for functions of shared libraries.
    native: HashMap<NodeId, Marker>,
    accumulator: Option<NodeId>,
    /// Whether some are given Arrow streams.
    over_arrow: bool,
}

impl Functions {
    /// Reads those that the operators of a stage refer to.
    ///
    /// # Errors
    /// One is not as expected.
    pub(super) fn read(root: &Operator, graph: &Graph, parts: &SqlParts) -> Result<Self, String> {
        let mut found = Self::default();
        found.gather(root, graph, parts)?;
        Ok(found)
    }

    fn gather(
        &mut self,
        operator: &Operator,
        graph: &Graph,
        parts: &SqlParts,
    ) -> Result<(), String> {
        match &operator.kind {
            OperatorKind::EvalPython { form, udfs, .. } => {
                self.over_arrow |= matches!(form, PythonForm::Arrow { .. });
                for node in udfs.iter().flat_map(|udf| &udf.functions) {
                    self.add(*node, graph, parts)?;
                }
            }
            OperatorKind::TablePython { table, .. } => {
                self.over_arrow |= !matches!(table.form, TableForm::Pickled { .. });
                self.add(table.function, graph, parts)?;
            }
            OperatorKind::MapInBatch { map, .. } => {
                self.over_arrow = true;
                self.add(map.function, graph, parts)?;
            }
            OperatorKind::AggregatePython { aggregate, .. } => {
                self.over_arrow = true;
                let functions = aggregate.functions.iter();
                for node in functions.flat_map(|function| &function.functions) {
                    self.add(*node, graph, parts)?;
                }
            }
            OperatorKind::WindowPython { window, .. } => {
                self.over_arrow = true;
                let functions = window.functions.iter();
                for node in functions.flat_map(|function| &function.udf.functions) {
                    self.add(*node, graph, parts)?;
                }
            }
            OperatorKind::MapGroups { map, .. } => {
                self.over_arrow = true;
                self.add(map.function, graph, parts)?;
            }
            _ => {}
        }
        // The operators are as deep as the decoder lets them be.
        let mut children = operator.children();
        children.try_for_each(|child| self.gather(child, graph, parts))
    }

    fn add(&mut self, node: NodeId, graph: &Graph, parts: &SqlParts) -> Result<(), String> {
        let function = read_function(graph, node, |broadcast| {
            Arc::new(FetchedFile {
                broadcast,
                broadcasts: Arc::clone(&parts.broadcasts),
            })
        })?;
        if let Some(marker) = Marker::of_command(&function.command) {
            self.native.insert(node, marker);
        }
        self.functions.insert(node, Arc::new(function));
        self.accumulator = self.accumulator.or_else(|| accumulator_of(graph, node));
        Ok(())
    }

    /// Fails if the stage has functions that its tasks cannot call.
    ///
    /// # Errors
    /// The reason to delegate.
    pub(super) fn check(&self, task: &TaskDescription, parts: &SqlParts) -> Result<(), String> {
        if self.functions.is_empty() {
            return Ok(());
        }
        let Some(workers) = &parts.workers else {
            return Err("Python functions without the python lane".to_owned());
        };
        workers.check_resources(task)?;
        let mut keys = task.properties.iter().map(|(key, _)| key.as_str());
        let changed = keys.find(|key| changes_functions(key, self.over_arrow));
        match changed {
            Some(key) => Err(format!("Python functions with {key}")),
            None => Ok(()),
        }
    }

    /// Where updates of accumulators go.
    pub(super) fn accumulator(&self) -> Option<NodeId> {
        self.accumulator
    }

    /// The function of a shared library that one of Python stands for.
    pub(super) fn native(&self, function: NodeId) -> Option<&Marker> {
        self.native.get(&function)
    }

    /// The functions of a callee, if they are the stage's.
    pub(super) fn of(&self, callee: &exec::PythonCallee) -> Option<Vec<Arc<PythonFunction>>> {
        let functions = callee.functions.iter();
        functions
            .map(|node| self.functions.get(node).cloned())
            .collect()
    }

    /// Calls functions for rows.
    pub(super) fn call(
        &self,
        workers: &PythonWorkers,
        call: &PythonCall,
        arguments: PythonArguments,
        times: PythonTimes,
        context: &Arc<TaskContext>,
    ) -> Result<PythonFrames> {
        let callees = call.callees.iter().map(|callee| {
            Some(PythonCallee {
                functions: self.of(callee)?,
                arguments: callee.arguments.clone(),
                result_id: callee.result_id,
            })
        });
        let callees = callees.collect::<Option<Vec<_>>>();
        let callees = callees.ok_or_else(|| bail_out("a Python function of another stage"))?;
        let stream = match &call.rows {
            PythonRows::Pickled => None,
            PythonRows::Arrow {
                eval_type,
                settings,
                schema,
            } => Some(ArrowStream {
                eval_type: *eval_type,
                settings: settings.clone(),
                schema: schema.clone(),
            }),
        };
        let call = PythonRowCall {
            callees,
            job_artifact_uuid: call.job_artifact_uuid.clone(),
            stream,
            table: call.table.as_ref().map(table_of),
        };
        let input = arguments.map(|frame| match frame {
            Ok(frame) => Ok(Element::Bytes(frame.into())),
            Err(error) => Err(of_run(error)),
        });
        let output = workers
            .call_for_rows(&call, Box::new(input), context)
            .map_err(of_source)?;
        Ok(Box::new(Frames { output, times }))
    }
}

fn table_of(table: &exec::PythonTable) -> PythonTable {
    PythonTable {
        name: table.name.clone(),
        schema: table.schema.clone(),
        analyzed: table.analyzed.clone(),
        partition_columns: table.partition_columns.clone(),
        table_arguments: table.table_arguments.clone(),
    }
}

/// Frames of results.
struct Frames {
    output: PythonOutput<'static>,
    times: PythonTimes,
}

impl Iterator for Frames {
    type Item = Result<bytes::Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.output.next();
        if next.is_none()
            && let Some(times) = self.output.take_times()
        {
            let WorkerTimes {
                boot,
                init,
                total,
                processing,
            } = times;
            self.times.add(boot, init, total, processing);
        }
        next.map(|frame| {
            frame.map_err(|error| match error {
                TaskError::Python(traceback) => of_source(TaskError::PythonUdf(traceback)),
                error => of_source(error),
            })
        })
    }
}
