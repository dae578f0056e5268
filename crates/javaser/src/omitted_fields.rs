//! Classes whose descriptor announces fields that their `writeObject` never writes.
//!
//! A Java reader knows from its own class; the stream does not tell. Where the first field is a reference the stream
//! gives it away (block data or the end mark cannot be a field's value), so only classes whose first
//! field is primitive need to be listed.

/// How to see whether a level omitted its declared fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OmittedFields {
    /// Never writes its fields.
    Always,
    /// Writes its fields for the Java serializer, and for others starts with a `long`, that is with block data. Its
    /// first field is a boolean or the high byte of a small number, so the first byte decides.
    IfBlockDataComesFirst,
}

/// Whether a class with `SC_WRITE_METHOD` omits its fields; `first_field` is the first one that it declares.
pub(crate) fn omitted_fields(class: &str, first_field: &str) -> Option<OmittedFields> {
    Some(match class {
        // Scala 2.12: elements, ListSerializeEnd$, then `exported` and `len` as block data.
        "scala.collection.mutable.ListBuffer"
        // Hashing, equality, then keys and values; the fields are three references too.
        | "scala.collection.concurrent.TrieMap"
        | "scala.collection.immutable.OldHashSet$OldHashSetCollision1"
        | "scala.collection.parallel.mutable.ParHashMap"
        | "scala.collection.parallel.mutable.ParHashSet"
        // The pickle file's bytes.
        | "org.apache.spark.api.python.PythonBroadcast"
        // Their own binary format.
        | "org.apache.spark.util.sketch.BloomFilterImpl"
        | "org.apache.spark.util.sketch.CountMinSketchImpl"
        | "org.apache.spark.streaming.dstream.QueueInputDStream" => OmittedFields::Always,
        "org.apache.spark.rdd.ParallelCollectionPartition" | "org.apache.spark.RangePartitioner" => {
            OmittedFields::IfBlockDataComesFirst
        }
        // Thrift's generator gives its classes a writeObject in Thrift's compact protocol.
        _ if first_field == "__isset_bitfield" => OmittedFields::Always,
        _ => return None,
    })
}
