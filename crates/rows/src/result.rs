//! Results of tasks, as `JavaSerializer` writes them with the classes of the driver's Spark.

use std::collections::VecDeque;
use std::io::Write;

use datafusion_common::{DataFusionError, Result};
use javaser::arena::{Content, Elements, Graph, NodeId, Value};
use javaser::stream::{
    BASE_HANDLE, HEADER, SC_SERIALIZABLE, TC_ARRAY, TC_CLASSDESC, TC_ENDBLOCKDATA, TC_NULL,
    TC_REFERENCE,
};
use javaser::types::ScalaOption;
use javaser::{Catalog, Error, Limits};

use super::encode::EncodedRows;
use crate::error::bail_out;
use catalyst::CollectResult;

/// Bytes of each buffer of a `ChunkedByteBuffer` at most.
const CHUNK: usize = 1 << 20;

/// Largest result: that of an array in Java.
const MAX_BYTES: usize = i32::MAX as usize - 8;

const INTERNAL_ROWS: &str = "[Lorg.apache.spark.sql.catalyst.InternalRow;";

/// The rows of `SparkPlan.getByteArrayRdd` in the making.
#[derive(Debug)]
pub struct CollectRows<W> {
    out: W,
    /// How many rows are still wanted; `None` for all.
    left: Option<u64>,
    /// The last rows, if those are wanted.
    last: Option<VecDeque<Box<[u8]>>>,
    count: i64,
}

impl<W: Write> CollectRows<W> {
    /// Writes to `out`, which compresses with `spark.io.compression.codec`. The other parameters are those of
    /// [`Output::Collect`](crate::Output::Collect).
    pub fn new(out: W, limit: i32, take_from_end: bool) -> Self {
        Self {
            out,
            left: u64::try_from(limit).ok(),
            last: (take_from_end && limit > 0).then(VecDeque::new),
            count: 0,
        }
    }

    /// Whether no more rows are wanted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.last.is_none() && self.left == Some(0)
    }

    /// More rows.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn push(&mut self, rows: &EncodedRows<'_>) -> Result<()> {
        if let (Some(last), Some(limit)) = (&mut self.last, self.left) {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            // Those before would be pushed out at once.
            for index in rows.len().saturating_sub(limit)..rows.len() {
                if last.len() == limit {
                    last.pop_front();
                }
                last.push_back(rows.records(index, index + 1).into());
            }
            return Ok(());
        }
        let wanted = self.left.map_or(rows.len(), |left| {
            usize::try_from(left).map_or(rows.len(), |left| left.min(rows.len()))
        });
        self.out.write_all(rows.records(0, wanted))?;
        self.left = self.left.map(|left| left - wanted as u64);
        self.count += wanted as i64;
        Ok(())
    }

    /// The number of rows and the writer, which is to be finished.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> Result<(i64, W)> {
        for record in self.last.unwrap_or_default() {
            self.out.write_all(&record)?;
            self.count += 1;
        }
        self.out.write_all(&(-1_i32).to_be_bytes())?;
        Ok((self.count, self.out))
    }
}

/// The result of a collect: the number of rows and the compressed bytes that [`CollectRows`] made.
///
/// # Errors
/// Bail-outs: a class is not known, or there are too many bytes.
pub fn collect(
    catalog: &Catalog,
    result: CollectResult,
    count: i64,
    compressed: &[u8],
) -> Result<Vec<u8>> {
    if compressed.len() > MAX_BYTES {
        return Err(bail_out("a result of more than 2 GiB"));
    }
    let body = chunked(compressed);
    let mut writer = Writer::new(catalog);
    written((|| {
        let buffer = writer.external("org.apache.spark.util.io.ChunkedByteBuffer", &body)?;
        let count = writer.boxed("java.lang.Long", Value::Long(count))?;
        let pair = writer.object("scala.Tuple2", &[("_1", count), ("_2", buffer)])?;
        let root = match result {
            CollectResult::Pair => pair,
            CollectResult::Array => writer.array("[Lscala.Tuple2;", vec![pair])?,
        };
        writer.finish(root)
    })())
}

