//! The native methods of `org.firesteel.bridge.Native` that evaluators of expressions call.

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong};

use super::natives::{NativeError, body, bytes};

/// Waits in native code, as `next_event` does.
pub(super) extern "system" fn next_rows<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
) -> JByteArray<'l> {
    body(&mut env, |env, shared| match shared.host.next_rows(id) {
        None => Ok(JByteArray::default()),
        Some(rows) => {
            let array = env.byte_array_from_slice(&rows);
            array.map_err(|_| NativeError::OutOfMemory(rows.len()))
        }
    })
}

pub(super) extern "system" fn rows_done<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    buf: JByteArray<'l>,
    off: jint,
    len: jint,
) {
    body(&mut env, |env, shared| {
        let rows = bytes(env, &buf, off, len)?;
        shared.host.rows_done(id, Ok(rows));
        Ok(())
    });
}

pub(super) extern "system" fn rows_failed<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    text: JString<'l>,
) {
    body(&mut env, |env, shared| {
        let why = text.try_to_string(env)?;
        shared.host.rows_done(id, Err(why));
        Ok(())
    });
}

pub(super) extern "system" fn evaluator_ended<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    id: jlong,
    text: JString<'l>,
) {
    body(&mut env, |env, shared| {
        let failure = match text.is_null() {
            true => None,
            false => Some(text.try_to_string(env)?),
        };
        shared.host.evaluator_ended(id, failure);
        Ok(())
    });
}
