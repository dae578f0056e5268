//! Tables of Iceberg's: a `DataSourceRDD` whose partitions are Iceberg's `SparkInputPartition`s.
//!
//! The stage says which columns are read, by Spark's names. Everything else is in the tasks: the files, the ids by
//! which files know those columns, which of them are the same for a whole file, and which of a file's rows are deleted.
//! So a task may turn out to be none that is read natively (files of ORC or Avro, rows deleted by their values, tables
//! about a table) after its stage was taken for one: the rows of such a task's partition are the JVM's.
//!
//! Sources: `SparkBatch`, `SparkInputPartition`, `BaseReader`, `PartitionUtil.constantsMap` and `DeleteFilter` of
//! Iceberg 1.4 to 1.12.

mod schema;

use std::sync::Arc;

use javaser::arena::Value;

use crate::error::{Result, Unsupported};
use crate::inputs::{PartitionedFile, PositionDeletes, TableFile, TaskBroadcast};
use crate::literal::{Literal, read_java_decimal};
use crate::object::{Object, Reader};
use crate::types::{DataType, StructField};

use super::metadata::ROW_INDEX;
use super::parquet::ParquetOptions;
use schema::{PartitionField, read_schema, read_spec};

/// Iceberg's factories of readers: of batches of columns, and of rows.
const OF_COLUMNS: &str = "org.apache.iceberg.spark.source.SparkColumnarReaderFactory";
const OF_ROWS: &str = "org.apache.iceberg.spark.source.SparkRowReaderFactory";

const PARTITION: &str = "org.apache.iceberg.spark.source.SparkInputPartition";

/// Ids of columns that are in no file (`MetadataColumns`).
mod made {
    /// `_file`
    pub(super) const FILE: i64 = i32::MAX as i64 - 1;
    /// `_pos`
    pub(super) const ROW_INDEX: i64 = i32::MAX as i64 - 2;
    /// `_spec_id`
    pub(super) const SPEC: i64 = i32::MAX as i64 - 4;
    /// `_partition`
    pub(super) const PARTITION: i64 = i32::MAX as i64 - 5;
    /// The smallest: others are `_deleted`, and those of rows' lineage.
    pub(super) const FIRST: i64 = i32::MAX as i64 - 201;
}

/// How files are read if they are of Parquet, whatever they are.
pub(super) fn options(factory: Object<'_>) -> Result<ParquetOptions> {
    Ok(ParquetOptions {
        conf: None,
        datetime_rebase_mode: "CORRECTED".to_owned(),
        int96_rebase_mode: "CORRECTED".to_owned(),
        filter_push_down: true,
        case_sensitive: true,
        timestamp_conversion: false,
        batch_rows: batch_rows(factory)?,
        deleted_rows: None,
    })
}

/// Rows of a batch of Iceberg's reader; `None` if it reads rows one by one, of whatever kind of files.
fn batch_rows(factory: Object<'_>) -> Result<Option<usize>> {
    match factory.class() {
        OF_ROWS => Ok(None),
        OF_COLUMNS => {
            // Older releases have the number itself, for both kinds of files.
            let rows = match factory.get("parquetConf") {
                Some(_) => factory.object("parquetConf")?.int("batchSize")?,
                None => factory.int("batchSize")?,
            };
            let rows = usize::try_from(rows).ok().filter(|rows| *rows > 0);
            rows.map(Some).ok_or_else(|| factory.missing("batchSize"))
        }
        _ => Err(Unsupported::Class(factory.name().to_owned())),
    }
}

/// The files of a task, whose scan has these columns.
pub(crate) fn files(
    reader: &Reader<'_>,
    columns: &[StructField],
    partition: Object<'_>,
) -> Result<Vec<PartitionedFile>> {
    if partition.name() != "DataSourceRDDPartition" {
        return Err(Unsupported::Class(partition.name().to_owned()));
    }
    let mut files = Vec::new();
    for input in inputs_of(partition)? {
        read_input(reader, columns, reader.expect(input)?, &mut files)?;
    }
    Ok(files)
}

/// The inputs of a partition. Up to Spark 4.1 there may be several, which are read one after the other.
fn inputs_of(partition: Object<'_>) -> Result<Vec<Value>> {
    match partition.get("inputPartitions") {
        Some(_) => partition.elements("inputPartitions"),
        None => Ok(partition.option("inputPartition")?.into_iter().collect()),
    }
}

