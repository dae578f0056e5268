//! Aggregate functions.

use std::fmt;

use javaser::ScalaVersion;
use javaser::arena::Value;

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, EvalMode, Expr, ExprId, expr_id};
use crate::literal::Literal;
use crate::object::Reader;
use crate::types::DataType;

mod chosen;
mod read;

pub(crate) use self::read::DERIVED;

/// An `AggregateExpression`.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateExpression {
    /// What is computed.
    pub function: AggregateFunction,
    /// Which part of the work is done here.
    pub mode: AggregateMode,
    /// Of distinct arguments. The planner has seen to it already; the operator need not.
    pub distinct: bool,
    /// Which rows count.
    pub filter: Option<Expr>,
    /// Id of the attribute with the result.
    pub result_id: ExprId,
}

/// Which part of an aggregation is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateMode {
    /// Rows into a buffer.
    Partial,
    /// Buffers into a buffer.
    PartialMerge,
    /// Buffers into a result.
    Final,
    /// Rows into a result.
    Complete,
}

impl AggregateMode {
    /// Whether the input has buffers in place of arguments.
    #[must_use]
    pub fn merges(self) -> bool {
        matches!(self, Self::PartialMerge | Self::Final)
    }
}

/// An `AggregateFunction`.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateFunction {
    /// Which.
    pub kind: AggregateKind,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Where percentiles are, from 0 to 1.
    pub percentages: Vec<f64>,
    /// Of [`AggregateKind::PivotFirst`] the values of its first argument that it makes elements of; of
    /// [`AggregateKind::ListAgg`] the delimiter; of [`AggregateKind::CountMinSketch`] error, confidence and seed.
    pub constants: Vec<Literal>,
    /// Type of the result.
    pub data_type: DataType,
    /// Columns of the input with the buffers of an earlier stage (`inputAggBufferAttributes`): what
    /// [`AggregateMode::merges`] merges, in the order of Spark's buffer.
    pub input_buffer: Vec<Attribute>,
}