/// A `byte[][]`.
///
/// # Errors
/// Bail-out: there are too many bytes.
pub fn byte_arrays<'a>(arrays: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Result<Vec<u8>> {
    let length = |of: usize| {
        let length = i32::try_from(of).map_err(|_| bail_out("a result of more than 2 GiB"))?;
        Ok::<_, DataFusionError>(length.to_be_bytes())
    };
    let bytes: usize = arrays.clone().map(<[u8]>::len).sum();
    let mut out = Vec::with_capacity(bytes + 10 * arrays.len() + 64);
    out.extend_from_slice(&HEADER);
    put_array(&mut out, "[[B");
    out.extend_from_slice(&length(arrays.len())?);
    for (count, array) in arrays.enumerate() {
        match count {
            0 => put_array(&mut out, "[B"),
            // The descriptor of the first one, behind that of the whole and the whole.
            _ => {
                out.extend_from_slice(&[TC_ARRAY, TC_REFERENCE]);
                out.extend_from_slice(&(BASE_HANDLE + 2).to_be_bytes());
            }
        }
        out.extend_from_slice(&length(array.len())?);
        out.extend_from_slice(array);
    }
    Ok(out)
}

/// The beginning of an array, up to its length. Readers do not look at the `serialVersionUID` of its class.
fn put_array(out: &mut Vec<u8>, class: &str) {
    out.extend_from_slice(&[TC_ARRAY, TC_CLASSDESC]);
    out.extend_from_slice(&(class.len() as u16).to_be_bytes());
    out.extend_from_slice(class.as_bytes());
    out.extend_from_slice(&[0; 8]);
    // No fields, nothing above it.
    out.extend_from_slice(&[SC_SERIALIZABLE, 0, 0, TC_ENDBLOCKDATA, TC_NULL]);
}

/// `ChunkedByteBuffer.writeExternal`: number and lengths of the chunks, then all bytes.
fn chunked(bytes: &[u8]) -> Vec<u8> {
    let chunks = bytes.chunks(CHUNK);
    let mut body = Vec::with_capacity(bytes.len() + 4 * (chunks.len() + 1));
    // Of at most 2 GiB.
    body.extend_from_slice(&(chunks.len() as u32).to_be_bytes());
    for chunk in chunks {
        body.extend_from_slice(&(chunk.len() as u32).to_be_bytes());
    }
    body.extend_from_slice(bytes);
    body
}

/// The result of `RDD.takeOrdered`: the first rows of a partition in their order, each of `num_fields` columns.
///
/// # Errors
/// Bail-out: a class is not known.
pub fn take_ordered<'r>(
    catalog: &Catalog,
    partition_id: i32,
    num_fields: usize,
    rows: impl Iterator<Item = &'r [u8]>,
) -> Result<Vec<u8>> {
    let mut rows = rows.peekable();
    written((|| {
        // The driver's merging needs one array at least: that of the first partition is sent, empty or not.
        if rows.peek().is_none() && partition_id != 0 {
            return javaser::to_vec(&ScalaOption::<i32>::None, catalog);
        }
        let mut writer = Writer::new(catalog);
        let array = writer.rows(num_fields, rows)?;
        let root = writer.object("scala.Some", &[("value", array)])?;
        writer.finish(root)
    })())
}

/// The result of `RangePartitioner.sketch`: a sample of `count` keys of a partition.
///
/// # Errors
/// Bail-out: a class is not known.
pub fn sketch<'r>(
    catalog: &Catalog,
    partition_id: i32,
    count: i64,
    num_fields: usize,
    sample: impl Iterator<Item = &'r [u8]>,
) -> Result<Vec<u8>> {
    let mut writer = Writer::new(catalog);
    written((|| {
        let index = writer.boxed("java.lang.Integer", Value::Int(partition_id))?;
        let count = writer.boxed("java.lang.Long", Value::Long(count))?;
        let sample = writer.rows(num_fields, sample)?;
        let fields = [("_1", index), ("_2", count), ("_3", sample)];
        let tuple = writer.object("scala.Tuple3", &fields)?;
        let root = writer.array("[Lscala.Tuple3;", vec![tuple])?;
        writer.finish(root)
    })())
}

