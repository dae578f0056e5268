//! Scans of files that are written here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BooleanArray, Date32Array, Int64Array, ListArray, MapArray, RecordBatch,
    StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType as ArrowType, Field};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::NativeStage;
use crate::testing::*;
use catalyst::Literal;
use catalyst::Metric;
use catalyst::{Attribute, Draw, Expr, ExprId, ExprKind, FileFact, Function};
use catalyst::{DataType, StructField};
use catalyst::{FileFormat, FileSourceScan, ParquetOptions};
use catalyst::{Inputs, LeafInput, PartitionedFile, TaskInputs};
use catalyst::{Operator, OperatorKind};
use rows::error::RunError;

const ROWS: i64 = 20_000;

struct Written {
    path: PathBuf,
    size: i64,
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Numbers, texts, flags that are seldom set, and dates.
fn write(name: &str, first_day: i32, version: Option<&str>) -> Written {
    let path = std::env::temp_dir().join(format!("scan-{name}-{}.parquet", std::process::id()));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let texts = (0..ROWS).map(|n| (n % 7 != 0).then(|| format!("text of number {n}")));
    let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
    let flags: ArrayRef = Arc::new(
        (0..ROWS)
            .map(|n| Some(n % 100 == 0))
            .collect::<BooleanArray>(),
    );
    let days: ArrayRef = Arc::new(Date32Array::from_iter_values((0..ROWS).map(|_| first_day)));
    let columns = [
        ("Number", numbers),
        ("text", texts),
        ("flag", flags),
        ("day", days),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let pairs = version.map(|version| {
        vec![KeyValue::new(
            "org.apache.spark.version".to_owned(),
            version.to_owned(),
        )]
    });
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1500))
        .set_key_value_metadata(pairs)
        .build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    Written {
        path,
        size: i64::try_from(size).unwrap(),
    }
}

fn scan(fields: &[(&str, DataType)], case_sensitive: bool) -> Operator {
    let output: Vec<Attribute> = (1..)
        .zip(fields)
        .map(|(id, (_, of))| column(id, of.clone()))
        .collect();
    let required_schema = fields.iter().map(|(name, of)| StructField {
        name: (*name).to_owned(),
        data_type: of.clone(),
        nullable: true,
        field_id: None,
        exists_default: None,
    });
    let required_schema: Vec<_> = required_schema.collect();
    let scan = FileSourceScan {
        leaf: 0,
        required_schema: required_schema.clone(),
        file_schema: required_schema,
        variant_parts: Vec::new(),
        partition_schema: Vec::new(),
        metadata_columns: Vec::new(),
        partition_filters: Vec::new(),
        data_filters: Vec::new(),
        format: FileFormat::Parquet(ParquetOptions {
            conf: Some(broadcast()),
            datetime_rebase_mode: "EXCEPTION".to_owned(),
            int96_rebase_mode: "EXCEPTION".to_owned(),
            filter_push_down: true,
            case_sensitive,
            timestamp_conversion: false,
            batch_rows: Some(4096),
            deleted_rows: None,
        }),
        ignore_missing_files: false,
        ignore_corrupt_files: false,
        in_jvm: None,
    };
    operator(OperatorKind::FileSourceScan(Box::new(scan)), output)
}

fn part(path: &Path, size: i64, start: i64, length: i64) -> PartitionedFile {
    PartitionedFile {
        path: path.to_str().unwrap().to_owned(),
        start,
        length,
        file_size: size,
        modification_time: 0,
        partition_values: Vec::new(),
        deletion_vector: None,
        table: None,
    }
}

fn read(
    root: Operator,
    file: &Written,
    parts: &[(i64, i64)],
) -> Result<(Vec<String>, u64), RunError> {
    let stage = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
    let parts = parts
        .iter()
        .map(|(start, length)| part(&file.path, file.size, *start, *length));
    let inputs = TaskInputs::Leaf(0, LeafInput::Files(parts.collect()));
    let plan = plan(&stage, &inputs, Given::default());
    let batches = run_within(&plan, 1 << 30)?;
    Ok((text(&batches), plan.input_rows()))
}

const LONG: DataType = DataType::Long;

