//! Arrays that are sorted by a lambda.

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion_common::Result as RunResult;

use super::lambda::{Body, Given, Run};
use super::lookup::values_at;
use super::make::picked;
use super::{comparable, list_of, other};
use catalyst::{Expr, ExprId, ExprKind, Function, Lambda, Literal};
use rows::error::bail_out;
use rows::is_ordered;

/// Most pairs of elements of a batch that are compared with each other.
const MAX_PAIRS: usize = 1 << 22;

/// What Spark puts in the place of a lambda if there is none: the order of the type, nulls last.
#[derive(Clone, Copy)]
pub(super) struct Natural {
    /// Whether it says where nulls are. It does not where there can be none.
    nulls: bool,
}

impl Natural {
    /// `None` if the lambda is another one.
    pub(super) fn of(lambda: &Lambda) -> Option<Self> {
        let [x, y] = lambda.parameters.as_slice() else {
            return None;
        };
        let (x, y) = (x.id, y.id);
        let null = |of| move |expr: &Expr| is_call(expr, Function::IsNull, &[of]);
        let both = |expr: &Expr| match &expr.kind {
            ExprKind::Call { function, args, .. } => {
                *function == Function::And
                    && matches!(args.as_slice(), [a, b] if null(x)(a) && null(y)(b))
            }
            _ => false,
        };
        let mut rest = &lambda.body;
        let nulls = if let Some(other) = after(rest, both, 0) {
            rest = after(other, null(x), 1)?;
            rest = after(rest, null(y), -1)?;
            true
        } else {
            false
        };
        rest = after(rest, |expr| is_call(expr, Function::LessThan, &[x, y]), -1)?;
        rest = after(
            rest,
            |expr| is_call(expr, Function::GreaterThan, &[x, y]),
            1,
        )?;
        is_number(rest, 0).then_some(Self { nulls })
    }
}

/// Whether it is this function of these parameters.
fn is_call(expr: &Expr, wanted: Function, of: &[ExprId]) -> bool {
    match &expr.kind {
        ExprKind::Call { function, args, .. } if *function == wanted => {
            let ids = args.iter().map(|arg| match &arg.kind {
                ExprKind::Attribute(attribute) => Some(attribute.id),
                _ => None,
            });
            ids.eq(of.iter().copied().map(Some))
        }
        _ => false,
    }
}

fn is_number(expr: &Expr, number: i32) -> bool {
    expr.kind == ExprKind::Literal(Literal::Integer(number))
}

