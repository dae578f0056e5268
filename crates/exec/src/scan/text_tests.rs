//! Scans of text files that are written here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use catalyst::{
    DataType, FileFormat, FileSourceScan, Inputs, LeafInput, Literal, Operator, OperatorKind,
    PartitionedFile, TaskInputs, TextOptions,
};
use rows::error::RunError;

use crate::NativeStage;
use crate::testing::*;

struct Written(PathBuf, i64);

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(name: &str, content: &[u8]) -> Written {
    let path = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    Written(path, i64::try_from(content.len()).unwrap())
}

/// A scan of these columns; text is what `read` finds in files, a date comes from their paths.
fn scan(fields: &[DataType], options: TextOptions) -> Operator {
    let output = (1..).zip(fields).map(|(id, of)| column(id, of.clone()));
    let (own, of_path): (Vec<_>, Vec<_>) = fields.iter().partition(|of| **of != DataType::Date);
    let fields = |of: Vec<&DataType>| {
        of.into_iter()
            .map(|of| field("value", of.clone()))
            .collect()
    };
    let scan = FileSourceScan {
        leaf: 0,
        required_schema: fields(own.clone()),
        file_schema: fields(own),
        variant_parts: Vec::new(),
        partition_schema: fields(of_path),
        metadata_columns: Vec::new(),
        partition_filters: Vec::new(),
        data_filters: Vec::new(),
        format: FileFormat::Text(options),
        ignore_missing_files: false,
        ignore_corrupt_files: false,
        in_jvm: None,
    };
    operator(
        OperatorKind::FileSourceScan(Box::new(scan)),
        output.collect(),
    )
}

fn lines() -> TextOptions {
    TextOptions {
        conf: broadcast(),
        whole_text: false,
        line_separator: None,
    }
}

fn part(path: &Path, size: i64, start: i64, length: i64) -> PartitionedFile {
    PartitionedFile {
        path: path.to_str().unwrap().to_owned(),
        start,
        length,
        file_size: size,
        modification_time: 0,
        partition_values: vec![Literal::Integer(1)],
        deletion_vector: None,
        table: None,
    }
}

fn read_with(
    root: Operator,
    file: &Written,
    parts: &[(i64, i64)],
    hadoop: &[(&str, &str)],
) -> Result<Vec<String>, RunError> {
    let stage = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
    let parts = parts.iter();
    let parts = parts.map(|(start, length)| part(&file.0, file.1, *start, *length));
    let inputs = TaskInputs::Leaf(0, LeafInput::Files(parts.collect()));
    let hadoop = hadoop
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let sources = Given {
        hadoop: hadoop.collect::<HashMap<_, _>>(),
        ..Given::default()
    };
    let plan = plan(&stage, &inputs, sources);
    let batches = run_within(&plan, 1 << 30)?;
    let rows = text(&batches);
    assert_eq!(plan.input_rows(), rows.len() as u64);
    Ok(rows)
}

fn read(root: Operator, file: &Written, parts: &[(i64, i64)]) -> Result<Vec<String>, RunError> {
    read_with(root, file, parts, &[])
}

fn bails_out(result: Result<Vec<String>, RunError>) -> bool {
    matches!(result, Err(RunError::BailOut(_)))
}

#[test]
fn each_line_belongs_to_one_part_of_its_file() {
    let content = "first\r\n\nthird äöü\rfourth\n\u{1f525}";
    let file = write("parts.txt", content.as_bytes());
    let all = ["first", "", "third äöü", "fourth", "\u{1f525}"];
    let of = |parts: &[(i64, i64)]| read(scan(&[DataType::String], lines()), &file, parts).unwrap();
    assert_eq!(of(&[(0, file.1)]), all);
    for cut in 1..file.1 {
        assert_eq!(of(&[(0, cut), (cut, file.1 - cut)]), all, "{cut}");
    }
    // More than a batch.
    let content: String = (0..1000).map(|n| format!("line {n}\n")).collect();
    let file = write("long.txt", content.as_bytes());
    let rows = read(scan(&[DataType::String], lines()), &file, &[(0, file.1)]).unwrap();
    assert_eq!(rows.len(), 1000);
    assert_eq!(rows[999], "line 999");
}

#[test]
fn separators_are_those_of_the_read() {
    let file = write("separators.txt", b"a|b\n|c");
    let options = TextOptions {
        line_separator: Some(b"|".to_vec()),
        ..lines()
    };
    let rows = read(scan(&[DataType::String], options), &file, &[(0, file.1)]).unwrap();
    assert_eq!(rows, ["a", "b\n", "c"]);
}

#[test]
fn a_file_may_be_one_row() {
    let options = || TextOptions {
        whole_text: true,
        ..lines()
    };
    let file = write("whole.txt", b"a\nb\n");
    let rows = read(scan(&[DataType::String], options()), &file, &[(0, file.1)]).unwrap();
    assert_eq!(rows, ["a\nb\n"]);
    let empty = write("empty.txt", b"");
    let rows = read(scan(&[DataType::String], options()), &empty, &[(0, 0)]).unwrap();
    assert_eq!(rows, [""]);
    assert!(
        read(scan(&[DataType::String], lines()), &empty, &[(0, 0)])
            .unwrap()
            .is_empty()
    );
}

#[test]
fn rows_are_counted_without_their_text_and_have_the_columns_of_paths() {
    // Counting needs no characters.
    let file = write("count.txt", b"a\n\xff\n");
    assert_eq!(
        read(scan(&[], lines()), &file, &[(0, file.1)]).unwrap(),
        ["", ""]
    );
    assert!(bails_out(read(
        scan(&[DataType::String], lines()),
        &file,
        &[(0, file.1)]
    )));
    let file = write("paths.txt", b"a\nb\n");
    let root = scan(&[DataType::String, DataType::Date], lines());
    assert_eq!(
        read(root, &file, &[(0, file.1)]).unwrap(),
        ["a 1970-01-02", "b 1970-01-02"]
    );
}

#[test]
fn packed_files_are_read_whole_and_those_of_other_codecs_not() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"a\nb").unwrap();
    let packed = packed.finish().unwrap();
    let file = write("packed.txt.gz", &packed);
    let root = || scan(&[DataType::String], lines());
    assert_eq!(read(root(), &file, &[(0, file.1)]).unwrap(), ["a", "b"]);
    assert!(bails_out(read(root(), &file, &[(0, file.1 - 1)])));
    let cut = write("cut.txt.gz", &packed[..packed.len() - 6]);
    assert!(bails_out(read(root(), &cut, &[(0, cut.1)])));
    let other = write("other.txt.zst", b"a");
    assert!(bails_out(read(root(), &other, &[(0, other.1)])));
}

#[test]
fn settings_of_hadoop_that_change_lines_are_the_jvms() {
    let file = write("settings.txt", b"a\n");
    let of = |key, value| {
        let root = scan(&[DataType::String], lines());
        read_with(root, &file, &[(0, file.1)], &[(key, value)])
    };
    assert!(bails_out(of("io.compression.codecs", "org.example.Codec")));
    assert!(bails_out(of(
        "mapreduce.input.linerecordreader.line.maxlength",
        "7"
    )));
    assert!(
        of(
            "mapreduce.input.linerecordreader.line.maxlength",
            "2147483647"
        )
        .is_ok()
    );
}

#[test]
fn other_columns_than_text_are_refused() {
    for fields in [
        vec![DataType::Long],
        vec![DataType::String, DataType::String],
    ] {
        let root = scan(&fields, lines());
        assert!(NativeStage::new(stage(root, Inputs::Leaf(0), true)).is_err());
    }
}
