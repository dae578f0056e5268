//! Rows for functions of Python, pickled: what `EvaluatePython.toJava` and its picklers make of them.
//!
//! A frame is a list of rows, each a tuple of its values. Rows with dates or timestamps, at any depth, go through
//! `pyspark.sql.types`, which makes objects of the numbers that they are.

use std::ops::Range;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, ListArray, MapArray, RecordBatch, StringViewArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use catalyst::{DataType, PickledRows, Unsupported};

use super::{is_simple, java_map};
use crate::type_json::{json_of_columns, json_of_row};

/// Opcodes of protocol 2.
mod op {
    pub(super) const PROTO: [u8; 2] = [0x80, 2];
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const SETITEMS: u8 = b'u';
    pub(super) const MARK: u8 = b'(';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const STOP: u8 = b'.';
    pub(super) const NONE: u8 = b'N';
    pub(super) const NEWTRUE: u8 = 0x88;
    pub(super) const NEWFALSE: u8 = 0x89;
    pub(super) const BININT: u8 = b'J';
    pub(super) const BININT1: u8 = b'K';
    pub(super) const LONG1: u8 = 0x8a;
    pub(super) const BINFLOAT: u8 = b'G';
    pub(super) const BINUNICODE: u8 = b'X';
    pub(super) const BINBYTES: u8 = b'B';
    pub(super) const GLOBAL: u8 = b'c';
    pub(super) const TUPLE: u8 = b't';
    pub(super) const TUPLE1: u8 = 0x85;
    pub(super) const REDUCE: u8 = b'R';
    pub(super) const BINPUT: u8 = b'q';
    pub(super) const BINGET: u8 = b'h';
}

/// Pickles rows of columns of certain types.
#[derive(Debug)]
pub(super) struct RowPickler {
    types: Vec<DataType>,
    /// The schema as JSON, if rows go through it.
    schema: Option<String>,
    /// Whether binary values are `bytes`, and not `bytearray`s.
    binary_as_bytes: bool,
}

/// Pickles rows of a data frame, each a `Row`.
#[derive(Debug)]
pub struct DataFramePickler(RowPickler);

/// Bytes of a frame from which on the next row begins another one.
const FRAME: usize = 256 << 10;

impl DataFramePickler {
    /// For these rows.
    ///
    /// # Errors
    /// Values of one of the types are not pickled natively.
    pub fn new(rows: &PickledRows) -> Result<Self, Unsupported> {
        let types = rows.columns.iter().map(|column| column.data_type.clone());
        let types: Vec<_> = types.collect();
        types.iter().try_for_each(check)?;
        Ok(Self(RowPickler {
            types,
            schema: Some(json_of_columns(&rows.columns)),
            binary_as_bytes: rows.binary_as_bytes,
        }))
    }

    /// Frames of all rows of a batch; `None` if its columns have other types.
    #[must_use]
    pub fn frames(&self, batch: &RecordBatch) -> Option<Vec<Vec<u8>>> {
        let columns = self.0.columns(batch.columns())?;
        let (mut frames, mut next) = (Vec::new(), 0);
        while next < batch.num_rows() {
            let (frame, end) = self.0.frame_until(&columns, next..batch.num_rows(), FRAME);
            frames.push(frame);
            next = end;
        }
        Some(frames)
    }
}

impl RowPickler {
    /// For rows of these columns.
    ///
    /// # Errors
    /// Values of one of the types are not pickled natively.
    pub(super) fn new(types: Vec<DataType>, binary_as_bytes: bool) -> Result<Self, Unsupported> {
        types.iter().try_for_each(check)?;
        let schema = types.iter().any(needs_conversion);
        let schema = schema.then(|| json_of_row(&types));
        Ok(Self {
            types,
            schema,
            binary_as_bytes,
        })
    }

