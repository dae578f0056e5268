//! Functions of arrays and maps that take lambdas. A lambda is computed for the elements of many rows at a time, as an
//! expression over a batch of its own: a column for each attribute that it takes from around it, and its parameters.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, ListArray, MapArray};
use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array, new_empty_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{SortOptions, concat, interleave};
use arrow::datatypes::{DataType as ArrowType, Field, SchemaRef};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Arg, Kernel};
use super::entries::Entries;
use super::lookup::values_at;
use super::{comparable, is_a_key, list, list_of, lists, map, maps, other, range, sort};
use catalyst::{Attribute, Expr, HigherOrder, Lambda, Unsupported};
use rows::types::{ToArrow as _, schema_of};

type Physical = Arc<dyn PhysicalExpr>;

/// Elements for which a lambda is computed at a time.
const CHUNK: usize = 1 << 16;

/// An expression, its arguments and what its lambdas take from around them.
pub(in crate::expr) struct Parts<'a> {
    pub(in crate::expr) function: HigherOrder,
    pub(in crate::expr) args: &'a [Expr],
    pub(in crate::expr) lambdas: &'a [Lambda],
    pub(in crate::expr) captured: &'a [Expr],
    pub(in crate::expr) to: &'a ArrowType,
}

/// A function of lambdas. `inputs` are its arguments and then what is captured, over the batches that it is for.
///
/// # Errors
/// It, or what a lambda computes, is not computed natively.
pub(in crate::expr) fn lower(
    parts: &Parts<'_>,
    inputs: Vec<Physical>,
) -> Result<Physical, Unsupported> {
    let (to, count) = (parts.to.clone(), parts.args.len());
    let refused = || Unsupported::of_use(format!("{} of such types", parts.function.name()));
    let types = parts.args.iter().map(|arg| arg.data_type.to_arrow());
    let types = types.collect::<Result<Vec<_>, _>>()?;
    let captured = parts.captured.iter().map(|of| of.to_attribute());
    let captured: Vec<Attribute> = captured.collect::<Option<_>>().ok_or_else(refused)?;
    let bodies = parts
        .lambdas
        .iter()
        .map(|lambda| Body::new(lambda, &captured));
    let mut bodies = bodies.collect::<Result<Vec<_>, _>>()?.into_iter();
    let body = bodies.next().ok_or_else(refused)?;
    let natural = parts.lambdas.first().and_then(sort::Natural::of);
    let run = match parts.function {
        HigherOrder::ArraySort => sort::run_of(&types, &to, body, natural),
        _ => run_of(parts.function, &types, &to, body, bodies.next()),
    };
    let run = run.ok_or_else(refused)?;
    let lambdas: Vec<_> = parts
        .lambdas
        .iter()
        .map(|lambda| format!("{lambda:?}"))
        .collect();
    let name = format!("{:?}[{}]", parts.function, lambdas.join("; "));
    Ok(Kernel::lenient(name, inputs, to, move |args, rows| {
        let (args, captured) = args.split_at_checked(count).ok_or_else(other)?;
        let captured = captured.iter().map(|arg| arg.column(rows));
        run(&Given {
            args,
            captured: &captured.collect::<RunResult<Vec<_>>>()?,
            rows,
        })
    }))
}

/// What a function is computed of.
pub(super) struct Given<'a> {
    args: &'a [Arg],
    /// A column for each attribute that lambdas take from around them.
    captured: &'a [ArrayRef],
    pub(super) rows: usize,
}

impl Given<'_> {
    /// The first argument, which is an array, and its elements.
    pub(super) fn array(&self) -> RunResult<(ListArray, Elements)> {
        let array = list(self.args.first().ok_or_else(other)?, self.rows)?;
        let elements = Elements::of(array.value_offsets(), array.nulls(), self.rows);
        Ok((array, elements))
    }

    /// The first argument, which is a map, and its entries.
    fn map(&self) -> RunResult<(MapArray, Elements)> {
        let map = map(self.args.first().ok_or_else(other)?, self.rows)?;
        let elements = Elements::of(map.value_offsets(), map.nulls(), self.rows);
        Ok((map, elements))
    }
}

