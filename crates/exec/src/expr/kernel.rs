//! Functions over columns as physical expressions.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewArray, BooleanArray,
    BooleanBufferBuilder, PrimitiveArray, StringViewArray, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as ArrowType, Schema};
use arrow::record_batch::RecordBatch;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use rows::error::bail_out;

/// What becomes of rows that have no proper result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// They are null.
    Null,
    /// The attempt is bailed out of, for this reason.
    Fail(&'static str),
}

/// What a row comes to whose failure is told from what is only not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome<T> {
    /// Its result.
    Value(T),
    /// Spark fails, too.
    Fails,
    /// Spark may have a result.
    Unknown,
}

/// The values of an argument.
#[derive(Debug, Clone)]
pub(super) struct Arg {
    /// The values, or the one value.
    pub(super) array: ArrayRef,
    /// Whether there is one value for all rows.
    pub(super) constant: bool,
}

impl Arg {
    fn of(value: ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self {
                array,
                constant: false,
            },
            ColumnarValue::Scalar(scalar) => Self {
                array: scalar.to_array()?,
                constant: true,
            },
        })
    }

    /// Whether it is null in all rows, as one value.
    pub(super) fn is_constant_null(&self) -> bool {
        self.constant && self.array.logical_null_count() > 0
    }

    /// A value for each row.
    pub(super) fn column(&self, rows: usize) -> Result<ArrayRef> {
        if self.constant {
            ScalarValue::try_from_array(&self.array, 0)?.to_array_of_size(rows)
        } else {
            Ok(Arc::clone(&self.array))
        }
    }

    /// The place of a row's value.
    #[inline]
    pub(super) fn at(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    pub(super) fn primitive<T: ArrowPrimitiveType>(&self) -> Result<&PrimitiveArray<T>> {
        self.array
            .as_primitive_opt()
            .ok_or_else(|| bail_out("an argument of another type"))
    }

    pub(super) fn boolean(&self) -> Result<&BooleanArray> {
        self.array
            .as_boolean_opt()
            .ok_or_else(|| bail_out("an argument of another type"))
    }

    pub(super) fn string(&self) -> Result<&StringViewArray> {
        self.array
            .as_string_view_opt()
            .ok_or_else(|| bail_out("an argument of another type"))
    }

    pub(super) fn binary(&self) -> Result<&BinaryViewArray> {
        self.array
            .as_byte_view_opt()
            .ok_or_else(|| bail_out("an argument of another type"))
    }
}

/// Nulls of rows in which any argument is null; `None` if there are none. To be asked after all constant nulls were
/// dealt with.
pub(super) fn union_nulls(args: &[&Arg]) -> Option<NullBuffer> {
    args.iter()
        .filter(|arg| !arg.constant)
        .fold(None, |nulls, arg| {
            NullBuffer::union(nulls.as_ref(), arg.array.logical_nulls().as_ref())
        })
}

/// What a function does with its arguments and the number of rows.
pub(super) type Run = dyn Fn(&[Arg], usize) -> Result<ArrayRef> + Send + Sync;

/// A function of its arguments.
#[derive(Clone)]
pub(super) struct Kernel {
    /// Its name and everything that tells it from others of that name.
    name: String,
    args: Vec<Arc<dyn PhysicalExpr>>,
    to: ArrowType,
    /// Whether a null argument makes the result null, without asking the function.
    strict: bool,
    run: Arc<Run>,
}

impl Kernel {
    /// A function that is null where an argument is a constant null.
    pub(super) fn strict(
        name: impl Into<String>,
        args: Vec<Arc<dyn PhysicalExpr>>,
        to: ArrowType,
        run: impl Fn(&[Arg], usize) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Arc<dyn PhysicalExpr> {
        Self::shared(name.into(), args, to, true, Arc::new(run))
    }

    /// A function that sees constant nulls.
    pub(super) fn lenient(
        name: impl Into<String>,
        args: Vec<Arc<dyn PhysicalExpr>>,
        to: ArrowType,
        run: impl Fn(&[Arg], usize) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Arc<dyn PhysicalExpr> {
        Self::shared(name.into(), args, to, false, Arc::new(run))
    }

    fn shared(
        name: String,
        args: Vec<Arc<dyn PhysicalExpr>>,
        to: ArrowType,
        strict: bool,
        run: Arc<Run>,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(Self {
            name,
            args,
            to,
            strict,
            run,
        })
    }
}

impl PhysicalExpr for Kernel {
    fn data_type(&self, _: &Schema) -> Result<ArrowType> {
        Ok(self.to.clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(ColumnarValue::Array(new_null_array(&self.to, 0)));
        }
        let args = self
            .args
            .iter()
            .map(|arg| Arg::of(arg.evaluate(batch)?))
            .collect::<Result<Vec<_>>>()?;
        if self.strict && args.iter().any(Arg::is_constant_null) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_new_null(&self.to)?));
        }
        let constant = !args.is_empty() && args.iter().all(|arg| arg.constant);
        let rows = if constant { 1 } else { rows };
        let result = (self.run)(&args, rows)?;
        if result.len() != rows || result.data_type() != &self.to {
            return Err(bail_out(format!("{} gave another type", self.name)));
        }
        Ok(if constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?)
        } else {
            ColumnarValue::Array(result)
        })
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self {
            args: children,
            ..(*self).clone()
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (index, arg) in self.args.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{arg}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("args", &self.args)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.to == other.to && self.args == other.args
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.to.hash(state);
        self.args.hash(state);
    }
}

/// Rows found without a proper result, while others are computed.
struct Missing {
    rows: Vec<usize>,
}

