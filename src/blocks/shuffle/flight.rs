//! Which requests may be on their way at a time: the limits of Spark's `ShuffleBlockFetcherIterator`, without any I/O.

use super::locations::ShuffleBlock;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use wire::ids::BlockManagerId;

/// Bounds of what one reader asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes.
    pub(super) bytes: u64,
    /// Requests.
    pub(super) requests: usize,
    /// Blocks of one address.
    pub(super) blocks_per_address: usize,
}

/// Blocks that are asked for together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) address: Arc<BlockManagerId>,
    pub(super) blocks: Vec<ShuffleBlock>,
}

impl Request {
    /// About how many bytes it brings.
    pub(super) fn size(&self) -> u64 {
        self.blocks.iter().map(size).sum()
    }
}

fn size(block: &ShuffleBlock) -> u64 {
    u64::try_from(block.size).unwrap_or(0)
}

/// Cuts the blocks of one address into requests of a fifth of what may be on its way, so that five addresses answer in
/// parallel.
pub(super) fn requests(
    address: &Arc<BlockManagerId>,
    blocks: Vec<ShuffleBlock>,
    bounds: Bounds,
) -> Vec<Request> {
    let target = (bounds.bytes / 5).max(1);
    let mut requests = Vec::new();
    let mut request = Request {
        address: Arc::clone(address),
        blocks: Vec::new(),
    };
    let mut bytes = 0;
    for block in blocks {
        bytes += size(&block);
        request.blocks.push(block);
        if bytes >= target || request.blocks.len() >= bounds.blocks_per_address {
            let blocks = std::mem::take(&mut request.blocks);
            requests.push(Request {
                address: Arc::clone(address),
                blocks,
            });
            bytes = 0;
        }
    }
    if !request.blocks.is_empty() {
        requests.push(request);
    }
    requests
}

/// What waits and what is on its way.
#[derive(Debug)]
pub(super) struct Flight {
    bounds: Bounds,
    waiting: VecDeque<Request>,
    /// Those whose address had enough to do when it was their turn.
    deferred: VecDeque<Request>,
    bytes: u64,
    requests: usize,
    blocks: HashMap<Arc<BlockManagerId>, usize>,
}

impl Flight {
    pub(super) fn new(bounds: Bounds, requests: Vec<Request>) -> Self {
        Self {
            bounds,
            waiting: requests.into(),
            deferred: VecDeque::new(),
            bytes: 0,
            requests: 0,
            blocks: HashMap::new(),
        }
    }

    /// The next request that may be sent now; it counts as sent.
    pub(super) fn send(&mut self) -> Option<Request> {
        let deferred = self.deferred.iter();
        let ready = deferred.enumerate().find_map(|(index, request)| {
            (self.has_room(request) && !self.is_busy(request)).then_some(index)
        });
        if let Some(index) = ready {
            let request = self.deferred.remove(index)?;
            return Some(self.count(request));
        }
        loop {
            let next = self.waiting.front()?;
            if !self.has_room(next) {
                return None;
            }
            let request = self.waiting.pop_front()?;
            if self.is_busy(&request) {
                self.deferred.push_back(request);
            } else {
                return Some(self.count(request));
            }
        }
    }

    /// A block was handed on.
    pub(super) fn block_done(&mut self, address: &BlockManagerId, block: &ShuffleBlock) {
        self.bytes = self.bytes.saturating_sub(size(block));
        if let Some(count) = self.blocks.get_mut(address) {
            *count = count.saturating_sub(1);
        }
    }

    /// All blocks of a request have arrived.
    pub(super) fn request_done(&mut self) {
        self.requests = self.requests.saturating_sub(1);
    }

