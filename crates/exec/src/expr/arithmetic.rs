//! Arithmetic on integers and floats. Integers are Java's: they wrap unless the mode says otherwise.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray};
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType as ArrowType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type,
};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, Otherwise, binary, single, unary};
use catalyst::Unsupported;
use catalyst::{EvalMode, Function};

/// What becomes of a row without a proper result in a mode.
pub(super) fn otherwise(mode: Option<EvalMode>, reason: &'static str) -> Otherwise {
    match mode {
        Some(EvalMode::Ansi) => Otherwise::Fail(reason),
        _ => Otherwise::Null,
    }
}

/// Integers with what Java does to them.
pub(super) trait Integer: ArrowPrimitiveType<Native: ArrowNativeTypeOp> {
    /// As Java computes in wider integers and casts back, or exactly.
    fn pmod(a: Self::Native, n: Self::Native) -> Self::Native;
    fn and(a: Self::Native, b: Self::Native) -> Self::Native;
    fn or(a: Self::Native, b: Self::Native) -> Self::Native;
    fn xor(a: Self::Native, b: Self::Native) -> Self::Native;
    fn not(a: Self::Native) -> Self::Native;
    fn abs(a: Self::Native) -> Self::Native;
}

macro_rules! integer {
    ($type:ty, $native:ty, $wide:ty) => {
        impl Integer for $type {
            // Java's casts of integers drop the high bits, too.
            #[allow(clippy::cast_possible_truncation, clippy::cast_lossless)]
            fn pmod(a: $native, n: $native) -> $native {
                let (a, n) = (a as $wide, n as $wide);
                let r = a.wrapping_rem(n);
                if r < 0 {
                    r.wrapping_add(n).wrapping_rem(n) as $native
                } else {
                    r as $native
                }
            }
            fn and(a: $native, b: $native) -> $native {
                a & b
            }
            fn or(a: $native, b: $native) -> $native {
                a | b
            }
            fn xor(a: $native, b: $native) -> $native {
                a ^ b
            }
            fn not(a: $native) -> $native {
                !a
            }
            fn abs(a: $native) -> $native {
                a.wrapping_abs()
            }
        }
    };
}

integer!(Int8Type, i8, i32);
integer!(Int16Type, i16, i32);
integer!(Int32Type, i32, i32);
integer!(Int64Type, i64, i64);

const OVERFLOW: &str = "arithmetic overflow";
const ZERO: &str = "division by zero";

type Args = Vec<Arc<dyn PhysicalExpr>>;

/// Calls a generic function with the type that is meant.
macro_rules! numbers {
    ($of:expr, $integer:ident, $float:ident, $($arg:expr),*) => {
        match $of {
            ArrowType::Int8 => $integer::<Int8Type>($($arg),*),
            ArrowType::Int16 => $integer::<Int16Type>($($arg),*),
            ArrowType::Int32 => $integer::<Int32Type>($($arg),*),
            ArrowType::Int64 => $integer::<Int64Type>($($arg),*),
            ArrowType::Float32 => $float::<Float32Type>($($arg),*),
            ArrowType::Float64 => $float::<Float64Type>($($arg),*),
            other => Err(Unsupported::of_use(format!("arithmetic on {other}"))),
        }
    };
}

/// `left op right` on two columns of this type, which is that of the result, too.
pub(super) fn lower_binary(
    op: Function,
    mode: Option<EvalMode>,
    of: &ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    numbers!(of, integers, floats, op, mode, of.clone(), args)
}

fn name(op: Function, mode: Option<EvalMode>) -> String {
    match mode {
        Some(mode) => format!("{}[{mode}]", op.name()),
        None => op.name().to_owned(),
    }
}

fn kernel<T: ArrowPrimitiveType>(
    op: Function,
    mode: Option<EvalMode>,
    reason: &'static str,
    of: ArrowType,
    args: Args,
    f: impl Fn(T::Native, T::Native) -> Option<T::Native> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let otherwise = otherwise(mode, reason);
    Kernel::strict(name(op, mode), args, of.clone(), move |args, _| {
        binary::<T, T, T>(args, otherwise, &of, &f)
    })
}

