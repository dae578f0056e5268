//! Frames as JSON, for people: `firesteel decode` and the C interface.
//!
//! Nothing here fails or panics: what cannot be read is shown as an `error` beside what could be, and as bytes.

use crate::WireVersion;
use crate::block_transfer::BlockTransferMessage;
use crate::envelope::{RequestEnvelope, RpcAddress};
use crate::frame::{Frame, FrameError, LENGTH_SIZE, MAX_FRAME};
use crate::messages::{LaunchTask, StatusUpdate};
use crate::task_description::TaskDescription;
use bytes::{Bytes, BytesMut};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// How many bytes of a body that is no known structure are shown.
const SHOWN_BYTES: usize = 256;

/// The frame that `bytes` begin with: its type, its fields and what is inside its body.
///
/// `size` in the answer is the number of bytes that belong to it; what follows is not looked at. If the frame is not
/// complete, the answer has `incomplete` with the number of bytes needed.
pub fn frame(bytes: &[u8]) -> Value {
    let size = match Frame::announced(bytes, MAX_FRAME) {
        Err(error) => return failure(&error),
        Ok(None) => return incomplete(bytes.len(), LENGTH_SIZE),
        Ok(Some(size)) => size,
    };
    let Some(bytes) = bytes.get(..size) else {
        return incomplete(bytes.len(), size);
    };
    match Frame::decode(&mut BytesMut::from(bytes), MAX_FRAME) {
        Err(error) => failure(&error),
        Ok(None) => incomplete(size, size + 1),
        Ok(Some(frame)) => {
            let mut out = Map::new();
            out.insert("frame".to_owned(), json!(frame.kind().to_string()));
            out.insert("size".to_owned(), json!(size));
            fields(frame, &mut out);
            Value::Object(out)
        }
    }
}

/// All frames that follow one another in `bytes`, with the raw bytes that stream frames announce. The last element
/// is an `error` or `incomplete` if the bytes do not end with a frame.
pub fn frames(mut bytes: &[u8]) -> Vec<Value> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let mut value = frame(bytes);
        let number = |key: &str| {
            value
                .get(key)
                .and_then(Value::as_u64)
                .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
        };
        let Some((size, raw)) =
            number("size").map(|size| (size, number("byte_count").unwrap_or(0)))
        else {
            out.push(value);
            break;
        };
        let after = bytes.get(size..).unwrap_or_default();
        let (stream, rest) = after.split_at_checked(raw).unwrap_or((after, &[]));
        if let (Some(fields), true) = (value.as_object_mut(), raw > 0) {
            fields.insert("stream".to_owned(), opaque(stream));
            if stream.len() < raw {
                fields.insert(
                    "incomplete".to_owned(),
                    json!({"have": stream.len(), "need": raw}),
                );
            }
        }
        out.push(value);
        bytes = rest;
    }
    out
}

/// A Java object stream: its root objects with class names, fields by name and shared objects by reference.
pub fn object_stream(bytes: &[u8]) -> Value {
    match javaser::arena::Graph::parse(bytes, &javaser::Limits::default()) {
        Ok(graph) => graph.to_json(),
        Err(error) => {
            let mut out = opaque(bytes);
            if let Some(fields) = out.as_object_mut() {
                fields.insert("error".to_owned(), json!(error.to_string()));
            }
            out
        }
    }
}

fn failure(error: &FrameError) -> Value {
    json!({"error": error.to_string()})
}

fn incomplete(have: usize, need: usize) -> Value {
    json!({"incomplete": {"have": have, "need": need}})
}

