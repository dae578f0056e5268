//! Windows: `WindowExec` and `WindowGroupLimitExec`.

use std::fmt;

use javaser::arena::Value;
use javatime::TimeZone;

use crate::aggregate::{AggregateExpression, AggregateMode, DERIVED};
use crate::aggregate_python::AggregateUdf;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, ExprId, ExprKind, SortOrder, list, read_sort_orders};
use crate::literal::Literal;
use crate::object::{Object, Reader};
use crate::python::PythonUdf;
use crate::types::DataType;

/// A `WindowExpression` with the name of its column.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowExpression {
    /// What is computed of the rows of a frame.
    pub function: WindowFunction,
    /// Which rows of the partition belong to the frame of a row.
    pub frame: Frame,
    /// The column.
    pub output: Attribute,
}

/// What a [`WindowExpression`] computes. The names are Spark's.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// An aggregate function of the rows of the frame. Its mode is [`AggregateMode::Complete`].
    Aggregate(AggregateExpression),
    /// A function of Python, of the rows of the frame.
    Python {
        /// What it is declared to take.
        kind: AggregateUdf,
        /// The function.
        udf: Box<PythonUdf>,
    },
    /// The place of the row in its partition, from 1.
    RowNumber,
    /// One more than the number of rows before the first of its peers.
    Rank,
    /// One more than the number of different keys before it.
    DenseRank,
    /// The rank as a share, from 0 to 1.
    PercentRank,
    /// The share of rows that are not after its peers.
    CumeDist,
    /// Which of as many parts of nearly the same size the row is in, from 1.
    NTile {
        /// How many parts, 1 at least.
        buckets: i32,
    },
    /// `Lead` and `Lag`: the value in another row of the partition.
    Offset {
        /// The value.
        input: Expr,
        /// How many rows after the row; before it if negative.
        offset: i32,
        /// Computed for the row itself where the partition has no such row; null if absent.
        default: Option<Expr>,
        /// Whether only rows in which the value is not null count.
        ignore_nulls: bool,
    },
    /// The value in a row of the frame.
    NthValue {
        /// The value.
        input: Expr,
        /// Which row of the frame, from 1.
        offset: i32,
        /// Whether only rows in which the value is not null count.
        ignore_nulls: bool,
    },
}

/// A `SpecifiedWindowFrame`: both bounds belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What offsets mean.
    pub unit: FrameUnit,
    /// The first row.
    pub lower: Bound,
    /// The last row.
    pub upper: Bound,
    /// Where intervals are added to timestamps, if an offset is one and the session's time zone is known.
    pub time_zone: Option<TimeZone>,
}

/// What the offsets of a [`Frame`] are added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// The row's place.
    Rows,
    /// The row's sort key: rows of the same key are in a frame or not together.
    Range,
}

/// A bound of a [`Frame`].
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// The row; with [`FrameUnit::Range`] the first or last of its peers.
    CurrentRow,
    /// Behind the row; before it if negative.
    Offset(Expr),
    /// The last row of the partition.
    UnboundedFollowing,
}

/// By what `WindowGroupLimitExec` counts the rows that it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RankLike {
    RowNumber,
    Rank,
    DenseRank,
}

/// Id of attributes that stand for the window expressions of a node: that of no driver.
const OWN_JVM: u128 = u128::MAX - 1;

/// A column that stands for a `WindowExpression`: others may be computed of it.
pub(crate) fn reference(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    let function = WindowFunction::read(reader, object.object("windowFunction")?)?;
    Ok(Expr::attribute(Attribute {
        name: "window".to_owned(),
        nullable: function.nullable(),
        data_type: function.data_type(),
        id: ExprId {
            id: i64::try_from(object.node.index()).unwrap_or(i64::MAX),
            jvm_id: OWN_JVM,
        },
    }))
}

