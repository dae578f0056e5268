//! Loading a library, and what it says it has.

#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::BooleanArray;
use functions::abi::{
    FIRESTEEL_KIND_AGGREGATE, FIRESTEEL_KIND_PARTITION, FIRESTEEL_KIND_SCALAR,
    FIRESTEEL_KIND_TABLE, FIRESTEEL_MODULE_MAJOR, FIRESTEEL_MODULE_MINOR, FIRESTEEL_NULLS_GIVEN,
    FIRESTEEL_NULLS_SKIPPED, FIRESTEEL_STATUS_CANCELLED, FIRESTEEL_STATUS_INVALID,
    FIRESTEEL_STATUS_NO_MEMORY, FIRESTEEL_STATUS_NOT_APPLICABLE, FIRESTEEL_STATUS_OK,
    FIRESTEEL_VOLATILITY_IMMUTABLE, FIRESTEEL_VOLATILITY_STABLE, FIRESTEEL_VOLATILITY_VOLATILE,
    MODULE_SYMBOL, firesteel_failure, firesteel_function, firesteel_module,
    firesteel_module_function, firesteel_signature, firesteel_status, firesteel_str,
};
use functions::types::{columns, types};

use super::crash::{Calling, tell_crashes};
use super::error::FunctionError;
use super::host;

/// Most functions of a library, and most signatures of a function.
const MOST: usize = 4096;

/// Longest text that a library gives, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// What a function is: the numbers of `FIRESTEEL_KIND_…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One value for each row.
    Scalar,
    /// One value for each group.
    Aggregate,
    /// Rows of all rows of a partition.
    Partition,
    /// Rows of the arguments of a call.
    Table,
}

/// How often a function may be called for the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Volatility {
    /// The same values give the same result.
    Immutable,
    /// They do within a query.
    Stable,
    /// They need not.
    Volatile,
}

/// What becomes of nulls among arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Nulls {
    /// The function is given them.
    Given,
    /// The function is not called for them.
    Skipped,
}

/// What a function takes and gives, in the words of its library.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Signature {
    /// Types of the arguments, or columns of the input.
    pub arguments: String,
    /// Type of the result, or its columns.
    pub result: String,
}

/// A function of a library.
pub struct Function {
    /// Its name in SQL.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it is.
    pub kind: Kind,
    /// How often it may be called.
    pub volatility: Volatility,
    /// What becomes of nulls.
    pub nulls: Nulls,
    /// What it takes and gives.
    pub signatures: Vec<Signature>,
    /// Columns of an aggregate's state.
    pub state: String,
    /// Its place in the library.
    pub index: usize,
    /// `function 'f' of lib.so (m 1.0)`
    pub(super) title: &'static str,
    /// What is written if the function crashes.
    pub(super) last_words: &'static str,
    /// The library's own.
    pub(super) pointer: *const firesteel_function,
    /// What the host knows of it.
    pub(super) abi: firesteel_function,
}

// SAFETY: its pointers lead to what is static in a library that is never unloaded, and that is called as the interface
// says.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)
    }
}

/// A loaded library.
#[derive(Debug)]
pub struct Library {
    /// Its file.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its functions.
    pub functions: Vec<Arc<Function>>,
}