/// What an `if` has in its last place, if it is this number for such a condition.
fn after(expr: &Expr, condition: impl Fn(&Expr) -> bool, number: i32) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call {
            function: Function::If,
            args,
            ..
        } => match args.as_slice() {
            [when, then, otherwise] if condition(when) && is_number(then, number) => {
                Some(otherwise)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `None` if the types are not those that Spark has.
pub(super) fn run_of(
    types: &[ArrowType],
    to: &ArrowType,
    body: Body,
    natural: Option<Natural>,
) -> Option<Run> {
    let [array] = types else {
        return None;
    };
    let (element, of) = (list_of(array)?, to.clone());
    let fits = body.takes(&[element, element]) && body.to == ArrowType::Int32 && array == to;
    if !fits || element.is_null() {
        return None;
    }
    Some(match natural {
        Some(natural) if is_ordered(element) => Box::new(move |given| sorted(&of, natural, given)),
        _ => Box::new(move |given| sorted_by(&of, &body, given)),
    })
}

/// In the order of the type: what is equal stays as it was.
fn sorted(to: &ArrowType, natural: Natural, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (array, elements) = given.array()?;
    let values = array.values();
    if !natural.nulls && values.null_count() > 0 {
        return Err(bail_out("nulls where there can be none"));
    }
    let options = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let keys = comparable(values, options)?;
    picked(to, given.rows, values, |row, into| {
        if array.is_null(row) {
            return Ok(false);
        }
        into.extend(elements.ranges.get(row).cloned().ok_or_else(other)?);
        into.sort_by(|a, b| keys.row(*a).cmp(&keys.row(*b)));
        Ok(true)
    })
}

/// As a lambda says, which is asked for all pairs. Which of them Spark asks for, and so what it makes of answers that
/// are no order, depends on how it sorts.
fn sorted_by(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (array, elements) = given.array()?;
    let pairs = elements
        .ranges
        .iter()
        .map(|range| range.len() * range.len());
    if pairs.fold(0, usize::saturating_add) > MAX_PAIRS {
        return Err(bail_out("a long array that a lambda sorts"));
    }
    let (mut rows, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for (row, range) in elements.ranges.iter().enumerate() {
        for a in range.clone() {
            for b in range.clone().filter(|b| *b != a) {
                // Places among the values of lists have 32 bits.
                rows.push(row as u32);
                left.push(a as u32);
                right.push(b as u32);
            }
        }
    }
    let parameters = [
        values_at(array.values(), &left.into())?,
        values_at(array.values(), &right.into())?,
    ];
    let answers = body.values(given, &UInt32Array::from(rows), &parameters)?;
    let answers = answers.as_primitive_opt::<Int32Type>().ok_or_else(other)?;
    if answers.null_count() > 0 {
        return Err(bail_out("a comparison without a result"));
    }
    let mut rest = answers.values().as_ref();
    picked(to, given.rows, array.values(), |row, into| {
        if array.is_null(row) {
            return Ok(false);
        }
        let range = elements.ranges.get(row).cloned().ok_or_else(other)?;
        let others = range.len().saturating_sub(1);
        let own = rest.split_off(..range.len() * others).ok_or_else(other)?;
        let order = order(own, range.len());
        let order = order.ok_or_else(|| bail_out("comparisons that are no order"))?;
        into.extend(order.into_iter().map(|at| range.start + at));
        Ok(true)
    })
}

/// The order of so many elements by the answers for each with each other; what is equal stays as it was. `None` if
/// there is none: an element is where as many are before it as are less.
fn order(answers: &[i32], count: usize) -> Option<Vec<usize>> {
    if count < 2 {
        return Some((0..count).collect());
    }
    let of = |a: usize| answers.chunks_exact(count - 1).nth(a);
    let ranks: Vec<usize> = (0..count)
        .map(|a| of(a).map(|own| own.iter().filter(|answer| **answer > 0).count()))
        .collect::<Option<_>>()?;
    for (a, rank) in ranks.iter().enumerate() {
        let others = ranks.iter().enumerate().filter(|(b, _)| *b != a);
        for (answer, (_, other)) in of(a)?.iter().zip(others) {
            if answer.cmp(&0) != rank.cmp(other) {
                return None;
            }
        }
    }
    let mut order: Vec<(usize, usize)> = ranks.into_iter().zip(0..).collect();
    order.sort_unstable();
    Some(order.into_iter().map(|(_, at)| at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[i32], compare: impl Fn(i32, i32) -> i32) -> Option<Vec<usize>> {
        let mut answers = Vec::new();
        for (a, left) in values.iter().enumerate() {
            for (b, right) in values.iter().enumerate() {
                if a != b {
                    answers.push(compare(*left, *right));
                }
            }
        }
        order(&answers, values.len())
    }

    #[test]
    fn what_is_equal_stays_as_it_was() {
        let by = |a: i32, b: i32| a - b;
        assert_eq!(of(&[3, 1, 2], by).unwrap(), [1, 2, 0]);
        assert_eq!(of(&[2, 1, 2, 1], by).unwrap(), [1, 3, 0, 2]);
        assert_eq!(of(&[5, 3, 4], |_, _| 0).unwrap(), [0, 1, 2]);
        assert_eq!(of(&[5, 3, 4], |a, b| a % 2 - b % 2).unwrap(), [2, 0, 1]);
        assert!(of(&[], by).unwrap().is_empty());
        assert_eq!(of(&[1], |_, _| 1).unwrap(), [0]);
    }

    #[test]
    fn what_is_no_order_is_found() {
        assert_eq!(of(&[1, 2], |_, _| 1), None);
        // Each is before the next, in a circle.
        let circle = |a: i32, b: i32| if (a + 1) % 3 == b { -1 } else { 1 };
        assert_eq!(of(&[0, 1, 2], circle), None);
        // Neighbours are equal, others are not.
        let near = |a: i32, b: i32| if (a - b).abs() < 2 { 0 } else { a - b };
        assert_eq!(of(&[1, 2, 3], near), None);
    }
}
