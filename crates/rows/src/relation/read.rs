//! Where the rows lie in a broadcast variable.

use bytes::Bytes;
use datafusion_common::{DataFusionError, Result};
use javaser::arena::{Graph, NodeId, Value};

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
                (RelationKind::Unsafe, unsafe_rows(Bytes::from(bytes))?)
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

fn damaged() -> DataFusionError {
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
    long_rows(Bytes::from(body(graph, map)?))
}

/// `LongToUnsafeRowMap`: keys with addresses, and the page that those lead into.
pub(super) fn long_rows(bytes: Bytes) -> Result<Rows> {
    let mut input = Input { bytes: &bytes };
    let dense = input.take::<1>()? != [0];
    let [_min, _max, _keys, num_values, length] = input.longs()?;
    let words = input.words(length)?;
    let [used] = input.longs()?;
    let page_start = bytes.len() - input.bytes.len();
    let page = input.words(used)?;
    let page = bytes.slice(page_start..page_start + page.len());
    long_rows_at(dense, num_values, words, page)
}

/// The rows of a page of a `LongToUnsafeRowMap`, of which there are so many, by their addresses.
pub(super) fn long_rows_at(
    dense: bool,
    num_values: i64,
    words: &[u8],
    page: Bytes,
) -> Result<Rows> {
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

/// `UnsafeHashedRelation`: pairs of rows, of which the second are those of the relation.
fn unsafe_rows(bytes: Bytes) -> Result<Rows> {
    let mut input = Input { bytes: &bytes };
    let [_key_fields, _fields] = input.ints()?;
    let [_keys, num_values] = input.longs()?;
    let num_values = usize::try_from(num_values).map_err(|_| damaged())?;
    // Blocks of at most 2 GiB: places in them are 32 bits wide.
    let mut rows: Rows = Vec::new();
    let mut spans = Vec::new();
    let mut block_start = bytes.len() - input.bytes.len();
    for _ in 0..num_values {
        let [key, size] = input.ints()?;
        let size = usize::try_from(size).map_err(|_| damaged())?;
        input.skip(usize::try_from(key).map_err(|_| damaged())?)?;
        let start = bytes.len() - input.bytes.len();
        input.skip(size)?;
        if start + size - block_start > MAX_BYTES {
            let block = bytes.slice(block_start..start);
            rows.push((block, std::mem::take(&mut spans)));
            block_start = start;
        }
        spans.push(RowSpan {
            offset: (start - block_start) as u32,
            size: size as u32,
        });
    }
    if !input.bytes.is_empty() {
        return Err(damaged());
    }
    rows.push((bytes.slice(block_start..), spans));
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
        let mut input = Input { bytes: &bytes };
        let [size, _fields] = input.ints()?;
        if usize::try_from(size) != Ok(input.bytes.len()) {
            return Err(damaged());
        }
        let end = block.len() + input.bytes.len();
        if end > MAX_BYTES {
            return Err(bail_out("a broadcast of more than 2 GiB"));
        }
        // Each row was sent once; that they were few bytes can only be if one row is meant again and again.
        if end > sent {
            return Err(damaged());
        }
        spans.push(RowSpan {
            offset: block.len() as u32,
            size: input.bytes.len() as u32,
        });
        block.extend_from_slice(input.bytes);
    }
    Ok(vec![(Bytes::from(block), spans)])
}

/// What is left to be read.
struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk().ok_or_else(damaged)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn ints<const N: usize>(&mut self) -> Result<[i32; N]> {
        let mut all = [0; N];
        for one in &mut all {
            *one = i32::from_be_bytes(self.take()?);
        }
        Ok(all)
    }

    fn longs<const N: usize>(&mut self) -> Result<[i64; N]> {
        let mut all = [0; N];
        for one in &mut all {
            *one = i64::from_be_bytes(self.take()?);
        }
        Ok(all)
    }

    fn skip(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (first, rest) = self.bytes.split_at_checked(bytes).ok_or_else(damaged)?;
        self.bytes = rest;
        Ok(first)
    }

    /// So many words of 8 bytes.
    fn words(&mut self, count: i64) -> Result<&'a [u8]> {
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(8));
        self.skip(bytes.ok_or_else(damaged)?)
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
        let rows = long_rows(chained).unwrap();
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
            let error = long_rows(bytes).unwrap_err().to_string();
            assert!(error.contains("damaged"), "{error}");
        }
    }
}