impl Missing {
    /// The nulls of the result.
    fn nulls(
        self,
        nulls: Option<NullBuffer>,
        rows: usize,
        otherwise: Otherwise,
    ) -> Result<Option<NullBuffer>> {
        if self.rows.is_empty() {
            return Ok(nulls);
        }
        if let Otherwise::Fail(reason) = otherwise {
            let valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
            return if self.rows.iter().any(valid) {
                Err(bail_out(reason))
            } else {
                Ok(nulls)
            };
        }
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, true);
        for row in self.rows {
            valid.set_bit(row, false);
        }
        let missing = NullBuffer::new(valid.finish());
        Ok(NullBuffer::union(nulls.as_ref(), Some(&missing)))
    }
}

/// A function of one argument with a primitive result of each value.
pub(super) fn one<I: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    name: impl Into<String>,
    to: &ArrowType,
    args: Vec<Arc<dyn PhysicalExpr>>,
    otherwise: Otherwise,
    f: impl Fn(I::Native) -> Option<O::Native> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let of = to.clone();
    Kernel::strict(name, args, to.clone(), move |args, _| {
        unary::<I, O>(single(args)?, otherwise, &of, &f)
    })
}

/// A primitive result of each value. The function is also asked for the meaningless values of null rows.
pub(super) fn unary<I: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    arg: &Arg,
    otherwise: Otherwise,
    to: &ArrowType,
    f: impl Fn(I::Native) -> Option<O::Native>,
) -> Result<ArrayRef> {
    let array = arg.primitive::<I>()?;
    let mut missing = Missing { rows: Vec::new() };
    let values: Vec<O::Native> = array
        .values()
        .iter()
        .enumerate()
        .map(|(row, value)| {
            f(*value).unwrap_or_else(|| {
                missing.rows.push(row);
                O::Native::default()
            })
        })
        .collect();
    let nulls = missing.nulls(array.nulls().cloned(), array.len(), otherwise)?;
    Ok(Arc::new(
        PrimitiveArray::<O>::try_new(values.into(), nulls)?.with_data_type(to.clone()),
    ))
}

/// A primitive result of each pair of values. The function is also asked for the meaningless values of null rows.
pub(super) fn binary<A: ArrowPrimitiveType, B: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    args: &[Arg],
    otherwise: Otherwise,
    to: &ArrowType,
    f: impl Fn(A::Native, B::Native) -> Option<O::Native>,
) -> Result<ArrayRef> {
    let (left, right) = pair(args)?;
    let (a, b) = (left.primitive::<A>()?, right.primitive::<B>()?);
    let mut missing = Missing { rows: Vec::new() };
    let mut one = |row: usize, a: A::Native, b: B::Native| {
        f(a, b).unwrap_or_else(|| {
            missing.rows.push(row);
            O::Native::default()
        })
    };
    let constant = |array: &Arg| array.constant.then_some(());
    let values: Vec<O::Native> = match (constant(left), constant(right)) {
        (None, Some(())) => {
            let b = b.values().first().copied().unwrap_or_default();
            let all = a.values().iter().enumerate();
            all.map(|(row, a)| one(row, *a, b)).collect()
        }
        (Some(()), None) => {
            let a = a.values().first().copied().unwrap_or_default();
            let all = b.values().iter().enumerate();
            all.map(|(row, b)| one(row, a, *b)).collect()
        }
        _ => {
            let all = a.values().iter().zip(b.values()).enumerate();
            all.map(|(row, (a, b))| one(row, *a, *b)).collect()
        }
    };
    let nulls = missing.nulls(union_nulls(&[left, right]), values.len(), otherwise)?;
    Ok(Arc::new(
        PrimitiveArray::<O>::try_new(values.into(), nulls)?.with_data_type(to.clone()),
    ))
}

/// As [`binary`], of what may be unknown: such a row is always bailed out of. Asked for rows without nulls only.
pub(super) fn attempt<A: ArrowPrimitiveType, B: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    args: &[Arg],
    rows: usize,
    otherwise: Otherwise,
    to: &ArrowType,
    f: impl Fn(A::Native, B::Native) -> Outcome<O::Native>,
) -> Result<ArrayRef> {
    let (left, right) = pair(args)?;
    let (a, b) = (left.primitive::<A>()?, right.primitive::<B>()?);
    let values = (0..rows).map(|row| {
        let (at, other) = (left.at(row), right.at(row));
        if a.is_null(at) || b.is_null(other) {
            return Ok(None);
        }
        match (f(a.value(at), b.value(other)), otherwise) {
            (Outcome::Value(value), _) => Ok(Some(value)),
            (Outcome::Fails, Otherwise::Null) => Ok(None),
            (Outcome::Fails, Otherwise::Fail(reason)) => Err(bail_out(reason)),
            (Outcome::Unknown, _) => Err(bail_out("a result at the end of all times")),
        }
    });
    let values = values.collect::<Result<PrimitiveArray<O>>>()?;
    Ok(Arc::new(values.with_data_type(to.clone())))
}

/// The two arguments of a function that has two.
pub(super) fn pair(args: &[Arg]) -> Result<(&Arg, &Arg)> {
    match args {
        [left, right] => Ok((left, right)),
        _ => Err(bail_out("another number of arguments")),
    }
}

/// The only argument of a function that has one.
pub(super) fn single(args: &[Arg]) -> Result<&Arg> {
    match args {
        [one] => Ok(one),
        _ => Err(bail_out("another number of arguments")),
    }
}

/// The argument at a place.
pub(super) fn nth(args: &[Arg], index: usize) -> Result<&Arg> {
    args.get(index)
        .ok_or_else(|| bail_out("another number of arguments"))
}
