//! The native methods of `org.firesteel.bridge.Native`.
//!
//! Each body runs in [`body`]: a panic or an error becomes a `java.lang.RuntimeException` whose message is the error's
//! text, unchanged.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_void;

use bytes::Bytes;
use jni::errors::ErrorPolicy;
use jni::objects::{JByteArray, JByteBuffer, JClass, JLongArray, JObjectArray, JString};
use jni::strings::{JNIStr, JNIString};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, NativeMethod, jni_str};

use super::queue::{Event, EventKind};
use super::{JvmBlock, Shared};

/// Longest read of a stream in one call, in bytes; Spark's readers ask for 8 to 64 KiB.
const STREAM_CHUNK: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
enum NativeError {
    #[error(transparent)]
    Jni(#[from] jni::errors::Error),
    #[error("{0}")]
    Text(String),
    #[error("Java heap space: no room for a message of {0} bytes")]
    OutOfMemory(usize),
}

/// Throws `RuntimeException(error text)` or `OutOfMemoryError`, without decoration: some texts are looked at by Spark.
struct ThrowText;

impl<T: Default> ErrorPolicy<T, NativeError> for ThrowText {
    type Captures<'unowned_env_local: 'native_method, 'native_method> = ();

    fn on_error<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        _captures: &mut Self::Captures<'unowned_env_local, 'native_method>,
        error: NativeError,
    ) -> jni::errors::Result<T> {
        if !env.exception_check() {
            // `throw` answers "a Java exception is pending", which is what is wanted here.
            let _ = match error {
                NativeError::OutOfMemory(_) => env.throw_new(
                    jni_str!("java/lang/OutOfMemoryError"),
                    JNIString::from(error.to_string()),
                ),
                _ => env.throw(error.to_string()),
            };
        }
        Ok(T::default())
    }

    fn on_panic<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        _captures: &mut Self::Captures<'unowned_env_local, 'native_method>,
        payload: Box<dyn std::any::Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let text = crate::panic_text(&*payload).unwrap_or_default();
        let _ = env.throw(format!("internal error in the native executor: {text}"));
        Ok(T::default())
    }
}

/// Runs a native method's body.
fn body<'local, T: Default>(
    env: &mut EnvUnowned<'local>,
    f: impl FnOnce(&mut Env<'local>, &Shared) -> Result<T, NativeError>,
) -> T {
    env.with_env(|env| {
        let shared =
            Shared::get().ok_or_else(|| NativeError::Text("no executor hosts this JVM".into()))?;
        f(env, shared)
    })
    .resolve::<ThrowText>()
}

