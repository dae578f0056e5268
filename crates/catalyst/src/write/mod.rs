//! Writes of files: what `FileFormatWriter` gives the tasks of its last stage.
//!
//! A task writes the rows of its partition into files below a directory of its own, and moves that directory to where
//! the driver finds it (`HadoopMapReduceCommitProtocol` over Hadoop's `FileOutputCommitter`). Columns go by their
//! places: the attributes of the description are those of the analyzed plan.

mod format;

use javaser::Closure;
use javatime::TimeZone;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, EvalMode, Expr, ExprId, ExprKind, Function, read_attributes};
use crate::lineage::{Hint, Lineage, Tree};
use crate::literal::Literal;
use crate::metrics::Metric;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::types::DataType;

pub use format::{CsvWrite, WrittenFormat};

/// The object that writes.
const WRITER: &str = "sql.execution.datasources.FileFormatWriter";
/// The id of the column with the bucket, which is none of Spark's, nor of a partition's text.
const BUCKET_ID: i64 = i64::MIN;
/// The package of all that a write is described with.
const PACKAGE: &str = "org.apache.spark.sql.execution.datasources.";

/// A `WriteJobDescription` with its `SQLHadoopMapReduceCommitProtocol`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileWrite {
    /// What the files are.
    pub format: WrittenFormat,
    /// `jobId` of the committer: part of the files' names.
    pub job_id: String,
    /// The directory that is written to, as Hadoop's `Path.toString` writes it.
    pub path: String,
    /// Whether only the partitions that get rows are replaced: files are staged elsewhere then.
    pub dynamic_overwrite: bool,
    /// `jobTrackerID`: part of the names of attempts.
    pub tracker_id: String,
    /// Columns of the files, each with its place among those of the rows.
    pub data: Vec<(usize, Attribute)>,
    /// Columns that say which directory a row belongs to.
    pub partitions: Vec<PartitionColumn>,
    /// The place of the number of a row's bucket, behind all texts, if files have the rows of one bucket each.
    pub bucket: Option<usize>,
    /// Most rows in a file, if there is a limit.
    pub max_records: Option<u64>,
    /// Hadoop's settings of the job, as `Configuration.write` writes them.
    pub hadoop: Vec<u8>,
    /// Accumulator of the time that committing takes, in milliseconds.
    pub commit_time: i64,
}

/// A column by whose values rows are divided into directories.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionColumn {
    /// The column.
    pub attribute: Attribute,
    /// Its place among the columns of the rows.
    pub place: usize,
    /// The place of its values as texts.
    pub text: usize,
}

/// What the function of a stage that writes has captured, itself or in the closure of its RDD.
pub(crate) struct Captured<'g> {
    description: Object<'g>,
    tracker_id: String,
    committer: Object<'g>,
    /// The plan's rows; of no plan if it has no partitions.
    rows: Object<'g>,
}

impl<'g> Captured<'g> {
    /// `None` if the stage does something else.
    pub(crate) fn of(
        reader: &Reader<'g>,
        function: &Closure,
        rdd: Object<'g>,
    ) -> Result<Option<Self>> {
        let (class, method) = function.name();
        if class.trim_end_matches('$') != WRITER || method != "executeWrite" {
            return Ok(None);
        }
        if !function.args.is_empty() {
            return Self::read(reader, function, rdd).map(Some);
        }
        // Planned writes: the rows are written by the RDD, the function takes what comes of it.
        let outer = Closure::in_field(rdd, "f")?;
        let inner = outer
            .inner(reader.graph)
            .ok_or_else(|| outer.unsupported())?;
        match inner.name() {
            ("sql.execution.datasources.WriteFilesExec", "doExecuteWrite") => {
                Self::read(reader, &inner, rdd.object("prev")?).map(Some)
            }
            _ => Err(inner.unsupported()),
        }
    }

    fn read(reader: &Reader<'g>, closure: &Closure, rows: Object<'g>) -> Result<Self> {
        let [_, tracker, _, writers] = closure.args[..] else {
            return Err(closure.unsupported());
        };
        let tracker_id = reader.graph.str(tracker);
        match reader.graph.scala_option(writers) {
            Some(None) => {}
            Some(Some(_)) => {
                return Err(Unsupported::of_use(
                    "a write with several open files (spark.sql.maxConcurrentOutputFileWriters)",
                ));
            }
            None => return Err(closure.unsupported()),
        }
        Ok(Self {
            description: closure.arg(reader, 0)?,
            tracker_id: tracker_id
                .ok_or_else(|| closure.unsupported())?
                .into_owned(),
            committer: closure.arg(reader, 2)?,
            rows,
        })
    }
}