    /// Asks for something again.
    pub(super) fn again(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    fn has_room(&self, request: &Request) -> bool {
        // A request larger than the limit goes alone.
        self.bytes == 0
            || (self.requests < self.bounds.requests
                && self.bytes.saturating_add(request.size()) <= self.bounds.bytes)
    }

    fn is_busy(&self, request: &Request) -> bool {
        let count = self.blocks.get(&request.address).copied().unwrap_or(0);
        count.saturating_add(request.blocks.len()) > self.bounds.blocks_per_address
    }

    fn count(&mut self, request: Request) -> Request {
        self.bytes = self.bytes.saturating_add(request.size());
        self.requests += 1;
        *self.blocks.entry(Arc::clone(&request.address)).or_default() += request.blocks.len();
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(port: i32) -> Arc<BlockManagerId> {
        Arc::new(BlockManagerId {
            executor_id: port.to_string(),
            host: "h".into(),
            port,
            topology_info: None,
        })
    }

    fn blocks(sizes: &[i64]) -> Vec<ShuffleBlock> {
        let block = |(map_id, size): (i64, &i64)| ShuffleBlock {
            shuffle_id: 1,
            map_id,
            map_index: 0,
            reducers: 0..1,
            batch: false,
            size: *size,
        };
        (0..).zip(sizes).map(block).collect()
    }

    fn bounds(bytes: u64, requests: usize, blocks_per_address: usize) -> Bounds {
        Bounds {
            bytes,
            requests,
            blocks_per_address,
        }
    }

    fn sizes(requests: &[Request]) -> Vec<Vec<i64>> {
        let sizes = |request: &Request| request.blocks.iter().map(|block| block.size).collect();
        requests.iter().map(sizes).collect()
    }

    #[test]
    fn requests_have_a_fifth_of_the_bytes() {
        let all = blocks(&[5, 5, 20, 1, 1]);
        let cut = requests(&address(1), all.clone(), bounds(50, 9, 100));
        assert_eq!(sizes(&cut), [vec![5, 5], vec![20], vec![1, 1]]);
        let cut = requests(&address(1), all, bounds(5000, 9, 2));
        assert_eq!(sizes(&cut), [vec![5, 5], vec![20, 1], vec![1]]);
    }

    #[test]
    fn a_busy_address_does_not_hold_up_others() {
        let limit = bounds(100, 9, 2);
        let mut all = requests(&address(1), blocks(&[1, 1, 1, 1]), limit);
        all.extend(requests(&address(2), blocks(&[1]), limit));
        let mut flight = Flight::new(limit, all);
        let first = flight.send().unwrap();
        assert_eq!(first.address.port, 1);
        assert_eq!(flight.send().unwrap().address.port, 2);
        assert_eq!(flight.send(), None);
        flight.block_done(&first.address, &first.blocks[0]);
        assert_eq!(flight.send(), None);
        flight.block_done(&first.address, &first.blocks[1]);
        assert_eq!(flight.send().unwrap().address.port, 1);
        assert_eq!(flight.send(), None);
    }

    #[test]
    fn a_request_beyond_the_limit_goes_alone() {
        let limit = bounds(10, 9, 100);
        let mut flight = Flight::new(limit, requests(&address(1), blocks(&[50, 1]), limit));
        let large = flight.send().unwrap();
        assert_eq!(large.size(), 50);
        assert_eq!(flight.send(), None);
        flight.block_done(&large.address, &large.blocks[0]);
        flight.request_done();
        assert_eq!(flight.send().unwrap().size(), 1);
    }

    proptest! {
        /// Everything is sent once, and no limit is exceeded.
        #[test]
        fn limits_hold(
            all in proptest::collection::vec((1i32..4, 1i64..40), 0..60),
            bytes in 1u64..120, at_once in 1usize..5, per_address in 1usize..6,
        ) {
            let limit = bounds(bytes, at_once, per_address);
            let mut queue = Vec::new();
            for port in 1..4 {
                let of_port = all.iter().filter(|(of, _)| *of == port).map(|(_, size)| *size);
                queue.extend(requests(&address(port), blocks(&of_port.collect::<Vec<_>>()), limit));
            }
            let mut flight = Flight::new(limit, queue);
            let mut open: VecDeque<Request> = VecDeque::new();
            let mut sent = 0;
            loop {
                while let Some(request) = flight.send() {
                    sent += request.blocks.len();
                    open.push_back(request);
                    let total: u64 = open.iter().map(Request::size).sum();
                    prop_assert!(total <= bytes || open.len() == 1);
                    prop_assert!(open.len() <= at_once);
                    for port in 1..4 {
                        let of_port = open.iter().filter(|request| request.address.port == port);
                        prop_assert!(of_port.map(|request| request.blocks.len()).sum::<usize>() <= per_address);
                    }
                }
                let Some(request) = open.pop_front() else { break };
                for block in &request.blocks {
                    flight.block_done(&request.address, block);
                }
                flight.request_done();
            }
            prop_assert_eq!(sent, all.len());
        }
    }
}