/// What makes the result.
pub(super) type Run = Box<dyn Fn(&Given<'_>) -> RunResult<ArrayRef> + Send + Sync>;

/// `None` if the types are not those that Spark has.
fn run_of(
    function: HigherOrder,
    types: &[ArrowType],
    to: &ArrowType,
    body: Body,
    finish: Option<Body>,
) -> Option<Run> {
    use ArrowType as T;
    let of = to.clone();
    let index = T::Int32;
    Some(match (function, types) {
        (HigherOrder::ArrayTransform, [T::List(element)])
            if body.takes(&[element.data_type(), &index]) && list_of(to) == Some(&body.to) =>
        {
            Box::new(move |given| transform(&of, &body, given))
        }
        (HigherOrder::ArrayFilter, [T::List(element)])
            if body.takes(&[element.data_type(), &index]) && body.to == T::Boolean =>
        {
            Box::new(move |given| filter(&of, &body, given))
        }
        (HigherOrder::ArrayExists { .. } | HigherOrder::ArrayForAll, [T::List(element)])
            if body.takes(&[element.data_type()]) && body.to == T::Boolean =>
        {
            let (ends_at, nulls) = match function {
                HigherOrder::ArrayExists { three_valued } => (true, three_valued),
                _ => (false, true),
            };
            Box::new(move |given| any(ends_at, nulls, &body, given))
        }
        (HigherOrder::ArrayAggregate, [T::List(element), zero]) => {
            let finish = finish?;
            // Values of several steps are put together, which Arrow does not do for what is always null.
            let fits = !zero.is_null()
                && body.takes(&[zero, element.data_type()])
                && body.to == *zero
                && finish.takes(&[zero])
                && finish.to == of;
            if !fits {
                return None;
            }
            Box::new(move |given| aggregate(&body, &finish, given))
        }
        (HigherOrder::ZipWith, [T::List(left), T::List(right)])
            if body.takes(&[left.data_type(), right.data_type()])
                && list_of(to) == Some(&body.to) =>
        {
            Box::new(move |given| zip_with(&of, &body, given))
        }
        (HigherOrder::TransformKeys, [T::Map(entry, _)]) => {
            let (key, value) = entry_of(entry)?;
            let (made, kept) = match to {
                T::Map(entry, _) => entry_of(entry)?,
                _ => return None,
            };
            let fits = body.takes(&[key, value]) && body.to == *made && value == kept;
            if !fits || !is_a_key(made) {
                return None;
            }
            Box::new(move |given| transform_keys(&of, &body, given))
        }
        (HigherOrder::MapZipWith, [T::Map(left, _), T::Map(right, _)]) => {
            let ((key, left), (other, right)) = (entry_of(left)?, entry_of(right)?);
            let (kept, made) = match to {
                T::Map(entry, _) => entry_of(entry)?,
                _ => return None,
            };
            let fits = body.takes(&[key, left, right]) && body.to == *made;
            if !fits || key != other || key != kept || !is_a_key(key) {
                return None;
            }
            Box::new(move |given| map_zip_with(&of, &body, given))
        }
        (HigherOrder::MapFilter | HigherOrder::TransformValues, [T::Map(entry, _)]) => {
            let filters = function == HigherOrder::MapFilter;
            let (T::Struct(entry), T::Map(result, _)) = (entry.data_type(), to) else {
                return None;
            };
            let T::Struct(result) = result.data_type() else {
                return None;
            };
            let [key, value] = &entry[..] else {
                return None;
            };
            let made = match filters {
                true => &T::Boolean,
                false => result.get(1)?.data_type(),
            };
            if !body.takes(&[key.data_type(), value.data_type()]) || body.to != *made {
                return None;
            }
            match filters {
                true => Box::new(move |given| map_filter(&of, &body, given)),
                false => Box::new(move |given| transform_values(&of, &body, given)),
            }
        }
        _ => return None,
    })
}

/// Key and value of a map's entries.
fn entry_of(field: &Field) -> Option<(&ArrowType, &ArrowType)> {
    match field.data_type() {
        ArrowType::Struct(entry) => match &entry[..] {
            [key, value] => Some((key.data_type(), value.data_type())),
            _ => None,
        },
        _ => None,
    }
}

/// What a lambda computes.
pub(super) struct Body {
    expr: Physical,
    /// What is captured, then the parameters.
    schema: SchemaRef,
    parameters: Vec<ArrowType>,
    pub(super) to: ArrowType,
}

impl Body {
    fn new(lambda: &Lambda, captured: &[Attribute]) -> Result<Self, Unsupported> {
        let mut input = [captured, &lambda.parameters].concat();
        // What Spark knows of nulls is not relied on.
        input.iter_mut().for_each(|column| column.nullable = true);
        let parameters = lambda.parameters.iter();
        let parameters = parameters.map(|parameter| parameter.data_type.to_arrow());
        Ok(Self {
            expr: super::super::lower(&lambda.body, &input)?,
            schema: schema_of(&input)?,
            parameters: parameters.collect::<Result<_, _>>()?,
            to: lambda.body.data_type.to_arrow()?,
        })
    }

    /// Whether its parameters are the first of these.
    pub(super) fn takes(&self, types: &[&ArrowType]) -> bool {
        let parameters = self.parameters.iter();
        self.parameters.len() <= types.len()
            && !self.parameters.is_empty()
            && parameters.zip(types).all(|(own, of)| own == *of)
    }

    /// The values for elements of these rows, whose parameters are columns as long. More columns than parameters are
    /// not looked at.
    pub(super) fn values(
        &self,
        given: &Given<'_>,
        rows: &UInt32Array,
        parameters: &[ArrayRef],
    ) -> RunResult<ArrayRef> {
        let parameters = parameters.get(..self.parameters.len()).ok_or_else(other)?;
        let mut chunks = Vec::new();
        for begin in (0..rows.len()).step_by(CHUNK) {
            let count = CHUNK.min(rows.len() - begin);
            let rows = rows.slice(begin, count);
            let mut columns = given
                .captured
                .iter()
                .map(|column| values_at(column, &rows))
                .collect::<RunResult<Vec<_>>>()?;
            columns.extend(parameters.iter().map(|of| of.slice(begin, count)));
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            let schema = Arc::clone(&self.schema);
            let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
            chunks.push(self.expr.evaluate(&batch)?.into_array(count)?);
        }
        let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        Ok(match chunks.as_slice() {
            [] => new_empty_array(&self.to),
            chunks => concat(chunks)?,
        })
    }

    /// As [`Self::values`], of a condition; null is false.
    fn holds(
        &self,
        given: &Given<'_>,
        rows: &UInt32Array,
        parameters: &[ArrayRef],
    ) -> RunResult<BooleanArray> {
        let values = self.values(given, rows, parameters)?;
        values.as_boolean_opt().cloned().ok_or_else(other)
    }
}

/// The elements of all rows that are not null: their rows, their places among all values, and where in their row they
/// are.
pub(super) struct Elements {
    pub(super) ranges: Vec<Range<usize>>,
    rows: UInt32Array,
    places: UInt32Array,
}

impl Elements {
    fn of(offsets: &[i32], nulls: Option<&NullBuffer>, count: usize) -> Self {
        let ranges: Vec<_> = (0..count)
            .map(|row| match nulls.is_some_and(|nulls| nulls.is_null(row)) {
                true => 0..0,
                false => range(offsets, row),
            })
            .collect();
        // A batch has fewer rows and elements than 2³¹.
        let rows = ranges.iter().enumerate();
        let rows = rows.flat_map(|(row, range)| std::iter::repeat_n(row as u32, range.len()));
        let places = ranges.iter().cloned().flatten().map(|place| place as u32);
        Self {
            rows: rows.collect(),
            places: places.collect(),
            ranges,
        }
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().map(ExactSizeIterator::len)
    }

    /// From 0 in each row.
    fn indices(&self) -> ArrayRef {
        let indices = self.lengths().flat_map(|length| 0..length as i32);
        Arc::new(indices.collect::<Int32Array>())
    }

    /// How many elements of each row are kept, and the places of those that are.
    fn kept(&self, holds: &BooleanArray) -> (Vec<usize>, UInt32Array) {
        let mut lengths = vec![0; self.ranges.len()];
        let mut places = Vec::new();
        let elements = self.rows.values().iter().zip(self.places.values());
        for ((row, place), holds) in elements.zip(holds) {
            if holds == Some(true)
                && let Some(length) = lengths.get_mut(*row as usize)
            {
                *length += 1;
                places.push(*place);
            }
        }
        (lengths, places.into())
    }
}

fn transform(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (array, elements) = given.array()?;
    let parameters = [
        values_at(array.values(), &elements.places)?,
        elements.indices(),
    ];
    let values = body.values(given, &elements.rows, &parameters)?;
    lists(to, elements.lengths(), values, array.nulls().cloned())
}

fn filter(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (array, elements) = given.array()?;
    let parameters = [
        values_at(array.values(), &elements.places)?,
        elements.indices(),
    ];
    let holds = body.holds(given, &elements.rows, &parameters)?;
    let (lengths, places) = elements.kept(&holds);
    let values = values_at(array.values(), &places)?;
    lists(to, lengths, values, array.nulls().cloned())
}

/// Whether a condition is `ends_at` for any element; `nulls`: it is null if that is not known.
fn any(ends_at: bool, nulls: bool, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (array, elements) = given.array()?;
    let parameters = [values_at(array.values(), &elements.places)?];
    let holds = body.holds(given, &elements.rows, &parameters)?;
    let mut holds = holds.iter();
    let found = elements.ranges.iter().enumerate().map(|(row, range)| {
        let (mut met, mut unknown) = (false, false);
        for value in holds.by_ref().take(range.len()) {
            met |= value == Some(ends_at);
            unknown |= value.is_none();
        }
        match (array.is_null(row), met) {
            (true, _) => None,
            (false, true) => Some(ends_at),
            (false, false) => (!(unknown && nulls)).then_some(!ends_at),
        }
    });
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

/// Step by step: the first elements of all rows, the second of all that have one, and so on.
fn aggregate(merge: &Body, finish: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (array, elements) = given.array()?;
    let (zero, rows) = (given.args.get(1).ok_or_else(other)?, given.rows);
    let mut steps = vec![zero.column(rows)?];
    // Where the value of each row is: a step, and a place in it.
    let mut at: Vec<(usize, usize)> = (0..rows).map(|row| (0, row)).collect();
    for step in 0..elements.lengths().max().unwrap_or(0) {
        let goes_on = |range: &Range<usize>| range.len() > step;
        let active = elements.ranges.iter().zip(&mut at).enumerate();
        let active = active.filter(|(_, (range, _))| goes_on(range));
        let (mut of, mut before, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (range, at)) in active {
            before.push(at.1 as u32);
            places.push((range.start + step) as u32);
            *at = (step + 1, of.len());
            of.push(row as u32);
        }
        let last = steps.last().ok_or_else(other)?;
        let parameters = [
            values_at(last, &before.into())?,
            values_at(array.values(), &places.into())?,
        ];
        steps.push(merge.values(given, &of.into(), &parameters)?);
    }
    let valid: Vec<u32> = (0..rows)
        .filter(|row| array.is_valid(*row))
        .map(|row| row as u32)
        .collect();
    let results: Vec<_> = valid
        .iter()
        .filter_map(|row| at.get(*row as usize).copied())
        .collect();
    let sources: Vec<&dyn Array> = steps.iter().map(AsRef::as_ref).collect();
    let results = interleave(&sources, &results)?;
    let count = valid.len();
    let values = finish.values(given, &valid.into(), &[results])?;
    if count == rows {
        return Ok(values);
    }
    let mut next = 0..count as u32;
    let places = (0..rows).map(|row| array.is_valid(row).then(|| next.next()).flatten());
    values_at(&values, &places.collect())
}

fn zip_with(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let ([left, right], rows) = (given.args, given.rows) else {
        return Err(other());
    };
    let (left, right) = (list(left, rows)?, list(right, rows)?);
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let of = |offsets: &[i32]| Elements::of(offsets, nulls.as_ref(), rows).ranges;
    let (lefts, rights) = (of(left.value_offsets()), of(right.value_offsets()));
    let (mut lengths, mut of_rows) = (Vec::with_capacity(rows), Vec::new());
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    for (row, (left, right)) in lefts.into_iter().zip(rights).enumerate() {
        let length = left.len().max(right.len());
        lengths.push(length);
        of_rows.extend(std::iter::repeat_n(row as u32, length));
        let padded = |range: Range<usize>| {
            let places = range.map(|place| Some(place as u32));
            places.chain(std::iter::repeat(None)).take(length)
        };
        of_left.extend(padded(left));
        of_right.extend(padded(right));
    }
    let parameters = [
        values_at(left.values(), &of_left.into())?,
        values_at(right.values(), &of_right.into())?,
    ];
    let values = body.values(given, &of_rows.into(), &parameters)?;
    lists(to, lengths, values, nulls)
}

fn map_filter(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (map, elements) = given.map()?;
    let entries = entries(&map, &elements.places)?;
    let holds = body.holds(given, &elements.rows, &entries)?;
    let (lengths, places) = elements.kept(&holds);
    let [keys, values] = self::entries(&map, &places)?;
    maps(to, lengths, keys, values, map.nulls())
}

fn transform_values(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (map, elements) = given.map()?;
    let entries = entries(&map, &elements.places)?;
    let values = body.values(given, &elements.rows, &entries)?;
    let [keys, _] = entries;
    maps(to, elements.lengths(), keys, values, map.nulls())
}

fn transform_keys(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let (map, elements) = given.map()?;
    let entries = entries(&map, &elements.places)?;
    let keys = body.values(given, &elements.rows, &entries)?;
    let [_, values] = entries;
    let mut made = Entries::new(keys, values)?;
    made.push_rows(elements.lengths(), map.nulls())?;
    made.finish(to)
}

/// The keys of the left map, then those that only the right one has.
fn map_zip_with(to: &ArrowType, body: &Body, given: &Given<'_>) -> RunResult<ArrayRef> {
    let ([left, right], rows) = (given.args, given.rows) else {
        return Err(other());
    };
    let (left, right) = (map(left, rows)?, map(right, rows)?);
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let keys = concat(&[left.keys().as_ref(), right.keys().as_ref()])?;
    let comparable = comparable(&keys, SortOptions::default())?;
    let of = |offsets: &[i32]| Elements::of(offsets, nulls.as_ref(), rows).ranges;
    let (lefts, rights) = (of(left.value_offsets()), of(right.value_offsets()));
    let (mut lengths, mut of_rows, mut of_keys) =
        (Vec::with_capacity(rows), Vec::new(), Vec::new());
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    let behind = left.keys().len();
    for (row, (left, right)) in lefts.into_iter().zip(rights).enumerate() {
        let mut places = HashMap::new();
        let first = of_keys.len();
        // Of keys that a map has twice the first counts. Places among the values of maps have 32 bits.
        for (own, place) in left.map(|at| (at, Some(at as u32))) {
            places.entry(comparable.row(own)).or_insert_with(|| {
                of_keys.push(own as u32);
                of_left.push(place);
                of_right.push(None);
                of_keys.len() - 1
            });
        }
        for (own, place) in right.map(|at| (at + behind, at as u32)) {
            let at = *places.entry(comparable.row(own)).or_insert_with(|| {
                of_keys.push(own as u32);
                of_left.push(None);
                of_right.push(None);
                of_keys.len() - 1
            });
            if let Some(none @ None) = of_right.get_mut(at) {
                *none = Some(place);
            }
        }
        let length = of_keys.len() - first;
        lengths.push(length);
        of_rows.extend(std::iter::repeat_n(row as u32, length));
    }
    let keys = values_at(&keys, &of_keys.into())?;
    let parameters = [
        Arc::clone(&keys),
        values_at(left.values(), &of_left.into())?,
        values_at(right.values(), &of_right.into())?,
    ];
    let values = body.values(given, &of_rows.into(), &parameters)?;
    maps(to, lengths, keys, values, nulls.as_ref())
}

/// Keys and values of entries.
fn entries(map: &MapArray, places: &UInt32Array) -> RunResult<[ArrayRef; 2]> {
    Ok([
        values_at(map.keys(), places)?,
        values_at(map.values(), places)?,
    ])
}
