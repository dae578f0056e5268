//! Columns that are filled value by value with what records say.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanBuilder, ListArray, MapArray, NullBufferBuilder,
    PrimitiveBuilder, StringViewBuilder, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use catalyst::{DataType, Decimal, StructField, Unsupported};
use datafusion_common::Result as DataFusionResult;
use rows::error::bail_out;
use rows::types::ToArrow as _;

use crate::lower::Result;

/// A column.
pub(crate) struct Column {
    arrow: ArrowType,
    pub(crate) values: Values,
}

/// The values of a column, each kind as it is built.
pub(crate) enum Values {
    Boolean(BooleanBuilder),
    Byte(PrimitiveBuilder<Int8Type>),
    Short(PrimitiveBuilder<Int16Type>),
    Integer(PrimitiveBuilder<Int32Type>),
    Long(PrimitiveBuilder<Int64Type>),
    Float(PrimitiveBuilder<Float32Type>),
    Double(PrimitiveBuilder<Float64Type>),
    Decimal(PrimitiveBuilder<Decimal128Type>, Decimal),
    Date(PrimitiveBuilder<Date32Type>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
    TimestampNtz(PrimitiveBuilder<TimestampMicrosecondType>),
    Text(StringViewBuilder),
    List(Ends, Box<Column>),
    /// Keys and values.
    Map(Ends, StringViewBuilder, Box<Column>),
    Struct(NullBufferBuilder, Fields),
}

/// Where lists end.
pub(crate) struct Ends {
    ends: Vec<i32>,
    valid: NullBufferBuilder,
}

/// Columns by their names.
pub(crate) struct Fields {
    names: Vec<Box<str>>,
    pub(crate) columns: Vec<Column>,
    /// Those that the record at hand has said, and that could be read.
    pub(crate) seen: Vec<bool>,
    /// Where the next name is expected: records of a file often have their names in one order.
    next: usize,
}

impl Column {
    /// An empty column.
    ///
    /// # Errors
    /// Values of this type are not read from records. `nested` says whether those of other values are.
    pub(crate) fn new(of: &DataType, nested: bool) -> Result<Self> {
        let values = match of {
            DataType::Boolean => Values::Boolean(BooleanBuilder::new()),
            DataType::Byte => Values::Byte(PrimitiveBuilder::new()),
            DataType::Short => Values::Short(PrimitiveBuilder::new()),
            DataType::Integer => Values::Integer(PrimitiveBuilder::new()),
            DataType::Long => Values::Long(PrimitiveBuilder::new()),
            DataType::Float => Values::Float(PrimitiveBuilder::new()),
            DataType::Double => Values::Double(PrimitiveBuilder::new()),
            DataType::Decimal(of) => Values::Decimal(PrimitiveBuilder::new(), *of),
            DataType::Date => Values::Date(PrimitiveBuilder::new()),
            DataType::Timestamp => Values::Timestamp(PrimitiveBuilder::new()),
            DataType::TimestampNtz => Values::TimestampNtz(PrimitiveBuilder::new()),
            DataType::String => Values::Text(StringViewBuilder::new()),
            DataType::Array { element, .. } if nested => {
                Values::List(Ends::new(), Box::new(Self::new(element, nested)?))
            }
            DataType::Map { key, value, .. } if nested && **key == DataType::String => {
                let value = Box::new(Self::new(value, nested)?);
                Values::Map(Ends::new(), StringViewBuilder::new(), value)
            }
            DataType::Struct(fields) if nested => {
                Values::Struct(NullBufferBuilder::new(0), Fields::new(fields)?)
            }
            other => {
                return Err(Unsupported::of_use(format!(
                    "records with values of type {other}"
                )));
            }
        };
        Ok(Self {
            arrow: of.to_arrow()?,
            values,
        })
    }

    /// No value.
    pub(crate) fn push_null(&mut self) -> DataFusionResult<()> {
        match &mut self.values {
            Values::Boolean(values) => values.append_null(),
            Values::Byte(values) => values.append_null(),
            Values::Short(values) => values.append_null(),
            Values::Integer(values) => values.append_null(),
            Values::Long(values) => values.append_null(),
            Values::Float(values) => values.append_null(),
            Values::Double(values) => values.append_null(),
            Values::Decimal(values, _) => values.append_null(),
            Values::Date(values) => values.append_null(),
            Values::Timestamp(values) | Values::TimestampNtz(values) => values.append_null(),
            Values::Text(values) => values.append_null(),
            Values::List(ends, element) => ends.push(element.len(), false)?,
            Values::Map(ends, _, value) => ends.push(value.len(), false)?,
            Values::Struct(valid, fields) => {
                valid.append_null();
                fields.push_nulls()?;
            }
        }
        Ok(())
    }

