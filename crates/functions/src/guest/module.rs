use std::collections::HashSet;
use std::sync::OnceLock;

use crate::abi::{
    FIRESTEEL_MODULE_MAJOR, FIRESTEEL_MODULE_MINOR, firesteel_failure, firesteel_function,
    firesteel_host, firesteel_module, firesteel_signature, firesteel_status, firesteel_str,
};
use crate::guest::binding::bad_type;
use crate::guest::failure::{answered, guarded};
use crate::guest::instance::{Kind, Registered, bind, unbind};
use crate::guest::{Aggregate, Failure, Partition, Scalar, Table, entry, raw, stream_entry};
use crate::types;

/// A library's functions. Given to [`module!`](crate::module!).
pub struct Module {
    name: String,
    version: String,
    functions: Vec<Registered>,
}

impl Module {
    /// No functions yet. Functions of another version are not taken for those that a job was written for.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            functions: Vec::new(),
        }
    }

    /// Adds a function that gives a value for each row.
    #[must_use]
    pub fn scalar(mut self, function: impl Scalar) -> Self {
        self.functions.push(Registered {
            declaration: function.declaration(),
            state: String::new(),
            kind: Kind::Scalar(Box::new(function)),
        });
        self
    }

    /// Adds a function that gives a value for each group of rows.
    #[must_use]
    pub fn aggregate(mut self, function: impl Aggregate) -> Self {
        self.functions.push(Registered {
            declaration: function.declaration(),
            state: function.state(),
            kind: Kind::Aggregate(Box::new(function)),
        });
        self
    }

    /// Adds a function that makes rows of the rows of a partition.
    #[must_use]
    pub fn partition(mut self, function: impl Partition) -> Self {
        self.functions.push(Registered {
            declaration: function.declaration(),
            state: String::new(),
            kind: Kind::Partition(Box::new(function)),
        });
        self
    }

    /// Adds a function that makes rows of its arguments.
    #[must_use]
    pub fn table(mut self, function: impl Table) -> Self {
        self.functions.push(Registered {
            declaration: function.declaration(),
            state: String::new(),
            kind: Kind::Table(Box::new(function)),
        });
        self
    }

    /// Refuses names and types that callers would not understand.
    fn check(&self) -> Result<(), Failure> {
        let mut known = HashSet::new();
        for function in &self.functions {
            let name = &function.declaration.name;
            check(function).map_err(|failure| {
                Failure::internal(format!("function `{name}`: {}", failure.message()))
            })?;
            if !known.insert(name.to_ascii_lowercase()) {
                let message = format!("two functions have the name `{name}`");
                return Err(Failure::internal(message));
            }
        }
        Ok(())
    }
}

fn check(function: &Registered) -> Result<(), Failure> {
    let declaration = &function.declaration;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if declaration.name.is_empty() || !declaration.name.chars().all(is_part) {
        let message = "names are letters, digits and underscores";
        return Err(Failure::internal(message));
    }
    if declaration.signatures.is_empty() {
        return Err(Failure::internal("there is no signature"));
    }
    for (number, signature) in declaration.signatures.iter().enumerate() {
        match function.kind {
            Kind::Partition(_) => types::columns(&signature.arguments, "UTC").map(drop),
            _ => types::types(&signature.arguments, "UTC").map(drop),
        }
        .map_err(bad_type)?;
        function.result(number, "UTC")?;
    }
    let state = types::columns(&function.state, "UTC").map_err(bad_type)?;
    if matches!(function.kind, Kind::Aggregate(_)) && state.is_empty() {
        return Err(Failure::internal("the state has no columns"));
    }
    Ok(())
}

/// A module that is built once and lives as long as the process: what [`module!`](crate::module!) keeps.
pub struct Export(OnceLock<Result<Library, Failure>>);

