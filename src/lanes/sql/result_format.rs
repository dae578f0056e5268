//! Values of result tasks, as `spark.serializer` writes them.

use catalyst::CollectResult;
use datafusion_common::Result;
use exec::{EncodedBatch, KeySample};
use javaser::Catalog;
use javaser::kryo::KryoGraph;
use rows::error::bail_out;
use rows::written::Written;
use rows::{KryoForm, Serializer, result};

const INTERNAL_ROWS: &str = "[Lorg.apache.spark.sql.catalyst.InternalRow;";
const LIST: &str = "scala.collection.immutable.$colon$colon";
const EMPTY_LIST: &str = "scala.collection.immutable.Nil$";
const UNSAFE_ROW: &str = "org.apache.spark.sql.catalyst.expressions.UnsafeRow";

/// `spark.serializer`, for results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResultFormat(pub(super) Serializer);

impl ResultFormat {
    /// How Kryo writes, if it is Kryo.
    pub(super) fn kryo(self) -> Option<KryoForm> {
        match self.0 {
            Serializer::Java => None,
            Serializer::Kryo(form) => Some(form),
        }
    }

    /// As [`result::collect`].
    pub(super) fn collect(
        self,
        catalog: &Catalog,
        result: CollectResult,
        count: i64,
        packed: &[u8],
    ) -> Result<Vec<u8>> {
        let Some(kryo) = self.kryo() else {
            return result::collect(catalog, result, count, packed);
        };
        if i32::try_from(packed.len()).is_err() {
            return Err(bail_out("a result of more than 2 GiB"));
        }
        let mut graph = KryoGraph::new(kryo);
        if result == CollectResult::Array {
            let length = graph.array("[Lscala.Tuple2;");
            graph.set_length(length, 1);
        }
        graph.object("scala.Tuple2");
        graph.any_long(count);
        graph.chunked_bytes(packed);
        Ok(graph.finish())
    }

    /// As [`result::take_ordered`].
    pub(super) fn take_ordered<'r>(
        self,
        catalog: &Catalog,
        partition_id: i32,
        num_fields: usize,
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> Result<Vec<u8>> {
        let Some(kryo) = self.kryo() else {
            return result::take_ordered(catalog, partition_id, num_fields, rows);
        };
        let mut graph = KryoGraph::new(kryo);
        let mut rows = rows.peekable();
        match rows.peek() {
            None if partition_id != 0 => graph.object("scala.None$"),
            _ => {
                graph.object("scala.Some");
                put_rows(&mut graph, num_fields, rows)?;
            }
        }
        Ok(graph.finish())
    }

    /// The result of `RangePartitioner.sketch`.
    pub(super) fn sketch(self, catalog: &Catalog, sample: &KeySample) -> Result<Vec<u8>> {
        let KeySample {
            partition_id,
            count,
            columns,
            rows,
        } = sample;
        let rows = rows.iter().map(|row| &**row);
        let Some(kryo) = self.kryo() else {
            return result::sketch(catalog, *partition_id, *count, *columns, rows);
        };
        let mut graph = KryoGraph::new(kryo);
        let length = graph.array("[Lscala.Tuple3;");
        graph.set_length(length, 1);
        // Its class is final: it is not named again.
        graph.element();
        graph.any_int(*partition_id);
        graph.any_long(*count);
        put_rows(&mut graph, *columns, rows)?;
        Ok(graph.finish())
    }

    /// As [`Written::result`].
    pub(super) fn written(
        self,
        catalog: &Catalog,
        written: &Written,
        dynamic_overwrite: bool,
    ) -> Result<Vec<u8>> {
        let Some(kryo) = self.kryo() else {
            return written.result(catalog, dynamic_overwrite);
        };
        let directories = written.directories.as_slice();
        let replaced = if dynamic_overwrite { directories } else { &[] };
        let mut graph = KryoGraph::new(kryo);
        graph.object("org.apache.spark.sql.execution.datasources.WriteTaskResult");
        graph.object("org.apache.spark.internal.io.FileCommitProtocol$TaskCommitMessage");
        graph.object("scala.Tuple2");
        graph.object("scala.collection.immutable.Map$EmptyMap$");
        graph.count(0);
        put_set(&mut graph, catalog, replaced)?;
        // Fields of a class are in the order of their names.
        graph.object("org.apache.spark.sql.execution.datasources.ExecutedWriteSummary");
        graph.object(LIST);
        graph.count(1);
        graph.object("org.apache.spark.sql.execution.datasources.BasicWriteTaskStats");
        graph.long(written.bytes);
        graph.int(written.files);
        graph.long(written.rows);
        graph.object(if written.partitions.is_empty() {
            EMPTY_LIST
        } else {
            LIST
        });
        graph.count(count(written.partitions.len())?);
        let rows = written.partitions.iter().map(|row| &**row);
        put_each(&mut graph, written.partition_columns, rows)?;
        put_set(&mut graph, catalog, directories)?;
        Ok(graph.finish())
    }

