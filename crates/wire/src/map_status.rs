//! Where a map task's output is, and how large each reducer's part of it is.
//!
//! Both forms are Externalizable; this module has their external bodies, the object stream around them is
//! the same for all messages. Spark sends [`HighlyCompressedMapStatus`] when there are more reducers than
//! `spark.shuffle.minNumPartitionsToHighlyCompress`.

use crate::codec::{Reader, Write};
use crate::ids::BlockManagerId;
use crate::messages::java;
use crate::{WireError, WireVersion};
use javaser::arena::{Graph, Value};
use javaser::types::{Body, External, Raw};
use javaser::{Catalog, Limits};
use roaring::RoaringBitmap;

/// `org.apache.spark.scheduler.MapStatus`.
#[derive(Debug, Clone, PartialEq)]
pub enum MapStatus {
    /// One size byte per reducer.
    Compressed(CompressedMapStatus),
    /// Exact sizes of huge blocks only, an average for the others.
    HighlyCompressed(HighlyCompressedMapStatus),
}

/// `org.apache.spark.scheduler.CompressedMapStatus`.
///
/// `BlockManagerId | i32 n, n size bytes | mapTaskId i64 | from 4.1: checksum i64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressedMapStatus {
    /// Who serves the output.
    pub location: BlockManagerId,
    /// [`compress_size`] of each reducer's part.
    pub compressed_sizes: Vec<u8>,
    /// The attempt that wrote it; part of the shuffle block's name.
    pub map_task_id: i64,
    /// Checksum of the rows; 0 if not computed, and always before Spark 4.1.
    pub checksum: i64,
}

/// `org.apache.spark.scheduler.HighlyCompressedMapStatus`.
///
/// `BlockManagerId | RoaringBitmap | avgSize i64 | i32 n, n x (reducer i32, size byte) | mapTaskId i64 | from 4.1:
/// checksum i64`.
#[derive(Debug, Clone, PartialEq)]
pub struct HighlyCompressedMapStatus {
    /// Who serves the output.
    pub location: BlockManagerId,
    /// Reducers whose part is empty.
    pub empty_blocks: RoaringBitmap,
    /// Average bytes of the parts that are neither empty nor huge.
    pub avg_size: i64,
    /// [`compress_size`] of the huge parts, by reducer, in the order of the wire.
    pub huge_block_sizes: Vec<(i32, u8)>,
    /// The attempt that wrote it; part of the shuffle block's name.
    pub map_task_id: i64,
    /// Checksum of the rows; 0 if not computed, and always before Spark 4.1.
    pub checksum: i64,
}

/// `org.apache.spark.scheduler.MergeStatus`: what a merger has of one reducer.
///
/// `BlockManagerId | shuffleMergeId i32 | RoaringBitmap | totalSize i64`.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeStatus {
    /// Who serves the merged block.
    pub location: BlockManagerId,
    /// Attempt of the shuffle.
    pub shuffle_merge_id: i32,
    /// Indexes of the maps whose output is in it.
    pub map_tracker: RoaringBitmap,
    /// Bytes of the merged block.
    pub total_size: i64,
}

/// Base of the logarithm that sizes are rounded up to.
const LOG_BASE: f64 = 1.1;

/// `MapStatus.compressSize`: the smallest byte whose [`decompress_size`] is about `size` or more.
pub fn compress_size(size: i64) -> u8 {
    match size {
        // Spark leaves negative sizes undefined; they cannot occur.
        ..=0 => 0,
        1 => 1,
        _ => {
            // Java computes the quotient of two logarithms too, so that equal inputs give equal bytes.
            let exponent = ((size as f64).ln() / LOG_BASE.ln()).ceil();
            // Casts of floats saturate; an i64 gives at most 459.
            exponent.min(255.0) as u8
        }
    }
}

/// `MapStatus.decompressSize`: 1.1 to the power of the byte, rounded down; 0 for 0.
pub fn decompress_size(compressed: u8) -> i64 {
    match compressed {
        0 => 0,
        exponent => LOG_BASE.powf(exponent.into()) as i64,
    }
}

