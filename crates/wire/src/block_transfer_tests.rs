use super::BlockTransferMessage as Message;
use super::*;
use crate::frame::{Frame, MAX_FRAME};
use bytes::BytesMut;
use proptest::prelude::*;

/// The block transfer messages that were captured: an `OpenBlocks` of every version with its `StreamHandle`.
#[test]
fn captured_messages_survive_a_round_trip() {
    for version in testkit::VERSIONS {
        let mut seen = (0, 0);
        for (_, bytes) in crate::test_vectors::frames(version) {
            let frame = Frame::decode(&mut BytesMut::from(&bytes[..]), MAX_FRAME)
                .unwrap()
                .unwrap();
            let (Frame::RpcRequest { body, .. } | Frame::RpcResponse { body, .. }) = frame else {
                continue;
            };
            match Message::read(&body) {
                Ok(message @ Message::OpenBlocks { .. }) if body.len() < 0x100 => {
                    let Message::OpenBlocks { block_ids, .. } = &message else {
                        unreachable!()
                    };
                    assert_eq!(block_ids.len(), 1, "{version}");
                    assert!(
                        block_ids[0].starts_with("broadcast_"),
                        "{version}: {block_ids:?}"
                    );
                    assert_eq!(message.write().unwrap(), body, "{version}");
                    seen.0 += 1;
                }
                Ok(message @ Message::StreamHandle { num_chunks: 1, .. }) if body.len() == 13 => {
                    assert_eq!(message.write().unwrap(), body, "{version}");
                    seen.1 += 1;
                }
                _ => {}
            }
        }
        assert!(seen.0 >= 1 && seen.1 >= 1, "{version}: {seen:?}");
    }
}

#[test]
fn a_fetch_of_shuffle_blocks_has_spark_s_bytes() {
    let fetch = Message::FetchShuffleBlocks(FetchShuffleBlocks {
        app_id: "a".into(),
        exec_id: "1".into(),
        shuffle_id: 2,
        map_ids: vec![5, -1],
        reduce_ids: vec![vec![0, 3], vec![]],
        batch_fetch_enabled: true,
    });
    let expected = testkit::from_hex(concat!(
        "09000000016100000001310000000200000002",
        "0000000000000005ffffffffffffffff",
        "00000002000000020000000000000003",
        "0000000001",
    ));
    assert_eq!(fetch.write().unwrap(), expected);
    assert_eq!(Message::read(&expected.into()), Ok(fetch));
}

#[test]
fn claims_that_the_bytes_cannot_hold_are_refused() {
    let read = |hex: &str| Message::read(&testkit::from_hex(hex).into());
    assert_eq!(
        read("007fffffff61"),
        Err(WireError::Length {
            what: "appId",
            len: 0x7fff_ffff,
            max: 1
        })
    );
    assert_eq!(
        read("000000000000000000ffffffff"),
        Err(WireError::Length {
            what: "blockIds",
            len: -1,
            max: 0
        })
    );
    assert_eq!(
        read("0300"),
        Err(WireError::Truncated {
            what: "streamId",
            need: 8,
            have: 1
        })
    );
    assert_eq!(
        read("").unwrap_err(),
        WireError::Truncated {
            what: "message type",
            need: 1,
            have: 0
        }
    );
    for reserved in ["04", "05", "14", "ac"] {
        assert!(
            read(reserved)
                .unwrap_err()
                .to_string()
                .contains("Unknown message type"),
            "{reserved}"
        );
    }
    let wrong = "0b0000000100000001310000000100000002000000010000000178";
    assert!(
        read(wrong)
            .unwrap_err()
            .to_string()
            .contains("a count of directories is wrong")
    );
}

