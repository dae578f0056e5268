//! Files that a job writes, and the directories that its attempts' become: on this host, on HDFS, in S3.

mod local;
mod remote;

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;

use tokio::runtime::Handle;

use self::local::{LocalOutput, LocalOutputs};
use self::remote::RemoteOutput;
use super::hdfs::{Hdfs, HdfsOutputs};
use super::object::Objects;
use super::{Backend, FileError, FilePath, FileSystems, HadoopConf, Protocol, SCHEMES, s3};
use crate::cancel::Cancellation;

/// `fs.permissions.umask-mode`
const UMASK: &str = "fs.permissions.umask-mode";
/// Its default.
const USUAL_UMASK: u32 = 0o022;

/// The permissions that no file gets.
///
/// # Errors
/// [`FileError::Unsupported`]
pub(super) fn umask(conf: &HadoopConf) -> Result<u32, FileError> {
    let umask = match conf.text(UMASK) {
        None => Some(USUAL_UMASK),
        // Others are letters.
        Some(mask) => u32::from_str_radix(&mask, 8)
            .ok()
            .filter(|mask| *mask <= 0o777),
    };
    umask.ok_or_else(|| FileError::unsupported(format!("{UMASK} is set")))
}

/// The schemes of paths that are written to.
pub fn written_schemes() -> impl Iterator<Item = &'static str> {
    SCHEMES
        .iter()
        .filter(|(_, protocol)| is_written(*protocol))
        .map(|(scheme, _)| *scheme)
}

/// Whether files of a scheme are written, if their settings allow it.
pub fn is_written_scheme(scheme: &str) -> bool {
    Protocol::of(scheme).is_some_and(is_written)
}

fn is_written(protocol: Protocol) -> bool {
    match protocol {
        Protocol::Local | Protocol::Hdfs | Protocol::S3 => true,
        Protocol::Gcs | Protocol::Azure => false,
    }
}

/// How a job's files are made, judged by its settings. Its directories are renamed as a `FileOutputCommitter` does it.
pub struct Outputs {
    place: Place,
    runtime: Handle,
}

enum Place {
    Local(LocalOutputs),
    Hdfs(Arc<Hdfs>, HdfsOutputs),
    Objects(Arc<Objects>),
}

impl std::fmt::Debug for Outputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.place {
            Place::Local(_) => "Local",
            Place::Hdfs(..) => "Hdfs",
            Place::Objects(_) => "Objects",
        })
    }
}

impl FileSystems {
    /// How files below a path are made by a job with these settings, in blocks of no less than `least_block` bytes
    /// where there are blocks. Nobody is asked yet.
    ///
    /// # Errors
    /// [`FileError::Unsupported`], or what keeps a client from being made.
    pub fn outputs(
        &self,
        path: &FilePath,
        conf: &HadoopConf,
        least_block: u64,
    ) -> Result<Outputs, FileError> {
        let scheme = &path.scheme;
        let protocol = Protocol::of(scheme).filter(|protocol| is_written(*protocol));
        let protocol =
            protocol.ok_or_else(|| FileError::unsupported(format!("files of {scheme}:")))?;
        if protocol == Protocol::S3 {
            s3::check_written(path, conf)?;
        }
        let place = match self.of(path, conf)?.0 {
            Backend::Local => Place::Local(LocalOutputs::new(conf)?),
            Backend::Hdfs(client) => {
                Place::Hdfs(client, HdfsOutputs::new(path, conf, least_block)?)
            }
            Backend::Objects(objects) => Place::Objects(objects),
        };
        Ok(Outputs {
            place,
            runtime: self.runtime.clone(),
        })
    }
}

impl Outputs {
    /// Makes a new file, and the directories above it that are not there. Blocks.
    ///
    /// # Errors
    /// It is there already; what the servers or the operating system say; [`FileError::Cancelled`].
    pub fn create(
        &self,
        path: &FilePath,
        cancellation: &Cancellation,
    ) -> Result<Output, FileError> {
        let writer = match &self.place {
            Place::Local(outputs) => {
                let made = outputs.create(&path.local());
                return Ok(Output::Local(made.map_err(|error| of_io(path, &error))?));
            }
            Place::Hdfs(client, outputs) => {
                let made = super::wait(&self.runtime, cancellation, client.create(path, outputs));
                made?.into()
            }
            Place::Objects(objects) => {
                let made = super::wait(&self.runtime, cancellation, objects.create(path));
                made?.into()
            }
        };
        let output = RemoteOutput::new(writer, &path.scheme, &self.runtime, cancellation);
        Ok(Output::Remote(output))
    }

