//! How a task's partition is handed down to the leaves of its stage.

use std::sync::Arc;

use javaser::arena::{NodeId, Value};
use javaser::kryo::{KryoForm, last_unsafe_rows, length_of_sequence};

use crate::error::{Result, Unsupported};
use crate::literal::{Literal, read_row};
use crate::object::{Object, Reader};
use crate::plan::{LeafId, Operator, OperatorKind};
use crate::scan::{self, FileFormat, FileSourceScan, deletion_vector};
use crate::types::{DataType, StructField};

/// The way of partitions through a stage: the shape of its RDDs.
#[derive(Debug, Clone, PartialEq)]
pub enum Inputs {
    /// The partition is this leaf's.
    Leaf(LeafId),
    /// `ZippedPartitionsRDD2`: one partition for each.
    Zip(Vec<Self>),
    /// `CartesianRDD`: one partition for each of two.
    Cartesian(Vec<Self>),
    /// `UnionRDD`: the partition of one of them.
    Union(Vec<Self>),
    /// `CoalescedRDD`: several partitions of the same.
    Coalesced(Box<Self>),
    /// The RDD of a cached table, whose block has the number of the partition.
    Cached(Box<Self>),
}

/// What a task reads, with the shape of [`Inputs`].
#[derive(Debug, Clone, PartialEq)]
pub enum TaskInputs {
    /// What the leaf reads.
    Leaf(LeafId, LeafInput),
    /// See [`Inputs::Zip`] and [`Inputs::Cartesian`].
    Zip(Vec<Self>),
    /// See [`Inputs::Union`]: which, and its input.
    Union(usize, Box<Self>),
    /// See [`Inputs::Coalesced`].
    Coalesced(Vec<Self>),
    /// See [`Inputs::Cached`]: the number of the partition, and what it is made of.
    Cached(i32, Box<Self>),
}

/// What a leaf reads in a task.
#[derive(Debug, Clone, PartialEq)]
pub enum LeafInput {
    /// Parts of files.
    Files(Vec<PartitionedFile>),
    /// Part of a shuffle.
    Shuffle(ShufflePartitionSpec),
    /// Rows, as `UnsafeRow`s.
    Rows(Vec<Vec<u8>>),
    /// Which slice of a range, or partition of a checkpoint.
    Slice(i32),
    /// The partition of an RDD of PySpark, in the task's graph.
    Partition(NodeId),
    /// The partition of an RDD that the JVM computes, as a stream of objects.
    Object(Vec<u8>),
}

/// A `PartitionedFile`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionedFile {
    /// URL of the file.
    pub path: String,
    /// Where the part starts.
    pub start: i64,
    /// Bytes of the part.
    pub length: i64,
    /// Bytes of the file.
    pub file_size: i64,
    /// When the file was written, in milliseconds since the epoch.
    pub modification_time: i64,
    /// Values of the partition columns.
    pub partition_values: Vec<Literal>,
    /// Of a table of Delta's: which of the file's rows are deleted.
    pub deletion_vector: Option<DeletionVector>,
    /// Of a table of Iceberg's: what its tasks say of a file.
    pub table: Option<Arc<TableFile>>,
}

/// What a task says of a file of a table of Iceberg's. The URL of such a file may lack a scheme: then it is on the
/// file system that Hadoop's settings name.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFile {
    /// Where the file is, as the table's metadata have it.
    pub location: String,
    /// The columns of the scan, with the ids by which files know them.
    pub columns: Arc<[StructField]>,
    /// The places of those whose value is the same for all rows, and the values.
    pub constants: Vec<(usize, Literal)>,
    /// Which rows are deleted.
    pub deletes: Vec<PositionDeletes>,
    /// The table's `FileIO`, with Hadoop's settings, or the table with that.
    pub io: Arc<TaskBroadcast>,
}

/// A `TorrentBroadcast` that a task brings along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskBroadcast {
    /// `Broadcast.id`
    pub id: i64,
    /// The object, as a stream.
    pub object: Vec<u8>,
}

/// Where places of deleted rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PositionDeletes {
    /// In a file of Parquet, with the places of other files' rows.
    File {
        /// Its URL, as that of the file.
        path: String,
        /// Its bytes.
        size: i64,
    },
    /// In a `deletion-vector-v1` of a Puffin file.
    Vector {
        /// URL of the Puffin file, as that of the file.
        path: String,
        /// Where it starts.
        offset: i64,
        /// Its bytes.
        size: i64,
        /// How many rows it marks.
        rows: i64,
    },
}

