//! A block server with files, blocks and peers.

use bytes::Bytes;
use firesteel::blocks::{BlockServer, BlockSource, LocalDirs, Upload};
use firesteel::transport::{Answer, AskError, Body, Client, NoRequests, Protection, TransportConf};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use wire::block_transfer::{BlockTransferMessage as Message, FetchShuffleBlocks};
use wire::ids::BlockId;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const APP: &str = "app-20260101000000-0000";

/// Files by name or path, with what is in them.
pub(crate) type Files<N> = Vec<(N, Vec<u8>)>;

/// Blocks `rdd_<n>_<m>` of n bytes each; uploads are kept.
#[derive(Default)]
pub(crate) struct Source {
    pub(crate) asked: AtomicUsize,
    pub(crate) uploads: Mutex<Vec<(Upload, Bytes)>>,
    pub(crate) streams: Mutex<Vec<(Upload, PathBuf, Vec<u8>)>>,
    /// Map outputs of shuffle 3 that are columns and nothing else, with the files that are made of them.
    pub(crate) columns: Mutex<HashMap<i64, Files<PathBuf>>>,
    /// How often somebody wanted to read files who takes no columns.
    pub(crate) read_by_others: AtomicUsize,
}

impl Source {
    fn make(&self, map_id: i64) {
        for (path, bytes) in self.columns.lock().remove(&map_id).unwrap_or_default() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }
}

pub(crate) struct Shared(pub(crate) Arc<Source>);

pub(crate) fn content(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at * (2 * seed + 1) + at / 255) as u8)
        .collect()
}

impl BlockSource for Shared {
    fn may_have(&self, id: &BlockId) -> bool {
        matches!(id, BlockId::Rdd { .. })
    }

    fn stored_block(&self, _id: &BlockId) -> Option<Answer<Result<Body, String>>> {
        None
    }

    fn local_block(&self, id: BlockId) -> Answer<Result<Body, String>> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            tokio::task::yield_now().await;
            match id {
                BlockId::Rdd { rdd_id, .. } => Ok(Body::Bytes(content(1, rdd_id as usize).into())),
                _ => Err(format!("Block {id} not found")),
            }
        })
    }

    fn lacks_rows(&self, shuffle_id: i32, map_id: i64) -> bool {
        shuffle_id == 3 && self.0.columns.lock().contains_key(&map_id)
    }

    fn make_rows(&self, _shuffle_id: i32, map_id: i64) -> std::io::Result<()> {
        self.0.make(map_id);
        Ok(())
    }

    fn files_are_read(&self) {
        self.0.read_by_others.fetch_add(1, Ordering::SeqCst);
    }

    fn upload(&self, upload: Upload, data: Bytes) -> Answer<Result<Bytes, String>> {
        self.0.uploads.lock().push((upload, data));
        Box::pin(async { Ok(Bytes::new()) })
    }

    fn upload_stream(&self, upload: Upload, file: PathBuf) -> Answer<Result<Bytes, String>> {
        let data = std::fs::read(&file).unwrap();
        let failed = data.len() == 13;
        self.0.streams.lock().push((upload, file, data));
        Box::pin(async move {
            if failed {
                Err("not stored".into())
            } else {
                Ok(Bytes::new())
            }
        })
    }
}

/// Metadata of an upload as Spark's serializer writes them.
pub(crate) fn metadata() -> Bytes {
    let path = testkit::fixtures().join("upload-metadata.json");
    let all: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let hex = all[testkit::of_series("4.1")].as_str().unwrap();
    testkit::from_hex(hex).into()
}

pub(crate) struct Fixture {
    pub(crate) _root: tempfile::TempDir,
    pub(crate) dirs: Arc<LocalDirs>,
    pub(crate) source: Arc<Source>,
    pub(crate) server: BlockServer,
}

impl Fixture {
    pub(crate) fn start() -> Self {
        Self::protected(Protection::default())
    }

    pub(crate) fn protected(protection: Protection) -> Self {
        let root = tempfile::tempdir().unwrap();
        let dirs =
            LocalDirs::create(&[root.path().join("a"), root.path().join("b")], 64, false).unwrap();
        let (dirs, source) = (Arc::new(dirs), Arc::new(Source::default()));
        let shared = Arc::new(Shared(source.clone()));
        let server = BlockServer::bind(
            ("127.0.0.1", 0),
            APP,
            "7",
            dirs.clone(),
            shared,
            protection,
            |_| None,
        )
        .unwrap();
        Self {
            _root: root,
            dirs,
            source,
            server,
        }
    }

    /// Writes the files of a map task whose segments have these sizes, and gives the segments.
    pub(crate) fn map_output(&self, shuffle: i32, map: i64, sizes: &[usize]) -> Vec<Vec<u8>> {
        let (segments, files) = self.files_of(shuffle, map, sizes, ["index", "data"]);
        for (name, bytes) in files {
            self.write(&name, &bytes);
        }
        segments
    }

    /// The segments of a map output, and files with these endings that hold them: an index and the segments.
    pub(crate) fn files_of(
        &self,
        shuffle: i32,
        map: i64,
        sizes: &[usize],
        endings: [&str; 2],
    ) -> (Vec<Vec<u8>>, Files<String>) {
        let segments: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(at, size)| content(at + map as usize, *size))
            .collect();
        let mut offset = 0;
        let mut index = 0i64.to_be_bytes().to_vec();
        for size in sizes {
            offset += *size as i64;
            index.extend_from_slice(&offset.to_be_bytes());
        }
        let name = |ending: &str| format!("shuffle_{shuffle}_{map}_0.{ending}");
        let files = [index, segments.concat()];
        let files = endings.map(name).into_iter().zip(files).collect();
        (segments, files)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.dirs.path(&name.parse().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) async fn connect(&self) -> Client {
        let conf = TransportConf::default();
        Client::connect("127.0.0.1", self.server.port(), &conf, Arc::new(NoRequests))
            .await
            .unwrap()
    }

    pub(crate) fn files_left(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, found)
                } else {
                    found.push(path)
                }
            }
        }
        let mut found = Vec::new();
        self.dirs
            .dirs()
            .iter()
            .for_each(|dir| walk(dir, &mut found));
        found
    }
}

pub(crate) async fn ask(client: &Client, message: Message) -> Result<Message, AskError> {
    let answer = client.ask(message.write().unwrap().into(), TIMEOUT).await?;
    Ok(Message::read(&answer).unwrap())
}

pub(crate) async fn open(client: &Client, message: Message) -> (i64, i32) {
    match ask(client, message).await.unwrap() {
        Message::StreamHandle {
            stream_id,
            num_chunks,
        } => (stream_id, num_chunks),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn fetch(map_ids: &[i64], reduce_ids: &[&[i32]], batch_fetch_enabled: bool) -> Message {
    Message::FetchShuffleBlocks(FetchShuffleBlocks {
        app_id: APP.into(),
        exec_id: "7".into(),
        shuffle_id: 3,
        map_ids: map_ids.to_vec(),
        reduce_ids: reduce_ids.iter().map(|ids| ids.to_vec()).collect(),
        batch_fetch_enabled,
    })
}

pub(crate) fn open_blocks(names: &[&str]) -> Message {
    let block_ids = names.iter().map(|name| (*name).to_owned()).collect();
    Message::OpenBlocks {
        app_id: APP.into(),
        exec_id: "7".into(),
        block_ids,
    }
}
