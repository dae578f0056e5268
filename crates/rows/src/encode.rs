//! From columns to rows.

mod elements;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, GenericByteViewArray, LargeBinaryArray, RecordBatch,
};
use arrow::datatypes::{ByteViewType, DataType as ArrowType};
use datafusion_common::Result;

use self::elements::{add_array_sizes, write_arrays};
use super::layout::{Column, Slot, WIDE_DECIMAL, fixed_bytes, null_bytes};
use crate::error::bail_out;
use crate::row_hash::RowHasher;
use catalyst::DataType;
use catalyst::Unsupported;

/// Rows that are taken through all columns before the next are: they stay in the processor's cache.
const TILE: usize = 256;

/// Bytes of the size before each row of a stream.
const PREFIX: usize = 4;

/// Batches to rows as Spark writes them, to the last bit: unused bytes are zero.
#[derive(Debug)]
pub struct RowEncoder {
    /// Columns of the rows; `None` for whole rows.
    columns: Option<Box<[Column]>>,
    /// Bytes of the smallest whole row that has as many columns as its reader was promised.
    least: usize,
    bytes: Vec<u8>,
    starts: Vec<usize>,
    sources: Vec<u32>,
    sizes: Vec<u32>,
}

/// Rows of a batch, each behind its size as in a stream of `UnsafeRowSerializer`.
#[derive(Debug, Clone, Copy)]
pub struct EncodedRows<'e> {
    bytes: &'e [u8],
    /// Where the records start, and where the last ends.
    starts: &'e [usize],
}

impl<'e> EncodedRows<'e> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, with their sizes.
    #[must_use]
    pub fn bytes(&self) -> &'e [u8] {
        self.bytes
    }

    /// Rows from `start` to before `end`, with their sizes; nothing for places that are not there.
    #[must_use]
    pub fn records(&self, start: usize, end: usize) -> &'e [u8] {
        match (self.starts.get(start), self.starts.get(end)) {
            (Some(start), Some(end)) => self.bytes.get(*start..*end).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// A row without its size.
    #[must_use]
    pub fn row(&self, index: usize) -> &'e [u8] {
        self.records(index, index + 1).get(PREFIX..).unwrap_or(&[])
    }

    /// The rows without their sizes.
    pub fn rows(&self) -> impl Iterator<Item = &'e [u8]> + use<'e> {
        let rows = *self;
        (0..rows.len()).map(move |index| rows.row(index))
    }

    /// Bytes of the rows without their sizes: what Spark counts as `dataSize`.
    #[must_use]
    pub fn data_size(&self) -> usize {
        self.bytes.len() - self.len() * PREFIX
    }
}

