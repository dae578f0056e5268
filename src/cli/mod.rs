//! The command line: `firesteel executor | doctor | decode | capabilities | conf | qualify | functions`, and the `java`
//! launcher that the same binary is under that name.

mod capabilities;
mod conf;
mod decode;
mod doctor;
mod functions;
mod java;
mod page;
mod qualify;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::launch::ExecutorCommand;
use crate::{executor, logging};

/// Exit code for a command line that cannot be understood, as for Spark's backends.
const BAD_ARGUMENTS: u8 = 1;

#[derive(Parser)]
#[command(
    name = "firesteel",
    version,
    about = "A native executor for Apache Spark",
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an executor, with the arguments of Spark's own.
    #[command(
        disable_help_flag = true,
        override_usage = "firesteel executor [--class-path CP] [--java-option OPTION]... [--backend coarse-grained|yarn|kubernetes] --driver-url URL \
                          --executor-id ID --cores N --app-id APP [OPTIONS of CoarseGrainedExecutorBackend]"
    )]
    Executor {
        /// Options of the executor.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Check whether executors can run on this machine, and say what to do if not.
    Doctor(DoctorArgs),
    /// Show Spark messages or serialized Java objects as JSON.
    Decode(DecodeArgs),
    /// Show what runs without a JVM: operators, joins, aggregates, expressions, casts, types, files, RDDs.
    Capabilities {
        /// How it is written.
        #[arg(long, value_enum, default_value = "text")]
        format: page::Format,
    },
    /// Show the properties that Firesteel knows, or what it does with those of a job.
    Conf(conf::ConfArgs),
    /// Show how much of jobs of plain Spark would run natively, by their event logs.
    Qualify(qualify::QualifyArgs),
    /// Look at libraries of native functions, and make modules of Python of them.
    #[command(subcommand)]
    Functions(functions::FunctionsCommand),
}

#[derive(Args)]
struct DoctorArgs {
    /// The Spark distribution, if not `SPARK_HOME`.
    #[arg(long, value_name = "DIR", conflicts_with = "class_path")]
    spark_home: Option<PathBuf>,
    /// The class path of executors, as the `-cp` of `java`.
    #[arg(long, value_name = "CP")]
    class_path: Option<String>,
}

#[derive(Args)]
struct DecodeArgs {
    /// A file with one or more frames of Spark's network protocol, or with one stream of serialized Java objects; `-`
    /// is standard input.
    file: PathBuf,
    /// One line of JSON for each, instead of indented JSON.
    #[arg(long)]
    compact: bool,
}

/// Does what the command line `argv` says. `argv[0]` decides who we are: a program named `java` is the Java launcher.
pub fn main(argv: Vec<OsString>) -> ExitCode {
    let name = argv
        .first()
        .map(std::path::Path::new)
        .and_then(std::path::Path::file_name);
    if name == Some(OsStr::new("java")) {
        return java::main(argv.get(1..).unwrap_or_default());
    }
    let cli = match Cli::try_parse_from(&argv) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to fail on the way out.
            let _ = error.print();
            return if error.use_stderr() {
                BAD_ARGUMENTS.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    match cli.command {
        Command::Executor { args } => executor(&args),
        Command::Doctor(args) => doctor::main(args.spark_home, args.class_path),
        Command::Decode(args) => decode::main(&args.file, args.compact),
        Command::Capabilities { format } => capabilities::main(format),
        Command::Conf(args) => conf::main(&args),
        Command::Qualify(args) => qualify::main(&args),
        Command::Functions(command) => functions::main(&command),
    }
}

fn executor(args: &[String]) -> ExitCode {
    match ExecutorCommand::parse(args, environment) {
        Ok(command) => run_executor(command),
        Err(error) => {
            eprintln!("{error}");
            BAD_ARGUMENTS.into()
        }
    }
}

/// An environment variable; one that is not UTF-8 counts as absent.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs an executor as this process, to its end.
fn run_executor(command: ExecutorCommand) -> ExitCode {
    let process_start = executor::process_start();
    let options = executor::Options {
        assembly: crate::assemble::ASSEMBLY,
        command: command.java,
        arguments: command.arguments,
        report: environment("FIRESTEEL_REPORT"),
        process_start,
    };
    let code = executor::run(options, logging::init());
    // What the system makes of a Java exit code: its lowest byte, so that -1 is 255.
    ExitCode::from((code & 0xff) as u8)
}
