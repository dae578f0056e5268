//! Aggregate functions.

use std::fmt;

use javaser::arena::Value;

use crate::error::{Result, Unsupported};
use crate::expr::{
    Attribute, EvalMode, Expr, ExprId, eval_context, eval_mode, expr_id, read_attributes,
};
use crate::object::{Object, Reader, simple};
use crate::types::{DataType, Decimal};

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
    /// `StddevSamp` and its kin. Buffer: n, avg, m2.
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
    /// The values that are not null, as an array. Buffer: a row of that array.
    CollectList,
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

/// Fields that follow from others.
pub(crate) const DERIVED: [&str; 6] = [
    "aggBufferAttributes",
    "evaluateExpression",
    "initialValues",
    "mergeExpressions",
    "updateExpressions",
    "resultType",
];

impl AggregateFunction {
    fn read(reader: &Reader<'_>, object: Object<'_>) -> Result<Self> {
        let package = "org.apache.spark.sql.catalyst.expressions.aggregate.";
        let Some(name) = object.class().strip_prefix(package) else {
            return Err(Unsupported::Class(simple(object.class()).to_owned()));
        };
        let only = |known: &[&str]| object.only(&[&DERIVED, known].concat());
        let child = || Ok(vec![Expr::read(reader, object.value("child")?)?]);
        let of_child = |args: &[Expr]| match args.first() {
            Some(child) => Ok(child.data_type.clone()),
            None => Err(object.missing("child")),
        };
        let (kind, args, data_type) = match name {
            "Sum" => {
                only(&[
                    "child",
                    "evalMode",
                    "evalContext",
                    "isEmpty",
                    "sum",
                    "zero",
                    "shouldTrackIsEmpty",
                ])?;
                let mode = eval_context(object, &mut false)?;
                let args = child()?;
                let data_type = sum_type(&of_child(&args)?);
                (AggregateKind::Sum { mode }, args, data_type)
            }
            "Average" => {
                only(&["child", "evalMode", "count", "sum", "sumDataType"])?;
                let mode = eval_mode(object)?;
                let args = child()?;
                let data_type = average_type(&of_child(&args)?);
                (AggregateKind::Average { mode }, args, data_type)
            }
            "Count" => {
                only(&["children", "count"])?;
                let args = Expr::read_all(reader, object.elements("children")?)?;
                (AggregateKind::Count, args, DataType::Long)
            }
            "Min" | "Max" => {
                only(&["child", "min", "max"])?;
                let args = child()?;
                let data_type = of_child(&args)?;
                let kind = match name {
                    "Min" => AggregateKind::Min,
                    _ => AggregateKind::Max,
                };
                (kind, args, data_type)
            }
            "First" | "Last" => {
                only(&["child", "ignoreNulls", "first", "last", "valueSet"])?;
                let ignore_nulls = object.bool("ignoreNulls")?;
                let args = child()?;
                let data_type = of_child(&args)?;
                let kind = match name {
                    "First" => AggregateKind::First { ignore_nulls },
                    _ => AggregateKind::Last { ignore_nulls },
                };
                (kind, args, data_type)
            }
            "MaxBy" | "MinBy" => {
                only(&["valueExpr", "orderingExpr"])?;
                let args = ["valueExpr", "orderingExpr"].into_iter();
                let args = args.map(|arg| Expr::read(reader, object.value(arg)?));
                let args = args.collect::<Result<Vec<_>>>()?;
                let data_type = of_child(&args)?;
                let kind = match name {
                    "MaxBy" => AggregateKind::MaxBy,
                    _ => AggregateKind::MinBy,
                };
                (kind, args, data_type)
            }
            "StddevSamp" | "StddevPop" | "VarianceSamp" | "VariancePop" => {
                only(&["child", "nullOnDivideByZero"])?;
                let moment = match name {
                    "StddevSamp" => Moment::StddevSamp,
                    "StddevPop" => Moment::StddevPop,
                    "VarianceSamp" => Moment::VarianceSamp,
                    _ => Moment::VariancePop,
                };
                let null_on_divide_by_zero = object.bool("nullOnDivideByZero")?;
                // The second is the average's: a sum, or one side's if the other is empty.
                let average = object.elements("mergeExpressions")?.get(1).copied();
                let average = average.ok_or_else(|| object.missing("mergeExpressions"))?;
                let kind = AggregateKind::CentralMoment {
                    moment,
                    null_on_divide_by_zero,
                    skips_empty: simple(reader.class(average)) == "If",
                };
                (kind, child()?, DataType::Double)
            }
            "CollectList" => {
                only(&[
                    "child",
                    "mutableAggBufferOffset",
                    "inputAggBufferOffset",
                    "bufferElementType",
                    "ignoreNulls",
                ])?;
                if object.get("ignoreNulls").is_some() && !object.flag("ignoreNulls") {
                    return Err(Unsupported::of_use("CollectList with nulls"));
                }
                let args = child()?;
                let data_type = DataType::Array {
                    element: Box::new(of_child(&args)?),
                    contains_null: false,
                };
                (AggregateKind::CollectList, args, data_type)
            }
            "BloomFilterAggregate" => {
                only(&[
                    "child",
                    "estimatedNumItems",
                    "numBits",
                    "estimatedNumItemsExpression",
                    "numBitsExpression",
                    "inputAggBufferOffset",
                    "mutableAggBufferOffset",
                    "updater",
                ])?;
                // Lazy, and evaluated when the plan was checked.
                let kind = AggregateKind::BloomFilter {
                    estimated_items: object.long("estimatedNumItems")?,
                    bits: object.long("numBits")?,
                };
                (kind, child()?, DataType::Binary)
            }
            other => return Err(Unsupported::Class(other.to_owned())),
        };
        let input_buffer = match object.maybe("inputAggBufferAttributes") {
            Some(_) => read_attributes(reader, object.elements("inputAggBufferAttributes")?)?,
            None => Vec::new(),
        };
        Ok(Self {
            kind,
            args,
            data_type,
            input_buffer,
        })
    }
}

fn sum_type(of: &DataType) -> DataType {
    match of {
        DataType::Decimal(d) => {
            let precision = i32::from(d.precision) + 10;
            DataType::Decimal(Decimal::fit(precision, d.scale.into(), false))
        }
        DataType::Byte | DataType::Short | DataType::Integer | DataType::Long => DataType::Long,
        DataType::YearMonthInterval | DataType::DayTimeInterval => of.clone(),
        _ => DataType::Double,
    }
}

fn average_type(of: &DataType) -> DataType {
    match of {
        DataType::Decimal(d) => {
            let precision = i32::from(d.precision) + 4;
            DataType::Decimal(Decimal::fit(precision, i32::from(d.scale) + 4, false))
        }
        DataType::YearMonthInterval | DataType::DayTimeInterval => of.clone(),
        _ => DataType::Double,
    }
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