/// Which aggregate function. The names are Spark's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    /// Buffer: sum; of decimals sum and isEmpty.
    Sum {
        /// What happens on overflow.
        mode: EvalMode,
    },
    /// Buffer: sum, count.
    Average {
        /// What happens on overflow.
        mode: EvalMode,
    },
    /// Rows of which no argument is null. Buffer: count.
    Count,
    /// Buffer: min.
    Min,
    /// Buffer: max.
    Max,
    /// Buffer: first, valueSet.
    First {
        /// The first that is not null.
        ignore_nulls: bool,
    },
    /// Buffer: last, valueSet.
    Last {
        /// The last that is not null.
        ignore_nulls: bool,
    },
    /// `StddevSamp` and its kin. Buffer: n, avg, m2; of `Skewness` also m3, of `Kurtosis` that and m4.
    CentralMoment {
        /// Which.
        moment: Moment,
        /// Null for one row; NaN otherwise.
        null_on_divide_by_zero: bool,
        /// Buffers without rows are left out when buffers are merged, as from Spark 4.3 on.
        skips_empty: bool,
    },
    /// The value of the row in which another one is greatest. Buffer: valueWithExtremumOrdering, extremumOrdering.
    MaxBy,
    /// The value of the row in which another one is least. Buffer as that of `MaxBy`.
    MinBy,
    /// `MaxMinByK`: the values of the rows in which another one is greatest, or least, as an array. Buffer: values,
    /// orderings and heapIndices.
    ExtremesBy {
        /// Whether the least are wanted.
        least: bool,
        /// How many.
        rows: i32,
    },
    /// `Corr` and its kin, of pairs without nulls. Buffer: n, xAvg, yAvg, ck; what [`Comoment::has_squares`] also xMk
    /// and yMk; regressions n, avg and m2 of their second argument.
    Comoment {
        /// Which.
        comoment: Comoment,
        /// Null for one row; NaN otherwise.
        null_on_divide_by_zero: bool,
        /// Buffers without rows are left out when buffers are merged, as from Spark 4.3 on.
        skips_empty: bool,
        /// A correlation with a constant is as that of one row, as from Spark 4.3 on.
        checks_squares: bool,
        /// Otherwise it is null, as all that is divided by zero outside of ANSI mode.
        null_by_zero: bool,
    },
    /// All bits of integers together. Buffer: those so far.
    Bits(BitOperation),
    /// About how many different values there are: `HyperLogLogPlusPlus`. Buffer: registers of 6 bits, ten in a word.
    ApproxCountDistinct {
        /// Two to this are the registers.
        precision: u8,
    },
    /// The values that are not null, as an array. Buffer: a row of that array.
    CollectList,
    /// The different values that are not null, as an array in the order of Scala's `HashSet`. Buffer: as that of
    /// `CollectList`.
    CollectSet {
        /// Whose `HashSet`.
        scala: ScalaVersion,
    },
    /// Values at [places](AggregateFunction::percentages) among the sorted ones; each counts as often as its frequency,
    /// the second argument, says. Buffer: values and frequencies.
    Percentile {
        /// Greatest first.
        reverse: bool,
        /// How values between two others are found.
        between: Between,
    },
    /// About the values at such places: `ApproximatePercentile`. Buffer: its `PercentileDigest`.
    ApproxPercentile {
        /// How exact: one of so many is the error of a rank.
        accuracy: i32,
    },
    /// `HistogramNumeric`: centers and heights of bins, as an array of structs. Buffer: the bins.
    Histogram {
        /// At most so many.
        bins: i32,
    },
    /// The value that comes most often. Buffer: values and how often they come, in the order of Spark's hash table.
    Mode {
        /// Which of several that come as often.
        ties: Ties,
    },
    /// The last values, second argument, of rows whose first argument is one of
    /// [some](AggregateFunction::constants), as an array. Buffer: its elements.
    PivotFirst,
    /// The texts that are not null, one behind the other with a delimiter between them. Buffer: as that of
    /// `CollectList`, of structs of text and key if it is sorted by a key, which is the second argument.
    ListAgg {
        /// In which order.
        order: ListOrder,
    },
    /// `HllSketchAgg`: a sketch of how many different values there are. Buffer: the sketch.
    HllSketch {
        /// Two to this are the registers.
        lg_k: u8,
    },
    /// `HllUnionAgg`: the union of such sketches. Buffer: the union.
    HllUnion {
        /// They may have different numbers of registers.
        any_size: bool,
    },
    /// `CountMinSketchAgg`: a sketch of how often there are values. Buffer: the sketch.
    CountMinSketch,
    /// `BloomFilterAggregate`. Buffer: the filter.
    BloomFilter {
        /// Items expected.
        estimated_items: i64,
        /// Bits of the filter.
        bits: i64,
    },
}

/// What [`AggregateKind::CentralMoment`] makes of the moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Moment {
    StddevSamp,
    StddevPop,
    VarianceSamp,
    VariancePop,
    Skewness,
    Kurtosis,
    /// `RegrReplacement`: m2 itself.
    SumOfSquares,
}

impl Moment {
    /// Of the moments in the buffer, the highest.
    #[must_use]
    pub fn order(self) -> usize {
        match self {
            Self::Kurtosis => 4,
            Self::Skewness => 3,
            _ => 2,
        }
    }
}

/// What [`AggregateKind::Comoment`] makes of two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comoment {
    Corr,
    CovPopulation,
    CovSample,
    RegrR2,
    /// `RegrSXY`
    SumOfProducts,
    RegrSlope,
    RegrIntercept,
}

impl Comoment {
    /// Whether the sums of squares of both are in the buffer.
    #[must_use]
    pub fn has_squares(self) -> bool {
        matches!(self, Self::Corr | Self::RegrR2)
    }

    /// Whether it is the pair of a covariance and a variance.
    #[must_use]
    pub fn is_regression(self) -> bool {
        matches!(self, Self::RegrSlope | Self::RegrIntercept)
    }

