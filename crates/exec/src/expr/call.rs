//! Functions by their names.

use std::sync::Arc;

use arrow::array::{ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, IsNotNullExpr, IsNullExpr, NotExpr};

use super::cast::numeric::Number;
use super::java::{JavaDouble, Special};
use super::kernel::{Kernel, Otherwise, nth, unary};
use super::logic::{Coalesce, Lazy};
use super::order::{extreme, order_key};
use super::{Lowered, Lowering, arithmetic, datetime, decimal, same_type, strings};
use catalyst::Literal;
use catalyst::Unsupported;
use catalyst::{EvalMode, Expr, ExprKind, Function};
use javatime::TimeZone;
use rows::error::bail_out;
use rows::types::ToArrow as _;

impl Lowering<'_> {
    pub(super) fn call(
        &self,
        function: Function,
        args: &[Expr],
        mode: Option<EvalMode>,
        zone: Option<&TimeZone>,
        expr: &Expr,
    ) -> Lowered {
        use Function as F;
        let to = expr.data_type.to_arrow()?;
        let refuse = || {
            let types: Vec<_> = args.iter().map(|arg| arg.data_type.to_string()).collect();
            Unsupported::of_use(format!("{}({})", function.name(), types.join(", ")))
        };
        let arg = |index: usize| args.get(index).ok_or_else(refuse);
        let child = || self.expr(arg(0)?);
        match function {
            F::And | F::Or => self.logical(function, arg(0)?, arg(1)?),
            F::Not => Ok(Arc::new(NotExpr::new(child()?))),
            F::IsNull => Ok(Arc::new(IsNullExpr::new(child()?))),
            F::IsNotNull => Ok(Arc::new(IsNotNullExpr::new(child()?))),
            F::EqualTo => self.compare(Operator::Eq, arg(0)?, arg(1)?),
            F::EqualNullSafe => self.compare(Operator::IsNotDistinctFrom, arg(0)?, arg(1)?),
            F::LessThan => self.compare(Operator::Lt, arg(0)?, arg(1)?),
            F::LessThanOrEqual => self.compare(Operator::LtEq, arg(0)?, arg(1)?),
            F::GreaterThan => self.compare(Operator::Gt, arg(0)?, arg(1)?),
            F::GreaterThanOrEqual => self.compare(Operator::GtEq, arg(0)?, arg(1)?),
            F::If => self.case(&[(arg(0)?, arg(1)?)], Some(arg(2)?), &to),
            F::Coalesce => {
                same_types(args)?;
                let args = self.all(args)?;
                if args.is_empty() {
                    return Err(refuse());
                }
                Ok(Arc::new(Coalesce { to, args }))
            }
            F::AtLeastNNonNulls => super::logic::at_least(self.all(args)?),
            F::KnownNotNull
            | F::KnownNullable
            | F::KnownNotContainsNull
            | F::KnownFloatingPointNormalized
            | F::UnaryPositive => child(),
            F::NormalizeNaNAndZero => match to {
                ArrowType::Float32 | ArrowType::Float64 => order_key(&to, child()?),
                _ => Err(refuse()),
            },
            F::IsNaN => arithmetic::is_nan(&arg(0)?.data_type.to_arrow()?, self.all(args)?),
            F::NaNvl => {
                same_types(args)?;
                arithmetic::nanvl(&to, self.all(args)?)
            }
            F::Greatest | F::Least => {
                same_types(args)?;
                extreme(function, &to, self.all(args)?)
            }
            F::Ceil | F::Floor => match (&arg(0)?.data_type, expr.data_type.decimal()) {
                (catalyst::DataType::Double, _) => {
                    Ok(arithmetic::integral(function, mode, self.all(args)?))
                }
                (catalyst::DataType::Long, _) => child(),
                (catalyst::DataType::Decimal(from), Some(to)) if from.scale > 0 => {
                    Ok(decimal::integral(function, *from, to, self.all(args)?))
                }
                (catalyst::DataType::Decimal(from), _) if from.scale == 0 => child(),
                _ => Err(refuse()),
            },
            F::Sqrt if arg(0)?.data_type == catalyst::DataType::Double => {
                Ok(arithmetic::sqrt(self.all(args)?))
            }
            F::Add | F::Subtract | F::UnaryMinus | F::Abs if is_interval(&to) => {
                super::intervals::lower(function, mode, &types(args)?, &to, self.all(args)?)
            }
            F::Add
            | F::Subtract
            | F::Multiply
            | F::Divide
            | F::IntegralDivide
            | F::Remainder
            | F::Pmod
            | F::BitwiseAnd
            | F::BitwiseOr
            | F::BitwiseXor => {
                let (left, right) = (&arg(0)?.data_type, &arg(1)?.data_type);
                let both = self.all(args)?;
                match (left.decimal(), right.decimal()) {
                    (Some(left), Some(right)) => {
                        decimal::lower_binary(function, mode, left, right, &to, both)
                    }
                    _ if same_type(left, right)? == to => {
                        arithmetic::lower_binary(function, mode, &to, both)
                    }
                    _ => Err(refuse()),
                }
            }
            F::UnaryMinus | F::Abs | F::BitwiseNot => match to {
                ArrowType::Decimal128(..) => decimal::lower_unary(function, &to, self.all(args)?),
                _ => arithmetic::lower_unary(function, mode, &to, self.all(args)?),
            },
            F::ShiftLeft | F::ShiftRight | F::ShiftRightUnsigned => {
                match arg(1)?.data_type.to_arrow()? {
                    ArrowType::Int32 => arithmetic::lower_shift(function, &to, self.all(args)?),
                    _ => Err(refuse()),
                }
            }
            F::UnscaledValue if arg(0)?.data_type.decimal().is_some() => {
                Ok(decimal::unscaled(self.all(args)?))
            }
            F::MakeDecimal => match (&arg(0)?.data_type, expr.data_type.decimal()) {
                (catalyst::DataType::Long, Some(to)) if to.scale >= 0 => {
                    Ok(decimal::make(mode, to, self.all(args)?))
                }
                _ => Err(refuse()),
            },
            F::CheckOverflow => match (arg(0)?.data_type.decimal(), expr.data_type.decimal()) {
                (Some(from), Some(to)) => Ok(decimal::lower_rescale(
                    function.name(),
                    mode.unwrap_or(EvalMode::Legacy),
                    from,
                    to,
                    self.all(args)?,
                )),
                _ => Err(refuse()),
            },
            F::Round | F::BRound | F::RoundCeil | F::RoundFloor => {
                self.round(function, args, mode, expr)
            }
            F::CreateArray
            | F::CreateMap
            | F::GetArrayStructFields { .. }
            | F::ArrayRepeat
            | F::Reverse
            | F::Sequence
            | F::StringSplit
            | F::StringSplitSQL
            | F::SplitPart
            | F::Flatten => {
                super::nested::lower(function, mode, &types(args)?, &to, self.all(args)?)
            }
            _ if super::nested::takes_collections(function)
                || (function == F::Concat && matches!(to, ArrowType::List(_))) =>
            {
                super::nested::lower(function, mode, &types(args)?, &to, self.all(args)?)
            }
            F::Substring
            | F::Upper
            | F::Lower
            | F::Concat
            | F::ConcatWs
            | F::Length
            | F::StartsWith
            | F::EndsWith
            | F::Contains
            | F::Like { .. }
            | F::StringReplace
            | F::StringLPad
            | F::StringRPad
            | F::StringTrim
            | F::StringTrimLeft
            | F::StringTrimRight => strings::lower(function, &types(args)?, &to, self.all(args)?),
            F::Year
            | F::Quarter
            | F::Month
            | F::WeekOfYear
            | F::DayOfMonth
            | F::DayOfWeek
            | F::WeekDay
            | F::DayOfYear
            | F::YearOfWeek
            | F::Hour
            | F::Minute
            | F::Second
            | F::DateAdd
            | F::DateSub
            | F::DateDiff
            | F::AddMonths
            | F::DateAddYMInterval
            | F::LastDay
            | F::TruncDate
            | F::TruncTimestamp
            | F::TimeAdd
            | F::TimestampAddInterval => {
                datetime::lower(function, mode, &types(args)?, &to, zone, self.all(args)?)
            }
            F::TimestampAddYMInterval
            | F::SubtractTimestamps
            | F::SubtractDates
            | F::SecondWithFraction
            | F::FromUTCTimestamp
            | F::ToUTCTimestamp
            | F::UnixDate
            | F::UnixSeconds
            | F::UnixMillis
            | F::UnixMicros
            | F::DateFromUnixDate
            | F::SecondsToTimestamp
            | F::MillisToTimestamp
            | F::MicrosToTimestamp
            | F::MakeDate
            | F::MakeTimestamp
            | F::PreciseTimestampConversion => {
                super::moments::lower(function, mode, &types(args)?, &to, zone, self.all(args)?)
            }
            F::TimeBucket => super::time_bucket::lower(&types(args)?, &to, zone, self.all(args)?),
            _ if super::times::knows(function) => {
                super::times::lower(function, mode, &types(args)?, expr, self.all(args)?)
            }
            F::DateFormatClass => super::date_format::lower(&types(args)?, zone, self.all(args)?),
            F::Hex | F::Bin => super::digits::lower(function, &types(args)?, self.all(args)?),
            F::XxHash64 { seed } => super::hash::xxhash64(seed, &types(args)?, self.all(args)?),
            F::Murmur3Hash { seed } => super::hash::murmur3(seed, &types(args)?, self.all(args)?),
            F::Md5 => super::hash::md5(&types(args)?, self.all(args)?),
            F::Sha1 | F::Sha2 | F::Crc32 => {
                super::hash::digest(function, &types(args)?, self.all(args)?)
            }
            F::Base64 | F::UnBase64 | F::Encode | F::StringDecode => {
                super::codecs::lower(function, mode, &types(args)?, self.all(args)?)
            }
            _ if super::reals::knows(function) => {
                super::reals::lower(function, &types(args)?, self.all(args)?)
            }
            F::RLike
            | F::RegExpReplace
            | F::RegExpExtract
            | F::RegExpExtractAll
            | F::RegExpInStr => super::regex::lower(function, &types(args)?, &to, self.all(args)?),
            F::GetJsonObject => match types(args)?.as_slice() {
                [ArrowType::Utf8View, ArrowType::Utf8View] => {
                    super::json::get_json_object(self.all(args)?)
                }
                types => Err(super::refused(function, types)),
            },
            F::LengthOfJsonArray if types(args)? == [ArrowType::Utf8View] => {
                Ok(super::json::array_length(self.all(args)?))
            }
            F::JsonObjectKeys if types(args)? == [ArrowType::Utf8View] => {
                Ok(super::json::object_keys(self.all(args)?, &to))
            }
            F::ToNumber | F::TryToNumber => {
                super::to_number::lower(function, &types(args)?, &to, self.all(args)?)
            }
            F::FormatString => super::format::lower(function, &types(args)?, self.all(args)?),
            F::UrlEncode | F::UrlDecode | F::ParseUrl | F::Mask => {
                super::urls::lower(function, &types(args)?, self.all(args)?)
            }
            F::MakeDTInterval
            | F::MakeYMInterval
            | F::MultiplyYMInterval
            | F::MultiplyDTInterval
            | F::DivideYMInterval
            | F::DivideDTInterval
            | F::ExtractANSIIntervalYears
            | F::ExtractANSIIntervalMonths
            | F::ExtractANSIIntervalDays
            | F::ExtractANSIIntervalHours
            | F::ExtractANSIIntervalMinutes
            | F::ExtractANSIIntervalSeconds => {
                super::intervals::lower(function, mode, &types(args)?, &to, self.all(args)?)
            }
            F::IntervalText { .. } | F::IntervalCut { .. } => {
                super::interval_text::lower(function, &types(args)?, &to, self.all(args)?)
            }
            F::IntervalOf { .. } | F::IntervalIn { .. } => {
                super::interval_numbers::lower(function, &types(args)?, &to, self.all(args)?)
            }
            F::SubstringIndex
            | F::FindInSet
            | F::StringInstr
            | F::StringLocate
            | F::LikeAny
            | F::LikeAll
            | F::NotLikeAny
            | F::NotLikeAll => super::search::lower(function, &types(args)?, self.all(args)?),
            F::Chr
            | F::Ascii
            | F::OctetLength
            | F::BitLength
            | F::Levenshtein
            | F::SoundEx
            | F::InitCap
            | F::StringRepeat
            | F::StringSpace
            | F::StringTranslate
            | F::CharTypeWriteSideCheck
            | F::VarcharTypeWriteSideCheck
            | F::ReadSidePadding
            | F::Luhncheck
            | F::Overlay => super::letters::lower(function, &types(args)?, self.all(args)?),
            F::BitwiseCount
            | F::BitwiseGet
            | F::Rint
            | F::Signum
            | F::Factorial
            | F::WidthBucket
            | F::Elt
            | F::Unhex
            | F::Conv
            | F::FormatNumber => {
                super::numerals::lower(function, mode, &types(args)?, self.all(args)?)
            }
            F::ToPrettyString => super::cast::nested::pretty(&arg(0)?.data_type, zone, child()?),
            F::FromUnixTime | F::UnixTimestamp | F::ToUnixTimestamp | F::GetTimestamp => {
                super::parse_time::lower(function, mode, &types(args)?, &to, zone, self.all(args)?)
            }
            F::NextDay
            | F::DayName
            | F::MonthName
            | F::MonthsBetween
            | F::TimestampAdd
            | F::TimestampDiff => {
                super::spans::lower(function, mode, &types(args)?, &to, zone, self.all(args)?)
            }
            F::ParseJson
            | F::VariantGet
            | F::IsVariantNull
            | F::SchemaOfVariant
            | F::ToVariantObject => self.variant(function, args, mode, zone, &expr.data_type),
            F::HllSketchEstimate | F::HllUnion => {
                super::sketches::lower(function, &types(args)?, self.all(args)?)
            }
            F::BloomFilterMightContain => {
                super::bloom::might_contain(&types(args)?, &self.all(args)?)
            }
            _ => Err(refuse()),
        }
    }

    fn logical(&self, function: Function, left: &Expr, right: &Expr) -> Lowered {
        let lazy = may_fail(right);
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let and = function == Function::And;
        if lazy {
            let args = vec![left, right];
            return Ok(Arc::new(Lazy { and, args }));
        }
        let op = if and { Operator::And } else { Operator::Or };
        Ok(Arc::new(BinaryExpr::new(left, op, right)))
    }

    /// Rounding to a constant number of digits.
    fn round(
        &self,
        function: Function,
        args: &[Expr],
        mode: Option<EvalMode>,
        expr: &Expr,
    ) -> Lowered {
        let refuse = || Unsupported::of_use(format!("{} to a variable scale", function.name()));
        let [number, places] = args else {
            return Err(refuse());
        };
        let ExprKind::Literal(Literal::Integer(places)) = places.kind else {
            return Err(refuse());
        };
        let to = expr.data_type.to_arrow()?;
        let even = function == Function::BRound;
        let child = self.expr(number)?;
        if let (Some(from), Some(to)) = (number.data_type.decimal(), expr.data_type.decimal()) {
            return Ok(decimal::lower_round(
                function,
                mode,
                from,
                places,
                to,
                vec![child],
            ));
        }
        // The other functions are decimals' only.
        let halves = matches!(function, Function::Round | Function::BRound);
        if !halves || number.data_type.to_arrow()? != to {
            return Err(refuse());
        }
        let name = format!("{}[{places} {mode:?}]", function.name());
        match to {
            ArrowType::Float32 => Ok(round_float::<Float32Type>(name, child, to, places, even)),
            ArrowType::Float64 => Ok(round_float::<Float64Type>(name, child, to, places, even)),
            // Integers have no digits behind the point.
            _ if places >= 0 && to.is_integer() => Ok(child),
            ArrowType::Int8 => Ok(round_integer::<Int8Type>(
                name, child, to, places, even, mode,
            )),
            ArrowType::Int16 => Ok(round_integer::<Int16Type>(
                name, child, to, places, even, mode,
            )),
            ArrowType::Int32 => Ok(round_integer::<Int32Type>(
                name, child, to, places, even, mode,
            )),
            ArrowType::Int64 => Ok(round_integer::<Int64Type>(
                name, child, to, places, even, mode,
            )),
            _ => Err(refuse()),
        }
    }
}