/// `Tuple2[]` of a `byte[]` and a `java.lang.Long` each.
///
/// # Errors
/// Bail-out: a class is missing, or there are too many bytes.
pub fn counted_arrays<'a>(
    catalog: &Catalog,
    arrays: impl Iterator<Item = (&'a [u8], i64)>,
) -> Result<Vec<u8>> {
    let mut writer = Writer::new(catalog);
    written((|| {
        let mut tuples = Vec::new();
        for (bytes, number) in arrays {
            let bytes = writer.bytes(bytes)?;
            let number = writer.boxed("java.lang.Long", Value::Long(number))?;
            let fields = [("_1", bytes), ("_2", number)];
            tuples.push(writer.object("scala.Tuple2", &fields)?);
        }
        let root = writer.array("[Lscala.Tuple2;", tuples)?;
        writer.finish(root)
    })())
}

/// The result of `RDD.count`: a `java.lang.Long`.
///
/// # Errors
/// Bail-out: the class is missing.
pub fn long(catalog: &Catalog, value: i64) -> Result<Vec<u8>> {
    written((|| {
        let mut writer = Writer::new(catalog);
        let root = writer.boxed("java.lang.Long", Value::Long(value))?;
        writer.finish(root)
    })())
}

/// The result of a task that has nothing to say: `()`.
///
/// # Errors
/// Bail-out: the class is missing.
pub fn unit(catalog: &Catalog) -> Result<Vec<u8>> {
    written((|| {
        let mut writer = Writer::new(catalog);
        let unit = writer.object("scala.runtime.BoxedUnit", &[])?;
        writer.finish(unit)
    })())
}

/// A `ConcurrentHashMap` with a pair of numbers under a key.
///
/// # Errors
/// Classes are missing, or not as expected.
pub fn keyed_pair(
    catalog: &Catalog,
    key: i32,
    pair: (i64, i64),
) -> std::result::Result<Vec<u8>, Error> {
    const MAP: &str = "java.util.concurrent.ConcurrentHashMap";
    let mut writer = Writer::new(catalog);
    let key = writer.boxed("java.lang.Integer", Value::Int(key))?;
    let first = writer.boxed("java.lang.Long", Value::Long(pair.0))?;
    let second = writer.boxed("java.lang.Long", Value::Long(pair.1))?;
    let pair = writer.object("scala.Tuple2", &[("_1", first), ("_2", second)])?;
    let map = writer.object(MAP, &[])?;
    // Entries, until a null: its fields say nothing since Java 8.
    let entries = [key, pair, Value::Null, Value::Null].map(Content::Value);
    if let Some(node) = map.node() {
        writer.graph.set_body(node, None, entries.to_vec())?;
    }
    writer.finish(map)
}

fn written(result: std::result::Result<Vec<u8>, Error>) -> Result<Vec<u8>> {
    result.map_err(|why| -> DataFusionError { bail_out(format!("a result: {why}")) })
}

/// Makes a stream of Java objects.
pub struct Writer<'c> {
    graph: Graph,
    catalog: &'c Catalog,
}

impl<'c> Writer<'c> {
    /// An empty stream of the classes of a distribution.
    pub fn new(catalog: &'c Catalog) -> Self {
        Self {
            graph: Graph::default(),
            catalog,
        }
    }

    fn desc(&mut self, class: &str) -> std::result::Result<NodeId, Error> {
        let class = self.catalog.lookup(class)?;
        self.graph.add_desc(&class)
    }

