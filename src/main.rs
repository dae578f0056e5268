//! Entry point of `firesteel` and `bin/java`.

use std::process::ExitCode;

use firesteel::memory::{self, CountingAllocator};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    memory::tune();
    firesteel::cli::main(std::env::args_os().collect())
}
