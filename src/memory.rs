//! The counting allocator, what the kernel says about the process's memory, and the [`budget`] of tasks and blocks.
//!
//! Only the executable installs [`CountingAllocator`]; `libfiresteel.so` leaves the allocator of its host program alone,
//! and every number that comes from counting is then zero. Memory of an embedded JVM is not the allocator's: the resident
//! set size covers it.
//!
//! Allocator and settings were chosen by the resident size of an idle tokio process that had parsed 12 MiB of small
//! objects on four threads and freed them, in KiB, and by the time of a mixed load on two threads:
//!
//! | allocator                                     | idle  | idle after [`trim`] | peak  | load   |
//! |-----------------------------------------------|-------|---------------------|-------|--------|
//! | glibc                                         | 16716 |  9308               | 20036 | 477 ms |
//! | glibc, two arenas, trim and mmap at 128 KiB   |  9388 |  3440               | 14892 |1158 ms |
//! | mimalloc 3, its defaults                      | 60612 |  8324               | 60612 | 364 ms |
//! | mimalloc 3, no huge pages                     | 41964 |  4120               | 41964 | 342 ms |
//! | mimalloc 3, no huge pages, purge after 10 ms  | 21452 |  4168               | 22684 | 213 ms |
//! | mimalloc 3, no huge pages, purge at once      |  4076 |  4064               | 24152 | 470 ms |
//! | mimalloc 2, no huge pages, purge after 10 ms  | 34848 | 34836               | 34848 | 138 ms |
//!
//! A query whose tasks join tables of 100 MiB and more (TPC-H's q21 at scale 10) took 50 s of processor time with purges after 10 ms, and 41 s
//! after a second, with a peak that is higher by 15 %: that is the setting, with [`trim`] for executors that idle.
#![allow(unsafe_code)]

pub mod budget;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::c_int;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use libmimalloc_sys::{mi_collect, mi_option_set};
use mimalloc::MiMalloc;

/// Bytes in use now, as asked for by the program (without the allocator's rounding and free lists).
///
/// Zero when [`CountingAllocator`] is not the global allocator.
pub fn allocated_bytes() -> u64 {
    LEDGER.current()
}

/// The most bytes that were in use at one time; can be up to 1 MiB below the truth, and is zero when
/// [`CountingAllocator`] is not the global allocator.
pub fn peak_allocated_bytes() -> u64 {
    LEDGER.peak()
}

/// Resident set size of the process in bytes (`VmRSS`), the JVM's part included; zero where `/proc` is missing.
pub fn rss_bytes() -> u64 {
    status_bytes(b"VmRSS:")
}

/// Largest resident set size of the process so far in bytes (`VmHWM`); zero where `/proc` is missing.
///
/// Not `getrusage`: its maximum survives `execve` and so contains the memory of whatever process launched this one.
pub fn peak_rss_bytes() -> u64 {
    status_bytes(b"VmHWM:")
}

/// Gives memory that is free inside the allocator back to the kernel. Costs up to a few milliseconds, so it belongs to
/// moments when nothing runs: after registration, at a heartbeat after the last task. Does nothing unless [`tune`] was called.
pub fn trim() {
    if let Some(collect) = COLLECT.get() {
        collect();
    }
}

/// Sets the allocator up for an executor. To be called at the start of `main` by a program whose global allocator is
/// [`CountingAllocator`]. `MIMALLOC_PURGE_DELAY` in the environment wins over our choice.
#[inline]
pub fn tune() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        // SAFETY: a plain store to an option that mimalloc reads whenever it schedules a purge.
        unsafe { mi_option_set(MI_OPTION_PURGE_DELAY, PURGE_DELAY_MS) };
    }
    let _ = COLLECT.set(|| {
        // SAFETY: no preconditions; works on the calling thread's heap and on the shared arenas.
        unsafe { mi_collect(true) }
    });
}

/// mimalloc, with every byte counted.
///
/// The functions that name mimalloc are `#[inline]` so that they are compiled only into programs that use them: otherwise
/// `libfiresteel.so` would contain mimalloc, and run its constructors inside host programs.
#[derive(Debug, Default, Clone, Copy)]
pub struct CountingAllocator;