impl MapStatus {
    /// The Java class of this status.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Compressed(_) => CompressedMapStatus::CLASS,
            Self::HighlyCompressed(_) => HighlyCompressedMapStatus::CLASS,
        }
    }

    /// The Java object stream, with the class descriptors of this distribution, whose version is given.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's class does not fit; else as the `write` of the two forms.
    pub fn encode(&self, catalog: &Catalog, version: &WireVersion) -> Result<Vec<u8>, WireError> {
        let block = match self {
            Self::Compressed(status) => status.write(version)?,
            Self::HighlyCompressed(status) => status.write(version)?,
        };
        java::encode(
            &External::new(self.class(), Body::<Raw>::new().bytes(&block)),
            self.class(),
            catalog,
        )
    }

    /// Reads a Java object stream.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        let external: External = java::decode_any(content, "MapStatus")?;
        let block = java::block_of(&external.body, "MapStatus")?;
        match &*external.class {
            CompressedMapStatus::CLASS => CompressedMapStatus::read(&block).map(Self::Compressed),
            HighlyCompressedMapStatus::CLASS => {
                HighlyCompressedMapStatus::read(&block).map(Self::HighlyCompressed)
            }
            other => Err(WireError::UnexpectedClass {
                expected: "a MapStatus",
                found: other.to_owned(),
            }),
        }
    }

    /// Reads the object stream of a `MapStatus[]`; an element is `None` where the driver knows of no output.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged, holds another class, or exceeds `limits`.
    pub fn decode_array(content: &[u8], limits: &Limits) -> Result<Vec<Option<Self>>, WireError> {
        const WHAT: &str = "MapStatus[]";
        let damaged = |why: String| WireError::Decode {
            class: WHAT.to_owned(),
            why,
        };
        let (graph, _) =
            Graph::parse_first(content, limits).map_err(|error| damaged(error.to_string()))?;
        let root = graph.root().unwrap_or(Value::Null);
        let class = graph.class_name(root).unwrap_or("null");
        if class != "[Lorg.apache.spark.scheduler.MapStatus;" {
            return Err(WireError::UnexpectedClass {
                expected: WHAT,
                found: class.to_owned(),
            });
        }
        let elements = graph
            .array(root)
            .ok_or_else(|| damaged("no elements".to_owned()))?;
        elements
            .into_iter()
            .map(|element| {
                let Some(id) = element.node() else {
                    return Ok(None);
                };
                let class = graph.class_name(element).unwrap_or_default();
                let block = graph.level(id, class).map(|level| level.block_bytes());
                let block = block.unwrap_or_default();
                match class {
                    CompressedMapStatus::CLASS => CompressedMapStatus::read(&block)
                        .map(|status| Some(Self::Compressed(status))),
                    HighlyCompressedMapStatus::CLASS => HighlyCompressedMapStatus::read(&block)
                        .map(|status| Some(Self::HighlyCompressed(status))),
                    other => Err(WireError::UnexpectedClass {
                        expected: "a MapStatus",
                        found: other.to_owned(),
                    }),
                }
            })
            .collect()
    }

    /// Who serves the output.
    pub fn location(&self) -> &BlockManagerId {
        match self {
            Self::Compressed(status) => &status.location,
            Self::HighlyCompressed(status) => &status.location,
        }
    }

    /// The attempt that wrote the output.
    pub fn map_id(&self) -> i64 {
        match self {
            Self::Compressed(status) => status.map_task_id,
            Self::HighlyCompressed(status) => status.map_task_id,
        }
    }

    /// Estimated bytes of one reducer's part; 0 only if it is empty.
    pub fn size_for_block(&self, reduce_id: u32) -> i64 {
        match self {
            Self::Compressed(status) => {
                let index = usize::try_from(reduce_id).unwrap_or(usize::MAX);
                status
                    .compressed_sizes
                    .get(index)
                    .map_or(0, |size| decompress_size(*size))
            }
            Self::HighlyCompressed(status) => {
                if status.empty_blocks.contains(reduce_id) {
                    return 0;
                }
                let huge = status
                    .huge_block_sizes
                    .iter()
                    .find(|(id, _)| u32::try_from(*id) == Ok(reduce_id));
                huge.map_or(status.avg_size, |(_, size)| decompress_size(*size))
            }
        }
    }
}

impl CompressedMapStatus {
    /// The Java class.
    pub const CLASS: &str = "org.apache.spark.scheduler.CompressedMapStatus";

    /// Reads the external form; whether there is a checksum is seen from its length.
    ///
    /// # Errors
    /// [`WireError`] if the bytes end early or go on behind the last value.
    pub fn read(body: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let location = BlockManagerId::read(&mut r)?;
        let compressed_sizes = r.bytes32("CompressedMapStatus.compressedSizes")?.to_vec();
        let map_task_id = r.i64("CompressedMapStatus.mapTaskId")?;
        let checksum = read_checksum(&mut r, "CompressedMapStatus")?;
        Ok(Self {
            location,
            compressed_sizes,
            map_task_id,
            checksum,
        })
    }