impl RowEncoder {
    /// For batches with these columns.
    ///
    /// # Errors
    /// Columns of a type are not kept natively.
    pub fn new<'a>(
        types: impl IntoIterator<Item = &'a DataType>,
    ) -> std::result::Result<Self, Unsupported> {
        Ok(Self::with(Some(Column::all(types)?)))
    }

    /// For batches of rows that Spark takes out of a cached table as rows: wide decimals are as long there as they
    /// need to be.
    ///
    /// # Errors
    /// As [`RowEncoder::new`].
    pub fn of_cached<'a>(
        types: impl IntoIterator<Item = &'a DataType>,
    ) -> std::result::Result<Self, Unsupported> {
        let mut columns = Column::all(types)?;
        for column in &mut columns {
            if let Slot::WideDecimal { always_16 } = &mut column.slot {
                *always_16 = false;
            }
        }
        Ok(Self::with(Some(columns)))
    }

    /// For batches of whole rows, of so many columns if that is known.
    #[must_use]
    pub fn opaque(num_fields: Option<usize>) -> Self {
        Self {
            least: fixed_bytes(num_fields.unwrap_or(0)),
            ..Self::with(None)
        }
    }

    fn with(columns: Option<Box<[Column]>>) -> Self {
        Self {
            least: 0,
            columns,
            bytes: Vec::new(),
            starts: Vec::new(),
            sources: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// What hashes such rows without writing them; `None` if they have different lengths.
    #[must_use]
    pub fn hasher(&self) -> Option<RowHasher> {
        RowHasher::new(self.columns.as_deref()?)
    }

    /// All rows of a batch.
    ///
    /// # Errors
    /// Bail-outs: the batch has other columns, or a row is larger than 2 GiB.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<EncodedRows<'_>> {
        let rows = u32::try_from(batch.num_rows()).map_err(|_| bail_out("too many rows"))?;
        self.sources.clear();
        self.sources.extend(0..rows);
        self.encode_sources(batch)
    }

    /// Bytes of the rows of a batch without their sizes, as [`EncodedRows::data_size`] has it, from their lengths only.
    ///
    /// # Errors
    /// As [`RowEncoder::encode`].
    pub fn data_size(&mut self, batch: &RecordBatch) -> Result<usize> {
        let Some(columns) = self.columns.take() else {
            return self.encode(batch).map(|rows| rows.data_size());
        };
        let sized = self.measure(batch, &columns);
        self.columns = Some(columns);
        sized?;
        Ok(self.sizes.iter().map(|size| *size as usize).sum())
    }

    fn measure(&mut self, batch: &RecordBatch, columns: &[Column]) -> Result<()> {
        let rows = u32::try_from(batch.num_rows()).map_err(|_| bail_out("too many rows"))?;
        self.sources.clear();
        self.sources.extend(0..rows);
        self.add_up(columns, batch.columns()).map(drop)
    }

    /// These rows of a batch, in this order.
    ///
    /// # Errors
    /// As [`RowEncoder::encode`]; a row is not there.
    pub fn encode_rows(&mut self, batch: &RecordBatch, rows: &[u32]) -> Result<EncodedRows<'_>> {
        if rows.iter().any(|row| *row as usize >= batch.num_rows()) {
            return Err(bail_out("a row that is not there"));
        }
        self.sources.clear();
        self.sources.extend_from_slice(rows);
        self.encode_sources(batch)
    }

    fn encode_sources(&mut self, batch: &RecordBatch) -> Result<EncodedRows<'_>> {
        let arrays = batch.columns();
        match self.columns.take() {
            Some(columns) => {
                let result = self.encode_columns(&columns, arrays);
                self.columns = Some(columns);
                result?;
            }
            None => self.encode_opaque(arrays)?,
        }
        Ok(EncodedRows {
            bytes: &self.bytes,
            starts: &self.starts,
        })
    }

    fn encode_columns(&mut self, columns: &[Column], arrays: &[ArrayRef]) -> Result<()> {
        let size = self.add_up(columns, arrays)?;
        self.allocate()?;
        let tiles = self
            .sources
            .chunks(TILE)
            .zip(self.starts.chunks(TILE))
            .zip(self.sizes.chunks_mut(TILE));
        for ((sources, starts), cursors) in tiles {
            let starts = starts.iter().take(sources.len());
            let starts: Vec<_> = starts.map(|start| start + PREFIX).collect();
            // What was a row's size is where its next variable bytes go.
            cursors.fill(size);
            write(columns, arrays, sources, &starts, cursors, &mut self.bytes)?;
        }
        Ok(())
    }

    /// Finds out the sizes of all rows. Gives that of a row without anything behind the slots.
    fn add_up(&mut self, columns: &[Column], arrays: &[ArrayRef]) -> Result<u32> {
        check_types(columns, arrays.iter())?;
        let fixed = fixed_bytes(columns.len());
        self.sizes.clear();
        let size = u32::try_from(fixed).map_err(|_| bail_out("too many columns"))?;
        self.sizes.resize(self.sources.len(), size);
        add_sizes(columns, arrays, &self.sources, &mut self.sizes)?;
        Ok(size)
    }

    fn encode_opaque(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        let [rows] = arrays else {
            return Err(bail_out("whole rows in another number of columns"));
        };
        let rows = rows
            .as_binary_view_opt()
            .ok_or_else(|| bail_out("a column of another type"))?;
        self.sizes.clear();
        let sizes = self.sources.iter().map(|row| length(rows, *row));
        self.sizes.extend(sizes);
        if self.sizes.iter().any(|size| (*size as usize) < self.least) {
            return Err(bail_out("a row that is too short"));
        }
        self.allocate()?;
        for (row, start) in self.sources.iter().zip(&self.starts) {
            put(&mut self.bytes, start + PREFIX, rows.value(*row as usize));
        }
        Ok(())
    }

    /// Room for rows of these sizes, with the sizes written.
    fn allocate(&mut self) -> Result<()> {
        self.starts.clear();
        let (mut end, mut most) = (0, 0);
        for size in &self.sizes {
            self.starts.push(end);
            end += PREFIX + *size as usize;
            most = most.max(*size);
        }
        self.starts.push(end);
        if i32::try_from(most).is_err() {
            return Err(bail_out("a row of more than 2 GiB"));
        }
        self.bytes.clear();
        self.bytes.resize(end, 0);
        for (size, start) in self.sizes.iter().zip(&self.starts) {
            put(&mut self.bytes, *start, &size.to_be_bytes());
        }
        Ok(())
    }
}