// SAFETY: every call goes to `MiMalloc`, which upholds the contract; counting allocates nothing and cannot unwind.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is passed on.
        let block = unsafe { MiMalloc.alloc(layout) };
        if !block.is_null() {
            LEDGER.add(layout.size());
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is passed on.
        let block = unsafe { MiMalloc.alloc_zeroed(layout) };
        if !block.is_null() {
            LEDGER.add(layout.size());
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LEDGER.sub(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's contract is passed on.
        let moved = unsafe { MiMalloc.realloc(block, layout, new_size) };
        if !moved.is_null() {
            if new_size >= layout.size() {
                LEDGER.add(new_size - layout.size());
            } else {
                LEDGER.sub(layout.size() - new_size);
            }
        }
        moved
    }
}

/// `mi_option_purge_delay` of mimalloc 3 (`mimalloc.h`), in milliseconds; the Rust binding lacks the constant.
const MI_OPTION_PURGE_DELAY: c_int = 15;
/// Tasks ask for what the tasks before them gave back: mapping and zeroing pages again takes a tenth of a shuffle's time with a delay of 10 ms. What is
/// free when no task runs is given back by [`trim`].
const PURGE_DELAY_MS: std::ffi::c_long = 1000;

static COLLECT: OnceLock<fn()> = OnceLock::new();
static LEDGER: Ledger = Ledger::new();

const SHARDS: usize = 16;
/// The sum over all shards is taken, to find a new peak, each time one shard grows past a multiple of this.
const PEAK_STEP_SHIFT: u32 = 16;

/// A balance that many threads change often and few read.
///
/// Threads are spread over shards on cache lines of their own. Per-thread tallies would be cheaper still, but an
/// allocator can rely on no destructor when a thread ends, and what is left in the tally would be lost.
struct Ledger {
    shards: [Shard; SHARDS],
    peak: AtomicIsize,
}

/// 128: the spatial prefetcher of x86-64 pulls cache lines in pairs.
#[repr(align(128))]
struct Shard(AtomicIsize);

impl Ledger {
    const fn new() -> Self {
        Self {
            shards: [const { Shard(AtomicIsize::new(0)) }; SHARDS],
            peak: AtomicIsize::new(0),
        }
    }

    fn add(&self, bytes: usize) {
        // No object is larger than `isize::MAX`: `Layout` guarantees it.
        let bytes = bytes.cast_signed();
        let before = self.shard().fetch_add(bytes, Ordering::Relaxed);
        if before >> PEAK_STEP_SHIFT != before.wrapping_add(bytes) >> PEAK_STEP_SHIFT {
            self.note_peak();
        }
    }

    fn sub(&self, bytes: usize) {
        self.shard()
            .fetch_sub(bytes.cast_signed(), Ordering::Relaxed);
    }

    #[cold]
    fn note_peak(&self) {
        self.peak.fetch_max(self.sum(), Ordering::Relaxed);
    }

    fn sum(&self) -> isize {
        // One shard can be negative: a block may be freed by another thread than the one that allocated it.
        self.shards
            .iter()
            .map(|shard| shard.0.load(Ordering::Relaxed))
            .fold(0, isize::wrapping_add)
    }

    fn current(&self) -> u64 {
        u64::try_from(self.sum()).unwrap_or(0)
    }

    fn peak(&self) -> u64 {
        self.note_peak();
        u64::try_from(self.peak.load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn shard(&self) -> &AtomicIsize {
        thread_local! {
            // Constant and without destructor: reading it never allocates, not even on a thread that is ending.
            static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        let index = SHARD.with(|shard| {
            if shard.get() == usize::MAX {
                shard.set(THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS);
            }
            shard.get()
        });
        #[expect(
            clippy::indexing_slicing,
            reason = "the index is a remainder of the array's length"
        )]
        &self.shards[index % SHARDS].0
    }
}

fn status_bytes(key: &[u8]) -> u64 {
    // The file is about 1.5 KiB; both keys are in its first half.
    let mut buffer = [0; 4096];
    let Ok(mut file) = File::open("/proc/self/status") else {
        return 0;
    };
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) | Err(_) => break,
            Ok(n) => filled += n,
        }
    }
    kib_line(buffer.get(..filled).unwrap_or_default(), key)
        .map_or(0, |kib| kib.saturating_mul(1024))
}

fn kib_line(status: &[u8], key: &[u8]) -> Option<u64> {
    let value = status
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(key))?;
    std::str::from_utf8(value)
        .ok()?
        .trim()
        .strip_suffix("kB")?
        .trim_end()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_survives_threads_that_free_each_others_blocks() {
        let ledger = Ledger::new();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| (0..1000).for_each(|_| ledger.add(1000)));
                scope.spawn(|| (0..1000).for_each(|_| ledger.sub(990)));
            }
        });
        assert_eq!(ledger.current(), 40 * 1000 * 10);
        assert!(ledger.peak() >= ledger.current());
    }

    #[test]
    fn peak_stays_when_the_balance_falls() {
        let ledger = Ledger::new();
        ledger.add(100 << 20);
        ledger.sub(100 << 20);
        ledger.add(1 << 20);
        assert_eq!(ledger.current(), 1 << 20);
        assert_eq!(ledger.peak(), 100 << 20);
    }

    #[test]
    fn small_allocations_reach_the_peak_within_the_promised_error() {
        let ledger = Ledger::new();
        (0..1 << 20).for_each(|_| ledger.add(48));
        (0..1 << 20).for_each(|_| ledger.sub(48));
        assert_eq!(ledger.current(), 0);
        let peak = ledger.peak();
        assert!(
            peak <= 48 << 20 && peak > (48 << 20) - (1 << PEAK_STEP_SHIFT),
            "{peak}"
        );
    }

    #[test]
    fn more_freed_than_allocated_is_not_a_huge_number() {
        let ledger = Ledger::new();
        ledger.sub(5);
        assert_eq!(ledger.current(), 0);
        assert_eq!(ledger.peak(), 0);
    }

    #[test]
    fn status_lines_are_read_as_the_kernel_writes_them() {
        let status = b"Name:\tfiresteel\nVmHWM:\t    9328 kB\nVmRSS:\t    4120 kB\nThreads:\t3\n";
        assert_eq!(kib_line(status, b"VmHWM:"), Some(9328));
        assert_eq!(kib_line(status, b"VmRSS:"), Some(4120));
        assert_eq!(kib_line(status, b"VmSwap:"), None);
        assert_eq!(kib_line(status, b"Threads:"), None);
        assert_eq!(kib_line(b"VmRSS:\tlots kB", b"VmRSS:"), None);
    }

    #[test]
    fn resident_size_follows_memory_that_is_touched() {
        let before = rss_bytes();
        assert!(before > 512 * 1024, "{before}");
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(rss_bytes() >= before + (32 << 20));
        assert!(peak_rss_bytes() >= before + (32 << 20));
        drop(block);
    }
}
