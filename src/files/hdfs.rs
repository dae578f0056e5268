//! HDFS through `hdfs-native`, with Hadoop's settings.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use futures_util::StreamExt;
use hdfs_native::acl::AclEntryScope;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use super::conf::HadoopConf;
use super::output::umask;
use super::path::FilePath;
use super::reader::Chunks;
use super::{Environment, FileError, FileStatus, binary_size};

pub(super) const SCHEME: &str = "hdfs";

/// The name node's port, if the URI names none.
const DEFAULT_PORT: u16 = 8020;

/// Where the crate would look for `core-site.xml`: there is none, as all settings come from the task.
const NO_DIRECTORY: &str = "/dev/null";

/// The exception of a name node that has no such file.
const NOT_FOUND: &str = "java.io.FileNotFoundException";

/// The exception of a name node that keeps no lists of permissions.
const NO_ACLS: &str = "org.apache.hadoop.hdfs.protocol.AclException";

/// Settings of files that are written, and their defaults.
const BLOCK_SIZE: &str = "dfs.blocksize";
const USUAL_BLOCK_SIZE: u64 = 128 << 20;
const REPLICATION: &str = "dfs.replication";
const USUAL_REPLICATION: u32 = 3;

/// Ways to find the active name node, after `org.apache.hadoop.hdfs.server.namenode.ha.`; all lead to the same files.
const PROXY_PROVIDERS: [&str; 2] = [
    "ConfiguredFailoverProxyProvider",
    "RequestHedgingProxyProvider",
];

/// Settings that the crate understands, besides those of a name service.
const CLIENT_SETTINGS: [&str; 5] = [
    "dfs.client.use.datanode.hostname",
    "dfs.client.socket-timeout",
    "dfs.client.failover.max.attempts",
    "dfs.client.failover.sleep.base.millis",
    "dfs.client.failover.sleep.max.millis",
];

/// Settings that must have one of these values, or none.
const EXPECTED: [(&str, &[&str]); 6] = [
    ("hadoop.security.authentication", &["simple"]),
    (
        "fs.hdfs.impl",
        &["org.apache.hadoop.hdfs.DistributedFileSystem"],
    ),
    (
        "hadoop.rpc.socket.factory.class.default",
        &["org.apache.hadoop.net.StandardSocketFactory"],
    ),
    (
        "hadoop.rpc.socket.factory.class.ClientProtocol",
        &["org.apache.hadoop.net.StandardSocketFactory"],
    ),
    ("dfs.data.transfer.protection", &[]),
    ("dfs.encrypt.data.transfer", &["false"]),
];

/// A name node or name service, and how it is talked to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct HdfsSettings {
    /// Host and port, or the name of a name service.
    authority: String,
    /// Who reads; else whoever the process is.
    user: Option<String>,
    settings: BTreeMap<String, String>,
}

impl HdfsSettings {
    /// The settings for a path.
    ///
    /// # Errors
    /// Why the JVM must read it.
    pub(super) fn translate(
        path: &FilePath,
        conf: &HadoopConf,
        environment: &Environment,
    ) -> Result<Self, FileError> {
        super::expect_settings(conf, &EXPECTED)?;
        if environment.get("HADOOP_PROXY_USER").is_some() {
            return Err(FileError::unsupported("HADOOP_PROXY_USER"));
        }
        let mut settings = BTreeMap::new();
        let mut keep = |key: &str| {
            if let Some(value) = conf.text(key) {
                settings.insert(key.to_owned(), value);
            }
        };
        CLIENT_SETTINGS.iter().for_each(|key| keep(key));
        let authority = match path.authority.as_str() {
            "" => default_authority(conf)?,
            authority => authority.to_owned(),
        };
        let nodes = conf.text(&format!("dfs.ha.namenodes.{authority}"));
        let authority = match nodes {
            Some(nodes) => {
                let provider_key = format!("dfs.client.failover.proxy.provider.{authority}");
                let provider = conf.text(&provider_key).unwrap_or_default();
                let known = provider
                    .strip_prefix("org.apache.hadoop.hdfs.server.namenode.ha.")
                    .is_some_and(|class| PROXY_PROVIDERS.contains(&class));
                if !known {
                    return Err(FileError::unsupported(format!(
                        "dfs.client.failover.proxy.provider {provider}"
                    )));
                }
                keep(&format!("dfs.ha.namenodes.{authority}"));
                for node in nodes.split(',') {
                    keep(&format!("dfs.namenode.rpc-address.{authority}.{node}"));
                }
                for name in ["resolve-needed", "resolver.useFQDN", "random.order"] {
                    keep(&format!("dfs.client.failover.{name}.{authority}"));
                }
                authority
            }
            None if authority.contains(['@', '[']) => {
                return Err(FileError::unsupported("files of hdfs: of such a host"));
            }
            None if authority.contains(':') => authority,
            None => format!("{authority}:{DEFAULT_PORT}"),
        };
        Ok(Self {
            authority,
            user: environment.get("SPARK_USER").map(str::to_owned),
            settings,
        })
    }
}