fn fields(frame: Frame, out: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| {
        out.insert(name.to_owned(), value);
    };
    match frame {
        Frame::ChunkFetchRequest {
            stream_id,
            chunk_index,
        } => {
            put("stream_id", json!(stream_id));
            put("chunk_index", json!(chunk_index));
        }
        Frame::ChunkFetchSuccess {
            stream_id,
            chunk_index,
            body,
        } => {
            put("stream_id", json!(stream_id));
            put("chunk_index", json!(chunk_index));
            put("body", opaque(&body));
        }
        Frame::ChunkFetchFailure {
            stream_id,
            chunk_index,
            error,
        } => {
            put("stream_id", json!(stream_id));
            put("chunk_index", json!(chunk_index));
            put("message", json!(error));
        }
        Frame::RpcRequest { request_id, body } => {
            put("request_id", json!(request_id));
            put("body", request(&body));
        }
        Frame::OneWayMessage { body } => put("body", request(&body)),
        Frame::RpcResponse { request_id, body } => {
            put("request_id", json!(request_id));
            put("body", reply(&body));
        }
        Frame::RpcFailure { request_id, error } => {
            put("request_id", json!(request_id));
            put("message", json!(error));
        }
        Frame::StreamRequest { stream_id } => put("stream_id", json!(stream_id)),
        Frame::StreamResponse {
            stream_id,
            byte_count,
        } => {
            put("stream_id", json!(stream_id));
            put("byte_count", json!(byte_count));
        }
        Frame::StreamFailure { stream_id, error } => {
            put("stream_id", json!(stream_id));
            put("message", json!(error));
        }
        Frame::UploadStream {
            request_id,
            meta,
            byte_count,
        } => {
            put("request_id", json!(request_id));
            put(
                "meta",
                block_transfer(&meta).unwrap_or_else(|| opaque(&meta)),
            );
            put("byte_count", json!(byte_count));
        }
        Frame::MergedBlockMetaRequest {
            request_id,
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        } => {
            put("request_id", json!(request_id));
            put("app_id", json!(app_id));
            put("shuffle_id", json!(shuffle_id));
            put("shuffle_merge_id", json!(shuffle_merge_id));
            put("reduce_id", json!(reduce_id));
        }
        Frame::MergedBlockMetaSuccess {
            request_id,
            num_chunks,
            body,
        } => {
            put("request_id", json!(request_id));
            put("num_chunks", json!(num_chunks));
            put("body", opaque(&body));
        }
        Frame::Unknown { body, .. } => put("body", opaque(&body)),
    }
}

/// The body of a request: an RPC envelope around a Java object, or a block transfer message.
fn request(body: &Bytes) -> Value {
    let envelope = match RequestEnvelope::read(body) {
        Ok(envelope) if is_object_stream(&envelope.content) => envelope,
        _ => return block_transfer(body).unwrap_or_else(|| opaque(body)),
    };
    let mut out = content(&envelope.content);
    if let Some(fields) = out.as_object_mut() {
        fields.insert("sender".to_owned(), address(envelope.sender.as_ref()));
        fields.insert("receiver".to_owned(), address(envelope.receiver.as_ref()));
        fields.insert("endpoint".to_owned(), json!(envelope.endpoint));
        if let Some((name, value)) = inside(&envelope.content) {
            fields.insert(name.to_owned(), value);
        }
    }
    out
}

/// What a message carries as bytes and is worth a look.
fn inside(message: &[u8]) -> Option<(&'static str, Value)> {
    match javaser::peek_class(message)? {
        LaunchTask::CLASS => {
            let launch = LaunchTask::decode(message).ok()?;
            Some((
                "task",
                task(&launch.data).unwrap_or_else(|| opaque(&launch.data)),
            ))
        }
        StatusUpdate::CLASS => {
            let update = StatusUpdate::decode(message).ok()?;
            Some(("data", content(&update.data)))
        }
        _ => None,
    }
}

/// A task description. It does not say which version wrote it: the right one is the one that finds the task behind it.
fn task(data: &Bytes) -> Option<Value> {
    let between = WireVersion {
        decimal_cpus: false,
        ..WireVersion::newest()
    };
    let task = [WireVersion::newest(), between, WireVersion::oldest()]
        .iter()
        .filter_map(|version| TaskDescription::read(data, version).ok())
        .find(|task| is_object_stream(&task.serialized_task))?;
    let resources = task
        .resources
        .iter()
        .map(|resource| json!({"name": resource.name, "addresses": resource.addresses}));
    Some(json!({
        "task_id": task.task_id,
        "attempt_number": task.attempt_number,
        "executor_id": task.executor_id,
        "name": task.name,
        "index": task.index,
        "partition_id": task.partition_id,
        "jars": task.artifacts.jars,
        "files": task.artifacts.files,
        "archives": task.artifacts.archives,
        "session": task.artifacts.state.map(|state| json!({"uuid": state.uuid, "repl_class_dir_uri": state.repl_class_dir_uri})),
        "properties": task.properties,
        "cpus": task.cpus.to_string(),
        "resources": resources.collect::<Vec<_>>(),
        "serialized_task": content(&task.serialized_task),
    }))
}

/// The body of a reply: a Java object, or a block transfer message.
fn reply(body: &Bytes) -> Value {
    if is_object_stream(body) {
        return content(body);
    }
    block_transfer(body).unwrap_or_else(|| opaque(body))
}

/// A Java object, or just bytes.
fn content(bytes: &[u8]) -> Value {
    if !is_object_stream(bytes) {
        return opaque(bytes);
    }
    json!({"class": javaser::peek_class(bytes), "message": object_stream(bytes)})
}

fn is_object_stream(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xac, 0xed, 0x00, 0x05])
}

fn address(address: Option<&RpcAddress>) -> Value {
    json!(address.map(RpcAddress::to_string))
}

