//! States of aggregate functions, one for each group, kept as Spark's buffers.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow::datatypes::{DataType as ArrowType, DurationMicrosecondType, IntervalYearMonthType};
use datafusion_common::Result;

use super::bits::Bits;
use super::boolean::MinMaxBoolean;
use super::bytes::MinMaxBytes;
use super::collect::CollectList;
use super::collect_set::CollectSet;
use super::comoment::{Comoments, Plan as ComomentPlan};
use super::decimal::{AverageDecimal, SumDecimal};
use super::digest::{ApproxPercentiles, is_summarized};
use super::extremes_by::ExtremesBy;
use super::extremum_by::ExtremumBy;
use super::first::FirstLast;
use super::histogram::{self, Histograms};
use super::hll::{self, ApproxCountDistinct};
use super::interval::Intervals;
use super::list_agg::ListAgg;
use super::minmax::min_max;
use super::mode::{self, Modes};
use super::moment::Moments;
use super::nested::MinMaxNested;
use super::number::{AverageDouble, Count, SumDouble, SumLong};
use super::percentile::{Asked, Percentiles, is_counted};
use super::pivot::PivotFirst;
use super::scala_set;
use super::sketch::{self, CountMins, HllSketches, HllUnions};
use crate::expr::is_hashed;
use catalyst::EvalMode;
use catalyst::Unsupported;
use catalyst::{AggregateFunction, AggregateKind, ListOrder};
use catalyst::{DataType, Decimal, Expr, Literal};
use rows::error::bail_out;
use rows::is_ordered;
use rows::types::ToArrow as _;
use sketches::hll::LG_K;

/// The buffers of a function for all groups.
pub(crate) trait Accumulator: Send {
    /// Adds rows, each to the buffer of its group. There are `total` groups by now. Only rows that the filter is true
    /// of count; it has no nulls.
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()>;

    /// Adds buffers, each to that of its group. By default they are added as rows are.
    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update(buffers, groups, None, total)
    }

    /// The results of all groups so far, which stay, if what it has is little however many rows there were. What it
    /// goes on with is what Spark goes on with that has been asked for a result.
    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        None
    }

    /// Takes the buffers of all groups, as Spark has them. By default they are the results.
    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate()?])
    }

    /// Takes the results of all groups.
    fn evaluate(&mut self) -> Result<ArrayRef>;

    /// Bytes of memory.
    fn size(&self) -> usize;
}

/// What makes the accumulator of a function. Made once for a stage.
#[derive(Debug, Clone)]
pub(crate) struct Factory {
    kind: AggregateKind,
    /// Type of the argument, the first if there are two.
    input: DataType,
    /// Type of the second.
    second: DataType,
    /// Where percentiles are.
    percentages: Vec<f64>,
    /// What a pivot makes elements of.
    constants: Vec<Literal>,
    result: DataType,
    /// Types of the buffer, as Spark says.
    pub(super) buffer: Vec<DataType>,
}

impl Factory {
    /// Judges a function whose buffers nobody sees.
    pub(crate) fn without_buffer(function: &AggregateFunction) -> Result<Self, Unsupported> {
        let factory = Self::of(function);
        Ok(Self {
            buffer: factory.expected_buffer()?,
            ..factory
        })
    }

    /// Judges a function.
    pub(super) fn new(function: &AggregateFunction) -> Result<Self, Unsupported> {
        let mut factory = Self::of(function);
        // It need not say what it has.
        if function.kind.is_typed() && factory.buffer.is_empty() {
            factory.buffer.push(DataType::Binary);
        }
        // Arrays and structs may say something else of nulls.
        let arrow = |types: &[DataType]| -> Result<Vec<ArrowType>, Unsupported> {
            types.iter().map(DataType::to_arrow).collect()
        };
        if arrow(&factory.expected_buffer()?)? != arrow(&factory.buffer)? {
            return Err(Unsupported::of_use(format!(
                "{:?} of another buffer",
                factory.kind
            )));
        }
        Ok(factory)
    }

    fn of(function: &AggregateFunction) -> Self {
        let arg = |place| match function.args.get(place) {
            Some(Expr { data_type, .. }) => data_type.clone(),
            None => DataType::Null,
        };
        let buffer = function.input_buffer.iter();
        Self {
            kind: function.kind,
            input: arg(0),
            second: arg(1),
            percentages: function.percentages.clone(),
            constants: function.constants.clone(),
            result: function.data_type.clone(),
            buffer: buffer.map(|column| column.data_type.clone()).collect(),
        }
    }

