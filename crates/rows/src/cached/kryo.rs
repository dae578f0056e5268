//! Batches as `KryoSerializer` writes them: objects one behind the other, without a header.
//!
//! ```text
//! class | buffers: array of arrays | number of rows | statistics                    fields in the order of their names
//! class | number of rows | number of buffers + 1 | length + 1, bytes each | statistics    a batch that writes itself
//! statistics: class of the row | class of the array | number of values + 1 | class and value each
//! ```
//!
//! Objects are numbered as they come, and named again by their numbers: a bound of decimals is often both bounds.

use catalyst::{DataType, Literal, MAX_LONG_DIGITS};
use datafusion_common::Result;
use javaser::kryo::{KryoForm, KryoGraph, KryoInput, NEW_OBJECT, tag};

use super::java::{BATCH, ROW, STATISTICS, statistics_of};
use super::{CachedBatch, ColumnStatistics};
use crate::error::bail_out;

const OBJECTS: &str = "[Ljava.lang.Object;";
const TEXT: &str = "org.apache.spark.unsafe.types.UTF8String";
const DECIMAL: &str = "org.apache.spark.sql.types.Decimal";
const BIG_DECIMAL: &str = "java.math.BigDecimal";

/// What stands for a class that is named.
const NAMED: u32 = 1;
/// The first number of an object that came before.
const FIRST_REFERENCE: u32 = 2;

/// How batches are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct KryoBatches {
    pub(super) form: KryoForm,
    /// Whether a batch writes itself.
    pub(super) of_itself: bool,
}

impl KryoBatches {
    /// Appends a batch. `types` are the columns'.
    ///
    /// # Errors
    /// Bail-out: it is too large for Kryo.
    pub(super) fn write(
        self,
        batch: &CachedBatch,
        types: &[DataType],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let large = || bail_out("a cached batch of 2 GiB");
        let int = |number: usize| i32::try_from(number).map_err(|_| large());
        let mut graph = KryoGraph::new(self.form);
        graph.object(BATCH);
        let (rows, buffers) = (int(batch.num_rows)?, int(batch.buffers.len())?);
        if self.of_itself {
            graph.own_int(rows);
            graph.own_int(buffers.saturating_add(1));
            for buffer in &batch.buffers {
                graph.own_int(int(buffer.len())?.checked_add(1).ok_or_else(large)?);
                graph.raw(buffer);
            }
        } else {
            graph.arrays(buffers.unsigned_abs());
            batch.buffers.iter().for_each(|buffer| graph.bytes(buffer));
            graph.int(rows);
        }
        graph.object(ROW);
        let length = graph.array(OBJECTS);
        let mut values = 0;
        for (column, data_type) in batch.statistics.iter().zip(types) {
            let of = ColumnStatistics::types(data_type);
            for (value, of) in column.values().iter().zip(of) {
                put(&mut graph, value, &of)?;
                values += 1;
            }
        }
        graph.set_length(length, values);
        out.extend(graph.finish());
        Ok(())
    }

    /// The first batch, and how many bytes it takes; `None` if it is not complete, or something else.
    pub(super) fn read(
        self,
        bytes: &[u8],
        types: &[DataType],
        statistics: bool,
    ) -> Option<(CachedBatch, usize)> {
        let input = KryoInput {
            rest: bytes,
            form: self.form,
        };
        let mut objects = Objects {
            input,
            names: Vec::new(),
            seen: Vec::new(),
        };
        objects.class()?.is(BATCH)?;
        objects.begin()?;
        let (rows, buffers) = match self.of_itself {
            true => objects.of_itself()?,
            false => objects.of_fields()?,
        };
        objects.class()?.is(ROW)?;
        objects.begin()?;
        objects.class()?.is(OBJECTS)?;
        objects.begin()?;
        let of: Vec<_> = types.iter().flat_map(ColumnStatistics::types).collect();
        if objects.length()? != of.len() {
            return None;
        }
        let values = of
            .iter()
            .map(|of| objects.value(of))
            .collect::<Option<Vec<_>>>()?;
        let used = bytes.len() - objects.input.rest.len();
        let batch = CachedBatch {
            num_rows: usize::try_from(rows).ok()?,
            buffers: buffers
                .into_iter()
                .map(|bytes| bytes.to_vec().into())
                .collect(),
            statistics: match statistics {
                true => statistics_of(values.as_chunks::<STATISTICS>().0)?,
                false => Vec::new(),
            },
        };
        Some((batch, used))
    }
}

