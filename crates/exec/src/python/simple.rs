//! Columns of functions that are expressions: their values are computed here, and Python sees only batches with a row
//! that it has to see.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, ListArray, NullArray,
    PrimitiveArray, RecordBatch, StringViewArray, StringViewBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use catalyst::{ArrowUdf, DataType, PythonForm};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;
use pyfunc::{Interpreter, LeftToPython, Value};
use rows::error::bail_out;
use rows::types::list_field;

use super::Plan;
use super::evaluation::argument;
use crate::simple_functions::{SimpleCall, SimpleFunction};
use crate::sources::Sources;

/// Bytes of texts in a column that is made here.
const MAX_TEXTS: usize = 64 << 20;
/// Largest integers that Arrow takes for a double or float: those up to which all are exact.
const EXACT_IN_DOUBLE: u64 = 1 << 53;
const EXACT_IN_FLOAT: u64 = 1 << 24;

/// Why functions are left to Python, by what is known of the operator.
const NAMED: &str = "arguments by name";
const ARGUMENT: &str = "arguments of another type";
const RESULT: &str = "results of another type";

/// A column of results.
pub(super) struct SimpleColumn {
    /// The function's place among those of the operator.
    place: usize,
    /// Places of the arguments, with their types.
    arguments: Vec<(usize, DataType)>,
    function: SimpleFunction,
    result: DataType,
    fit: Fit,
}

impl SimpleColumn {
    /// The columns of those of an operator's functions, named by their places, that are computed here.
    ///
    /// # Errors
    /// The task was killed.
    pub(super) fn of(
        plan: &Plan,
        places: &[usize],
        sources: &dyn Sources,
    ) -> Result<Vec<Option<Self>>> {
        let over_arrow = match &plan.form {
            PythonForm::Pickled { .. } => false,
            PythonForm::Arrow { kind, .. } if *kind == ArrowUdf::Values => true,
            // They are given columns.
            PythonForm::Arrow { .. } => return Ok(places.iter().map(|_| None).collect()),
        };
        let asked = places.iter().map(|place| {
            let (callee, result) = (plan.callees.get(*place)?, plan.results.get(*place)?);
            Some(SimpleCall {
                callee,
                result,
                over_arrow,
                job_artifact_uuid: plan.job_artifact_uuid.as_deref(),
                refused: refusal(plan, &callee.arguments, result),
            })
        });
        let asked = asked.collect::<Option<Vec<_>>>();
        let asked = asked.ok_or_else(|| bail_out("a function that is missing"))?;
        let functions = sources.simple_functions(&asked)?;
        let asked = places.iter().zip(&asked).zip(functions);
        let columns = asked.map(|((place, call), function)| {
            let arguments = call.callee.arguments.iter().map(|(place, _)| {
                let of = plan.argument_types.get(*place)?;
                Some((*place, of.clone()))
            });
            Some(Self {
                place: *place,
                arguments: arguments.collect::<Option<_>>()?,
                function: function?,
                result: call.result.clone(),
                fit: Fit { over_arrow },
            })
        });
        Ok(columns.collect())
    }

    /// The function's place among those of the operator.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// The results for rows; `None` if Python has to see them.
    ///
    /// # Errors
    /// Bail-out: an argument cannot be computed, or results of another kind than declared.
    pub(super) fn evaluate(
        &self,
        arguments: &[Arc<dyn PhysicalExpr>],
        batch: &RecordBatch,
    ) -> Result<Option<ArrayRef>> {
        let places = self.arguments.iter().map(|(place, _)| *place);
        let given = places.map(|place| argument(arguments, place, batch));
        let given = given.collect::<Result<Vec<_>>>()?;
        let columns = self.arguments.iter().zip(&given);
        let columns = columns.map(|((_, of), column)| Argument::new(of, column));
        let columns = columns.collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| bail_out("an argument of another type"))?;
        let made = self
            .values(&columns, batch.num_rows())
            .and_then(|values| self.fit.column(&self.result, &values));
        let observer = &self.function.observer;
        match made {
            Ok(column) => {
                observer.computed(batch.num_rows());
                Ok(Some(column))
            }
            Err(Unfit::Left) => {
                observer.left_to_python();
                Ok(None)
            }
            Err(Unfit::OtherKind) => {
                observer.misfit();
                Err(bail_out("results of Python of another kind than declared"))
            }
        }
    }

    fn values<'v>(&'v self, columns: &[Argument<'v>], rows: usize) -> Fitted<Vec<Value<'v>>> {
        let mut values = Vec::with_capacity(rows);
        let mut given = Vec::with_capacity(columns.len());
        for row in 0..rows {
            given.clear();
            given.extend(columns.iter().map(|column| column.value(row)));
            let mut expressions = self.function.expressions.iter();
            let first = expressions.next().ok_or(Unfit::Left)?;
            let mut value = first.value(&Ascii, &given)?;
            for next in expressions {
                value = next.value(&Ascii, &[value])?;
            }
            values.push(value);
        }
        Ok(values)
    }
}

