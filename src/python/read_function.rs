//! From the `PythonRDD` in a stage's graph to a [`PythonFunction`].

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use javaser::arena::{Graph, NodeId, Value};

use super::{BroadcastFile, PythonBroadcast, PythonFunction};
use crate::blocks::broadcast::TorrentBroadcastRef;

/// Reads the function of a `PythonRDD`; `file` gives the file of a broadcast variable.
///
/// # Errors
/// It is not as expected.
pub fn function_of_rdd(
    graph: &Graph,
    rdd: NodeId,
    file: impl Fn(TorrentBroadcastRef) -> Arc<dyn BroadcastFile>,
) -> Result<PythonFunction, String> {
    let node = graph
        .field_node(rdd, "func")
        .ok_or("PythonRDD without func")?;
    let uuid = graph
        .field(rdd, "jobArtifactUUID")
        .and_then(|uuid| graph.scala_option(uuid))
        .flatten()
        .and_then(|uuid| graph.str(uuid));
    Ok(PythonFunction {
        job_artifact_uuid: uuid.map(std::borrow::Cow::into_owned),
        ..read_function(graph, node, file)?
    })
}

/// Where updates of a `SimplePythonFunction`'s accumulators go: its `PythonAccumulatorV2`, if it has one.
pub fn accumulator_of(graph: &Graph, function: NodeId) -> Option<NodeId> {
    graph.field_node(function, "accumulator")
}

/// Reads a `SimplePythonFunction`, which does not know whose artifacts it sees.
///
/// # Errors
/// It is not as expected.
pub fn read_function(
    graph: &Graph,
    node: NodeId,
    file: impl Fn(TorrentBroadcastRef) -> Arc<dyn BroadcastFile>,
) -> Result<PythonFunction, String> {
    let field = |name: &str| {
        graph
            .field(node, name)
            .ok_or_else(|| format!("a Python function without {name}"))
    };
    let text = |value: Value| graph.str(value).map(std::borrow::Cow::into_owned);
    let string = |name: &str| {
        text(field(name)?).ok_or_else(|| format!("a Python function with an odd {name}"))
    };
    let odd = |name: &str| format!("a Python function with odd {name}");

    // A Scala sequence around a `byte[]`.
    let command = field("command")?;
    let command = command
        .node()
        .and_then(|seq| {
            graph
                .field(seq, "unsafeArray")
                .or_else(|| graph.field(seq, "array"))
        })
        .or(Some(command))
        .and_then(|array| graph.byte_array(array))
        .ok_or_else(|| odd("command"))?;
    let env_vars = graph
        .pairs(field("envVars")?)
        .and_then(|pairs| {
            pairs
                .into_iter()
                .map(|(key, value)| Some((text(key)?, text(value)?)))
                .collect::<Option<BTreeMap<_, _>>>()
        })
        .ok_or_else(|| odd("envVars"))?;
    let python_includes = graph
        .elements(field("pythonIncludes")?)
        .and_then(|all| all.into_iter().map(text).collect())
        .ok_or_else(|| odd("pythonIncludes"))?;
    let broadcast_vars = graph
        .elements(field("broadcastVars")?)
        .ok_or_else(|| odd("broadcastVars"))?
        .into_iter()
        .map(|variable| {
            let node = variable.node().ok_or_else(|| odd("broadcastVars"))?;
            let broadcast = TorrentBroadcastRef::read(graph, node).map_err(|e| e.to_string())?;
            Ok(PythonBroadcast {
                id: broadcast.id,
                file: file(broadcast),
            })
        })
        .collect::<Result<_, String>>()?;
    let accumulator = accumulator_of(graph, node)
        .and_then(|accumulator| graph.field_node(accumulator, "metadata"))
        .and_then(|metadata| graph.int(graph.field(metadata, "id")?));
    Ok(PythonFunction {
        command: Bytes::copy_from_slice(command),
        env_vars,
        python_includes,
        python_exec: string("pythonExec")?,
        python_ver: string("pythonVer")?,
        broadcast_vars,
        accumulator,
        job_artifact_uuid: None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::lanes::python::real_tasks::tasks;
    use crate::task::{TaskContext, TaskError};

    #[derive(Debug)]
    struct File;

    impl BroadcastFile for File {
        fn path(&self, _: &TaskContext) -> Result<PathBuf, TaskError> {
            Ok(PathBuf::new())
        }
    }

    #[test]
    fn functions_of_every_version() {
        for version in testkit::VERSIONS {
            for (name, task) in tasks(version) {
                if !["range_1", "acc_bc_1", "barrier_1"].contains(&name.as_str()) {
                    continue;
                }
                let read = function_of_rdd(&task.stage.graph, task.stage.rdd, |_| Arc::new(File));
                let function = read.unwrap();
                assert!(function.command.starts_with(b"\x80"), "{name}: a pickle");
                assert_eq!(function.python_ver, "3.11");
                assert!(function.python_exec.contains("python"));
                assert_eq!(function.env_vars.get("PYTHONHASHSEED").unwrap(), "0");
                let broadcasts = usize::from(name == "acc_bc_1");
                assert_eq!(function.broadcast_vars.len(), broadcasts, "{name}");
                assert!(function.accumulator.is_some_and(|id| id >= 0));
                assert_eq!(function.job_artifact_uuid, None);
            }
        }
    }
}