/// Binds the methods below to the class.
pub(super) fn register(env: &mut Env<'_>, class: &JClass<'_>) -> jni::errors::Result<()> {
    // One row per method: Java name, descriptor, function.
    macro_rules! methods {
        ($($name:literal $sig:literal $function:ident as $ty:ty;)*) => {
            // SAFETY: the descriptor of each row matches the function next to it, and all are static methods.
            [$(unsafe { row(jni_str!($name), jni_str!($sig), $function as $ty as *mut c_void) }),*]
        };
    }
    type E<'l> = EnvUnowned<'l>;
    type C<'l> = JClass<'l>;
    type B<'l> = JByteArray<'l>;
    type S<'l> = JString<'l>;
    let methods = methods! {
        "arguments" "()[Ljava/lang/String;" arguments as extern "system" fn(E<'static>, C<'static>) -> JObjectArray<'static, JString<'static>>;
        "localDirs" "()[Ljava/lang/String;" local_dirs as extern "system" fn(E<'static>, C<'static>) -> JObjectArray<'static, JString<'static>>;
        "appConfig" "()[B" app_config as extern "system" fn(E<'static>, C<'static>) -> B<'static>;
        "started" "()V" started as extern "system" fn(E<'static>, C<'static>);
        "failed" "(Ljava/lang/String;)V" failed as extern "system" fn(E<'static>, C<'static>, S<'static>);
        "nextEvent" "(I[J)[B" next_event as extern "system" fn(E<'static>, C<'static>, jint, JLongArray<'static>) -> B<'static>;
        "tell" "([BII)V" tell as extern "system" fn(E<'static>, C<'static>, B<'static>, jint, jint);
        "ask" "(J[BII)V" ask as extern "system" fn(E<'static>, C<'static>, jlong, B<'static>, jint, jint);
        "reply" "(J[BII)V" reply as extern "system" fn(E<'static>, C<'static>, jlong, B<'static>, jint, jint);
        "replyFailure" "(JLjava/lang/String;)V" reply_failure as extern "system" fn(E<'static>, C<'static>, jlong, S<'static>);
        "blockBegin" "(JJ)V" block_begin as extern "system" fn(E<'static>, C<'static>, jlong, jlong);
        "blockAppend" "(J[BII)V" block_append as extern "system" fn(E<'static>, C<'static>, jlong, B<'static>, jint, jint);
        "blockAppendDirect" "(JLjava/nio/ByteBuffer;II)V" block_append_direct as extern "system" fn(E<'static>, C<'static>, jlong, JByteBuffer<'static>, jint, jint);
        "blockEnd" "(J)V" block_end as extern "system" fn(E<'static>, C<'static>, jlong);
        "blockFile" "(JLjava/lang/String;JJ)V" block_file as extern "system" fn(E<'static>, C<'static>, jlong, S<'static>, jlong, jlong);
        "blockMissing" "(JLjava/lang/String;)V" block_missing as extern "system" fn(E<'static>, C<'static>, jlong, S<'static>);
        "uploaded" "(J[BII)V" uploaded as extern "system" fn(E<'static>, C<'static>, jlong, B<'static>, jint, jint);
        "uploadFailed" "(JLjava/lang/String;)V" upload_failed as extern "system" fn(E<'static>, C<'static>, jlong, S<'static>);
        "openStream" "(Ljava/lang/String;)J" open_stream as extern "system" fn(E<'static>, C<'static>, S<'static>) -> jlong;
        "readStream" "(J[BII)I" read_stream as extern "system" fn(E<'static>, C<'static>, jlong, B<'static>, jint, jint) -> jint;
        "readStreamDirect" "(JLjava/nio/ByteBuffer;II)I" read_stream_direct as extern "system" fn(E<'static>, C<'static>, jlong, JByteBuffer<'static>, jint, jint) -> jint;
        "closeStream" "(J)V" close_stream as extern "system" fn(E<'static>, C<'static>, jlong);
    };
    // SAFETY: see the rows; every method of the Java class is declared static.
    unsafe { env.register_native_methods(class, &methods) }
}

/// # Safety
/// `function` must have the signature that `sig` describes.
unsafe fn row<'a>(name: &'a JNIStr, sig: &'a JNIStr, function: *mut c_void) -> NativeMethod<'a> {
    // SAFETY: promised by the caller.
    unsafe { NativeMethod::from_raw_parts(name, sig, function) }
}

extern "system" fn arguments<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
) -> JObjectArray<'l, JString<'l>> {
    body(&mut env, |env, shared| {
        let mut all = vec![shared.bootstrap.backend_class.clone()];
        all.extend(shared.bootstrap.arguments());
        strings(env, &all)
    })
}

extern "system" fn local_dirs<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
) -> JObjectArray<'l, JString<'l>> {
    body(&mut env, |env, shared| {
        let dirs: Vec<String> = shared
            .bootstrap
            .local_dirs
            .iter()
            .map(|d| d.to_string_lossy().into_owned())
            .collect();
        strings(env, &dirs)
    })
}

extern "system" fn app_config<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>) -> JByteArray<'l> {
    body(&mut env, |env, shared| {
        Ok(env.byte_array_from_slice(&shared.bootstrap.spark_app_config)?)
    })
}

extern "system" fn started<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>) {
    body(&mut env, |_, shared| {
        shared.messages.push(Event {
            kind: EventKind::Started,
            id: 0,
            payload: Bytes::new(),
        });
        shared.host.started();
        Ok(())
    });
}

extern "system" fn failed<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>, text: JString<'l>) {
    body(&mut env, |env, shared| {
        shared.host.failed(text.try_to_string(env)?);
        Ok(())
    });
}

/// Waits in native code, where a thread never holds up the garbage collector.
extern "system" fn next_event<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    queue: jint,
    head: JLongArray<'l>,
) -> JByteArray<'l> {
    body(&mut env, |env, shared| {
        let event = if queue == 0 {
            shared.messages.pop()
        } else {
            shared.blocks.pop()
        };
        head.set_region(env, 0, &[event.kind as i64, event.id])?;
        // A message that the heap has no room for is lost; Spark's handler ends the process, as for its own threads.
        env.byte_array_from_slice(&event.payload)
            .map_err(|_| NativeError::OutOfMemory(event.payload.len()))
    })
}

extern "system" fn tell<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        shared.host.tell(bytes(env, &buf, off, len)?);
        Ok(())
    });
}

extern "system" fn ask<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        shared.host.ask(id, bytes(env, &buf, off, len)?);
        Ok(())
    });
}

extern "system" fn reply<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        shared.host.reply(id, Ok(bytes(env, &buf, off, len)?));
        Ok(())
    });
}