    /// The columns, as they are pickled; `None` if they have other types.
    pub(super) fn columns<'a>(&self, arrays: &'a [ArrayRef]) -> Option<Vec<Column<'a>>> {
        let columns = self.types.iter().zip(arrays);
        let columns = columns.map(|(of, array)| Column::new(of, array, self.binary_as_bytes));
        columns.collect()
    }

    /// The frame of these rows.
    pub(super) fn frame(&self, columns: &[Column<'_>], rows: Range<usize>) -> Vec<u8> {
        self.frame_until(columns, rows, usize::MAX).0
    }

    /// The frame of the first of these rows, until it has so many bytes; and the first row that is not in it.
    fn frame_until(
        &self,
        columns: &[Column<'_>],
        rows: Range<usize>,
        bytes: usize,
    ) -> (Vec<u8>, usize) {
        let expected = 16 * (1 + columns.len()) * rows.len();
        let mut out = Vec::with_capacity(expected.min(bytes));
        out.extend_from_slice(&op::PROTO);
        out.extend_from_slice(&[op::EMPTY_LIST, op::MARK]);
        let mut end = rows.end;
        for (count, row) in rows.enumerate() {
            if out.len() >= bytes {
                end = row;
                break;
            }
            if let Some(schema) = &self.schema {
                match count {
                    0 => put_converter(schema, &mut out),
                    _ => out.extend_from_slice(&[op::BINGET, 0]),
                }
            }
            out.push(op::MARK);
            for column in columns {
                column.put(row, &mut out);
            }
            out.push(op::TUPLE);
            if self.schema.is_some() {
                out.push(op::REDUCE);
            }
        }
        out.extend_from_slice(&[op::APPENDS, op::STOP]);
        (out, end)
    }
}

/// `_create_row_inbound_converter(_parse_datatype_json_string(schema))`, kept as number 0 for the other rows.
fn put_converter(schema: &str, out: &mut Vec<u8>) {
    put_global("pyspark.sql.types", "_create_row_inbound_converter", out);
    put_global("pyspark.sql.types", "_parse_datatype_json_string", out);
    put_text(schema, out);
    let called = [op::TUPLE1, op::REDUCE, op::TUPLE1, op::REDUCE];
    out.extend_from_slice(&called);
    out.extend_from_slice(&[op::BINPUT, 0]);
}

fn put_global(module: &str, name: &str, out: &mut Vec<u8>) {
    out.push(op::GLOBAL);
    for line in [module, name] {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.push(op::BINUNICODE);
    // Columns keep the length of a text in 32 bits.
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_bytes(bytes: &[u8], as_bytes: bool, out: &mut Vec<u8>) {
    if !as_bytes {
        put_global("builtins", "bytearray", out);
    }
    out.push(op::BINBYTES);
    // Columns keep the length of a value in 32 bits.
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
    if !as_bytes {
        out.extend_from_slice(&[op::TUPLE1, op::REDUCE]);
    }
}

fn put_integer(value: i64, out: &mut Vec<u8>) {
    if let Ok(small) = u8::try_from(value) {
        out.extend_from_slice(&[op::BININT1, small]);
    } else if let Ok(medium) = i32::try_from(value) {
        out.push(op::BININT);
        out.extend_from_slice(&medium.to_le_bytes());
    } else {
        out.extend_from_slice(&[op::LONG1, 8]);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_float(value: f64, out: &mut Vec<u8>) {
    out.push(op::BINFLOAT);
    out.extend_from_slice(&value.to_be_bytes());
}

/// A column of values that are pickled.
pub(super) enum Column<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Byte(&'a Int8Array),
    Short(&'a Int16Array),
    Integer(&'a Int32Array),
    Long(&'a Int64Array),
    Float(&'a Float32Array),
    Double(&'a Float64Array),
    Decimal(&'a Decimal128Array),
    Text(&'a StringViewArray),
    Date(&'a Date32Array),
    Timestamp(&'a TimestampMicrosecondArray),
    DayTimeInterval(&'a DurationMicrosecondArray),
    /// With whether they are `bytes`.
    Binary(&'a BinaryViewArray, bool),
    Array(&'a ListArray, Box<Column<'a>>),
    /// With keys, values, and the order of each row's entries.
    Map(&'a MapArray, Box<[Column<'a>; 2]>, Vec<Vec<usize>>),
    /// Tuples, of which the schema makes `Row`s.
    Struct(&'a StructArray, Vec<Column<'a>>),
}

impl<'a> Column<'a> {
    /// A column of that type; `None` if it has another.
    fn new(of: &DataType, array: &'a ArrayRef, binary_as_bytes: bool) -> Option<Self> {
        Some(match of {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean_opt()?),
            DataType::Byte => Self::Byte(array.as_primitive_opt::<Int8Type>()?),
            DataType::Short => Self::Short(array.as_primitive_opt::<Int16Type>()?),
            DataType::Integer => Self::Integer(array.as_primitive_opt::<Int32Type>()?),
            DataType::Long => Self::Long(array.as_primitive_opt::<Int64Type>()?),
            DataType::Float => Self::Float(array.as_primitive_opt::<Float32Type>()?),
            DataType::Double => Self::Double(array.as_primitive_opt::<Float64Type>()?),
            DataType::Decimal(_) => Self::Decimal(array.as_primitive_opt::<Decimal128Type>()?),
            DataType::String => Self::Text(array.as_string_view_opt()?),
            DataType::Date => Self::Date(array.as_primitive_opt::<Date32Type>()?),
            DataType::Timestamp | DataType::TimestampNtz => {
                Self::Timestamp(array.as_primitive_opt::<TimestampMicrosecondType>()?)
            }
            DataType::Array { element, .. } => {
                let list = array.as_list_opt::<i32>()?;
                let elements = Self::new(element, list.values(), binary_as_bytes)?;
                Self::Array(list, Box::new(elements))
            }
            DataType::Map { key, value, .. } => {
                let map = array.as_map_opt()?;
                let keys = Self::new(key, map.keys(), binary_as_bytes)?;
                let values = Self::new(value, map.values(), binary_as_bytes)?;
                let orders = orders(map, &keys)?;
                Self::Map(map, Box::new([keys, values]), orders)
            }
            DataType::DayTimeInterval => {
                Self::DayTimeInterval(array.as_primitive_opt::<DurationMicrosecondType>()?)
            }
            DataType::Binary => Self::Binary(array.as_binary_view_opt()?, binary_as_bytes),
            DataType::Struct(fields) => {
                let all = array.as_struct_opt()?;
                let columns = fields.iter().zip(all.columns());
                let columns =
                    columns.map(|(of, array)| Self::new(&of.data_type, array, binary_as_bytes));
                Self::Struct(all, columns.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn array(&self) -> Option<&dyn Array> {
        Some(match self {
            Self::Null => return None,
            Self::Boolean(array) => array,
            Self::Byte(array) => array,
            Self::Short(array) => array,
            Self::Integer(array) => array,
            Self::Long(array) => array,
            Self::Float(array) => array,
            Self::Double(array) => array,
            Self::Decimal(array) => array,
            Self::Text(array) => array,
            Self::Date(array) => array,
            Self::Timestamp(array) => array,
            Self::DayTimeInterval(array) => array,
            Self::Binary(array, _) => array,
            Self::Array(array, _) => array,
            Self::Map(array, ..) => array,
            Self::Struct(array, _) => array,
        })
    }

    /// What Java's objects of the values have as their `hashCode`; `None` if that is not known here.
    fn java_hash(&self, row: usize) -> Option<i32> {
        Some(match self {
            Self::Boolean(array) => match array.value(row) {
                true => 1231,
                false => 1237,
            },
            Self::Byte(array) => array.value(row).into(),
            Self::Short(array) => array.value(row).into(),
            Self::Integer(array) => array.value(row),
            Self::Date(array) => array.value(row),
            Self::Long(array) => java_map::of_long(array.value(row)),
            Self::Timestamp(array) => java_map::of_long(array.value(row)),
            Self::Text(array) => java_map::of_text(array.value(row)),
            _ => return None,
        })
    }

    fn put(&self, row: usize, out: &mut Vec<u8>) {
        if self.array().is_none_or(|array| array.is_null(row)) {
            return out.push(op::NONE);
        }
        match self {
            Self::Null => out.push(op::NONE),
            Self::Boolean(array) => out.push(match array.value(row) {
                true => op::NEWTRUE,
                false => op::NEWFALSE,
            }),
            Self::Byte(array) => put_integer(array.value(row).into(), out),
            Self::Short(array) => put_integer(array.value(row).into(), out),
            Self::Integer(array) => put_integer(array.value(row).into(), out),
            Self::Long(array) => put_integer(array.value(row), out),
            Self::Float(array) => put_float(array.value(row).into(), out),
            Self::Double(array) => put_float(array.value(row), out),
            Self::Decimal(array) => {
                put_global("decimal", "Decimal", out);
                put_text(&array.value_as_string(row), out);
                out.extend_from_slice(&[op::TUPLE1, op::REDUCE]);
            }
            Self::Text(array) => put_text(array.value(row), out),
            Self::Date(array) => put_integer(array.value(row).into(), out),
            Self::Timestamp(array) => put_integer(array.value(row), out),
            Self::DayTimeInterval(array) => put_integer(array.value(row), out),
            Self::Binary(array, as_bytes) => put_bytes(array.value(row), *as_bytes, out),
            Self::Array(array, elements) => {
                out.extend_from_slice(&[op::EMPTY_LIST, op::MARK]);
                // Offsets are not negative and grow; there is one more than rows.
                if let Some([start, end]) = array.value_offsets().get(row..row + 2) {
                    for element in *start as usize..*end as usize {
                        elements.put(element, out);
                    }
                }
                out.push(op::APPENDS);
            }
            Self::Map(map, columns, orders) => {
                let [keys, values] = &**columns;
                out.extend_from_slice(&[op::EMPTY_DICT, op::MARK]);
                // Offsets are not negative.
                let start = map
                    .value_offsets()
                    .get(row)
                    .map_or(0, |start| *start as usize);
                for place in orders.get(row).into_iter().flatten() {
                    keys.put(start + place, out);
                    values.put(start + place, out);
                }
                out.push(op::SETITEMS);
            }
            Self::Struct(_, columns) => {
                out.push(op::MARK);
                for column in columns {
                    column.put(row, out);
                }
                out.push(op::TUPLE);
            }
        }
    }
}

/// The order that Java has the entries of each map in; `None` if it is not known.
fn orders(maps: &MapArray, keys: &Column<'_>) -> Option<Vec<Vec<usize>>> {
    let ranges = maps.value_offsets().windows(2);
    let ranges = ranges.map(|range| match range {
        // Offsets are not negative and grow.
        [start, end] => *start as usize..*end as usize,
        _ => 0..0,
    });
    let orders = ranges.map(|range| {
        let hashes = range.map(|entry| keys.java_hash(entry));
        java_map::order(&hashes.collect::<Option<Vec<_>>>()?)
    });
    orders.collect()
}

/// Fails for types whose values are not pickled natively.
fn check(of: &DataType) -> Result<(), Unsupported> {
    match of {
        DataType::Binary | DataType::DayTimeInterval => Ok(()),
        DataType::Array { element, .. } => check(element),
        DataType::Map { key, value, .. } => match **key {
            DataType::Boolean
            | DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::String
            | DataType::Date
            | DataType::Timestamp
            | DataType::TimestampNtz => check(value),
            _ => Err(Unsupported::of_use(format!("a Python function of {of}"))),
        },
        DataType::Struct(fields) => {
            let mut fields = fields.iter();
            fields.try_for_each(|field| check(&field.data_type))
        }
        of if is_simple(of) => Ok(()),
        _ => Err(Unsupported::of_use(format!("a Python function of {of}"))),
    }
}

/// `EvaluatePython.needConversionInPython`
fn needs_conversion(of: &DataType) -> bool {
    match of {
        DataType::Date
        | DataType::Timestamp
        | DataType::TimestampNtz
        | DataType::DayTimeInterval
        | DataType::Struct(_) => true,
        DataType::Array { element, .. } => needs_conversion(element),
        DataType::Map { key, value, .. } => needs_conversion(key) || needs_conversion(value),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanBuilder, Int32Builder, MapBuilder, RecordBatchOptions};
    use arrow::datatypes::{Field as ArrowField, Schema};
    use catalyst::StructField;

    use super::*;

    fn frame(types: &[DataType], arrays: &[ArrayRef]) -> Vec<u8> {
        let pickler = RowPickler::new(types.to_vec(), true).unwrap();
        let columns = pickler.columns(arrays).unwrap();
        pickler.frame(&columns, 0..arrays[0].len())
    }

    #[test]
    fn rows_are_tuples_in_a_list() {
        let numbers = Int64Array::from(vec![Some(7), None, Some(-1), Some(1 << 40)]);
        let texts = StringViewArray::from(vec![Some("a"), Some(""), None, Some("é")]);
        let arrays: [ArrayRef; 2] = [Arc::new(numbers), Arc::new(texts)];
        let expected = [
            b"\x80\x02](".as_slice(),
            b"(K\x07X\x01\0\0\0at",
            b"(NX\0\0\0\0t",
            b"(J\xff\xff\xff\xffNt",
            b"(\x8a\x08\0\0\0\0\0\x01\0\0X\x02\0\0\0\xc3\xa9t",
            b"e.",
        ];
        assert_eq!(
            frame(&[DataType::Long, DataType::String], &arrays),
            expected.concat()
        );
    }

    #[test]
    fn rows_with_dates_go_through_their_schema() {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None]));
        let json = json_of_row(&[DataType::Date]);
        let expected = [
            b"\x80\x02](cpyspark.sql.types\n_create_row_inbound_converter\n".as_slice(),
            b"cpyspark.sql.types\n_parse_datatype_json_string\nX",
            &(json.len() as u32).to_le_bytes(),
            json.as_bytes(),
            b"\x85R\x85Rq\0(K\x01tRh\0(NtRe.",
        ];
        assert_eq!(frame(&[DataType::Date], &[dates]), expected.concat());
    }

    #[test]
    fn rows_of_data_frames_have_names() {
        let field = |name: &str, data_type| StructField {
            name: name.to_owned(),
            data_type,
            nullable: true,
            field_id: None,
            exists_default: None,
        };
        let inner = vec![field("x", DataType::Byte), field("y", DataType::Binary)];
        let map = DataType::Map {
            key: Box::new(DataType::Integer),
            value: Box::new(DataType::Boolean),
            value_contains_null: true,
        };
        let rows = PickledRows {
            columns: vec![field("s", DataType::Struct(inner)), field("m", map)],
            binary_as_bytes: false,
        };
        let pickler = DataFramePickler::new(&rows).unwrap();
        let bytes = Arc::new(Int8Array::from(vec![1])) as ArrayRef;
        let binary = Arc::new(BinaryViewArray::from(vec![b"ab".as_slice()])) as ArrayRef;
        let fields = [("x", bytes), ("y", binary)].map(|(name, array)| {
            let of = ArrowField::new(name, array.data_type().clone(), true);
            (Arc::new(of), array)
        });
        let structs = StructArray::from(fields.to_vec());
        let mut maps = MapBuilder::new(None, Int32Builder::new(), BooleanBuilder::new());
        for (key, value) in [(3, true), (1, false)] {
            maps.keys().append_value(key);
            maps.values().append_value(value);
        }
        maps.append(true).unwrap();
        let columns: [(_, ArrayRef); 2] =
            [("s", Arc::new(structs)), ("m", Arc::new(maps.finish()))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let frames = pickler.frames(&batch).unwrap();
        let row = b"((K\x01cbuiltins\nbytearray\nB\x02\0\0\0ab\x85Rt}(K\x01\x89K\x03\x88utRe.";
        assert!(
            frames.len() == 1 && frames[0].ends_with(row),
            "{:?}",
            frames[0]
        );
    }

    #[test]
    fn frames_end_when_they_are_large() {
        let rows = PickledRows {
            columns: Vec::new(),
            binary_as_bytes: true,
        };
        let pickler = DataFramePickler::new(&rows).unwrap();
        let options = RecordBatchOptions::new().with_row_count(Some(100_000));
        let schema = Arc::new(Schema::empty());
        let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap();
        let frames = pickler.frames(&batch).unwrap();
        assert!(frames.len() > 1);
        assert!(frames.iter().all(|frame| frame.len() < FRAME + 10));
    }

    #[test]
    fn types_without_native_pickles_are_refused() {
        let why = RowPickler::new(vec![DataType::CalendarInterval], true).unwrap_err();
        assert_eq!(why.to_string(), "a Python function of interval");
    }
}
