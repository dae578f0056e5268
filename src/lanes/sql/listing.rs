//! Which files a table has: the tasks of the job that lists many directories.

use std::sync::Arc;

use catalyst::Listing;
use futures_util::future::BoxFuture;
use javaser::arena::NodeId;
use javaser::types::{JavaEnum, Typed};
use javaser::{Catalog, to_vec};
use serde::Serialize;

use crate::files::{FileError, FilePath, FileStatus, FileSystem, FileSystems, HadoopConf};
use crate::task::AcceptedTask;
use crate::task::{DecodedTask, TaskContext, TaskError, TaskValue};

/// Deepest directories that are followed.
const MAX_DEPTH: usize = 64;

/// What the tasks of a stage have in common.
#[derive(Debug, Clone)]
pub(super) struct ListingJob {
    pub(super) listing: Listing,
    pub(super) conf: Arc<HadoopConf>,
}

/// A task that the lane can run.
#[derive(Debug)]
pub(super) struct ListingPlan {
    job: ListingJob,
    systems: Arc<FileSystems>,
    /// As URIs, where they are, and the bytes of a block there.
    paths: Vec<(String, FilePath, u64)>,
}

impl ListingPlan {
    /// Reads the task's partition.
    ///
    /// # Errors
    /// Why it is to be delegated.
    pub(super) fn new(
        job: &ListingJob,
        systems: &Arc<FileSystems>,
        task: &DecodedTask,
    ) -> Result<Self, String> {
        let paths = job.listing.paths(&task.task.graph, task.task.partition);
        let paths = paths.map_err(|why| why.to_string())?.into_iter();
        let paths = paths.map(|uri| {
            let path = FilePath::of_uri(&uri).ok_or("files with such names")?;
            let block_size = systems.made_up_block_size(&path, &job.conf);
            let block_size = block_size.map_err(|why| why.reason())?;
            Ok::<_, String>((uri, path, block_size))
        });
        Ok(Self {
            job: job.clone(),
            systems: Arc::clone(systems),
            paths: paths.collect::<Result<_, _>>()?,
        })
    }

    fn files(
        &self,
        path: &FilePath,
        block_size: u64,
        context: &TaskContext,
    ) -> Result<Vec<LocatedFileStatus>, TaskError> {
        let system = self.systems.of(path, &self.job.conf)?;
        let found = self
            .systems
            .wait(&context.cancellation, self.leaves(&system, path, 0))?;
        let unknown = || TaskError::BailOut("files with such names".to_owned());
        let statuses = found.into_iter().map(|file| {
            let uri = file.path.uri().ok_or_else(unknown)?;
            Ok(LocatedFileStatus::new(uri, &file, block_size))
        });
        statuses.collect()
    }

    /// `HadoopFSUtils.listLeafFiles`: first the files of a directory, then those of the directories in it.
    fn leaves<'a>(
        &'a self,
        system: &'a FileSystem,
        path: &'a FilePath,
        depth: usize,
    ) -> BoxFuture<'a, Result<Vec<FileStatus>, FileError>> {
        Box::pin(async move {
            let found = match entries(system, path).await {
                Err(FileError::NotFound(_)) if self.may_be_missing(depth) => Vec::new(),
                found => found?,
            };
            let shown = found.into_iter().filter(|found| is_shown(&found.path));
            let (dirs, mut files): (Vec<_>, Vec<_>) = shown.partition(|found| found.is_dir);
            for dir in dirs {
                if depth >= MAX_DEPTH {
                    return Err(FileError::Unsupported("directories without end".into()));
                }
                files.extend(self.leaves(system, &dir.path, depth + 1).await?);
            }
            Ok(files)
        })
    }

    fn may_be_missing(&self, depth: usize) -> bool {
        let listing = &self.job.listing;
        listing.ignore_missing || (listing.of_roots && depth == 0)
    }
}

/// `FileSystem.listStatus`: what is in a directory, or the file itself.
async fn entries(system: &FileSystem, path: &FilePath) -> Result<Vec<FileStatus>, FileError> {
    let local = path.scheme == "file";
    if local {
        let found = system.status(path).await?;
        if !found.is_dir {
            return Ok(vec![found]);
        }
    }
    let mut found = system.list(path).await?;
    if !local {
        // Directories of another client of S3, which s3a does not show.
        found.retain(|found| !found.path.name().ends_with("_$folder$"));
        if found.is_empty() {
            let found = system.status(path).await?;
            return Ok(if found.is_dir {
                Vec::new()
            } else {
                vec![found]
            });
        }
    }
    Ok(found)
}

