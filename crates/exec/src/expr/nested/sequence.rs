//! Arrays of numbers that follow each other.

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as ArrowType, Int8Type, Int16Type, Int32Type, Int64Type};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::super::cast::numeric::Number;
use super::super::kernel::{Kernel, nth};
use super::{lists, other};
use rows::error::bail_out;

type Physical = Arc<dyn PhysicalExpr>;

/// Most numbers of the arrays of a batch.
const MAX_NUMBERS: usize = 50_000_000;

/// Numbers of a type from the first to the second, by the third, or by one up or down.
pub(super) fn lower(of: &ArrowType, to: &ArrowType, args: Vec<Physical>) -> Option<Physical> {
    Some(match of {
        ArrowType::Int8 => sequence::<Int8Type>(to, args),
        ArrowType::Int16 => sequence::<Int16Type>(to, args),
        ArrowType::Int32 => sequence::<Int32Type>(to, args),
        ArrowType::Int64 => sequence::<Int64Type>(to, args),
        _ => return None,
    })
}

fn sequence<T>(to: &ArrowType, args: Vec<Physical>) -> Physical
where
    T: ArrowPrimitiveType<Native: Number + TryFrom<i128>>,
{
    let of = to.clone();
    Kernel::strict("Sequence", args, to.clone(), move |args, rows| {
        let columns = args.iter().map(|arg| arg.primitive::<T>());
        let columns = columns.collect::<RunResult<Vec<_>>>()?;
        let mut numbers = Vec::new();
        let (mut lengths, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let mut given = [0; 3];
            let mut is_null = false;
            for (place, (column, given)) in columns.iter().zip(&mut given).enumerate() {
                let at = nth(args, place)?.at(row);
                is_null |= column.is_null(at);
                *given = i128::from(column.value(at).to_long());
            }
            valid.push(!is_null);
            if is_null {
                lengths.push(0);
                continue;
            }
            let (start, step, length) = steps(given, columns.len() > 2)?;
            if numbers.len().saturating_add(length) > MAX_NUMBERS {
                return Err(bail_out("sequences of very many numbers"));
            }
            for number in 0..length {
                let number = start + step * number as i128;
                numbers.push(T::Native::try_from(number).map_err(|_| other())?);
            }
            lengths.push(length);
        }
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        let values = PrimitiveArray::<T>::new(numbers.into(), None);
        lists(&of, lengths, Arc::new(values), nulls)
    })
}

/// Where a sequence starts, what is between two, and how many there are.
fn steps([start, stop, step]: [i128; 3], has_step: bool) -> RunResult<(i128, i128, usize)> {
    let step = match has_step {
        true => step,
        false if start <= stop => 1,
        false => -1,
    };
    let refused = || bail_out("a sequence that Spark refuses");
    let length = match step {
        0 if start == stop => 1,
        0 => return Err(refused()),
        _ if start != stop && (start < stop) != (step > 0) => return Err(refused()),
        _ => (stop - start) / step + 1,
    };
    Ok((start, step, usize::try_from(length).unwrap_or(usize::MAX)))
}