    /// Whether a function of an argument of this type is computed; a second is a number.
    pub(super) fn takes(kind: AggregateKind, input: &DataType) -> bool {
        let factory = Self {
            kind,
            input: input.clone(),
            second: match kind {
                AggregateKind::Comoment { .. } => DataType::Double,
                _ => DataType::Integer,
            },
            percentages: Vec::new(),
            constants: match kind {
                AggregateKind::CountMinSketch => sketch::example(),
                _ => Vec::new(),
            },
            result: input.clone(),
            buffer: Vec::new(),
        };
        factory.expected_buffer().is_ok()
    }

    /// Types of Spark's buffer for what is known here.
    fn expected_buffer(&self) -> Result<Vec<DataType>, Unsupported> {
        let unsupported = || Unsupported::of_use(format!("{:?} of {}", self.kind, self.input));
        let wider = |decimal: &Decimal| {
            let precision = i32::from(decimal.precision) + 10;
            DataType::Decimal(Decimal::fit(precision, decimal.scale.into(), false))
        };
        Ok(match (self.kind, &self.input) {
            (AggregateKind::Sum { .. }, DataType::Decimal(decimal)) => {
                vec![wider(decimal), DataType::Boolean]
            }
            (
                AggregateKind::Sum { mode },
                DataType::Byte | DataType::Short | DataType::Integer | DataType::Long,
            ) => match mode {
                EvalMode::Try => vec![DataType::Long, DataType::Boolean],
                EvalMode::Legacy | EvalMode::Ansi => vec![DataType::Long],
            },
            (AggregateKind::Sum { .. }, DataType::Float | DataType::Double) => {
                vec![DataType::Double]
            }
            (AggregateKind::Average { .. }, DataType::Decimal(decimal)) => {
                vec![wider(decimal), DataType::Long]
            }
            (
                AggregateKind::Sum { mode },
                DataType::YearMonthInterval | DataType::DayTimeInterval,
            ) => match mode {
                EvalMode::Try => vec![self.input.clone(), DataType::Boolean],
                EvalMode::Legacy | EvalMode::Ansi => vec![self.input.clone()],
            },
            (
                AggregateKind::Average { .. },
                DataType::YearMonthInterval | DataType::DayTimeInterval,
            ) => vec![self.input.clone(), DataType::Long],
            (
                AggregateKind::Average { .. },
                DataType::Byte
                | DataType::Short
                | DataType::Integer
                | DataType::Long
                | DataType::Float
                | DataType::Double,
            ) => vec![DataType::Double, DataType::Long],
            (AggregateKind::Count, _) => vec![DataType::Long],
            (
                AggregateKind::Min | AggregateKind::Max,
                DataType::Boolean
                | DataType::Byte
                | DataType::Short
                | DataType::Integer
                | DataType::Long
                | DataType::Float
                | DataType::Double
                | DataType::Decimal(_)
                | DataType::Date
                | DataType::Timestamp
                | DataType::TimestampNtz
                | DataType::YearMonthInterval
                | DataType::DayTimeInterval
                | DataType::Time(_)
                | DataType::String
                | DataType::Binary,
            ) => vec![self.input.clone()],
            (
                AggregateKind::Min | AggregateKind::Max,
                DataType::Struct(_) | DataType::Array { .. },
            ) if is_ordered(&self.input.to_arrow()?) => vec![self.input.clone()],
            (AggregateKind::First { .. } | AggregateKind::Last { .. }, input) => {
                input.to_arrow()?;
                vec![input.clone(), DataType::Boolean]
            }
            (AggregateKind::CollectList, input) => {
                input.to_arrow()?;
                vec![DataType::Binary]
            }
            (AggregateKind::MaxBy | AggregateKind::MinBy, input)
                if is_ordered(&self.second.to_arrow()?) =>
            {
                input.to_arrow()?;
                vec![input.clone(), self.second.clone()]
            }
            (AggregateKind::ExtremesBy { .. }, input) if is_ordered(&self.second.to_arrow()?) => {
                input.to_arrow()?;
                let list = |of: &DataType| DataType::Array {
                    element: Box::new(of.clone()),
                    contains_null: true,
                };
                vec![list(input), list(&self.second), DataType::Binary]
            }
            (AggregateKind::CentralMoment { moment, .. }, DataType::Double) => {
                vec![DataType::Double; moment.order() + 1]
            }
            (AggregateKind::Comoment { comoment, .. }, DataType::Double)
                if self.second == DataType::Double =>
            {
                vec![DataType::Double; comoment.buffer_len()]
            }
            (
                AggregateKind::Bits(_),
                DataType::Byte | DataType::Short | DataType::Integer | DataType::Long,
            ) => vec![self.input.clone()],
            (AggregateKind::ApproxCountDistinct { precision }, input)
                if *input != DataType::Null && is_hashed(&input.to_arrow()?) =>
            {
                vec![DataType::Long; hll::words(precision)]
            }
            (AggregateKind::CollectSet { .. }, input)
                if scala_set::is_hashed(&input.to_arrow()?) =>
            {
                vec![DataType::Binary]
            }
            (AggregateKind::Percentile { .. }, input)
                if is_counted(input)
                    && matches!(
                        self.second,
                        DataType::Byte | DataType::Short | DataType::Integer | DataType::Long
                    ) =>
            {
                vec![DataType::Binary]
            }
            (AggregateKind::ApproxPercentile { .. }, input) if is_summarized(input) => {
                vec![DataType::Binary]
            }
            (AggregateKind::Histogram { .. }, input) if histogram::is_summarized(input) => {
                vec![DataType::Binary]
            }
            (AggregateKind::Mode { ties }, input) if mode::is_counted(input, ties) => {
                vec![DataType::Binary]
            }
            (AggregateKind::ListAgg { order }, DataType::String)
                if !matches!(order, ListOrder::Key { .. }) || self.second.is_exact() =>
            {
                vec![DataType::Binary]
            }
            (
                AggregateKind::HllSketch { lg_k },
                DataType::Integer | DataType::Long | DataType::String | DataType::Binary,
            ) if LG_K.contains(&lg_k) => vec![DataType::Binary],
            (AggregateKind::HllUnion { .. }, DataType::Binary) => vec![DataType::Binary],
            (
                AggregateKind::CountMinSketch,
                DataType::Byte
                | DataType::Short
                | DataType::Integer
                | DataType::Long
                | DataType::String
                | DataType::Binary,
            ) => {
                sketch::plan(&self.constants)?;
                vec![DataType::Binary]
            }
            (AggregateKind::PivotFirst, input) if input.is_exact() => {
                self.second.to_arrow()?;
                vec![self.second.clone(); self.constants.len()]
            }
            _ => return Err(unsupported()),
        })
    }

