//! `HadoopFSUtils.parallelListLeafFiles`: the job that lists the files of a table with more directories than
//! `spark.sql.sources.parallelPartitionDiscovery.threshold`.

use javaser::arena::{Graph, NodeId};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::object::Reader;
use crate::parallel_job::{hadoop_conf, mapped, values};
use crate::stage::Settings;

/// Names that are left out, in versions that have a setting for them; older ones leave out the same.
const HIDDEN: &str = "^[._]";

/// A stage of such a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Hadoop's settings in the stage's graph, a `SerializableConfiguration`.
    pub conf: NodeId,
    /// Directories and files that are gone meanwhile are left out.
    pub ignore_missing: bool,
    /// Whether nobody asks where the blocks of files are.
    pub ignore_locality: bool,
    /// Whether the paths are those that the reader was given: such may be missing.
    pub of_roots: bool,
}

impl Listing {
    /// Reads the pair in a stage's binary: its RDD and the function that its partitions are given to. `None` if it is
    /// another kind of stage.
    ///
    /// # Errors
    /// [`Unsupported`] says why the stage is to be delegated.
    pub fn read(graph: &Graph, rdd: NodeId, function: NodeId) -> Result<Option<Self>> {
        let name = ("util.HadoopFSUtils$", "parallelListLeafFilesInternal");
        let Some(list) = mapped(graph, (rdd, function), name)? else {
            return Ok(None);
        };
        let reader = Reader::new(graph, Settings::default());
        let filter = list.arg(&reader, 1)?;
        // Which leaves out by name, and what a filter of Hadoop's settings says.
        if filter.name() != "PathFilterWrapper" || filter.maybe("filter").is_some() {
            return Err(Unsupported::of_use("a listing with a filter"));
        }
        let patterns = list.args.iter().filter_map(|arg| reader.expect(*arg).ok());
        for pattern in patterns.filter(|arg| arg.name() == "Pattern") {
            if pattern.text("pattern")? != HIDDEN || pattern.int("flags")? != 0 {
                return Err(Unsupported::of_use("a listing with other hidden names"));
            }
        }
        // In all versions in this order, whatever is between them.
        let flags: Vec<bool> = list
            .args
            .iter()
            .filter_map(|arg| graph.bool(*arg))
            .collect();
        let [ignore_missing, ignore_locality, of_roots] = flags[..] else {
            return Err(list.unsupported());
        };
        Ok(Some(Self {
            conf: hadoop_conf(graph, &list)?,
            ignore_missing,
            ignore_locality,
            of_roots,
        }))
    }

    /// The paths of a task, as URIs, from the `Partition` in the task's own graph.
    ///
    /// # Errors
    /// [`Unsupported`] says why the task is to be delegated.
    pub fn paths(&self, graph: &Graph, partition: NodeId) -> Result<Vec<String>> {
        let reader = Reader::new(graph, Settings::default());
        let paths = values(graph, partition)?.into_iter().map(|path| {
            let uri = reader.expect(path)?.object("uri")?;
            Ok(uri.text("string")?.into_owned())
        });
        paths.collect()
    }
}