impl Library {
    /// Loads a file, for as long as the process lives.
    ///
    /// # Errors
    /// It is no library of functions, or of another major version of the interface, or says odd things of itself.
    pub fn load(path: &Path) -> Result<Self, FunctionError> {
        let of = format!("The library {}", path.display());
        tell_crashes();
        // SAFETY: whoever names a library in the settings wants its code to run here.
        let loaded = unsafe { libloading::Library::new(path) };
        let loaded =
            loaded.map_err(|why| FunctionError::of(&of, format!("cannot be loaded: {why}")))?;
        // Never unloaded: the functions are called until the process ends.
        let loaded: &'static libloading::Library = Box::leak(Box::new(loaded));
        // SAFETY: the interface says of which type the symbol is.
        let symbol = unsafe { loaded.get::<firesteel_module_function>(MODULE_SYMBOL.as_bytes()) };
        let function = symbol.ok().and_then(|symbol| *symbol);
        let function = function.ok_or_else(|| {
            FunctionError::of(
                &of,
                format!("is no library of functions: it has no {MODULE_SYMBOL}"),
            )
        })?;
        let mut module = firesteel_module::unfilled();
        let mut failure = Failure::new();
        let words = leaked(format!(
            "firesteel: crashed in {MODULE_SYMBOL} of {}\n",
            path.display()
        ));
        let status = {
            let _calling = Calling::new(words);
            // SAFETY: all are valid for the call, the host for ever.
            unsafe { function(host::host(), &raw mut module, failure.abi()) }
        };
        failure.check(status, &of)?;
        if module.abi_major != FIRESTEEL_MODULE_MAJOR {
            let (theirs, ours) = (module.abi_major, FIRESTEEL_MODULE_MAJOR);
            return Err(FunctionError::of(
                &of,
                format!(
                    "is of version {theirs} of the interface, \
                     and this executor of version {ours}.{FIRESTEEL_MODULE_MINOR}"
                ),
            ));
        }
        // SAFETY: the library was asked and said that it is of this version.
        unsafe { Self::of_module(path, &module) }.map_err(|why| FunctionError::of(&of, why))
    }