/// The rows of a file that are marked, and what that says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionVector {
    /// Delta's `DeletionVectorDescriptor` in Base64.
    pub descriptor: String,
    /// What becomes of the rows.
    pub filter: RowIndexFilter,
}

/// `RowIndexFilterType`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowIndexFilter {
    /// Rows that are marked are deleted (`IF_CONTAINED`).
    DropMarked,
    /// All others are (`IF_NOT_CONTAINED`).
    KeepMarked,
}

/// A `ShufflePartitionSpec`: which blocks of a shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShufflePartitionSpec {
    /// `CoalescedPartitionSpec`: these reduce partitions of all maps.
    Coalesced {
        /// The first.
        start_reducer: i32,
        /// The one behind the last.
        end_reducer: i32,
    },
    /// `PartialReducerPartitionSpec`: one reduce partition of these maps (a skewed join).
    PartialReducer {
        /// The reduce partition.
        reducer: i32,
        /// Index of the first map.
        start_map: i32,
        /// The one behind the last.
        end_map: i32,
    },
    /// `PartialMapperPartitionSpec`: these reduce partitions of one map (a local read).
    PartialMapper {
        /// Index of the map.
        map: i32,
        /// The first reduce partition.
        start_reducer: i32,
        /// The one behind the last.
        end_reducer: i32,
    },
    /// `CoalescedMapperPartitionSpec`: all reduce partitions of these maps (a local read).
    CoalescedMapper {
        /// Index of the first map.
        start_map: i32,
        /// The one behind the last.
        end_map: i32,
        /// Number of reduce partitions.
        num_reducers: i32,
    },
}

/// Reads a task's partition, which is in a graph of its own.
pub(crate) fn bind(
    reader: &Reader<'_>,
    inputs: &Inputs,
    leaves: &[&Operator],
    partition: Object<'_>,
) -> Result<TaskInputs> {
    reader.nested(|| match inputs {
        Inputs::Leaf(leaf) => {
            let operator = leaves.get(*leaf).ok_or_else(|| wrong(partition))?;
            Ok(TaskInputs::Leaf(
                *leaf,
                read_leaf(reader, operator, partition)?,
            ))
        }
        Inputs::Zip(inputs) => {
            expect(partition, "ZippedPartitionsPartition")?;
            let partitions = partition.elements("partitionValues")?;
            if partitions.len() != inputs.len() {
                return Err(wrong(partition));
            }
            let pairs = inputs.iter().zip(partitions);
            pairs
                .map(|(inputs, value)| bind(reader, inputs, leaves, reader.expect(value)?))
                .collect::<Result<_>>()
                .map(TaskInputs::Zip)
        }
        Inputs::Cartesian(inputs) => {
            expect(partition, "CartesianPartition")?;
            let pairs = inputs.iter().zip(["s1", "s2"]);
            pairs
                .map(|(inputs, field)| bind(reader, inputs, leaves, partition.object(field)?))
                .collect::<Result<_>>()
                .map(TaskInputs::Zip)
        }
        Inputs::Union(branches) => {
            expect(partition, "UnionPartition")?;
            let index = usize::try_from(partition.int("parentRddIndex")?);
            let index = index.map_err(|_| wrong(partition))?;
            let branch = branches.get(index).ok_or_else(|| wrong(partition))?;
            let parent = partition.object("parentPartition")?;
            let input = bind(reader, branch, leaves, parent)?;
            Ok(TaskInputs::Union(index, Box::new(input)))
        }
        Inputs::Coalesced(inputs) => {
            let parents = partition.elements("parents")?;
            let of = |inputs, value| bind(reader, inputs, leaves, reader.expect(value)?);
            let all: Result<Vec<TaskInputs>> = match (&**inputs, partition.name()) {
                (inputs, "CoalescedRDDPartition") => {
                    parents.into_iter().map(|value| of(inputs, value)).collect()
                }
                // One of each input.
                (Inputs::Union(branches), "PartitionerAwareUnionRDDPartition")
                    if branches.len() == parents.len() =>
                {
                    let pairs = branches.iter().zip(parents).enumerate();
                    let input = |(index, (branch, value))| {
                        Ok(TaskInputs::Union(index, Box::new(of(branch, value)?)))
                    };
                    pairs.map(input).collect()
                }
                _ => return Err(wrong(partition)),
            };
            all.map(TaskInputs::Coalesced)
        }
        Inputs::Cached(input) => {
            let index = match partition.name() {
                "ParallelCollectionPartition" => slice(reader, partition)?,
                _ => {
                    let field = ["index", "idx"]
                        .into_iter()
                        .find(|field| partition.get(field).is_some());
                    partition.int(field.ok_or_else(|| wrong(partition))?)?
                }
            };
            let input = bind(reader, input, leaves, partition)?;
            Ok(TaskInputs::Cached(index, Box::new(input)))
        }
    })
}