fn integers<T: Integer>(
    op: Function,
    mode: Option<EvalMode>,
    of: ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let wrap = matches!(mode, None | Some(EvalMode::Legacy));
    let zero = |a: T::Native| a == T::Native::ZERO;
    Ok(match op {
        Function::Add if wrap => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| Some(a.add_wrapping(b)))
        }
        Function::Subtract if wrap => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| Some(a.sub_wrapping(b)))
        }
        Function::Multiply if wrap => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| Some(a.mul_wrapping(b)))
        }
        Function::Add => kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| a.add_checked(b).ok()),
        Function::Subtract => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| a.sub_checked(b).ok())
        }
        Function::Multiply => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| a.mul_checked(b).ok())
        }
        Function::IntegralDivide => kernel::<T>(op, mode, ZERO, of, args, move |a, b| {
            if zero(b) {
                None
            } else if wrap {
                Some(a.div_wrapping(b))
            } else {
                a.div_checked(b).ok()
            }
        }),
        Function::Remainder => kernel::<T>(op, mode, ZERO, of, args, move |a, b| {
            (!zero(b)).then(|| a.mod_wrapping(b))
        }),
        Function::Pmod => kernel::<T>(op, mode, ZERO, of, args, move |a, b| {
            (!zero(b)).then(|| T::pmod(a, b))
        }),
        Function::BitwiseAnd => kernel::<T>(op, None, "", of, args, |a, b| Some(T::and(a, b))),
        Function::BitwiseOr => kernel::<T>(op, None, "", of, args, |a, b| Some(T::or(a, b))),
        Function::BitwiseXor => kernel::<T>(op, None, "", of, args, |a, b| Some(T::xor(a, b))),
        _ => return Err(Unsupported::of_use(format!("{} of integers", op.name()))),
    })
}

fn floats<T: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
    op: Function,
    mode: Option<EvalMode>,
    of: ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    // Both zeros are meant; the trait's own comparison tells them apart.
    let zero = |b: T::Native| b == T::Native::ZERO;
    Ok(match op {
        Function::Add => kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| Some(a.add_wrapping(b))),
        Function::Subtract => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| Some(a.sub_wrapping(b)))
        }
        Function::Multiply => {
            kernel::<T>(op, mode, OVERFLOW, of, args, |a, b| Some(a.mul_wrapping(b)))
        }
        Function::Divide => kernel::<T>(op, mode, ZERO, of, args, move |a, b| {
            (!zero(b)).then(|| a.div_wrapping(b))
        }),
        Function::Remainder => kernel::<T>(op, mode, ZERO, of, args, move |a, b| {
            (!zero(b)).then(|| a.mod_wrapping(b))
        }),
        Function::Pmod => kernel::<T>(op, mode, ZERO, of, args, move |a, n| {
            if zero(n) {
                return None;
            }
            let r = a.mod_wrapping(n);
            // Not the total order: NaN is not below zero, and neither is -0.0.
            let below = r.partial_cmp(&T::Native::ZERO) == Some(std::cmp::Ordering::Less);
            Some(if below {
                r.add_wrapping(n).mod_wrapping(n)
            } else {
                r
            })
        }),
        _ => return Err(Unsupported::of_use(format!("{} of floats", op.name()))),
    })
}

/// `UnaryMinus`, `Abs` and `BitwiseNot`.
pub(super) fn lower_unary(
    op: Function,
    mode: Option<EvalMode>,
    of: &ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    numbers!(of, unary_integer, unary_float, op, mode, of.clone(), args)
}

fn unary_kernel<T: ArrowPrimitiveType>(
    op: Function,
    mode: Option<EvalMode>,
    of: ArrowType,
    args: Args,
    f: impl Fn(T::Native) -> Option<T::Native> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let otherwise = otherwise(mode, OVERFLOW);
    Kernel::strict(name(op, mode), args, of.clone(), move |args, _| {
        unary::<T, T>(single(args)?, otherwise, &of, &f)
    })
}

fn unary_integer<T: Integer>(
    op: Function,
    mode: Option<EvalMode>,
    of: ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let wrap = mode != Some(EvalMode::Ansi);
    // The smallest number has no counterpart.
    let fits = move |a: T::Native| wrap || a.neg_checked().is_ok();
    Ok(match op {
        Function::UnaryMinus => unary_kernel::<T>(op, mode, of, args, move |a| {
            fits(a).then(|| a.neg_wrapping())
        }),
        Function::Abs => unary_kernel::<T>(op, mode, of, args, move |a| fits(a).then(|| T::abs(a))),
        Function::BitwiseNot => unary_kernel::<T>(op, None, of, args, |a| Some(T::not(a))),
        _ => return Err(Unsupported::of_use(format!("{} of integers", op.name()))),
    })
}

fn unary_float<T: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
    op: Function,
    mode: Option<EvalMode>,
    of: ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported>
where
    T::Native: num_like::Float,
{
    Ok(match op {
        Function::UnaryMinus => unary_kernel::<T>(op, mode, of, args, |a| Some(a.neg_wrapping())),
        Function::Abs => unary_kernel::<T>(op, mode, of, args, |a| Some(num_like::Float::abs(a))),
        _ => return Err(Unsupported::of_use(format!("{} of floats", op.name()))),
    })
}

/// What floats have in common.
mod num_like {
    pub(in super::super) trait Float: Copy {
        fn abs(self) -> Self;
        fn is_nan(self) -> bool;
    }

    impl Float for f32 {
        fn abs(self) -> Self {
            self.abs()
        }
        fn is_nan(self) -> bool {
            self.is_nan()
        }
    }

    impl Float for f64 {
        fn abs(self) -> Self {
            self.abs()
        }
        fn is_nan(self) -> bool {
            self.is_nan()
        }
    }
}
pub(super) use num_like::Float;

