//! Entry point of `firesteel` and `bin/java`.

use std::process::ExitCode;

use firesteel::memory;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    memory::tune();
    firesteel::cli::main(std::env::args_os().collect())
}
