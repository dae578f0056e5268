//! Functions of real numbers.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Float64Type};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, Otherwise, binary, single, unary};
use super::{fdlibm, refused};
use catalyst::{Function, Unsupported};

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// What is computed of a number, or of two.
enum Real {
    Of(fn(f64) -> f64),
    /// Null of what is not more than a bound.
    Above(f64, fn(f64) -> f64),
    Both(fn(f64, f64) -> Option<f64>),
}

fn real(function: Function) -> Option<Real> {
    use Function as F;
    Some(match function {
        F::Exp => Real::Of(fdlibm::exp),
        F::Expm1 => Real::Of(fdlibm::expm1),
        F::Log => Real::Above(0.0, fdlibm::log),
        F::Log1p => Real::Above(-1.0, fdlibm::log1p),
        F::Log2 => Real::Above(0.0, |x| fdlibm::log(x) / fdlibm::log(2.0)),
        F::Log10 => Real::Above(0.0, fdlibm::log10),
        F::Logarithm => Real::Both(|base, x| {
            let none = base <= 0.0 || x <= 0.0;
            (!none).then(|| fdlibm::log(x) / fdlibm::log(base))
        }),
        F::Pow => Real::Both(|x, y| Some(fdlibm::pow(x, y))),
        F::Acos => Real::Of(fdlibm::acos),
        F::Asin => Real::Of(fdlibm::asin),
        F::Atan => Real::Of(fdlibm::atan),
        // Without zeros that are negative.
        F::Atan2 => Real::Both(|y, x| Some(fdlibm::atan2(y + 0.0, x + 0.0))),
        F::Cbrt => Real::Of(fdlibm::cbrt),
        F::Cosh => Real::Of(fdlibm::cosh),
        F::Sinh => Real::Of(fdlibm::sinh),
        F::Tanh => Real::Of(fdlibm::tanh),
        F::Acosh => Real::Of(acosh),
        F::Asinh => Real::Of(asinh),
        F::Atanh => Real::Of(|x| 0.5 * (fdlibm::log1p(x) - fdlibm::log1p(-x))),
        F::Hypot => Real::Both(|x, y| Some(fdlibm::hypot(x, y))),
        F::ToDegrees => Real::Of(|x| x * fdlibm::DEGREES),
        F::ToRadians => Real::Of(|x| x * fdlibm::RADIANS),
        _ => return None,
    })
}

/// Whether it is a function of this module.
pub(super) fn knows(function: Function) -> bool {
    real(function).is_some()
}

/// Lowers a function of this module.
pub(super) fn lower(function: Function, types: &[ArrowType], args: Args) -> Lowered {
    let to = ArrowType::Float64;
    let name = function.name();
    let doubles = types.iter().all(|of| *of == to);
    let found = real(function).filter(|_| doubles);
    Ok(match (found, types.len()) {
        (Some(Real::Of(f)), 1) => Kernel::strict(name, args, to.clone(), move |args, _| {
            let of = single(args)?;
            unary::<Float64Type, Float64Type>(of, Otherwise::Null, &to, |x| Some(f(x)))
        }),
        (Some(Real::Above(bound, f)), 1) => {
            Kernel::strict(name, args, to.clone(), move |args, _| {
                let of = single(args)?;
                unary::<Float64Type, Float64Type>(of, Otherwise::Null, &to, |x| {
                    // NaN is not below.
                    let none = x <= bound;
                    (!none).then(|| f(x))
                })
            })
        }
        (Some(Real::Both(f)), 2) => Kernel::strict(name, args, to.clone(), move |args, _| {
            binary::<Float64Type, Float64Type, Float64Type>(args, Otherwise::Null, &to, f)
        }),
        _ => return Err(refused(function, types)),
    })
}

/// 2 to the power of 28: from there on a square is all that counts beside 1.
const LARGE: f64 = 268_435_456.0;

fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        f64::NAN
    } else if x >= LARGE {
        fdlibm::log(x) + fdlibm::log(2.0)
    } else if x == 1.0 {
        0.0
    } else if x > 2.0 {
        fdlibm::log(2.0 * x - 1.0 / (x + (x * x - 1.0).sqrt()))
    } else {
        let t = x - 1.0;
        fdlibm::log1p(t + (2.0 * t + t * t).sqrt())
    }
}

fn asinh(x: f64) -> f64 {
    let of = x.abs();
    let found = if !of.is_finite() || of < 1.0 / LARGE {
        of
    } else if of > LARGE {
        fdlibm::log(of) + fdlibm::log(2.0)
    } else if of > 2.0 {
        fdlibm::log(2.0 * of + 1.0 / ((x * x + 1.0).sqrt() + of))
    } else {
        let t = x * x;
        fdlibm::log1p(of + t / (1.0 + (1.0 + t).sqrt()))
    };
    found.copysign(x)
}
