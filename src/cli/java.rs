//! `bin/java`: becomes an executor, or hands over to the real JDK.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{BAD_ARGUMENTS, environment, run_executor};
use crate::launch::{ExecutorCommand, Jdk, Launch, decide};

/// Does what the `java` command line `args` (without the program's name) says.
pub(super) fn main(args: &[OsString]) -> ExitCode {
    match decide(args, environment) {
        Launch::Executor { backend, command } => {
            if let Some(options) = environment("JDK_JAVA_OPTIONS") {
                eprintln!("NOTE: Picked up JDK_JAVA_OPTIONS: {options}");
            }
            match ExecutorCommand::of_java(backend, command, environment) {
                Ok(command) => run_executor(command),
                Err(error) => {
                    eprintln!("{error}");
                    BAD_ARGUMENTS.into()
                }
            }
        }
        Launch::RealJava { .. } => {
            let error = match Jdk::find_on_this_machine() {
                Ok(jdk) => jdk.exec(args.iter().cloned()),
                Err(error) => error,
            };
            eprintln!(
                "Error: Firesteel's java runs Spark executors and leaves everything else to a JDK: {error}"
            );
            BAD_ARGUMENTS.into()
        }
    }
}