/// `HadoopFSUtils.shouldFilterOutPathName`, the other way round.
fn is_shown(path: &FilePath) -> bool {
    let name = path.name();
    let hidden = (name.starts_with('_') && !name.contains('='))
        || name.starts_with('.')
        || name.ends_with("._COPYING_");
    let summary = name.starts_with("_common_metadata") || name.starts_with("_metadata");
    !hidden || summary
}

/// `org.apache.hadoop.fs.Path`
#[derive(Debug, Serialize)]
#[serde(rename = "org.apache.hadoop.fs.Path")]
struct Path {
    uri: Uri,
}

#[derive(Debug, Serialize)]
#[serde(rename = "java.net.URI")]
struct Uri {
    string: String,
}

impl Path {
    fn new(uri: String) -> Self {
        Self {
            uri: Uri { string: uri },
        }
    }
}

/// As Spark makes it of the status of a file system whose files have no blocks of their own: nobody asks for what is
/// not here.
#[derive(Debug, Serialize)]
#[serde(rename = "org.apache.hadoop.fs.LocatedFileStatus")]
struct LocatedFileStatus {
    path: Path,
    length: i64,
    isdir: bool,
    block_replication: i16,
    blocksize: i64,
    modification_time: i64,
    access_time: i64,
    permission: FsPermission,
    owner: &'static str,
    group: &'static str,
    symlink: Option<()>,
    attr: EmptySet,
    locations: Vec<BlockLocation>,
}

#[derive(Debug, Serialize)]
#[serde(rename = "java.util.Collections$EmptySet")]
struct EmptySet;

/// Of files whose permissions nobody knows.
#[derive(Debug, Serialize)]
#[serde(rename = "org.apache.hadoop.fs.permission.FsPermission")]
#[allow(clippy::struct_field_names)]
struct FsPermission {
    useraction: JavaEnum,
    groupaction: JavaEnum,
    otheraction: JavaEnum,
    #[serde(rename = "stickyBit")]
    sticky_bit: bool,
}