impl<'g> Lineage<'_, 'g> {
    /// The rows of a write, with the texts of its partition columns behind all others.
    pub(crate) fn file_write(&mut self, captured: &Captured<'g>) -> Result<(Tree, FileWrite)> {
        let reader = self.reader;
        let columns = read_attributes(reader, captured.description.elements("allColumns")?)?;
        let write = FileWrite::read(reader, captured, &columns)?;
        let bucket = bucket(reader, captured.description)?;
        let zone = captured.description.text("timeZoneId")?;
        let zone = TimeZone::new(&zone, &reader.settings.zones);
        let mut tree = match captured.rows.name() {
            // Stands for a plan without partitions.
            "ParallelCollectionRDD" => {
                let columns = Columns::Known(columns.clone());
                self.local_rows(captured.rows, columns, Vec::new())?
            }
            _ => self.rdd(captured.rows, Hint::output(columns.clone()))?,
        };
        tree.operator.name_columns(&columns)?;
        if !write.partitions.is_empty() || bucket.is_some() {
            tree.operator = with_texts(tree.operator, &write.partitions, bucket, &zone)?;
        }
        Ok((tree, write))
    }
}

impl FileWrite {
    fn read(reader: &Reader<'_>, captured: &Captured<'_>, columns: &[Attribute]) -> Result<Self> {
        let Captured {
            description,
            committer,
            tracker_id,
            ..
        } = captured;
        description.only(&[
            "uuid",
            "serializableHadoopConf",
            "outputWriterFactory",
            "allColumns",
            "dataColumns",
            "partitionColumns",
            "bucketSpec",
            "path",
            "customPartitionLocations",
            "maxRecordsPerFile",
            "timeZoneId",
            "statsTrackers",
        ])?;
        check_places(*description)?;
        let of_spark = format!("{PACKAGE}SQLHadoopMapReduceCommitProtocol");
        if committer.class() != of_spark {
            return Err(Unsupported::Class(committer.name().to_owned()));
        }
        committer.only(&["path", "dynamicPartitionOverwrite"])?;
        let place = |column: &Attribute| {
            let mut all = columns.iter();
            let place = all.position(|other| other.id == column.id);
            place.ok_or_else(|| description.missing("allColumns"))
        };
        let data = read_attributes(reader, description.elements("dataColumns")?)?;
        let data = data.into_iter().map(|column| Ok((place(&column)?, column)));
        let partitions = read_attributes(reader, description.elements("partitionColumns")?)?;
        let behind_texts = columns.len() + partitions.len();
        let bucket = description.option("bucketSpec")?.map(|_| behind_texts);
        let partitions = partitions.into_iter().zip(columns.len()..);
        let partitions = partitions.map(|(attribute, text)| {
            Ok(PartitionColumn {
                place: place(&attribute)?,
                attribute,
                text,
            })
        });
        let max_records = description.long("maxRecordsPerFile")?;
        Ok(Self {
            format: WrittenFormat::read(reader, *description)?,
            job_id: committer.text("jobId")?.into_owned(),
            path: committer.text("path")?.into_owned(),
            dynamic_overwrite: committer.bool("dynamicPartitionOverwrite")?,
            tracker_id: tracker_id.clone(),
            data: data.collect::<Result<_>>()?,
            partitions: partitions.collect::<Result<_>>()?,
            bucket,
            max_records: u64::try_from(max_records).ok().filter(|most| *most > 0),
            hadoop: hadoop(*description)?,
            commit_time: commit_time(reader, *description)?,
        })
    }
}

/// Files that go where their partition says.
fn check_places(description: Object<'_>) -> Result<()> {
    if !description.pairs("customPartitionLocations")?.is_empty() {
        return Err(Unsupported::of_use(
            "a write of partitions with locations of their own",
        ));
    }
    Ok(())
}

/// The number of a row's bucket (`WriterBucketSpec`), if rows are divided into buckets.
fn bucket(reader: &Reader<'_>, description: Object<'_>) -> Result<Option<Expr>> {
    let Some(spec) = description.option("bucketSpec")? else {
        return Ok(None);
    };
    let spec = reader.expect(spec)?;
    spec.only(&["bucketIdExpression", "bucketFileNamePrefix"])?;
    let number = Expr::read(reader, spec.value("bucketIdExpression")?)?;
    // Hive's has another hash, and names with a beginning of their own.
    let function = |of: &Expr| match &of.kind {
        ExprKind::Call { function, args, .. } => Some((*function, args.first().cloned())),
        _ => None,
    };
    let is_spark_s = matches!(
        function(&number),
        Some((Function::Pmod, Some(hash)))
            if matches!(function(&hash), Some((Function::Murmur3Hash { .. }, _)))
    );
    match is_spark_s && number.data_type == DataType::Integer {
        true => Ok(Some(number)),
        false => Err(Unsupported::of_use("a write of buckets of Hive's")),
    }
}

