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
        }
    }

    /// The type of the values.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Rand { .. } | Self::Randn { .. } => DataType::Double,
            Self::MonotonicallyIncreasingID => DataType::Long,
            Self::SparkPartitionID => DataType::Integer,
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
    Some(draw.map(|draw| Expr {
        kind: ExprKind::Draw(draw),
        data_type: draw.data_type(),
        nullable: false,
    }))
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