    /// Values so far.
    pub(crate) fn len(&self) -> usize {
        use arrow::array::ArrayBuilder as _;
        match &self.values {
            Values::Boolean(values) => values.len(),
            Values::Byte(values) => values.len(),
            Values::Short(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Long(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Double(values) => values.len(),
            Values::Decimal(values, _) => values.len(),
            Values::Date(values) => values.len(),
            Values::Timestamp(values) | Values::TimestampNtz(values) => values.len(),
            Values::Text(values) => values.len(),
            Values::List(ends, _) | Values::Map(ends, ..) => ends.ends.len(),
            Values::Struct(valid, _) => valid.len(),
        }
    }

    /// The values; the column is empty again.
    pub(crate) fn finish(&mut self) -> DataFusionResult<ArrayRef> {
        let of = &self.arrow;
        Ok(match &mut self.values {
            Values::Boolean(values) => Arc::new(values.finish()),
            Values::Byte(values) => Arc::new(values.finish()),
            Values::Short(values) => Arc::new(values.finish()),
            Values::Integer(values) => Arc::new(values.finish()),
            Values::Long(values) => Arc::new(values.finish()),
            Values::Float(values) => Arc::new(values.finish()),
            Values::Double(values) => Arc::new(values.finish()),
            Values::Decimal(values, _) => typed(values, of),
            Values::Date(values) => Arc::new(values.finish()),
            Values::Timestamp(values) | Values::TimestampNtz(values) => typed(values, of),
            Values::Text(values) => Arc::new(values.finish()),
            Values::List(ends, element) => {
                let ArrowType::List(field) = of else {
                    return Err(bail_out("a list of another type"));
                };
                let (offsets, valid) = ends.finish();
                let element = element.finish()?;
                Arc::new(ListArray::try_new(
                    Arc::clone(field),
                    offsets,
                    element,
                    valid,
                )?)
            }
            Values::Map(ends, keys, values) => {
                let ArrowType::Map(field, _) = of else {
                    return Err(bail_out("a map of another type"));
                };
                let ArrowType::Struct(fields) = field.data_type() else {
                    return Err(bail_out("a map of another type"));
                };
                let (offsets, valid) = ends.finish();
                let entries = vec![Arc::new(keys.finish()) as ArrayRef, values.finish()?];
                let entries = StructArray::try_new(fields.clone(), entries, None)?;
                let map = MapArray::try_new(Arc::clone(field), offsets, entries, valid, false)?;
                Arc::new(map)
            }
            Values::Struct(valid, fields) => {
                let ArrowType::Struct(types) = of else {
                    return Err(bail_out("a struct of another type"));
                };
                let length = valid.len();
                let columns = fields.columns.iter_mut().map(Self::finish);
                let columns = columns.collect::<DataFusionResult<Vec<_>>>()?;
                let types = types.clone();
                let valid = valid.finish();
                Arc::new(StructArray::try_new_with_length(
                    types, columns, valid, length,
                )?)
            }
        })
    }
}

fn typed<T: ArrowPrimitiveType>(values: &mut PrimitiveBuilder<T>, of: &ArrowType) -> ArrayRef {
    Arc::new(values.finish().with_data_type(of.clone()))
}

impl Ends {
    fn new() -> Self {
        Self {
            ends: Vec::new(),
            valid: NullBufferBuilder::new(0),
        }
    }

    /// A list that ends where there are so many elements.
    pub(crate) fn push(&mut self, elements: usize, valid: bool) -> DataFusionResult<()> {
        let end = i32::try_from(elements);
        self.ends
            .push(end.map_err(|_| bail_out("lists of too many values"))?);
        self.valid.append(valid);
        Ok(())
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Option<arrow::buffer::NullBuffer>) {
        let mut offsets = vec![0];
        offsets.append(&mut self.ends);
        (OffsetBuffer::new(offsets.into()), self.valid.finish())
    }
}

impl Fields {
    /// Columns of these fields.
    ///
    /// # Errors
    /// As [`Column::new`]; or two have a name, or one has a value where files say nothing.
    pub(crate) fn new(fields: &[StructField]) -> Result<Self> {
        let mut names: Vec<Box<str>> = Vec::new();
        let mut columns = Vec::new();
        for field in fields {
            check(field)?;
            if names.iter().any(|name| **name == *field.name) {
                return Err(Unsupported::of_use("records with two fields of a name"));
            }
            names.push(field.name.as_str().into());
            columns.push(Column::new(&field.data_type, true)?);
        }
        Ok(Self {
            seen: vec![false; names.len()],
            names,
            columns,
            next: 0,
        })
    }

    /// The place of a name. It is expected to be asked for again with the name behind it.
    pub(crate) fn find(&mut self, name: &str) -> Option<usize> {
        let expected = self.names.get(self.next);
        let found = match expected.is_some_and(|expected| **expected == *name) {
            true => self.next,
            false => self.names.iter().position(|other| **other == *name)?,
        };
        self.next = if found + 1 < self.names.len() {
            found + 1
        } else {
            0
        };
        Some(found)
    }

    /// Begins a record.
    pub(crate) fn begin(&mut self) {
        self.seen.fill(false);
    }

    /// Ends a record: what it did not say is null.
    pub(crate) fn end(&mut self) -> DataFusionResult<()> {
        for (column, seen) in self.columns.iter_mut().zip(&self.seen) {
            if !seen {
                column.push_null()?;
            }
        }
        Ok(())
    }

    fn push_nulls(&mut self) -> DataFusionResult<()> {
        self.columns.iter_mut().try_for_each(Column::push_null)
    }
}

/// That a column is one that may be null and has no value of its own where files say nothing.
pub(crate) fn check(field: &StructField) -> Result<()> {
    if !field.nullable {
        return Err(Unsupported::of_use(
            "records with values that may not be null",
        ));
    }
    if field.exists_default.is_some() {
        return Err(Unsupported::of_use("records with default values"));
    }
    Ok(())
}
