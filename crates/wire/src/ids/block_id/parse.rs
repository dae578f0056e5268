//! The text forms of block ids.

use super::BlockId;

/// The id with this name, if the name has a known form.
pub(super) fn known(name: &str) -> Option<BlockId> {
    if let Some(numbers) = name.strip_prefix("rdd_") {
        let [rdd_id, split_index] = split(numbers, '_')?;
        return Some(BlockId::Rdd {
            rdd_id: int(rdd_id)?,
            split_index: int(split_index)?,
        });
    }
    if let Some(rest) = name.strip_prefix("shuffle_") {
        return parse_shuffle(rest);
    }
    if let Some(rest) = name.strip_prefix("shuffleMerged_") {
        return parse_merged(rest);
    }
    if let Some(numbers) = name.strip_prefix("shuffleChunk_") {
        let [a, b, c, d] = split(numbers, '_')?;
        return Some(BlockId::ShuffleChunk {
            shuffle_id: int(a)?,
            shuffle_merge_id: int(b)?,
            reduce_id: int(c)?,
            chunk_id: int(d)?,
        });
    }
    if let Some(numbers) = name.strip_prefix("shufflePush_") {
        let [a, b, c, d] = split(numbers, '_')?;
        return Some(BlockId::ShufflePush {
            shuffle_id: int(a)?,
            shuffle_merge_id: int(b)?,
            map_index: int(c)?,
            reduce_id: int(d)?,
        });
    }
    if let Some(rest) = name.strip_prefix("broadcast_") {
        let (id, field) = rest.split_once('_').unwrap_or((rest, ""));
        return Some(BlockId::Broadcast {
            broadcast_id: int(id)?,
            field: word(field)?,
        });
    }
    if let Some(task_id) = name.strip_prefix("taskresult_") {
        return Some(BlockId::TaskResult {
            task_id: int(task_id)?,
        });
    }
    if let Some(numbers) = name.strip_prefix("input-") {
        let [stream_id, unique_id] = split(numbers, '-')?;
        return Some(BlockId::Stream {
            stream_id: int(stream_id)?,
            unique_id: int(unique_id)?,
        });
    }
    if let Some(numbers) = name.strip_prefix("python-stream-") {
        let [stream_id, unique_id] = split(numbers, '-')?;
        return Some(BlockId::PythonStream {
            stream_id: int(stream_id)?,
            unique_id: int(unique_id)?,
        });
    }
    if let Some(parts) = name.strip_prefix("python_worker_log_") {
        let [time, executor_id, session_id, worker_id] = split(parts, '_')?;
        return Some(BlockId::PythonWorkerLog {
            last_log_time: int(time)?,
            executor_id: executor_id.to_owned(),
            session_id: session_id.to_owned(),
            worker_id: worker_id.to_owned(),
        });
    }
    if let Some(id) = name.strip_prefix("temp_local_") {
        return Some(BlockId::TempLocal {
            id: id.parse().ok()?,
        });
    }
    if let Some(id) = name.strip_prefix("temp_shuffle_") {
        return Some(BlockId::TempShuffle {
            id: id.parse().ok()?,
        });
    }
    // Spark's own parser asks for the wider `test_` first, so it never yields a TestLogBlockId from text.
    let id = name.strip_prefix("test_")?;
    Some(BlockId::Test { id: id.to_owned() })
}

fn parse_shuffle(rest: &str) -> Option<BlockId> {
    if let Some((numbers, suffix)) = rest.split_once('.') {
        let [a, b, c] = split(numbers, '_')?;
        let (shuffle_id, map_id, reduce_id) = (int(a)?, int(b)?, int(c)?);
        return match suffix {
            "data" => Some(BlockId::ShuffleData {
                shuffle_id,
                map_id,
                reduce_id,
            }),
            "index" => Some(BlockId::ShuffleIndex {
                shuffle_id,
                map_id,
                reduce_id,
            }),
            "checksum" => Some(BlockId::ShuffleChecksum {
                shuffle_id,
                map_id,
                reduce_id,
            }),
            _ => None,
        };
    }
    if let Some([a, b, c]) = split(rest, '_') {
        return Some(BlockId::Shuffle {
            shuffle_id: int(a)?,
            map_id: int(b)?,
            reduce_id: int(c)?,
        });
    }
    let [a, b, c, d] = split(rest, '_')?;
    Some(BlockId::ShuffleBatch {
        shuffle_id: int(a)?,
        map_id: int(b)?,
        start_reduce_id: int(c)?,
        end_reduce_id: int(d)?,
    })
}

fn parse_merged(rest: &str) -> Option<BlockId> {
    let Some((ids, suffix)) = rest.rsplit_once('.') else {
        let [a, b, c] = split(rest, '_')?;
        return Some(BlockId::ShuffleMerged {
            shuffle_id: int(a)?,
            shuffle_merge_id: int(b)?,
            reduce_id: int(c)?,
        });
    };
    // An application id has underscores of its own, so the numbers are taken from the end.
    let mut parts = ids.rsplitn(4, '_');
    let reduce_id = int(parts.next()?)?;
    let shuffle_merge_id = int(parts.next()?)?;
    let shuffle_id = int(parts.next()?)?;
    let app_id = word(parts.next()?)?;
    match suffix {
        "data" => Some(BlockId::ShuffleMergedData {
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        }),
        "index" => Some(BlockId::ShuffleMergedIndex {
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        }),
        "meta" => Some(BlockId::ShuffleMergedMeta {
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        }),
        _ => None,
    }
}

/// Exactly `N` parts between separators.
fn split<const N: usize>(text: &str, separator: char) -> Option<[&str; N]> {
    let mut parts = text.split(separator);
    let mut out = [""; N];
    for slot in &mut out {
        *slot = parts.next()?;
    }
    parts.next().is_none().then_some(out)
}