/// A bound, as Catalyst keeps values of the type.
fn put(graph: &mut KryoGraph, value: &Literal, of: &DataType) -> Result<()> {
    match (value, of) {
        (Literal::Boolean(value), _) => graph.any_boolean(*value),
        (Literal::Byte(value), _) => graph.any_byte(value.cast_unsigned()),
        (Literal::Short(value), _) => graph.any_short(*value),
        (Literal::Integer(value), _) => graph.any_int(*value),
        (Literal::Long(value), _) => graph.any_long(*value),
        (Literal::Float(value), _) => graph.any_float(*value),
        (Literal::Double(value), _) => graph.any_double(*value),
        (Literal::String(bytes), _) => {
            graph.object(TEXT);
            graph.own_int(i32::try_from(bytes.len()).map_err(|_| bail_out("a text of 2 GiB"))?);
            graph.raw(bytes);
        }
        (Literal::Decimal(digits), DataType::Decimal(of)) => {
            graph.object(DECIMAL);
            let long = i64::try_from(*digits)
                .ok()
                .filter(|_| of.precision <= MAX_LONG_DIGITS);
            match long {
                Some(_) => graph.null(),
                None => {
                    // Scala's, around Java's.
                    graph.element();
                    graph.object(BIG_DECIMAL);
                    graph.digits(*digits);
                    graph.int(of.scale.into());
                }
            }
            graph.int(of.precision.into());
            graph.int(of.scale.into());
            graph.long(long.unwrap_or(0));
        }
        // Of types without an order.
        _ => graph.null(),
    }
    Ok(())
}

/// The class of an object.
enum Class<'n> {
    /// A number that depends on the application: what it stands for is known by where it is.
    Number(u32),
    Name(&'n str),
}

impl Class<'_> {
    /// `None` if it is another class.
    fn is(&self, class: &str) -> Option<()> {
        match self {
            Self::Number(number) => (*number > u32::from(tag::DOUBLE)).then_some(()),
            Self::Name(name) => (*name == class).then_some(()),
        }
    }
}

/// Reads one graph.
struct Objects<'a> {
    input: KryoInput<'a>,
    names: Vec<String>,
    /// The values of objects, in the order of their numbers, as far as they are asked for.
    seen: Vec<Option<Literal>>,
}

/// The place of an object among those that were seen.
type Place = usize;

/// What stands where an object may be.
enum Found {
    /// One that follows.
    New(Place),
    /// One that was there before.
    Seen(Literal),
}

