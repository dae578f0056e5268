//! Values that depend on the partition, and on which of its rows they are for: columns beside those of the input.
//!
//! Spark draws them row by row, whenever the expression is evaluated. They are the same here where it is evaluated once
//! for each row, and rows come in the same order in every run.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, Float64Array, Int32Array, Int64Array, RecordBatch,
};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use javaser::XorShiftRandom;

use super::exec::batch_of;
use super::expr::strict_log;
use super::lower::Result;
use catalyst::{
    Attribute, DataType, Draw, Expr, ExprId, ExprKind, Function, Inputs, Literal, Operator,
    OperatorKind, Share, SortOrder, Unsupported,
};
use rows::types::schema_of;

/// What is drawn for the expressions of an operator.
#[derive(Debug, Clone)]
pub(super) struct Draws {
    draws: Vec<Draw>,
    columns: Vec<Attribute>,
}

impl Draws {
    /// Puts a column in the place of each draw. `child` is what the rows come from.
    pub(super) fn take(exprs: &mut [Expr], child: &Operator) -> Result<Self> {
        let mut found = Self {
            draws: Vec::new(),
            columns: Vec::new(),
        };
        for expr in exprs.iter_mut() {
            let once = is_drawn_once(expr);
            let first = found.draws.len();
            found.replace(expr);
            let drawn = found.draws.iter().skip(first);
            let Some(counting) = drawn.copied().find(|draw| draw.counts_rows()) else {
                continue;
            };
            if !once {
                return Err(refused(counting, "for some rows only"));
            }
            if !has_one_order(child) {
                return Err(refused(counting, "of rows in no fixed order"));
            }
        }
        Ok(found)
    }

    fn replace(&mut self, expr: &mut Expr) {
        if let ExprKind::Draw(draw) = expr.kind {
            let column = Attribute {
                name: draw.name().to_owned(),
                data_type: expr.data_type.clone(),
                nullable: false,
                // No JVM has this id.
                id: ExprId {
                    id: i64::try_from(self.draws.len()).unwrap_or(i64::MAX),
                    jvm_id: u128::MAX,
                },
            };
            self.draws.push(draw);
            self.columns.push(column.clone());
            *expr = Expr::attribute(column);
            return;
        }
        for child in expr.children_mut() {
            self.replace(child);
        }
    }

    /// The columns of batches with these columns and what is drawn.
    pub(super) fn behind(&self, input: &[Attribute]) -> Vec<Attribute> {
        [input, &self.columns].concat()
    }

    /// For a partition, of batches with these columns.
    pub(super) fn start(&self, input: &[Attribute], partition: i32) -> Result<Drawn> {
        Ok(Drawn {
            generators: self
                .draws
                .iter()
                .map(|draw| Generator::new(*draw, partition))
                .collect(),
            schema: schema_of(&self.behind(input))?,
        })
    }
}

fn refused(draw: Draw, why: &str) -> Unsupported {
    Unsupported::of_use(format!("{} {why}", draw.name()))
}

/// Fails if partitions of the operators that draw may have other numbers than their tasks.
pub(super) fn check_partitions(root: &Operator, inputs: &Inputs) -> Result<()> {
    fn same_numbers(inputs: &Inputs) -> bool {
        match inputs {
            Inputs::Leaf(_) => true,
            Inputs::Zip(all) => all.iter().all(same_numbers),
            _ => false,
        }
    }
    // The operators are as deep as the decoder lets them be.
    fn draws(operator: &Operator) -> bool {
        let own = match &operator.kind {
            OperatorKind::Project { list, .. } => list.iter().any(Expr::draws),
            OperatorKind::Filter { condition, .. } => condition.draws(),
            _ => false,
        };
        own || operator.children().any(draws)
    }
    if !same_numbers(inputs) && draws(root) {
        return Err(Unsupported::of_use(
            "draws in partitions of other partitions",
        ));
    }
    Ok(())
}

/// Whether rows come in the same order whenever they are computed.
fn has_one_order(operator: &Operator) -> bool {
    match &operator.kind {
        OperatorKind::FileSourceScan(_)
        | OperatorKind::LocalTableScan { .. }
        | OperatorKind::OneRowRelation { .. }
        | OperatorKind::Range { .. } => true,
        OperatorKind::Filter { child, .. }
        | OperatorKind::Project { child, .. }
        | OperatorKind::Limit { child, .. } => has_one_order(child),
        OperatorKind::Sort { order, child, .. } => sorts_by_all(order, child),
        _ => false,
    }
}

/// Whether rows are sorted by all columns, as `randomSplit` does, and those that are equal then are the same.
fn sorts_by_all(order: &[SortOrder], child: &Operator) -> bool {
    let sorts_by = |column: &Attribute| {
        let mut keys = order.iter();
        keys.any(|key| matches!(&key.child.kind, ExprKind::Attribute(by) if by.id == column.id))
    };
    // Of floats several are equal, and maps have no order.
    let is_plain = |of: &DataType| {
        !matches!(
            of,
            DataType::Float
                | DataType::Double
                | DataType::Struct(_)
                | DataType::Array { .. }
                | DataType::Map { .. }
        )
    };
    let columns = child.output.known();
    columns.is_some_and(|columns| {
        let mut all = columns.iter();
        all.all(|column| is_plain(&column.data_type) && sorts_by(column))
    })
}

fn is_value(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(value) if *value != Literal::Null)
}