fn round_float<T>(
    name: String,
    child: Arc<dyn PhysicalExpr>,
    to: ArrowType,
    places: i32,
    even: bool,
) -> Arc<dyn PhysicalExpr>
where
    T: ArrowPrimitiveType<Native: Number + Special + std::str::FromStr>,
{
    Kernel::strict(name, vec![child], to, move |args, _| {
        let array = nth(args, 0)?.primitive::<T>()?;
        let values: PrimitiveArray<T> = array
            .iter()
            .map(|value| {
                let Some(value) = value else {
                    return Ok(None);
                };
                let double = value.to_double();
                if !double.is_finite() {
                    return Ok(Some(value));
                }
                match JavaDouble::of(double) {
                    Some(digits) => Ok(Some(digits.round(places, even))),
                    None => Err(bail_out("a float that Javas write differently")),
                }
            })
            .collect::<datafusion_common::Result<_>>()?;
        Ok(Arc::new(values))
    })
}

/// Integers rounded to tens, hundreds and so on.
fn round_integer<T>(
    name: String,
    child: Arc<dyn PhysicalExpr>,
    to: ArrowType,
    places: i32,
    even: bool,
    mode: Option<EvalMode>,
) -> Arc<dyn PhysicalExpr>
where
    T: ArrowPrimitiveType<Native: Number + TryFrom<i128>>,
{
    // What does not fit any more wraps in ways that are not copied.
    let _ = mode;
    let overflow = Otherwise::Fail("rounding that overflows");
    let of = to.clone();
    let drop = places.unsigned_abs();
    Kernel::strict(name, vec![child], to, move |args, _| {
        unary::<T, T>(nth(args, 0)?, overflow, &of, |value| {
            let digits = i128::from(value.to_long());
            if drop > 38 {
                return T::Native::try_from(0).ok();
            }
            let kept = if even {
                decimal::round_off_even(digits, drop)
            } else {
                decimal::round_off(digits, drop)
            };
            T::Native::try_from(kept.checked_mul(decimal::pow10(drop))?).ok()
        })
    })
}

