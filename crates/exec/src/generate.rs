//! `GenerateExec`: rows that a generator makes of each row.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow::array::{new_null_array, types::Int64Type};
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;

use super::exec::{Pipe, Start, batch_of, pipe};
use super::expr::variant::exploded;
use super::expr::{field, json_tuple, lower};
use super::lower::{Demand, Lowered, Lowering, Result, needed};
use super::project::evaluate;
use catalyst::{Attribute, DataType, Expr, Generator, Inputs, Operator, Unsupported};
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// What is known of the operator when it is judged.
#[derive(Debug)]
struct Plan {
    way: Way,
    args: Vec<Arc<dyn PhysicalExpr>>,
    outer: bool,
    /// Columns that come out.
    output: Vec<Column>,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    /// Elements of an array or entries of a map.
    Explode,
    /// Fields of the structs of an array.
    Inline,
    /// Places, names and values of what a variant has.
    Variant,
    /// So many rows of the arguments.
    Stack(usize),
    /// The arguments behind the first, as often as that says.
    Replicate,
    /// What the first argument has at the names that the others are.
    JsonTuple,
}

#[derive(Debug, Clone, Copy)]
enum Column {
    /// Of the input.
    Input(usize),
    /// The place of an element.
    Position,
    /// What the generator makes.
    Made(usize),
}

/// Lowers a generator.
pub(super) fn generate(
    lowering: &Lowering,
    operator: (&Generator, bool, &[Attribute], &[Attribute]),
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let (generator, outer, required, generated) = operator;
    let is_needed = |column: &Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    let kept: HashSet<_> = required
        .iter()
        .filter(|column| is_needed(column))
        .map(|column| column.id)
        .collect();
    let below = needed(demand.of(Some(&kept)), generator.args());
    let child = lowering.operator(child, inputs, demand.of(below.as_ref()))?;
    let input = child.output()?;
    same_types(generator, generated)?;
    let args = generator.args().into_iter().map(|arg| lower(arg, input));
    let args = args.collect::<Result<Vec<_>>>()?;
    let mut output = Vec::new();
    let mut attributes = Vec::new();
    for column in required.iter().filter(|column| is_needed(column)) {
        let place = input.iter().position(|own| own.id == column.id);
        let place = place.ok_or_else(|| Unsupported::of_use("an attribute without input"))?;
        output.push(Column::Input(place));
        attributes.push(column.clone());
    }
    let (way, position) = Way::of(generator)?;
    for (place, column) in generated.iter().enumerate() {
        if is_needed(column) {
            output.push(match place.checked_sub(usize::from(position)) {
                None => Column::Position,
                Some(place) => Column::Made(place),
            });
            attributes.push(column.clone());
        }
    }
    let plan = Arc::new(Plan {
        way,
        args,
        outer,
        output,
    });
    let start = move |start: &Start<'_>| {
        let generate = Generate {
            plan: Arc::clone(&plan),
            schema: Arc::clone(start.schema),
            batch_size: start.batch_size(),
            open: None,
        };
        Ok(pipe(generate, start.input(0)?, start.baseline()))
    };
    Lowered::unary("GenerateExec", attributes, child, Arc::new(start))
}

/// Fails unless the generator makes columns of these types.
fn same_types(generator: &Generator, generated: &[Attribute]) -> Result<()> {
    let own = generator.types()?;
    let mut same = own.len() == generated.len();
    for (own, column) in own.iter().zip(generated) {
        same &= own.to_arrow()? == column.data_type.to_arrow()?;
    }
    match same {
        true => Ok(()),
        false => Err(Unsupported::of_use("a generator of other columns")),
    }
}

impl Way {
    /// How it is computed, and whether it gives the places of what it makes.
    fn of(generator: &Generator) -> Result<(Self, bool)> {
        Ok(match generator {
            Generator::Explode { position, .. } => (Self::Explode, *position),
            Generator::Inline(_) => (Self::Inline, false),
            Generator::VariantExplode(_) => (Self::Variant, false),
            Generator::Stack { rows, values } => {
                stack_types(*rows, values)?;
                (Self::Stack(*rows), false)
            }
            Generator::JsonTuple { .. } => {
                let args = generator.args();
                let mut types = args.iter().map(|arg| &arg.data_type);
                match types.all(|of| *of == DataType::String) {
                    true => (Self::JsonTuple, false),
                    false => return Err(Unsupported::of_use("JsonTuple of other types")),
                }
            }
            Generator::ReplicateRows { count, .. } => match count.data_type {
                DataType::Long => (Self::Replicate, false),
                _ => return Err(Unsupported::of_use("rows replicated by another type")),
            },
        })
    }
}

