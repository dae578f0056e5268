//! The classes of RDDs that are recognised, and the functions of Spark's that a `MapPartitionsRDD` may be made of.

use super::FileFormat;

/// A class of RDDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RddClass {
    ParallelCollection,
    Python,
    Pairwise,
    MapPartitions,
    Shuffled,
    Union,
    PartitionerAwareUnion,
    Coalesced,
    Zipped,
    Cartesian,
    BinaryFile,
    ReliableCheckpoint,
    LocalCheckpoint,
}

/// Names below `org.apache.spark`, and what of the class is recognised.
const CLASSES: [(&str, RddClass, &str); 13] = [
    (
        "rdd.ParallelCollectionRDD",
        RddClass::ParallelCollection,
        "of byte[]",
    ),
    (
        "api.python.PythonRDD",
        RddClass::Python,
        "SimplePythonFunction; also of barrier stages",
    ),
    (
        "api.python.PairwiseRDD",
        RddClass::Pairwise,
        "of byte[], before a shuffle",
    ),
    (
        "rdd.MapPartitionsRDD",
        RddClass::MapPartitions,
        "with the functions below",
    ),
    (
        "rdd.ShuffledRDD",
        RddClass::Shuffled,
        "PythonPartitioner, and the HashPartitioner of repartition",
    ),
    ("rdd.UnionRDD", RddClass::Union, "of equal elements"),
    (
        "rdd.PartitionerAwareUnionRDD",
        RddClass::PartitionerAwareUnion,
        "of equal elements",
    ),
    ("rdd.CoalescedRDD", RddClass::Coalesced, ""),
    ("rdd.ZippedPartitionsRDD2", RddClass::Zipped, "of RDD.zip"),
    ("rdd.CartesianRDD", RddClass::Cartesian, ""),
    ("rdd.BinaryFileRDD", RddClass::BinaryFile, "into Python"),
    (
        "rdd.ReliableCheckpointRDD",
        RddClass::ReliableCheckpoint,
        "of byte[] and String",
    ),
    (
        "rdd.LocalCheckpointRDD",
        RddClass::LocalCheckpoint,
        "of byte[] and String",
    ),
];

/// A function that a `MapPartitionsRDD` was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapped {
    /// The second halves of pairs.
    Second,
    /// Pairs of a partition and an element.
    Distribute,
    TextFile,
    WholeTextFiles,
    BinaryRecords,
    /// The rows of a data frame.
    Rows,
    /// Texts of their bytes.
    Strings,
    /// Texts for a file.
    Lines,
}

/// Class and method of a closure.
type Name = (&'static str, &'static str);

/// The operator, what the operator was given, and what they are together.
const FUNCTIONS: [(Name, Name, Mapped, &str); 9] = [
    (
        ("rdd.RDD", "mapPartitions$2"),
        ("api.python.PythonRDD$", "valueOfPair$1"),
        Mapped::Second,
        "behind every shuffle of PySpark",
    ),
    (
        ("rdd.RDD", "map$2"),
        ("rdd.PairRDDFunctions", "values$1"),
        Mapped::Second,
        "values",
    ),
    (
        ("rdd.RDD", "mapPartitionsWithIndexInternal$2"),
        ("rdd.RDD", "coalesce$3"),
        Mapped::Distribute,
        "repartition",
    ),
    (
        ("rdd.RDD", "map$2"),
        ("SparkContext", "textFile$2"),
        Mapped::TextFile,
        "textFile",
    ),
    (
        ("rdd.RDD", "map$2"),
        ("SparkContext", "wholeTextFiles$2"),
        Mapped::WholeTextFiles,
        "wholeTextFiles",
    ),
    (
        ("rdd.RDD", "map$2"),
        ("SparkContext", "binaryRecords$2"),
        Mapped::BinaryRecords,
        "binaryRecords",
    ),
    (
        ("rdd.RDD", "mapPartitions$2"),
        ("sql.execution.python.EvaluatePython$", "javaToPython$1"),
        Mapped::Rows,
        "DataFrame.rdd, toLocalIterator, foreach: if the query runs natively",
    ),
    (
        ("rdd.RDD", "map$2"),
        ("api.java.JavaPairRDD$", "toScalaFunction$1"),
        Mapped::Strings,
        "BytesToString, for saveAsTextFile",
    ),
    (
        ("rdd.RDD", "mapPartitions$2"),
        ("rdd.RDD", "saveAsTextFile$3"),
        Mapped::Lines,
        "saveAsTextFile",
    ),
];