    /// Makes the files below a directory those of another one, in the place of whatever is there. Blocks, also if the
    /// task is told to stop.
    ///
    /// # Errors
    /// What the servers or the operating system say.
    pub fn replace_dir(&self, from: &FilePath, to: &FilePath) -> Result<(), FileError> {
        match &self.place {
            Place::Local(_) => {
                self.remove_dir(to)?;
                fs::rename(from.local(), to.local()).map_err(|error| of_io(to, &error))
            }
            Place::Hdfs(client, _) => self.wait(client.replace_dir(from, to)),
            Place::Objects(objects) => self.wait(objects.replace_dir(from, to)),
        }
    }

    /// Moves files from below a directory to the same names below another one, in the place of whatever is there, and
    /// makes the directories that are not. Blocks, also if the task is told to stop.
    ///
    /// # Errors
    /// What the servers or the operating system say. Some of the files may have been moved then.
    pub fn merge_dir(
        &self,
        from: &FilePath,
        to: &FilePath,
        files: &[String],
    ) -> Result<(), FileError> {
        let pairs = files.iter().map(|file| (from.child(file), to.child(file)));
        match &self.place {
            Place::Local(outputs) => {
                for (from, to) in pairs {
                    let moved = outputs.replace(&from.local(), &to.local());
                    moved.map_err(|error| of_io(&to, &error))?;
                }
                self.remove_dir(from)
            }
            Place::Hdfs(client, outputs) => self.wait(async {
                for (from, to) in pairs {
                    client.replace_file(&from, &to, outputs).await?;
                }
                client.remove(from).await
            }),
            Place::Objects(objects) => self.wait(objects.merge_dir(from, to)),
        }
    }

    /// Removes a directory and what is below it, if it is there. Blocks, also if the task is told to stop.
    ///
    /// # Errors
    /// What the servers or the operating system say.
    pub fn remove_dir(&self, dir: &FilePath) -> Result<(), FileError> {
        match &self.place {
            Place::Local(_) => match fs::remove_dir_all(dir.local()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(of_io(dir, &error)),
                _ => Ok(()),
            },
            Place::Hdfs(client, _) => self.wait(client.remove(dir)),
            Place::Objects(objects) => self.wait(objects.remove_dir(dir)),
        }
    }

    /// Gives a file another name, unless there is a file of that name: then that one stays, and this one goes. Blocks,
    /// also if the task is told to stop.
    ///
    /// # Errors
    /// What the servers or the operating system say.
    pub fn rename_file(&self, from: &FilePath, to: &FilePath) -> Result<(), FileError> {
        match &self.place {
            Place::Local(_) if to.local().exists() => self.remove_file(from),
            Place::Local(_) => {
                let renamed = local::rename(&from.local(), &to.local());
                renamed.map_err(|error| of_io(to, &error))
            }
            Place::Hdfs(client, _) => self.wait(client.rename_file(from, to)),
            Place::Objects(objects) => self.wait(objects.rename_file(from, to)),
        }
    }

    /// Removes a file. Blocks, also if the task is told to stop.
    ///
    /// # Errors
    /// What the servers or the operating system say.
    pub fn remove_file(&self, path: &FilePath) -> Result<(), FileError> {
        match &self.place {
            Place::Local(_) => {
                let removed = local::remove(&path.local());
                removed.map_err(|error| of_io(path, &error))
            }
            Place::Hdfs(client, _) => self.wait(client.remove(path)),
            Place::Objects(objects) => self.wait(objects.remove_file(path)),
        }
    }

    fn wait(&self, work: impl Future<Output = Result<(), FileError>>) -> Result<(), FileError> {
        super::wait(&self.runtime, &Cancellation::default(), work)
    }
}

