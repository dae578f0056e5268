//! Shuffles that a stage reads or writes.

use javaser::arena::NodeId;
use javaser::kryo::{KryoForm, last_unsafe_rows};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, SortOrder, read_attributes, read_sort_orders};
use crate::literal::{Literal, read_row};
use crate::metrics::{Metric, read_map};
use crate::object::{Object, Reader};
use crate::plan::ShuffleRead;
use crate::unsafe_row;
use javaser::Closure;

/// A shuffle that a stage writes, in rows of `UnsafeRowSerializer`.
#[derive(Debug, Clone, PartialEq)]
pub struct ShuffleWrite {
    /// Which, and its sizes.
    pub shuffle: ShuffleRead,
    /// Where rows go.
    pub partitioning: Partitioning,
    /// Columns of the rows.
    pub output: Vec<Attribute>,
    /// Whether the map status has a checksum over the rows, `ShuffleDependency.rowBasedChecksums`.
    pub row_checksums: bool,
    /// Metrics of the exchange: `dataSize`, `shuffleBytesWritten`, `shuffleRecordsWritten`, `shuffleWriteTime`.
    pub metrics: Vec<Metric>,
    /// The `ShuffleDependency` in the stage's graph.
    pub dependency: NodeId,
}

/// A `Partitioning` that rows are sent by.
#[derive(Debug, Clone, PartialEq)]
pub enum Partitioning {
    /// `HashPartitioning`: `pmod(Murmur3Hash(expressions, 42), n)`.
    Hash(Vec<Expr>),
    /// `RangePartitioning`: between which bounds.
    Range {
        /// What is compared.
        order: Vec<SortOrder>,
        /// Values of `order`'s expressions, in that order; one less than there are partitions, or fewer.
        bounds: Vec<Vec<Literal>>,
    },
    /// `RoundRobinPartitioning`: one after the other.
    RoundRobin {
        /// `spark.sql.execution.sortBeforeRepartition`: rows are sorted by their hash before.
        sorted: bool,
    },
    /// `SinglePartition`
    Single,
}

/// A `ShuffleDependency` of rows.
pub(crate) fn read(dependency: Object<'_>) -> Result<ShuffleRead> {
    if dependency.class() != "org.apache.spark.ShuffleDependency" {
        return Err(Unsupported::Class(dependency.name().to_owned()));
    }
    let serializer = dependency.object("serializer")?;
    if serializer.name() != "UnsafeRowSerializer" {
        return Err(Unsupported::of_use(format!(
            "a shuffle with {}",
            serializer.name()
        )));
    }
    for name in ["aggregator", "keyOrdering"] {
        if dependency.option(name)?.is_some() {
            return Err(Unsupported::of_use(format!("a shuffle with {name}")));
        }
    }
    let partitioner = dependency.object("partitioner")?;
    let num_partitions = match partitioner.name() {
        "PartitionIdPassthrough" => partitioner.int("numPartitions")?,
        "HashPartitioner" => partitioner.int("partitions")?,
        "ConstantPartitioner" => 1,
        "RangePartitioner" => {
            let bounds = partitioner.elements("rangeBounds")?.len();
            i32::try_from(bounds + 1).map_err(|_| partitioner.missing("rangeBounds"))?
        }
        other => return Err(Unsupported::Class(other.to_owned())),
    };
    Ok(ShuffleRead {
        shuffle_id: dependency.int("shuffleId")?,
        num_maps: dependency.int("numPartitions")?,
        num_partitions,
        num_fields: serializer.int("numFields")?,
    })
}

