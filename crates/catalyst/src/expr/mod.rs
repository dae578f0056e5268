//! Catalyst expressions.

mod arithmetic;
mod attempt;
mod call;
mod display;
mod draw;
mod function;
mod interval;
mod json;
mod jvm;
mod lambda;
mod native;
mod nested;
mod read;
mod signature;
mod text;
mod times;

use std::sync::Arc;

use javatime::TimeZone;

pub use json::{JsonText, TimesText};
pub use jvm::{IsNative, JvmExpression, NOT_OF_A_ROW};
pub(crate) use jvm::{columns_in, runs_in_jvm, type_in_jvm};

use crate::literal::Literal;
use crate::scan::{JsonForm, Malformed};
use crate::types::DataType;

pub(crate) use call::eval_context;
pub use display::list;
pub use draw::{Draw, FileFact, Share};
pub use function::Function;
pub use interval::{IntervalField, IntervalFields};
pub use lambda::{HigherOrder, Lambda};
pub use native::NativeUdf;
pub(crate) use read::{eval_mode, expr_id, read_attribute, read_attributes, read_sort_orders};

/// An `ExprId`: what tells attributes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId {
    /// Counted in the driver.
    pub id: i64,
    /// UUID of the driver's JVM.
    pub jvm_id: u128,
}

/// An `AttributeReference`: a column that an operator puts out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// For people only: it need not be the only one of that name.
    pub name: String,
    /// Type of the column.
    pub data_type: DataType,
    /// Whether it may be null.
    pub nullable: bool,
    /// What refers to it.
    pub id: ExprId,
}

/// What happens when an expression has no proper result, `EvalMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EvalMode {
    /// Wraps or gives null, as Hive did.
    Legacy,
    /// Fails the task.
    Ansi,
    /// Gives null.
    Try,
}

/// An expression with what it results in.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What is computed.
    pub kind: ExprKind,
    /// Type of the result.
    pub data_type: DataType,
    /// Whether the result may be null. May be true where Spark knows better.
    pub nullable: bool,
}

/// What an [`Expr`] computes. The names are Spark's.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A column of the input, by its [`ExprId`].
    Attribute(Attribute),
    /// A column of the input, by its place.
    BoundReference {
        /// The place, from 0.
        ordinal: usize,
    },
    /// A value.
    Literal(Literal),
    /// A name for an expression; makes an [`Attribute`].
    Alias {
        /// The expression.
        child: Box<Expr>,
        /// The attribute's name.
        name: String,
        /// The attribute's id.
        id: ExprId,
    },
    /// A conversion to [`Expr::data_type`].
    Cast {
        /// What is converted.
        child: Box<Expr>,
        /// What happens to values that have no counterpart.
        mode: EvalMode,
        /// Time zone of the session, where the types need one.
        time_zone: Option<TimeZone>,
    },
    /// The value of the first condition that is true.
    CaseWhen {
        /// Conditions and values.
        branches: Vec<(Expr, Expr)>,
        /// Value if none is true; null if absent.
        otherwise: Option<Box<Expr>>,
    },
    /// Whether a value is among others.
    In {
        /// The value.
        value: Box<Expr>,
        /// The others.
        list: Vec<Expr>,
        /// `x IN ()` is null if x is, `spark.sql.legacy.nullInEmptyListBehavior`.
        legacy_null_in_empty: bool,
    },
    /// As [`ExprKind::In`], with constants.
    InSet {
        /// The value.
        value: Box<Expr>,
        /// The others.
        set: Vec<Literal>,
        /// See [`ExprKind::In`].
        legacy_null_in_empty: bool,
    },
    /// A field of a struct.
    GetStructField {
        /// The struct.
        child: Box<Expr>,
        /// Place of the field.
        ordinal: usize,
    },
    /// A struct of these; its names are in [`Expr::data_type`].
    CreateNamedStruct(Vec<Expr>),
    /// A struct, an array or a map of what a text says in JSON.
    FromJson {
        /// The text.
        child: Box<Expr>,
        /// How it is read.
        form: Box<JsonForm>,
        /// What becomes of a text that is not as the type wants it; it is never left out.
        malformed: Malformed,
        /// The field of a struct that has the text if it is malformed, if there is one of that name.
        corrupt_record: String,
    },
    /// A struct, an array or a map as text in JSON.
    ToJson {
        /// The value.
        child: Box<Expr>,
        /// How it is written.
        form: Box<JsonText>,
    },
    /// The value of a subquery that ran before, which the driver put in.
    ScalarSubquery {
        /// Id of the subquery in the plan.
        id: ExprId,
        /// Its value.
        value: Literal,
    },
    /// What depends on the partition, and on which of its rows it is.
    Draw(Draw),
    /// A function of its arguments.
    Call {
        /// The function.
        function: Function,
        /// Its arguments.
        args: Vec<Expr>,
        /// What happens if it has no proper result; `None` where Spark knows one way only.
        mode: Option<EvalMode>,
        /// Time zone of the session, where the function needs one.
        time_zone: Option<TimeZone>,
    },
    /// A function of a shared library.
    Native {
        /// The function.
        function: Box<NativeUdf>,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// What Spark's own code evaluates, in the JVM beside the task.
    Jvm {
        /// The expression.
        expression: Arc<JvmExpression>,
        /// References to the columns that it refers to.
        columns: Vec<Expr>,
    },
    /// A function of its arguments and of lambdas.
    HigherOrder {
        /// The function.
        function: HigherOrder,
        /// Its arguments.
        args: Vec<Expr>,
        /// The lambdas, in Spark's order.
        lambdas: Vec<Lambda>,
        /// References to the attributes that lambdas take from around them.
        captured: Vec<Expr>,
    },
}

