//! The counting allocator as a program's global allocator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::Mutex;

use firesteel::memory::{self, CountingAllocator};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MIB: u64 = 1 << 20;
/// What the test harness itself may allocate or free meanwhile.
const SLACK: u64 = MIB;

fn assert_held(start: u64, expected: u64) {
    let now = memory::allocated_bytes();
    assert!(
        now.abs_diff(start + expected) < SLACK,
        "{start} + {expected}, found {now}"
    );
}

/// The tests read numbers of the whole process, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn blocks_are_counted_until_they_are_freed() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let start = memory::allocated_bytes();
    assert!(start > 0, "the runtime itself has allocated");

    let zeroed = vec![0_u8; 32 << 20];
    let mut grown: Vec<u8> = Vec::with_capacity(1 << 20);
    grown.reserve_exact(16 << 20);
    assert_held(start, 48 * MIB);

    grown.shrink_to(2 << 20);
    assert_held(start, 34 * MIB);

    drop((zeroed, grown));
    assert_held(start, 0);
    assert!(memory::peak_allocated_bytes() >= start + 47 * MIB);
}

#[test]
fn blocks_freed_by_another_thread_are_counted_once() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let start = memory::allocated_bytes();
    let blocks: Vec<Vec<u8>> = (0..64)
        .map(|_| std::thread::spawn(|| vec![7_u8; 1 << 20]).join().unwrap())
        .collect();
    assert_held(start, 64 * MIB);
    std::thread::spawn(move || drop(blocks)).join().unwrap();
    assert_held(start, 0);
}

#[test]
fn trim_gives_free_memory_back_to_the_kernel() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
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
