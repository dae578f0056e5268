//! Fuzz targets of this room; see [`crate::fuzzing`].

use std::fs;
use std::io::{self, Read};
use std::path::{Component, PathBuf};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use javaser::Limits;
use javaser::arena::Graph;
use javaser::kryo::KryoForm;
use wire::ids::BlockId;

use super::broadcast::{PythonBroadcastReader, TorrentBroadcastRef, java_byte_array};
use super::codec::Codec;
use super::disk_wait::DiskWait;
use super::kryo::{KryoReader, KryoValue};
use super::shuffle_index::Index;
use super::{FileName, LocalDirs, ShuffleFiles};
use crate::config::{SparkProperties, declared};
use crate::fuzzing::Trickle;
use crate::transport::Body;

/// Bytes that are unpacked at most: zeros shrink by any factor.
const MOST_UNPACKED: u64 = 1 << 20;

/// Names of blocks: a file is always one component below a subdirectory.
pub fn block_path(data: &[u8]) {
    static DIRS: LazyLock<LocalDirs> =
        LazyLock::new(|| LocalDirs::of_another(vec!["/dirs/a".into(), "/dirs/b".into()], 64));
    let Ok(name) = std::str::from_utf8(data) else {
        return;
    };
    let id = BlockId::parse(name);
    let file = name.parse::<FileName>();
    if let Ok(id) = &id {
        assert_eq!(id.to_string(), name);
        assert_eq!(FileName::try_from(id).ok(), file.as_ref().ok().cloned());
    }
    let Ok(file) = file else {
        return;
    };
    let path = DIRS.path(&file);
    let parts: Vec<_> = path.components().skip(2).collect();
    let [
        Component::Normal(root),
        Component::Normal(sub),
        Component::Normal(file),
    ] = parts[..]
    else {
        panic!("{path:?}");
    };
    assert!(root == "a" || root == "b", "{path:?}");
    assert_eq!(sub.len(), 2, "{path:?}");
    assert_eq!(file, name);
}

/// Streams of lz4-java.
pub fn lz4(data: &[u8]) {
    codec("lz4", data);
}

/// Streams of compress-lzf.
pub fn lzf(data: &[u8]) {
    codec("lzf", data);
}

/// Streams of snappy-java.
pub fn snappy(data: &[u8]) {
    codec("snappy", data);
}

/// Frames of zstd.
pub fn zstd(data: &[u8]) {
    codec("zstd", data);
}

fn codec(name: &str, data: &[u8]) {
    let codec = Codec::by_name(name, &declared::CODEC, &SparkProperties::default());
    let codec = codec.expect("one of Spark's codecs");
    let unpack = |step: usize| {
        let mut unpacked = Vec::new();
        let reader = codec.reader(Trickle { bytes: data, step });
        let mut reader = reader.expect("memory").take(MOST_UNPACKED);
        let end = reader.read_to_end(&mut unpacked).map_err(|e| e.kind());
        (unpacked, end.map(|_| ()))
    };
    // However it arrives.
    let (whole, end) = unpack(usize::MAX);
    let step = data.first().map_or(1, |byte| usize::from(*byte) + 1);
    let (trickled, other_end) = unpack(step);
    // What stands before any damage may be as much as is asked for.
    let all_asked_for = whole.len() as u64 == MOST_UNPACKED;
    match end {
        Ok(()) if all_asked_for => assert!(whole.starts_with(&trickled)),
        Ok(()) => assert_eq!((&trickled, other_end), (&whole, Ok(()))),
        Err(_) => {
            // libzstd counts calls that do not get on, which are more if all is there at once.
            let may_end_well = name == "zstd" || trickled.len() as u64 == MOST_UNPACKED;
            assert!(other_end.is_err() || may_end_well);
            assert!(trickled.starts_with(&whole) || whole.starts_with(&trickled));
        }
    }
    // Streams behind each other are one.
    let (one, two) = data.split_at(data.len() / 3);
    let packed = [one, two].map(|part| codec.compress(part).expect("memory"));
    let unpacked = codec.decompress(&packed.concat(), data.len());
    assert_eq!(unpacked.expect("it was packed here"), data);
}

/// Kryo's values: what can be written is read back.
pub fn kryo(data: &[u8]) {
    for (fixed_width, references) in [(true, true), (true, false), (false, true), (false, false)] {
        let kryo = KryoForm {
            fixed_width,
            references,
        };
        let reader = |step| KryoReader::new(kryo, Trickle { bytes: data, step }, 1 << 20);
        let mut slow = reader(3);
        let mut fast = reader(usize::MAX);
        while let Ok(Some(value)) = fast.read() {
            let again = slow.read().expect("it was read before");
            // Through its text, since NaN is not equal to itself.
            assert_eq!(format!("{again:?}"), format!("{:?}", Some(&value)));
            rewritten(kryo, &value);
        }
        let _ = reader(5).read_byte_arrays();
        let _ = reader(5).read_wrapped_byte_arrays();
        let _ = reader(5).read_pair();
    }
}

