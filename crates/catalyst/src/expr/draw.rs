//! Expressions without arguments that are different in every partition or row.

use super::{Attribute, Expr, ExprId, ExprKind};
use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::object::{Object, Reader};
use crate::types::DataType;

/// A `Nondeterministic` expression. The names are Spark's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Draw {
    /// From 0 to below 1.
    Rand {
        /// The partition's number is added to it.
        seed: i64,
    },
    /// Of a normal distribution.
    Randn {
        /// The partition's number is added to it.
        seed: i64,
    },
    /// The partition's number, and that of the row in it.
    MonotonicallyIncreasingID,
    /// The partition's number.
    SparkPartitionID,
    /// A random UUID as text.
    Uuid {
        /// The partition's number is added to it.
        seed: i64,
    },
    /// Random letters and digits.
    RandStr {
        /// The partition's number is added to it.
        seed: i64,
        /// How many.
        length: u32,
    },
    /// What a scan knows of the file that a row is of.
    File(FileFact),
    /// Whether a row is in the sample of a `SampleExec`: whether the same as [`Draw::Rand`] lies in a share of what it
    /// may be.
    Sampled {
        /// The partition's number is added to it.
        seed: i64,
        /// Which share.
        share: Share,
    },
}

/// What Spark keeps of the part of a file that a task reads (`InputFileBlockHolder`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFact {
    /// `InputFileName`: its URL.
    Name,
    /// `InputFileBlockStart`: where the part starts.
    Start,
    /// `InputFileBlockLength`: bytes of the part.
    Length,
}

impl FileFact {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Name, Self::Start, Self::Length];

    /// The column of a scan that has it.
    #[must_use]
    pub fn attribute(self) -> Attribute {
        let draw = Draw::File(self);
        Attribute {
            name: draw.name().to_owned(),
            data_type: draw.data_type(),
            nullable: false,
            // No JVM has this id, and what is drawn is counted from 0.
            id: ExprId {
                id: match self {
                    Self::Name => -1,
                    Self::Start => -2,
                    Self::Length => -3,
                },
                jvm_id: u128::MAX,
            },
        }
    }
}

/// Numbers from a lower bound to below an upper one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// Their bits.
    bounds: [u64; 2],
}

impl Share {
    /// Numbers from `lower` to below `upper`.
    #[must_use]
    pub fn new(lower: f64, upper: f64) -> Self {
        Self {
            bounds: [lower, upper].map(f64::to_bits),
        }
    }

    /// Whether a number is one of them.
    #[must_use]
    pub fn contains(self, number: f64) -> bool {
        let [lower, upper] = self.bounds.map(f64::from_bits);
        number >= lower && number < upper
    }
}

impl Draw {
    /// Spark's class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rand { .. } => "Rand",
            Self::Randn { .. } => "Randn",
            Self::MonotonicallyIncreasingID => "MonotonicallyIncreasingID",
            Self::SparkPartitionID => "SparkPartitionID",
            Self::Uuid { .. } => "Uuid",
            Self::RandStr { .. } => "RandStr",
            Self::File(FileFact::Name) => "InputFileName",
            Self::File(FileFact::Start) => "InputFileBlockStart",
            Self::File(FileFact::Length) => "InputFileBlockLength",
            Self::Sampled { .. } => "SampleExec",
        }
    }

    /// The type of the values.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Rand { .. } | Self::Randn { .. } => DataType::Double,
            Self::MonotonicallyIncreasingID | Self::File(FileFact::Start | FileFact::Length) => {
                DataType::Long
            }
            Self::Uuid { .. } | Self::RandStr { .. } | Self::File(FileFact::Name) => {
                DataType::String
            }
            Self::SparkPartitionID => DataType::Integer,
            Self::Sampled { .. } => DataType::Boolean,
        }
    }

    /// Whether it depends on how many rows were before.
    #[must_use]
    pub fn counts_rows(self) -> bool {
        !matches!(self, Self::SparkPartitionID | Self::File(_))
    }
}

/// The expression of a class, if it is one of these.
#[inline(never)]
pub(super) fn named(reader: &Reader<'_>, object: Object<'_>) -> Option<Result<Expr>> {
    let draw = match object.name() {
        "Rand" => seed(reader, object).map(|seed| Draw::Rand { seed }),
        "Randn" => seed(reader, object).map(|seed| Draw::Randn { seed }),
        "MonotonicallyIncreasingID" => object
            .only(&["count", "partitionMask"])
            .map(|()| Draw::MonotonicallyIncreasingID),
        "SparkPartitionID" => object
            .only(&["partitionId", "prettyName"])
            .map(|()| Draw::SparkPartitionID),
        "Uuid" => uuid_seed(reader, object).map(|seed| Draw::Uuid { seed }),
        "RandStr" => random_text(reader, object),
        "InputFileName" => no_more(object).map(|()| Draw::File(FileFact::Name)),
        "InputFileBlockStart" => no_more(object).map(|()| Draw::File(FileFact::Start)),
        "InputFileBlockLength" => no_more(object).map(|()| Draw::File(FileFact::Length)),
        _ => return None,
    };
    Some(draw.map(Expr::from))
}

impl From<Draw> for Expr {
    fn from(draw: Draw) -> Self {
        Self {
            kind: ExprKind::Draw(draw),
            data_type: draw.data_type(),
            nullable: false,
        }
    }
}

fn no_more(object: Object<'_>) -> Result<()> {
    object.only(&[])
}

#[inline(never)]
fn uuid_seed(reader: &Reader<'_>, object: Object<'_>) -> Result<i64> {
    object.only(&["randomSeed", "resolved"])?;
    let seed = object.option("randomSeed")?;
    let seed = seed.and_then(|seed| reader.graph.int(seed));
    seed.ok_or_else(|| Unsupported::of_use("a UUID without a seed"))
}

/// Most characters of a `RandStr`.
const MAX_RANDOM_TEXT: u32 = 10_000;

#[inline(never)]
fn random_text(reader: &Reader<'_>, object: Object<'_>) -> Result<Draw> {
    object.only(&["length", "seedExpression", "hideSeed", "rng"])?;
    let number = |field| Ok::<_, Unsupported>(constant(&Expr::read(reader, object.value(field)?)?));
    let length = number("length")?.and_then(|length| u32::try_from(length).ok());
    let length = length.filter(|length| *length <= MAX_RANDOM_TEXT);
    match (number("seedExpression")?, length) {
        (Some(seed), Some(length)) => Ok(Draw::RandStr { seed, length }),
        _ => Err(Unsupported::of_use("a random text of another length")),
    }
}

/// A number that is written in the query.
fn constant(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Literal(Literal::Byte(number)) => Some(number.into()),
        ExprKind::Literal(Literal::Short(number)) => Some(number.into()),
        ExprKind::Literal(Literal::Integer(number)) => Some(number.into()),
        ExprKind::Literal(Literal::Long(number)) => Some(number),
        _ => None,
    }
}

#[inline(never)]
fn seed(reader: &Reader<'_>, object: Object<'_>) -> Result<i64> {
    object.only(&["child", "hideSeed"])?;
    match Expr::read(reader, object.value("child")?)?.kind {
        ExprKind::Literal(Literal::Integer(seed)) => Ok(seed.into()),
        ExprKind::Literal(Literal::Long(seed)) => Ok(seed),
        _ => Err(Unsupported::of_use("a seed that is no number")),
    }
}
