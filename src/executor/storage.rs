//! What the driver asks of the executor's blocks: `org.apache.spark.storage.BlockManagerStorageEndpoint`.
//!
//! There are two stores, that of the native lanes and the embedded JVM's. What removes or marks blocks goes to both;
//! what asks for one block is answered by the store that has it.

use std::sync::Arc;

use bytes::Bytes;
use tracing::warn;
use wire::messages::{StorageEndpointMessage, reply};

use super::events::{Input, Reply};
use super::registered::RegisteredExecutor;
use crate::transport;

/// Takes a message to the block manager's endpoint. `reply` is set for an ask. Never waits.
pub(super) fn receive(
    executor: &Arc<RegisteredExecutor>,
    content: Bytes,
    envelope: Bytes,
    reply: Option<transport::Reply>,
) {
    let executor = Arc::clone(executor);
    // What removes blocks deletes files and talks to the driver.
    executor
        .runtime
        .clone()
        .spawn_blocking(move || handle(&executor, &content, envelope, reply));
}

fn handle(
    executor: &Arc<RegisteredExecutor>,
    content: &Bytes,
    envelope: Bytes,
    reply: Option<transport::Reply>,
) {
    let native = &executor.native;
    let without_jvm = match StorageEndpointMessage::decode(content) {
        Ok(StorageEndpointMessage::RemoveRdd(m)) => {
            Reply::Integer(native.plane.blocks.remove_rdd(m.rdd_id))
        }
        Ok(StorageEndpointMessage::RemoveBroadcast(m)) => {
            native.broadcast_removed(m.broadcast_id);
            Reply::Integer(native.plane.blocks.remove_broadcast(m.broadcast_id))
        }
        Ok(StorageEndpointMessage::RemoveBlock(m)) => {
            native.plane.blocks.remove_block(&m.block_id, true);
            Reply::Boolean(true)
        }
        Ok(StorageEndpointMessage::RemoveShuffle(m)) => {
            native.shuffle_removed(m.shuffle_id);
            native.plane.shuffle.removed(m.shuffle_id);
            Reply::Boolean(native.plane.blocks.remove_shuffle(m.shuffle_id))
        }
        Ok(StorageEndpointMessage::GetBlockStatus(m)) => {
            match (native.plane.blocks.block_status(&m.block_id), reply) {
                (Some(status), Some(reply)) => {
                    return match reply::block_status(Some(status), &executor.driver.catalog) {
                        Ok(answer) => reply.success(answer.into()),
                        Err(error) => reply.failure(error.to_string()),
                    };
                }
                (_, reply) => return forward(executor, envelope, reply, Reply::None),
            }
        }
        Ok(StorageEndpointMessage::ReplicateBlock(m)) => {
            if !native.plane.blocks.contains(&m.block_id) {
                // Spark, too, has nothing to object when the block is not there.
                return forward(executor, envelope, reply, Reply::Boolean(true));
            }
            let (blocks, catalog) = (
                native.plane.blocks.clone(),
                Arc::clone(&executor.driver.catalog),
            );
            executor.runtime.spawn(async move {
                let done = blocks
                    .replicate_block(
                        &m.block_id,
                        &m.replicas,
                        usize::try_from(m.max_replicas).unwrap_or(0),
                        None,
                    )
                    .await;
                let Some(reply) = reply else { return };
                match reply::boolean(done, &catalog) {
                    Ok(answer) => reply.success(answer.into()),
                    Err(error) => reply.failure(error.to_string()),
                }
            });
            return;
        }
        Ok(StorageEndpointMessage::MarkRddBlockAsVisible(m)) => {
            native.plane.blocks.mark_rdd_block_as_visible(&m.block_id);
            Reply::Unit
        }
        // Only a JVM can apply the filter in it, and the driver asks it of the blocks of JVM tasks.
        Ok(StorageEndpointMessage::GetMatchingBlockIds(_)) => Reply::EmptySeq,
        Ok(StorageEndpointMessage::TriggerThreadDump) => {
            if let Some(reply) = reply {
                let request = executor.replies.keep(reply);
                executor.input(Input::ThreadDump { envelope, request });
            }
            return;
        }
        Ok(StorageEndpointMessage::TriggerHeapHistogram) => Reply::NoStrings,
        Ok(StorageEndpointMessage::Unknown { .. }) => Reply::NoSuchEndpoint,
        Err(error) => {
            warn!(target: "BlockManager", "Cannot read a message to the block manager: {error}");
            Reply::NoSuchEndpoint
        }
    };
    forward(executor, envelope, reply, without_jvm);
}

/// Lets the JVM answer, if one runs.
fn forward(
    executor: &Arc<RegisteredExecutor>,
    envelope: Bytes,
    reply: Option<transport::Reply>,
    without_jvm: Reply,
) {
    let request = reply.map(|reply| executor.replies.keep(reply));
    executor.input(Input::Endpoint {
        without_jvm,
        envelope,
        request,
    });
}