    /// # Safety
    /// The library filled it in as the interface says.
    unsafe fn of_module(path: &Path, module: &firesteel_module) -> Result<Self, String> {
        // SAFETY: passed on.
        let (name, version) = unsafe { (text_of(module.name)?, text_of(module.version)?) };
        if !is_name(&name) {
            return Err(format!("calls itself {name:?}, which is no name"));
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let of = format!("{file} ({name} {version})");
        // SAFETY: passed on.
        let pointers = unsafe { slice(module.functions, module.function_count) }?;
        let mut functions: Vec<Arc<Function>> = Vec::new();
        for (index, pointer) in pointers.iter().enumerate() {
            // SAFETY: passed on.
            let function = unsafe { Function::read(*pointer, index, &of) }?;
            if functions.iter().any(|other| other.name == function.name) {
                return Err(format!("has two functions named {:?}", function.name));
            }
            functions.push(Arc::new(function));
        }
        Ok(Self {
            path: path.to_owned(),
            name,
            version,
            functions,
        })
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.iter().find(|function| function.name == name)
    }
}

impl Function {
    /// # Safety
    /// The library filled it in as the interface says.
    unsafe fn read(
        pointer: *const firesteel_function,
        index: usize,
        of: &str,
    ) -> Result<Self, String> {
        // SAFETY: passed on.
        let abi = unsafe { grown(pointer) }.ok_or("has a function that is NULL or has no size")?;
        // SAFETY: passed on.
        let (name, description) = unsafe { (text_of(abi.name)?, text_of(abi.description)?) };
        if !is_name(&name) {
            return Err(format!("has a function named {name:?}, which is no name"));
        }
        let odd = |what: &str, number| {
            format!("has a function {name:?} of {what} {number}, which is not known")
        };
        let kind = match abi.kind {
            FIRESTEEL_KIND_SCALAR => Kind::Scalar,
            FIRESTEEL_KIND_AGGREGATE => Kind::Aggregate,
            FIRESTEEL_KIND_PARTITION => Kind::Partition,
            FIRESTEEL_KIND_TABLE => Kind::Table,
            other => return Err(odd("kind", other)),
        };
        let volatility = match abi.volatility {
            FIRESTEEL_VOLATILITY_IMMUTABLE => Volatility::Immutable,
            FIRESTEEL_VOLATILITY_STABLE => Volatility::Stable,
            FIRESTEEL_VOLATILITY_VOLATILE => Volatility::Volatile,
            other => return Err(odd("volatility", other)),
        };
        let nulls = match abi.nulls {
            FIRESTEEL_NULLS_GIVEN => Nulls::Given,
            FIRESTEEL_NULLS_SKIPPED => Nulls::Skipped,
            other => return Err(odd("null policy", other)),
        };
        let called = match kind {
            Kind::Scalar => abi.execute.is_some(),
            Kind::Aggregate => {
                abi.update.is_some()
                    && abi.merge.is_some()
                    && abi.states.is_some()
                    && abi.finish.is_some()
            }
            Kind::Partition | Kind::Table => abi.open.is_some(),
        };
        if !called {
            return Err(format!(
                "has a function {name:?} that has nothing to call it by"
            ));
        }
        // SAFETY: passed on.
        let (signatures, state) = unsafe { (signatures(&abi, kind)?, text_of(abi.state)?) };
        if kind == Kind::Aggregate {
            columns(&state, "UTC")
                .map_err(|why| format!("has a function {name:?} with an odd state: {why}"))?;
        }
        let title = leaked(title(&name, of));
        Ok(Self {
            last_words: leaked(format!("firesteel: crashed in {title}\n")),
            title,
            description,
            kind,
            volatility,
            nulls,
            signatures,
            state,
            index,
            pointer,
            abi,
            name,
        })
    }
}

/// What a function is called in messages; `of` is `lib.so (m 1.0)`.
pub(super) fn title(function: &str, of: &str) -> String {
    format!("function '{function}' of {of}")
}

/// The signatures of a function, of which there is at least one.
///
/// # Safety
/// The library filled it in as the interface says.
unsafe fn signatures(abi: &firesteel_function, kind: Kind) -> Result<Vec<Signature>, String> {
    // SAFETY: passed on.
    let all = unsafe { slice(abi.signatures, abi.signature_count) }?;
    let all = all.iter().map(|signature: &firesteel_signature| {
        // SAFETY: passed on.
        let (arguments, result) =
            unsafe { (text_of(signature.arguments)?, text_of(signature.result)?) };
        let odd =
            |why| format!("has a function with an odd signature ({arguments}) -> {result}: {why}");
        match kind {
            Kind::Partition => columns(&arguments, "UTC").map(drop),
            _ => types(&arguments, "UTC").map(drop),
        }
        .map_err(|why| odd(why.to_string()))?;
        let count = match kind {
            Kind::Partition | Kind::Table => columns(&result, "UTC").map(|fields| fields.len()),
            _ => types(&result, "UTC").map(|types| types.len()),
        };
        let count = count.map_err(|why| odd(why.to_string()))?;
        let enough = match kind {
            Kind::Partition | Kind::Table => count > 0,
            _ => count == 1,
        };
        match enough {
            true => Ok(Signature { arguments, result }),
            false => Err(odd(format!("a result of {count} types"))),
        }
    });
    let all = all.collect::<Result<Vec<_>, String>>()?;
    match all.is_empty() {
        true => Err("has a function without signatures".to_owned()),
        false => Ok(all),
    }
}

/// A struct that the library may know less or more of than we do: what it does not have is zero.
///
/// # Safety
/// NULL, or a struct of as many bytes as its first field says.
unsafe fn grown(pointer: *const firesteel_function) -> Option<firesteel_function> {
    // SAFETY: NULL or readable.
    let size = unsafe { pointer.cast::<usize>().as_ref() }.copied()?;
    // Up to `kind` everything is needed.
    if size < std::mem::offset_of!(firesteel_function, volatility) || !pointer.is_aligned() {
        return None;
    }
    let mut known = std::mem::MaybeUninit::<firesteel_function>::zeroed();
    let bytes = size.min(size_of::<firesteel_function>());
    // SAFETY: both have so many bytes; zeros are a `firesteel_function`: pointers may be NULL, functions `None`.
    unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), known.as_mut_ptr().cast::<u8>(), bytes);
        Some(known.assume_init())
    }
}

/// # Safety
/// `data` is NULL or points to `len` values that never change.
unsafe fn slice<T>(data: *const T, len: usize) -> Result<&'static [T], String> {
    match len {
        0 => Ok(&[]),
        _ if data.is_null() || !data.is_aligned() => Err("has a list that is NULL".to_owned()),
        // SAFETY: not NULL, aligned, and as long as the caller promises.
        1..=MOST => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
        _ => Err(format!(
            "has a list of {len} entries, of which {MOST} are read"
        )),
    }
}