impl Export {
    /// Nothing is built yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "only `module!` makes one")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// `firesteel_module_v1`: builds the module when it is called first.
    ///
    /// # Safety
    /// `host` is NULL or a host that lives as long as the process, `module` is NULL or may be written as its size says,
    /// and `failure` is NULL or may be written, with `message_capacity` bytes at `message`.
    pub unsafe fn load(
        &self,
        build: fn() -> Module,
        host: *const firesteel_host,
        module: *mut firesteel_module,
        failure: *mut firesteel_failure,
    ) -> firesteel_status {
        let body = || {
            raw::present("module", module)?;
            // SAFETY: a host, as the caller promises.
            let host = unsafe { raw::read("host", host)? };
            if host.abi_major != FIRESTEEL_MODULE_MAJOR {
                return Err(Failure::invalid(format!(
                    "the library was built for version {FIRESTEEL_MODULE_MAJOR}.{FIRESTEEL_MODULE_MINOR} of the \
                     interface of modules, and the executor has version {}.{}",
                    host.abi_major, host.abi_minor
                )));
            }
            let library = self.0.get_or_init(|| {
                guarded(|| {
                    let module = build();
                    module.check()?;
                    Ok(Library::of(module))
                })
            });
            let library = library.as_ref().map_err(Failure::clone)?;
            // SAFETY: not NULL and aligned, and may be written as its size says, as the caller promises.
            unsafe { library.write(module) };
            Ok(())
        };
        // SAFETY: as the caller promises.
        unsafe { answered(failure, body) }
    }
}

/// What callers see of a module. Never freed, as libraries are never unloaded.
struct Library {
    name: &'static str,
    version: &'static str,
    functions: &'static [*const firesteel_function],
}

// SAFETY: the functions are never written, and what they point to may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    fn of(module: Module) -> Self {
        let functions = module.functions.into_iter().map(|function| {
            let function: &'static Registered = Box::leak(Box::new(function));
            std::ptr::from_ref(Box::leak(Box::new(described(function))))
        });
        Self {
            name: module.name.leak(),
            version: module.version.leak(),
            functions: functions.collect::<Vec<_>>().leak(),
        }
    }

    /// # Safety
    /// `to` may be written as its size says.
    unsafe fn write(&self, to: *mut firesteel_module) {
        // SAFETY: the struct begins with its size.
        let size = unsafe { to.cast::<usize>().read() }.min(size_of::<firesteel_module>());
        let module = firesteel_module {
            struct_size: size,
            abi_major: FIRESTEEL_MODULE_MAJOR,
            abi_minor: FIRESTEEL_MODULE_MINOR,
            name: firesteel_str::of(self.name),
            version: firesteel_str::of(self.version),
            functions: self.functions.as_ptr(),
            function_count: self.functions.len(),
        };
        // SAFETY: no longer than either struct is.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const module).cast::<u8>(), to.cast(), size);
        }
    }
}

fn described(function: &'static Registered) -> firesteel_function {
    let declaration = &function.declaration;
    let signatures = declaration.signatures.iter();
    let signatures: Vec<_> = signatures
        .map(|signature| firesteel_signature {
            arguments: firesteel_str::of(&signature.arguments),
            result: firesteel_str::of(&signature.result),
        })
        .collect();
    let signatures = signatures.leak();
    let mut described = firesteel_function {
        struct_size: size_of::<firesteel_function>(),
        name: firesteel_str::of(&declaration.name),
        description: firesteel_str::of(&declaration.description),
        kind: function.kind.code(),
        volatility: declaration.volatility.code(),
        nulls: declaration.nulls.code(),
        reserved: 0,
        signatures: signatures.as_ptr(),
        signature_count: signatures.len(),
        data: std::ptr::from_ref(function).cast_mut().cast(),
        bind: Some(bind),
        unbind: Some(unbind),
        execute: None,
        state: firesteel_str::of(&function.state),
        update: None,
        merge: None,
        states: None,
        finish: None,
        size: None,
        open: None,
    };
    match function.kind {
        Kind::Scalar(_) => described.execute = Some(entry::execute),
        Kind::Aggregate(_) => {
            described.update = Some(entry::update);
            described.merge = Some(entry::merge);
            described.states = Some(entry::states);
            described.finish = Some(entry::finish);
            described.size = Some(entry::size);
        }
        Kind::Partition(_) | Kind::Table(_) => described.open = Some(stream_entry::open),
    }
    described
}

/// Exports a [`Module`](crate::guest::Module): `module!(expression)`, once in a library. The expression is evaluated
/// when the library is loaded.
#[macro_export]
macro_rules! module {
    ($build:expr) => {
        /// The module of this library, for executors.
        ///
        /// # Safety
        /// The pointers are as `firesteel.h` says.
        #[allow(unreachable_pub)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn firesteel_module_v1(
            host: *const $crate::abi::firesteel_host,
            module: *mut $crate::abi::firesteel_module,
            failure: *mut $crate::abi::firesteel_failure,
        ) -> $crate::abi::firesteel_status {
            static EXPORT: $crate::guest::Export = $crate::guest::Export::new();
            // SAFETY: as the caller promises.
            unsafe { EXPORT.load(|| $build, host, module, failure) }
        }
    };
}