fn of_io(path: &FilePath, error: &io::Error) -> FileError {
    FileError::failed(&path.scheme, format_args!("{path}: {error}"))
}

/// A file that is written; it is whole once it is finished.
#[derive(Debug)]
pub enum Output {
    /// Of this host.
    Local(LocalOutput),
    /// Of another machine.
    Remote(RemoteOutput),
}

impl Output {
    /// Ends the file, and gives its length in bytes. Blocks.
    ///
    /// # Errors
    /// What the servers or the operating system say; [`FileError::Cancelled`] in an [`io::Error`].
    pub fn finish(self) -> io::Result<u64> {
        match self {
            Self::Local(output) => output.finish(),
            Self::Remote(output) => Ok(output.finish()?),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Local(output) => output.write(bytes),
            Self::Remote(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Local(output) => output.flush(),
            Self::Remote(output) => output.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Runtime;

    use super::*;

    fn outputs(runtime: &Runtime, uri: &str, conf: &HadoopConf) -> Result<Outputs, String> {
        let systems = FileSystems::of_test(runtime);
        let made = systems.outputs(&FilePath::parse(uri), conf, 0);
        made.map_err(|error| error.reason())
    }

    #[test]
    fn directories_of_the_host_take_the_place_of_others() {
        let runtime = Runtime::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let root = FilePath::parse(&format!("file:{}", dir.path().display()));
        let made = outputs(&runtime, "file:/x", &HadoopConf::default()).unwrap();
        let never = Cancellation::default();
        for (at, bytes) in [("old/left", "1"), ("new/a/b", "23")] {
            let mut file = made.create(&root.child(at), &never).unwrap();
            file.write_all(bytes.as_bytes()).unwrap();
            assert_eq!(file.finish().unwrap(), bytes.len() as u64);
        }
        let (new, old) = (root.child("new"), root.child("old"));
        made.replace_dir(&new, &old).unwrap();
        assert_eq!(fs::read(dir.path().join("old/a/b")).unwrap(), b"23");
        assert!(!dir.path().join("old/left").exists() && !dir.path().join("new").exists());
        made.remove_dir(&old).unwrap();
        // What is gone is gone.
        made.remove_dir(&old).unwrap();
        assert!(made.replace_dir(&new, &old).is_err());
    }

    #[test]
    fn what_is_for_the_jvm_is_named() {
        let runtime = Runtime::new().unwrap();
        let none = HadoopConf::default();
        for uri in ["file:/x", "hdfs://nn/x", "s3a://bucket/x"] {
            let setting = [("fs.s3a.endpoint.region", "us-east-1")];
            outputs(&runtime, uri, &HadoopConf::from(setting)).unwrap();
        }
        for scheme in ["gs", "abfss", "ftp"] {
            let refused = outputs(&runtime, &format!("{scheme}://a/x"), &none).unwrap_err();
            assert_eq!(refused, format!("files of {scheme}:"));
        }
        for (uri, key, value, reason) in [
            ("file:/x", "fs.file.impl", "x.Y", "fs.file.impl is x.Y"),
            ("hdfs://nn/x", "dfs.blocksize", "1x", "dfs.blocksize is set"),
            (
                "hdfs://nn/x",
                "dfs.replication",
                "x",
                "dfs.replication is set",
            ),
            (
                "hdfs://nn/x",
                UMASK,
                "u=rwx",
                "fs.permissions.umask-mode is set",
            ),
            (
                "s3a://b/x",
                "fs.s3a.acl.default",
                "x",
                "fs.s3a.acl.default is set",
            ),
            (
                "s3a://b/x",
                "fs.s3a.bucket.b.committer.name",
                "magic",
                "fs.s3a.committer.name is magic",
            ),
            (
                "s3a://b/x",
                "fs.s3a.create.header.x",
                "y",
                "fs.s3a.create.header.* is set",
            ),
        ] {
            let conf = HadoopConf::from([(key, value)]);
            assert_eq!(outputs(&runtime, uri, &conf).unwrap_err(), reason);
        }
    }
}