fn wrong(partition: Object<'_>) -> Unsupported {
    Unsupported::Class(partition.name().to_owned())
}

fn expect(partition: Object<'_>, class: &str) -> Result<()> {
    match partition.name() {
        found if found == class => Ok(()),
        _ => Err(wrong(partition)),
    }
}

fn read_leaf(reader: &Reader<'_>, leaf: &Operator, partition: Object<'_>) -> Result<LeafInput> {
    match &leaf.kind {
        OperatorKind::FileSourceScan(scan) if matches!(scan.format, FileFormat::Iceberg(_)) => {
            read_table(reader, scan, partition)
        }
        OperatorKind::FileSourceScan(scan) => {
            expect(partition, "FilePartition")?;
            let types: Vec<_> = scan
                .partition_schema
                .iter()
                .map(|field| field.data_type.clone())
                .collect();
            let files = partition.elements("files")?.into_iter();
            files
                .map(|file| read_file(reader, reader.expect(file)?, &types))
                .collect::<Result<_>>()
                .map(LeafInput::Files)
        }
        OperatorKind::ShuffleRead { .. } => {
            expect(partition, "ShuffledRowRDDPartition")?;
            read_spec(partition.object("spec")?).map(LeafInput::Shuffle)
        }
        // The first up to Spark 4.2, the second from there on.
        OperatorKind::LocalTableScan { .. }
            if ["CoalesceExec$EmptyPartition", "EmptyPartition"].contains(&partition.name()) =>
        {
            Ok(LeafInput::Rows(Vec::new()))
        }
        OperatorKind::LocalTableScan { .. } => {
            expect(partition, "ParallelCollectionPartition")?;
            let mut promised = leaf.output.num_fields();
            let mut rows = Vec::new();
            for row in local_rows(reader, partition)? {
                let (bytes, num_fields) = row;
                if *promised.get_or_insert(num_fields) != num_fields {
                    return Err(Unsupported::of_use("rows of another width"));
                }
                rows.push(bytes);
            }
            Ok(LeafInput::Rows(rows))
        }
        OperatorKind::OneRowRelation { .. } => {
            expect(partition, "ParallelCollectionPartition")?;
            match elements(reader, partition)? {
                1 => Ok(LeafInput::Rows(vec![Vec::new()])),
                _ => Err(Unsupported::of_use("one row that is not one")),
            }
        }
        OperatorKind::Range { .. } => {
            expect(partition, "ParallelCollectionPartition")?;
            Ok(LeafInput::Slice(slice(reader, partition)?))
        }
        OperatorKind::PickledScan(_) => Ok(LeafInput::Partition(partition.node)),
        OperatorKind::Objects { .. } => read_object(reader, partition),
        OperatorKind::CheckpointScan(_) => {
            expect(partition, "CheckpointRDDPartition")?;
            Ok(LeafInput::Slice(partition.int("index")?))
        }
        _ => Err(wrong(partition)),
    }
}

fn read_object(reader: &Reader<'_>, partition: Object<'_>) -> Result<LeafInput> {
    let (_, stream) = reader.copied(&[Value::Ref(partition.node)])?;
    Ok(LeafInput::Object(stream))
}

/// What a task reads of a table of Iceberg's: files, or whatever it is in the JVM.
fn read_table(
    reader: &Reader<'_>,
    scan: &FileSourceScan,
    partition: Object<'_>,
) -> Result<LeafInput> {
    match scan::iceberg_files(reader, &scan.required_schema, partition) {
        Ok(files) => Ok(LeafInput::Files(files)),
        Err(_) if scan.in_jvm.is_some() => read_object(reader, partition),
        Err(why) => Err(why),
    }
}

/// Bytes of the numbers before the elements that a `ParallelCollectionPartition` writes by itself.
const OWN_NUMBERS: usize = size_of::<i64>() + size_of::<i32>();