/// A `SortOrder`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortOrder {
    /// What is compared.
    pub child: Expr,
    /// Smallest first.
    pub ascending: bool,
    /// Nulls before all others.
    pub nulls_first: bool,
}

/// The children of an expression of this kind, which is borrowed in one way or the other.
macro_rules! gathered {
    ($kind:expr, $of:ty, $as_deref:ident, $iter:ident) => {{
        let mut all: Vec<$of> = Vec::new();
        match $kind {
            ExprKind::Attribute(_)
            | ExprKind::BoundReference { .. }
            | ExprKind::Literal(_)
            | ExprKind::Draw(_)
            | ExprKind::ScalarSubquery { .. } => {}
            ExprKind::Alias { child, .. }
            | ExprKind::Cast { child, .. }
            | ExprKind::GetStructField { child, .. }
            | ExprKind::FromJson { child, .. }
            | ExprKind::ToJson { child, .. }
            | ExprKind::InSet { value: child, .. } => all.push(child),
            ExprKind::CaseWhen {
                branches,
                otherwise,
            } => {
                for (condition, value) in branches {
                    all.extend([condition, value]);
                }
                all.extend(otherwise.$as_deref());
            }
            ExprKind::In { value, list, .. } => {
                all.push(value);
                all.extend(list.$iter());
            }
            ExprKind::CreateNamedStruct(args)
            | ExprKind::Call { args, .. }
            | ExprKind::Native { args, .. } => all.extend(args.$iter()),
            ExprKind::Jvm { columns, .. } => all.extend(columns.$iter()),
            ExprKind::HigherOrder { args, captured, .. } => {
                all.extend(args.$iter());
                all.extend(captured.$iter());
            }
        }
        all.into_iter()
    }};
}

impl Expr {
    /// A reference to a column.
    #[must_use]
    pub fn attribute(attribute: Attribute) -> Self {
        Self {
            data_type: attribute.data_type.clone(),
            nullable: attribute.nullable,
            kind: ExprKind::Attribute(attribute),
        }
    }

    /// The column that a named expression makes; `None` for others.
    #[must_use]
    pub fn to_attribute(&self) -> Option<Attribute> {
        match &self.kind {
            ExprKind::Attribute(attribute) => Some(attribute.clone()),
            ExprKind::Alias { name, id, .. } => Some(Attribute {
                name: name.clone(),
                data_type: self.data_type.clone(),
                nullable: self.nullable,
                id: *id,
            }),
            _ => None,
        }
    }

    /// Whether there is a [`Draw`] in it, but for lambdas.
    #[must_use]
    pub fn draws(&self) -> bool {
        matches!(self.kind, ExprKind::Draw(_)) || self.children().any(Self::draws)
    }

    /// Expressions that this one is made of, over the same input. Lambdas have an input of their own.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        gathered!(&self.kind, &Self, as_deref, iter)
    }

    /// As [`Self::children`].
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        gathered!(&mut self.kind, &mut Self, as_deref_mut, iter_mut)
    }
}