    /// An accumulator without groups.
    pub(crate) fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        Ok(match (self.kind, &self.input) {
            (AggregateKind::Sum { .. }, DataType::Decimal(input)) => {
                Box::new(SumDecimal::new(*input, self.decimal_buffer()?))
            }
            (AggregateKind::Sum { .. }, DataType::Float | DataType::Double) => {
                Box::new(SumDouble::default())
            }
            (
                kind @ (AggregateKind::Sum { .. } | AggregateKind::Average { .. }),
                DataType::YearMonthInterval,
            ) => Intervals::<IntervalYearMonthType>::boxed(kind),
            (
                kind @ (AggregateKind::Sum { .. } | AggregateKind::Average { .. }),
                DataType::DayTimeInterval,
            ) => Intervals::<DurationMicrosecondType>::boxed(kind),
            (AggregateKind::Sum { mode }, _) => Box::new(SumLong::new(mode)),
            (AggregateKind::Average { .. }, DataType::Decimal(input)) => {
                let result = self.result.decimal();
                let result = result.ok_or_else(|| bail_out("an average of another type"))?;
                Box::new(AverageDecimal::new(*input, self.decimal_buffer()?, result))
            }
            (AggregateKind::Average { .. }, _) => Box::new(AverageDouble::default()),
            (AggregateKind::Count, _) => Box::new(Count::default()),
            (AggregateKind::Min, DataType::String | DataType::Binary) => {
                Box::new(MinMaxBytes::new(true, self.input == DataType::String))
            }
            (AggregateKind::Max, DataType::String | DataType::Binary) => {
                Box::new(MinMaxBytes::new(false, self.input == DataType::String))
            }
            (AggregateKind::Min, DataType::Boolean) => Box::new(MinMaxBoolean::new(true)),
            (AggregateKind::Max, DataType::Boolean) => Box::new(MinMaxBoolean::new(false)),
            (AggregateKind::Min, input @ (DataType::Struct(_) | DataType::Array { .. })) => {
                Box::new(MinMaxNested::new(input, true)?)
            }
            (AggregateKind::Max, input @ (DataType::Struct(_) | DataType::Array { .. })) => {
                Box::new(MinMaxNested::new(input, false)?)
            }
            (AggregateKind::Min, input) => min_max(input, true)?,
            (AggregateKind::Max, input) => min_max(input, false)?,
            (AggregateKind::First { ignore_nulls }, input) => {
                Box::new(FirstLast::new(input, false, ignore_nulls)?)
            }
            (AggregateKind::Last { ignore_nulls }, input) => {
                Box::new(FirstLast::new(input, true, ignore_nulls)?)
            }
            (
                AggregateKind::CentralMoment {
                    moment,
                    null_on_divide_by_zero,
                    skips_empty,
                },
                _,
            ) => Box::new(Moments::new(moment, null_on_divide_by_zero, skips_empty)),
            (
                AggregateKind::Comoment {
                    comoment,
                    null_on_divide_by_zero,
                    skips_empty,
                    checks_squares,
                    null_by_zero,
                },
                _,
            ) => Box::new(Comoments::new(ComomentPlan {
                comoment,
                null_on_divide_by_zero,
                skips_empty,
                checks_squares,
                null_by_zero,
            })),
            (AggregateKind::Bits(operation), input) => {
                let of = input.to_arrow();
                let of = of.map_err(|reason| bail_out(reason.to_string()))?;
                Box::new(Bits::new(operation, of))
            }
            (AggregateKind::ApproxCountDistinct { precision }, _) => {
                Box::new(ApproxCountDistinct::new(precision))
            }
            (AggregateKind::CollectList, input) => Box::new(CollectList::new(input)?),
            (AggregateKind::CollectSet { scala }, input) => {
                Box::new(CollectSet::new(input, scala)?)
            }
            (AggregateKind::Percentile { reverse, between }, input) => {
                let asked = Asked {
                    places: self.percentages.clone(),
                    as_array: self.gives_arrays(),
                    reverse,
                    between,
                };
                Box::new(Percentiles::new(input, asked)?)
            }
            (AggregateKind::ApproxPercentile { accuracy }, input) => {
                let places = self.percentages.clone();
                let as_array = self.gives_arrays();
                Box::new(ApproxPercentiles::new(input, accuracy, places, as_array)?)
            }
            (AggregateKind::Histogram { bins }, _) => {
                Box::new(Histograms::new(bins, &self.result)?)
            }
            (AggregateKind::Mode { ties }, input) => Box::new(Modes::new(input, ties)?),
            (AggregateKind::MaxBy, input) => Box::new(ExtremumBy::new(input, &self.second, false)?),
            (AggregateKind::MinBy, input) => Box::new(ExtremumBy::new(input, &self.second, true)?),
            (AggregateKind::ExtremesBy { least, rows }, input) => {
                Box::new(ExtremesBy::new(input, &self.second, least, rows)?)
            }
            (AggregateKind::ListAgg { order }, _) => {
                let delimiter = match self.constants.first() {
                    Some(Literal::String(text)) => String::from_utf8(text.clone()).ok(),
                    Some(Literal::Null) => Some(String::new()),
                    _ => None,
                };
                let delimiter = delimiter.ok_or_else(|| bail_out("a list without delimiter"))?;
                Box::new(ListAgg::new(order, &self.second, delimiter)?)
            }
            (AggregateKind::PivotFirst, input) => {
                Box::new(PivotFirst::new(input, &self.constants, &self.second)?)
            }
            (AggregateKind::HllSketch { lg_k }, _) => Box::new(HllSketches::new(lg_k)?),
            (AggregateKind::HllUnion { any_size }, _) => Box::new(HllUnions::new(any_size)),
            (AggregateKind::CountMinSketch, _) => Box::new(CountMins::new(&self.constants)?),
            (AggregateKind::BloomFilter { .. }, _) => {
                return Err(bail_out("BloomFilterAggregate"));
            }
        })
    }

    fn gives_arrays(&self) -> bool {
        matches!(self.result, DataType::Array { .. })
    }

    fn decimal_buffer(&self) -> Result<Decimal> {
        let first = self.buffer.first().and_then(DataType::decimal);
        first.ok_or_else(|| bail_out("a buffer of another type"))
    }
}