/// The columns that an input has.
fn columns_of_input(input: Object<'_>) -> Result<Vec<StructField>> {
    let schema = ["expectedSchemaString", "projectionString"];
    let schema = schema.into_iter().find(|name| input.get(name).is_some());
    let schema = schema.ok_or_else(|| input.missing("expectedSchemaString"))?;
    read_schema(&input.text(schema)?)
}

fn read_input(
    reader: &Reader<'_>,
    columns: &[StructField],
    input: Object<'_>,
    files: &mut Vec<PartitionedFile>,
) -> Result<()> {
    if input.class() != PARTITION {
        return Err(Unsupported::Class(input.name().to_owned()));
    }
    let mut wanted = columns_of_input(input)?;
    check_columns(&mut wanted, columns)?;
    let io = ["fileIOBroadcast", "tableBroadcast"];
    let io = io.into_iter().find_map(|name| input.maybe(name));
    let io = io.ok_or_else(|| input.missing("tableBroadcast"))?;
    let (_, object) = reader.copied(&[Value::Ref(io.node)])?;
    let mut of_all = OfAll {
        reader,
        spec: None,
        columns: wanted.into(),
        io: Arc::new(TaskBroadcast {
            id: io.long("id")?,
            object,
        }),
    };
    let group = input.object("taskGroup")?;
    for task in group.elements("tasks")? {
        files.push(of_all.file(reader.expect(task)?)?);
    }
    Ok(())
}

