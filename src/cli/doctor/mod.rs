//! `firesteel doctor`: can executors run on this machine, and if not, what is to be done?

mod checks;

use std::path::PathBuf;
use std::process::ExitCode;

use super::environment;
use crate::launch::executor_command::class_path_of;

/// Exit code when a check failed.
const UNFIT: u8 = 1;

/// What a check found.
enum Finding {
    /// All is well; what was found.
    Good(String),
    /// It works, but should be known.
    Warning(String),
    /// Executors cannot run: what is wrong, and the cure.
    Bad { problem: String, cure: String },
    /// It could not be looked at because of an earlier finding.
    Skipped(&'static str),
}

impl Finding {
    fn bad(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::Bad {
            problem: problem.into(),
            cure: cure.into(),
        }
    }
}

/// Runs all checks and prints them; the first cure comes last, where it is seen.
pub(super) fn main(spark_home: Option<PathBuf>, class_path: Option<String>) -> ExitCode {
    let spark_home = spark_home
        .map(|home| home.display().to_string())
        .or_else(|| environment("SPARK_HOME"));
    let class_path = class_path.or_else(|| Some(class_path_of(&spark_home?, environment)));
    let mut first_bad = None;
    for (name, finding) in checks::run(class_path.as_deref()) {
        let (mark, text) = match finding {
            Finding::Good(text) => ("ok", text),
            Finding::Warning(text) => ("warn", text),
            Finding::Skipped(why) => ("skip", why.to_owned()),
            Finding::Bad { problem, cure } => {
                first_bad.get_or_insert((name, cure));
                ("FAIL", problem)
            }
        };
        println!("{mark:4}  {name:18} {text}");
    }
    match first_bad {
        None => {
            println!("\nExecutors can run here.");
            ExitCode::SUCCESS
        }
        Some((name, cure)) => {
            println!("\n{name}: {cure}");
            UNFIT.into()
        }
    }
}