/// A block transfer message by its name, or `None` if the bytes are none.
fn block_transfer(body: &Bytes) -> Option<Value> {
    let message = BlockTransferMessage::read(body).ok()?;
    serde_json::to_value(message).ok()
}

/// Bytes of no known structure: how many, and the first of them in hexadecimal.
fn opaque(bytes: &[u8]) -> Value {
    let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"bytes": bytes.len(), "hex": hex})
}

/// For derived serializers of messages: see [`content`].
pub(crate) fn serialize_bytes<S: Serializer>(
    bytes: &Bytes,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    content(bytes).serialize(serializer)
}

/// For derived serializers of messages: see [`opaque`].
pub(crate) fn serialize_byte_arrays<S: Serializer>(
    arrays: &[Bytes],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(arrays.iter().map(|bytes| opaque(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::frames as recorded;
    use proptest::prelude::*;
    use testkit::{NEWEST, OLDEST, VERSIONS};

    #[test]
    fn recorded_frames() {
        for version in VERSIONS {
            let recorded = recorded(version);
            for (kind, bytes) in &recorded {
                let json = frame(bytes);
                assert_eq!(json["frame"], json!(kind));
                assert_eq!(json["size"], json!(bytes.len()));
                assert!(!json.to_string().contains("\"error\":"), "{json}");
            }
            let find = |class: &str| {
                let mut all = recorded.iter().map(|(_, bytes)| frame(bytes));
                all.find(|json| {
                    json["body"]["class"]
                        .as_str()
                        .is_some_and(|c| c.ends_with(class))
                })
                .unwrap()["body"]
                    .clone()
            };
            let launch = find("$LaunchTask");
            assert_eq!(launch["endpoint"], json!("Executor"));
            assert_eq!(launch["receiver"], json!(null));
            assert_eq!(
                launch["task"]["name"],
                json!("task 0.0 in stage 0.0 (TID 0)")
            );
            let class = launch["task"]["serialized_task"]["class"].as_str().unwrap();
            assert!(class.starts_with("org.apache.spark.scheduler."), "{class}");
            let kill = find("$KillTask");
            let root = &kill["message"]["roots"][0];
            assert_eq!(root["executor"], json!("0"), "{kill}");
            let blocks: Vec<_> = recorded
                .iter()
                .map(|(_, bytes)| frame(bytes)["body"].clone())
                .collect();
            assert!(
                blocks.iter().any(|body| body.get("OpenBlocks").is_some()
                    || body.get("FetchShuffleBlocks").is_some())
            );
            assert!(blocks.iter().any(|body| body.get("StreamHandle").is_some()));
        }
    }

    #[test]
    fn frames_of_a_connection() {
        let find = |kind: &str| {
            recorded(NEWEST)
                .into_iter()
                .find(|(k, _)| k == kind)
                .unwrap()
                .1
        };
        let (request, response) = (find("RpcRequest"), find("StreamResponse"));
        let length = frame(&response)["byte_count"].as_u64().unwrap();
        let mut bytes = [
            request.clone(),
            response.clone(),
            vec![7; usize::try_from(length).unwrap()],
            request.clone(),
        ]
        .concat();
        let kinds = |bytes: &[u8]| {
            frames(bytes)
                .iter()
                .map(|json| json["frame"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(&bytes),
            ["RpcRequest", "StreamResponse", "RpcRequest"]
        );
        assert_eq!(frames(&bytes)[1]["stream"]["bytes"], json!(length));
        bytes.truncate(request.len() + response.len() + 5);
        let cut = frames(&bytes);
        assert_eq!(cut[1]["incomplete"], json!({"have": 5, "need": length}));
        assert_eq!(
            frame(&request[..20]),
            json!({"incomplete": {"have": 20, "need": request.len()}})
        );
        assert_eq!(frame(&[]), json!({"incomplete": {"have": 0, "need": 8}}));
    }

    #[test]
    fn a_claimed_frame_of_8_eb_costs_nothing() {
        let json = frame(&[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3]);
        assert!(json["error"].is_string(), "{json}");
    }

    proptest! {
        #[test]
        fn garbage_gives_json(kind in 0u8..14, body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = (9 + body.len() as u64).to_be_bytes().to_vec();
            bytes.push(kind);
            bytes.extend(body);
            prop_assert!(!frames(&bytes).is_empty());
            prop_assert!(frame(&bytes).is_object());
        }

        #[test]
        fn damaged_frames_give_json(index in 0usize..50, at: prop::sample::Index, byte: u8) {
            let frames = recorded(OLDEST);
            let (_, mut bytes) = frames[index % frames.len()].clone();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            prop_assert!(frame(&bytes).is_object());
        }
    }
}