/// Fails unless all values of a column of a stack have one type.
fn stack_types(rows: usize, values: &[Expr]) -> Result<()> {
    let columns = values.len().div_ceil(rows).max(1);
    let first = values.iter().take(columns);
    let first = first.map(|value| value.data_type.to_arrow());
    let first = first.collect::<Result<Vec<_>>>()?;
    for (value, of) in values.iter().zip(first.iter().cycle()) {
        if value.data_type.to_arrow()? != *of {
            return Err(Unsupported::of_use("a stack of different types"));
        }
    }
    Ok(())
}

struct Generate {
    plan: Arc<Plan>,
    schema: SchemaRef,
    batch_size: usize,
    open: Option<Open>,
}

/// A batch of which rows are made.
struct Open {
    batch: RecordBatch,
    made: Made,
    /// The next row, and the next of its own rows.
    row: usize,
    next: usize,
}

/// What is made of the rows of a batch.
struct Made {
    /// For each row the place of the first value, and how many rows are made.
    rows: Vec<(u32, u32)>,
    /// Whether the rows made of a row have the same values.
    same: bool,
    columns: Vec<ArrayRef>,
}

impl Plan {
    fn made(&self, batch: &RecordBatch) -> DataFusionResult<Made> {
        let args = evaluate(&self.args, batch)?;
        match self.way {
            Way::Explode | Way::Inline => elements(&args, matches!(self.way, Way::Inline)),
            Way::Stack(rows) => stacked(&args, rows, batch.num_rows()),
            Way::Variant => {
                let variants = args.first().ok_or_else(wrong)?;
                let (counts, columns) = exploded(variants)?;
                let mut next = 0_u32;
                let rows = counts.into_iter().map(|count| {
                    let first = next;
                    next = next.checked_add(count).ok_or_else(wrong)?;
                    Ok((first, count))
                });
                Ok(Made {
                    rows: rows.collect::<DataFusionResult<_>>()?,
                    same: false,
                    columns,
                })
            }
            Way::Replicate => replicated(&args),
            Way::JsonTuple => {
                let (json, names) = args.split_first().ok_or_else(wrong)?;
                Ok(Made {
                    // Batches have fewer rows.
                    rows: (0..batch.num_rows() as u32).map(|row| (row, 1)).collect(),
                    same: false,
                    columns: json_tuple(json, names)?,
                })
            }
        }
    }
}

fn wrong() -> datafusion_common::DataFusionError {
    bail_out("a generator of another type")
}

fn elements(args: &[ArrayRef], inline: bool) -> DataFusionResult<Made> {
    let [array] = args else {
        return Err(wrong());
    };
    let (offsets, columns) = if let Some(list) = array.as_list_opt::<i32>() {
        let values = list.values();
        let columns = match inline {
            false => vec![Arc::clone(values)],
            true => {
                let fields = values.as_struct_opt().ok_or_else(wrong)?.num_columns();
                let fields = (0..fields).map(|place| field(values, place));
                fields.collect::<DataFusionResult<_>>()?
            }
        };
        (list.value_offsets(), columns)
    } else {
        let map = array.as_map_opt().ok_or_else(wrong)?;
        let columns = vec![Arc::clone(map.keys()), Arc::clone(map.values())];
        (map.value_offsets(), columns)
    };
    // Offsets are not negative and grow.
    let rows = offsets
        .windows(2)
        .enumerate()
        .map(|(row, ends)| match ends {
            [start, end] if array.is_valid(row) => (*start as u32, (end - start) as u32),
            _ => (0, 0),
        });
    Ok(Made {
        rows: rows.collect(),
        same: false,
        columns,
    })
}