/// What a `WindowExec` computes: windows, and of them and the input the columns that come out behind the input's. No
/// columns, if they are the windows' own.
pub(crate) fn read_expressions(
    reader: &Reader<'_>,
    plan: Object<'_>,
) -> Result<(Vec<WindowExpression>, Vec<Expr>)> {
    let list = Expr::read_all(reader, plan.elements("windowExpression")?)?;
    let mut windows = Vec::new();
    for expr in &list {
        collect(reader, expr, &mut windows)?;
    }
    let own = list.iter().zip(&windows).map(|(expr, window)| {
        let ExprKind::Alias { child, .. } = &expr.kind else {
            return None;
        };
        let is_it = matches!(&child.kind, ExprKind::Attribute(of) if *of == window.output);
        expr.to_attribute().filter(|_| is_it)
    });
    let own: Option<Vec<Attribute>> = own.collect();
    match own {
        Some(own) if own.len() == list.len() && own.len() == windows.len() => {
            for (window, output) in windows.iter_mut().zip(own) {
                window.output = output;
            }
            Ok((windows, Vec::new()))
        }
        _ => Ok((windows, list)),
    }
}

fn collect(reader: &Reader<'_>, expr: &Expr, into: &mut Vec<WindowExpression>) -> Result<()> {
    if let ExprKind::Attribute(attribute) = &expr.kind {
        let known = into.iter().any(|known| known.output.id == attribute.id);
        if attribute.id.jvm_id == OWN_JVM && !known {
            into.push(WindowExpression::read(reader, attribute)?);
        }
    }
    expr.children()
        .try_for_each(|child| collect(reader, child, into))
}

impl WindowExpression {
    fn read(reader: &Reader<'_>, output: &Attribute) -> Result<Self> {
        let index = usize::try_from(output.id.id).ok();
        let node = index.and_then(|index| reader.graph.nodes().nth(index));
        let (node, _) = node.ok_or_else(|| Unsupported::of_use("a window that is not there"))?;
        let object = reader.object(node);
        object.only(&["windowFunction", "windowSpec"])?;
        let spec = object.object("windowSpec")?;
        spec.only(&[
            "partitionSpec",
            "orderSpec",
            "frameSpecification",
            "resolved",
        ])?;
        Ok(Self {
            function: WindowFunction::read(reader, object.object("windowFunction")?)?,
            frame: Frame::read(reader, spec.object("frameSpecification")?)?,
            output: output.clone(),
        })
    }
}

impl WindowFunction {
    fn read(reader: &Reader<'_>, object: Object<'_>) -> Result<Self> {
        let derived = [&DERIVED[..], &["n", "frame"]].concat();
        Ok(match object.name() {
            "AggregateExpression" if object.name_of("aggregateFunction")? == "PythonUDAF" => {
                let (kind, udf) = PythonUdf::of_aggregate(reader, object)?;
                let udf = Box::new(udf);
                Self::Python { kind, udf }
            }
            "AggregateExpression" => {
                let aggregate = AggregateExpression::read(reader, Value::Ref(object.node))?;
                let plain = aggregate.mode == AggregateMode::Complete && !aggregate.distinct;
                if !plain || aggregate.filter.is_some() {
                    return Err(Unsupported::of_use("a window of some rows of a frame"));
                }
                Self::Aggregate(aggregate)
            }
            "RowNumber" => {
                object.only(&derived)?;
                Self::RowNumber
            }
            name @ ("Rank" | "DenseRank" | "PercentRank") => {
                object.only(&[&derived[..], &["children"]].concat())?;
                match name {
                    "Rank" => Self::Rank,
                    "DenseRank" => Self::DenseRank,
                    _ => Self::PercentRank,
                }
            }
            "CumeDist" => {
                object.only(&derived)?;
                Self::CumeDist
            }
            "NTile" => {
                let own = [
                    "bucket",
                    "bucketThreshold",
                    "bucketSize",
                    "bucketsWithPadding",
                ];
                object.only(&[&derived[..], &["buckets"], &own].concat())?;
                match integer(&Expr::read(reader, object.value("buckets")?)?) {
                    Some(buckets) if buckets > 0 => Self::NTile { buckets },
                    _ => return Err(Unsupported::of_use("ntile of another number")),
                }
            }
            "Lead" => {
                object.only(&["input", "offset", "default", "ignoreNulls"])?;
                Self::offset(reader, object, "offset", 1)?
            }
            "Lag" => {
                object.only(&["input", "inputOffset", "offset", "default", "ignoreNulls"])?;
                Self::offset(reader, object, "inputOffset", -1)?
            }
            "NthValue" => {
                let own = ["input", "offset", "ignoreNulls", "result", "count"];
                let lazy = ["default", "offsetVal", "fakeFrame"];
                object.only(&[&derived[..], &own, &lazy].concat())?;
                let offset = integer(&Expr::read(reader, object.value("offset")?)?);
                Self::NthValue {
                    input: Expr::read(reader, object.value("input")?)?,
                    offset: offset
                        .filter(|offset| *offset > 0)
                        .ok_or_else(|| object.missing("offset"))?,
                    ignore_nulls: object.bool("ignoreNulls")?,
                }
            }
            other => return Err(Unsupported::Class(other.to_owned())),
        })
    }