#[test]
fn each_row_group_belongs_to_one_part() {
    let file = write("parts", 0, None);
    let of = |parts: &[(i64, i64)]| {
        let (rows, read) = read(scan(&[("number", LONG)], false), &file, parts).unwrap();
        assert_eq!(rows.len() as u64, read);
        rows
    };
    let all = of(&[(0, file.size)]);
    assert_eq!(all.len() as i64, ROWS);
    let mut found = Vec::new();
    let step = file.size / 5 + 1;
    for start in (0..file.size).step_by(usize::try_from(step).unwrap()) {
        let rows = of(&[(start, step.min(file.size - start))]);
        assert!(rows.len() < all.len());
        found.extend(rows);
    }
    assert_eq!(found, all);
}

#[test]
fn rows_know_their_part_of_a_file() {
    let file = write("facts", 0, None);
    let child = scan(&[("number", LONG), ("flag", DataType::Boolean)], false);
    let columns = child.output.require().unwrap().to_vec();
    let asks = |fact: FileFact| Expr::from(Draw::File(fact));
    let alias = |child: Expr, id| Expr {
        data_type: child.data_type.clone(),
        nullable: child.nullable,
        kind: ExprKind::Alias {
            child: Box::new(child),
            name: format!("a{id}"),
            id: ExprId { id, jvm_id: 0 },
        },
    };
    let call = |function, args: Vec<Expr>| Expr {
        kind: ExprKind::Call {
            function,
            args,
            mode: None,
            time_zone: None,
        },
        data_type: DataType::Boolean,
        nullable: false,
    };
    let literal = |value| Expr {
        kind: ExprKind::Literal(value),
        data_type: LONG,
        nullable: false,
    };
    let filter = |condition, child: Operator| {
        let output = child.output.require().unwrap().to_vec();
        let child = Box::new(child);
        operator(OperatorKind::Filter { condition, child }, output)
    };
    // What is asked of a part's start, above a filter that the scan knows.
    let starts = asks(FileFact::Start);
    let zero = literal(Literal::Long(0));
    let later = call(Function::GreaterThan, vec![starts, zero]);
    let plain = filter(later.clone(), child.clone());
    let (rows, _) = read(plain, &file, &[(0, file.size)]).unwrap();
    assert_eq!(rows, [""; 0]);
    let flagged = filter(reference(&columns[1]), child);
    let list: Vec<_> = FileFact::ALL.into_iter().zip(20..).collect();
    let mut list: Vec<_> = list
        .into_iter()
        .map(|(fact, id)| alias(asks(fact), id))
        .collect();
    list.insert(0, reference(&columns[0]));
    let output = list
        .iter()
        .map(|expr| expr.to_attribute().unwrap())
        .collect();
    let child = Box::new(filter(later, flagged));
    let root = operator(OperatorKind::Project { list, child }, output);
    let half = file.size / 2;
    let parts = [(0, half), (half, file.size - half)];
    let (rows, _) = read(root, &file, &parts).unwrap();
    assert!(!rows.is_empty() && rows.len() < 200, "{}", rows.len());
    let of_file = format!("{} {half} {}", file.path.display(), file.size - half);
    assert!(
        rows.iter().all(|row| row.ends_with(&of_file)),
        "{}",
        rows[0]
    );
    assert_eq!(rows.last().unwrap(), &format!("19900 {of_file}"));
}

#[test]
fn batches_of_sparks_reader_are_counted() {
    let file = write("batches", 0, None);
    // Row groups of 1500 rows and one of 500.
    for (size, expected) in [(4096, 14), (1000, 13 * 2 + 1)] {
        let mut root = scan(&[("number", LONG)], false);
        root.metrics = vec![Metric {
            name: "numInputBatches".to_owned(),
            accumulator: 9,
        }];
        let OperatorKind::FileSourceScan(scan) = &mut root.kind else {
            panic!("{root:?}");
        };
        let FileFormat::Parquet(options) = &mut scan.format else {
            panic!("{root:?}");
        };
        options.batch_rows = Some(size);
        let stage = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
        let parts = vec![part(&file.path, file.size, 0, file.size)];
        let inputs = TaskInputs::Leaf(0, LeafInput::Files(parts));
        let plan = plan(&stage, &inputs, Given::default());
        run(&plan);
        assert_eq!(plan.metrics(), [(9, expected)]);
    }
}