    /// Numbers in the buffer.
    #[must_use]
    pub fn buffer_len(self) -> usize {
        match self {
            _ if self.has_squares() => 6,
            _ if self.is_regression() => 7,
            _ => 4,
        }
    }
}

/// What [`AggregateKind::Bits`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BitOperation {
    And,
    Or,
    Xor,
}

/// In which order [`AggregateKind::ListAgg`] has its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// As they come.
    None,
    /// Sorted.
    Texts {
        /// Greatest first.
        descending: bool,
    },
    /// Sorted by a key, those of equal keys as they come.
    Key {
        /// Greatest first.
        descending: bool,
        /// Of null first.
        nulls_first: bool,
    },
}

/// Which of several values that come as often [`AggregateKind::Mode`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The first in the order of Spark's `OpenHashMap`.
    First,
    /// The least.
    Least,
    /// The greatest.
    Greatest,
}

/// What a percentile is between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// On the line between them: both, each weighed by how near it is.
    Line,
    /// On the line between them: the lower one and a part of the way, as from Spark 4.3 on (SPARK-57982).
    LineFromLower,
    /// The value from which on there are enough: `PercentileDisc`.
    First,
    /// The lower one: `PercentileDisc` as it was before Spark 4.0.
    Lower,
}

impl AggregateKind {
    /// Whether the buffer is one column of bytes, whatever it is that is kept there (`TypedImperativeAggregate`).
    #[must_use]
    pub fn is_typed(self) -> bool {
        matches!(
            self,
            Self::CollectList
                | Self::CollectSet { .. }
                | Self::ListAgg { .. }
                | Self::Percentile { .. }
                | Self::ApproxPercentile { .. }
                | Self::HllSketch { .. }
                | Self::HllUnion { .. }
                | Self::CountMinSketch
                | Self::Histogram { .. }
                | Self::Mode { .. }
                | Self::BloomFilter { .. }
        )
    }

    /// Whether the result depends on which rows were added up before buffers were merged.
    #[must_use]
    pub fn depends_on_parts(self) -> bool {
        matches!(
            self,
            Self::ApproxPercentile { .. }
                | Self::HllSketch { .. }
                | Self::HllUnion { .. }
                | Self::Histogram { .. }
                | Self::Mode { ties: Ties::First }
        )
    }

    /// Whether the result depends on the order in which rows come, whatever their types.
    #[must_use]
    pub fn depends_on_order(self) -> bool {
        matches!(
            self,
            Self::First { .. }
                | Self::Last { .. }
                | Self::CollectList
                | Self::CollectSet { .. }
                | Self::ApproxPercentile { .. }
                | Self::MaxBy
                | Self::MinBy
                | Self::ExtremesBy { .. }
                | Self::PivotFirst
                | Self::ListAgg { .. }
                | Self::HllSketch { .. }
                | Self::HllUnion { .. }
                | Self::Histogram { .. }
                | Self::Mode { ties: Ties::First }
        )
    }
}

impl AggregateExpression {
    pub(crate) fn read(reader: &Reader<'_>, value: Value) -> Result<Self> {
        let object = reader.expect(value)?;
        if object.name() != "AggregateExpression" {
            return Err(Unsupported::Class(object.name().to_owned()));
        }
        object.only(&[
            "aggregateFunction",
            "mode",
            "isDistinct",
            "filter",
            "resultId",
        ])?;
        let mode = match object.name_of("mode")? {
            "Partial" => AggregateMode::Partial,
            "PartialMerge" => AggregateMode::PartialMerge,
            "Final" => AggregateMode::Final,
            "Complete" => AggregateMode::Complete,
            other => return Err(Unsupported::Class(other.to_owned())),
        };
        let function = object.object("aggregateFunction")?;
        let function = reader.nested(|| AggregateFunction::read(reader, function))?;
        Ok(Self {
            function,
            mode,
            distinct: object.bool("isDistinct")?,
            filter: Expr::read_option(reader, object.option("filter")?)?,
            result_id: expr_id(object.object("resultId")?)?,
        })
    }
}

