//! `firesteel functions`: libraries of native functions, before and for jobs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde::Serialize;

use crate::logging;
use crate::native_functions::{
    Finding, Function, Kind, Library, Nulls, Signature, Volatility, check, serve, spark_json,
    types_of,
};

/// Exit code if a library cannot be used, or does not keep to the interface.
const BAD_LIBRARY: u8 = 1;

/// What stands for the description of the library in the module of Python.
const PLACEHOLDER: &str = "\"@MODULE@\"";

/// The module of Python, but for the library that it is of: one file of these, one after the other.
const MODULE: [&str; 3] = [
    include_str!("../native_functions/python/module.py"),
    include_str!("../native_functions/python/module_library.py"),
    include_str!("../native_functions/python/module_types.py"),
];

/// What is to be done with a library.
#[derive(Subcommand)]
pub(super) enum FunctionsCommand {
    /// Load a library, list its functions, and call them with odd columns to see whether they keep to the interface.
    Check {
        /// The shared library.
        library: PathBuf,
        /// List the functions only.
        #[arg(long)]
        list: bool,
    },
    /// Write what a driver with the jar has to know of a library's functions, for `spark.firesteel.functions.catalog`.
    Catalog {
        /// The shared library.
        library: PathBuf,
        /// Where it is written; standard output, if it is not said.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Call functions for an executor, which starts this itself.
    #[command(hide = true)]
    Serve,
    /// Write a module of Python with which jobs call the functions of a library, on any executor.
    Python {
        /// The shared library.
        library: PathBuf,
        /// Where the module is written; standard output, if it is not said.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

pub(super) fn main(command: &FunctionsCommand) -> ExitCode {
    let done = match command {
        FunctionsCommand::Serve => serve_executor(),
        FunctionsCommand::Check { library, list } => checked(library, *list),
        FunctionsCommand::Catalog { library, output } => {
            written(library, output.as_deref(), &catalog)
        }
        FunctionsCommand::Python { library, output } => {
            written(library, output.as_deref(), &|library| {
                module(library).map_err(|why| why.to_string())
            })
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            BAD_LIBRARY.into()
        }
    }
}

fn serve_executor() -> Result<ExitCode, String> {
    logging::init();
    let served = serve();
    served.map_err(|why| {
        format!("functions serve is for executors, with spark.firesteel.functions.isolate: {why}")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn load(path: &Path) -> Result<Library, String> {
    let path = std::fs::canonicalize(path);
    let path = path.map_err(|why| format!("The library cannot be loaded: {why}"))?;
    Library::load(&path).map_err(|why| why.to_string())
}

fn checked(path: &Path, list: bool) -> Result<ExitCode, String> {
    let library = load(path)?;
    let count = library.functions.len();
    println!("{} {}: {count} functions", library.name, library.version);
    let findings = if list { Vec::new() } else { check(&library) };
    for function in &library.functions {
        for signature in 0..function.signatures.len() {
            print!("{}", line(function, signature));
            let mut own = findings.iter();
            let own: Vec<_> = own
                .by_ref()
                .filter(|of| of.function == function.name && of.signature == signature)
                .collect();
            print!("{}", told(&own));
        }
    }
    match findings.iter().any(|finding| finding.problem.is_some()) {
        true => Ok(BAD_LIBRARY.into()),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// `haversine(double, double) -> double   scalar, immutable, nulls skipped: what it does`
fn line(function: &Function, signature: usize) -> String {
    let Some(Signature { arguments, result }) = function.signatures.get(signature) else {
        return String::new();
    };
    let kind = match function.kind {
        Kind::Scalar => "scalar",
        Kind::Aggregate => "aggregate",
        Kind::Partition => "partition",
        Kind::Table => "table",
    };
    let volatility = match function.volatility {
        Volatility::Immutable => "immutable",
        Volatility::Stable => "stable",
        Volatility::Volatile => "volatile",
    };
    let nulls = match function.nulls {
        Nulls::Given => "given",
        Nulls::Skipped => "skipped",
    };
    let colon = if function.description.is_empty() {
        ""
    } else {
        ": "
    };
    format!(
        "  {}({arguments}) -> {result}   {kind}, {volatility}, nulls {nulls}{colon}{}\n",
        function.name, function.description
    )
}

/// What came of trying a function.
fn told(findings: &[&Finding]) -> String {
    let mut text = String::new();
    let fine = findings
        .iter()
        .filter(|of| of.problem.is_none() && of.refused.is_none());
    let fine: Vec<_> = fine.map(|of| of.tried).collect();
    if !fine.is_empty() {
        let _ = writeln!(text, "    fine with {}", fine.join(", "));
    }
    for finding in findings {
        if let Some(words) = &finding.refused {
            let _ = writeln!(text, "    {}: {words}", finding.tried);
        }
        if let Some(words) = &finding.problem {
            let _ = writeln!(text, "    WRONG with {}: {words}", finding.tried);
        }
    }
    text
}

/// A library as its module of Python knows it.
#[derive(Serialize)]
struct Described<'a> {
    library: String,
    path: String,
    name: &'a str,
    version: &'a str,
    functions: Vec<DescribedFunction<'a>>,
}

#[derive(Serialize)]
struct DescribedFunction<'a> {
    name: &'a str,
    description: &'a str,
    kind: Kind,
    volatility: Volatility,
    nulls: Nulls,
    index: usize,
    state: &'a str,
    signatures: &'a [Signature],
}

/// Writes what is made of a library.
fn written(
    path: &Path,
    output: Option<&Path>,
    make: &dyn Fn(&Library) -> Result<String, String>,
) -> Result<ExitCode, String> {
    let library = load(path)?;
    let text = make(&library).map_err(|why| format!("The library cannot be described: {why}"))?;
    match output {
        None => print!("{text}"),
        Some(file) => std::fs::write(file, text)
            .map_err(|why| format!("{} cannot be written: {why}", file.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A library as drivers with the jar know it.
#[derive(Serialize)]
struct Catalog<'a> {
    /// Version of the file's form.
    firesteel_functions: u32,
    library: String,
    name: &'a str,
    version: &'a str,
    functions: Vec<CatalogFunction<'a>>,
}

#[derive(Serialize)]
struct CatalogFunction<'a> {
    name: &'a str,
    description: &'a str,
    kind: Kind,
    volatility: Volatility,
    nulls: Nulls,
    signatures: Vec<CatalogSignature<'a>>,
}

#[derive(Serialize)]
struct CatalogSignature<'a> {
    #[serde(flatten)]
    words: &'a Signature,
    /// The same in Spark's JSON, of what takes and gives values.
    #[serde(skip_serializing_if = "Option::is_none")]
    argument_types: Option<Vec<serde_json::Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<serde_json::Value>,
}

/// The file of a library that drivers with the jar read.
fn catalog(library: &Library) -> Result<String, String> {
    let functions = library.functions.iter().map(|function| {
        let signatures = function
            .signatures
            .iter()
            .enumerate()
            .map(|(number, words)| {
                let (arguments, result) = match function.kind {
                    Kind::Scalar | Kind::Aggregate => {
                        let (arguments, result) = types_of(function, number, "UTC")?;
                        let arguments: Option<_> = arguments.iter().map(spark_json).collect();
                        (arguments, spark_json(&result))
                    }
                    Kind::Partition | Kind::Table => (None, None),
                };
                Ok(CatalogSignature {
                    words,
                    argument_types: arguments,
                    result_type: result,
                })
            });
        Ok(CatalogFunction {
            name: &function.name,
            description: &function.description,
            kind: function.kind,
            volatility: function.volatility,
            nulls: function.nulls,
            signatures: signatures.collect::<Result<_, String>>()?,
        })
    });
    let file = library.path.file_name().unwrap_or_default();
    let described = Catalog {
        firesteel_functions: 1,
        library: file.to_string_lossy().into_owned(),
        name: &library.name,
        version: &library.version,
        functions: functions.collect::<Result<_, String>>()?,
    };
    let text = serde_json::to_string_pretty(&described).map_err(|why| why.to_string())?;
    Ok(format!("{text}\n"))
}

/// The module of Python of a library.
fn module(library: &Library) -> serde_json::Result<String> {
    let functions = library.functions.iter().map(|function| DescribedFunction {
        name: &function.name,
        description: &function.description,
        kind: function.kind,
        volatility: function.volatility,
        nulls: function.nulls,
        index: function.index,
        state: &function.state,
        signatures: &function.signatures,
    });
    let file = library.path.file_name().unwrap_or_default();
    let described = Described {
        library: file.to_string_lossy().into_owned(),
        path: library.path.to_string_lossy().into_owned(),
        name: &library.name,
        version: &library.version,
        functions: functions.collect(),
    };
    let json = serde_json::to_string(&described)?;
    // A string of JSON is one of Python, too.
    Ok(MODULE
        .concat()
        .replacen(PLACEHOLDER, &serde_json::to_string(&json)?, 1))
}