#[test]
fn columns_go_by_name_and_may_be_missing() {
    let file = write("names", 0, None);
    let whole = [(0, file.size)];
    let fields = [
        ("absent", DataType::String),
        ("NUMBER", LONG),
        ("text", DataType::String),
    ];
    let (rows, _) = read(scan(&fields, false), &file, &whole).unwrap();
    assert_eq!(rows[1], "null 1 text of number 1");
    assert_eq!(rows[7], "null 7 null");
    let (rows, _) = read(scan(&fields, true), &file, &whole).unwrap();
    assert_eq!(rows[1], "null null text of number 1");
    let (rows, _) = read(scan(&[], true), &file, &whole).unwrap();
    assert_eq!(rows.len() as i64, ROWS);
    let other = read(scan(&[("text", LONG)], true), &file, &whole);
    assert!(matches!(other, Err(RunError::BailOut(_))));
}

#[test]
fn filters_that_let_few_rows_through_are_asked_first() {
    let file = write("late", 0, Some("3.5.9"));
    let child = scan(&[("flag", DataType::Boolean), ("number", LONG)], false);
    let output = child.output.require().unwrap().to_vec();
    let filter = OperatorKind::Filter {
        condition: reference(&output[0]),
        child: Box::new(child),
    };
    let (rows, read) = read(operator(filter, output), &file, &[(0, file.size)]).unwrap();
    let expected: Vec<_> = (0..ROWS)
        .step_by(100)
        .map(|n| format!("true {n}"))
        .collect();
    assert_eq!(rows, expected);
    // Spark counts what the filter leaves out too.
    assert_eq!(read as i64, ROWS);
}

#[test]
fn old_dates_are_left_to_spark() {
    let of = |name, day, version| {
        let file = write(name, day, version);
        let days = scan(&[("day", DataType::Date)], true);
        read(days, &file, &[(0, file.size)]).is_ok()
    };
    assert!(of("new", -141_427, None));
    assert!(!of("old", -141_428, None));
    assert!(!of("spark2", -141_428, Some("2.4.8")));
    assert!(of("spark3", -141_428, Some("3.0.0")));
}

#[test]
fn row_groups_are_left_out_by_their_statistics() {
    let file = write("prune", 0, None);
    let of = |function, args: fn(Expr, Expr) -> Vec<Expr>, bound| {
        let mut scan = scan(&[("number", LONG)], false);
        let literal = Expr {
            kind: ExprKind::Literal(Literal::Long(bound)),
            data_type: LONG,
            nullable: false,
        };
        let column = reference(&scan.output.require().unwrap()[0]);
        let OperatorKind::FileSourceScan(of) = &mut scan.kind else {
            panic!();
        };
        of.data_filters.push(Expr {
            kind: ExprKind::Call {
                function,
                args: args(column, literal),
                mode: None,
                time_zone: None,
            },
            data_type: DataType::Boolean,
            nullable: true,
        });
        read(scan, &file, &[(0, file.size)]).unwrap().0.len()
    };
    let in_order = |column, literal| vec![column, literal];
    let turned = |column, literal| vec![literal, column];
    assert_eq!(of(Function::LessThan, in_order, 1500), 1500);
    assert_eq!(of(Function::LessThanOrEqual, in_order, 1500), 3000);
    assert_eq!(of(Function::GreaterThan, in_order, 19_499), 500);
    assert_eq!(of(Function::LessThan, turned, 19_499), 500);
    assert_eq!(of(Function::EqualTo, in_order, 4000), 1500);
    assert_eq!(of(Function::EqualTo, in_order, -1), 0);
}

