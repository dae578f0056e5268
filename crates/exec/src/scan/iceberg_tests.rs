//! Files of tables of Iceberg's.

use std::collections::HashMap;

use arrow::array::{Float32Array, Int32Array};
use arrow::datatypes::Schema;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::*;
use catalyst::{Decimal, PositionDeletes, TableFile, TaskBroadcast};

/// A file whose columns have ids.
fn with_ids(name: &str, columns: Vec<(&str, i32, ArrayRef)>) -> Written {
    let path = std::env::temp_dir().join(format!("iceberg-{name}-{}.parquet", std::process::id()));
    let fields = columns.iter().map(|(name, id, values)| {
        let id = [(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())];
        let field = Field::new(*name, values.data_type().clone(), values.null_count() > 0);
        match *name {
            "none" => field,
            _ => field.with_metadata(HashMap::from(id)),
        }
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = columns.into_iter().map(|(_, _, values)| values).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(300))
        .build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    Written {
        path,
        size: i64::try_from(size).unwrap(),
    }
}

/// Numbers from 0 to 999 as 1, and as 2 and 3 with other types.
fn numbers(name: &str) -> Written {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
    let halves = (0_u16..1000).map(|n| f32::from(n) / 2.0);
    let halves: ArrayRef = Arc::new(Float32Array::from_iter_values(halves));
    let texts = (0..1000).map(|n| Some(format!("t{n}")));
    let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
    with_ids(
        name,
        vec![("x", 1, numbers), ("y", 2, halves), ("z", 3, texts)],
    )
}

fn field(name: &str, id: i64, data_type: DataType, nullable: bool) -> StructField {
    StructField {
        name: name.to_owned(),
        data_type,
        nullable,
        field_id: Some(id),
        exists_default: None,
    }
}

fn table(columns: Vec<StructField>, constants: Vec<(usize, Literal)>) -> TableFile {
    TableFile {
        location: "file:/w/a".to_owned(),
        columns: columns.into(),
        constants,
        deletes: Vec::new(),
        io: Arc::new(TaskBroadcast {
            id: 1,
            object: Vec::new(),
        }),
    }
}

/// The scan of a table with these columns.
fn table_scan(columns: &[StructField]) -> Operator {
    let fields: Vec<_> = columns
        .iter()
        .map(|field| (field.name.as_str(), field.data_type.clone()))
        .collect();
    let mut root = scan(&fields, true);
    let OperatorKind::FileSourceScan(scan) = &mut root.kind else {
        panic!("{root:?}");
    };
    let FileFormat::Parquet(options) = &scan.format else {
        panic!("{scan:?}");
    };
    scan.format = FileFormat::Iceberg(ParquetOptions {
        conf: None,
        ..options.clone()
    });
    root
}

fn read_files(root: Operator, files: &[(&Written, TableFile)]) -> Result<Vec<String>, RunError> {
    let stage = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
    let parts = files.iter().map(|(file, table)| PartitionedFile {
        table: Some(Arc::new(table.clone())),
        ..part(&file.path, file.size, 0, file.size)
    });
    let inputs = TaskInputs::Leaf(0, LeafInput::Files(parts.collect()));
    let plan = plan(&stage, &inputs, Given::default());
    Ok(text(&run_within(&plan, 1 << 30)?))
}

fn decimal(precision: u8) -> DataType {
    DataType::Decimal(Decimal {
        precision,
        scale: 2,
    })
}

#[test]
fn columns_are_found_by_ids_and_have_grown() {
    let file = numbers("grown");
    // The names go around.
    let columns = vec![
        field("z", 1, LONG, false),
        field("x", 2, DataType::Double, true),
        field("y", 9, DataType::String, true),
        field("p", 4, DataType::String, true),
    ];
    let of_file = table(columns.clone(), vec![(3, Literal::String(b"c".to_vec()))]);
    let rows = read_files(table_scan(&columns), &[(&file, of_file)]).unwrap();
    assert_eq!(rows.len(), 1000);
    assert_eq!(rows[3], "3 1.5 null c");
    for other in [
        // Never null, and not there.
        field("y", 9, DataType::String, false),
        StructField {
            exists_default: Some("1".to_owned()),
            ..field("y", 9, DataType::String, true)
        },
        field("y", 3, LONG, true),
        field("y", 1, decimal(9), true),
    ] {
        let columns = vec![columns[0].clone(), other];
        let found = read_files(
            table_scan(&columns),
            &[(&file, table(columns.clone(), vec![]))],
        );
        assert!(found.is_err(), "{columns:?}");
    }
}

#[test]
fn files_of_a_task_may_have_other_constants() {
    let file = numbers("constants");
    let columns = vec![
        field("n", 1, LONG, true),
        field("t", 3, DataType::String, true),
    ];
    let files = [
        table(columns.clone(), vec![]),
        table(columns.clone(), vec![(1, Literal::Null)]),
        table(
            columns.clone(),
            vec![(0, Literal::Long(-7)), (1, Literal::String(vec![]))],
        ),
    ];
    let files = files.map(|table| (&file, table));
    let rows = read_files(table_scan(&columns), &files).unwrap();
    assert_eq!(rows.len(), 3000);
    assert_eq!(
        [&rows[5], &rows[1005], &rows[2005]],
        ["5 t5", "5 null", "-7 "]
    );
}

#[test]
fn fields_that_files_lack_are_null() {
    let field_of_file = |name: &str, id: i32| {
        let id = [(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())];
        Arc::new(Field::new(name, ArrowType::Int32, false).with_metadata(HashMap::from(id)))
    };
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
    let part = StructArray::from(vec![
        (field_of_file("a", 5), Arc::clone(&numbers)),
        (field_of_file("b", 6), numbers),
    ]);
    let file = with_ids("fields", vec![("part", 4, Arc::new(part))]);
    let of = |fields: Vec<StructField>| {
        let columns = vec![field("part", 4, DataType::Struct(fields), true)];
        read_files(
            table_scan(&columns),
            &[(&file, table(columns.clone(), vec![]))],
        )
    };
    // Called as another one in the file, and grown.
    let known = field("b", 5, LONG, true);
    let rows = of(vec![field("a", 9, DataType::String, true), known.clone()]).unwrap();
    assert_eq!(rows.len(), 10);
    assert!(
        rows[3].contains(": 3}") && !rows[3].contains("a: 3"),
        "{rows:?}"
    );
    for other in [
        vec![field("a", 9, DataType::String, true)],
        vec![field("a", 9, DataType::String, false), known.clone()],
        vec![field("a", 5, DataType::String, true)],
    ] {
        assert!(of(other).is_err());
    }
}

#[test]
fn files_without_ids_are_left_to_spark() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
    let file = with_ids("none", vec![("none", 0, numbers)]);
    let columns = vec![field("none", 1, LONG, true)];
    let found = read_files(
        table_scan(&columns),
        &[(&file, table(columns.clone(), vec![]))],
    );
    assert!(found.is_err());
}

