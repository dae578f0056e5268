//! Values that depend on the partition, and on which of its rows they are for: columns beside those of the input.
//!
//! Spark draws them row by row, whenever the expression is evaluated. They are the same here where it is evaluated once
//! for each row, and rows come in the same order in every run.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringViewBuilder,
};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use javaser::XorShiftRandom;
use rand_mt::Mt;
use uuid::Uuid;

use super::exec::batch_of;
use super::expr::strict_log;
use super::lower::{Demand, Result};
use catalyst::{
    Attribute, DataType, Draw, Expr, ExprId, ExprKind, FileFact, Function, Inputs, Literal,
    Operator, OperatorKind, Share, SortOrder, Unsupported,
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
            find_files(expr, child)?;
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
                .collect::<Result<_>>()?,
            schema: schema_of(&self.behind(input))?,
        })
    }
}

/// Puts a column of the scan below in the place of what is asked of the file that a row is of. Spark keeps it where the
/// scan last read: that is the row's where rows come from the scan one by one.
fn find_files(expr: &mut Expr, child: &Operator) -> Result<()> {
    if let ExprKind::Draw(draw @ Draw::File(fact)) = expr.kind {
        if !reads_one_by_one(child) {
            return Err(refused(draw, "of rows that do not come from a scan"));
        }
        *expr = Expr::attribute(fact.attribute());
        return Ok(());
    }
    expr.children_mut()
        .try_for_each(|inner| find_files(inner, child))
}

/// Whether each row is asked for when the one before it is done, from a scan of files.
fn reads_one_by_one(operator: &Operator) -> bool {
    match &operator.kind {
        OperatorKind::FileSourceScan(_) => true,
        OperatorKind::Filter { child, .. } | OperatorKind::Project { child, .. } => {
            reads_one_by_one(child)
        }
        _ => false,
    }
}

/// What is known of files, among the columns that are needed.
pub(super) fn file_facts(demand: Demand<'_>) -> impl Iterator<Item = FileFact> {
    let facts = FileFact::ALL.into_iter();
    facts.filter(move |fact| {
        let wanted = demand.columns;
        wanted.is_some_and(|wanted| wanted.contains(&fact.attribute().id))
    })
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
    // Expressions and operators are as deep as the decoder lets them be.
    fn by_partition(expr: &Expr) -> bool {
        match expr.kind {
            ExprKind::Draw(draw) => !matches!(draw, Draw::File(_)),
            _ => expr.children().any(by_partition),
        }
    }
    fn draws(operator: &Operator) -> bool {
        let own = match &operator.kind {
            OperatorKind::Project { list, .. } => list.iter().any(by_partition),
            OperatorKind::Filter { condition, .. } => by_partition(condition),
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
            (F::Upper | F::Lower | F::Length | F::Md5, [child]) => is_drawn_once(child),
            // Generated code stops at the first that is null.
            (F::Concat, args) => {
                let last = args.iter().rposition(Expr::draws).unwrap_or(0);
                args.iter().all(is_drawn_once) && !args.iter().take(last).any(|arg| arg.nullable)
            }
            (F::Substring | F::StringReplace, [child, others @ ..]) => {
                is_drawn_once(child) && others.iter().all(is_value)
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
    Uuid(Box<Mt>),
    Text {
        random: XorShiftRandom,
        length: u32,
    },
    Sampled(XorShiftRandom, Share),
}

impl Generator {
    fn new(draw: Draw, partition: i32) -> Result<Self> {
        let random = |seed: i64| XorShiftRandom::new(seed.wrapping_add(partition.into()));
        Ok(match draw {
            Draw::Rand { seed } => Self::Rand(random(seed)),
            Draw::Randn { seed } => Self::Randn {
                random: random(seed),
                next: None,
            },
            Draw::MonotonicallyIncreasingID => Self::Counted(i64::from(partition) << 33),
            Draw::SparkPartitionID => Self::Constant(partition),
            Draw::Uuid { seed } => Self::Uuid(Box::new(mersenne_twister(
                seed.wrapping_add(partition.into()),
            ))),
            Draw::RandStr { seed, length } => Self::Text {
                random: random(seed),
                length,
            },
            // Columns of scans, which were put there.
            Draw::File(_) => return Err(refused(draw, "there")),
            Draw::Sampled { seed, share } => Self::Sampled(random(seed), share),
        })
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
            Self::Uuid(random) => {
                let mut texts = StringViewBuilder::with_capacity(rows);
                let mut text = Uuid::encode_buffer();
                for _ in 0..rows {
                    texts.append_value(next_uuid(random).hyphenated().encode_lower(&mut text));
                }
                Arc::new(texts.finish())
            }
            Self::Text { random, length } => {
                let mut texts = StringViewBuilder::with_capacity(rows);
                let mut text = String::new();
                for _ in 0..rows {
                    text.clear();
                    text.extend((0..*length).map(|_| next_character(random)));
                    texts.append_value(&text);
                }
                Arc::new(texts.finish())
            }
            Self::Sampled(random, share) => {
                let mut kept = BooleanBufferBuilder::new(rows);
                (0..rows).for_each(|_| kept.append(share.contains(random.next_double())));
                Arc::new(BooleanArray::new(kept.finish(), None))
            }
        }
    }
}

/// `new MersenneTwister(seed)` of Commons Math.
fn mersenne_twister(seed: i64) -> Mt {
    let seed = seed.cast_unsigned();
    Mt::new_with_key([(seed >> 32) as u32, seed as u32])
}

/// The next of `RandomUUIDGenerator`.
fn next_uuid(random: &mut Mt) -> Uuid {
    let mut next = || u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    let high = next() & !0xf000 | 0x4000;
    let low = (next() | 1 << 63) & !(1 << 62);
    Uuid::from_u64_pair(high, low)
}

/// The next of `ExpressionImplUtils.randStr`: a digit or a letter.
fn next_character(random: &mut XorShiftRandom) -> char {
    // Below 62, and so are the sums below 128.
    let number = (random.next_any() % 62).unsigned_abs() as u8;
    char::from(match number {
        0..10 => b'0' + number,
        10..36 => b'a' + number - 10,
        _ => b'A' + number - 36,
    })
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