    /// Batches for a driver; for Spark Connect with their numbers of rows.
    pub(super) fn batches(
        self,
        catalog: &Catalog,
        batches: &[EncodedBatch],
        counted: bool,
    ) -> Result<Vec<u8>> {
        // Batches have as many rows as an int counts.
        let pairs = batches
            .iter()
            .map(|batch| (&*batch.bytes, batch.rows as i64));
        let Some(kryo) = self.kryo() else {
            return match counted {
                true => result::counted_arrays(catalog, pairs),
                false => result::byte_arrays(pairs.map(|(bytes, _)| bytes)),
            };
        };
        let mut graph = KryoGraph::new(kryo);
        let class = if counted { "[Lscala.Tuple2;" } else { "[[B" };
        let length = graph.array(class);
        graph.set_length(length, count(batches.len())?);
        for (bytes, number) in pairs {
            if counted {
                graph.object("scala.Tuple2");
                graph.any_bytes(bytes);
                graph.any_long(number);
            } else {
                graph.bytes(bytes);
            }
        }
        Ok(graph.finish())
    }

    /// As [`result::long`].
    pub(super) fn long(self, catalog: &Catalog, value: i64) -> Result<Vec<u8>> {
        let Some(kryo) = self.kryo() else {
            return result::long(catalog, value);
        };
        let mut out = Vec::new();
        kryo.write_long(&mut out, value);
        Ok(out)
    }

    /// As [`result::unit`].
    pub(super) fn unit(self, catalog: &Catalog) -> Result<Vec<u8>> {
        let Some(kryo) = self.kryo() else {
            return result::unit(catalog);
        };
        let mut graph = KryoGraph::new(kryo);
        graph.object("scala.runtime.BoxedUnit");
        Ok(graph.finish())
    }
}

/// `InternalRow[]` of `UnsafeRow`s of so many columns.
fn put_rows<'r>(
    graph: &mut KryoGraph,
    num_fields: usize,
    rows: impl Iterator<Item = &'r [u8]>,
) -> Result<()> {
    let length = graph.array(INTERNAL_ROWS);
    let count = put_each(graph, num_fields, rows)?;
    graph.set_length(length, count);
    Ok(())
}

/// `UnsafeRow`s of so many columns. Gives how many they are.
fn put_each<'r>(
    graph: &mut KryoGraph,
    num_fields: usize,
    rows: impl Iterator<Item = &'r [u8]>,
) -> Result<u32> {
    let own = |number: usize| i32::try_from(number).map_err(|_| bail_out("rows of 2 GiB"));
    let columns = own(num_fields)?;
    let mut count = 0;
    for row in rows {
        graph.object(UNSAFE_ROW);
        graph.own_int(own(row.len())?);
        graph.own_int(columns);
        graph.raw(row);
        count += 1;
    }
    Ok(count)
}

/// A `Set[String]`.
fn put_set(graph: &mut KryoGraph, catalog: &Catalog, texts: &[String]) -> Result<()> {
    // Each size has a class up to four. Scala 2.12 has one more for larger ones.
    const TRIE: &str = "scala.collection.immutable.HashSet$HashTrieSet";
    graph.object(match texts.len() {
        0 => "scala.collection.immutable.Set$EmptySet$",
        1 => "scala.collection.immutable.Set$Set1",
        2 => "scala.collection.immutable.Set$Set2",
        3 => "scala.collection.immutable.Set$Set3",
        4 => "scala.collection.immutable.Set$Set4",
        _ if catalog.contains(TRIE) => TRIE,
        _ => "scala.collection.immutable.HashSet",
    });
    graph.count(count(texts.len())?);
    texts
        .iter()
        .for_each(|text| graph.any_text(text.as_bytes()));
    Ok(())
}

fn count(of: usize) -> Result<u32> {
    u32::try_from(of).map_err(|_| bail_out("too many elements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [(&str, bool, bool); 4] = [
        ("fixed", true, true),
        ("variable", false, true),
        ("unmarked", true, false),
        ("least", false, false),
    ];

    /// What Spark's own serializer wrote, with classes named as here.
    #[test]
    fn results_are_what_kryo_writes() {
        let row: Vec<u8> = [
            &[0; 8][..],
            &1_i64.to_le_bytes(),
            &[2, 0, 0, 0, 24, 0, 0, 0],
            b"ab\0\0\0\0\0\0",
        ]
        .concat();
        let expected = include_str!("fixtures/kryo-results.txt");
        for (name, fixed_width, references) in FORMS {
            let format = ResultFormat(Serializer::Kryo(KryoForm {
                fixed_width,
                references,
            }));
            let catalog = Catalog::from_class_path(&[]).unwrap();
            let sample = KeySample {
                partition_id: 3,
                count: 9,
                columns: 2,
                rows: vec![row.clone().into()],
            };
            let rows = || std::iter::once(&row[..]);
            let found = [
                (
                    "collect",
                    format.collect(&catalog, CollectResult::Array, 7, &[1, 2, 3]),
                ),
                ("sketch", format.sketch(&catalog, &sample)),
                ("some", format.take_ordered(&catalog, 1, 2, rows())),
                (
                    "none",
                    format.take_ordered(&catalog, 1, 2, std::iter::empty()),
                ),
                ("unit", format.unit(&catalog)),
            ];
            for (of, bytes) in found {
                let hex: String = bytes
                    .unwrap()
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                let line = format!("{name} {of} {hex}");
                assert!(expected.lines().any(|known| known == line), "{line}");
            }
        }
    }
}