/// The class of this name, which is without `org.apache.spark.`
pub(super) fn rdd_class(name: &str) -> Option<RddClass> {
    let mut classes = CLASSES.iter();
    let found = classes.find(|(known, ..)| *known == name);
    found.map(|(_, class, _)| *class)
}

/// What an operator with a function is.
pub(super) fn mapped(outer: (&str, &str), inner: (&str, &str)) -> Option<Mapped> {
    let mut functions = FUNCTIONS.iter();
    let found = functions.find(|of| of.0 == outer && of.1 == inner);
    found.map(|(_, _, mapped, _)| *mapped)
}

/// Everything that is recognised, with what of it.
pub(in super::super) fn recognised() -> Vec<(String, String)> {
    let classes = CLASSES
        .iter()
        .map(|(name, _, what)| (super::simple(name).to_owned(), (*what).to_owned()));
    let functions = FUNCTIONS.iter().map(|(_, inner, _, what)| {
        let (class, method) = *inner;
        let (method, _) = method.split_once('$').unwrap_or((method, ""));
        let class = super::simple(class).trim_end_matches('$');
        (
            format!("MapPartitionsRDD of {class}.{method}"),
            (*what).to_owned(),
        )
    });
    let files = FileFormat::ALL.iter().map(|format| {
        let what = format!("of {}", super::simple(format.input_format()));
        (format.rdd().to_owned(), what)
    });
    // Read by the sql lane.
    let scan = (
        "RDDScanExec".to_owned(),
        "of rows that Python pickled: createDataFrame, toDF".to_owned(),
    );
    classes
        .chain(functions)
        .chain(files)
        .chain([scan])
        .collect()
}

impl FileFormat {
    /// Each format once.
    const ALL: [Self; 4] = [Self::Lines, Self::WholeText, Self::Binary, Self::Records(1)];

    /// Spark's RDD that reads it.
    pub(super) fn rdd(self) -> &'static str {
        match self {
            Self::Lines => "HadoopRDD",
            Self::WholeText => "WholeTextFileRDD",
            Self::Records(_) => "NewHadoopRDD",
            Self::Binary => "BinaryFileRDD",
        }
    }

    /// Hadoop's class that reads it.
    pub(super) fn input_format(self) -> &'static str {
        match self {
            Self::Lines => "org.apache.hadoop.mapred.TextInputFormat",
            Self::WholeText => "org.apache.spark.input.WholeTextFileInputFormat",
            Self::Binary => "org.apache.spark.input.StreamInputFormat",
            Self::Records(_) => "org.apache.spark.input.FixedLengthBinaryInputFormat",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recognised_has_names() {
        assert_eq!(rdd_class("rdd.UnionRDD"), Some(RddClass::Union));
        assert_eq!(rdd_class("rdd.JdbcRDD"), None);
        let values = mapped(("rdd.RDD", "map$2"), ("rdd.PairRDDFunctions", "values$1"));
        assert_eq!(values, Some(Mapped::Second));
        assert_eq!(mapped(("rdd.RDD", "map$2"), ("rdd.RDD", "values$1")), None);
        let all = recognised();
        let of = |name: &str| all.iter().any(|(known, _)| known == name);
        assert!(of("PythonRDD") && of("HadoopRDD"));
        assert!(of("MapPartitionsRDD of PythonRDD.valueOfPair"), "{all:?}");
    }
}
