//! What reading shuffles needs of the network.

use super::locations::ShuffleBlock;
use crate::blocks::fetch::FetchedBlock;
use crate::transport::Answer;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use wire::block_transfer::Cause;
use wire::ids::BlockManagerId;

/// Local directories by executor id.
pub type DirsByExecutor = Vec<(String, Vec<String>)>;

/// Talks to the block servers of other executors, or to the external shuffle service.
pub trait BlockTransfer: Send + Sync {
    /// Asks `address` for blocks and tells `told` of each. Tries again what may succeed then. With `to_disk` blocks
    /// arrive in files; with `columns` they may be columns. Blocks of which nothing was told when the future ends have
    /// failed.
    fn fetch(
        &self,
        address: Arc<BlockManagerId>,
        blocks: Arc<[ShuffleBlock]>,
        to_disk: bool,
        columns: bool,
        told: Told,
    ) -> Answer<()>;

    /// The local directories of executors, from the block server at `host` and `port`.
    fn local_dirs(
        &self,
        host: String,
        port: i32,
        executor_ids: Vec<String>,
    ) -> Answer<Result<DirsByExecutor, String>>;

    /// Asks `address` why a block arrived with that checksum.
    fn diagnose(
        &self,
        address: Arc<BlockManagerId>,
        block: ShuffleBlock,
        checksum: i64,
        algorithm: &'static str,
    ) -> Answer<Result<Cause, String>>;
}

/// What became of a block of a request.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) address: Arc<BlockManagerId>,
    pub(super) block: ShuffleBlock,
    pub(super) result: Result<FetchedBlock, String>,
    /// Whether it was the last one of its request.
    pub(super) last: bool,
}

/// Takes the blocks of one request as they arrive. Clones are the same.
#[derive(Debug, Clone)]
pub struct Told(Arc<Request>);

#[derive(Debug)]
struct Request {
    address: Arc<BlockManagerId>,
    /// Blocks that are still to come.
    open: Mutex<(Vec<Option<ShuffleBlock>>, usize)>,
    arrivals: UnboundedSender<Arrival>,
}

impl Told {
    pub(super) fn new(
        address: Arc<BlockManagerId>,
        blocks: &[ShuffleBlock],
        arrivals: UnboundedSender<Arrival>,
    ) -> Self {
        let open = blocks.iter().cloned().map(Some).collect();
        Self(Arc::new(Request {
            address,
            open: Mutex::new((open, blocks.len())),
            arrivals,
        }))
    }

    /// The block at `index` of the request has arrived, or why it never will. Only the first word counts.
    pub fn tell(&self, index: usize, result: Result<FetchedBlock, String>) {
        self.0.tell(index, result);
    }
}

impl Request {
    fn tell(&self, index: usize, result: Result<FetchedBlock, String>) {
        let mut open = self.open.lock();
        let (blocks, count) = &mut *open;
        let Some(block) = blocks.get_mut(index).and_then(Option::take) else {
            return;
        };
        *count -= 1;
        // A reader that is gone wants nothing.
        let _ = self.arrivals.send(Arrival {
            address: Arc::clone(&self.address),
            block,
            result,
            last: *count == 0,
        });
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let count = self.open.get_mut().0.len();
        for index in 0..count {
            let why = "The request ended without an answer for this block";
            self.tell(index, Err(why.to_owned()));
        }
    }
}