/// Takes the columns of a table for those of the scan.
fn check_columns(wanted: &mut [StructField], columns: &[StructField]) -> Result<()> {
    let other = || Unsupported::of_use("a scan of other columns");
    if wanted.len() != columns.len() {
        return Err(other());
    }
    for (field, column) in wanted.iter_mut().zip(columns) {
        if field.name != column.name || !field.data_type.is_like(&column.data_type) {
            return Err(other());
        }
        match field.field_id {
            Some(made::ROW_INDEX) => ROW_INDEX.clone_into(&mut field.name),
            Some(made::FILE | made::SPEC | made::PARTITION) => {}
            Some(id) if id >= made::FIRST => {
                return Err(Unsupported::of_use(format!("the column {}", field.name)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What the files of a task have in common.
struct OfAll<'r, 'g> {
    reader: &'r Reader<'g>,
    columns: Arc<[StructField]>,
    io: Arc<TaskBroadcast>,
    /// The partition spec of the last file, and its fields.
    spec: Option<(Value, Vec<PartitionField>)>,
}

impl OfAll<'_, '_> {
    /// What is read by a `FileScanTask`.
    fn file(&mut self, task: Object<'_>) -> Result<PartitionedFile> {
        let (task, part) = match task.name() {
            "BaseFileScanTask$SplitScanTask" => {
                let part = (task.long("offset")?, task.long("len")?);
                (task.object("fileScanTask")?, Some(part))
            }
            _ => (task, None),
        };
        if task.name() != "BaseFileScanTask" {
            return Err(Unsupported::Class(task.name().to_owned()));
        }
        let file = task.object("file")?;
        self.check_format(file, "PARQUET")?;
        let location = file.text("filePath")?.into_owned();
        let file_size = file.long("fileSizeInBytes")?;
        let (start, length) = part.unwrap_or((0, file_size));
        let deletes = task.elements("deletes")?.into_iter();
        let deletes = deletes.map(|delete| self.deletes(self.reader.expect(delete)?, &location));
        let deletes = deletes.collect::<Result<_>>()?;
        let table = TableFile {
            constants: self.constants(task, file, &location)?,
            deletes,
            columns: Arc::clone(&self.columns),
            io: Arc::clone(&self.io),
            location,
        };
        Ok(PartitionedFile {
            path: url_of(&table.location)?,
            start,
            length,
            file_size,
            // A file of Iceberg's is never changed.
            modification_time: 0,
            partition_values: Vec::new(),
            deletion_vector: None,
            table: Some(Arc::new(table)),
        })
    }

    fn check_format(&self, file: Object<'_>, expected: &str) -> Result<()> {
        let format = self.reader.graph.enum_constant(file.value("format")?);
        let format = format.ok_or_else(|| file.missing("format"))?;
        if format != expected {
            return Err(Unsupported::of_use(format!("files of {format}")));
        }
        match file.maybe("keyMetadata") {
            Some(_) => Err(Unsupported::of_use("files that are encrypted")),
            None => Ok(()),
        }
    }

    /// The columns whose values are the file's, as it is read for Spark.
    fn constants(
        &mut self,
        task: Object<'_>,
        file: Object<'_>,
        location: &str,
    ) -> Result<Vec<(usize, Literal)>> {
        let all = Arc::clone(&self.columns);
        let place = |id: i64| all.iter().position(|column| column.field_id == Some(id));
        let mut constants = Vec::new();
        if let Some(place) = place(made::FILE) {
            constants.push((place, Literal::String(location.as_bytes().to_vec())));
        }
        if let Some(place) = place(made::SPEC) {
            constants.push((place, Literal::Integer(file.int("partitionSpecId")?)));
        }
        let spec = task.value("specString")?;
        if self.spec.as_ref().is_none_or(|(known, _)| *known != spec) {
            self.spec = Some((spec, read_spec(&task.text("specString")?)?));
        }
        let fields = self.spec.as_ref().map_or(&[][..], |(_, fields)| fields);
        let partition = place(made::PARTITION);
        if partition.is_none() && fields.iter().all(|field| field.source.is_none()) {
            return Ok(constants);
        }
        let values = file.object("partitionData")?.elements("data")?;
        if values.len() != fields.len() {
            return Err(file.missing("partitionData"));
        }
        if let Some(place) = partition
            && let Some(column) = all.get(place)
        {
            let value = self.partition(&column.data_type, fields, &values)?;
            constants.push((place, value));
        }
        for (field, value) in fields.iter().zip(values) {
            let Some(source) = field.source else { continue };
            match place(source).and_then(|place| Some((place, all.get(place)?))) {
                Some((place, column)) => {
                    constants.push((place, self.constant(value, &column.data_type)?));
                }
                None if has_id(&all, source) => {
                    return Err(Unsupported::of_use("partitions by a field of a struct"));
                }
                None => {}
            }
        }
        Ok(constants)
    }

    /// The partition of a file, as a struct of all fields that the table's partitions ever had, by their ids; null
    /// where there were none. The ids are others in the column, to be none of another column's: fields have the same
    /// names in the same order, or the JVM is to know which are which.
    fn partition(
        &self,
        of: &DataType,
        fields: &[PartitionField],
        values: &[Value],
    ) -> Result<Literal> {
        let other = || Unsupported::of_use("a partition with other fields");
        let DataType::Struct(wanted) = of else {
            return Err(other());
        };
        if wanted.is_empty() {
            return Ok(Literal::Null);
        }
        let mut pairs: Vec<_> = fields.iter().zip(values).collect();
        pairs.sort_by_key(|(field, _)| field.id);
        let mut pairs = pairs.into_iter().peekable();
        let mut parts = Vec::new();
        for (place, part) in wanted.iter().enumerate() {
            if wanted
                .iter()
                .skip(place + 1)
                .any(|other| other.name == part.name)
            {
                return Err(other());
            }
            parts.push(match pairs.next_if(|(field, _)| field.name == part.name) {
                Some((_, value)) => self.constant(*value, &part.data_type)?,
                None => Literal::Null,
            });
        }
        match pairs.next() {
            None => Ok(Literal::Struct(parts)),
            Some(_) => Err(other()),
        }
    }

    /// A value of a partition, which Iceberg keeps in Java's own classes.
    fn constant(&self, value: Value, of: &DataType) -> Result<Literal> {
        let graph = self.reader.graph;
        let class = graph.class_name(value).unwrap_or("null");
        match (class, of) {
            ("null", _) => Ok(Literal::Null),
            ("java.lang.String", DataType::String) => {
                let text = graph.str(value).unwrap_or_default();
                Ok(Literal::String(text.into_owned().into_bytes()))
            }
            ("java.lang.Boolean", DataType::Boolean)
            | ("java.lang.Integer", DataType::Integer | DataType::Date)
            | ("java.lang.Float", DataType::Float)
            | ("java.lang.Double", DataType::Double)
            | ("java.lang.Long", DataType::Long | DataType::Timestamp | DataType::TimestampNtz) => {
                Literal::read(self.reader, value, of)
            }
            ("java.math.BigDecimal", DataType::Decimal(decimal)) => {
                let digits = read_java_decimal(self.reader.expect(value)?, decimal.scale)?;
                Ok(Literal::Decimal(digits))
            }
            // The column was made longer after the file was written.
            ("java.lang.Integer", DataType::Long) => {
                let value = graph.int(value);
                value
                    .map(Literal::Long)
                    .ok_or_else(|| Unsupported::of_use("a partition by nothing"))
            }
            (class, of) => Err(Unsupported::of_use(format!(
                "a partition by a {of} in {class}"
            ))),
        }
    }

    /// Which rows of the file at `location` a file of deletes names.
    fn deletes(&self, delete: Object<'_>, location: &str) -> Result<PositionDeletes> {
        let graph = self.reader.graph;
        let content = graph.enum_constant(delete.value("content")?);
        if content.as_deref() != Some("POSITION_DELETES") {
            return Err(Unsupported::of_use("rows that are deleted by their values"));
        }
        let path = url_of(&delete.text("filePath")?)?;
        let format = graph.enum_constant(delete.value("format")?);
        if format.as_deref() != Some("PUFFIN") {
            self.check_format(delete, "PARQUET")?;
            let size = delete.long("fileSizeInBytes")?;
            return Ok(PositionDeletes::File { path, size });
        }
        self.check_format(delete, "PUFFIN")?;
        if delete.text("referencedDataFile")? != location {
            return Err(Unsupported::of_use("a deletion vector of another file"));
        }
        Ok(PositionDeletes::Vector {
            path,
            offset: delete.long("contentOffset")?,
            size: delete.long("contentSizeInBytes")?,
            rows: delete.long("recordCount")?,
        })
    }
}

/// Whether a part of a column has this id.
fn has_id(fields: &[StructField], id: i64) -> bool {
    fn within(of: &DataType, id: i64) -> bool {
        match of {
            DataType::Array { element, .. } => within(element, id),
            DataType::Map { key, value, .. } => within(key, id) || within(value, id),
            DataType::Struct(fields) => has_id(fields, id),
            _ => false,
        }
    }
    fields
        .iter()
        .any(|field| field.field_id == Some(id) || within(&field.data_type, id))
}

/// The URL of a file at a place that metadata name as Hadoop's `Path` has it. One without a scheme, which is on the
/// file system that Hadoop's settings name, begins with `/`.
fn url_of(location: &str) -> Result<String> {
    let strange = || Unsupported::of_use("a file whose path is written unusually");
    let (scheme, rest) = match location.split_once(":/") {
        Some((scheme, _)) if is_scheme(scheme) => location.split_at(scheme.len() + 1),
        _ if location.starts_with('/') => ("", location),
        _ => return Err(strange()),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) if !scheme.is_empty() => rest.split_at(rest.find('/').ok_or_else(strange)?),
        _ => ("", rest),
    };
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:@".contains(&byte);
    if !path.split('/').skip(1).all(is_plain) || !authority.bytes().all(is_host) {
        return Err(strange());
    }
    let mut url = String::with_capacity(location.len());
    url.push_str(scheme);
    if rest.starts_with("//") {
        url.push_str("//");
        url.push_str(authority);
    }
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'=' | b'+' | b',' | b'@' | b':' => {
                url.push(char::from(byte));
            }
            _ if byte.is_ascii_alphanumeric() => url.push(char::from(byte)),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(url)
}

fn is_scheme(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// As the fuzz target sees it: JSON and paths, or a task's partition.
#[cfg(fuzzing)]
pub(crate) fn fuzz(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = read_schema(text);
        let _ = read_spec(text);
        if let Ok(url) = url_of(text) {
            assert!(url.is_ascii() && !url.split('/').any(|part| part == ".."));
        }
    }
    let limits = javaser::Limits::default();
    let Ok((graph, _)) = javaser::arena::Graph::parse_first(data, &limits) else {
        return;
    };
    let reader = Reader::new(&graph, crate::stage::Settings::default());
    let root = graph.root().and_then(Value::node);
    if let Some(partition) = root.map(|node| reader.object(node))
        && let Ok(columns) = columns_of(&reader, partition)
    {
        let _ = files(&reader, &columns, partition);
    }
}

/// The columns of the first input of a partition, as a scan has them.
#[cfg(any(fuzzing, test))]
fn columns_of(reader: &Reader<'_>, partition: Object<'_>) -> Result<Vec<StructField>> {
    let input = inputs_of(partition)?.first().copied();
    columns_of_input(reader.expect(input.unwrap_or(Value::Null))?)
}

#[cfg(test)]
mod tests {
    use javaser::Limits;
    use javaser::arena::Graph;

    use super::*;
    use crate::stage::Settings;

    /// Partitions of real tasks: rows of 2024-02-29 of a table by days and buckets, some of which were deleted.
    const CAPTURED: [(&str, &[u8]); 4] = [
        (
            "3.5.9, files",
            include_bytes!("../../../tests/fixtures/iceberg/3.5.9-v2.bin"),
        ),
        (
            "3.5.9, vectors",
            include_bytes!("../../../tests/fixtures/iceberg/3.5.9-v3.bin"),
        ),
        (
            "4.1.4, files",
            include_bytes!("../../../tests/fixtures/iceberg/4.1.4-v2.bin"),
        ),
        (
            "4.1.4, vectors",
            include_bytes!("../../../tests/fixtures/iceberg/4.1.4-v3.bin"),
        ),
    ];

    #[test]
    fn tasks_say_what_files_are() {
        for (name, stream) in CAPTURED {
            let graph = Graph::parse(stream, &Limits::default()).unwrap();
            let reader = Reader::new(&graph, Settings::default());
            let partition = reader.object(graph.root().unwrap().node().unwrap());
            let mut columns = columns_of(&reader, partition).unwrap();
            let found = files(&reader, &columns, partition).unwrap();
            assert_eq!(found.len(), 3, "{name}");
            let mut partitions = Vec::new();
            for file in &found {
                let table = file.table.as_deref().unwrap();
                assert_eq!(file.path, table.location, "{name}");
                assert_eq!(file.start + file.length, file.file_size, "{name}");
                let ids = table.columns.iter().filter_map(|field| field.field_id);
                let made = [made::SPEC, made::PARTITION, made::FILE, made::ROW_INDEX];
                assert_eq!(ids.collect::<Vec<_>>(), [&[1, 2, 3, 4], &made[..]].concat());
                assert_eq!(table.columns[7].name, ROW_INDEX);
                let value = |place: usize| {
                    let mut constants = table.constants.iter();
                    constants.find(|(of, _)| *of == place).unwrap().1.clone()
                };
                assert_eq!(table.constants.len(), 4);
                assert_eq!(
                    value(6),
                    Literal::String(table.location.clone().into_bytes())
                );
                assert_eq!(value(2), Literal::Integer(19_782));
                partitions.push((value(4), value(5)));
                let vectors = matches!(table.deletes[..], [PositionDeletes::Vector { .. }]);
                let others = matches!(table.deletes[..], [PositionDeletes::File { .. }]);
                let expected = match value(4) {
                    Literal::Integer(1) => (false, false),
                    _ => (name.ends_with("vectors"), name.ends_with("files")),
                };
                assert_eq!((vectors, others), expected, "{table:?}");
            }
            partitions.sort_by_key(|partition| format!("{partition:?}"));
            let of_row = |bucket, text| {
                Literal::Struct(vec![
                    Literal::Integer(19_782),
                    Literal::Integer(bucket),
                    text,
                ])
            };
            let text = Literal::String(b"x".to_vec());
            let expected = [
                (Literal::Integer(0), of_row(0, Literal::Null)),
                (Literal::Integer(0), of_row(1, Literal::Null)),
                (Literal::Integer(1), of_row(1, text)),
            ];
            assert_eq!(partitions, expected, "{name}");
            columns.pop();
            assert!(files(&reader, &columns, partition).is_err());
        }
    }

    #[test]
    fn places_become_urls() {
        for (location, url) in [
            ("file:/w/t/data/a.parquet", "file:/w/t/data/a.parquet"),
            (
                "file:///w/a%2Fb/x y.parquet",
                "file:///w/a%252Fb/x%20y.parquet",
            ),
            (
                "s3a://bucket/t/k=ä/a#1?",
                "s3a://bucket/t/k=%C3%A4/a%231%3F",
            ),
            ("hdfs://user@host:8020/t/a", "hdfs://user@host:8020/t/a"),
            ("/w/t/a:b.parquet", "/w/t/a:b.parquet"),
        ] {
            assert_eq!(url_of(location).as_deref(), Ok(url));
        }
        for other in [
            "w/t",
            "file:w",
            "file:/w/../t",
            "file:/w//t",
            "s3a://bucket",
            "//host/t",
            "s3a://b c/t",
            "",
        ] {
            assert!(url_of(other).is_err(), "{other}");
        }
    }
}