    /// An object of a class with these fields, by the names that a Scala source gives them.
    ///
    /// # Errors
    /// The class is not known, or has no such field.
    pub fn object(
        &mut self,
        class: &str,
        fields: &[(&str, Value)],
    ) -> std::result::Result<Value, Error> {
        let class = self.catalog.lookup(class)?;
        let desc = self.graph.add_desc(&class)?;
        let object = self.graph.new_object(desc)?;
        for (name, value) in fields {
            let is_it = |of: &&str| of.rsplit_once("$$").is_some_and(|(_, of)| of == *name);
            let mut names = class.fields.iter().map(|field| &*field.name);
            self.graph
                .set_field(object, names.find(is_it).unwrap_or(name), *value)?;
        }
        Ok(Value::Ref(object))
    }

    /// A string.
    pub fn text(&mut self, text: &str) -> Value {
        Value::Ref(self.graph.new_string(text))
    }

    /// The object in another stream.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub fn import(&mut self, stream: &[u8]) -> std::result::Result<Value, Error> {
        let other = Graph::parse(stream, &Limits::default())?;
        let root = other.root().unwrap_or(Value::Null);
        self.graph.import(&other, root)
    }

    /// A boxed value of a primitive type.
    pub(crate) fn boxed(&mut self, class: &str, value: Value) -> std::result::Result<Value, Error> {
        self.object(class, &[("value", value)])
    }

    /// An array of bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> std::result::Result<Value, Error> {
        let desc = self.desc("[B")?;
        let bytes = Elements::Primitive(b'B', bytes.into());
        Ok(Value::Ref(self.graph.new_array(desc, bytes)?))
    }

    /// A constant of an enum.
    pub(crate) fn constant(
        &mut self,
        class: &str,
        constant: &str,
    ) -> std::result::Result<Value, Error> {
        let desc = self.desc(class)?;
        Ok(Value::Ref(self.graph.new_enum(desc, constant)?))
    }

    /// An `Externalizable` object that writes these bytes.
    pub(crate) fn external(
        &mut self,
        class: &str,
        body: &[u8],
    ) -> std::result::Result<Value, Error> {
        let desc = self.desc(class)?;
        let object = self.graph.new_object(desc)?;
        self.graph.set_body(object, None, Graph::blocks(body))?;
        Ok(Value::Ref(object))
    }

    /// An array of references.
    ///
    /// # Errors
    /// The class is not known.
    pub fn array(&mut self, class: &str, values: Vec<Value>) -> std::result::Result<Value, Error> {
        let desc = self.desc(class)?;
        Ok(Value::Ref(self.graph.new_ref_array(desc, values)?))
    }

    /// An array of `UnsafeRow`s.
    fn rows<'r>(
        &mut self,
        num_fields: usize,
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> std::result::Result<Value, Error> {
        let mut values = Vec::new();
        let mut body = Vec::new();
        for row in rows {
            body.clear();
            // Rows are of at most 2 GiB, and of far fewer columns.
            body.extend_from_slice(&(row.len() as u32).to_be_bytes());
            body.extend_from_slice(&(num_fields as u32).to_be_bytes());
            body.extend_from_slice(row);
            values
                .push(self.external("org.apache.spark.sql.catalyst.expressions.UnsafeRow", &body)?);
        }
        self.array(INTERNAL_ROWS, values)
    }

    /// The stream with this object as all that it holds.
    ///
    /// # Errors
    /// The object is not of this stream.
    pub fn finish(&mut self, root: Value) -> std::result::Result<Vec<u8>, Error> {
        self.graph.push_root(root)?;
        Ok(self.graph.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_chunks_stand_before_their_bytes() {
        let bytes: Vec<u8> = (0..CHUNK + 3).map(|at| at as u8).collect();
        let body = chunked(&bytes);
        assert_eq!(body[..12], [0, 0, 0, 2, 0, 0x10, 0, 0, 0, 0, 0, 3]);
        assert_eq!(body[12..], bytes);
        assert_eq!(chunked(&[]), [0; 4]);
    }
}
