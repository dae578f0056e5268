//! Entry point of `firesteel` and `bin/java`.

use std::process::ExitCode;

use firesteel::executor::{self, Options};
use firesteel::launch::{self, ExecutorArguments, Jdk, Launch};
use firesteel::logging;
use firesteel::memory::{self, CountingAllocator};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    memory::tune();
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let env = |name: &str| std::env::var(name).ok();
    match launch::decide(&args, env) {
        Launch::Executor { backend, command } => {
            let arguments = match ExecutorArguments::parse(backend, &command.args, || {
                launch::environment::local_host_name(env)
            }) {
                Ok(a) => a,
                Err(e) => {
                    eprintln!("{e}");
                    return ExitCode::from(1);
                }
            };
            let level = logging::init();
            let code = executor::run(
                Options {
                    command,
                    arguments,
                    report: env("FIRESTEEL_REPORT"),
                    process_start: executor::process_start(),
                },
                level,
            );
            std::process::exit(code)
        }
        Launch::RealJava { .. } => match Jdk::find_on_this_machine() {
            Ok(jdk) => {
                eprintln!("{}", jdk.exec(args));
                ExitCode::from(1)
            }
            Err(e) => {
                eprintln!("{e}");
                ExitCode::from(1)
            }
        },
    }
}