    /// `Lead` and `Lag`, whose offset has this name and counts in this direction.
    fn offset(
        reader: &Reader<'_>,
        object: Object<'_>,
        offset: &str,
        direction: i32,
    ) -> Result<Self> {
        let rows = integer(&Expr::read(reader, object.value(offset)?)?);
        let rows = rows.and_then(|rows| rows.checked_mul(direction));
        let offset = rows.ok_or_else(|| Unsupported::of_use("an offset that is no number"))?;
        let input = Expr::read(reader, object.value("input")?)?;
        let default = Expr::read(reader, object.value("default")?)?;
        let default = match default.kind {
            ExprKind::Literal(Literal::Null) => None,
            _ if default.data_type == input.data_type => Some(default),
            _ => return Err(Unsupported::of_use("a default value of another type")),
        };
        let ignore_nulls = object.bool("ignoreNulls")?;
        // Spark computes the default of such a function without a row, if its offset is large.
        let constant = default
            .as_ref()
            .is_none_or(|default| matches!(default.kind, ExprKind::Literal(_)));
        if ignore_nulls && (offset == 0 || !constant) {
            return Err(Unsupported::of_use("a default value that is computed"));
        }
        Ok(Self::Offset {
            input,
            offset,
            default,
            ignore_nulls,
        })
    }

    /// Type of the result.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Aggregate(aggregate) => aggregate.function.data_type.clone(),
            Self::Python { udf, .. } => udf.data_type.clone(),
            Self::RowNumber | Self::Rank | Self::DenseRank | Self::NTile { .. } => {
                DataType::Integer
            }
            Self::PercentRank | Self::CumeDist => DataType::Double,
            Self::Offset { input, .. } | Self::NthValue { input, .. } => input.data_type.clone(),
        }
    }

    fn nullable(&self) -> bool {
        matches!(
            self,
            Self::Aggregate(_) | Self::Python { .. } | Self::Offset { .. } | Self::NthValue { .. }
        )
    }

    /// Its arguments.
    pub fn args(&self) -> impl Iterator<Item = &Expr> {
        let args: Vec<&Expr> = match self {
            Self::Aggregate(aggregate) => aggregate.function.args.iter().collect(),
            Self::Python { udf, .. } => {
                let arguments = udf.arguments.iter();
                arguments.map(|argument| &argument.value).collect()
            }
            Self::Offset { input, default, .. } => {
                std::iter::once(input).chain(default.as_ref()).collect()
            }
            Self::NthValue { input, .. } => vec![input],
            _ => Vec::new(),
        };
        args.into_iter()
    }
}

impl Bound {
    fn is_interval(&self) -> bool {
        let Self::Offset(offset) = self else {
            return false;
        };
        matches!(
            offset.data_type,
            DataType::YearMonthInterval | DataType::DayTimeInterval
        )
    }
}