/// A column of a batch by its place among the arguments.
pub(super) fn column(columns: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    let column = columns.get(place);
    column.ok_or_else(|| bail_out("an aggregate without argument"))
}

/// A column of a type that is known.
pub(super) fn primitive<T: ArrowPrimitiveType>(
    columns: &[ArrayRef],
    place: usize,
) -> Result<&PrimitiveArray<T>> {
    let array = column(columns, place)?.as_any().downcast_ref();
    array.ok_or_else(|| bail_out("an aggregate of another type"))
}

/// A column of booleans.
pub(super) fn boolean(columns: &[ArrayRef], place: usize) -> Result<&BooleanArray> {
    let array = column(columns, place)?.as_any().downcast_ref();
    array.ok_or_else(|| bail_out("an aggregate of another type"))
}

/// Calls a function with the group and the value of each row that counts and is not null.
pub(super) fn each<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut of: impl FnMut(usize, T::Native),
) {
    let pairs = groups.iter().zip(values.values());
    if values.null_count() == 0 && filter.is_none() {
        pairs.for_each(|(group, value)| of(*group, *value));
        return;
    }
    for (row, (group, value)) in pairs.enumerate() {
        if values.is_valid(row) && filter.is_none_or(|filter| filter.value(row)) {
            of(*group, *value);
        }
    }
}

/// As [`each`], until it fails.
pub(super) fn try_each<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut of: impl FnMut(usize, T::Native) -> Result<()>,
) -> Result<()> {
    for (row, (group, value)) in groups.iter().zip(values.values()).enumerate() {
        if values.is_valid(row) && filter.is_none_or(|filter| filter.value(row)) {
            of(*group, *value)?;
        }
    }
    Ok(())
}