    /// The external form.
    ///
    /// # Errors
    /// [`WireError`] if a string or list is too long, or a checksum has no place in that version.
    pub fn write(&self, version: &WireVersion) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(self.compressed_sizes.len() + 64);
        self.location.write(&mut out)?;
        out.put_bytes32(
            "CompressedMapStatus.compressedSizes",
            &self.compressed_sizes,
        )?;
        out.put_i64(self.map_task_id);
        write_checksum(
            &mut out,
            "CompressedMapStatus.checksum",
            self.checksum,
            version,
        )?;
        Ok(out)
    }
}

impl HighlyCompressedMapStatus {
    /// The Java class.
    pub const CLASS: &str = "org.apache.spark.scheduler.HighlyCompressedMapStatus";

    /// Reads the external form; whether there is a checksum is seen from its length.
    ///
    /// # Errors
    /// [`WireError`] if the bytes end early, go on behind the last value, or hold no bitmap.
    pub fn read(body: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let location = BlockManagerId::read(&mut r)?;
        let empty_blocks = read_bitmap(&mut r, "HighlyCompressedMapStatus.emptyBlocks")?;
        let avg_size = r.i64("HighlyCompressedMapStatus.avgSize")?;
        let count = r.count("HighlyCompressedMapStatus.hugeBlockSizes", 5)?;
        let huge_block_sizes = (0..count)
            .map(|_| {
                const WHAT: &str = "HighlyCompressedMapStatus.hugeBlockSizes";
                Ok((r.i32(WHAT)?, r.u8(WHAT)?))
            })
            .collect::<Result<_, WireError>>()?;
        let map_task_id = r.i64("HighlyCompressedMapStatus.mapTaskId")?;
        let checksum = read_checksum(&mut r, "HighlyCompressedMapStatus")?;
        Ok(Self {
            location,
            empty_blocks,
            avg_size,
            huge_block_sizes,
            map_task_id,
            checksum,
        })
    }

    /// The external form.
    ///
    /// # Errors
    /// [`WireError`] if a string or list is too long, or a checksum has no place in that version.
    pub fn write(&self, version: &WireVersion) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(self.empty_blocks.serialized_size() + 128);
        self.location.write(&mut out)?;
        write_bitmap(
            &mut out,
            "HighlyCompressedMapStatus.emptyBlocks",
            &self.empty_blocks,
        )?;
        out.put_i64(self.avg_size);
        out.put_count(
            "HighlyCompressedMapStatus.hugeBlockSizes",
            self.huge_block_sizes.len(),
        )?;
        for (reduce_id, size) in &self.huge_block_sizes {
            out.put_i32(*reduce_id);
            out.push(*size);
        }
        out.put_i64(self.map_task_id);
        write_checksum(
            &mut out,
            "HighlyCompressedMapStatus.checksum",
            self.checksum,
            version,
        )?;
        Ok(out)
    }
}

impl MergeStatus {
    /// The Java class.
    pub const CLASS: &str = "org.apache.spark.scheduler.MergeStatus";

    /// Reads the external form.
    ///
    /// # Errors
    /// [`WireError`] if the bytes end early, go on behind the last value, or hold no bitmap.
    pub fn read(body: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let location = BlockManagerId::read(&mut r)?;
        let shuffle_merge_id = r.i32("MergeStatus.shuffleMergeId")?;
        let map_tracker = read_bitmap(&mut r, "MergeStatus.mapTracker")?;
        let total_size = r.i64("MergeStatus.totalSize")?;
        r.finish("MergeStatus")?;
        Ok(Self {
            location,
            shuffle_merge_id,
            map_tracker,
            total_size,
        })
    }

    /// The Java object stream, with the class descriptors of this distribution.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's class does not fit; else as [`MergeStatus::write`].
    pub fn encode(&self, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
        let external = External::new(Self::CLASS, Body::<Raw>::new().bytes(&self.write()?));
        java::encode(&external, Self::CLASS, catalog)
    }

    /// Reads a Java object stream.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        let external: External = java::decode(content, Self::CLASS)?;
        Self::read(&java::block_of(&external.body, Self::CLASS)?)
    }

    /// The external form.
    ///
    /// # Errors
    /// [`WireError::Length`] if a string is longer than its format allows.
    pub fn write(&self) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::new();
        self.location.write(&mut out)?;
        out.put_i32(self.shuffle_merge_id);
        write_bitmap(&mut out, "MergeStatus.mapTracker", &self.map_tracker)?;
        out.put_i64(self.total_size);
        Ok(out)
    }
}