/// A text that a library gave.
///
/// # Safety
/// `data` is NULL or points to `len` bytes.
pub(super) unsafe fn text_of(text: firesteel_str) -> Result<String, String> {
    if text.len == 0 {
        return Ok(String::new());
    }
    if text.data.is_null() || text.len > MAX_TEXT {
        return Err(format!(
            "gives a text of {} bytes that is NULL or too long",
            text.len
        ));
    }
    // SAFETY: not NULL, and as long as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.len) };
    String::from_utf8(bytes.to_vec()).map_err(|_| "gives a text that is not UTF-8".to_owned())
}

/// Whether a text is letters, digits and underscores.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    !text.is_empty()
        && text.len() <= 128
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text for ever: a library's functions are.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// Longest message of a failure, in bytes.
const MAX_MESSAGE: usize = 4096;

/// Where a library says what went wrong.
pub(super) struct Failure {
    abi: firesteel_failure,
    message: Box<[c_char; MAX_MESSAGE]>,
}

impl Failure {
    pub(super) fn new() -> Self {
        let abi = firesteel_failure {
            struct_size: size_of::<firesteel_failure>(),
            row: -1,
            sqlstate: [0; 8],
            message: std::ptr::null_mut(),
            message_capacity: MAX_MESSAGE,
            message_len: 0,
        };
        let message = Box::new([0; MAX_MESSAGE]);
        Self { abi, message }
    }

    /// For a call.
    pub(super) fn abi(&mut self) -> *mut firesteel_failure {
        self.abi.message = self.message.as_mut_ptr();
        &raw mut self.abi
    }

    /// The same of a call for some rows only, which were kept of those that are at fault.
    ///
    /// # Errors
    /// As of [`Failure::check`]
    pub(super) fn check_of(
        &mut self,
        status: firesteel_status,
        of: impl fmt::Display,
        kept: Option<&BooleanArray>,
    ) -> Result<(), FunctionError> {
        if let (Some(kept), Ok(row)) = (kept, usize::try_from(self.abi.row)) {
            let place = kept.values().set_indices().nth(row);
            let place = place.and_then(|place| i64::try_from(place).ok());
            self.abi.row = place.unwrap_or(self.abi.row);
        }
        self.check(status, of)
    }

    /// What a status means, of what `of` names.
    ///
    /// # Errors
    /// Unless it is `FIRESTEEL_STATUS_OK`.
    pub(super) fn check(
        &self,
        status: firesteel_status,
        of: impl fmt::Display,
    ) -> Result<(), FunctionError> {
        let what = match status {
            FIRESTEEL_STATUS_OK => return Ok(()),
            FIRESTEEL_STATUS_CANCELLED => return Err(FunctionError::Cancelled(of.to_string())),
            FIRESTEEL_STATUS_NOT_APPLICABLE => {
                return Err(FunctionError::NotApplicable(of.to_string()));
            }
            FIRESTEEL_STATUS_INVALID => "failed".to_owned(),
            FIRESTEEL_STATUS_NO_MEMORY => "has no memory".to_owned(),
            functions::abi::FIRESTEEL_STATUS_INTERNAL => "has a bug".to_owned(),
            other => format!("gave the unknown status {other}"),
        };
        let len = self.abi.message_len.min(MAX_MESSAGE);
        let message = self.message.iter().take(len).map(|c| c.cast_unsigned());
        let message = String::from_utf8_lossy(&message.collect::<Vec<u8>>()).into_owned();
        let sqlstate = self.abi.sqlstate.iter().take(5).map(|c| c.cast_unsigned());
        let sqlstate: Vec<u8> = sqlstate.take_while(u8::is_ascii_alphanumeric).collect();
        let mut more = Vec::new();
        if sqlstate.len() == 5 {
            more.push(format!("SQLSTATE {}", String::from_utf8_lossy(&sqlstate)));
        }
        if self.abi.row >= 0 {
            more.push(format!("row {}", self.abi.row));
        }
        let colon = if message.is_empty() { "" } else { ": " };
        let more = match more.is_empty() {
            true => String::new(),
            false => format!(" ({})", more.join(", ")),
        };
        let words = format!("{of} {what}{colon}{message}{more}");
        Err(match status {
            FIRESTEEL_STATUS_INVALID | FIRESTEEL_STATUS_NO_MEMORY => FunctionError::Refused(words),
            _ => FunctionError::Failed(words),
        })
    }
}