/// Why a function is left to Python, if its arguments or results are not simple.
fn refusal(
    plan: &Plan,
    arguments: &[(usize, Option<String>)],
    result: &DataType,
) -> Option<&'static str> {
    // What calls by name would mean is Python's to know.
    if arguments.iter().any(|(_, name)| name.is_some()) {
        return Some(NAMED);
    }
    let types = arguments
        .iter()
        .map(|(place, _)| plan.argument_types.get(*place));
    if !types.into_iter().all(|of| of.is_some_and(is_value)) {
        return Some(ARGUMENT);
    }
    let element = match result {
        DataType::Array { element, .. } => element,
        result => result,
    };
    (!is_value(element)).then_some(RESULT)
}

/// Whether values of a type are those of Python that expressions know.
fn is_value(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Null
            | DataType::Boolean
            | DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double
            | DataType::String
    )
}

/// A column of arguments.
enum Argument<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Byte(&'a PrimitiveArray<Int8Type>),
    Short(&'a PrimitiveArray<Int16Type>),
    Integer(&'a PrimitiveArray<Int32Type>),
    Long(&'a PrimitiveArray<Int64Type>),
    Float(&'a PrimitiveArray<Float32Type>),
    Double(&'a PrimitiveArray<Float64Type>),
    Text(&'a StringViewArray),
}

impl<'a> Argument<'a> {
    /// `None` if it has another type.
    fn new(of: &DataType, column: &'a ArrayRef) -> Option<Self> {
        Some(match of {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(column.as_boolean_opt()?),
            DataType::Byte => Self::Byte(column.as_primitive_opt()?),
            DataType::Short => Self::Short(column.as_primitive_opt()?),
            DataType::Integer => Self::Integer(column.as_primitive_opt()?),
            DataType::Long => Self::Long(column.as_primitive_opt()?),
            DataType::Float => Self::Float(column.as_primitive_opt()?),
            DataType::Double => Self::Double(column.as_primitive_opt()?),
            DataType::String => Self::Text(column.as_string_view_opt()?),
            _ => return None,
        })
    }

    /// The value of a row, as Python is given it.
    fn value(&self, row: usize) -> Value<'a> {
        fn number<T: ArrowPrimitiveType>(
            column: &PrimitiveArray<T>,
            row: usize,
            value: impl Fn(T::Native) -> Value<'static>,
        ) -> Value<'static> {
            match column.is_null(row) {
                true => Value::None,
                false => value(column.value(row)),
            }
        }
        match self {
            Self::Null => Value::None,
            Self::Boolean(column) if column.is_null(row) => Value::None,
            Self::Boolean(column) => Value::Bool(column.value(row)),
            Self::Byte(column) => number(column, row, |value| Value::Int(value.into())),
            Self::Short(column) => number(column, row, |value| Value::Int(value.into())),
            Self::Integer(column) => number(column, row, |value| Value::Int(value.into())),
            Self::Long(column) => number(column, row, Value::Int),
            Self::Float(column) => number(column, row, |value| Value::Float(value.into())),
            Self::Double(column) => number(column, row, Value::Float),
            Self::Text(column) if column.is_null(row) => Value::None,
            Self::Text(column) => Value::Str(Cow::Borrowed(column.value(row))),
        }
    }
}

/// What CPython does with texts that all its versions treat alike.
struct Ascii;

/// What `int` and `float` do not look at.
const SPACES: [char; 6] = [' ', '\t', '\n', '\r', '\x0b', '\x0c'];

impl Interpreter for Ascii {
    fn int(&self, text: &str) -> Result<i64, LeftToPython> {
        let digits = text.trim_matches(SPACES);
        // Underscores and other digits than ASCII's are not read by Rust.
        digits.parse().map_err(|_| LeftToPython)
    }

    fn float(&self, text: &str) -> Result<f64, LeftToPython> {
        let digits = text.trim_matches(SPACES);
        let is_known = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        match digits.bytes().all(is_known) {
            true => digits.parse().map_err(|_| LeftToPython),
            false => Err(LeftToPython),
        }
    }

    fn lower(&self, text: &str) -> Result<String, LeftToPython> {
        match text.is_ascii() {
            true => Ok(text.to_ascii_lowercase()),
            false => Err(LeftToPython),
        }
    }

    fn upper(&self, text: &str) -> Result<String, LeftToPython> {
        match text.is_ascii() {
            true => Ok(text.to_ascii_uppercase()),
            false => Err(LeftToPython),
        }
    }
}

/// Why values do not become a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfit {
    /// Python has to see the rows.
    Left,
    /// What Arrow makes of a value depends on the others of a batch.
    OtherKind,
}

impl From<LeftToPython> for Unfit {
    fn from(_: LeftToPython) -> Self {
        Self::Left
    }
}

type Fitted<T> = std::result::Result<T, Unfit>;

/// What Spark takes of what functions give: `EvaluatePython.makeFromJava` of pickled values, and of values from and to
/// Arrow streams `pyspark.sql.conversion` and pyarrow, from Spark 4.1 on.
#[derive(Debug, Clone, Copy)]
struct Fit {
    over_arrow: bool,
}

impl Fit {
    fn column(self, of: &DataType, values: &[Value<'_>]) -> Fitted<ArrayRef> {
        Ok(match of {
            DataType::Null => self.nulls(values)?,
            DataType::Boolean => {
                let truths = values.iter().map(|value| match value {
                    Value::None => Ok(None),
                    Value::Bool(value) => Ok(Some(*value)),
                    _ => self.other_kind(),
                });
                Arc::new(truths.collect::<Fitted<BooleanArray>>()?)
            }
            DataType::Byte => self.integers::<Int8Type>(values, |value| value as i8)?,
            DataType::Short => self.integers::<Int16Type>(values, |value| value as i16)?,
            DataType::Integer => self.integers::<Int32Type>(values, |value| value as i32)?,
            DataType::Long => self.integers::<Int64Type>(values, |value| value)?,
            DataType::Float => {
                self.floats::<Float32Type>(values, EXACT_IN_FLOAT, |value| value as f32)?
            }
            DataType::Double => {
                self.floats::<Float64Type>(values, EXACT_IN_DOUBLE, |value| value)?
            }
            DataType::String => self.texts(values)?,
            DataType::Array {
                element,
                contains_null,
            } => self.lists(element, *contains_null, values)?,
            _ => return Err(Unfit::Left),
        })
    }

    /// A value of another kind than the function is declared with.
    fn other_kind<T>(self) -> Fitted<Option<T>> {
        match self.over_arrow {
            true => Err(Unfit::OtherKind),
            false => Ok(None),
        }
    }

    fn nulls(self, values: &[Value<'_>]) -> Fitted<ArrayRef> {
        match self.over_arrow && values.iter().any(|value| *value != Value::None) {
            true => Err(Unfit::Left),
            false => Ok(Arc::new(NullArray::new(values.len()))),
        }
    }

    fn integers<T: ArrowPrimitiveType>(
        self,
        values: &[Value<'_>],
        cut: impl Fn(i64) -> T::Native,
    ) -> Fitted<ArrayRef>
    where
        T::Native: Into<i64>,
    {
        let integers = values.iter().map(|value| match value {
            Value::None => Ok(None),
            Value::Int(value) => {
                // Java's casts cut off what does not fit.
                let fits = cut(*value);
                match self.over_arrow && fits.into() != *value {
                    true => Err(Unfit::Left),
                    false => Ok(Some(fits)),
                }
            }
            _ => self.other_kind(),
        });
        let integers = integers.collect::<Fitted<PrimitiveArray<T>>>()?;
        Ok(Arc::new(integers))
    }

    fn floats<T: ArrowPrimitiveType>(
        self,
        values: &[Value<'_>],
        exact: u64,
        rounded: impl Fn(f64) -> T::Native,
    ) -> Fitted<ArrayRef> {
        let floats = values.iter().map(|value| match value {
            Value::None => Ok(None),
            Value::Float(value) => Ok(Some(rounded(*value))),
            Value::Int(value) if self.over_arrow => match value.unsigned_abs() <= exact {
                true => Ok(Some(rounded(*value as f64))),
                false => Err(Unfit::OtherKind),
            },
            _ => self.other_kind(),
        });
        let floats = floats.collect::<Fitted<PrimitiveArray<T>>>()?;
        Ok(Arc::new(floats))
    }

    fn texts(self, values: &[Value<'_>]) -> Fitted<ArrayRef> {
        let mut texts = StringViewBuilder::with_capacity(values.len());
        let mut room = MAX_TEXTS;
        for value in values {
            match value {
                Value::None => texts.append_null(),
                Value::Str(text) => {
                    room = room.checked_sub(text.len()).ok_or(Unfit::Left)?;
                    texts.append_value(text);
                }
                // As Java and, of truths, PySpark write them.
                Value::Bool(value) => texts.append_value(if *value { "true" } else { "false" }),
                Value::Int(value) => texts.append_value(value.to_string()),
                _ => return Err(Unfit::Left),
            }
        }
        Ok(Arc::new(texts.finish()))
    }

    fn lists(self, of: &DataType, nulls: bool, values: &[Value<'_>]) -> Fitted<ArrayRef> {
        let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(values.len()));
        let mut valid = Vec::with_capacity(values.len());
        for value in values {
            let elements = match value {
                Value::List(elements) => Some(elements),
                Value::None => None,
                Value::Tuple(elements) if !self.over_arrow => Some(elements),
                _ if self.over_arrow => return Err(Unfit::Left),
                _ => None,
            };
            let elements = elements.map_or(&[][..], Vec::as_slice);
            if !nulls && elements.contains(&Value::None) {
                return Err(Unfit::Left);
            }
            valid.push(matches!(value, Value::List(_) | Value::Tuple(_)));
            lengths.push(elements.len());
            all.extend(elements.iter().map(Value::borrowed));
        }
        let elements = self.column(of, &all)?;
        let field = list_field(elements.data_type().clone());
        let offsets = OffsetBuffer::from_lengths(lengths);
        let lists = ListArray::try_new(field, offsets, elements, Some(NullBuffer::from(valid)));
        lists
            .map(|lists| Arc::new(lists) as _)
            .map_err(|_| Unfit::Left)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "simple_tests.rs"]
mod tests;