fn default_authority(conf: &HadoopConf) -> Result<String, FileError> {
    conf.text("fs.defaultFS")
        .map(|uri| FilePath::parse(&uri))
        .filter(|path| path.scheme == SCHEME && !path.authority.is_empty())
        .map(|path| path.authority)
        .ok_or_else(|| FileError::unsupported("files of hdfs: without a name node"))
}

/// A client of a name node or name service.
pub(super) struct Hdfs(Client);

/// A file whose blocks are known.
pub(super) struct HdfsFile(Box<hdfs_native::file::FileReader>);

impl Hdfs {
    pub(super) fn new(settings: &HdfsSettings, runtime: &Handle) -> Result<Self, FileError> {
        let mut builder = ClientBuilder::new()
            .with_url(format!("{SCHEME}://{}", settings.authority))
            .with_config_dir(NO_DIRECTORY)
            .with_config(settings.settings.clone())
            .with_io_runtime(runtime.clone());
        if let Some(user) = &settings.user {
            builder = builder.with_user(user);
        }
        let client = builder
            .build()
            .map_err(|error| FileError::failed(SCHEME, error))?;
        Ok(Self(client))
    }

    pub(super) async fn status(&self, path: &FilePath) -> Result<FileStatus, FileError> {
        let found = self.0.get_file_info(&path.path).await;
        let found = found.map_err(|error| failure(path, error))?;
        Ok(FileStatus {
            path: path.clone(),
            length: found.length as u64,
            is_dir: found.isdir,
            modified: found.modification_time as i64,
        })
    }

    pub(super) async fn list(&self, dir: &FilePath) -> Result<Vec<FileStatus>, FileError> {
        let found = self.0.list_status(&dir.path, false).await;
        let found = found.map_err(|error| failure(dir, error))?;
        Ok(found
            .into_iter()
            .map(|found| FileStatus {
                path: FilePath {
                    path: found.path,
                    ..dir.clone()
                },
                length: found.length as u64,
                is_dir: found.isdir,
                modified: found.modification_time as i64,
            })
            .collect())
    }

    /// Makes a new file, and the directories above it that are not there.
    ///
    /// # Errors
    /// [`FileError::Unsupported`] where permissions are inherited; what the name node says.
    pub(super) async fn create(
        &self,
        path: &FilePath,
        outputs: &HdfsOutputs,
    ) -> Result<HdfsWriter, FileError> {
        let inherits = outputs
            .inherits
            .get_or_try_init(|| self.has_default_acl(&outputs.root));
        if *inherits.await? {
            // The crate tells a name node of the permissions without those that the umask takes away, which do not
            // count then.
            return Err(FileError::unsupported("a directory with a default ACL"));
        }
        let made = self.0.create(&path.path, &outputs.options).await;
        let made = made.map_err(|error| FileError::failed(SCHEME, error))?;
        Ok(HdfsWriter(Box::new(made)))
    }

    async fn has_default_acl(&self, dir: &FilePath) -> Result<bool, FileError> {
        match self.0.get_acl_status(&dir.path).await {
            Ok(acl) => Ok(acl
                .entries
                .iter()
                .any(|entry| entry.scope == AclEntryScope::Default)),
            Err(HdfsError::RPCError(class, _)) if class == NO_ACLS => Ok(false),
            Err(error) => Err(failure(dir, error)),
        }
    }