/// What a `ParallelCollectionPartition` writes by itself under Kryo, if it does: the RDD's number, its own, and its
/// elements.
fn own_data(reader: &Reader<'_>, partition: Object<'_>) -> Option<(KryoForm, Vec<u8>)> {
    let form = reader.settings.kryo?;
    let level = reader.graph.levels(partition.node).next_back()?;
    let bytes = level.block_bytes().into_owned();
    (!bytes.is_empty()).then_some((form, bytes))
}

/// The rows of a `ParallelCollectionPartition`, each with its number of columns.
fn local_rows(reader: &Reader<'_>, partition: Object<'_>) -> Result<Vec<(Vec<u8>, usize)>> {
    let Some((form, own)) = own_data(reader, partition) else {
        let rows = partition.elements("values")?.into_iter();
        return rows.map(|row| read_row_bytes(reader, row)).collect();
    };
    let rows = own.get(OWN_NUMBERS..);
    let rows = rows.and_then(|rows| last_unsafe_rows(rows, form));
    let rows = rows.ok_or_else(|| Unsupported::of_use("local rows that Kryo wrote otherwise"))?;
    let rows = rows.into_iter().map(|(row, columns)| {
        let columns = usize::try_from(columns).map_err(|_| partition.missing("numFields"))?;
        Ok((row.to_vec(), columns))
    });
    rows.collect()
}

/// How many elements a `ParallelCollectionPartition` has.
fn elements(reader: &Reader<'_>, partition: Object<'_>) -> Result<usize> {
    let Some((form, own)) = own_data(reader, partition) else {
        return Ok(partition.elements("values")?.len());
    };
    let values = own.get(OWN_NUMBERS..);
    let length = values.and_then(|values| length_of_sequence(values, form));
    length.ok_or_else(|| Unsupported::of_use("a collection that Kryo wrote otherwise"))
}

/// The number of a `ParallelCollectionPartition`.
fn slice(reader: &Reader<'_>, partition: Object<'_>) -> Result<i32> {
    let Some((_, own)) = own_data(reader, partition) else {
        return partition.int("slice");
    };
    let number = own
        .get(size_of::<i64>()..)
        .and_then(|rest| rest.first_chunk());
    let number = number.ok_or_else(|| partition.missing("slice"))?;
    Ok(i32::from_be_bytes(*number))
}

/// Bytes and number of columns of a row.
fn read_row_bytes(reader: &Reader<'_>, row: Value) -> Result<(Vec<u8>, usize)> {
    let row = reader.expect(row)?;
    match row.name() {
        "UnsafeRow" => crate::literal::unsafe_row_bytes(row),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

fn read_file(reader: &Reader<'_>, file: Object<'_>, types: &[DataType]) -> Result<PartitionedFile> {
    Ok(PartitionedFile {
        path: file.object("filePath")?.text("underlying")?.into_owned(),
        start: file.long("start")?,
        length: file.long("length")?,
        file_size: file.long("fileSize")?,
        modification_time: file.long("modificationTime")?,
        partition_values: read_row(reader, file.object("partitionValues")?, types)?,
        deletion_vector: deletion_vector(reader, file)?,
        table: None,
    })
}

fn read_spec(spec: Object<'_>) -> Result<ShufflePartitionSpec> {
    let int = |name| spec.int(name);
    Ok(match spec.name() {
        "CoalescedPartitionSpec" => ShufflePartitionSpec::Coalesced {
            start_reducer: int("startReducerIndex")?,
            end_reducer: int("endReducerIndex")?,
        },
        "PartialReducerPartitionSpec" => ShufflePartitionSpec::PartialReducer {
            reducer: int("reducerIndex")?,
            start_map: int("startMapIndex")?,
            end_map: int("endMapIndex")?,
        },
        "PartialMapperPartitionSpec" => ShufflePartitionSpec::PartialMapper {
            map: int("mapIndex")?,
            start_reducer: int("startReducerIndex")?,
            end_reducer: int("endReducerIndex")?,
        },
        "CoalescedMapperPartitionSpec" => ShufflePartitionSpec::CoalescedMapper {
            start_map: int("startMapIndex")?,
            end_map: int("endMapIndex")?,
            num_reducers: int("numReducers")?,
        },
        other => return Err(Unsupported::Class(other.to_owned())),
    })
}
