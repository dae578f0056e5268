//! Loading libjvm, creating the JVM and running the bridge on a thread of its own.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use jni::sys;
use jni::{EnvUnowned, JavaVM, jni_sig, jni_str};

use super::{Embedded, natives};
use crate::task::jvm::AfterExit;

/// Java's `main` thread has 8 MiB on Linux when `java` starts it.
const DEFAULT_STACK: usize = 8 << 20;

type CreateJavaVm =
    unsafe extern "system" fn(*mut *mut sys::JavaVM, *mut *mut c_void, *mut c_void) -> sys::jint;

/// Runs the JVM's life on a new thread. The thread ends when the backend's main method returns without exiting, which
/// Spark's never does.
pub(super) fn spawn(
    libjvm: PathBuf,
    options: Vec<CString>,
    stack_size: usize,
    shared: Arc<Embedded>,
) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("main".into())
        .stack_size(if stack_size == 0 {
            DEFAULT_STACK
        } else {
            stack_size
        })
        .spawn(move || {
            let result =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&libjvm, &options)));
            match result {
                Ok(Ok(())) => {}
                Ok(Err(message)) => shared.host.failed(message),
                Err(_) => shared
                    .host
                    .failed("internal error: the JVM's thread panicked".to_owned()),
            }
        })?;
    Ok(())
}

fn run(libjvm: &Path, options: &[CString]) -> Result<(), String> {
    leave_crash_signals_to_the_jvm();
    // SAFETY: loading libjvm runs its initialisers, which is the purpose; it is the library of the JDK in use.
    let library = unsafe { libloading::Library::new(libjvm) }
        .map_err(|e| format!("cannot load {}: {e}", libjvm.display()))?;
    // A JVM cannot be unloaded: the library stays for the life of the process.
    let library = Box::leak(Box::new(library));
    // SAFETY: the symbol has this type in every JDK (JNI specification, Invocation API).
    let create = unsafe { library.get::<CreateJavaVm>(b"JNI_CreateJavaVM\0") }
        .map_err(|e| format!("{} is not a JVM: {e}", libjvm.display()))?;

    let mut vm_options: Vec<sys::JavaVMOption> = Vec::with_capacity(options.len() + 2);
    let mut option = |text: *const c_char, extra: *mut c_void| {
        vm_options.push(sys::JavaVMOption {
            optionString: text.cast_mut(),
            extraInfo: extra,
        });
    };
    option(
        c"exit".as_ptr(),
        exit_hook as extern "system" fn(sys::jint) as *mut c_void,
    );
    option(
        c"abort".as_ptr(),
        abort_hook as extern "system" fn() as *mut c_void,
    );
    for text in options {
        option(text.as_ptr(), ptr::null_mut());
    }
    let mut args = sys::JavaVMInitArgs {
        version: sys::JNI_VERSION_10,
        nOptions: sys::jint::try_from(vm_options.len()).map_err(|_| "too many JVM options")?,
        options: vm_options.as_mut_ptr(),
        ignoreUnrecognized: false,
    };
    let mut raw_vm: *mut sys::JavaVM = ptr::null_mut();
    let mut raw_env: *mut c_void = ptr::null_mut();
    // SAFETY: all three pointers are valid; `args` and what it points to outlive the call.
    let code = unsafe { create(&mut raw_vm, &mut raw_env, ptr::from_mut(&mut args).cast()) };
    if code != sys::JNI_OK || raw_vm.is_null() || raw_env.is_null() {
        return Err(format!(
            "JNI_CreateJavaVM of {} failed with code {code}; the JVM's own message is on stderr",
            libjvm.display()
        ));
    }
    // SAFETY: the JVM was just created.
    let _vm = unsafe { JavaVM::from_raw(raw_vm) };
    // SAFETY: JNI_CreateJavaVM attached this thread, and the thread outlives the environment.
    let mut env = unsafe { EnvUnowned::from_raw(raw_env.cast()) };
    let outcome = env.with_env(|env| -> jni::errors::Result<()> {
        let start = |env: &mut jni::Env<'_>| -> jni::errors::Result<()> {
            let native = env.find_class(jni_str!("org/firesteel/bridge/Native"))?;
            natives::register(env, &native)?;
            let bridge = env.find_class(jni_str!("org/firesteel/bridge/Bridge"))?;
            // Runs Spark's main method: returns only when that does.
            env.call_static_method(&bridge, jni_str!("start"), jni_sig!("()V"), &[])?;
            Ok(())
        };
        start(env).or_else(|e| {
            env.exception_catch()?;
            Err(e)
        })
    });
    match outcome.into_outcome() {
        jni::Outcome::Ok(()) => Ok(()),
        jni::Outcome::Err(e) => Err(format!("cannot start the bridge in the JVM: {e}")),
        jni::Outcome::Panic(_) => Err("internal error: panic while starting the bridge".to_owned()),
    }
}

/// Rust's runtime catches SIGSEGV and SIGBUS to report stack overflows. The JVM would keep those handlers and call
/// them for faults that are not its own, which would hide its crash report; and it would run its handlers on the small
/// alternate stack that Rust gives to threads.
fn leave_crash_signals_to_the_jvm() {
    // SAFETY: resets two dispositions and this thread's alternate stack; the structures are fully initialised.
    unsafe {
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
        let disable = libc::stack_t {
            ss_sp: ptr::null_mut(),
            ss_flags: libc::SS_DISABLE,
            ss_size: 0,
        };
        libc::sigaltstack(&disable, ptr::null_mut());
    }
}

/// Called by the JVM instead of `exit`, on its VM thread with all Java threads stopped.
extern "system" fn exit_hook(code: sys::jint) {
    if let Some(shared) = Embedded::get() {
        // A panic in the host's last words ends the process like any others.
        let after =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared.host.exiting(code)));
        if matches!(after, Ok(AfterExit::StopJvm)) {
            // The JVM would end the process if this returned. As long as its VM thread is here, no Java code runs.
            loop {
                std::thread::park();
            }
        }
    }
    end_process(code)
}

/// Ends the process at once, as the JVM's halt does: without running C++ destructors, the JVM's among them, under
/// running threads.
pub(super) fn end_process(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

extern "system" fn abort_hook() {
    if let Some(shared) = Embedded::get() {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared.host.aborting()));
    }
}