fn any_message() -> impl Strategy<Value = Message> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..20).prop_map(Bytes::from);
    let texts = || any::<(String, String)>();
    let names = || proptest::collection::vec(any::<String>(), 0..4);
    let ints = || proptest::collection::vec(any::<i32>(), 0..4);
    let longs = || proptest::collection::vec(any::<i64>(), 0..4);
    let arrays = move || proptest::collection::vec(ints(), 0..4);
    prop_oneof![
        (texts(), names()).prop_map(|((app_id, exec_id), block_ids)| Message::OpenBlocks {
            app_id,
            exec_id,
            block_ids
        }),
        (texts(), any::<String>(), bytes(), bytes()).prop_map(
            |((app_id, exec_id), block_id, metadata, block_data)| Message::UploadBlock {
                app_id,
                exec_id,
                block_id,
                metadata,
                block_data
            }
        ),
        (texts(), names(), any::<(i32, String)>()).prop_map(
            |((app_id, exec_id), local_dirs, (sub_dirs_per_local_dir, shuffle_manager))| {
                let executor_info = ExecutorShuffleInfo {
                    local_dirs,
                    sub_dirs_per_local_dir,
                    shuffle_manager,
                };
                Message::RegisterExecutor {
                    app_id,
                    exec_id,
                    executor_info,
                }
            }
        ),
        any::<(i64, i32)>().prop_map(|(stream_id, num_chunks)| Message::StreamHandle {
            stream_id,
            num_chunks
        }),
        (any::<String>(), bytes())
            .prop_map(|(block_id, metadata)| Message::UploadBlockStream { block_id, metadata }),
        (texts(), any::<i32>(), longs(), arrays(), any::<bool>()).prop_map(
            |((app_id, exec_id), shuffle_id, map_ids, reduce_ids, batch_fetch_enabled)| {
                Message::FetchShuffleBlocks(FetchShuffleBlocks {
                    app_id,
                    exec_id,
                    shuffle_id,
                    map_ids,
                    reduce_ids,
                    batch_fetch_enabled,
                })
            }
        ),
        (any::<String>(), names()).prop_map(|(app_id, exec_ids)| {
            Message::GetLocalDirsForExecutors { app_id, exec_ids }
        }),
        proptest::collection::vec((any::<String>(), names()), 0..4)
            .prop_map(|local_dirs_by_exec| Message::LocalDirsForExecutors { local_dirs_by_exec }),
        (
            any::<(i32, i32)>(),
            proptest::collection::vec(bytes(), 0..4),
            ints(),
            longs()
        )
            .prop_map(
                |((shuffle_id, shuffle_merge_id), bitmaps, reduce_ids, sizes)| {
                    Message::MergeStatuses {
                        shuffle_id,
                        shuffle_merge_id,
                        bitmaps,
                        reduce_ids,
                        sizes,
                    }
                }
            ),
        (texts(), any::<(i32, i32)>(), ints(), arrays()).prop_map(
            |((app_id, exec_id), (shuffle_id, shuffle_merge_id), reduce_ids, chunk_ids)| {
                Message::FetchShuffleBlockChunks {
                    app_id,
                    exec_id,
                    shuffle_id,
                    shuffle_merge_id,
                    reduce_ids,
                    chunk_ids,
                }
            }
        ),
        (texts(), any::<(i32, i64, i32, i64, String)>()).prop_map(
            |((app_id, exec_id), (shuffle_id, map_id, reduce_id, checksum, algorithm))| {
                Message::DiagnoseCorruption {
                    app_id,
                    exec_id,
                    shuffle_id,
                    map_id,
                    reduce_id,
                    checksum,
                    algorithm,
                }
            }
        ),
        any::<u8>().prop_map(|cause| Message::CorruptionCause {
            cause: Cause(cause)
        }),
    ]
}

proptest! {
    #[test]
    fn messages_survive_a_round_trip(message in any_message()) {
        let bytes = Bytes::from(message.write().unwrap());
        prop_assert_eq!(Message::read(&bytes), Ok(message));
    }

    #[test]
    fn any_bytes_are_read_or_refused(kind in 0u8..20, bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let body = Bytes::from([&[kind][..], &bytes].concat());
        if let Ok(message) = Message::read(&body) {
            prop_assert_eq!(message.kind(), kind);
        }
    }
}
