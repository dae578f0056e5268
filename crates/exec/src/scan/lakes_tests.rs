//! Files whose columns have other names than the table's, and rows that are deleted.

use super::*;
use catalyst::{DeletedRows, DeletionVector, ROW_INDEX, RowIndexFilter};

fn changed(mut root: Operator, change: impl FnOnce(&mut FileSourceScan)) -> Operator {
    let OperatorKind::FileSourceScan(scan) = &mut root.kind else {
        panic!("{root:?}");
    };
    change(scan);
    root
}

#[test]
fn columns_are_called_as_files_call_them() {
    let file = write("names", 0, None);
    // A table that calls its numbers as the file calls its flags.
    let root = scan(&[("flag", LONG), ("number", DataType::Boolean)], true);
    let mapped = changed(root.clone(), |scan| {
        for (field, name) in scan.file_schema.iter_mut().zip(["Number", "flag"]) {
            name.clone_into(&mut field.name);
        }
    });
    let (rows, _) = read(mapped, &file, &[(0, file.size)]).unwrap();
    assert_eq!(rows[..2], ["0 true", "1 false"]);
    assert!(read(root, &file, &[(0, file.size)]).is_err());
}

/// Rows 3, 4, 7, 11, 18 and 29, in the descriptor.
const MARKED: &str = "AAAAAAAAAAYAAAAsaQA3XkJnOV4wcnI5MTAwMDAwMDAwMDBpWFFLbDBycjkxMDAwZjU1YzhYZzBAQEQ3MmxrYmk1PS17TA==";

#[test]
fn rows_that_are_deleted_are_marked() {
    let file = write("deleted", 0, None);
    let deleted = "__delta_internal_is_row_deleted";
    let columns = [
        (deleted, DataType::Byte),
        ("number", LONG),
        (ROW_INDEX, LONG),
    ];
    let root = changed(scan(&columns, false), |scan| {
        let FileFormat::Parquet(options) = &mut scan.format else {
            panic!("{scan:?}");
        };
        options.deleted_rows = Some(DeletedRows {
            column: 0,
            table: "file:/table".to_owned(),
        });
    });
    let stage = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
    let rows = |descriptor: &str, filter| {
        let vector = DeletionVector {
            descriptor: descriptor.to_owned(),
            filter,
        };
        let part = PartitionedFile {
            deletion_vector: Some(vector),
            ..part(&file.path, file.size, 0, file.size)
        };
        let inputs = TaskInputs::Leaf(0, LeafInput::Files(vec![part]));
        let plan = plan(&stage, &inputs, Given::default());
        Ok::<_, RunError>(text(&run_within(&plan, 1 << 30)?))
    };
    let marked = |number: i64| [3, 4, 7, 11, 18, 29].contains(&number);
    for (filter, keeps) in [
        (RowIndexFilter::DropMarked, false),
        (RowIndexFilter::KeepMarked, true),
    ] {
        let found = rows(MARKED, filter).unwrap();
        let expected = (0..ROWS).map(|n| format!("{} {n} {n}", u8::from(marked(n) != keeps)));
        assert!(found.into_iter().eq(expected), "{filter:?}");
    }
    assert!(rows("AAAA", RowIndexFilter::DropMarked).is_err());
}