#[derive(Debug, Serialize)]
#[serde(
    rename = "org.apache.hadoop.fs.BlockLocation",
    rename_all = "camelCase"
)]
struct BlockLocation {
    hosts: [&'static str; 1],
    cached_hosts: [&'static str; 0],
    names: [&'static str; 1],
    topology_paths: [&'static str; 0],
    storage_ids: [&'static str; 0],
    storage_types: [JavaEnum; 0],
    offset: i64,
    length: i64,
    corrupt: bool,
}

impl LocatedFileStatus {
    fn new(uri: String, file: &FileStatus, block_size: u64) -> Self {
        let read_write = || JavaEnum::new("org.apache.hadoop.fs.permission.FsAction", "READ_WRITE");
        let length = file.length as i64;
        Self {
            path: Path::new(uri),
            length,
            isdir: false,
            block_replication: 1,
            blocksize: block_size as i64,
            modification_time: file.modified,
            access_time: 0,
            permission: FsPermission {
                useraction: read_write(),
                groupaction: read_write(),
                otheraction: read_write(),
                sticky_bit: false,
            },
            owner: "",
            group: "",
            symlink: None,
            attr: EmptySet,
            // `FileSystem.getFileBlockLocations`
            locations: match length {
                0 => Vec::new(),
                _ => vec![BlockLocation {
                    hosts: ["localhost"],
                    cached_hosts: [],
                    names: ["localhost:9866"],
                    topology_paths: [],
                    storage_ids: [],
                    storage_types: [],
                    offset: 0,
                    length,
                    corrupt: false,
                }],
            },
        }
    }
}

/// The result of a task: its paths, each with its files.
fn result(
    catalog: &Catalog,
    found: Vec<(String, Vec<LocatedFileStatus>)>,
) -> Result<Vec<u8>, javaser::Error> {
    let pairs = found.into_iter().map(|(path, files)| {
        let files = Typed::new("Lscala/collection/immutable/List;", files);
        (Path::new(path), files)
    });
    let pairs: Vec<_> = pairs.collect();
    to_vec(&Typed::new("[Lscala/Tuple2;", pairs), catalog)
}

impl AcceptedTask for ListingPlan {
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        let found = self.paths.iter().map(|(uri, path, block_size)| {
            context.check()?;
            Ok((uri.clone(), self.files(path, *block_size, context)?))
        });
        let found = found.collect::<Result<Vec<_>, TaskError>>()?;
        result(&context.blocks.catalog, found)
            .map(TaskValue::Result)
            .map_err(|why| TaskError::BailOut(format!("files: {why}")))
    }

    fn accumulator(&self) -> Option<NodeId> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use javaser::Limits;
    use javaser::arena::Graph;
    use testkit::{Distribution, NEWEST, OLDEST};

    use super::*;
    use crate::files::Environment;

    fn plan(
        runtime: &tokio::runtime::Runtime,
        ignore_missing: bool,
        of_roots: bool,
    ) -> ListingPlan {
        let graph = Graph::parse(&to_vec(&"", &catalog(&[])).unwrap(), &Limits::default());
        let listing = Listing {
            conf: graph.unwrap().root().unwrap().node().unwrap(),
            ignore_missing,
            ignore_locality: false,
            of_roots,
        };
        let handle = runtime.handle().clone();
        ListingPlan {
            job: ListingJob {
                listing,
                conf: Arc::default(),
            },
            systems: Arc::new(FileSystems::new(
                handle,
                Arc::default(),
                Vec::new(),
                Environment::default(),
            )),
            paths: Vec::new(),
        }
    }

    fn catalog(class_path: &[std::path::PathBuf]) -> Catalog {
        Catalog::from_class_path(class_path).unwrap()
    }

    #[test]
    fn hidden_names_are_left_out_and_links_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in ["a/b", "_c", ".d", "_e=1", "f"] {
            create_dir_all(root.join(path)).unwrap();
            write(root.join(path).join("x"), path).unwrap();
        }
        for name in ["_metadata", "_SUCCESS", "y._COPYING_", ".z.crc"] {
            write(root.join(name), "1").unwrap();
        }
        symlink(root.join("nothing"), root.join("a/gone")).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let plan = plan(&runtime, false, true);
        let path = FilePath::parse(&root.display().to_string());
        let system = plan.systems.of(&path, &plan.job.conf).unwrap();
        let list = |plan: &ListingPlan, path: &FilePath, depth| {
            let found = runtime.block_on(plan.leaves(&system, path, depth));
            let text = path.to_string();
            found.map(|found| {
                let name = |file: FileStatus| file.path.to_string().replace(&text, "");
                let mut names: Vec<String> = found.into_iter().map(name).collect();
                // A directory's entries come in any order.
                names.sort();
                names
            })
        };
        let all = ["/_e=1/x", "/_metadata", "/a/b/x", "/f/x"];
        assert_eq!(list(&plan, &path, 0).unwrap(), all);
        assert_eq!(list(&plan, &path.child("f").child("x"), 0).unwrap(), [""]);
        let gone = path.child("gone");
        assert_eq!(list(&plan, &gone, 0).unwrap(), [""; 0]);
        assert!(matches!(list(&plan, &gone, 1), Err(FileError::NotFound(_))));
        let plan = super::tests::plan(&runtime, true, false);
        assert_eq!(list(&plan, &gone, 1).unwrap(), [""; 0]);
    }

    #[test]
    fn results_are_lists_of_files() {
        for version in [OLDEST, NEWEST] {
            let catalog = catalog(&[Distribution::find(version).class_path().into()]);
            let file = |length| FileStatus {
                path: FilePath::parse("/t/f.txt"),
                length,
                is_dir: false,
                modified: 1_795_767_712_786,
            };
            let status = |length| {
                let uri = file(length).path.uri().unwrap();
                LocatedFileStatus::new(uri, &file(length), 32 << 20)
            };
            let found = vec![("file:/t".to_owned(), vec![status(6), status(0)])];
            let bytes = result(&catalog, found).unwrap();
            let graph = Graph::parse(&bytes, &Limits::default()).unwrap();
            let pairs = graph.array(graph.root().unwrap()).unwrap();
            let pair = graph.tuple(pairs[0]).unwrap();
            let files = graph.elements(pair[1]).unwrap();
            let lengths = files.iter().map(|file| {
                let file = file.node().unwrap();
                let places = graph.field(file, "locations").unwrap();
                (
                    graph.int(graph.field(file, "length").unwrap()).unwrap(),
                    graph.array(places).unwrap().len(),
                )
            });
            assert_eq!(lengths.collect::<Vec<_>>(), [(6, 1), (0, 0)]);
        }
    }
}