impl<'a> Objects<'a> {
    fn class(&mut self) -> Option<Class<'_>> {
        let number = self.input.var()?;
        if number != NAMED {
            return Some(Class::Number(number));
        }
        let place = usize::try_from(self.input.var()?).ok()?;
        if place == self.names.len() {
            let name = self.input.name()?;
            self.names.push(name);
        }
        self.names.get(place).map(|name| Class::Name(name))
    }

    /// An object that was not seen before.
    fn begin(&mut self) -> Option<Place> {
        match self.object()? {
            Found::New(place) => Some(place),
            Found::Seen(_) => None,
        }
    }

    fn object(&mut self) -> Option<Found> {
        if self.input.form.references {
            let mark = self.input.var()?;
            if let Some(place) = mark.checked_sub(FIRST_REFERENCE) {
                let seen = self.seen.get(usize::try_from(place).ok()?)?;
                return Some(Found::Seen(seen.clone()?));
            }
            if mark != u32::from(NEW_OBJECT) {
                return None;
            }
        }
        self.seen.push(None);
        Some(Found::New(self.seen.len() - 1))
    }

    fn is(&mut self, place: Place, value: Literal) -> Option<Literal> {
        *self.seen.get_mut(place)? = Some(value.clone());
        Some(value)
    }

    /// A number that null would be 0 of.
    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.input.var()?.checked_sub(1)?).ok()
    }

    /// Rows and buffers of a batch that wrote itself.
    fn of_itself(&mut self) -> Option<(i32, Vec<&'a [u8]>)> {
        let rows = self.input.int()?;
        let mut buffers = Vec::new();
        for _ in 0..self.input.int()?.checked_sub(1)? {
            let length = usize::try_from(self.input.int()?.checked_sub(1)?).ok()?;
            buffers.push(self.input.skip(length)?);
        }
        Some((rows, buffers))
    }

    /// Those of a batch whose fields Kryo wrote.
    fn of_fields(&mut self) -> Option<(i32, Vec<&'a [u8]>)> {
        self.begin()?;
        let mut buffers = Vec::new();
        for _ in 0..self.length()? {
            self.begin()?;
            let length = self.length()?;
            buffers.push(self.input.skip(length)?);
        }
        Some((self.input.int_field()?, buffers))
    }

    /// A value of an array of objects.
    fn value(&mut self, of: &DataType) -> Option<Literal> {
        let class = match self.class()? {
            Class::Number(number) => u8::try_from(number).unwrap_or(u8::MAX),
            Class::Name(name) => {
                let known = match of {
                    DataType::Decimal(_) => DECIMAL,
                    _ => TEXT,
                };
                (name == known).then_some(u8::MAX)?
            }
        };
        let input = &mut self.input;
        Some(match class {
            tag::NULL => Literal::Null,
            tag::BOOLEAN => Literal::Boolean(input.take::<1>()? != [0]),
            tag::BYTE => Literal::Byte(input.own().map(i8::from_le_bytes)?),
            tag::SHORT => Literal::Short(input.own().map(i16::from_le_bytes)?),
            tag::INT => Literal::Integer(input.int_field()?),
            tag::LONG => Literal::Long(input.long_field()?),
            tag::FLOAT => Literal::Float(input.own().map(f32::from_le_bytes)?),
            tag::DOUBLE => Literal::Double(input.own().map(f64::from_le_bytes)?),
            _ => match self.object()? {
                Found::Seen(seen) => seen,
                Found::New(place) => {
                    let value = match of {
                        DataType::String => self.text()?,
                        DataType::Decimal(of) => self.decimal(of.scale)?,
                        _ => return None,
                    };
                    self.is(place, value)?
                }
            },
        })
    }

    fn text(&mut self) -> Option<Literal> {
        let length = usize::try_from(self.input.int()?).ok()?;
        Some(Literal::String(self.input.skip(length)?.into()))
    }

    /// The fields of a `Decimal`.
    fn decimal(&mut self, scale: i8) -> Option<Literal> {
        let wide = self.scala_decimal(scale)?;
        let _precision = self.input.int_field()?;
        if self.input.int_field()? != i32::from(scale) {
            return None;
        }
        let long = self.input.long_field()?;
        Some(wide.unwrap_or_else(|| Literal::Decimal(long.into())))
    }

    /// A `scala.math.BigDecimal` where nothing else can be.
    fn scala_decimal(&mut self, scale: i8) -> Option<Option<Literal>> {
        if self.input.rest.first() == Some(&tag::NULL) {
            self.input.skip(1)?;
            return Some(None);
        }
        if !self.input.form.references {
            self.input.not_null()?;
        }
        let outer = match self.object()? {
            Found::Seen(seen) => return Some(Some(seen)),
            Found::New(place) => place,
        };
        self.class()?.is(BIG_DECIMAL)?;
        let digits = match self.object()? {
            Found::Seen(seen) => seen,
            Found::New(inner) => {
                let digits = self.digits()?;
                if self.input.int_field()? != i32::from(scale) {
                    return None;
                }
                self.is(inner, Literal::Decimal(digits))?
            }
        };
        self.is(outer, digits).map(Some)
    }

    /// A `BigInteger`.
    fn digits(&mut self) -> Option<i128> {
        let length = self.length()?;
        let bytes = self.input.skip(length)?;
        let negative = bytes.first()? & 0x80 != 0;
        let mut wide = [if negative { 0xff } else { 0 }; 16];
        let start = wide.len().checked_sub(bytes.len())?;
        wide.get_mut(start..)?.copy_from_slice(bytes);
        Some(i128::from_be_bytes(wide))
    }
}
