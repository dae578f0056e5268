//! What all joins have.

use std::fmt;

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, read_attribute};
use crate::object::{Object, Reader};

/// A `JoinType`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinType {
    /// `Inner`, also `Cross`.
    Inner,
    /// `LeftOuter`
    LeftOuter,
    /// `RightOuter`
    RightOuter,
    /// `FullOuter`
    FullOuter,
    /// `LeftSemi`
    LeftSemi,
    /// `LeftAnti`
    LeftAnti,
    /// `ExistenceJoin`: the left rows, with a column that says whether there is a right row.
    Existence(Attribute),
}

/// A `BuildSide`: which input is made into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildSide {
    /// `BuildLeft`
    Left,
    /// `BuildRight`
    Right,
}

impl JoinType {
    pub(crate) fn read(reader: &Reader<'_>, plan: Object<'_>) -> Result<Self> {
        Ok(match plan.name_of("joinType")? {
            "Inner" | "Cross" => Self::Inner,
            "LeftOuter" => Self::LeftOuter,
            "RightOuter" => Self::RightOuter,
            "FullOuter" => Self::FullOuter,
            "LeftSemi" => Self::LeftSemi,
            "LeftAnti" => Self::LeftAnti,
            "ExistenceJoin" => {
                let exists = plan.object("joinType")?.value("exists")?;
                Self::Existence(read_attribute(reader, exists)?)
            }
            other => return Err(Unsupported::Class(other.to_owned())),
        })
    }

    /// Columns that come out.
    #[must_use]
    pub fn output(&self, left: &[Attribute], right: &[Attribute]) -> Vec<Attribute> {
        let nullable = |columns: &[Attribute]| {
            let mut columns = columns.to_vec();
            for column in &mut columns {
                column.nullable = true;
            }
            columns
        };
        match self {
            Self::Inner => [left, right].concat(),
            Self::LeftOuter => [left.to_vec(), nullable(right)].concat(),
            Self::RightOuter => [nullable(left), right.to_vec()].concat(),
            Self::FullOuter => [nullable(left), nullable(right)].concat(),
            Self::LeftSemi | Self::LeftAnti => left.to_vec(),
            Self::Existence(exists) => [left, std::slice::from_ref(exists)].concat(),
        }
    }
}

impl BuildSide {
    pub(crate) fn read(plan: Object<'_>) -> Result<Self> {
        match plan.name_of("buildSide")? {
            "BuildLeft" => Ok(Self::Left),
            "BuildRight" => Ok(Self::Right),
            other => Err(Unsupported::Class(other.to_owned())),
        }
    }
}

/// Keys, type and residual condition of an equi-join.
#[derive(Debug, Clone, PartialEq)]
pub struct EquiJoin {
    /// Keys of the left input.
    pub left_keys: Vec<Expr>,
    /// Keys of the right input, as many.
    pub right_keys: Vec<Expr>,
    /// Which rows come out.
    pub join_type: JoinType,
    /// What else must be true of a pair of rows.
    pub condition: Option<Expr>,
}

impl EquiJoin {
    pub(crate) fn read(reader: &Reader<'_>, plan: Object<'_>) -> Result<Self> {
        let left_keys = Expr::read_all(reader, plan.elements("leftKeys")?)?;
        let right_keys = Expr::read_all(reader, plan.elements("rightKeys")?)?;
        if left_keys.len() != right_keys.len() {
            return Err(plan.missing("rightKeys"));
        }
        Ok(Self {
            left_keys,
            right_keys,
            join_type: JoinType::read(reader, plan)?,
            condition: Expr::read_option(reader, plan.option("condition")?)?,
        })
    }
}

impl fmt::Display for JoinType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Existence(exists) => write!(f, "Existence({exists})"),
            other => write!(f, "{other:?}"),
        }
    }
}

impl fmt::Display for EquiJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} [{}] = [{}]",
            self.join_type,
            crate::expr::list(&self.left_keys),
            crate::expr::list(&self.right_keys)
        )?;
        match &self.condition {
            Some(condition) => write!(f, " AND {condition}"),
            None => Ok(()),
        }
    }
}