fn is_zero(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(value) => match value {
            Literal::Byte(value) => *value == 0,
            Literal::Short(value) => *value == 0,
            Literal::Integer(value) => *value == 0,
            Literal::Long(value) => *value == 0,
            Literal::Float(value) => *value == 0.0,
            Literal::Double(value) => *value == 0.0,
            // Of decimals and others it is not asked.
            _ => true,
        },
        _ => false,
    }
}

/// Whether Spark evaluates every draw in it once for each row. An argument that is null or not needed may keep it from
/// evaluating the next.
fn is_drawn_once(expr: &Expr) -> bool {
    use Function as F;
    if !expr.draws() {
        return true;
    }
    match &expr.kind {
        ExprKind::Draw(_) => true,
        ExprKind::Alias { child, .. } | ExprKind::Cast { child, .. } => is_drawn_once(child),
        ExprKind::CreateNamedStruct(values) => values.iter().all(is_drawn_once),
        // The first condition is always asked.
        ExprKind::CaseWhen {
            branches,
            otherwise,
        } => {
            let mut branches = branches.iter();
            let first = branches.next();
            first.is_some_and(|(condition, value)| is_drawn_once(condition) && !value.draws())
                && !branches.any(|(condition, value)| condition.draws() || value.draws())
                && !otherwise.as_deref().is_some_and(Expr::draws)
        }
        ExprKind::Call { function, args, .. } => match (function, args.as_slice()) {
            (F::If, [condition, values @ ..]) => {
                is_drawn_once(condition) && !values.iter().any(Expr::draws)
            }
            (F::Floor | F::Ceil | F::UnaryMinus | F::Abs | F::Sqrt | F::Not, [child]) => {
                is_drawn_once(child)
            }
            (F::Round | F::BRound, [child, places]) => is_drawn_once(child) && is_value(places),
            (F::Divide | F::Remainder | F::Pmod | F::IntegralDivide, [left, right]) => {
                is_drawn_once(left) && is_value(right) && !is_zero(right)
                    || is_value(left) && is_drawn_once(right)
            }
            (
                F::Add
                | F::Subtract
                | F::Multiply
                | F::EqualTo
                | F::LessThan
                | F::LessThanOrEqual
                | F::GreaterThan
                | F::GreaterThanOrEqual,
                [left, right],
            ) => {
                let never_null = matches!(left.kind, ExprKind::Draw(_)) || is_value(left);
                is_drawn_once(left) && is_value(right) || never_null && is_drawn_once(right)
            }
            _ => false,
        },
        _ => false,
    }
}

/// What is drawn in a partition.
pub(super) struct Drawn {
    generators: Vec<Generator>,
    schema: SchemaRef,
}

impl Drawn {
    /// The next rows with what is drawn for them.
    pub(super) fn extend(&mut self, batch: &RecordBatch) -> DataFusionResult<RecordBatch> {
        let rows = batch.num_rows();
        let drawn = self.generators.iter_mut().map(|of| of.next(rows));
        let columns = batch.columns().iter().cloned().chain(drawn).collect();
        batch_of(&self.schema, columns, rows)
    }
}

enum Generator {
    Rand(XorShiftRandom),
    Randn {
        random: XorShiftRandom,
        /// They are made two at a time.
        next: Option<f64>,
    },
    Counted(i64),
    Constant(i32),
    Sampled(XorShiftRandom, Share),
}

impl Generator {
    fn new(draw: Draw, partition: i32) -> Self {
        let random = |seed: i64| XorShiftRandom::new(seed.wrapping_add(partition.into()));
        match draw {
            Draw::Rand { seed } => Self::Rand(random(seed)),
            Draw::Randn { seed } => Self::Randn {
                random: random(seed),
                next: None,
            },
            Draw::MonotonicallyIncreasingID => Self::Counted(i64::from(partition) << 33),
            Draw::SparkPartitionID => Self::Constant(partition),
            Draw::Sampled { seed, share } => Self::Sampled(random(seed), share),
        }
    }

    fn next(&mut self, rows: usize) -> ArrayRef {
        match self {
            Self::Rand(random) => {
                let values = (0..rows).map(|_| random.next_double());
                Arc::new(Float64Array::from_iter_values(values))
            }
            Self::Randn { random, next } => {
                let values = (0..rows).map(|_| next_gaussian(random, next));
                Arc::new(Float64Array::from_iter_values(values))
            }
            Self::Counted(count) => {
                let values = (0..rows).map(|_| {
                    let value = *count;
                    *count = count.wrapping_add(1);
                    value
                });
                Arc::new(Int64Array::from_iter_values(values))
            }
            Self::Constant(value) => Arc::new(Int32Array::from_value(*value, rows)),
            Self::Sampled(random, share) => {
                let mut kept = BooleanBufferBuilder::new(rows);
                (0..rows).for_each(|_| kept.append(share.contains(random.next_double())));
                Arc::new(BooleanArray::new(kept.finish(), None))
            }
        }
    }
}

/// `Random.nextGaussian`
fn next_gaussian(random: &mut XorShiftRandom, next: &mut Option<f64>) -> f64 {
    if let Some(value) = next.take() {
        return value;
    }
    loop {
        let a = 2.0 * random.next_double() - 1.0;
        let b = 2.0 * random.next_double() - 1.0;
        let square = a * a + b * b;
        if square < 1.0 && square != 0.0 {
            let scale = (-2.0 * strict_log(square) / square).sqrt();
            *next = Some(b * scale);
            return a * scale;
        }
    }
}

#[cfg(test)]
#[path = "draws_tests.rs"]
mod tests;
