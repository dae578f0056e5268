//! Expressions without arguments that are different in every partition or row.

use super::{Expr, ExprKind};
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
    /// Whether a row is in the sample of a `SampleExec`: whether the same as [`Draw::Rand`] lies in a share of what it
    /// may be.
    Sampled {
        /// The partition's number is added to it.
        seed: i64,
        /// Which share.
        share: Share,
    },
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
            Self::Sampled { .. } => "SampleExec",
        }
    }

    /// The type of the values.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Rand { .. } | Self::Randn { .. } => DataType::Double,
            Self::MonotonicallyIncreasingID => DataType::Long,
            Self::SparkPartitionID => DataType::Integer,
            Self::Sampled { .. } => DataType::Boolean,
        }
    }

    /// Whether it depends on how many rows were before.
    #[must_use]
    pub fn counts_rows(self) -> bool {
        self != Self::SparkPartitionID
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

#[inline(never)]
fn seed(reader: &Reader<'_>, object: Object<'_>) -> Result<i64> {
    object.only(&["child", "hideSeed"])?;
    match Expr::read(reader, object.value("child")?)?.kind {
        ExprKind::Literal(Literal::Integer(seed)) => Ok(seed.into()),
        ExprKind::Literal(Literal::Long(seed)) => Ok(seed),
        _ => Err(Unsupported::of_use("a seed that is no number")),
    }
}