pub(crate) fn check_types<'a>(
    columns: &[Column],
    arrays: impl ExactSizeIterator<Item = &'a ArrayRef>,
) -> Result<()> {
    let same = columns.len() == arrays.len()
        && columns
            .iter()
            .zip(arrays)
            .all(|(column, array)| same_type(&column.arrow, array.data_type()));
    if same {
        Ok(())
    } else {
        Err(bail_out("columns of other types than declared"))
    }
}

/// Names of fields and what they say of nulls do not matter.
fn same_type(declared: &ArrowType, found: &ArrowType) -> bool {
    match (declared, found) {
        (ArrowType::Struct(declared), ArrowType::Struct(found)) => {
            declared.len() == found.len()
                && declared
                    .iter()
                    .zip(found)
                    .all(|(a, b)| same_type(a.data_type(), b.data_type()))
        }
        (ArrowType::List(declared), ArrowType::List(found))
        | (ArrowType::Map(declared, _), ArrowType::Map(found, _)) => {
            same_type(declared.data_type(), found.data_type())
        }
        _ => declared == found,
    }
}

/// Adds to the sizes of rows what columns have behind the slots.
fn add_sizes(
    columns: &[Column],
    arrays: &[ArrayRef],
    sources: &[u32],
    sizes: &mut [u32],
) -> Result<()> {
    for (column, array) in columns.iter().zip(arrays) {
        match &column.slot {
            Slot::WideDecimal { always_16: false } => {
                let digits = array.as_primitive::<Decimal128Type>();
                for (size, row) in sizes.iter_mut().zip(sources) {
                    let row = *row as usize;
                    let bytes = digits.value(row).to_be_bytes();
                    let length = match digits.is_valid(row) {
                        // Of 16.
                        true => big_integer(&bytes).len().next_multiple_of(8) as u32,
                        false => WIDE_DECIMAL,
                    };
                    *size = size.saturating_add(length);
                }
            }
            Slot::WideDecimal { .. } => {
                for size in &mut *sizes {
                    *size = size.saturating_add(WIDE_DECIMAL);
                }
            }
            Slot::String => add_lengths(array.as_string_view(), sources, sizes),
            Slot::Binary => add_lengths(array.as_binary_view(), sources, sizes),
            Slot::Variant => {
                let variants = array.as_binary::<i64>();
                for (size, row) in sizes.iter_mut().zip(sources) {
                    *size = size.saturating_add(variant_length(variants, *row as usize));
                }
            }
            Slot::Struct(fields) => {
                let of = array.as_struct();
                let fixed = u32::try_from(fixed_bytes(fields.len()))
                    .map_err(|_| bail_out("too many fields"))?;
                let mut own = vec![fixed; sources.len()];
                add_sizes(fields, of.columns(), sources, &mut own)?;
                for ((row, own), size) in sources.iter().zip(own).zip(&mut *sizes) {
                    if of.is_valid(*row as usize) {
                        *size = size.saturating_add(own);
                    }
                }
            }
            Slot::Array(_) | Slot::Map(_) => add_array_sizes(column, array, sources, sizes)?,
            _ => {}
        }
    }
    Ok(())
}

fn add_lengths<T: ByteViewType + ?Sized>(
    array: &GenericByteViewArray<T>,
    sources: &[u32],
    sizes: &mut [u32],
) {
    for (row, size) in sources.iter().zip(sizes) {
        *size = size.saturating_add(length(array, *row).next_multiple_of(8));
    }
}

/// Bytes of a value; 0 if it is null.
#[inline]
fn length<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>, row: u32) -> u32 {
    let row = row as usize;
    if array.is_null(row) {
        return 0;
    }
    // The low half of a view's low word.
    array.views().get(row).map_or(0, |view| *view as u32)
}

