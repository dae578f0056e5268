//! Where the rows lie in a broadcast variable.

use bytes::Bytes;
use datafusion_common::{DataFusionError, Result};
use javaser::arena::{Graph, NodeId, Value};
use javaser::kryo::{KryoForm, KryoInput};

use super::super::decode::RowSpan;
use super::{RelationKind, Rows};
use crate::error::bail_out;

const JOINS: &str = "org.apache.spark.sql.execution.joins.";

/// An address in a `LongToUnsafeRowMap` has the size of the row in so many low bits, the place above them.
const SIZE_BITS: u32 = 28;

/// The largest block: places in it are 32 bits wide.
pub(super) const MAX_BYTES: usize = i32::MAX as usize;

pub(super) struct Sent {
    pub(super) kind: RelationKind,
    pub(super) rows: Rows,
}

impl Sent {
    /// `sent` is how many bytes the variable has.
    pub(super) fn find(graph: &Graph, sent: usize) -> Result<Self> {
        let root = graph.root().ok_or_else(unknown)?;
        if let Some(module) = graph.module(root) {
            let kind = match module.strip_prefix(JOINS) {
                Some("EmptyHashedRelation$") => RelationKind::Empty,
                Some("HashedRelationWithAllNullKeys$") => RelationKind::AllNullKeys,
                _ => return Err(unknown()),
            };
            let rows = Vec::new();
            return Ok(Self { kind, rows });
        }
        let node = root.node().ok_or_else(unknown)?;
        let class = graph.class_name(root).ok_or_else(unknown)?;
        let (kind, rows) = match class.strip_prefix(JOINS) {
            Some("LongHashedRelation") => (RelationKind::Long, long(graph, node)?),
            Some("UnsafeHashedRelation") => {
                let bytes = body(graph, node)?;
                let bytes = Bytes::from(bytes);
                (RelationKind::Unsafe, unsafe_rows(&bytes, of_java(&bytes))?)
            }
            _ if class.starts_with("[L") => (RelationKind::Rows, array(graph, root, sent)?),
            _ => return Err(unknown()),
        };
        Ok(Self { kind, rows })
    }
}

pub(super) fn unknown() -> DataFusionError {
    bail_out("a broadcast of another class")
}

pub(super) fn damaged() -> DataFusionError {
    bail_out("a broadcast that is damaged")
}

/// What the `writeExternal` of an object wrote, but for objects.
fn body(graph: &Graph, node: NodeId) -> Result<Vec<u8>> {
    let level = graph.levels(node).next_back().ok_or_else(unknown)?;
    Ok(level.block_bytes().into_owned())
}

/// `LongHashedRelation`: the number of columns and the map.
fn long(graph: &Graph, node: NodeId) -> Result<Rows> {
    let level = graph.levels(node).next_back().ok_or_else(unknown)?;
    let map = level.objects().find_map(Value::node).ok_or_else(unknown)?;
    let class = graph.class_name(Value::Ref(map)).unwrap_or_default();
    if class.strip_prefix(JOINS) != Some("LongToUnsafeRowMap") {
        return Err(unknown());
    }
    long_rows(&Bytes::from(body(graph, map)?))
}

/// `LongToUnsafeRowMap`: keys with addresses, and the page that those lead into.
pub(super) fn long_rows(bytes: &Bytes) -> Result<Rows> {
    long_map(bytes, &mut of_java(bytes))
}

/// The same within a value, of which this is what is left.
pub(super) fn long_map(value: &Bytes, input: &mut KryoInput<'_>) -> Result<Rows> {
    let [dense] = input.take().ok_or_else(damaged)?;
    let mut long = || input.long().ok_or_else(damaged);
    let [_min, _max, _keys, num_values, length] = [long()?, long()?, long()?, long()?, long()?];
    let addresses = words(input, length)?;
    let used = input.long().ok_or_else(damaged)?;
    let start = value.len() - input.rest.len();
    let page = words(input, used)?;
    let page = value.slice(start..start + page.len());
    long_rows_at(dense != 0, num_values, addresses, page)
}

/// So many words of 8 bytes.
fn words<'a>(input: &mut KryoInput<'a>, count: i64) -> Result<&'a [u8]> {
    let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(8));
    let words = bytes.and_then(|bytes| input.skip(bytes));
    words.ok_or_else(damaged)
}

/// The rows of a page of a `LongToUnsafeRowMap`, of which there are so many, by their addresses.
fn long_rows_at(dense: bool, num_values: i64, words: &[u8], page: Bytes) -> Result<Rows> {
    if page.len() > MAX_BYTES {
        return Err(bail_out("a relation of more than 2 GiB"));
    }
    let (array, _) = words.as_chunks::<8>();
    // Addresses, or pairs of keys and addresses.
    let addresses = array.iter().skip(usize::from(!dense));
    let addresses = addresses.step_by(if dense { 1 } else { 2 });
    let most = usize::try_from(num_values).map_err(|_| damaged())?;
    let mut spans = Vec::with_capacity(most.min(page.len() / 8));
    // Chains that meet each other or themselves have more rows than the page has room for.
    let mut room = page.len();
    for address in addresses {
        let mut address = u64::from_le_bytes(*address);
        while address != 0 {
            if spans.len() == most {
                return Err(damaged());
            }
            let offset = usize::try_from(address >> SIZE_BITS).map_err(|_| damaged())?;
            let size = (address & ((1 << SIZE_BITS) - 1)) as usize;
            let next = page.get(offset..).and_then(|page| page.get(size..));
            let next = next.and_then(<[u8]>::first_chunk).ok_or_else(damaged)?;
            room = room.checked_sub(size + next.len()).ok_or_else(damaged)?;
            spans.push(RowSpan {
                // Within a page of at most 2 GiB.
                offset: offset as u32,
                size: size as u32,
            });
            // The next row of the same key.
            address = u64::from_le_bytes(*next);
        }
    }
    if spans.len() != most {
        return Err(damaged());
    }
    spans.sort_unstable_by_key(|span| span.offset);
    Ok(vec![(page, spans)])
}

