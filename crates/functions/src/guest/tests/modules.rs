use std::mem::offset_of;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use arrow::array::Int32Array;

use super::firesteel_module_v1;
use super::library;
use crate::abi::*;
use crate::guest::{Declaration, Export, Failure, Module, scalar};
use crate::testing::{Host, call, host, text};

fn empty() -> firesteel_module {
    firesteel_module {
        struct_size: size_of::<firesteel_module>(),
        abi_major: 9,
        abi_minor: 9,
        name: firesteel_str::of("before"),
        version: firesteel_str::of("before"),
        functions: null(),
        function_count: 99,
    }
}

#[test]
fn functions_are_described() {
    let mut module = empty();
    let host = host();
    // SAFETY: all are alive.
    call(|failure| unsafe { firesteel_module_v1(&raw const host, &raw mut module, failure) })
        .unwrap();
    assert_eq!(text(module.name), "tests");
    assert_eq!(text(module.version), "1.2.3");
    assert_eq!((module.abi_major, module.abi_minor), (1, 0));
    assert_eq!(module.struct_size, size_of::<firesteel_module>());
    assert_eq!(module.function_count, 16);
    let mut again = empty();
    // SAFETY: all are alive.
    call(|failure| unsafe { firesteel_module_v1(&raw const host, &raw mut again, failure) })
        .unwrap();
    assert_eq!(again.functions, module.functions, "built once");
    let find = Host::new(library::module);
    let find = |name| find.find(name);

    let add = find("add");
    assert_eq!(add.struct_size, size_of::<firesteel_function>());
    assert_eq!(text(add.description), "a sum");
    assert_eq!(add.kind, FIRESTEEL_KIND_SCALAR);
    assert_eq!(add.volatility, FIRESTEEL_VOLATILITY_STABLE);
    assert_eq!(add.nulls, FIRESTEEL_NULLS_SKIPPED);
    assert_eq!(add.signature_count, 2);
    // SAFETY: there are two.
    let second = unsafe { *add.signatures.add(1) };
    assert_eq!(text(second.arguments), "double, double");
    assert_eq!(text(second.result), "double");
    assert!(add.execute.is_some() && add.update.is_none() && add.open.is_none());
    assert_eq!(text(add.state), "");

    let total = find("total");
    assert_eq!(total.kind, FIRESTEEL_KIND_AGGREGATE);
    assert_eq!(text(total.state), "sum:double, count:bigint");
    assert!(total.execute.is_none() && total.update.is_some() && total.size.is_some());
    assert_eq!(find("doubled").kind, FIRESTEEL_KIND_PARTITION);
    assert_eq!(find("repeat").kind, FIRESTEEL_KIND_TABLE);
    assert!(find("repeat").open.is_some());
}

#[test]
fn hosts_that_do_not_fit_are_refused() {
    let mut module = empty();
    let mut host = host();
    let module = &raw mut module;
    let load = |host: *const firesteel_host, module: *mut firesteel_module| {
        // SAFETY: all are alive, or NULL, which is refused.
        let load = |failure| unsafe { firesteel_module_v1(host, module, failure) };
        call(load).unwrap_err()
    };
    for (failed, message) in [
        (load(null(), module), "host is NULL"),
        (load(&raw const host, null_mut()), "module is NULL"),
    ] {
        assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
        assert!(failed.message.contains(message), "{failed:?}");
    }
    host.abi_major = 2;
    host.abi_minor = 7;
    let failed = load(&raw const host, module);
    assert_eq!(failed.status, FIRESTEEL_STATUS_INVALID);
    assert!(failed.message.contains("version 1.0"), "{failed:?}");
    assert!(failed.message.contains("has version 2.7"), "{failed:?}");
    // SAFETY: still there, with nothing filled in.
    let count = unsafe { (*module).function_count };
    assert_eq!(count, 99);
    // SAFETY: NULL is refused.
    let status = unsafe { firesteel_module_v1(null(), null_mut(), null_mut()) };
    assert_eq!(status, FIRESTEEL_STATUS_INTERNAL);
}

/// A host that knows less is given less.
#[test]
fn modules_may_be_shorter() {
    let mut module = empty();
    module.struct_size = offset_of!(firesteel_module, functions);
    let host = host();
    // SAFETY: all are alive.
    call(|failure| unsafe { firesteel_module_v1(&raw const host, &raw mut module, failure) })
        .unwrap();
    assert_eq!(text(module.version), "1.2.3");
    assert_eq!(module.struct_size, offset_of!(firesteel_module, functions));
    assert_eq!(module.function_count, 99);

    // As of a host that knows more.
    #[repr(C)]
    struct Longer(firesteel_module, usize);
    let mut longer = Longer(empty(), 5);
    longer.0.struct_size = size_of::<Longer>();
    let module = (&raw mut longer).cast();
    // SAFETY: all are alive.
    call(|failure| unsafe { firesteel_module_v1(&raw const host, module, failure) }).unwrap();
    assert_eq!(longer.0.struct_size, size_of::<firesteel_module>());
    assert_eq!(longer.1, 5);
}

fn one(declaration: Declaration) -> Module {
    let function = |_: &_, _: &_| -> Result<arrow::array::ArrayRef, Failure> {
        Ok(Arc::new(Int32Array::from(vec![1])))
    };
    Module::new("bad", "1").scalar(scalar(declaration, function))
}

#[test]
fn modules_are_checked() {
    type Build = fn() -> Module;
    let builds: [(Build, &str); 6] = [
        (
            || one(Declaration::new("f").signature("doubel", "int")),
            "function `f`: cannot read the types `doubel`: no type is named `doubel`",
        ),
        (
            || one(Declaration::new("f").signature("int", "int, int")),
            "`,` or the end expected",
        ),
        (|| one(Declaration::new("f")), "there is no signature"),
        (
            || one(Declaration::new("f-g").signature("int", "int")),
            "names are letters, digits and underscores",
        ),
        (
            || {
                let f = |name| Declaration::new(name).signature("int", "int");
                let function = |_: &_, _: &_| Err(Failure::cancelled());
                one(f("same")).scalar(scalar(f("SAME"), function))
            },
            "two functions have the name `SAME`",
        ),
        (|| panic!("while building"), "while building"),
    ];
    for (build, message) in builds {
        let export = Export::new();
        let host = host();
        let mut module = empty();
        for _ in 0..2 {
            let failed = call(|failure| {
                // SAFETY: all are alive.
                unsafe { export.load(build, &raw const host, &raw mut module, failure) }
            });
            let failed = failed.unwrap_err();
            assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
            assert!(failed.message.contains(message), "{failed:?}");
        }
    }
}