fn is_interval(of: &ArrowType) -> bool {
    matches!(of, ArrowType::Interval(_) | ArrowType::Duration(_))
}

fn types(args: &[Expr]) -> Result<Vec<ArrowType>, Unsupported> {
    args.iter().map(|arg| arg.data_type.to_arrow()).collect()
}

fn same_types(args: &[Expr]) -> Result<(), Unsupported> {
    for pair in args.windows(2) {
        if let [left, right] = pair {
            same_type(&left.data_type, &right.data_type)?;
        }
    }
    Ok(())
}

/// Whether evaluating it for a row that does not count could end the attempt. Better once too often than not at all: it
/// only costs time.
fn may_fail(expr: &Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Attribute(_)
        | ExprKind::BoundReference { .. }
        | ExprKind::Literal(_)
        | ExprKind::Draw(_)
        | ExprKind::ScalarSubquery { .. }
        | ExprKind::Alias { .. }
        | ExprKind::CaseWhen { .. }
        | ExprKind::In { .. }
        | ExprKind::InSet { .. }
        | ExprKind::GetStructField { .. }
        | ExprKind::CreateNamedStruct(_) => false,
        ExprKind::FromJson { .. } | ExprKind::ToJson { .. } => true,
        ExprKind::Cast { child, mode, .. } => {
            let wider = match (child.data_type.decimal(), expr.data_type.decimal()) {
                (Some(from), Some(to)) => {
                    to.scale >= from.scale && to.integral_digits() >= from.integral_digits()
                }
                _ => false,
            };
            let harmless = |of: &catalyst::DataType| {
                use catalyst::DataType as T;
                matches!(
                    of,
                    T::Boolean | T::Byte | T::Short | T::Integer | T::Long | T::Double
                )
            };
            let number = harmless(&child.data_type) && harmless(&expr.data_type);
            !(wider || (number && *mode != EvalMode::Ansi))
        }
        // Its lambdas are not looked into.
        ExprKind::HigherOrder { .. } | ExprKind::Jvm { .. } | ExprKind::Native { .. } => true,
        ExprKind::Call { function, mode, .. } => {
            use Function as F;
            let harmless = matches!(
                function,
                F::And
                    | F::Or
                    | F::Not
                    | F::EqualTo
                    | F::EqualNullSafe
                    | F::LessThan
                    | F::LessThanOrEqual
                    | F::GreaterThan
                    | F::GreaterThanOrEqual
                    | F::IsNull
                    | F::IsNotNull
                    | F::IsNaN
                    | F::Coalesce
                    | F::If
                    | F::Substring
                    | F::StartsWith
                    | F::EndsWith
                    | F::Contains
                    | F::Like { .. }
                    | F::Length
                    | F::Concat
                    | F::Year
                    | F::Month
                    | F::KnownNotNull
                    | F::KnownNullable
                    | F::KnownFloatingPointNormalized
                    | F::NormalizeNaNAndZero
                    | F::BloomFilterMightContain
                    | F::XxHash64 { .. }
                    | F::Murmur3Hash { .. }
            );
            let arithmetic = matches!(
                function,
                F::Add | F::Subtract | F::Multiply | F::Divide | F::Remainder | F::Pmod
            );
            !(harmless || (arithmetic && *mode != Some(EvalMode::Ansi)))
        }
    };
    own || expr.children().any(may_fail)
}
