//! The same as `KryoSerializer` writes it.
//!
//! Classes are numbers that depend on the version and on what an application registers, so a value is known by its
//! shape: it is read as each of the classes, and has to be one of them from its first byte to its last.

use bytes::Bytes;
use datafusion_common::Result;
use javaser::kryo::{self, KryoForm, KryoInput};

use super::super::decode::RowSpan;
use super::read::{MAX_BYTES, Sent, damaged, long_map, unknown, unsafe_rows};
use super::{RelationKind, Rows};
use crate::error::bail_out;

/// What stands for a class that is named.
const NAMED: u32 = 1;

/// What names `HashedRelationWithAllNullKeys$`: that it is the first name, and the name with its length.
const ALL_NULL_KEYS: &[u8] =
    b"\x00\xc4\x01org.apache.spark.sql.execution.joins.HashedRelationWithAllNullKeys$";

/// What `EmptyHashedRelation$` is as a class, in Spark 3.5 to 4.3 without further classes. Nothing follows it.
const EMPTY: [u32; 4] = [232, 234, 238, 239];

impl Sent {
    /// Reads a value.
    pub(super) fn of_kryo(value: &Bytes, form: KryoForm) -> Result<Self> {
        let mut input = KryoInput { rest: value, form };
        let class = input.var().ok_or_else(damaged)?;
        if class == NAMED {
            let rest = input.rest.strip_prefix(ALL_NULL_KEYS);
            input.rest = rest.ok_or_else(unknown)?;
            input.new_object().ok_or_else(damaged)?;
            return match input.rest {
                [] => Ok(Self::without_rows(RelationKind::AllNullKeys)),
                _ => Err(unknown()),
            };
        }
        input.new_object().ok_or_else(damaged)?;
        if input.rest.is_empty() {
            return match EMPTY.contains(&class) {
                true => Ok(Self::without_rows(RelationKind::Empty)),
                false => Err(unknown()),
            };
        }
        let found = [
            array(class, input)
                .ok()
                .map(|rows| (RelationKind::Rows, rows)),
            unsafe_rows(value, input)
                .ok()
                .map(|rows| (RelationKind::Unsafe, rows)),
            long(value, input).map(|rows| (RelationKind::Long, rows)),
        ];
        let mut found = found.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some((kind, rows)), None) => Ok(Self { kind, rows }),
            (None, _) => Err(unknown()),
            (Some(_), Some(_)) => Err(bail_out("a broadcast of one class or another")),
        }
    }

    fn without_rows(kind: RelationKind) -> Self {
        let rows = Vec::new();
        Self { kind, rows }
    }
}

/// `InternalRow[]` of `UnsafeRow`s, brought together in one block.
fn array(class: u32, input: KryoInput<'_>) -> Result<Rows> {
    let rows = kryo::unsafe_rows(class, input).ok_or_else(unknown)?;
    let mut block = Vec::new();
    let mut spans = Vec::with_capacity(rows.len());
    for (row, _) in rows {
        if block.len() + row.len() > MAX_BYTES {
            return Err(bail_out("a broadcast of more than 2 GiB"));
        }
        spans.push(RowSpan {
            offset: block.len() as u32,
            size: row.len() as u32,
        });
        block.extend_from_slice(row);
    }
    Ok(vec![(Bytes::from(block), spans)])
}

/// `LongHashedRelation`: the map, the number of columns, and an empty row of as many.
fn long(value: &Bytes, mut input: KryoInput<'_>) -> Option<Rows> {
    input.not_null()?;
    if *input.rest.first()? > 1 {
        return None;
    }
    let rows = long_map(value, &mut input).ok()?;
    let columns = input.int_field()?;
    input.not_null()?;
    let (row, of_row) = input.unsafe_row()?;
    let whole = row.is_empty() && of_row == columns && input.rest.is_empty();
    whole.then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [(&str, bool, bool); 3] = [
        ("fixed", true, true),
        ("variable", false, true),
        ("unmarked", true, false),
    ];

    fn value(name: &str) -> Vec<(Bytes, KryoForm)> {
        let all = include_str!("fixtures/kryo-3.5.9.txt").lines();
        let all = all.chain(include_str!("fixtures/kryo-4.3.0.txt").lines());
        let of_name = all.filter_map(|line| {
            let mut words = line.split(' ');
            let (form, found, hex) = (words.next()?, words.next()?, words.next()?);
            let (_, fixed_width, references) = FORMS.into_iter().find(|(of, ..)| *of == form)?;
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let bytes: Bytes = (0..hex.len()).step_by(2).map(byte).collect();
            let form = KryoForm {
                fixed_width,
                references,
            };
            (found == name).then_some((bytes, form))
        });
        of_name.collect()
    }

    /// What Spark's own serializer wrote: rows of a number and of as many times "ab".
    #[test]
    fn what_spark_wrote_is_read() {
        for (name, kind, rows) in [
            ("rows", RelationKind::Rows, 2),
            ("unsafehashed", RelationKind::Unsafe, 2),
            ("longhashed", RelationKind::Long, 2),
            ("emptyhashed", RelationKind::Empty, 0),
            ("nullaware", RelationKind::AllNullKeys, 0),
        ] {
            let values = value(name);
            assert_eq!(values.len(), 6, "{name}");
            for (bytes, form) in values {
                let sent = Sent::of_kryo(&bytes, form).unwrap();
                assert_eq!(sent.kind, kind, "{form:?}");
                let found = sent.rows.iter().flat_map(|(block, spans)| {
                    spans.iter().map(|span| {
                        let start = span.offset as usize;
                        block.slice(start..start + span.size as usize)
                    })
                });
                let numbers: Vec<_> = found.map(|row| row[8]).collect();
                assert_eq!(numbers, (1..=rows).collect::<Vec<u8>>(), "{name} {form:?}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_longer_is_refused() {
        for name in ["rows", "unsafehashed", "longhashed", "nullaware"] {
            for (bytes, form) in value(name) {
                for end in 0..bytes.len() {
                    assert!(
                        Sent::of_kryo(&bytes.slice(..end), form).is_err(),
                        "{name} {end}"
                    );
                }
                let longer = [&bytes[..], &[0]].concat();
                assert!(Sent::of_kryo(&longer.into(), form).is_err(), "{name}");
            }
        }
    }
}