/// Whether a float is NaN; null is not.
pub(super) fn is_nan(
    of: &ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    fn run<T: ArrowPrimitiveType<Native: Float>>(
        args: &[super::kernel::Arg],
        _: usize,
    ) -> Result<ArrayRef> {
        let array = single(args)?.primitive::<T>()?;
        let found = array.iter().map(|v| Some(v.is_some_and(Float::is_nan)));
        Ok(Arc::new(found.collect::<BooleanArray>()))
    }
    let run = match of {
        ArrowType::Float32 => run::<Float32Type>,
        ArrowType::Float64 => run::<Float64Type>,
        other => return Err(Unsupported::of_use(format!("IsNaN of {other}"))),
    };
    Ok(Kernel::lenient("IsNaN", args, ArrowType::Boolean, run))
}

/// The left, or the right if that is NaN.
pub(super) fn nanvl(
    of: &ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    fn run<T: ArrowPrimitiveType<Native: Float>>(
        args: &[super::kernel::Arg],
        rows: usize,
    ) -> Result<ArrayRef> {
        let (left, right) = super::kernel::pair(args)?;
        let (left, right) = (left.column(rows)?, right.column(rows)?);
        let nan = super::kernel::Arg {
            array: left,
            constant: false,
        };
        let mask: BooleanArray = nan
            .primitive::<T>()?
            .iter()
            .map(|v| Some(v.is_some_and(Float::is_nan)))
            .collect();
        Ok(arrow::compute::kernels::zip::zip(
            &mask, &right, &nan.array,
        )?)
    }
    let run = match of {
        ArrowType::Float32 => run::<Float32Type>,
        ArrowType::Float64 => run::<Float64Type>,
        other => return Err(Unsupported::of_use(format!("NaNvl of {other}"))),
    };
    Ok(Kernel::lenient("NaNvl", args, of.clone(), run))
}

/// `ShiftLeft`, `ShiftRight` and `ShiftRightUnsigned`: only the lowest bits of the distance count.
pub(super) fn lower_shift(
    op: Function,
    of: &ArrowType,
    args: Args,
) -> std::result::Result<Arc<dyn PhysicalExpr>, Unsupported> {
    macro_rules! shift {
        ($type:ty, $f:expr) => {{
            let of = of.clone();
            Kernel::strict(op.name(), args, of.clone(), move |args, _| {
                binary::<$type, Int32Type, $type>(args, Otherwise::Null, &of, $f)
            })
        }};
    }
    Ok(match (op, of) {
        (Function::ShiftLeft, ArrowType::Int32) => {
            shift!(Int32Type, |a, n| Some(a.wrapping_shl(n.cast_unsigned())))
        }
        (Function::ShiftLeft, ArrowType::Int64) => {
            shift!(Int64Type, |a, n| Some(a.wrapping_shl(n.cast_unsigned())))
        }
        (Function::ShiftRight, ArrowType::Int32) => {
            shift!(Int32Type, |a, n| Some(a.wrapping_shr(n.cast_unsigned())))
        }
        (Function::ShiftRight, ArrowType::Int64) => {
            shift!(Int64Type, |a, n| Some(a.wrapping_shr(n.cast_unsigned())))
        }
        (Function::ShiftRightUnsigned, ArrowType::Int32) => shift!(Int32Type, |a, n| Some(
            a.cast_unsigned()
                .wrapping_shr(n.cast_unsigned())
                .cast_signed()
        )),
        (Function::ShiftRightUnsigned, ArrowType::Int64) => shift!(Int64Type, |a, n| Some(
            a.cast_unsigned()
                .wrapping_shr(n.cast_unsigned())
                .cast_signed()
        )),
        (_, other) => return Err(Unsupported::of_use(format!("{} of {other}", op.name()))),
    })
}

/// `Ceil` and `Floor` as longs. Of what no long is near Java makes the nearest, and 0 of NaN, where it is no error.
pub(super) fn integral(op: Function, mode: Option<EvalMode>, args: Args) -> Arc<dyn PhysicalExpr> {
    /// The first doubles that are no long any more.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let up = op == Function::Ceil;
    let fails = mode == Some(EvalMode::Ansi);
    Kernel::strict(name(op, mode), args, ArrowType::Int64, move |args, _| {
        let otherwise = Otherwise::Fail(OVERFLOW);
        unary::<Float64Type, Int64Type>(single(args)?, otherwise, &ArrowType::Int64, |a| {
            let a = if up { a.ceil() } else { a.floor() };
            (!fails || (-END..END).contains(&a)).then_some(a as i64)
        })
    })
}

/// Square root.
pub(super) fn sqrt(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Sqrt", args, ArrowType::Float64, |args, _| {
        unary::<Float64Type, Float64Type>(
            single(args)?,
            Otherwise::Null,
            &ArrowType::Float64,
            |a| Some(a.sqrt()),
        )
    })
}
