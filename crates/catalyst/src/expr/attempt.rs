//! Expressions whose errors are caught: `TryEval`.

use super::{EvalMode, Expr, ExprKind, Function};
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};

/// What becomes of the errors of a function.
enum Errors {
    /// There are none.
    None,
    /// They are null in [`EvalMode::Try`].
    Try,
    /// They are null in [`EvalMode::Legacy`].
    Legacy,
}

/// `TryEval`: null where its child, or something in it, fails. It is the child in a mode that does not fail. What is in
/// the child keeps its mode: whoever computes that leaves a row that fails to Spark, and is not asked for null here.
#[inline(never)]
pub(super) fn caught(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child"])?;
    let child = Expr::read(reader, object.value("child")?)?;
    of(child)
}

fn of(mut child: Expr) -> Result<Expr> {
    child.nullable = true;
    let ExprKind::Call { function, mode, .. } = &mut child.kind else {
        return Err(Unsupported::of_use("TryEval of no function"));
    };
    let errors = errors(*function).ok_or_else(|| {
        let name = function.name();
        Unsupported::of_use(format!("TryEval of {name}"))
    })?;
    *mode = match errors {
        Errors::None => *mode,
        Errors::Try => Some(EvalMode::Try),
        Errors::Legacy => Some(EvalMode::Legacy),
    };
    Ok(child)
}

fn errors(function: Function) -> Option<Errors> {
    use Function as F;
    Some(match function {
        F::Add
        | F::Subtract
        | F::Multiply
        | F::Divide
        | F::IntegralDivide
        | F::Remainder
        | F::Pmod
        | F::DateAddYMInterval
        | F::TimeAdd
        | F::TimestampAddInterval
        | F::TimestampAddYMInterval
        | F::SubtractTimestamps
        | F::SubtractDates
        | F::MultiplyYMInterval
        | F::MultiplyDTInterval
        | F::DivideYMInterval
        | F::DivideDTInterval
        | F::ToTime => Errors::Try,
        F::Unhex => Errors::Legacy,
        // Ints of Java, and bytes of a character set that may not have all characters: that is left to Spark.
        F::DateAdd | F::DateSub | F::Encode => Errors::None,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::call::call;
    use super::*;
    use crate::types::DataType;

    #[test]
    fn errors_are_caught_by_a_mode() {
        let of = |function| {
            let child = call(function, Vec::new(), DataType::Date);
            match of(child)?.kind {
                ExprKind::Call { mode, .. } => Ok(mode),
                _ => Err(Unsupported::of_use("no call")),
            }
        };
        assert_eq!(of(Function::Add), Ok(Some(EvalMode::Try)));
        assert_eq!(of(Function::Unhex), Ok(Some(EvalMode::Legacy)));
        assert_eq!(of(Function::DateAdd), Ok(None));
        let reason = of(Function::MakeDate).unwrap_err();
        assert_eq!(reason.to_string(), "TryEval of MakeDate");
    }
}
