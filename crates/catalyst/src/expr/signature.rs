//! What is known of Spark's class for a function: where its parts are, and what comes of it.

use super::Function;
use crate::types::{DataType, Decimal};

/// Where a class has its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Args {
    /// In these fields.
    Fields(&'static [&'static str]),
    /// In a sequence `children`.
    Children,
}

/// How a class says what happens if there is no proper result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// It does not.
    None,
    /// `evalMode`, or `evalContext` with it and whether decimals may lose digits.
    EvalMode,
    /// A flag that is true if it fails.
    Fails(&'static str),
    /// As `Fails`. Versions without the flag never fail.
    MayFail(&'static str),
    /// A flag that is true if it gives null.
    Nulls(&'static str),
    /// A flag that must be false: with it the class is another function.
    Without(&'static str),
}

/// How the type of a result is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Result {
    Boolean,
    Byte,
    Integer,
    Long,
    Double,
    String,
    Binary,
    Date,
    Timestamp,
    DayTimeInterval,
    YearMonthInterval,
    Variant,
    /// An array of texts.
    Texts,
    /// Seconds of a minute with their microseconds.
    Seconds,
    /// Seconds of a day with their microseconds.
    SecondsOfDay,
    /// A time with microseconds.
    Time,
    TimestampNtz,
    /// As that argument.
    Arg(usize),
    /// A field `dataType`.
    Field,
    /// A field `toType`.
    Target,
    /// A field `targetType`.
    Wanted,
    /// The argument's type, or of decimals what the operation makes of them.
    Arithmetic,
    /// Rounding.
    Rounded,
    /// A long, or a decimal without digits behind the point.
    Integral,
    /// Fields `precision` and `scale`.
    MakeDecimal,
    /// A decimal of the digits that the second argument, a format of numbers, has.
    ByFormat,
    /// An array of the first argument's type.
    ArrayOf,
    /// A map of the types of the first two arguments.
    MapOf,
    /// The elements of the array or the values of the map that the first argument is.
    Element,
    /// An array of the keys of the map that the first argument is.
    Keys,
    /// An array of the values of the map that the first argument is.
    Values,
    /// As the first argument, with elements or values that may be null.
    SameElements,
    /// A map of the elements of the arrays that the first two arguments are.
    MapOfArrays,
    /// A map of the two fields of the structs in the array that the first argument is.
    MapOfEntries,
    /// An array of structs of the keys and values of the map that the first argument is.
    Entries,
}

/// Whether a result may be null.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nullable {
    /// If an argument may be.
    Any,
    /// If all arguments may be.
    All,
    Never,
    Always,
    /// If an argument may be, or what does not fit becomes null.
    Overflow,
}

/// What is known of a class.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) class: &'static str,
    pub(super) function: Function,
    pub(super) args: Args,
    pub(super) context: Context,
    pub(super) result: Result,
    pub(super) nullable: Nullable,
    /// Whether it has `timeZoneId`.
    pub(super) zoned: bool,
    /// Fields that say nothing more.
    pub(super) ignored: &'static [&'static str],
}

/// Type of [`Result::Seconds`].
pub(super) const SECONDS: DataType = DataType::Decimal(Decimal {
    precision: 8,
    scale: 6,
});

/// Type of [`Result::SecondsOfDay`].
pub(super) const SECONDS_OF_DAY: DataType = DataType::Decimal(Decimal {
    precision: 14,
    scale: 6,
});

/// Type of [`Result::Time`].
pub(super) const TIME: DataType = DataType::Time(6);

/// Type of [`Result::Texts`].
pub(super) fn texts() -> DataType {
    DataType::Array {
        element: Box::new(DataType::String),
        contains_null: true,
    }
}
