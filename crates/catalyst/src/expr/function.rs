//! The functions that are known, with where their parts are in Spark's classes.

use super::arithmetic::integral;
use super::nested;
use super::signature::{
    Args, Context, Nullable, Result, SECONDS, SECONDS_OF_DAY, Spec, TIME, texts,
};
use super::{IntervalField, IntervalFields};
use crate::types::DataType;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $args:expr, $context:expr, $result:expr, $nullable:expr $(, zoned $zoned:literal)? $(, ignored $ignored:expr)?;)*) => {
        /// A function, with the name of Spark's class for it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$doc])* $name,)*
            /// `Like`, with its escape character.
            Like {
                /// What takes the meaning from `%` and `_`.
                escape: char,
            },
            /// `GetArrayStructFields`: a field of all structs of an array.
            GetArrayStructFields {
                /// Place of the field.
                ordinal: usize,
            },
            /// `Cast` from an interval to text.
            IntervalText {
                /// How it is written.
                fields: IntervalFields,
            },
            /// `Cast` from an interval to one of fewer fields.
            IntervalCut {
                /// What is less is cut off.
                last: IntervalField,
            },
            /// `Cast` from a number to an interval.
            IntervalOf {
                /// What the number is of.
                unit: IntervalField,
            },
            /// `Cast` from an interval to a number.
            IntervalIn {
                /// What is counted.
                unit: IntervalField,
            },
            /// `Murmur3Hash`
            Murmur3Hash {
                /// Where it starts.
                seed: i32,
            },
            /// `XxHash64`
            XxHash64 {
                /// Where it starts.
                seed: i64,
            },
        }

        impl Function {
            /// Name of Spark's class.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Like { .. } => "Like",
                    Self::GetArrayStructFields { .. } => "GetArrayStructFields",
                    Self::IntervalText { .. }
                    | Self::IntervalCut { .. }
                    | Self::IntervalOf { .. }
                    | Self::IntervalIn { .. } => "Cast",
                    Self::Murmur3Hash { .. } => "Murmur3Hash",
                    Self::XxHash64 { .. } => "XxHash64",
                }
            }

            /// Every function that has no parameters besides its arguments.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        const SPECS: &[Spec] = &[$(Spec {
            class: stringify!($name),
            function: Function::$name,
            args: $args,
            context: $context,
            result: $result,
            nullable: $nullable,
            zoned: false $(|| $zoned)?,
            ignored: { let _none: &[&str] = &[]; $(let _none: &[&str] = $ignored;)? _none },
        }),*];
    };
}

impl Function {
    /// How many arguments it can have.
    pub fn arity(self) -> std::ops::RangeInclusive<usize> {
        match (self, spec(self.name()).map(|spec| spec.args)) {
            (Self::Like { .. }, _) => 2..=2,
            (
                Self::GetArrayStructFields { .. }
                | Self::IntervalText { .. }
                | Self::IntervalCut { .. }
                | Self::IntervalOf { .. }
                | Self::IntervalIn { .. },
                _,
            ) => 1..=1,
            (Self::Encode | Self::StringDecode, _) => 2..=4,
            // The characters to trim are optional.
            (Self::Sequence, _) => 2..=3,
            // So is the time zone.
            (Self::MakeTimestamp, _) => 6..=7,
            (Self::StringTrim | Self::StringTrimLeft | Self::StringTrimRight, _) => 1..=2,
            (_, Some(Args::Fields(fields))) => fields.len()..=fields.len(),
            (_, Some(Args::Children) | None) => 1..=usize::MAX,
        }
    }

    /// The type of the result for arguments of these types; of decimals one of several. `None` if the types do not say.
    pub fn result_of(self, args: &[DataType]) -> Option<DataType> {
        let result = match self {
            Self::Like { .. } => Result::Boolean,
            Self::IntervalText { .. } => Result::String,
            Self::IntervalCut { .. } => Result::Arg(0),
            Self::IntervalOf { .. } | Self::IntervalIn { .. } => Result::Target,
            Self::Murmur3Hash { .. } => Result::Integer,
            Self::XxHash64 { .. } => Result::Long,
            Self::GetArrayStructFields { ordinal } => {
                return args
                    .first()
                    .and_then(|of| nested::field_of_elements(of, ordinal));
            }
            _ => spec(self.name())?.result,
        };
        match result {
            Result::Boolean => Some(DataType::Boolean),
            Result::Byte => Some(DataType::Byte),
            Result::Integer => Some(DataType::Integer),
            Result::Long => Some(DataType::Long),
            Result::Double => Some(DataType::Double),
            Result::String => Some(DataType::String),
            Result::Binary => Some(DataType::Binary),
            Result::Date => Some(DataType::Date),
            Result::Timestamp => Some(DataType::Timestamp),
            Result::DayTimeInterval => Some(DataType::DayTimeInterval),
            Result::YearMonthInterval => Some(DataType::YearMonthInterval),
            Result::Variant => Some(DataType::Variant),
            Result::Texts => Some(texts()),
            Result::Seconds => Some(SECONDS),
            Result::SecondsOfDay => Some(SECONDS_OF_DAY),
            Result::Time => Some(TIME),
            Result::TimestampNtz => Some(DataType::TimestampNtz),
            Result::Arg(place) => args.get(place).cloned(),
            Result::Arithmetic | Result::Rounded => args.first().cloned(),
            Result::Integral => args.first().map(integral),
            Result::ArrayOf
            | Result::MapOf
            | Result::SameElements
            | Result::MapOfArrays
            | Result::MapOfEntries
            | Result::Element
            | Result::Keys
            | Result::Values
            | Result::Entries => nested::result_of(result, args),
            Result::Field
            | Result::Target
            | Result::Wanted
            | Result::MakeDecimal
            | Result::ByFormat => None,
        }
    }
}