impl Frame {
    fn read(reader: &Reader<'_>, object: Object<'_>) -> Result<Self> {
        if object.name() != "SpecifiedWindowFrame" {
            return Err(Unsupported::Class(object.name().to_owned()));
        }
        object.only(&["frameType", "lower", "upper", "valueBoundary"])?;
        let unit = match object.name_of("frameType")? {
            "RowFrame" => FrameUnit::Rows,
            "RangeFrame" => FrameUnit::Range,
            other => return Err(Unsupported::Class(other.to_owned())),
        };
        let bound = |name| match object.name_of(name)? {
            "UnboundedPreceding" => Ok(Bound::UnboundedPreceding),
            "CurrentRow" => Ok(Bound::CurrentRow),
            "UnboundedFollowing" => Ok(Bound::UnboundedFollowing),
            _ => Expr::read(reader, object.value(name)?).map(Bound::Offset),
        };
        let (lower, upper) = (bound("lower")?, bound("upper")?);
        let zone = match [&lower, &upper].into_iter().any(Bound::is_interval) {
            true => reader.settings.session_zone.as_deref(),
            false => None,
        };
        Ok(Self {
            unit,
            lower,
            upper,
            time_zone: zone.map(|id| TimeZone::new(id, &reader.settings.zones)),
        })
    }

    /// Whether all rows of the partition are in it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lower == Bound::UnboundedPreceding && self.upper == Bound::UnboundedFollowing
    }
}

impl RankLike {
    pub(crate) fn read(plan: Object<'_>) -> Result<Self> {
        match plan.name_of("rankLikeFunction")? {
            "RowNumber" => Ok(Self::RowNumber),
            "Rank" => Ok(Self::Rank),
            "DenseRank" => Ok(Self::DenseRank),
            other => Err(Unsupported::Class(other.to_owned())),
        }
    }
}

/// By what an operator's rows are divided, and by what they are sorted within a part.
pub(crate) fn read_spec(
    reader: &Reader<'_>,
    plan: Object<'_>,
) -> Result<(Vec<Expr>, Vec<SortOrder>)> {
    Ok((
        Expr::read_all(reader, plan.elements("partitionSpec")?)?,
        read_sort_orders(reader, plan.elements("orderSpec")?)?,
    ))
}

/// The number that a literal of type `INT` is.
pub fn integer(expr: &Expr) -> Option<i32> {
    match (&expr.kind, &expr.data_type) {
        (ExprKind::Literal(Literal::Integer(value)), DataType::Integer) => Some(*value),
        _ => None,
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnboundedPreceding => f.write_str("unbounded preceding"),
            Self::CurrentRow => f.write_str("current row"),
            Self::Offset(offset) => write!(f, "{offset}"),
            Self::UnboundedFollowing => f.write_str("unbounded following"),
        }
    }
}

impl fmt::Display for WindowExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            WindowFunction::Aggregate(aggregate) => write!(f, "{aggregate}")?,
            WindowFunction::Python { udf, .. } => write!(f, "{udf}")?,
            WindowFunction::NTile { buckets } => write!(f, "NTile({buckets})")?,
            WindowFunction::Offset {
                input,
                offset,
                default,
                ignore_nulls,
            } => {
                write!(f, "Offset({input}, {offset}")?;
                if let Some(default) = default {
                    write!(f, ", {default}")?;
                }
                write!(f, "{})", nulls(*ignore_nulls))?;
            }
            WindowFunction::NthValue {
                input,
                offset,
                ignore_nulls,
            } => write!(f, "NthValue({input}, {offset}{})", nulls(*ignore_nulls))?,
            plain => write!(f, "{plain:?}")?,
        }
        let output = list(std::slice::from_ref(&self.output));
        write!(f, " {} AS {output}", self.frame)
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            unit, lower, upper, ..
        } = self;
        write!(f, "{unit:?}({lower}, {upper})")
    }
}

fn nulls(ignored: bool) -> &'static str {
    if ignored { " ignore nulls" } else { "" }
}