extern "system" fn reply_failure<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    text: JString<'l>,
) {
    body(&mut env, |env, shared| {
        shared.host.reply(id, Err(text.try_to_string(env)?));
        Ok(())
    });
}

extern "system" fn block_begin<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>, id: jlong, size: jlong) {
    body(&mut env, |_, shared| {
        let size = usize::try_from(size).unwrap_or(0);
        shared
            .partial_blocks
            .lock()
            .insert(id, Vec::with_capacity(size));
        Ok(())
    });
}

extern "system" fn block_append<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        append(shared, id, |block| copy(env, &buf, off, len, block))
    });
}

extern "system" fn block_append_direct<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    buf: JByteBuffer<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        let source = direct(env, &buf, off, len)?;
        append(shared, id, |block| {
            block.extend_from_slice(source);
            Ok(())
        })
    });
}

extern "system" fn block_end<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>, id: jlong) {
    body(&mut env, |_, shared| {
        let block = shared.partial_blocks.lock().remove(&id);
        let block = block.ok_or_else(|| NativeError::Text(format!("no block was begun: {id}")))?;
        shared.host.block(id, JvmBlock::Bytes(block));
        Ok(())
    });
}

extern "system" fn block_file<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    path: JString<'l>,
    offset: jlong,
    len: jlong,
) {
    body(&mut env, |env, shared| {
        let path = path.try_to_string(env)?;
        let bad = |e: &dyn std::fmt::Display| NativeError::Text(format!("{path}: {e}"));
        let file = std::fs::File::open(&path).map_err(|e| bad(&e))?;
        let offset = u64::try_from(offset).map_err(|e| bad(&e))?;
        let len = u64::try_from(len).map_err(|e| bad(&e))?;
        shared.host.block(id, JvmBlock::File { file, offset, len });
        Ok(())
    });
}

extern "system" fn block_missing<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    text: JString<'l>,
) {
    body(&mut env, |env, shared| {
        shared.partial_blocks.lock().remove(&id);
        shared
            .host
            .block(id, JvmBlock::NotFound(text.try_to_string(env)?));
        Ok(())
    });
}

extern "system" fn uploaded<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        shared.host.uploaded(id, Ok(bytes(env, &buf, off, len)?));
        Ok(())
    });
}

extern "system" fn upload_failed<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    text: JString<'l>,
) {
    body(&mut env, |env, shared| {
        shared.host.uploaded(id, Err(text.try_to_string(env)?));
        Ok(())
    });
}

extern "system" fn open_stream<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    uri: JString<'l>,
) -> jlong {
    body(&mut env, |env, shared| {
        let uri = uri.try_to_string(env)?;
        shared.host.open_stream(&uri).map_err(NativeError::Text)
    })
}

extern "system" fn read_stream<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    handle: jlong,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) -> jint {
    thread_local!(static CHUNK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    body(&mut env, |env, shared| {
        let wanted = length(len)?.min(STREAM_CHUNK);
        CHUNK.with_borrow_mut(|chunk| {
            if chunk.len() < wanted {
                chunk.resize(wanted, 0);
            }
            let target = chunk.get_mut(..wanted).unwrap_or_default();
            let n = shared
                .host
                .read_stream(handle, target)
                .map_err(NativeError::Text)?;
            let read = target.get_mut(..n).unwrap_or_default();
            buf.set_region(env, off, as_signed(read))?;
            Ok(stream_result(n))
        })
    })
}

extern "system" fn read_stream_direct<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    handle: jlong,
    buf: JByteBuffer<'l>,
    off: jint,
    len: jint,
) -> jint {
    body(&mut env, |env, shared| {
        let target = direct(env, &buf, off, len)?;
        let n = shared
            .host
            .read_stream(handle, target)
            .map_err(NativeError::Text)?;
        Ok(stream_result(n))
    })
}

