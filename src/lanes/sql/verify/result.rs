//! What is in the result of a task, whatever its compressor.

use std::collections::BTreeSet;

use javaser::Limits;
use javaser::arena::{Graph, Value};

use super::rows::{Digest, View};
use crate::blocks::codec::Codec;

/// Bytes of an `UnsafeRow`'s own form before the row: its size and its number of columns.
const ROW_HEADER: usize = 8;

/// The rows of a result, and what else it says.
#[derive(Debug)]
pub(super) struct ResultRows {
    class: String,
    numbers: Vec<i64>,
    /// Numbers of columns that rows say they have.
    widths: BTreeSet<i32>,
    rows: Digest,
}

impl ResultRows {
    pub(super) fn read(bytes: &[u8], codec: &Codec, view: &View) -> Result<Self, String> {
        let graph = Graph::parse(bytes, &Limits::default()).map_err(|error| error.to_string())?;
        let root = graph.root().ok_or("a result without a value")?;
        let mut found = Self {
            class: graph.class_name(root).unwrap_or("null").to_owned(),
            numbers: Vec::new(),
            widths: BTreeSet::new(),
            rows: Digest::default(),
        };
        // Objects come in the order in which they were written: rows in that of their array.
        for (node, _) in graph.nodes() {
            if graph.object(node).is_none() {
                continue;
            }
            let class = graph.class_name(Value::Ref(node)).unwrap_or_default();
            let body = |class| {
                let level = graph.level(node, class);
                level.map(|level| level.block_bytes().into_owned())
            };
            match class {
                "java.lang.Long" => found.numbers.extend(graph.int(Value::Ref(node))),
                "org.apache.spark.util.io.ChunkedByteBuffer" => {
                    let chunks = body(class).unwrap_or_default();
                    let packed =
                        join_chunks(&chunks).ok_or("a ChunkedByteBuffer that ends early")?;
                    if packed.is_empty() {
                        continue;
                    }
                    let rows = codec.reader(&packed[..]);
                    let read = rows.and_then(|rows| found.rows.read(view, rows));
                    read.map_err(|error| error.to_string())?;
                }
                "org.apache.spark.sql.catalyst.expressions.UnsafeRow" => {
                    let body = body(class).unwrap_or_default();
                    let (header, row) = body
                        .split_first_chunk::<ROW_HEADER>()
                        .ok_or("an UnsafeRow without size")?;
                    let [.., a, b, c, d] = *header;
                    found.widths.insert(i32::from_be_bytes([a, b, c, d]));
                    let added = found.rows.add(view, row);
                    added.map_err(|_| "an UnsafeRow of other columns")?;
                }
                _ => {}
            }
        }
        Ok(found)
    }

    pub(super) fn is_incomplete(&self) -> bool {
        self.rows.is_incomplete()
    }

    /// What is different in the JVM's.
    pub(super) fn difference(&self, jvm: &Self, view: &View) -> Option<String> {
        if self.class != jvm.class {
            return Some(format!("{} natively, {} by the JVM", self.class, jvm.class));
        }
        if self.numbers != jvm.numbers {
            return Some(format!(
                "{:?} natively, {:?} by the JVM",
                self.numbers, jvm.numbers
            ));
        }
        if self.widths != jvm.widths {
            let (native, jvm) = (&self.widths, &jvm.widths);
            return Some(format!(
                "rows of {native:?} columns natively, of {jvm:?} by the JVM"
            ));
        }
        self.rows.difference(&jvm.rows, view)
    }
}

/// The bytes of a `ChunkedByteBuffer`: number and lengths of the chunks stand before them.
fn join_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let number = |place: usize| {
        let bytes = body.get(place.checked_mul(4)?..)?.first_chunk::<4>()?;
        usize::try_from(i32::from_be_bytes(*bytes)).ok()
    };
    let count = number(0)?;
    let mut length = 0_usize;
    for chunk in 1..=count {
        length = length.checked_add(number(chunk)?)?;
    }
    let bytes = body.get(count.checked_add(1)?.checked_mul(4)?..)?;
    (bytes.len() == length).then(|| bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined() {
        let body = [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8, 9];
        assert_eq!(join_chunks(&body).unwrap(), [7, 8, 9]);
        assert_eq!(join_chunks(&body[..14]), None);
        assert_eq!(join_chunks(&body[..9]), None);
    }
}