fn rewritten(kryo: KryoForm, value: &KryoValue) {
    let mut out = Vec::new();
    match value {
        KryoValue::Null => kryo.write_null(&mut out),
        KryoValue::Long(number) => kryo.write_long(&mut out, *number),
        KryoValue::Int(number) => kryo.write_int(&mut out, *number),
        KryoValue::Bytes(bytes) => kryo.write_bytes(&mut out, bytes),
        KryoValue::Text(text) => kryo.write_text(&mut out, text.as_bytes()),
        _ => return,
    }
    let mut reader = KryoReader::new(kryo, &out[..], 1 << 20);
    let read = reader.read().expect("it was written here");
    assert_eq!(read.as_ref(), Some(value));
    assert!(matches!(reader.read(), Ok(None)));
}

/// Index files of shuffles, and the segments that they promise.
pub fn shuffle_index(data: &[u8]) {
    static FILES: LazyLock<(PathBuf, PathBuf, ShuffleFiles)> = LazyLock::new(|| {
        let dirs = LocalDirs::create(&[crate::fuzzing::scratch()], 64, true);
        let dirs = Arc::new(dirs.expect("room in memory"));
        let [index, data] = ["index", "data"].map(|kind| {
            let name = format!("shuffle_0_0_0.{kind}");
            let path = dirs.path(&name.parse().expect("the name of a file"));
            dirs.create_parent(&path, false).expect("room in memory");
            path
        });
        (index, data, ShuffleFiles::new(dirs))
    });
    let Some((query, entries)) = data.split_first_chunk::<12>() else {
        return;
    };
    let [a, b, c, d, e, f, g, h, long, size_a, size_b, _] = *query;
    let (start, end) = (
        i32::from_be_bytes([a, b, c, d]),
        i32::from_be_bytes([e, f, g, h]),
    );
    // Long ones are read from the file.
    let entries = entries.repeat(if long & 1 == 0 { 1 } else { 100 });
    let size = u64::from(u16::from_be_bytes([size_a, size_b]));
    let (index_path, data_path, files) = &*FILES;
    fs::write(index_path, &entries).expect("room in memory");
    fs::write(data_path, vec![7_u8; size as usize]).expect("room in memory");

    let entry = |at: i32| {
        let at = usize::try_from(at).ok()?.checked_mul(8)?;
        let entry = entries.get(at..)?.first_chunk::<8>()?;
        Some(i64::from_be_bytes(*entry))
    };
    if let (Ok(first), Ok(last)) = (u64::try_from(start), u64::try_from(end)) {
        let file = fs::File::open(index_path).expect("it was written");
        let index = Index::new(file, DiskWait::Allowed).expect("it can be read");
        let found = index.offsets(first, last, DiskWait::Allowed).ok();
        assert_eq!(found, entry(start).zip(entry(end)));
    }
    match files.segment(0, 0, start, end) {
        Ok(Body::Bytes(bytes)) => assert!(bytes.is_empty()),
        Ok(Body::File { offset, len, .. }) => {
            assert!(len > 0 && offset + len <= size);
            assert_eq!(entry(start), i64::try_from(offset).ok());
            assert_eq!(entry(end), i64::try_from(offset + len).ok());
        }
        Err(_) => {}
    }
    let _ = files.diagnose(0, 0, start, 1, "ADLER32");
}

/// Values of broadcasts.
pub fn broadcast_value(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let safe = KryoForm {
        fixed_width: false,
        references: false,
    };
    for kryo in [None, Some(KryoForm::default()), Some(safe)] {
        if let Ok(content) = java_byte_array(&bytes, kryo) {
            assert!(content.len() <= data.len());
        }
    }
    let read = |step| {
        let mut reader = PythonBroadcastReader::new(Trickle { bytes: data, step })?;
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        assert!(content.len() <= data.len());
        Ok::<_, io::Error>((reader.broadcast_id(), content))
    };
    assert_eq!(read(2).ok(), read(usize::MAX).ok());
}

/// The objects that stand for broadcasts in tasks.
pub fn torrent_broadcast(data: &[u8]) {
    let Ok((graph, _)) = Graph::parse_first(data, &Limits::default()) else {
        return;
    };
    for (node, _) in graph.nodes() {
        let Ok(broadcast) = TorrentBroadcastRef::read(&graph, node) else {
            continue;
        };
        if let Some(sums) = &broadcast.checksums {
            assert_eq!(sums.len(), broadcast.num_blocks);
        }
        let piece = broadcast.piece(broadcast.num_blocks).to_string();
        assert!(piece.starts_with(&broadcast.block_id().to_string()));
    }
}

/// Map output statuses that came as a broadcast.
pub fn chunks_of_statuses(data: &[u8]) {
    if let Ok(joined) = super::shuffle::join_chunks(data, &Limits::default()) {
        assert!(joined.len() <= data.len());
    }
}

/// Frames of columns: the same in memory and from a stream, and what was read is what is written.
pub fn shuffle_frames(data: &[u8]) {
    super::shuffle::fuzz_frames(data);
}