extern "system" fn close_stream<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>, handle: jlong) {
    body(&mut env, |_, shared| {
        shared.host.close_stream(handle);
        Ok(())
    });
}

/// Java's channels say -1 for the end.
fn stream_result(n: usize) -> jint {
    match jint::try_from(n) {
        Ok(0) => -1,
        Ok(n) => n,
        Err(_) => jint::MAX,
    }
}

fn strings<'l>(
    env: &mut Env<'l>,
    values: &[String],
) -> Result<JObjectArray<'l, JString<'l>>, NativeError> {
    let array = JObjectArray::<JString>::new(env, values.len(), JString::null())?;
    for (i, value) in values.iter().enumerate() {
        let value = env.new_string(value)?;
        array.set_element(env, i, &value)?;
    }
    Ok(array)
}

fn length(len: jint) -> Result<usize, NativeError> {
    usize::try_from(len).map_err(|_| NativeError::Text(format!("negative length {len}")))
}

/// A copy of a part of a Java array.
fn bytes(
    env: &Env<'_>,
    buf: &JByteArray<'_>,
    off: jint,
    len: jint,
) -> Result<Vec<u8>, NativeError> {
    let mut out = Vec::new();
    copy(env, buf, off, len, &mut out)?;
    Ok(out)
}

/// Appends a part of a Java array, straight into memory that was not filled with zeros before.
fn copy(
    env: &Env<'_>,
    buf: &JByteArray<'_>,
    off: jint,
    len: jint,
    out: &mut Vec<u8>,
) -> Result<(), NativeError> {
    let n = length(len)?;
    out.reserve(n);
    let target = out.spare_capacity_mut().as_mut_ptr();
    let raw = env.get_raw();
    // SAFETY: the array is a live local reference and `n` bytes are reserved. The JVM checks the bounds of the array and
    // copies all or throws; only after a full copy the bytes become part of the vector.
    unsafe {
        ((**raw).v1_1.GetByteArrayRegion)(raw, buf.as_raw(), off, len, target.cast());
        if env.exception_check() {
            return Err(NativeError::Jni(jni::errors::Error::JavaException));
        }
        out.set_len(out.len() + n);
    }
    Ok(())
}

fn append(
    shared: &Shared,
    id: i64,
    f: impl FnOnce(&mut Vec<u8>) -> Result<(), NativeError>,
) -> Result<(), NativeError> {
    // Taken out of the map, so that other blocks can grow meanwhile.
    let block = shared.partial_blocks.lock().remove(&id);
    let mut block = block.ok_or_else(|| NativeError::Text(format!("no block was begun: {id}")))?;
    f(&mut block)?;
    shared.partial_blocks.lock().insert(id, block);
    Ok(())
}

fn as_signed(bytes: &mut [u8]) -> &mut [i8] {
    // SAFETY: u8 and i8 have the same layout, and the borrow is handed over.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<i8>(), bytes.len()) }
}

/// A part of a direct buffer.
#[allow(
    clippy::mut_from_ref,
    reason = "the memory belongs to the Java buffer, not to the reference"
)]
fn direct<'a>(
    env: &Env<'_>,
    buf: &'a JByteBuffer<'_>,
    off: jint,
    len: jint,
) -> Result<&'a mut [u8], NativeError> {
    let (off, len) = (length(off)?, length(len)?);
    let capacity = env.get_direct_buffer_capacity(buf)?;
    if off.checked_add(len).is_none_or(|end| end > capacity) {
        return Err(NativeError::Text(format!(
            "{off}+{len} is outside a buffer of {capacity} bytes"
        )));
    }
    let address = env.get_direct_buffer_address(buf)?;
    // SAFETY: inside the buffer as just checked; the Java caller holds the buffer and does not touch it meanwhile.
    Ok(unsafe { std::slice::from_raw_parts_mut(address.add(off), len) })
}
