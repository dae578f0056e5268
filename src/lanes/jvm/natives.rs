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

use super::evaluators::{evaluator_ended, next_rows, rows_done, rows_failed};
use super::partial::PartialBlock;
use super::queue::{Event, EventKind};
use super::{Embedded, functions};
use crate::task::jvm::JvmBlock;

/// Longest read of a stream in one call, in bytes; Spark's readers ask for 8 to 64 KiB.
const STREAM_CHUNK: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum NativeError {
    #[error(transparent)]
    Jni(#[from] jni::errors::Error),
    #[error("{0}")]
    Text(String),
    #[error("Java heap space: no room for a message of {0} bytes")]
    OutOfMemory(usize),
}

/// Throws `RuntimeException(error text)` or `OutOfMemoryError`, without decoration: some texts are looked at by Spark.
pub(super) struct ThrowText;

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
pub(super) fn body<'local, T: Default>(
    env: &mut EnvUnowned<'local>,
    f: impl FnOnce(&mut Env<'local>, &Embedded) -> Result<T, NativeError>,
) -> T {
    env.with_env(|env| {
        let shared = Embedded::get()
            .ok_or_else(|| NativeError::Text("no executor hosts this JVM".into()))?;
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
        "bindFunctions" "(Ljava/lang/Class;)V" bind_functions as extern "system" fn(E<'static>, C<'static>, C<'static>);
        "arguments" "()[Ljava/lang/String;" arguments as extern "system" fn(E<'static>, C<'static>) -> JObjectArray<'static, JString<'static>>;
        "localDirs" "()[Ljava/lang/String;" local_dirs as extern "system" fn(E<'static>, C<'static>) -> JObjectArray<'static, JString<'static>>;
        "appConfig" "()[B" app_config as extern "system" fn(E<'static>, C<'static>) -> B<'static>;
        "started" "()V" started as extern "system" fn(E<'static>, C<'static>);
        "shuttingDown" "()V" shutting_down as extern "system" fn(E<'static>, C<'static>);
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
        "nextRows" "(J)[B" next_rows as extern "system" fn(E<'static>, C<'static>, jlong) -> B<'static>;
        "rowsDone" "(J[BII)V" rows_done as extern "system" fn(E<'static>, C<'static>, jlong, B<'static>, jint, jint);
        "rowsFailed" "(JLjava/lang/String;)V" rows_failed as extern "system" fn(E<'static>, C<'static>, jlong, S<'static>);
        "evaluatorEnded" "(JLjava/lang/String;)V" evaluator_ended as extern "system" fn(E<'static>, C<'static>, jlong, S<'static>);
    };
    // SAFETY: see the rows; every method of the Java class is declared static.
    unsafe { env.register_native_methods(class, &methods) }
}

/// # Safety
/// `function` must have the signature that `sig` describes.
pub(super) unsafe fn row<'a>(
    name: &'a JNIStr,
    sig: &'a JNIStr,
    function: *mut c_void,
) -> NativeMethod<'a> {
    // SAFETY: promised by the caller.
    unsafe { NativeMethod::from_raw_parts(name, sig, function) }
}

extern "system" fn bind_functions<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>, of: JClass<'l>) {
    body(&mut env, |env, _| Ok(functions::register(env, &of)?));
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

extern "system" fn shutting_down<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>) {
    body(&mut env, |_, shared| {
        shared.host.shutting_down();
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
        let block = PartialBlock::new(length(size)?);
        shared.partial_blocks.lock().insert(id, block);
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
        let part = Part::of_array(env, &buf, off, len)?;
        append(shared, id, part.len, |block| {
            part.copy_from_array(env, &buf, block)
        })
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
        let part = Part::of_direct(env, &buf, off, len)?;
        append(shared, id, part.len, |block| {
            part.copy_from_direct(env, &buf, block)
        })
    });
}

extern "system" fn block_end<'l>(mut env: EnvUnowned<'l>, _: JClass<'l>, id: jlong) {
    body(&mut env, |_, shared| {
        let block = shared.partial_blocks.lock().remove(&id);
        let block = block.ok_or_else(|| NativeError::Text(format!("no block was begun: {id}")))?;
        let bytes = block.finish().map_err(NativeError::Text)?;
        shared.host.block(id, JvmBlock::Bytes(bytes));
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
    body(&mut env, |env, shared| {
        let part = Part::of_array(env, &buf, off, len)?;
        read_chunk(shared, handle, part.len, |read| {
            // SAFETY: u8 and i8 have the same layout, and the slice lives as long as the borrow.
            let signed =
                unsafe { std::slice::from_raw_parts(read.as_ptr().cast::<i8>(), read.len()) };
            Ok(buf.set_region(env, off, signed)?)
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
        let part = Part::of_direct(env, &buf, off, len)?;
        read_chunk(shared, handle, part.len, |read| {
            part.copy_to_direct(env, &buf, read)
        })
    })
}

/// Reads at most `wanted` bytes of a stream into memory of our own, and gives them to `put`.
fn read_chunk(
    shared: &Embedded,
    handle: i64,
    wanted: usize,
    put: impl FnOnce(&[u8]) -> Result<(), NativeError>,
) -> Result<jint, NativeError> {
    thread_local!(static CHUNK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    let wanted = wanted.min(STREAM_CHUNK);
    CHUNK.with_borrow_mut(|chunk| {
        if chunk.len() < wanted {
            chunk.resize(wanted, 0);
        }
        let target = chunk.get_mut(..wanted).unwrap_or_default();
        let n = shared
            .host
            .read_stream(handle, target)
            .map_err(NativeError::Text)?;
        put(target.get(..n).unwrap_or_default())?;
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

fn length<N: Copy + TryInto<usize> + std::fmt::Display>(len: N) -> Result<usize, NativeError> {
    len.try_into()
        .map_err(|_| NativeError::Text(format!("negative length {len}")))
}

/// A copy of a part of a Java array.
pub(super) fn bytes(
    env: &Env<'_>,
    buf: &JByteArray<'_>,
    off: jint,
    len: jint,
) -> Result<Vec<u8>, NativeError> {
    let mut out = Vec::new();
    Part::of_array(env, buf, off, len)?.copy_from_array(env, buf, &mut out)?;
    Ok(out)
}

/// A part of a Java array or buffer that lies inside of it. Other Java threads may write to that memory at any time:
/// there are no references to it here, only copies from and to it.
#[derive(Debug, Clone, Copy)]
struct Part {
    off: usize,
    len: usize,
}

impl Part {
    fn new(off: jint, len: jint, capacity: usize) -> Result<Self, NativeError> {
        let (off, len) = (length(off)?, length(len)?);
        if off.checked_add(len).is_none_or(|end| end > capacity) {
            return Err(NativeError::Text(format!(
                "{off}+{len} is outside a buffer of {capacity} bytes"
            )));
        }
        Ok(Self { off, len })
    }

    fn of_array(
        env: &Env<'_>,
        buf: &JByteArray<'_>,
        off: jint,
        len: jint,
    ) -> Result<Self, NativeError> {
        Self::new(off, len, buf.len(env)?)
    }

    fn of_direct(
        env: &Env<'_>,
        buf: &JByteBuffer<'_>,
        off: jint,
        len: jint,
    ) -> Result<Self, NativeError> {
        Self::new(off, len, env.get_direct_buffer_capacity(buf)?)
    }

    /// Appends the part of an array, straight into memory that was not filled with zeros before.
    fn copy_from_array(
        self,
        env: &Env<'_>,
        buf: &JByteArray<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), NativeError> {
        out.reserve(self.len);
        let target = out.spare_capacity_mut().as_mut_ptr();
        let raw = env.get_raw();
        // Arrays have at most `jint::MAX` elements.
        let as_jint = |n: usize| jint::try_from(n).unwrap_or(jint::MAX);
        // SAFETY: the array is a live local reference and `len` bytes are reserved. The JVM checks the bounds of the
        // array and copies all or throws; only after a full copy the bytes become part of the vector.
        unsafe {
            ((**raw).v1_1.GetByteArrayRegion)(
                raw,
                buf.as_raw(),
                as_jint(self.off),
                as_jint(self.len),
                target.cast(),
            );
            if env.exception_check() {
                return Err(NativeError::Jni(jni::errors::Error::JavaException));
            }
            out.set_len(out.len() + self.len);
        }
        Ok(())
    }

    /// Appends the part of a direct buffer.
    fn copy_from_direct(
        self,
        env: &Env<'_>,
        buf: &JByteBuffer<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), NativeError> {
        let address = env.get_direct_buffer_address(buf)?;
        out.reserve(self.len);
        let target = out.spare_capacity_mut().as_mut_ptr();
        // SAFETY: the source lies inside the buffer, which the local reference keeps alive; `len` bytes are reserved,
        // of memory that is not the buffer's.
        unsafe {
            std::ptr::copy_nonoverlapping(address.add(self.off), target.cast(), self.len);
            out.set_len(out.len() + self.len);
        }
        Ok(())
    }

    /// Copies `bytes`, at most as many as the part has, to the part's begin.
    fn copy_to_direct(
        self,
        env: &Env<'_>,
        buf: &JByteBuffer<'_>,
        bytes: &[u8],
    ) -> Result<(), NativeError> {
        let address = env.get_direct_buffer_address(buf)?;
        let count = bytes.len().min(self.len);
        // SAFETY: the target lies inside the buffer, which the local reference keeps alive; `bytes` are not the
        // buffer's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.add(self.off), count) };
        Ok(())
    }
}

fn append(
    shared: &Embedded,
    id: i64,
    len: usize,
    copy: impl FnOnce(&mut Vec<u8>) -> Result<(), NativeError>,
) -> Result<(), NativeError> {
    // Taken out of the map, so that other blocks can grow meanwhile.
    let block = shared.partial_blocks.lock().remove(&id);
    let mut block = block.ok_or_else(|| NativeError::Text(format!("no block was begun: {id}")))?;
    copy(block.room_for(len).map_err(NativeError::Text)?)?;
    shared.partial_blocks.lock().insert(id, block);
    Ok(())
}