fn read_checksum(r: &mut Reader<'_>, what: &'static str) -> Result<i64, WireError> {
    let checksum = match r.remaining() {
        0 => 0,
        _ => r.i64(what)?,
    };
    r.finish(what)?;
    Ok(checksum)
}

fn write_checksum(
    out: &mut Vec<u8>,
    what: &'static str,
    checksum: i64,
    version: &WireVersion,
) -> Result<(), WireError> {
    if version.map_status_checksum {
        out.put_i64(checksum);
    } else if checksum != 0 {
        let why = format!(
            "Spark {} has no place for a checksum",
            version.spark_version
        );
        return Err(WireError::Unwritable { what, why });
    }
    Ok(())
}

fn read_bitmap(r: &mut Reader<'_>, what: &'static str) -> Result<RoaringBitmap, WireError> {
    let mut rest = r.clone();
    let mut bytes = rest.rest();
    let before = bytes.len();
    let bitmap =
        RoaringBitmap::deserialize_from(&mut bytes).map_err(|e| WireError::malformed(what, e))?;
    r.take(what, before - bytes.len())?;
    Ok(bitmap)
}

fn write_bitmap(
    out: &mut Vec<u8>,
    what: &'static str,
    bitmap: &RoaringBitmap,
) -> Result<(), WireError> {
    bitmap
        .serialize_into(out)
        .map_err(|e| WireError::malformed(what, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn location() -> BlockManagerId {
        BlockManagerId {
            executor_id: "0".into(),
            host: "h".into(),
            port: 7,
            topology_info: None,
        }
    }

    #[test]
    fn sizes_as_java_computes_them() {
        // What Java 17 gives for ceil(log(size) / log(1.1)) and (long) pow(1.1, byte).
        for (size, byte) in [
            (0, 0),
            (1, 1),
            (2, 8),
            (11, 26),
            (100, 49),
            (1_000_000, 145),
            (i64::MAX, 255),
        ] {
            assert_eq!(compress_size(size), byte, "{size}");
        }
        assert_eq!(decompress_size(0), 0);
        assert_eq!(decompress_size(1), 1);
        assert_eq!(decompress_size(49), 106);
    }

    #[test]
    fn a_checksum_needs_a_version_that_has_it() {
        let status = CompressedMapStatus {
            location: location(),
            compressed_sizes: vec![0, 1],
            map_task_id: 5,
            checksum: 9,
        };
        assert!(matches!(
            status.write(&WireVersion::oldest()),
            Err(WireError::Unwritable {
                what: "CompressedMapStatus.checksum",
                ..
            })
        ));
    }

    #[test]
    fn huge_and_empty_blocks() {
        let status = MapStatus::HighlyCompressed(HighlyCompressedMapStatus {
            location: location(),
            empty_blocks: [3].into_iter().collect(),
            avg_size: 10,
            huge_block_sizes: vec![(5, 255)],
            map_task_id: 1,
            checksum: 0,
        });
        assert_eq!(status.size_for_block(0), 10);
        assert_eq!(status.size_for_block(3), 0);
        assert_eq!(status.size_for_block(5), decompress_size(255));
    }

    proptest! {
        #[test]
        fn compressed_survives(sizes in proptest::collection::vec(any::<u8>(), 0..50), id: i64, checksum: i64) {
            for version in [WireVersion::oldest(), WireVersion::newest()] {
                let checksum = if version.map_status_checksum { checksum } else { 0 };
                let status = CompressedMapStatus {
                    location: location(),
                    compressed_sizes: sizes.clone(),
                    map_task_id: id,
                    checksum,
                };
                let body = status.write(&version).unwrap();
                prop_assert_eq!(CompressedMapStatus::read(&body).unwrap(), status);
            }
        }

        #[test]
        fn highly_compressed_survives(
            empty in proptest::collection::vec(any::<u32>(), 0..50),
            huge in proptest::collection::vec((any::<i32>(), any::<u8>()), 0..9),
            id: i64,
        ) {
            for version in [WireVersion::oldest(), WireVersion::newest()] {
                let status = HighlyCompressedMapStatus {
                    location: location(),
                    empty_blocks: empty.iter().copied().collect(),
                    avg_size: id,
                    huge_block_sizes: huge.clone(),
                    map_task_id: id,
                    checksum: 0,
                };
                let body = status.write(&version).unwrap();
                prop_assert_eq!(HighlyCompressedMapStatus::read(&body).unwrap(), status);
            }
        }

        #[test]
        fn any_bytes_are_a_status_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = CompressedMapStatus::read(&bytes);
            let _ = HighlyCompressedMapStatus::read(&bytes);
            let _ = MergeStatus::read(&bytes);
        }
    }
}