/// Gives functions that merge, and do not say what, the columns of the input that are theirs by their place:
/// `ObjectHashAggregateExec` counts them from an offset on.
pub(crate) fn place_buffers(
    aggregates: &mut [AggregateExpression],
    input: &[Attribute],
    offset: usize,
) -> Result<()> {
    let mut at = offset;
    for aggregate in aggregates {
        let function = &mut aggregate.function;
        if aggregate.mode.merges() && function.input_buffer.is_empty() {
            // All such functions have one column with everything.
            let column = input.get(at);
            let column =
                column.ok_or_else(|| Unsupported::of_use("an aggregate without buffer"))?;
            function.input_buffer.push(column.clone());
        }
        at += function.input_buffer.len();
    }
    Ok(())
}

impl fmt::Display for AggregateExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = &self.function;
        write!(f, "{:?}:", self.mode)?;
        match function.kind {
            AggregateKind::Sum { mode } => write!(f, "Sum[{mode}]")?,
            AggregateKind::Average { mode } => write!(f, "Average[{mode}]")?,
            AggregateKind::First { ignore_nulls } => write!(f, "First[{ignore_nulls}]")?,
            AggregateKind::Last { ignore_nulls } => write!(f, "Last[{ignore_nulls}]")?,
            AggregateKind::CentralMoment { moment, .. } => write!(f, "{moment:?}")?,
            AggregateKind::Comoment { comoment, .. } => write!(f, "{comoment:?}")?,
            AggregateKind::Bits(operation) => write!(f, "Bit{operation:?}")?,
            AggregateKind::ApproxCountDistinct { precision } => {
                write!(f, "ApproxCountDistinct[{precision}]")?;
            }
            AggregateKind::CollectSet { scala } => write!(f, "CollectSet[{scala:?}]")?,
            AggregateKind::Percentile { reverse, between } => {
                write!(
                    f,
                    "Percentile[{reverse} {between:?} {:?}]",
                    function.percentages
                )?;
            }
            AggregateKind::ApproxPercentile { accuracy } => {
                write!(f, "ApproxPercentile[{accuracy} {:?}]", function.percentages)?;
            }
            AggregateKind::ListAgg { order } => {
                write!(f, "ListAgg[{order:?} {:?}]", function.constants)?;
            }
            AggregateKind::ExtremesBy { least, rows } => {
                write!(f, "{}[{rows}]", if least { "MinBy" } else { "MaxBy" })?;
            }
            AggregateKind::Histogram { bins } => write!(f, "Histogram[{bins}]")?,
            AggregateKind::Mode { ties } => write!(f, "Mode[{ties:?}]")?,
            AggregateKind::PivotFirst => write!(f, "PivotFirst{:?}", function.constants)?,
            AggregateKind::HllSketch { lg_k } => write!(f, "HllSketch[{lg_k}]")?,
            AggregateKind::HllUnion { any_size } => write!(f, "HllUnion[{any_size}]")?,
            AggregateKind::CountMinSketch => write!(f, "CountMinSketch{:?}", function.constants)?,
            AggregateKind::BloomFilter {
                estimated_items,
                bits,
            } => write!(f, "BloomFilter[{estimated_items} {bits}]")?,
            kind @ (AggregateKind::Count
            | AggregateKind::Min
            | AggregateKind::Max
            | AggregateKind::MaxBy
            | AggregateKind::MinBy
            | AggregateKind::CollectList) => {
                write!(f, "{kind:?}")?;
            }
        }
        let distinct = if self.distinct { "distinct " } else { "" };
        let args = crate::expr::list(&function.args);
        write!(f, "({distinct}{args}):{}", function.data_type)?;
        if let Some(filter) = &self.filter {
            write!(f, " FILTER {filter}")?;
        }
        if self.mode.merges() {
            write!(f, " of [{}]", crate::expr::list(&function.input_buffer))?;
        }
        write!(f, " #{}", self.result_id.id)
    }
}
