//! What the targets share: the heap is measured, and an input that takes more of it than it may ends the run as a
//! panic does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[doc(hidden)]
pub use libfuzzer_sys;

/// Bytes that any input may take: buffers, tables of decompressors.
const ALWAYS: usize = 8 << 20;
/// Bytes that a byte of input may take: a small Java object is a few bytes in a stream and a node of a graph here.
const PER_BYTE: usize = 512;

/// A target: a function that takes any bytes.
#[macro_export]
macro_rules! target {
    ($run:expr) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::within_bounds(data, $run));
    };
}

/// Runs a target and looks at the memory that it took.
pub fn within_bounds(data: &[u8], run: impl FnOnce(&[u8])) {
    let before = USED.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    run(data);
    let taken = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let allowed = ALWAYS + PER_BYTE * data.len();
    assert!(
        taken <= allowed,
        "{taken} bytes of memory for an input of {}",
        data.len()
    );
}

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTED: Counted = Counted;

struct Counted;

impl Counted {
    fn take(bytes: usize) {
        let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        MOST.fetch_max(used, Ordering::Relaxed);
    }
}

// SAFETY: all of it is the system's allocator; counting does not touch the memory.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::take(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::take(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::take(size);
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}
