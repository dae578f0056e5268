//! What the table side of a broadcast join is sent as: `HashedRelation`s and arrays of rows.

mod groups;
mod kryo;
mod read;
mod table;

#[cfg(fuzzing)]
use arrow::array::Array as _;
use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion_common::Result;
use javaser::Limits;
use javaser::arena::Graph;

use super::decode::{RowDecoder, RowSpan};
use crate::error::bail_out;
use crate::serializer::Serializer;
use catalyst::DataType;
use catalyst::Unsupported;

pub use table::{MatchCursor, Matches, RelationTable, valid_rows};

/// The rows of a broadcast variable. To be decoded once per executor and shared by its tasks.
#[derive(Debug, Clone)]
pub struct Relation {
    /// What Spark sent.
    pub kind: RelationKind,
    /// All rows, in no particular order, but for [`RelationKind::Rows`] in theirs.
    pub batch: RecordBatch,
}

/// What a broadcast variable of rows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// `LongHashedRelation`: the key is one number, or several in one. Rows with null keys are left out.
    Long,
    /// `UnsafeHashedRelation`: other keys. Rows with null keys are left out.
    Unsafe,
    /// `EmptyHashedRelation`: there is no row.
    Empty,
    /// `HashedRelationWithAllNullKeys`: for `NOT IN`, a row has a null key; the rows were not sent.
    AllNullKeys,
    /// `UnsafeRow[]`: a nested loop join's.
    Rows,
}

impl Relation {
    /// Reads a broadcast variable's value as a serializer wrote it, decompressed, with rows of these columns.
    ///
    /// # Errors
    /// Bail-outs: it is something else, or text is not UTF-8.
    pub fn read<'a>(
        value: &[u8],
        serializer: Serializer,
        types: impl IntoIterator<Item = &'a DataType> + Clone,
    ) -> Result<Self> {
        let decoder =
            RowDecoder::new(types).map_err(|why: Unsupported| bail_out(why.to_string()))?;
        let sent = match serializer {
            Serializer::Java => {
                let graph = Graph::parse(value, &Limits::default())
                    .map_err(|_| bail_out("a broadcast that cannot be read"))?;
                read::Sent::find(&graph, value.len())?
            }
            Serializer::Kryo(form) => read::Sent::of_kryo(&Bytes::copy_from_slice(value), form)?,
        };
        let batch = decoder.decode(&sent.rows)?;
        Ok(Self {
            kind: sent.kind,
            batch,
        })
    }

    /// Bytes that it takes in memory, roughly.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        // Views share their blocks: those are counted once.
        let mut blocks = std::collections::HashSet::new();
        let mut size = 0;
        for column in self.batch.columns() {
            let data = column.to_data();
            count(&data, &mut blocks, &mut size);
        }
        size
    }
}

fn count(
    data: &arrow::array::ArrayData,
    blocks: &mut std::collections::HashSet<usize>,
    size: &mut usize,
) {
    for buffer in data.buffers() {
        if blocks.insert(buffer.data_ptr().as_ptr() as usize) {
            *size += buffer.capacity();
        }
    }
    for child in data.child_data() {
        count(child, blocks, size);
    }
}

/// Rows of a block.
type Rows = Vec<(Bytes, Vec<RowSpan>)>;

/// What a `LongHashedRelation` holds; see [`crate::fuzzing`].
#[cfg(fuzzing)]
pub fn fuzz_relation_page(data: &[u8]) {
    let Ok(rows) = read::long_rows(&Bytes::copy_from_slice(data)) else {
        return;
    };
    for (block, spans) in &rows {
        let size: usize = spans.iter().map(|span| span.size as usize).sum();
        assert!(size <= block.len());
    }
    let types = [DataType::Long, DataType::String, DataType::Binary];
    let decoder = RowDecoder::new(&types).expect("known types");
    if let Ok(batch) = decoder.decode(&rows) {
        let keys = [batch.column(0).clone()];
        let table = RelationTable::new(&keys, batch.num_rows()).expect("keys that can be compared");
        let matches = table.probe(&keys, batch.num_rows()).expect("its own keys");
        let valid = (0..batch.num_rows()).filter(|row| keys[0].is_valid(*row));
        assert!(valid.into_iter().all(|row| matches.is_match(row)));
    }
}