/// A file of one column of rows with these values of text, in lists whose elements have a name.
fn write_lists(name: &str, element: &str) -> Written {
    let path = std::env::temp_dir().join(format!("scan-{name}-{}.parquet", std::process::id()));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a"),
        None,
        Some("c"),
        Some("d"),
    ]));
    let field = Arc::new(Field::new(element, ArrowType::Utf8, true));
    let offsets = OffsetBuffer::from_lengths([2, 0, 0, 2]);
    let nulls = Some(vec![true, true, false, true].into());
    let lists: ArrayRef = Arc::new(ListArray::new(
        field,
        offsets.clone(),
        Arc::clone(&texts),
        nulls,
    ));
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
    let entry = vec![
        Field::new("key", ArrowType::Int64, false),
        Field::new("value", ArrowType::Utf8, true),
    ];
    let entries = StructArray::new(entry.into(), vec![Arc::clone(&keys), texts], None);
    let field = Arc::new(Field::new("key_value", entries.data_type().clone(), false));
    let maps: ArrayRef = Arc::new(MapArray::new(field, offsets, entries, None, false));
    let fields = vec![
        Field::new("Unread", ArrowType::Int64, false),
        Field::new("Lists", lists.data_type().clone(), true),
        Field::new("maps", maps.data_type().clone(), true),
    ];
    let nulls = Some(vec![true, true, true, false].into());
    let columns = vec![Arc::clone(&keys), lists, maps];
    let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), columns, nulls));
    let batch =
        RecordBatch::try_from_iter([("other", Arc::clone(&structs)), ("s", structs), ("n", keys)]);
    let batch = batch.unwrap();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    Written {
        path,
        size: i64::try_from(size).unwrap(),
    }
}

#[test]
fn parts_of_columns_go_by_name() {
    let field = |name: &str, data_type| StructField {
        name: name.to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let lists = DataType::Array {
        element: Box::new(DataType::String),
        contains_null: true,
    };
    let maps = DataType::Map {
        key: Box::new(LONG),
        value: Box::new(DataType::String),
        value_contains_null: true,
    };
    let of = DataType::Struct(vec![field("maps", maps), field("lists", lists.clone())]);
    let file = write_lists("nested", "element");
    let whole = [(0, file.size)];
    let columns = [("n", LONG), ("s", of.clone())];
    let (rows, _) = read(scan(&columns, false), &file, &whole).unwrap();
    let expected = [
        "1 {c0: {1: a, 2: null}, c1: [a, null]}",
        "2 {c0: {}, c1: []}",
        "3 {c0: {}, c1: null}",
        "4 null",
    ];
    assert_eq!(rows, expected);
    let refused = |of: DataType, file: &Written, case_sensitive| {
        let found = read(scan(&[("s", of)], case_sensitive), file, &[(0, file.size)]);
        matches!(found, Err(RunError::BailOut(_)))
    };
    assert!(refused(of.clone(), &file, true), "other names of fields");
    let more = DataType::Struct(vec![field("lists", lists), field("absent", LONG)]);
    assert!(refused(more, &file, false), "a field that is not there");
    // As others write them.
    let file = write_lists("item", "item");
    assert!(refused(of, &file, false), "a list of another form");
}

#[path = "iceberg_tests.rs"]
mod iceberg;

#[path = "int96_tests.rs"]
mod int96;

#[path = "lakes_tests.rs"]
mod lakes;

#[test]
fn intervals_are_numbers_in_files() {
    let file = write("intervals", 0, Some("4.3.0"));
    let of = |data_type| {
        read(
            scan(&[("Number", data_type)], false),
            &file,
            &[(0, file.size)],
        )
    };
    let (rows, _) = of(DataType::DayTimeInterval).unwrap();
    assert_eq!(rows.len(), ROWS as usize);
    assert_ne!(rows[0], rows[1]);
    // Months have 32 bits.
    let months = of(DataType::YearMonthInterval);
    assert!(matches!(months, Err(RunError::BailOut(_))), "{months:?}");
}

#[test]
fn rows_have_their_places_in_the_file() {
    let file = write("places", 0, None);
    let fields = [(catalyst::ROW_INDEX, LONG), ("number", LONG)];
    let all: Vec<_> = (0..ROWS).map(|n| format!("{n} {n}")).collect();
    let whole = [(0, file.size)];
    let (rows, _) = read(scan(&fields, false), &file, &whole).unwrap();
    assert_eq!(rows, all);
    // Of the second half of the file, and of nothing but the places.
    let half = [(file.size / 2, file.size - file.size / 2)];
    let (rows, _) = read(scan(&fields, false), &file, &half).unwrap();
    assert!(!rows.is_empty() && rows.len() < all.len());
    assert!(all.ends_with(&rows));
    let (places, _) = read(scan(&fields[..1], false), &file, &half).unwrap();
    let expected: Vec<_> = rows
        .iter()
        .map(|row| row.split(' ').next().unwrap())
        .collect();
    assert_eq!(places, expected);
    let other = read(
        scan(&[(catalyst::ROW_INDEX, DataType::Integer)], false),
        &file,
        &whole,
    );
    assert!(other.is_err());
}
