//! Row groups that have no row which a scan's filters let through, by their statistics.

use std::cmp::Ordering;

use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use catalyst::{Attribute, DataType, Expr, ExprKind, Function, Literal, StructField};

/// What the rows of a scan must meet, as far as statistics know of it.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// The column, as files call it.
    column: StructField,
    is_text: bool,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    NotNull,
    /// `column op value`, with the operators' meaning.
    Compare(Function, Literal),
    In(Vec<Literal>),
}

/// The bounds that filters are. `in_files` is what columns of the scan are in files.
pub(super) fn bounds<'a>(
    filters: &[Expr],
    in_files: impl Fn(&Attribute) -> Option<&'a StructField>,
) -> Vec<Bound> {
    let bound = |filter: &Expr| {
        let (column, test) = test(filter)?;
        let known = matches!(
            column.data_type,
            DataType::Byte
                | DataType::Short
                | DataType::Integer
                | DataType::Long
                | DataType::Date
                | DataType::Decimal(_)
                | DataType::String
        );
        known.then_some(())?;
        Some(Bound {
            column: in_files(column)?.clone(),
            is_text: column.data_type == DataType::String,
            test,
        })
    };
    filters.iter().filter_map(bound).collect()
}

fn test(filter: &Expr) -> Option<(&Attribute, Test)> {
    let column = |expr: &'_ Expr| matches!(expr.kind, ExprKind::Attribute(_));
    match &filter.kind {
        ExprKind::Call { function, args, .. } => match (function, &args[..]) {
            (Function::IsNotNull, [arg]) => Some((attribute(arg)?, Test::NotNull)),
            (
                Function::EqualTo
                | Function::LessThan
                | Function::LessThanOrEqual
                | Function::GreaterThan
                | Function::GreaterThanOrEqual,
                [left, right],
            ) if left.data_type == right.data_type => match column(left) {
                true => {
                    let test = Test::Compare(*function, literal(right)?);
                    Some((attribute(left)?, test))
                }
                false => {
                    let test = Test::Compare(turned(*function), literal(left)?);
                    Some((attribute(right)?, test))
                }
            },
            _ => None,
        },
        ExprKind::In { value, list, .. } => {
            let list: Option<Vec<Literal>> = list.iter().map(literal).collect();
            Some((attribute(value)?, Test::In(list?)))
        }
        ExprKind::InSet { value, set, .. } => Some((attribute(value)?, Test::In(set.clone()))),
        _ => None,
    }
}

fn attribute(expr: &Expr) -> Option<&Attribute> {
    match &expr.kind {
        ExprKind::Attribute(attribute) => Some(attribute),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    match &expr.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        _ => None,
    }
}

fn turned(function: Function) -> Function {
    match function {
        Function::LessThan => Function::GreaterThan,
        Function::LessThanOrEqual => Function::GreaterThanOrEqual,
        Function::GreaterThan => Function::LessThan,
        Function::GreaterThanOrEqual => Function::LessThanOrEqual,
        other => other,
    }
}

/// Whether a row group may have a row that meets all bounds. `root` finds a column in the file.
pub(super) fn may_match(
    bounds: &[Bound],
    file: &FileMetaData,
    group: &RowGroupMetaData,
    root: impl Fn(&StructField) -> Option<usize>,
) -> bool {
    let descriptor = file.schema_descr();
    bounds.iter().all(|bound| {
        let Some(root) = root(&bound.column) else {
            return true;
        };
        let leaves = 0..descriptor.num_columns();
        let mut leaves = leaves.filter(|leaf| descriptor.get_column_root_idx(*leaf) == root);
        let statistics = leaves
            .next()
            .and_then(|leaf| group.columns().get(leaf)?.statistics());
        match statistics {
            // A column of several leaves is none that is compared.
            Some(statistics) if leaves.next().is_none() => {
                bound.may_hold(statistics, group.num_rows())
            }
            _ => true,
        }
    })
}

impl Bound {
    fn may_hold(&self, statistics: &Statistics, rows: i64) -> bool {
        match &self.test {
            Test::NotNull => {
                let nulls = statistics.null_count_opt();
                nulls.is_none_or(|nulls| u64::try_from(rows).is_ok_and(|rows| nulls < rows))
            }
            Test::Compare(function, value) => self.holds(*function, value, statistics),
            Test::In(values) => {
                let equal = |value| self.holds(Function::EqualTo, value, statistics);
                values.iter().any(equal)
            }
        }
    }

    /// Whether it may hold of a value between the least and the greatest.
    fn holds(&self, function: Function, value: &Literal, statistics: &Statistics) -> bool {
        // Null is equal to nothing, but that is for the filter to say.
        let Some((least, greatest)) = self.compare(value, statistics) else {
            return true;
        };
        match function {
            Function::EqualTo => least.is_le() && greatest.is_ge(),
            Function::LessThan => least.is_lt(),
            Function::LessThanOrEqual => least.is_le(),
            Function::GreaterThan => greatest.is_gt(),
            Function::GreaterThanOrEqual => greatest.is_ge(),
            _ => true,
        }
    }

    /// How the least and the greatest value compare with this one.
    fn compare(&self, value: &Literal, statistics: &Statistics) -> Option<(Ordering, Ordering)> {
        let number = match value {
            Literal::Byte(value) => Some(i128::from(*value)),
            Literal::Short(value) => Some(i128::from(*value)),
            Literal::Integer(value) => Some(i128::from(*value)),
            Literal::Long(value) => Some(i128::from(*value)),
            Literal::Decimal(value) => Some(*value),
            _ => None,
        };
        match (statistics, number, value) {
            (Statistics::Int32(of), Some(number), _) => {
                let compare = |bound: &i32| i128::from(*bound).cmp(&number);
                Some((compare(of.min_opt()?), compare(of.max_opt()?)))
            }
            (Statistics::Int64(of), Some(number), _) => {
                let compare = |bound: &i64| i128::from(*bound).cmp(&number);
                Some((compare(of.min_opt()?), compare(of.max_opt()?)))
            }
            // Old writers compared bytes as if they had signs.
            (Statistics::ByteArray(of), None, Literal::String(text))
                if self.is_text && !statistics.is_min_max_deprecated() =>
            {
                let (least, greatest) = (of.min_opt()?.data(), of.max_opt()?.data());
                Some((least.cmp(text), greatest.cmp(text)))
            }
            _ => None,
        }
    }
}