/// A shuffle that is written, with the RDD of rows below it.
pub(crate) fn write<'g>(
    reader: &Reader<'g>,
    dependency: Object<'g>,
    rdd: Object<'g>,
) -> Result<(ShuffleWrite, Object<'g>)> {
    let shuffle = read(dependency)?;
    let merges = dependency.flag("_shuffleMergeAllowed");
    if merges && !dependency.elements("mergerLocs")?.is_empty() {
        return Err(Unsupported::of_use("push-based shuffle"));
    }
    // An RDD of pairs of a partition's number and a row.
    let closure = prepared(reader, rdd)?;
    let [_, _, _] = closure.args[..] else {
        return Err(closure.unsupported());
    };
    let mut rows = rdd.object("prev")?;
    let partitioner = closure.arg(reader, 0)?;
    let partitioning = closure.arg(reader, 1)?;
    let partitioning = match partitioning.name() {
        "HashPartitioning" => {
            let expressions = partitioning.elements("expressions")?;
            Partitioning::Hash(Expr::read_all(reader, expressions)?)
        }
        "SinglePartition" => Partitioning::Single,
        "RangePartitioning" => range(reader, partitioner, partitioning)?,
        "RoundRobinPartitioning" => {
            let sort = prepared(reader, rows).ok();
            let sorted = sort.is_some_and(|sort| sort.args.len() == 1);
            if sorted {
                rows = rows.object("prev")?;
            }
            Partitioning::RoundRobin { sorted }
        }
        other => return Err(Unsupported::Class(other.to_owned())),
    };
    let mut metrics = write_metrics(reader, dependency)?;
    let data_size = dependency.object("serializer")?.value("dataSize")?;
    if reader.class(data_size) != "null" {
        metrics.insert(0, Metric::read(reader, "dataSize", data_size)?);
    }
    let checksums = match dependency.maybe("rowBasedChecksums") {
        Some(_) => dependency.elements("rowBasedChecksums")?,
        None => Vec::new(),
    };
    let write = ShuffleWrite {
        shuffle,
        partitioning,
        output: read_attributes(reader, closure.elements(reader, 2)?)?,
        row_checksums: !checksums.is_empty(),
        metrics,
        dependency: dependency.node,
    };
    Ok((write, rows))
}

/// Metrics of a shuffle's writer, in the order of their names.
pub(crate) fn write_metrics(reader: &Reader<'_>, dependency: Object<'_>) -> Result<Vec<Metric>> {
    let processor = dependency.object("shuffleWriterProcessor")?;
    read_map(reader, processor, "metrics$1")
}

/// A closure of `ShuffleExchangeExec.prepareShuffleDependency`.
pub(crate) fn prepared(reader: &Reader<'_>, rdd: Object<'_>) -> Result<Closure> {
    let outer = Closure::in_field(rdd, "f")?;
    let closure = outer
        .inner(reader.graph)
        .ok_or_else(|| outer.unsupported())?;
    match closure.name() {
        ("sql.execution.exchange.ShuffleExchangeExec$", "prepareShuffleDependency") => Ok(closure),
        _ => Err(closure.unsupported()),
    }
}

/// The same under Kryo: the partitioner writes whether it ascends, and a stream of Kryo's of the class and the array of
/// its bounds.
fn kryo_range(
    reader: &Reader<'_>,
    partitioner: Object<'_>,
    partitioning: Object<'_>,
    form: KryoForm,
) -> Result<Partitioning> {
    let level = reader.graph.levels(partitioner.node).next_back();
    let own = level.map(|level| level.block_bytes().into_owned());
    let own = own.ok_or_else(|| partitioner.missing("rangeBounds"))?;
    let Some((1, bounds)) = own.split_first() else {
        return Err(Unsupported::of_use(
            "a range partitioner that is not ascending",
        ));
    };
    let order = read_sort_orders(reader, partitioning.elements("ordering")?)?;
    let types: Vec<_> = order.iter().map(|by| by.child.data_type.clone()).collect();
    let bounds = last_unsafe_rows(bounds, form);
    let bounds = bounds.ok_or_else(|| Unsupported::of_use("bounds that Kryo wrote otherwise"))?;
    let bounds = bounds.into_iter().map(|(row, columns)| {
        if usize::try_from(columns) != Ok(types.len()) {
            return Err(Unsupported::of_use("a row of another width"));
        }
        unsafe_row::read(row, &types)
    });
    let bounds = bounds.collect::<Result<_>>()?;
    Ok(Partitioning::Range { order, bounds })
}

fn range(
    reader: &Reader<'_>,
    partitioner: Object<'_>,
    partitioning: Object<'_>,
) -> Result<Partitioning> {
    if partitioner.name() != "RangePartitioner" {
        return Err(Unsupported::Class(partitioner.name().to_owned()));
    }
    if let Some(form) = reader.settings.kryo {
        return kryo_range(reader, partitioner, partitioning, form);
    }
    if !partitioner.bool("ascending")? {
        return Err(Unsupported::of_use(
            "a range partitioner that is not ascending",
        ));
    }
    let order = read_sort_orders(reader, partitioning.elements("ordering")?)?;
    let types: Vec<_> = order.iter().map(|by| by.child.data_type.clone()).collect();
    let bounds = partitioner
        .elements("rangeBounds")?
        .into_iter()
        .map(|row| read_row(reader, reader.expect(row)?, &types))
        .collect::<Result<_>>()?;
    Ok(Partitioning::Range { order, bounds })
}
