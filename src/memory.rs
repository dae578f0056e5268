//! The memory budget and the counting allocator.