/// What the `SerializableConfiguration` writes.
fn hadoop(description: Object<'_>) -> Result<Vec<u8>> {
    let conf = description.object("serializableHadoopConf")?;
    let level = conf.graph.levels(conf.node).next_back();
    let level = level.ok_or_else(|| description.missing("serializableHadoopConf"))?;
    Ok(level.block_bytes().into_owned())
}

/// The metric of the only tracker that Spark has of its own.
fn commit_time(reader: &Reader<'_>, description: Object<'_>) -> Result<i64> {
    let [tracker] = description.elements("statsTrackers")?[..] else {
        return Err(Unsupported::of_use("a write with other statistics"));
    };
    let tracker = reader.expect(tracker)?;
    if tracker.class() != format!("{PACKAGE}BasicWriteJobStatsTracker") {
        return Err(Unsupported::Class(tracker.name().to_owned()));
    }
    tracker.only(&["serializableHadoopConf", "taskCommitTimeMetric"])?;
    let metric = tracker.value("taskCommitTimeMetric")?;
    Ok(Metric::read(reader, "taskCommitTime", metric)?.accumulator)
}

/// A projection that adds partition columns as texts, which are parts of directories' names, and behind them the number
/// of the bucket.
fn with_texts(
    child: Operator,
    partitions: &[PartitionColumn],
    bucket: Option<Expr>,
    zone: &TimeZone,
) -> Result<Operator> {
    let columns = child.output.require()?.to_vec();
    let mut list: Vec<_> = columns.iter().cloned().map(Expr::attribute).collect();
    for (number, partition) in (1..).zip(partitions) {
        let column = columns.get(partition.place);
        let column = column.ok_or_else(|| Unsupported::of_use("rows of other columns"))?;
        list.push(text(column.clone(), number, zone)?);
    }
    list.extend(bucket.map(|bucket| named(bucket, "bucket".to_owned(), BUCKET_ID)));
    let output = list.iter().filter_map(Expr::to_attribute).collect();
    Ok(Operator {
        output: Columns::Known(output),
        kind: OperatorKind::Project {
            list,
            child: Box::new(child),
        },
        metrics: Vec::new(),
    })
}

/// `Empty2Null`: a text for a partition's name, which is never empty.
pub(crate) fn empty_to_null(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child"])?;
    let child = Expr::read(reader, object.value("child")?)?;
    let literal = |value| Expr {
        kind: ExprKind::Literal(value),
        data_type: DataType::String,
        nullable: true,
    };
    let is_empty = Expr {
        kind: ExprKind::Call {
            function: Function::EqualTo,
            args: vec![child.clone(), literal(Literal::String(Vec::new()))],
            mode: None,
            time_zone: None,
        },
        data_type: DataType::Boolean,
        nullable: child.nullable,
    };
    Ok(Expr {
        kind: ExprKind::CaseWhen {
            branches: vec![(is_empty, literal(Literal::Null))],
            otherwise: Some(Box::new(child)),
        },
        data_type: DataType::String,
        nullable: true,
    })
}

/// `CAST(column AS STRING)`, as `BaseDynamicPartitionDataWriter` makes it.
fn text(column: Attribute, number: i64, zone: &TimeZone) -> Result<Expr> {
    let nullable = column.nullable;
    if !column.data_type.is_exact() {
        // Of which -0.0 and 0.0 are two.
        let of = &column.data_type;
        return Err(Unsupported::of_use(format!(
            "a write of partitions by a column of type {of}"
        )));
    }
    let child = Box::new(Expr::attribute(column));
    let cast = match child.data_type {
        DataType::String => *child,
        _ => Expr {
            kind: ExprKind::Cast {
                child,
                // No value has no text.
                mode: EvalMode::Ansi,
                time_zone: Some(zone.clone()),
            },
            data_type: DataType::String,
            nullable,
        },
    };
    // Ids of Spark's are not negative.
    Ok(named(cast, format!("partition {number}"), -number))
}

fn named(expr: Expr, name: String, id: i64) -> Expr {
    Expr {
        data_type: expr.data_type.clone(),
        nullable: expr.nullable,
        kind: ExprKind::Alias {
            child: Box::new(expr),
            name,
            id: ExprId { id, jvm_id: 0 },
        },
    }
}