/// Bytes that a variant takes behind the slots; none if it is null.
fn variant_length(variants: &LargeBinaryArray, row: usize) -> u32 {
    let length = match variants.is_valid(row) {
        true => variants.value(row).len(),
        false => 0,
    };
    u32::try_from(length.next_multiple_of(8)).unwrap_or(u32::MAX)
}

/// Writes some rows. `starts` says where they start in `out`, `cursors` where in each row there is room behind the
/// slots.
fn write(
    columns: &[Column],
    arrays: &[ArrayRef],
    sources: &[u32],
    starts: &[usize],
    cursors: &mut [u32],
    out: &mut [u8],
) -> Result<()> {
    let nulls = null_bytes(columns.len());
    for (index, (column, array)) in columns.iter().zip(arrays).enumerate() {
        let mut rows = Rows {
            array: array.as_ref(),
            sources,
            starts,
            slot: nulls + index * 8,
            null: (index / 8, 1 << (index % 8)),
            out,
        };
        rows.write_nulls();
        match &column.slot {
            Slot::Null => {}
            Slot::Boolean => {
                let values = array.as_boolean();
                rows.write_slots(|row| u64::from(values.value(row)));
            }
            // Slots are filled up with zeros: numbers go in as they are, without their sign.
            Slot::Byte => rows.write_primitive::<Int8Type>(|v| u64::from(v as u8)),
            Slot::Short => rows.write_primitive::<Int16Type>(|v| u64::from(v as u16)),
            Slot::Integer => match column.arrow {
                ArrowType::Date32 => rows.write_primitive::<Date32Type>(|v| u64::from(v as u32)),
                ArrowType::Interval(_) => {
                    rows.write_primitive::<IntervalYearMonthType>(|v| u64::from(v as u32));
                }
                _ => rows.write_primitive::<Int32Type>(|v| u64::from(v as u32)),
            },
            Slot::Long => match column.arrow {
                ArrowType::Timestamp(..) => {
                    rows.write_primitive::<TimestampMicrosecondType>(|v| v as u64);
                }
                ArrowType::Duration(_) => {
                    rows.write_primitive::<DurationMicrosecondType>(|v| v as u64);
                }
                ArrowType::Time64(_) => {
                    rows.write_primitive::<Time64NanosecondType>(|v| v as u64);
                }
                _ => rows.write_primitive::<Int64Type>(|v| v as u64),
            },
            Slot::Float => rows.write_primitive::<Float32Type>(|v| u64::from(v.to_bits())),
            Slot::Double => rows.write_primitive::<Float64Type>(f64::to_bits),
            // At most 18 digits.
            Slot::Decimal => rows.write_primitive::<Decimal128Type>(|v| v as i64 as u64),
            Slot::WideDecimal { always_16 } => rows.write_wide_decimals(*always_16, cursors),
            Slot::String => rows.write_bytes(array.as_string_view(), cursors),
            Slot::Binary => rows.write_bytes(array.as_binary_view(), cursors),
            Slot::Variant => rows.write_bytes(array.as_binary::<i64>(), cursors),
            Slot::Struct(fields) => rows.write_structs(fields, cursors)?,
            Slot::Array(_) | Slot::Map(_) => write_arrays(column, &mut rows, cursors)?,
        }
    }
    Ok(())
}

/// A column of some rows.
struct Rows<'w> {
    array: &'w dyn Array,
    sources: &'w [u32],
    starts: &'w [usize],
    slot: usize,
    null: (usize, u8),
    out: &'w mut [u8],
}