/// `UnsafeHashedRelation`: pairs of rows, of which the second are those of the relation. `input` is what is left of the
/// value.
pub(super) fn unsafe_rows(value: &Bytes, mut input: KryoInput<'_>) -> Result<Rows> {
    let mut int = || input.int().ok_or_else(damaged);
    let (_key_fields, _fields) = (int()?, int()?);
    let mut long = || input.long().ok_or_else(damaged);
    let (_keys, num_values) = (long()?, long()?);
    let num_values = usize::try_from(num_values).map_err(|_| damaged())?;
    // Blocks of at most 2 GiB: places in them are 32 bits wide.
    let mut rows: Rows = Vec::new();
    let mut spans = Vec::new();
    let mut block_start = value.len() - input.rest.len();
    for _ in 0..num_values {
        let mut size = || usize::try_from(input.int()?).ok();
        let (key, size) = (size(), size());
        let (key, size) = key.zip(size).ok_or_else(damaged)?;
        input.skip(key).ok_or_else(damaged)?;
        let start = value.len() - input.rest.len();
        input.skip(size).ok_or_else(damaged)?;
        if start + size - block_start > MAX_BYTES {
            let block = value.slice(block_start..start);
            rows.push((block, std::mem::take(&mut spans)));
            block_start = start;
        }
        spans.push(RowSpan {
            offset: (start - block_start) as u32,
            size: size as u32,
        });
    }
    if !input.rest.is_empty() {
        return Err(damaged());
    }
    rows.push((value.slice(block_start..), spans));
    Ok(rows)
}

/// An array of `UnsafeRow`s, brought together in one block.
fn array(graph: &Graph, root: Value, sent: usize) -> Result<Rows> {
    let elements = graph.array(root).ok_or_else(unknown)?;
    let mut block = Vec::new();
    let mut spans = Vec::with_capacity(elements.len());
    for element in elements {
        let node = element.node().ok_or_else(unknown)?;
        if graph.class_name(element) != Some("org.apache.spark.sql.catalyst.expressions.UnsafeRow")
        {
            return Err(unknown());
        }
        let bytes = body(graph, node)?;
        let mut input = of_java(&bytes);
        let (row, _fields) = input.unsafe_row().ok_or_else(damaged)?;
        if !input.rest.is_empty() {
            return Err(damaged());
        }
        let end = block.len() + row.len();
        if end > MAX_BYTES {
            return Err(bail_out("a broadcast of more than 2 GiB"));
        }
        // Each row was sent once; that they were few bytes can only be if one row is meant again and again.
        if end > sent {
            return Err(damaged());
        }
        spans.push(RowSpan {
            offset: block.len() as u32,
            size: row.len() as u32,
        });
        block.extend_from_slice(row);
    }
    Ok(vec![(Bytes::from(block), spans)])
}

/// Bytes that a class wrote itself: its numbers are those of Kryo's plain streams.
fn of_java(bytes: &[u8]) -> KryoInput<'_> {
    KryoInput {
        rest: bytes,
        form: KryoForm {
            fixed_width: false,
            references: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dense `LongToUnsafeRowMap` with these addresses, and a page of rows of 8 bytes with the addresses of the
    /// next ones.
    fn map(num_values: i64, addresses: &[u64], page: &[u64]) -> Bytes {
        let mut bytes = vec![1];
        let numbers = [0, 9, 1, num_values, addresses.len() as i64];
        bytes.extend(numbers.into_iter().flat_map(i64::to_be_bytes));
        bytes.extend(addresses.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((2 * page.len() as i64).to_be_bytes());
        bytes.extend(
            page.iter()
                .flat_map(|next| [[7; 8], next.to_le_bytes()])
                .flatten(),
        );
        bytes.into()
    }

    fn address(row: u64) -> u64 {
        (row * 16) << SIZE_BITS | 8
    }

    #[test]
    fn rows_of_a_key_follow_each_other() {
        let chained = map(3, &[address(2), 0, address(1)], &[0, 0, address(0)]);
        let rows = long_rows(&chained).unwrap();
        let offsets: Vec<_> = rows[0].1.iter().map(|span| span.offset).collect();
        assert_eq!(offsets, [0, 16, 32]);
    }

    #[test]
    fn chains_that_meet_are_damage() {
        // One that meets itself, with as many rows as it likes, and two that meet each other.
        let circle = map(i64::MAX, &[address(0)], &[address(1), address(0)]);
        let joined = map(
            4,
            &[address(0), address(1), address(2)],
            &[address(2), 0, 0],
        );
        let again = map(1000, &[address(0); 1000], &[0]);
        for bytes in [circle, joined, again] {
            let error = long_rows(&bytes).unwrap_err().to_string();
            assert!(error.contains("damaged"), "{error}");
        }
    }
}
