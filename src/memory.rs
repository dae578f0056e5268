//! The allocator's settings, what the kernel says about the process's memory, and the [`budget`] of tasks and blocks.
//!
//! Only the executable installs mimalloc; `libfiresteel.so` leaves the allocator of its host program alone. Memory of
//! an embedded JVM is not the allocator's: the resident set size covers it.
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
//! A query whose tasks join tables of 100 MiB and more (TPC-H's q21 at scale 10) took 50 s of processor time with
//! purges after 10 ms, and 41 s after a second, with a peak that is higher by 15 %: that is the setting, with [`trim`]
//! for executors that idle.
#![allow(unsafe_code)]

pub mod budget;

use std::ffi::c_int;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

use libmimalloc_sys::{mi_collect, mi_option_set};

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
/// moments when nothing runs: after registration, at a heartbeat after the last task. Does nothing unless [`tune`] was
/// called.
pub fn trim() {
    if let Some(collect) = COLLECT.get() {
        collect();
    }
}

/// Sets the allocator up for an executor. To be called at the start of `main` by a program whose global allocator is
/// mimalloc. `MIMALLOC_PURGE_DELAY` in the environment wins over our choice.
///
/// `#[inline]`, so that mimalloc's functions are compiled only into programs that call this: otherwise
/// `libfiresteel.so` would contain mimalloc, and run its constructors inside host programs.
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

/// `mi_option_purge_delay` of mimalloc 3 (`mimalloc.h`), in milliseconds; the Rust binding lacks the constant.
const MI_OPTION_PURGE_DELAY: c_int = 15;
/// Tasks ask for what the tasks before them gave back: mapping and zeroing pages again takes a tenth of a shuffle's
/// time with a delay of 10 ms. What is free when no task runs is given back by [`trim`].
const PURGE_DELAY_MS: std::ffi::c_long = 1000;

static COLLECT: OnceLock<fn()> = OnceLock::new();
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
