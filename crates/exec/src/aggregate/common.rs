//! Expressions that several arguments of an aggregation have in common: computed once.

use catalyst::{Attribute, Expr, ExprId, ExprKind, Function};

/// Id of attributes that stand for common expressions: that of no driver.
const OWN_JVM: u128 = u128::MAX;

/// Takes expressions out of `args` that are computed more than once for every row, the larger ones first. In their
/// place are attributes.
pub(super) fn take_common(args: &mut [Expr]) -> Vec<(Attribute, Expr)> {
    let mut common = Vec::new();
    while let Some(expr) = largest_common(args) {
        let attribute = Attribute {
            name: "common".to_owned(),
            data_type: expr.data_type.clone(),
            nullable: expr.nullable,
            id: ExprId {
                id: i64::try_from(common.len()).unwrap_or(i64::MAX),
                jvm_id: OWN_JVM,
            },
        };
        let reference = Expr::attribute(attribute.clone());
        args.iter_mut()
            .for_each(|arg| replace(arg, &expr, &reference));
        common.push((attribute, expr));
    }
    common
}

fn largest_common(args: &[Expr]) -> Option<Expr> {
    let mut all = Vec::new();
    args.iter().for_each(|arg| collect(arg, &mut all));
    let is_common = |expr: &&Expr| all.iter().filter(|other| *other == expr).count() > 1;
    let largest = all
        .iter()
        .copied()
        .filter(is_common)
        .max_by_key(|expr| size(expr));
    largest.cloned()
}

fn size(expr: &Expr) -> usize {
    1 + expr.children().map(size).sum::<usize>()
}

/// Whether all children are computed for every row. Others may be left out for rows for which they would fail.
fn computes_all(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Alias { .. } | ExprKind::Cast { .. } => true,
        ExprKind::Call { function, .. } => matches!(
            function,
            Function::Add
                | Function::Subtract
                | Function::Multiply
                | Function::Divide
                | Function::UnaryMinus
                | Function::CheckOverflow
        ),
        _ => false,
    }
}

/// Calls that are computed for every row.
fn collect<'e>(expr: &'e Expr, into: &mut Vec<&'e Expr>) {
    if !computes_all(expr) {
        return;
    }
    if !matches!(expr.kind, ExprKind::Alias { .. }) {
        into.push(expr);
    }
    expr.children().for_each(|child| collect(child, into));
}

fn replace(expr: &mut Expr, of: &Expr, by: &Expr) {
    if expr == of {
        *expr = by.clone();
        return;
    }
    if !computes_all(expr) {
        return;
    }
    match &mut expr.kind {
        ExprKind::Alias { child, .. } | ExprKind::Cast { child, .. } => replace(child, of, by),
        ExprKind::Call { args, .. } => args.iter_mut().for_each(|arg| replace(arg, of, by)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{column, reference};
    use catalyst::DataType;

    fn call(function: Function, args: [Expr; 2]) -> Expr {
        Expr {
            kind: ExprKind::Call {
                function,
                args: args.to_vec(),
                mode: None,
                time_zone: None,
            },
            data_type: DataType::Long,
            nullable: true,
        }
    }

    #[test]
    fn what_is_computed_twice_is_computed_once() {
        let [a, b, c] = [1, 2, 3].map(|id| reference(&column(id, DataType::Long)));
        let product = call(Function::Multiply, [a.clone(), b.clone()]);
        let more = call(Function::Multiply, [product.clone(), c.clone()]);
        let mut args = [product.clone(), more, c.clone()];
        let common = take_common(&mut args);
        assert_eq!(common.len(), 1);
        assert_eq!(common[0].1, product);
        assert_eq!(args[0], Expr::attribute(common[0].0.clone()));
        assert_eq!(args[2], c);
        let ExprKind::Call { args: inner, .. } = &args[1].kind else {
            panic!();
        };
        assert_eq!(inner[0], args[0]);
    }

    #[test]
    fn what_may_be_left_out_for_a_row_stays() {
        let [a, b] = [1, 2].map(|id| reference(&column(id, DataType::Long)));
        let product = call(Function::Divide, [a.clone(), b]);
        let lazy = call(Function::Coalesce, [a, product]);
        let mut args = [lazy.clone(), call(Function::Add, [lazy.clone(), lazy])];
        let before = args.clone();
        assert!(take_common(&mut args).is_empty());
        assert_eq!(args, before);
    }
}
