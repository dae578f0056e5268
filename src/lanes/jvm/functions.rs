//! The native methods of `org.firesteel.NativeCalls`: functions of shared libraries that Java calls row by row.
//!
//! The class is in the driver's jar. In the JVM of an executor of Firesteel it asks `Native.bindFunctions` for its
//! methods. Any other JVM, a driver's or a plain executor's, loads `lib/libfiresteel.so`, where it finds them by name.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};

use jni::objects::{JByteArray, JClass, JLongArray, JObject, JObjectArray, JString};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, jni_str};
use parking_lot::Mutex;

use super::natives::{NativeError, ThrowText, bytes, row};
use crate::cancel::Cancellation;
use crate::native_functions::{Marker, RowFunction, TaskFacts, UncountedMemory};

/// A function that is called by one thread at a time.
type Bound = Arc<Mutex<RowFunction>>;

/// Functions that are bound, by the numbers that Java has of them.
static BOUND: LazyLock<Mutex<HashMap<jlong, Bound>>> = LazyLock::new(Mutex::default);

/// Number of the next one.
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Texts that say which function is bound for whom: path of the library, its name and version, function, time zone.
const TEXTS: usize = 5;

/// Binds the methods below to the class.
pub(super) fn register(env: &mut Env<'_>, class: &JClass<'_>) -> jni::errors::Result<()> {
    type E<'l> = EnvUnowned<'l>;
    type O<'l> = JObject<'l>;
    type B<'l> = JByteArray<'l>;
    type Texts<'l> = JObjectArray<'l, JString<'l>>;
    type Bind =
        extern "system" fn(E<'static>, O<'static>, Texts<'static>, JLongArray<'static>) -> jlong;
    type Call = extern "system" fn(E<'static>, O<'static>, jlong, B<'static>) -> B<'static>;
    type Unbind = extern "system" fn(E<'static>, O<'static>, jlong);
    let bind = Java_org_firesteel_NativeCalls_bind as Bind as *mut c_void;
    let call = Java_org_firesteel_NativeCalls_call as Call as *mut c_void;
    let unbind = Java_org_firesteel_NativeCalls_unbind as Unbind as *mut c_void;
    // SAFETY: the descriptors are those of the functions; the methods of the class are not static.
    let methods = unsafe {
        [
            row(jni_str!("bind"), jni_str!("([Ljava/lang/String;[J)J"), bind),
            row(jni_str!("call"), jni_str!("(J[B)[B"), call),
            row(jni_str!("unbind"), jni_str!("(J)V"), unbind),
        ]
    };
    // SAFETY: as above.
    unsafe { env.register_native_methods(class, &methods) }
}

/// Runs a native method's body.
fn body<'local, T: Default>(
    env: &mut EnvUnowned<'local>,
    f: impl FnOnce(&mut Env<'local>) -> Result<T, NativeError>,
) -> T {
    env.with_env(f).resolve::<ThrowText>()
}

/// Binds a function for a task: texts as of [`TEXTS`]; numbers of its signature, whether the session is in ANSI mode,
/// the stage, the partition, the attempt, and the attempt's id.
#[unsafe(no_mangle)]
extern "system" fn Java_org_firesteel_NativeCalls_bind<'l>(
    mut env: EnvUnowned<'l>,
    _: JObject<'l>,
    texts: JObjectArray<'l, JString<'l>>,
    numbers: JLongArray<'l>,
) -> jlong {
    body(&mut env, |env| {
        if texts.len(env)? != TEXTS {
            return Err(NativeError::Text("a function of another jar".to_owned()));
        }
        let mut all = [const { String::new() }; TEXTS];
        for (place, text) in all.iter_mut().enumerate() {
            *text = texts.get_element(env, place)?.try_to_string(env)?;
        }
        let mut known = [0; 6];
        numbers.get_region(env, 0, &mut known)?;
        let bound = bound(all, known).map_err(NativeError::Text)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        BOUND.lock().insert(number, Arc::new(Mutex::new(bound)));
        Ok(number)
    })
}

fn bound(texts: [String; TEXTS], numbers: [i64; 6]) -> Result<RowFunction, String> {
    let [path, module, version, function, time_zone] = texts;
    let [signature, ansi, stage, partition, attempt, id] = numbers;
    let path = PathBuf::from(path);
    let file = path.file_name().unwrap_or_default();
    let marker = Marker {
        function,
        library: file.to_string_lossy().into_owned(),
        module,
        signature: usize::try_from(signature).map_err(|_| "no such signature".to_owned())?,
        version,
    };
    let small = |number| i32::try_from(number).unwrap_or(-1);
    let facts = TaskFacts {
        time_zone,
        ansi: ansi != 0,
        stage_id: small(stage),
        partition_id: small(partition),
        attempt_number: small(attempt),
        task_attempt_id: id,
        cancellation: Cancellation::default(),
        memory: Box::new(UncountedMemory),
    };
    RowFunction::bind(&path, &marker, facts)
}

/// The result for a row's bytes, as a row of one column; null if it is null.
#[unsafe(no_mangle)]
extern "system" fn Java_org_firesteel_NativeCalls_call<'l>(
    mut env: EnvUnowned<'l>,
    _: JObject<'l>,
    number: jlong,
    row: JByteArray<'l>,
) -> JByteArray<'l> {
    body(&mut env, |env| {
        let bound = BOUND.lock().get(&number).cloned();
        let bound = bound.ok_or_else(|| NativeError::Text("a function that is gone".to_owned()))?;
        // Arrays have at most `jint::MAX` elements.
        let len = jint::try_from(row.len(env)?).unwrap_or(jint::MAX);
        let row = bytes(env, &row, 0, len)?;
        let result = bound.lock().call(&row).map_err(NativeError::Text)?;
        match result {
            None => Ok(JByteArray::default()),
            Some(result) => {
                let array = env.byte_array_from_slice(&result);
                array.map_err(|_| NativeError::OutOfMemory(result.len()))
            }
        }
    })
}

/// Forgets a function.
#[unsafe(no_mangle)]
extern "system" fn Java_org_firesteel_NativeCalls_unbind<'l>(
    mut env: EnvUnowned<'l>,
    _: JObject<'l>,
    number: jlong,
) {
    body(&mut env, |_| {
        let bound = BOUND.lock().remove(&number);
        // Not while others wait: its library is called.
        drop(bound);
        Ok(())
    });
}