    /// Renames a directory or a file, in the place of whatever has that name.
    pub(super) async fn replace_dir(
        &self,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<(), FileError> {
        self.remove(to).await?;
        let renamed = self.0.rename(&from.path, &to.path, false).await;
        renamed.map_err(|error| failure(from, error))
    }

    /// Gives a file another name, in the place of whatever has it, and makes the directories above it that are not
    /// there.
    pub(super) async fn replace_file(
        &self,
        from: &FilePath,
        to: &FilePath,
        outputs: &HdfsOutputs,
    ) -> Result<(), FileError> {
        if let Some((dir, _)) = to.path.rsplit_once('/').filter(|(dir, _)| !dir.is_empty()) {
            let made = self.0.mkdirs(dir, outputs.directories, true).await;
            made.map_err(|error| failure(to, error))?;
        }
        self.replace_dir(from, to).await
    }

    /// Gives a file another name, unless there is a file of that name: then that one stays, and this one goes.
    pub(super) async fn rename_file(
        &self,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<(), FileError> {
        match self.0.rename(&from.path, &to.path, false).await {
            Ok(()) => Ok(()),
            Err(_) if self.status(to).await.is_ok() => self.remove(from).await,
            Err(error) => Err(failure(from, error)),
        }
    }

    /// Removes a file, or a directory and what is below it, if it is there.
    pub(super) async fn remove(&self, dir: &FilePath) -> Result<(), FileError> {
        let removed = self.0.delete(&dir.path, true).await;
        removed.map(drop).map_err(|error| failure(dir, error))
    }

    pub(super) async fn open(&self, path: &FilePath) -> Result<HdfsFile, FileError> {
        let opened = self.0.read(&path.path).await;
        let opened = opened.map_err(|error| failure(path, error))?;
        Ok(HdfsFile(Box::new(opened)))
    }
}

impl HdfsFile {
    pub(super) fn length(&self) -> u64 {
        self.0.file_length() as u64
    }

    /// The bytes of a range within the file, in the packets in which they come. They are checked against their
    /// checksums, and read from another replica if one fails.
    pub(super) fn chunks(&self, range: &Range<u64>) -> Chunks {
        let (start, length) = bounds(range);
        let chunks = self.0.read_range_stream(start, length);
        let chunks = chunks.map(|chunk| chunk.map_err(|error| FileError::failed(SCHEME, error)));
        chunks.boxed()
    }
}

/// How files are written.
pub(super) struct HdfsOutputs {
    /// The directory below which they are.
    root: FilePath,
    options: WriteOptions,
    /// Permissions of directories.
    directories: u32,
    /// Whether files inherit permissions from that directory, once the name node was asked.
    inherits: OnceCell<bool>,
}

impl HdfsOutputs {
    /// As a job's settings say, in blocks of no less than `least_block` bytes.
    ///
    /// # Errors
    /// [`FileError::Unsupported`]
    pub(super) fn new(
        root: &FilePath,
        conf: &HadoopConf,
        least_block: u64,
    ) -> Result<Self, FileError> {
        let refused = |key: &str| FileError::unsupported(format!("{key} is set"));
        let block_size = match conf.text(BLOCK_SIZE) {
            None => USUAL_BLOCK_SIZE,
            Some(size) => binary_size(&size).ok_or_else(|| refused(BLOCK_SIZE))?,
        };
        let replication = match conf.text(REPLICATION) {
            None => USUAL_REPLICATION,
            Some(count) => count.parse().map_err(|_| refused(REPLICATION))?,
        };
        let umask = umask(conf)?;
        let options = WriteOptions::default()
            .block_size(block_size.max(least_block))
            .replication(replication)
            .permission(0o666 & !umask);
        Ok(Self {
            root: root.clone(),
            options,
            directories: 0o777 & !umask,
            inherits: OnceCell::new(),
        })
    }
}

/// A file that is written, block after block, to several data nodes at once.
pub(super) struct HdfsWriter(Box<hdfs_native::file::FileWriter>);

impl HdfsWriter {
    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<(), FileError> {
        let written = self.0.write_bytes(bytes).await;
        written
            .map(drop)
            .map_err(|error| FileError::failed(SCHEME, error))
    }

    /// Waits until the data nodes have all of it.
    pub(super) async fn close(&mut self) -> Result<(), FileError> {
        let closed = self.0.close().await;
        closed.map_err(|error| FileError::failed(SCHEME, error))
    }
}

fn bounds(range: &Range<u64>) -> (usize, usize) {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    (
        number(range.start),
        number(range.end.saturating_sub(range.start)),
    )
}

fn failure(path: &FilePath, error: HdfsError) -> FileError {
    match error {
        HdfsError::FileNotFound(_) => FileError::NotFound(path.to_string().into()),
        // What the name node says when a file's blocks are asked for.
        HdfsError::RPCError(class, _) if class == NOT_FOUND => {
            FileError::NotFound(path.to_string().into())
        }
        error => FileError::failed(SCHEME, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(uri: &str, conf: &HadoopConf) -> Result<HdfsSettings, String> {
        let environment = Environment::from([("SPARK_USER", "ann")]);
        HdfsSettings::translate(&FilePath::parse(uri), conf, &environment)
            .map_err(|error| error.reason())
    }

    #[test]
    fn hosts_have_a_port_and_name_services_have_nodes() {
        let none = HadoopConf::default();
        let plain = translate("hdfs://nn/x", &none).unwrap();
        assert_eq!(plain.authority, "nn:8020");
        assert_eq!(plain.user.as_deref(), Some("ann"));
        assert_eq!(
            translate("hdfs://nn:9000/x", &none).unwrap().authority,
            "nn:9000"
        );
        let conf = HadoopConf::from([
            ("fs.defaultFS", "hdfs://ns1"),
            ("dfs.nameservices", "ns1,ns2"),
            ("dfs.ha.namenodes.ns1", "a,b"),
            ("dfs.namenode.rpc-address.ns1.a", "h1:8020"),
            ("dfs.namenode.rpc-address.ns1.b", "h2:8020"),
            ("dfs.namenode.rpc-address.ns2.c", "h3:8020"),
            (
                "dfs.client.failover.proxy.provider.ns1",
                "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
            ),
            ("dfs.client.use.datanode.hostname", "true"),
            ("dfs.replication", "3"),
        ]);
        let found = translate("hdfs:/x", &conf).unwrap();
        assert_eq!(found.authority, "ns1");
        let keys: Vec<&str> = found.settings.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "dfs.client.use.datanode.hostname",
                "dfs.ha.namenodes.ns1",
                "dfs.namenode.rpc-address.ns1.a",
                "dfs.namenode.rpc-address.ns1.b",
            ]
        );
        let client = Hdfs::new(
            &found,
            &tokio::runtime::Runtime::new().unwrap().handle().clone(),
        );
        assert!(client.is_ok());
    }

    #[test]
    fn a_missing_file_is_known_from_every_answer() {
        let path = FilePath::parse("hdfs://nn/x");
        let missing = FileError::NotFound("hdfs://nn/x".into());
        let answer = |class: &str| HdfsError::RPCError(class.into(), "File does not exist".into());
        let of_blocks = failure(&path, answer("java.io.FileNotFoundException"));
        assert_eq!(of_blocks, missing);
        assert_eq!(
            failure(&path, HdfsError::FileNotFound("/x".into())),
            missing
        );
        let other = failure(&path, answer("org.apache.hadoop.ipc.StandbyException"));
        assert!(matches!(other, FileError::Failed { .. }), "{other}");
    }

    #[test]
    fn what_is_for_the_jvm_is_named() {
        let with = |key: &str, value: &str| {
            translate("hdfs://nn/x", &HadoopConf::from([(key, value)])).unwrap_err()
        };
        assert_eq!(
            with("hadoop.security.authentication", "kerberos"),
            "hadoop.security.authentication is kerberos"
        );
        assert_eq!(with("fs.hdfs.impl", "a.B"), "fs.hdfs.impl is a.B");
        assert_eq!(
            with("dfs.data.transfer.protection", "privacy"),
            "dfs.data.transfer.protection is set"
        );
        let conf = HadoopConf::from([
            ("dfs.ha.namenodes.ns", "a"),
            ("dfs.client.failover.proxy.provider.ns", "a.B"),
        ]);
        assert_eq!(
            translate("hdfs://ns/x", &conf).unwrap_err(),
            "dfs.client.failover.proxy.provider a.B"
        );
        assert_eq!(
            translate("hdfs:/x", &HadoopConf::default()).unwrap_err(),
            "files of hdfs: without a name node"
        );
        let proxied = Environment::from([("HADOOP_PROXY_USER", "bob")]);
        let path = FilePath::parse("hdfs://nn/x");
        assert!(HdfsSettings::translate(&path, &HadoopConf::default(), &proxied).is_err());
    }
}
