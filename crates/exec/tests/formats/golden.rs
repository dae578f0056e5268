//! What Spark wrote, and rows and batches of it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::Bytes;
use catalyst::{Attribute, DataType, Decimal, ExprId, StructField};
use javaser::Catalog;
use rows::{RowDecoder, RowEncoder};
use testkit::{Distribution, NEWEST, OLDEST, from_hex};

/// What Spark wrote: values by the kind of line.
pub(crate) struct Fixture {
    pub(crate) version: &'static str,
    pub(crate) lines: HashMap<String, Vec<Vec<String>>>,
}

impl Fixture {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        [OLDEST, NEWEST].into_iter().map(|version| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(format!("tests/formats/fixtures/{version}.tsv.zst"));
            let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
            let text = String::from_utf8(text).unwrap();
            let mut lines: HashMap<String, Vec<Vec<String>>> = HashMap::new();
            for line in text.lines() {
                let mut values = line.split('\t').map(str::to_owned);
                let kind = values.next().unwrap();
                lines.entry(kind).or_default().push(values.collect());
            }
            Self { version, lines }
        })
    }

    pub(crate) fn lines(&self, kind: &str) -> &[Vec<String>] {
        self.lines.get(kind).map_or(&[], |lines| &lines[..])
    }

    pub(crate) fn types(&self) -> Vec<DataType> {
        self.lines("type")
            .iter()
            .map(|l| data_type(&l[1]))
            .collect()
    }

    pub(crate) fn column(&self, name: &str) -> usize {
        let lines = self.lines("type");
        lines.iter().position(|line| line[0] == name).unwrap()
    }

    pub(crate) fn rows(&self) -> Vec<Vec<u8>> {
        self.lines("row")
            .iter()
            .map(|line| from_hex(&line[0]))
            .collect()
    }

    pub(crate) fn batch(&self) -> RecordBatch {
        decode(&self.types(), &stream(&self.rows()))
    }

    /// Types, names and rows of arrays, maps and structs.
    pub(crate) fn nested(&self) -> (Vec<DataType>, Vec<&str>, Vec<Vec<u8>>) {
        let lines = self.lines("nested-type");
        let types = lines.iter().map(|line| data_type(&line[1])).collect();
        let names = lines.iter().map(|line| &line[0][..]).collect();
        let rows = self.lines("nested-row").iter();
        (types, names, rows.map(|line| from_hex(&line[0])).collect())
    }

    /// Some columns of all rows.
    pub(crate) fn project(&self, names: &[&str]) -> RecordBatch {
        let columns: Vec<_> = names.iter().map(|name| self.column(name)).collect();
        renamed(&self.batch().project(&columns).unwrap())
    }

    pub(crate) fn catalog(&self) -> Catalog {
        let class_path = Distribution::find(self.version).class_path();
        Catalog::from_class_path(&[class_path.into()]).unwrap()
    }
}

/// Columns by their places, as all batches have them.
pub(crate) fn renamed(batch: &RecordBatch) -> RecordBatch {
    let fields: Vec<_> = (0..)
        .zip(batch.schema().fields())
        .map(|(index, field)| field.as_ref().clone().with_name(format!("c{index}")))
        .collect();
    let schema = arrow::datatypes::Schema::new(fields);
    RecordBatch::try_new(schema.into(), batch.columns().to_vec()).unwrap()
}

pub(crate) fn ints(list: &str) -> Vec<i32> {
    list.split(',').map(|int| int.parse().unwrap()).collect()
}

/// From `DataType.catalogString`.
pub(crate) fn data_type(text: &str) -> DataType {
    let inner = |start| {
        text.strip_prefix(start)
            .and_then(|text| text.strip_suffix('>'))
    };
    if let Some(element) = inner("array<") {
        return DataType::Array {
            element: Box::new(data_type(element)),
            contains_null: true,
        };
    }
    if let Some(entry) = inner("map<") {
        let mut parts = split(entry).into_iter().map(data_type).map(Box::new);
        return DataType::Map {
            key: parts.next().unwrap(),
            value: parts.next().unwrap(),
            value_contains_null: true,
        };
    }
    if let Some(fields) = text.strip_prefix("struct<") {
        let fields = fields.strip_suffix('>').unwrap();
        let field = |text: &str| {
            let (name, of) = text.split_once(':').unwrap();
            StructField {
                name: name.to_owned(),
                data_type: data_type(of),
                nullable: true,
                field_id: None,
                exists_default: None,
            }
        };
        return DataType::Struct(split(fields).into_iter().map(field).collect());
    }
    if let Some(decimal) = text.strip_prefix("decimal(") {
        let (precision, scale) = decimal.trim_end_matches(')').split_once(',').unwrap();
        return DataType::Decimal(Decimal {
            precision: precision.parse().unwrap(),
            scale: scale.parse().unwrap(),
        });
    }
    let simple = [
        DataType::Null,
        DataType::Boolean,
        DataType::Byte,
        DataType::Short,
        DataType::Integer,
        DataType::Long,
        DataType::Float,
        DataType::Double,
        DataType::String,
        DataType::Binary,
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampNtz,
        DataType::YearMonthInterval,
        DataType::DayTimeInterval,
    ];
    let mut simple = simple.into_iter();
    simple
        .find(|of| of.to_string() == text)
        .unwrap_or_else(|| panic!("{text}"))
}

/// At commas that are not within brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from("<(".contains(c)) - i32::from(">)".contains(c));
        c == ',' && depth == 0
    });
    parts.collect()
}

pub(crate) fn stream(rows: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for row in rows {
        stream.extend_from_slice(&(row.len() as i32).to_be_bytes());
        stream.extend_from_slice(row);
    }
    stream
}

pub(crate) fn decode_blocks<'b>(
    mut decoder: RowDecoder,
    blocks: impl IntoIterator<Item = &'b [u8]>,
) -> RecordBatch {
    let mut batches = Vec::new();
    for block in blocks {
        decoder.push(Bytes::copy_from_slice(block));
        while let Some(batch) = decoder.next().unwrap() {
            batches.push(batch);
        }
    }
    batches.extend(decoder.finish().unwrap());
    concat_batches(&decoder.schema(), &batches).unwrap()
}

pub(crate) fn decode(types: &[DataType], stream: &[u8]) -> RecordBatch {
    decode_blocks(RowDecoder::new(types).unwrap(), [stream])
}

/// Which of the rows is another one first.
#[track_caller]
pub(crate) fn assert_rows(found: &[Vec<u8>], expected: &[Vec<u8>]) {
    assert_eq!(found.len(), expected.len());
    let different = found.iter().zip(expected).position(|(a, b)| a != b);
    if let Some(row) = different {
        assert_eq!(found[row], expected[row], "row {row}");
    }
}

pub(crate) fn encode(types: &[DataType], batch: &RecordBatch) -> Vec<Vec<u8>> {
    let mut encoder = RowEncoder::new(types).unwrap();
    let rows = encoder.encode(batch).unwrap();
    rows.rows().map(<[u8]>::to_vec).collect()
}

pub(crate) fn attributes(types: &[DataType]) -> Vec<Attribute> {
    let attribute = |(index, of): (usize, &DataType)| Attribute {
        name: format!("c{index}"),
        data_type: of.clone(),
        nullable: true,
        id: ExprId {
            id: index as i64,
            jvm_id: 0,
        },
    };
    types.iter().enumerate().map(attribute).collect()
}