/// What is known of the class with this name.
pub(super) fn spec(class: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.class == class)
}

const CHILD: Args = Args::Fields(&["child"]);
const PAIR: Args = Args::Fields(&["left", "right"]);
const TIMES: Args = Args::Fields(&["interval", "num"]);
const NONE: Context = Context::None;
const MODE: Context = Context::EvalMode;
/// What `UnaryMathExpression`, `UnaryLogExpression` and `BinaryMathExpression` have.
const OF_MATH: &[&str] = &["f", "name", "yAsymptote"];

functions! {
    /// Both are true.
    And PAIR, NONE, Result::Boolean, Nullable::Any;
    /// One is true.
    Or PAIR, NONE, Result::Boolean, Nullable::Any;
    /// It is false.
    Not CHILD, NONE, Result::Boolean, Nullable::Any;
    /// `=`
    EqualTo PAIR, NONE, Result::Boolean, Nullable::Any;
    /// `<=>`
    EqualNullSafe PAIR, NONE, Result::Boolean, Nullable::Never;
    /// `<`
    LessThan PAIR, NONE, Result::Boolean, Nullable::Any;
    /// `<=`
    LessThanOrEqual PAIR, NONE, Result::Boolean, Nullable::Any;
    /// `>`
    GreaterThan PAIR, NONE, Result::Boolean, Nullable::Any;
    /// `>=`
    GreaterThanOrEqual PAIR, NONE, Result::Boolean, Nullable::Any;
    /// `IS NULL`
    IsNull CHILD, NONE, Result::Boolean, Nullable::Never;
    /// `IS NOT NULL`
    IsNotNull CHILD, NONE, Result::Boolean, Nullable::Never;
    /// Whether it is NaN; null is not.
    IsNaN CHILD, NONE, Result::Boolean, Nullable::Never;

    /// `+`
    Add PAIR, MODE, Result::Arithmetic, Nullable::Overflow;
    /// `-`
    Subtract PAIR, MODE, Result::Arithmetic, Nullable::Overflow;
    /// `*`
    Multiply PAIR, MODE, Result::Arithmetic, Nullable::Overflow;
    /// `/`
    Divide PAIR, MODE, Result::Arithmetic, Nullable::Always, ignored &["divisorIsNonZero", "div", "isZero"];
    /// `div`
    IntegralDivide PAIR, MODE, Result::Long, Nullable::Always, ignored &["divisorIsNonZero", "div", "isZero"];
    /// `%`
    Remainder PAIR, MODE, Result::Arithmetic, Nullable::Always, ignored &["divisorIsNonZero", "mod", "isZero"];
    /// The remainder that is not negative.
    Pmod PAIR, MODE, Result::Arithmetic, Nullable::Always, ignored &["divisorIsNonZero", "pmodFunc", "isZero"];
    /// `-x`
    UnaryMinus CHILD, Context::Fails("failOnError"), Result::Arg(0), Nullable::Any;
    /// `+x`
    UnaryPositive CHILD, NONE, Result::Arg(0), Nullable::Any;
    /// The number without its sign.
    Abs CHILD, Context::Fails("failOnError"), Result::Arg(0), Nullable::Any;
    /// Half away from zero.
    Round Args::Fields(&["child", "scale"]), Context::Fails("ansiEnabled"), Result::Rounded, Nullable::Overflow, ignored &["_scale", "scaleV"];
    /// Half to the even neighbour.
    BRound Args::Fields(&["child", "scale"]), Context::Fails("ansiEnabled"), Result::Rounded, Nullable::Overflow, ignored &["_scale", "scaleV"];
    /// Up, to so many digits behind the point.
    RoundCeil Args::Fields(&["child", "scale"]), NONE, Result::Rounded, Nullable::Always, ignored &["_scale", "scaleV"];
    /// Down, to so many digits behind the point.
    RoundFloor Args::Fields(&["child", "scale"]), NONE, Result::Rounded, Nullable::Always, ignored &["_scale", "scaleV"];
    /// The least integer that is not less.
    Ceil CHILD, Context::MayFail("failOnError"), Result::Integral, Nullable::Always, ignored &["f", "name"];
    /// The greatest integer that is not greater.
    Floor CHILD, Context::MayFail("failOnError"), Result::Integral, Nullable::Always, ignored &["f", "name"];
    /// Square root.
    Sqrt CHILD, NONE, Result::Double, Nullable::Any, ignored &["f", "name"];
    /// `e^x`
    Exp CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// `e^x - 1`
    Expm1 CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Natural logarithm; null of what is not positive.
    Log CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Natural logarithm of one more; null of -1 and less.
    Log1p CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Logarithm to the base of 2; null of what is not positive.
    Log2 CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Logarithm to the base of 10; null of what is not positive.
    Log10 CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Logarithm of the second to the base of the first; null if either is not positive.
    Logarithm PAIR, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// The first to the power of the second.
    Pow PAIR, NONE, Result::Double, Nullable::Any, ignored OF_MATH;
    /// Arc cosine.
    Acos CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Arc sine.
    Asin CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Arc tangent.
    Atan CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Arc tangent of a quotient, by the signs of both.
    Atan2 PAIR, NONE, Result::Double, Nullable::Any, ignored OF_MATH;
    /// Cube root.
    Cbrt CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Hyperbolic cosine.
    Cosh CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Hyperbolic sine.
    Sinh CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// Hyperbolic tangent.
    Tanh CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// The inverse of `Cosh`.
    Acosh CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// The inverse of `Sinh`.
    Asinh CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// The inverse of `Tanh`.
    Atanh CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// The root of the sum of the squares.
    Hypot PAIR, NONE, Result::Double, Nullable::Any, ignored OF_MATH;
    /// An angle in degrees.
    ToDegrees CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;
    /// An angle of degrees.
    ToRadians CHILD, NONE, Result::Double, Nullable::Always, ignored OF_MATH;

    /// SHA-1 of bytes as text.
    Sha1 CHILD, NONE, Result::String, Nullable::Any;
    /// SHA-2 of bytes as text, of so many bits; null if there is none of so many.
    Sha2 PAIR, NONE, Result::String, Nullable::Always;
    /// CRC-32 of bytes.
    Crc32 CHILD, NONE, Result::Long, Nullable::Any;
    /// Bytes as text of 64 characters; the second says whether in lines.
    Base64 PAIR, NONE, Result::String, Nullable::Any;
    /// The bytes of such a text.
    UnBase64 CHILD, Context::Fails("failOnError"), Result::Binary, Nullable::Any;
    /// The bytes of a text in a character set. In 4.0 and later also: whether any of Java's may be meant, and whether
    /// what the set does not have is replaced.
    Encode Args::Fields(&["value", "charset"]), NONE, Result::Binary, Nullable::Any;
    /// The text of bytes in a character set, as `Encode`.
    StringDecode Args::Fields(&["bin", "charset"]), NONE, Result::String, Nullable::Any;
    /// `&`
    BitwiseAnd PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["and", "evalContext", "evalMode"];
    /// `|`
    BitwiseOr PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["or", "evalContext", "evalMode"];
    /// `^`
    BitwiseXor PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["xor", "evalContext", "evalMode"];
    /// `~`
    BitwiseNot CHILD, NONE, Result::Arg(0), Nullable::Any, ignored &["not"];
    /// `<<`
    ShiftLeft PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["shift"];
    /// `>>`
    ShiftRight PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["shift"];
    /// `>>>`
    ShiftRightUnsigned PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["shift"];
    /// The largest argument that is not null.
    Greatest Args::Children, NONE, Result::Arg(0), Nullable::All, ignored &["ordering", "internalDataType"];
    /// The smallest argument that is not null.
    Least Args::Children, NONE, Result::Arg(0), Nullable::All, ignored &["ordering", "internalDataType"];

    /// Digits of a decimal as a long.
    UnscaledValue CHILD, NONE, Result::Long, Nullable::Any;
    /// A decimal of these digits.
    MakeDecimal CHILD, Context::Nulls("nullOnOverflow"), Result::MakeDecimal, Nullable::Overflow;
    /// Brings a decimal to a type.
    CheckOverflow CHILD, Context::Nulls("nullOnOverflow"), Result::Field, Nullable::Always, ignored &["dataType"];

    /// The first argument that is not null.
    Coalesce Args::Children, NONE, Result::Arg(0), Nullable::All, ignored &["internalDataType"];
    /// `if(predicate, trueValue, falseValue)`
    If Args::Fields(&["predicate", "trueValue", "falseValue"]), NONE, Result::Arg(1), Nullable::Any, ignored &["internalDataType"];
    /// The left, or the right if that is NaN.
    NaNvl PAIR, NONE, Result::Arg(0), Nullable::Any;
    /// As its argument.
    KnownNotNull CHILD, NONE, Result::Arg(0), Nullable::Never;
    /// As its argument.
    KnownNullable CHILD, NONE, Result::Arg(0), Nullable::Always;
    /// As its argument.
    KnownNotContainsNull CHILD, NONE, Result::Arg(0), Nullable::Any;
    /// As its argument.
    KnownFloatingPointNormalized CHILD, NONE, Result::Arg(0), Nullable::Any;
    /// One NaN for all, one zero for both.
    NormalizeNaNAndZero CHILD, NONE, Result::Arg(0), Nullable::Any, ignored &["normalizer"];

    /// Whether at least so many of the other arguments are neither null nor NaN.
    AtLeastNNonNulls Args::Children, NONE, Result::Boolean, Nullable::Never, ignored &["childrenArray"];
    /// A text for a column of type `CHAR`: padded with blanks, or without those that are too many.
    CharTypeWriteSideCheck PAIR, NONE, Result::String, Nullable::Any;
    /// A text for a column of type `VARCHAR`: without blanks that are too many.
    VarcharTypeWriteSideCheck PAIR, NONE, Result::String, Nullable::Any;
    /// A text of a column of type `CHAR`, padded with blanks.
    ReadSidePadding PAIR, NONE, Result::String, Nullable::Any;
    /// Whether digits end with the one that Luhn's formula says.
    Luhncheck CHILD, NONE, Result::Boolean, Nullable::Any;
    /// `substring(str, pos, len)`
    Substring Args::Fields(&["str", "pos", "len"]), NONE, Result::Arg(0), Nullable::Any;
    /// Upper case.
    Upper CHILD, NONE, Result::Arg(0), Nullable::Any, ignored &["collationId", "useICU"];
    /// Lower case.
    Lower CHILD, NONE, Result::Arg(0), Nullable::Any, ignored &["collationId", "useICU"];
    /// One behind the other.
    Concat Args::Children, NONE, Result::Arg(0), Nullable::Any, ignored &["internalDataType"];
    /// With the first argument between the others.
    ConcatWs Args::Children, NONE, Result::String, Nullable::Any;
    /// Characters of a string, bytes of a binary.
    Length CHILD, NONE, Result::Integer, Nullable::Any;
    /// Whether the left starts with the right.
    StartsWith PAIR, NONE, Result::Boolean, Nullable::Any, ignored &["collationId"];
    /// Whether the left ends with the right.
    EndsWith PAIR, NONE, Result::Boolean, Nullable::Any, ignored &["collationId"];
    /// Whether the left has the right in it.
    Contains PAIR, NONE, Result::Boolean, Nullable::Any, ignored &["collationId"];
    /// Java's regular expressions.
    RLike PAIR, NONE, Result::Boolean, Nullable::Any, ignored &["collationId"];
    /// A text with something else instead of what matches a pattern, from a place on.
    RegExpReplace Args::Fields(&["subject", "regexp", "rep", "pos"]), NONE, Result::Arg(0), Nullable::Any, ignored &["collationId"];
    /// What a group of a pattern has in the first match.
    RegExpExtract Args::Fields(&["subject", "regexp", "idx"]), NONE, Result::Arg(0), Nullable::Any;
    /// What a group of a pattern has in all matches.
    RegExpExtractAll Args::Fields(&["subject", "regexp", "idx"]), NONE, Result::ArrayOf, Nullable::Any;
    /// The place of the first match of a pattern.
    RegExpInStr Args::Fields(&["subject", "regexp", "idx"]), NONE, Result::Integer, Nullable::Any;
    /// `replace(src, search, replace)`
    StringReplace Args::Fields(&["srcExpr", "searchExpr", "replaceExpr"]), NONE, Result::Arg(0), Nullable::Any, ignored &["collationId"];
    /// `lpad(str, len, pad)`
    StringLPad Args::Fields(&["str", "len", "pad"]), NONE, Result::Arg(0), Nullable::Any;
    /// `rpad(str, len, pad)`
    StringRPad Args::Fields(&["str", "len", "pad"]), NONE, Result::Arg(0), Nullable::Any;
    /// `trim(src[, characters])`
    StringTrim Args::Fields(&["srcStr"]), NONE, Result::Arg(0), Nullable::Any, ignored &["collationId", "trimStr", "trimMethod"];
    /// `ltrim(src[, characters])`
    StringTrimLeft Args::Fields(&["srcStr"]), NONE, Result::Arg(0), Nullable::Any, ignored &["collationId", "trimStr", "trimMethod"];
    /// `rtrim(src[, characters])`
    StringTrimRight Args::Fields(&["srcStr"]), NONE, Result::Arg(0), Nullable::Any, ignored &["collationId", "trimStr", "trimMethod"];
    /// MD5 as text.
    Md5 CHILD, NONE, Result::String, Nullable::Any;

    /// What stands before the `count`th delimiter.
    SubstringIndex Args::Fields(&["strExpr", "delimExpr", "countExpr"]), NONE, Result::String, Nullable::Any, ignored &["collationId"];
    /// What a text has in JSON at a path.
    GetJsonObject Args::Fields(&["json", "path"]), NONE, Result::String, Nullable::Always;
    /// Place of a word among words with commas between them.
    FindInSet PAIR, NONE, Result::Integer, Nullable::Any, ignored &["collationId"];
    /// Place of the second text in the first.
    StringInstr Args::Fields(&["str", "substr"]), NONE, Result::Integer, Nullable::Any, ignored &["collationId"];
    /// `locate(substr, str, start)`
    StringLocate Args::Fields(&["substr", "str", "start"]), NONE, Result::Integer, Nullable::Any, ignored &["collationId"];
    /// Whether it is like one of the other arguments.
    LikeAny Args::Children, NONE, Result::Boolean, Nullable::Always;
    /// Whether it is like all of the other arguments.
    LikeAll Args::Children, NONE, Result::Boolean, Nullable::Always;
    /// Whether it is not like one of the other arguments.
    NotLikeAny Args::Children, NONE, Result::Boolean, Nullable::Always;
    /// Whether it is like none of the other arguments.
    NotLikeAll Args::Children, NONE, Result::Boolean, Nullable::Always;
    /// The character with this number.
    Chr CHILD, NONE, Result::String, Nullable::Any;
    /// Number of the first character.
    Ascii CHILD, NONE, Result::Integer, Nullable::Any;
    /// Number of bytes.
    OctetLength CHILD, NONE, Result::Integer, Nullable::Any;
    /// Number of bits.
    BitLength CHILD, NONE, Result::Integer, Nullable::Any;
    /// How many characters must be changed to make the one of the other.
    Levenshtein PAIR, NONE, Result::Integer, Nullable::Any, ignored &["threshold"];
    /// Four characters for how a word sounds.
    SoundEx CHILD, NONE, Result::String, Nullable::Any;
    /// First letters in upper case.
    InitCap CHILD, NONE, Result::String, Nullable::Any, ignored &["collationId", "useICU"];
    /// A text many times.
    StringRepeat Args::Fields(&["str", "times"]), NONE, Result::String, Nullable::Any;
    /// Blanks.
    StringSpace CHILD, NONE, Result::String, Nullable::Any;
    /// `translate(src, matching, replace)`
    StringTranslate Args::Fields(&["srcExpr", "matchingExpr", "replaceExpr"]), NONE, Result::String, Nullable::Any, ignored &["collationId"];
    /// `overlay(input PLACING replace FROM pos FOR len)`
    Overlay Args::Fields(&["input", "replace", "pos", "len"]), NONE, Result::Arg(0), Nullable::Any, ignored &["replaceFunc"];
    /// Number of bits that are set.
    BitwiseCount CHILD, NONE, Result::Integer, Nullable::Any;
    /// The bit at a place.
    BitwiseGet PAIR, NONE, Result::Byte, Nullable::Any, ignored &["bitSize"];
    /// The nearest integer, half to the even neighbour.
    Rint CHILD, NONE, Result::Double, Nullable::Any;
    /// The sign as a number.
    Signum CHILD, NONE, Result::Double, Nullable::Any;
    /// `n!`
    Factorial CHILD, NONE, Result::Long, Nullable::Always;
    /// Which part of a range a value is in.
    WidthBucket Args::Fields(&["value", "minValue", "maxValue", "numBucket"]), NONE, Result::Long, Nullable::Always;
    /// The argument with this number.
    Elt Args::Children, Context::Fails("failOnError"), Result::Arg(1), Nullable::Always, ignored &["indexExpr", "inputExprs"];
    /// Bytes of hexadecimal digits.
    Unhex CHILD, Context::Fails("failOnError"), Result::Binary, Nullable::Always;
    /// A number in digits of another base.
    Conv Args::Fields(&["numExpr", "fromBaseExpr", "toBaseExpr"]), Context::Fails("ansiEnabled"), Result::String, Nullable::Always;
    /// A number with commas, and so many digits behind the point.
    FormatNumber Args::Fields(&["x", "d"]), NONE, Result::String, Nullable::Always, ignored &["defaultFormat", "pattern", "numberFormat", "lastDIntValue", "lastDStringValue"];

    /// Any value as text, as it is shown.
    ToPrettyString CHILD, NONE, Result::String, Nullable::Never, zoned true, ignored &["castFunc", "binaryFormatter", "dateFormatter", "timeFormatter", "timestampFormatter", "timestampNTZFormatter", "zoneId"];
    /// Seconds since the epoch as text, by a pattern of Java's.
    FromUnixTime Args::Fields(&["sec", "format"]), NONE, Result::String, Nullable::Always, zoned true;
    /// Seconds since the epoch of a time, or of a text by a pattern of Java's.
    UnixTimestamp Args::Fields(&["timeExp", "format"]), Context::Fails("failOnError"), Result::Long, Nullable::Always, zoned true;
    /// As `UnixTimestamp`.
    ToUnixTimestamp Args::Fields(&["timeExp", "format"]), Context::Fails("failOnError"), Result::Long, Nullable::Always, zoned true;
    /// A text as a time, by a pattern of Java's.
    GetTimestamp PAIR, Context::Fails("failOnError"), Result::Field, Nullable::Always, zoned true, ignored &["dataType", "suggestedFuncOnFail", "forTimestampNTZ"];
    /// The next day that is such a day of the week.
    NextDay Args::Fields(&["startDate", "dayOfWeek"]), Context::Fails("failOnError"), Result::Date, Nullable::Always;
    /// Three letters of the day of the week.
    DayName CHILD, NONE, Result::String, Nullable::Any, ignored &["func", "funcName"];
    /// Three letters of the month.
    MonthName CHILD, NONE, Result::String, Nullable::Any, ignored &["func", "funcName"];
    /// Months from the second to the first, with a fraction.
    MonthsBetween Args::Fields(&["date1", "date2", "roundOff"]), NONE, Result::Double, Nullable::Any, zoned true;
    /// So many units later: the unit as a text, their number, the time.
    TimestampAdd Args::Fields(&["unit", "quantity", "timestamp"]), NONE, Result::Arg(2), Nullable::Any, zoned true;
    /// Whole units from the second to the third; the first is the unit as a text.
    TimestampDiff Args::Fields(&["unit", "startTimestamp", "endTimestamp"]), NONE, Result::Long, Nullable::Any, zoned true;

    /// Year of a date.
    Year CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// Quarter of a date.
    Quarter CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// Month of a date.
    Month CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// ISO week of a date.
    WeekOfYear CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// Day of the month of a date.
    DayOfMonth CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// 1 is Sunday.
    DayOfWeek CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// 0 is Monday.
    WeekDay CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// Day of the year of a date.
    DayOfYear CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// Hour of a timestamp.
    Hour CHILD, NONE, Result::Integer, Nullable::Any, zoned true, ignored &["func", "funcName"];
    /// Minute of a timestamp.
    Minute CHILD, NONE, Result::Integer, Nullable::Any, zoned true, ignored &["func", "funcName"];
    /// Second of a timestamp.
    Second CHILD, NONE, Result::Integer, Nullable::Any, zoned true, ignored &["func", "funcName"];
    /// So many days later.
    DateAdd Args::Fields(&["startDate", "days"]), NONE, Result::Date, Nullable::Any;
    /// So many days earlier.
    DateSub Args::Fields(&["startDate", "days"]), NONE, Result::Date, Nullable::Any;
    /// Days from the second to the first.
    DateDiff Args::Fields(&["endDate", "startDate"]), NONE, Result::Integer, Nullable::Any;
    /// So many months later.
    AddMonths Args::Fields(&["startDate", "numMonths"]), NONE, Result::Date, Nullable::Any;
    /// A year-month interval later.
    DateAddYMInterval Args::Fields(&["date", "interval"]), NONE, Result::Date, Nullable::Any;
    /// The last day of the month.
    LastDay Args::Fields(&["startDate"]), NONE, Result::Date, Nullable::Any;
    /// The first day of a unit.
    TruncDate Args::Fields(&["date", "format"]), NONE, Result::Date, Nullable::Always, ignored &["truncLevel", "instant"];
    /// The start of a unit.
    TruncTimestamp Args::Fields(&["format", "timestamp"]), NONE, Result::Timestamp, Nullable::Always, zoned true, ignored &["truncLevel", "instant"];

    /// An interval later; `TimestampAddInterval` in new versions.
    TimeAdd Args::Fields(&["start", "interval"]), NONE, Result::Arg(0), Nullable::Any, zoned true;
    /// An interval later; `TimeAdd` in old versions.
    TimestampAddInterval Args::Fields(&["start", "interval"]), NONE, Result::Arg(0), Nullable::Any, zoned true;

    /// Months later on the calendar.
    TimestampAddYMInterval Args::Fields(&["timestamp", "interval"]), NONE, Result::Arg(0), Nullable::Any, zoned true;
    /// Time between two local times.
    SubtractTimestamps PAIR, Context::Without("legacyInterval"), Result::DayTimeInterval, Nullable::Any, zoned true;
    /// Days between two dates, as an interval.
    SubtractDates PAIR, Context::Without("legacyInterval"), Result::DayTimeInterval, Nullable::Any;
    /// Seconds of a minute with their fraction.
    SecondWithFraction CHILD, NONE, Result::Seconds, Nullable::Any, zoned true, ignored &["func", "funcName"];
    /// What clocks of a zone show at a time of UTC.
    FromUTCTimestamp PAIR, NONE, Result::Timestamp, Nullable::Any, ignored &["func", "funcName", "prettyName"];
    /// The time of UTC at which clocks of a zone show a time.
    ToUTCTimestamp PAIR, NONE, Result::Timestamp, Nullable::Any, ignored &["func", "funcName", "prettyName"];
    /// Days since the epoch.
    UnixDate CHILD, NONE, Result::Integer, Nullable::Any;
    /// Seconds since the epoch.
    UnixSeconds CHILD, NONE, Result::Long, Nullable::Any;
    /// Milliseconds since the epoch.
    UnixMillis CHILD, NONE, Result::Long, Nullable::Any;
    /// Microseconds since the epoch.
    UnixMicros CHILD, NONE, Result::Long, Nullable::Any;
    /// The date so many days after the epoch.
    DateFromUnixDate CHILD, NONE, Result::Date, Nullable::Any;
    /// The time so many seconds after the epoch.
    SecondsToTimestamp CHILD, NONE, Result::Timestamp, Nullable::Always;
    /// The time so many milliseconds after the epoch.
    MillisToTimestamp CHILD, NONE, Result::Timestamp, Nullable::Any;
    /// The time so many microseconds after the epoch.
    MicrosToTimestamp CHILD, NONE, Result::Timestamp, Nullable::Any;
    /// A date of three numbers.
    MakeDate Args::Fields(&["year", "month", "day"]), Context::Fails("failOnError"), Result::Date, Nullable::Always;
    /// A timestamp of six numbers, the last with a fraction, and perhaps a time zone.
    MakeTimestamp Args::Fields(&["year", "month", "day", "hour", "min", "sec"]), Context::Fails("failOnError"), Result::Field, Nullable::Always, zoned true, ignored &["timezone", "dataType"];
    /// A timestamp as microseconds, or the other way round.
    PreciseTimestampConversion CHILD, NONE, Result::Target, Nullable::Any, ignored &["fromType", "toType"];
    /// Year of the ISO week of a date.
    YearOfWeek CHILD, NONE, Result::Integer, Nullable::Any, ignored &["func", "funcName"];
    /// An interval of days, hours, minutes and seconds.
    MakeDTInterval Args::Fields(&["days", "hours", "mins", "secs"]), NONE, Result::DayTimeInterval, Nullable::Any;
    /// An interval of years and months.
    MakeYMInterval Args::Fields(&["years", "months"]), NONE, Result::YearMonthInterval, Nullable::Any;
    /// Months times a number.
    MultiplyYMInterval TIMES, NONE, Result::YearMonthInterval, Nullable::Any;
    /// Microseconds times a number.
    MultiplyDTInterval TIMES, NONE, Result::DayTimeInterval, Nullable::Any;
    /// Months by a number.
    DivideYMInterval TIMES, NONE, Result::YearMonthInterval, Nullable::Any;
    /// Microseconds by a number.
    DivideDTInterval TIMES, NONE, Result::DayTimeInterval, Nullable::Any;
    /// Years of an interval.
    ExtractANSIIntervalYears CHILD, NONE, Result::Integer, Nullable::Any;
    /// Months of an interval beside its years.
    ExtractANSIIntervalMonths CHILD, NONE, Result::Byte, Nullable::Any;
    /// Days of an interval.
    ExtractANSIIntervalDays CHILD, NONE, Result::Integer, Nullable::Any;
    /// Hours of an interval beside its days.
    ExtractANSIIntervalHours CHILD, NONE, Result::Byte, Nullable::Any;
    /// Minutes of an interval beside its hours.
    ExtractANSIIntervalMinutes CHILD, NONE, Result::Byte, Nullable::Any;
    /// Seconds of an interval beside its minutes, with their fraction.
    ExtractANSIIntervalSeconds CHILD, NONE, Result::Seconds, Nullable::Any;
    /// Hour of a time.
    HoursOfTime CHILD, NONE, Result::Integer, Nullable::Any;
    /// Minute of a time.
    MinutesOfTime CHILD, NONE, Result::Integer, Nullable::Any;
    /// Second of a time.
    SecondsOfTime CHILD, NONE, Result::Integer, Nullable::Any;
    /// Seconds of the minute of a time with their fraction, of so many digits as a second argument says.
    SecondsOfTimeWithFraction PAIR, NONE, Result::Seconds, Nullable::Any;
    /// A time of three numbers, the last with a fraction.
    MakeTime Args::Fields(&["hours", "minutes", "secsAndMicros"]), NONE, Result::Time, Nullable::Any;
    /// A text as a time: by a pattern, or as casts read it, with so many digits behind the seconds.
    ToTime Args::Fields(&["str", "format"]), NONE, Result::Time, Nullable::Any;
    /// An interval later on the same day.
    TimeAddInterval Args::Fields(&["time", "interval"]), NONE, Result::Arg(0), Nullable::Any;
    /// From the second time to the first.
    SubtractTimes PAIR, NONE, Result::DayTimeInterval, Nullable::Any;
    /// Whole units from the second to the third; the first is the unit as a text.
    TimeDiff Args::Fields(&["unit", "start", "end"]), NONE, Result::Long, Nullable::Any;
    /// The start of a unit, whose name is the first argument.
    TimeTrunc Args::Fields(&["unit", "time"]), NONE, Result::Arg(1), Nullable::Any;
    /// The time so many seconds after midnight.
    TimeFromSeconds CHILD, NONE, Result::Time, Nullable::Any;
    /// The time so many milliseconds after midnight.
    TimeFromMillis CHILD, NONE, Result::Time, Nullable::Any;
    /// The time so many microseconds after midnight.
    TimeFromMicros CHILD, NONE, Result::Time, Nullable::Any;
    /// Seconds after midnight, with their microseconds.
    TimeToSeconds CHILD, NONE, Result::SecondsOfDay, Nullable::Any;
    /// Milliseconds after midnight.
    TimeToMillis CHILD, NONE, Result::Long, Nullable::Any;
    /// Microseconds after midnight.
    TimeToMicros CHILD, NONE, Result::Long, Nullable::Any;
    /// A date and a time.
    MakeTimestampNTZ PAIR, NONE, Result::TimestampNtz, Nullable::Any;
    /// Where the interval begins that a timestamp is in: of their length, the timestamp, and where one of them begins.
    TimeBucket Args::Fields(&["bucketSize", "ts", "originTs"]), NONE, Result::Arg(1), Nullable::Any, zoned true;
    /// Number of elements of a text that is an array of JSON.
    LengthOfJsonArray CHILD, NONE, Result::Integer, Nullable::Always;
    /// Names in a text that is an object of JSON.
    JsonObjectKeys CHILD, NONE, Result::Texts, Nullable::Always;
    /// Letters and digits with others in their place: for capitals, small letters, digits, the rest.
    Mask Args::Fields(&["input", "upperChar", "lowerChar", "digitChar", "otherChar"]), NONE, Result::String, Nullable::Always;
    /// A text as a part of a URL.
    UrlEncode CHILD, NONE, Result::String, Nullable::Any;
    /// A part of a URL, or what a key has in its query.
    ParseUrl Args::Children, NONE, Result::String, Nullable::Always, ignored &["failOnError"];
    /// A text as a number, by a format.
    ToNumber PAIR, NONE, Result::ByFormat, Nullable::Any;
    /// As `ToNumber`; null of other texts.
    TryToNumber PAIR, NONE, Result::ByFormat, Nullable::Always;
    /// A text by a format of Java's, which is the first argument.
    FormatString Args::Children, NONE, Result::String, Nullable::Any;
    /// What a part of a URL means.
    UrlDecode CHILD, NONE, Result::String, Nullable::Always;
    /// A time as text, by a pattern of Java's.
    DateFormatClass PAIR, NONE, Result::String, Nullable::Any, zoned true;
    /// Digits to the base of 16, of a number, of bytes or of a text's bytes.
    Hex CHILD, NONE, Result::String, Nullable::Any;
    /// Digits to the base of 2.
    Bin CHILD, NONE, Result::String, Nullable::Any;
    /// An array of the arguments.
    CreateArray Args::Children, NONE, Result::ArrayOf, Nullable::Never, ignored &["useStringTypeWhenEmpty", "defaultElementType"];
    /// A map of the arguments: keys and values in turn.
    CreateMap Args::Children, NONE, Result::MapOf, Nullable::Never, ignored &["useStringTypeWhenEmpty", "defaultElementType", "dataType", "mapBuilder", "keys", "values"];
    /// `array[n]`, from 0.
    GetArrayItem Args::Fields(&["child", "ordinal"]), Context::Fails("failOnError"), Result::Element, Nullable::Always;
    /// `map[key]`
    GetMapValue Args::Fields(&["child", "key"]), NONE, Result::Element, Nullable::Always, ignored &["LinearExecutor$module"];
    /// `element_at(array, n)`, from 1, or from the end if it is negative; `element_at(map, key)`.
    ElementAt PAIR, Context::Fails("failOnError"), Result::Element, Nullable::Always, ignored &["LinearExecutor$module", "defaultValueOutOfBound"];
    /// Number of elements; -1 of null in the legacy mode.
    Size CHILD, Context::Nulls("legacySizeOfNull"), Result::Integer, Nullable::Any;
    /// Whether the array has the value.
    ArrayContains PAIR, NONE, Result::Boolean, Nullable::Always;
    /// Keys of a map.
    MapKeys CHILD, NONE, Result::Keys, Nullable::Any;
    /// Values of a map.
    MapValues CHILD, NONE, Result::Values, Nullable::Any;
    /// Entries of a map.
    MapEntries CHILD, NONE, Result::Entries, Nullable::Any, ignored &["internalDataType"];
    /// Elements in their order.
    SortArray Args::Fields(&["base", "ascendingOrder"]), NONE, Result::Arg(0), Nullable::Any;
    /// Elements once each.
    ArrayDistinct CHILD, NONE, Result::Arg(0), Nullable::Any, ignored &["canUseSpecializedHashSet"];
    /// Elements as text, with a text between them.
    ArrayJoin Args::Fields(&["array", "delimiter"]), NONE, Result::String, Nullable::Any, ignored &["nullReplacement"];
    /// `slice(array, start, length)`
    Slice Args::Fields(&["x", "start", "length"]), NONE, Result::Arg(0), Nullable::Any;
    /// The smallest element that is not null.
    ArrayMin CHILD, NONE, Result::Element, Nullable::Always;
    /// The largest element that is not null.
    ArrayMax CHILD, NONE, Result::Element, Nullable::Always;
    /// An array of the first as often as the second says.
    ArrayRepeat PAIR, NONE, Result::ArrayOf, Nullable::Any;
    /// The place of a value in an array, from 1; 0 if it is not there.
    ArrayPosition PAIR, NONE, Result::Long, Nullable::Any;
    /// Elements of an array, or characters, from the last to the first.
    Reverse CHILD, NONE, Result::Arg(0), Nullable::Any;
    /// Parts of a text between matches of a regular expression.
    StringSplit Args::Fields(&["str", "regex", "limit"]), NONE, Result::ArrayOf, Nullable::Any, ignored &["collationId", "legacySplitTruncate"];
    /// Numbers from the first to the second.
    Sequence Args::Fields(&["start", "stop"]), NONE, Result::ArrayOf, Nullable::Any, zoned true, ignored &["stepOpt", "throwable"];
    /// Elements of either array.
    ArrayUnion PAIR, NONE, Result::SameElements, Nullable::Any, ignored &["internalDataType"];
    /// Elements of both arrays.
    ArrayIntersect PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["internalDataType"];
    /// Elements of the first array that the second has not.
    ArrayExcept PAIR, NONE, Result::Arg(0), Nullable::Any, ignored &["internalDataType"];
    /// Whether two arrays have an element in common.
    ArraysOverlap PAIR, NONE, Result::Boolean, Nullable::Always;
    /// An array without a value.
    ArrayRemove PAIR, NONE, Result::Arg(0), Nullable::Any;
    /// An array with a value behind it.
    ArrayAppend PAIR, NONE, Result::SameElements, Nullable::Any, ignored &["internalDataType"];
    /// An array with a value at a place.
    ArrayInsert Args::Fields(&["srcArrayExpr", "posExpr", "itemExpr"]), Context::Without("legacyNegativeIndex"), Result::SameElements, Nullable::Any, ignored &["internalDataType", "positivePos"];
    /// A map of an array of keys and one of values.
    MapFromArrays PAIR, NONE, Result::MapOfArrays, Nullable::Any, ignored &["mapBuilder"];
    /// A map of an array of entries.
    MapFromEntries CHILD, NONE, Result::MapOfEntries, Nullable::Always, ignored &["mapBuilder"];
    /// A map of what maps have.
    MapConcat Args::Children, NONE, Result::SameElements, Nullable::Any, ignored &["internalDataType", "mapBuilder"];
    /// Elements of arrays side by side, as structs.
    ArraysZip Args::Children, NONE, Result::Field, Nullable::Any;
    /// A map of the parts of a text between one text, each with a key and a value around another.
    StringToMap Args::Fields(&["text", "pairDelim", "keyValueDelim"]), NONE, Result::MapOf, Nullable::Any, ignored &["mapBuilder", "collationId", "legacySplitTruncate"];
    /// Parts of a text between another.
    StringSplitSQL Args::Fields(&["str", "delimiter"]), NONE, Result::ArrayOf, Nullable::Any, ignored &["collationId"];
    /// The part of a text with a number: `ElementAt` of `StringSplitSQL`.
    SplitPart Args::Fields(&["str", "delimiter", "partNum"]), NONE, Result::String, Nullable::Any;
    /// An array of what arrays have.
    Flatten CHILD, NONE, Result::Element, Nullable::Always;

    /// A variant of a text of JSON; whether a name may be there again, whether it fails, and whether texts have to be
    /// Unicode. Calls of Java's method have all of these.
    ParseJson Args::Fields(&["child", "repeated", "fails", "unicode"]), NONE, Result::Variant, Nullable::Always;
    /// What a variant has at a path, as a value of a type.
    VariantGet Args::Fields(&["child", "path"]), Context::Fails("failOnError"), Result::Wanted, Nullable::Always, zoned true, ignored &["targetType", "dataType", "castArgs", "parsedPath"];
    /// Whether it is the null of JSON.
    IsVariantNull CHILD, NONE, Result::Boolean, Nullable::Never;
    /// The type of a variant, as text.
    SchemaOfVariant CHILD, NONE, Result::String, Nullable::Any;
    /// A variant of an array, a map or a struct.
    ToVariantObject CHILD, NONE, Result::Variant, Nullable::Any, ignored &["dataType"];

    /// About how many different values a sketch is of.
    HllSketchEstimate CHILD, NONE, Result::Long, Nullable::Any;
    /// The union of two sketches.
    HllUnion Args::Fields(&["first", "second", "third"]), NONE, Result::Binary, Nullable::Any, ignored &["targetType"];
    /// Whether a bloom filter may have a hash.
    BloomFilterMightContain Args::Fields(&["bloomFilterExpression", "valueExpression"]), NONE, Result::Boolean, Nullable::Always, ignored &["bloomFilter"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_the_name_of_its_class() {
        for function in Function::ALL {
            assert_eq!(spec(function.name()).unwrap().function, *function);
        }
        assert!(spec("ScalaUDF").is_none());
    }
}