fn stacked(args: &[ArrayRef], rows: usize, input: usize) -> DataFusionResult<Made> {
    let columns = args.len().div_ceil(rows);
    let rows_made = u32::try_from(rows).map_err(|_| wrong())?;
    if u32::try_from(input.saturating_mul(rows)).is_err() {
        return Err(bail_out("too many rows of a stack"));
    }
    let mut made = Vec::new();
    for column in 0..columns {
        let all = (0..rows).map(|row| args.get(row * columns + column));
        let all: Vec<_> = all.collect();
        let of = all.iter().flatten().next().ok_or_else(wrong)?.data_type();
        let null = new_null_array(of, 1);
        let mut sources: Vec<&dyn Array> = vec![null.as_ref()];
        sources.extend(
            all.iter()
                .flatten()
                .map(|array| array.as_ref() as &dyn Array),
        );
        let present = all.iter().flatten().count();
        let indices = (0..input).flat_map(|row| {
            (0..rows).map(move |at| if at < present { (at + 1, row) } else { (0, 0) })
        });
        let indices: Vec<_> = indices.collect();
        made.push(interleave_of(of, &sources, &indices)?);
    }
    let rows = (0..input).map(|row| (row as u32 * rows_made, rows_made));
    Ok(Made {
        rows: rows.collect(),
        same: false,
        columns: made,
    })
}

fn interleave_of(
    of: &ArrowType,
    sources: &[&dyn Array],
    indices: &[(usize, usize)],
) -> DataFusionResult<ArrayRef> {
    if of.is_null() {
        return Ok(new_null_array(of, indices.len()));
    }
    Ok(interleave(sources, indices)?)
}

fn replicated(args: &[ArrayRef]) -> DataFusionResult<Made> {
    let (count, columns) = args.split_first().ok_or_else(wrong)?;
    let count: &Int64Array = count.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
    let rows = count.iter().enumerate().map(|(row, count)| {
        let count = u32::try_from(count.unwrap_or(0).max(0));
        let count = count.map_err(|_| bail_out("a row that is replicated very often"))?;
        Ok((row as u32, count))
    });
    Ok(Made {
        rows: rows.collect::<DataFusionResult<_>>()?,
        same: true,
        columns: columns.to_vec(),
    })
}

impl Open {
    /// The next rows; `None` if there are none left.
    fn take(
        &mut self,
        plan: &Plan,
        most: usize,
    ) -> DataFusionResult<Option<(Vec<ArrayRef>, usize)>> {
        let (mut sources, mut values, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        while let Some((first, count)) = self.made.rows.get(self.row).copied() {
            if sources.len() >= most {
                break;
            }
            // Rows of a batch, and values of a column, have numbers of 32 bits.
            let source = self.row as u32;
            if count == 0 {
                if plan.outer {
                    sources.push(source);
                    values.push(None);
                    positions.push(None);
                }
                self.row += 1;
                continue;
            }
            let room = most - sources.len();
            let end = (count as usize).min(self.next + room);
            for at in self.next as u32..end as u32 {
                sources.push(source);
                values.push(Some(if self.made.same { first } else { first + at }));
                positions.push(i32::try_from(at).ok());
            }
            self.next = end;
            if end == count as usize {
                self.row += 1;
                self.next = 0;
            }
        }
        if sources.is_empty() {
            return Ok(None);
        }
        let rows = sources.len();
        let (sources, values) = (UInt32Array::from(sources), UInt32Array::from(values));
        let columns = plan.output.iter().map(|column| match column {
            Column::Input(place) => {
                let column = self.batch.columns().get(*place).ok_or_else(wrong)?;
                Ok(take(column, &sources, None)?)
            }
            Column::Position => {
                let positions: Int32Array = positions.iter().copied().collect();
                Ok(Arc::new(positions) as ArrayRef)
            }
            Column::Made(place) => {
                let column = self.made.columns.get(*place).ok_or_else(wrong)?;
                if column.data_type().is_null() {
                    return Ok(new_null_array(&ArrowType::Null, rows));
                }
                Ok(take(column, &values, None)?)
            }
        });
        Ok(Some((columns.collect::<DataFusionResult<_>>()?, rows)))
    }
}

impl Pipe for Generate {
    fn push(&mut self, batch: RecordBatch) -> DataFusionResult<()> {
        let made = self.plan.made(&batch)?;
        self.open = Some(Open {
            batch,
            made,
            row: 0,
            next: 0,
        });
        Ok(())
    }

    fn finish(&mut self) -> DataFusionResult<()> {
        Ok(())
    }

    fn pop(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        match open.take(&self.plan, self.batch_size)? {
            Some((columns, rows)) => batch_of(&self.schema, columns, rows).map(Some),
            None => {
                self.open = None;
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "generate_tests.rs"]
mod tests;
