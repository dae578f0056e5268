//! Memory that is free goes back to the kernel when an executor asks for it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use firesteel::memory;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const MIB: u64 = 1 << 20;

#[test]
fn trim_gives_free_memory_back_to_the_kernel() {
    memory::tune();
    memory::trim();
    let start = memory::rss_bytes();
    let workers: Vec<_> = (0..4_u8)
        .map(|t| std::thread::spawn(move || (0..200_000).map(|_| vec![t; 64]).collect::<Vec<_>>()))
        .collect();
    let blocks: Vec<Vec<Vec<u8>>> = workers
        .into_iter()
        .map(|worker| worker.join().unwrap())
        .collect();
    let used = memory::rss_bytes();
    assert!(used > start + 48 * MIB, "{start} {used}");
    drop(blocks);
    memory::trim();
    let after = memory::rss_bytes();
    assert!(after < start + 8 * MIB, "{start} {used} {after}");
}