impl Rows<'_> {
    fn write_nulls(&mut self) {
        let (byte, bit) = self.null;
        let mut set = |start: usize| {
            if let Some(byte) = self.out.get_mut(start + byte) {
                *byte |= bit;
            }
        };
        if self.array.data_type() == &ArrowType::Null {
            self.starts.iter().for_each(|start| set(*start));
        } else if let Some(nulls) = self.array.nulls().filter(|nulls| nulls.null_count() > 0) {
            for (row, start) in self.sources.iter().zip(self.starts) {
                if nulls.is_null(*row as usize) {
                    set(*start);
                }
            }
        }
    }

    #[inline]
    fn write_slots(&mut self, value: impl Fn(usize) -> u64) {
        let rows = self.sources.iter().zip(self.starts);
        match self.array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => {
                for (row, start) in rows {
                    put(
                        self.out,
                        start + self.slot,
                        &value(*row as usize).to_le_bytes(),
                    );
                }
            }
            Some(nulls) => {
                for (row, start) in rows {
                    if nulls.is_valid(*row as usize) {
                        put(
                            self.out,
                            start + self.slot,
                            &value(*row as usize).to_le_bytes(),
                        );
                    }
                }
            }
        }
    }

    #[inline]
    fn write_primitive<T: ArrowPrimitiveType>(&mut self, bits: impl Fn(T::Native) -> u64) {
        let values = self.array.as_primitive::<T>().values();
        self.write_slots(|row| values.get(row).map_or(0, |value| bits(*value)));
    }

    fn write_bytes<V>(&mut self, values: V, cursors: &mut [u32])
    where
        V: ArrayAccessor<Item: AsRef<[u8]>>,
    {
        for ((row, start), cursor) in self.sources.iter().zip(self.starts).zip(cursors) {
            let row = *row as usize;
            if values.is_null(row) {
                continue;
            }
            let value = values.value(row);
            let value = value.as_ref();
            // Rows were measured: they are of at most 2 GiB.
            let length = value.len() as u32;
            put(self.out, start + self.slot, &place(*cursor, length));
            put(self.out, start + *cursor as usize, value);
            *cursor += length.next_multiple_of(8);
        }
    }

    /// The place is kept for nulls too, mostly: Spark may fill it in later.
    fn write_wide_decimals(&mut self, always_16: bool, cursors: &mut [u32]) {
        let values = self.array.as_primitive::<Decimal128Type>();
        for ((row, start), cursor) in self.sources.iter().zip(self.starts).zip(cursors) {
            let row = *row as usize;
            let mut length = 0;
            if values.is_valid(row) {
                let bytes = values.value(row).to_be_bytes();
                let digits = big_integer(&bytes);
                // Of 16.
                length = digits.len() as u32;
                put(self.out, start + *cursor as usize, digits);
            }
            put(self.out, start + self.slot, &place(*cursor, length));
            *cursor += match always_16 || values.is_null(row) {
                true => WIDE_DECIMAL,
                false => length.next_multiple_of(8),
            };
        }
    }

    fn write_structs(&mut self, fields: &[Column], cursors: &mut [u32]) -> Result<()> {
        let of = self.array.as_struct();
        // As in the sizes.
        let fixed = fixed_bytes(fields.len()) as u32;
        let mut sources = Vec::with_capacity(self.sources.len());
        let mut starts = Vec::with_capacity(self.sources.len());
        for ((row, start), cursor) in self.sources.iter().zip(self.starts).zip(&*cursors) {
            if of.is_valid(*row as usize) {
                sources.push(*row);
                starts.push(start + *cursor as usize);
            }
        }
        let mut own = vec![fixed; sources.len()];
        write(fields, of.columns(), &sources, &starts, &mut own, self.out)?;
        let mut sizes = own.into_iter();
        for ((row, start), cursor) in self.sources.iter().zip(self.starts).zip(cursors) {
            if of.is_valid(*row as usize) {
                let size = sizes.next().unwrap_or(0);
                put(self.out, start + self.slot, &place(*cursor, size));
                *cursor += size;
            }
        }
        Ok(())
    }
}

/// A slot that tells of a place in its row.
#[inline]
pub(crate) fn place(offset: u32, length: u32) -> [u8; 8] {
    (u64::from(offset) << 32 | u64::from(length)).to_le_bytes()
}

/// As `BigInteger.toByteArray`: as short as can be.
pub fn big_integer(bytes: &[u8; 16]) -> &[u8] {
    let negative = i128::from_be_bytes(*bytes) < 0;
    let sign = if negative { 0xFF } else { 0 };
    let mut digits: &[u8] = bytes;
    while let [first, rest @ ..] = digits {
        let again = rest
            .first()
            .is_some_and(|next| (next & 0x80 != 0) == negative);
        if *first != sign || !again {
            break;
        }
        digits = rest;
    }
    digits
}

#[inline]
fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
