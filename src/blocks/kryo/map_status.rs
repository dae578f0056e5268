//! `MapStatus` as a result under `spark.serializer=KryoSerializer`: field by field, in the order of the fields' names.

use javaser::kryo::{KryoForm, KryoGraph, tag};
use wire::ids::BlockManagerId;
use wire::map_status::MapStatus;
use wire::version::WireVersion;

/// Beginning of a bitmap in the RoaringBitmap interchange format that has no runs.
const NO_RUNS: u32 = 0x303a;
/// A container with more values is a bitmap.
const LARGEST_ARRAY: usize = 4096;
const BITMAP_WORDS: usize = 1024;

/// The value of a shuffle map task.
pub fn map_status(form: KryoForm, status: &MapStatus, version: &WireVersion) -> Vec<u8> {
    let mut graph = KryoGraph::new(form);
    match status {
        MapStatus::Compressed(status) => {
            graph.registered(tag::COMPRESSED_MAP_STATUS);
            if version.map_status_checksum {
                graph.long(status.checksum);
            }
            graph.long(status.map_task_id);
            graph.bytes(&status.compressed_sizes);
            location(&mut graph, &status.location);
        }
        MapStatus::HighlyCompressed(status) => {
            graph.registered(tag::HIGHLY_COMPRESSED_MAP_STATUS);
            if version.map_status_checksum {
                graph.long(status.checksum);
            }
            graph.long(status.map_task_id);
            graph.long(status.avg_size);
            bitmap(&mut graph, status.empty_blocks.iter());
            graph.object("scala.collection.mutable.HashMap");
            // There are fewer than reducers.
            graph.count(u32::try_from(status.huge_block_sizes.len()).unwrap_or(u32::MAX));
            for (reducer, size) in &status.huge_block_sizes {
                graph.object("scala.Tuple2");
                graph.any_int(*reducer);
                graph.any_byte(*size);
            }
            location(&mut graph, &status.location);
            // `numNonEmptyBlocks`, which only its maker knows: so it is after Java's serialization.
            graph.int(-1);
        }
    }
    graph.finish()
}

fn location(graph: &mut KryoGraph, location: &BlockManagerId) {
    graph.registered(tag::BLOCK_MANAGER_ID);
    graph.text(location.executor_id.as_bytes());
    graph.text(location.host.as_bytes());
    graph.int(location.port);
    match &location.topology_info {
        None => graph.object("scala.None$"),
        Some(topology) => {
            graph.object("scala.Some");
            graph.any_text(topology.as_bytes());
        }
    }
}

/// In the interchange format, whose numbers go through Kryo one by one.
fn bitmap(graph: &mut KryoGraph, values: impl Iterator<Item = u32>) {
    let mut containers: Vec<(u16, Vec<u16>)> = Vec::new();
    for value in values {
        let (key, low) = ((value >> 16) as u16, value as u16);
        match containers.last_mut() {
            Some((last, values)) if *last == key => values.push(low),
            _ => containers.push((key, vec![low])),
        }
    }
    graph.registered(tag::ROARING_BITMAP);
    graph.reversed(NO_RUNS.to_le_bytes());
    // At most 65536 containers of at most as many values.
    let count = containers.len() as u32;
    graph.reversed(count.to_le_bytes());
    for (key, values) in &containers {
        graph.reversed(key.to_le_bytes());
        graph.reversed(((values.len() - 1) as u16).to_le_bytes());
    }
    // Where each container begins, after this header.
    let mut offset = 8 + 8 * count;
    for (_, values) in &containers {
        graph.reversed(offset.to_le_bytes());
        offset += match values.len() {
            ..=LARGEST_ARRAY => 2 * values.len() as u32,
            _ => 8 * BITMAP_WORDS as u32,
        };
    }
    for (_, values) in containers {
        if values.len() <= LARGEST_ARRAY {
            for value in values {
                graph.reversed(value.to_le_bytes());
            }
            continue;
        }
        let mut words = [0_u64; BITMAP_WORDS];
        for value in values {
            if let Some(word) = words.get_mut(usize::from(value / 64)) {
                *word |= 1 << (value % 64);
            }
        }
        for word in words {
            graph.reversed(word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use roaring::RoaringBitmap;
    use wire::map_status::{CompressedMapStatus, HighlyCompressedMapStatus};

    use super::*;

    const SAFE: KryoForm = KryoForm {
        fixed_width: false,
        references: true,
    };

    fn here() -> BlockManagerId {
        BlockManagerId {
            executor_id: "7".into(),
            host: "host".into(),
            port: 1234,
            topology_info: None,
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As Spark's own serializer writes them, but for the name of `None`.
    #[test]
    fn statuses_are_as_spark_writes_them() {
        let none = format!("0100{}{:02x}01", hex(b"scala.None"), b'$' | 0x80);
        let (old, new) = (WireVersion::oldest(), WireVersion::newest());
        let status = |checksum| {
            MapStatus::Compressed(CompressedMapStatus {
                location: here(),
                compressed_sizes: vec![0, 0x19, 0x31, 0x49],
                map_task_id: 77,
                checksum,
            })
        };
        let expected = "0f014d00000000000000010500193149130101823701686f73f4d2040000";
        let written = hex(&map_status(KryoForm::default(), &status(0), &old));
        assert_eq!(written, format!("{expected}{none}"));
        let expected = "0f0190deb3d68ad199a2229a01010500193149130101823701686f73f4a413";
        let written = hex(&map_status(SAFE, &status(0x1122_3344_5566_7788), &new));
        assert_eq!(written, format!("{expected}{none}"));
    }

    #[test]
    fn bitmaps_are_in_the_interchange_format() {
        for values in [
            vec![],
            (0..2500).filter(|n| n % 7 == 0).collect(),
            (0..200_000).filter(|n| n % 3 != 1).collect::<Vec<u32>>(),
        ] {
            let empty: RoaringBitmap = values.into_iter().collect();
            let mut graph = KryoGraph::new(SAFE);
            bitmap(&mut graph, empty.iter());
            let written = graph.finish();
            assert_eq!(written[..2], [tag::ROARING_BITMAP, 1]);
            let read = RoaringBitmap::deserialize_from(&written[2..]).unwrap();
            assert_eq!(read, empty);
        }
    }

    #[test]
    fn huge_parts_are_a_map() {
        let status = MapStatus::HighlyCompressed(HighlyCompressedMapStatus {
            location: here(),
            empty_blocks: RoaringBitmap::new(),
            avg_size: 3,
            huge_block_sizes: vec![(5, 0xca), (6, 0xcb)],
            map_task_id: 77,
            checksum: 0,
        });
        let kryo = KryoForm {
            references: false,
            ..KryoForm::default()
        };
        let written = hex(&map_status(kryo, &status, &WireVersion::oldest()));
        let start = "104d0000000000000003000000000000002300003";
        assert!(written.starts_with(start), "{written}");
        // Map, its size, two pairs of which the second refers to the name of the class.
        assert!(written.contains("02000000010"), "{written}");
        assert!(
            written.contains("020500000006ca0101020600000006cb13"),
            "{written}"
        );
        assert!(written.ends_with("ffffffff"), "{written}");
    }
}