/// Letters, digits and underscores.
fn word(text: &str) -> Option<String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(is_word).then(|| text.to_owned())
}

fn int<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn id(name: &str) -> BlockId {
        BlockId::parse(name).unwrap()
    }

    #[test]
    fn names() {
        assert_eq!(
            id("rdd_3_14"),
            BlockId::Rdd {
                rdd_id: 3,
                split_index: 14
            }
        );
        assert_eq!(
            id("shuffle_1_9223372036854775807_3"),
            BlockId::Shuffle {
                shuffle_id: 1,
                map_id: i64::MAX,
                reduce_id: 3
            }
        );
        assert_eq!(
            id("shuffle_1_2_3_4"),
            BlockId::ShuffleBatch {
                shuffle_id: 1,
                map_id: 2,
                start_reduce_id: 3,
                end_reduce_id: 4
            }
        );
        assert_eq!(
            id("shuffleChunk_1_2_3_4"),
            BlockId::ShuffleChunk {
                shuffle_id: 1,
                shuffle_merge_id: 2,
                reduce_id: 3,
                chunk_id: 4
            }
        );
        assert_eq!(
            id("shuffle_1_2_0.data"),
            BlockId::ShuffleData {
                shuffle_id: 1,
                map_id: 2,
                reduce_id: 0
            }
        );
        assert_eq!(
            id("shuffle_1_2_0.index"),
            BlockId::ShuffleIndex {
                shuffle_id: 1,
                map_id: 2,
                reduce_id: 0
            }
        );
        assert_eq!(
            id("shuffle_1_2_0.checksum"),
            BlockId::ShuffleChecksum {
                shuffle_id: 1,
                map_id: 2,
                reduce_id: 0
            }
        );
        assert_eq!(
            id("shufflePush_1_2_3_4"),
            BlockId::ShufflePush {
                shuffle_id: 1,
                shuffle_merge_id: 2,
                map_index: 3,
                reduce_id: 4
            }
        );
        assert_eq!(
            id("shuffleMerged_1_2_3"),
            BlockId::ShuffleMerged {
                shuffle_id: 1,
                shuffle_merge_id: 2,
                reduce_id: 3
            }
        );
        assert_eq!(
            id("shuffleMerged_application_1_0002_5_6_7.meta"),
            BlockId::ShuffleMergedMeta {
                app_id: "application_1_0002".into(),
                shuffle_id: 5,
                shuffle_merge_id: 6,
                reduce_id: 7
            }
        );
        assert_eq!(id("broadcast_9"), BlockId::broadcast(9));
        assert_eq!(
            id("broadcast_9_piece0"),
            BlockId::Broadcast {
                broadcast_id: 9,
                field: "piece0".into()
            }
        );
        assert_eq!(id("taskresult_77"), BlockId::TaskResult { task_id: 77 });
        assert_eq!(
            id("input-1-2"),
            BlockId::Stream {
                stream_id: 1,
                unique_id: 2
            }
        );
        assert_eq!(
            id("python-stream-1-2"),
            BlockId::PythonStream {
                stream_id: 1,
                unique_id: 2
            }
        );
        assert_eq!(
            id("python_worker_log_5_0_s-1_w"),
            BlockId::PythonWorkerLog {
                last_log_time: 5,
                executor_id: "0".into(),
                session_id: "s-1".into(),
                worker_id: "w".into()
            }
        );
        assert_eq!(
            id("temp_shuffle_00000000-0000-0001-8000-000000000002"),
            BlockId::TempShuffle {
                id: Uuid::from_u64_pair(1, 0x8000_0000_0000_0002)
            }
        );
        assert_eq!(id("test_x_y"), BlockId::Test { id: "x_y".into() });
    }

    #[test]
    fn other_text_is_refused() {
        let long = format!("test_{}", "x".repeat(251));
        for name in [
            "",
            "rdd_1",
            "rdd_01_2",
            "rdd_-1_2",
            "rdd_+1_2",
            "rdd_1_2_3",
            "shuffle_1_2_99999999999",
            "x",
            "..",
            "/etc/passwd",
            "shuffle_1_2_3.checksum.ADLER32",
            "shuffleMerged_app/../x_1_2_3.data",
            "shuffleMerged_app-1_1_2_3.data",
            "broadcast_1_/etc/passwd",
            "broadcast_1_../x",
            "broadcast_1_piece0\0",
            "test_/a",
            "test_/../../a",
            "test_a\0b",
            "test_a\nb",
            "test_\u{1b}[2J",
            "python_worker_log_1_/a_b_c",
            "temp_local_00000000-0000-0001-8000-000000000002/x",
            "input-1-2/",
            "cache_0_ab",
            &long,
        ] {
            let error = BlockId::parse(name).unwrap_err().to_string();
            assert!(error.contains("UnrecognizedBlockId"), "{name}: {error}");
            assert!(
                error.len() < 1000 && !error.contains(char::is_control),
                "{error:?}"
            );
        }
        assert!(BlockId::parse(&long[..255]).is_ok());
    }

    proptest! {
        #[test]
        fn parsing_loses_nothing(
            name in "(rdd_|shuffle_|shuffleMerged_|shuffleChunk_|shufflePush_|broadcast_|input-|test_|temp_local_)?[-_.0-9a-z]{0,30}"
        ) {
            if let Ok(id) = BlockId::parse(&name) {
                prop_assert_eq!(id.to_string(), name);
            }
        }

        #[test]
        fn numbers_survive(shuffle_id in 0i32.., map_id in 0i64.., reduce_id in 0i32..) {
            let block = BlockId::Shuffle { shuffle_id, map_id, reduce_id };
            prop_assert_eq!(id(&block.to_string()), block);
        }
    }
}