#[test]
fn rows_that_are_deleted_do_not_come_out() {
    let file = numbers("deleted");
    let paths = (0..1000).map(|n| Some(if n < 500 { "file:/w/a" } else { "file:/w/b" }));
    let paths: ArrayRef = Arc::new(paths.collect::<StringArray>());
    let places: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..1000).map(|n| n * 2 % 1000),
    ));
    let deletes = with_ids(
        "deletes",
        vec![
            ("file_path", i32::MAX - 101, paths),
            ("pos", i32::MAX - 102, places),
        ],
    );
    let columns = vec![
        field("n", 1, LONG, true),
        field(catalyst::ROW_INDEX, i64::from(i32::MAX) - 2, LONG, true),
    ];
    let of = |location: &str, size: i64| TableFile {
        location: location.to_owned(),
        deletes: vec![PositionDeletes::File {
            path: deletes.path.to_str().unwrap().to_owned(),
            size,
        }],
        ..table(columns.clone(), vec![])
    };
    let rows = read_files(
        table_scan(&columns),
        &[(&file, of("file:/w/a", deletes.size))],
    )
    .unwrap();
    assert_eq!(rows.len(), 500);
    assert_eq!(rows[..2], ["1 1", "3 3"]);
    let all = read_files(
        table_scan(&columns),
        &[(&file, of("file:/w/c", deletes.size))],
    )
    .unwrap();
    assert_eq!(all.len(), 1000);
    // What is no file of deletes.
    let mut other = of("file:/w/a", file.size);
    other.deletes = vec![PositionDeletes::File {
        path: file.path.to_str().unwrap().to_owned(),
        size: file.size,
    }];
    assert!(read_files(table_scan(&columns), &[(&file, other)]).is_err());
}
