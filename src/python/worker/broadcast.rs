//! Broadcast variables of workers: what a worker has, and a server for values that are encrypted on disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::factory::Worker;
use super::listener::LocalListener;
use super::message::{BroadcastChanges, ServerAddress};
use super::settings::WorkerSettings;
use super::socket::Socket;
use crate::blocks::crypto::IoEncryption;
use crate::python::PythonFunction;
use crate::task::{TaskContext, TaskError};

/// How long a worker may take to come for the values.
const CONNECT: Duration = Duration::from_secs(15);

/// What has to change for `worker` to have exactly the variables of `function`, and notes that it has.
///
/// # Errors
/// The value of a variable cannot be had, or no server for encrypted values be started.
pub(super) fn changes(
    function: &PythonFunction,
    worker: &mut Worker,
    context: &TaskContext,
    settings: &WorkerSettings,
) -> Result<BroadcastChanges, TaskError> {
    let needed: BTreeSet<i64> = function.broadcast_vars.iter().map(|var| var.id).collect();
    let dropped: Vec<i64> = worker.broadcasts.difference(&needed).copied().collect();
    worker.broadcasts.retain(|id| needed.contains(id));
    let mut added = Vec::new();
    for variable in &function.broadcast_vars {
        if worker.broadcasts.insert(variable.id) {
            added.push((variable.id, variable.file.path(context)?));
        }
    }
    let server = match &context.blocks.io_encryption_key {
        Some(key) if !added.is_empty() => {
            let encryption =
                IoEncryption::new(key, &context.blocks.properties).map_err(TaskError::spark)?;
            Some(serve_decrypted(encryption, added.clone(), settings)?)
        }
        _ => None,
    };
    Ok(BroadcastChanges {
        server,
        dropped,
        added,
    })
}

/// Sends decrypted values to one worker (`EncryptedPythonBroadcastServer`): of each its id, then its pickle, which
/// knows its own end.
fn serve_decrypted(
    encryption: IoEncryption,
    variables: Vec<(i64, PathBuf)>,
    settings: &WorkerSettings,
) -> io::Result<ServerAddress> {
    let listener = LocalListener::bind(settings.socket_dir.as_deref())?;
    let address = listener.address().clone();
    std::thread::Builder::new()
        .name("python-broadcast".to_owned())
        .spawn(move || {
            let served = match listener.accept(Some(CONNECT), None) {
                Ok(Some(socket)) => send(&encryption, &variables, &socket),
                Ok(None) => Err(io::ErrorKind::TimedOut.into()),
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                tracing::warn!("Broadcast variables could not be sent to a Python worker: {error}");
            }
        })?;
    Ok(address)
}

fn send(
    encryption: &IoEncryption,
    variables: &[(i64, PathBuf)],
    socket: &Socket,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, socket);
    for (id, path) in variables {
        out.write_all(&id.to_be_bytes())?;
        let mut value = encryption.reader(File::open(path)?)?;
        io::copy(&mut value, &mut out)?;
    }
    out.flush()?;
    // The worker says when it has everything, which takes as long as it takes.
    socket.set_read_timeout(None)?;
    let mut socket = socket;
    socket.read_exact(&mut [0])
}
