use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Fields, Schema};

use crate::abi::{ArrowArray, ArrowSchema};
use crate::guest::declaration::Signature;
use crate::guest::{Failure, Task, borrowed, raw};
use crate::types;

/// What an instance is made for.
#[derive(Debug, Clone)]
pub struct Binding {
    pub(crate) task: Task,
    pub(crate) signature: usize,
    pub(crate) arguments: Fields,
    pub(crate) constants: Vec<Option<ArrayRef>>,
    pub(crate) result: DataType,
}

impl Binding {
    /// The task that the instance is for.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The number of the signature, from 0 on.
    #[must_use]
    pub fn signature(&self) -> usize {
        self.signature
    }

    /// The arguments and their types. For a partition function, the columns of its input.
    #[must_use]
    pub fn arguments(&self) -> &Fields {
        &self.arguments
    }

    /// The value of an argument that is the same for all rows: an array of one value, which may be kept. `None` if the
    /// argument is no constant or there is none of this number.
    #[must_use]
    pub fn constant(&self, argument: usize) -> Option<&ArrayRef> {
        self.constants.get(argument)?.as_ref()
    }

    /// Type of the result. For partition and table functions, a struct of [`Binding::columns`].
    #[must_use]
    pub fn result(&self) -> &DataType {
        &self.result
    }

    /// Columns of the result of a partition or table function; others have none.
    #[must_use]
    pub fn columns(&self) -> Fields {
        match &self.result {
            DataType::Struct(columns) => columns.clone(),
            _ => Fields::empty(),
        }
    }
}

/// The columns of a schema that the caller gives.
///
/// # Safety
/// `schema` is NULL or a schema.
pub(crate) unsafe fn fields(schema: *const ArrowSchema) -> Result<Fields, Failure> {
    raw::present("schema", schema)?;
    // SAFETY: a schema, as the caller promises.
    let schema = unsafe { &*schema };
    if schema.release.is_none() {
        return Err(Failure::internal("the caller's schema is released"));
    }
    Ok(Schema::try_from(schema)?.fields)
}

/// Refuses arguments that are not those of the signature. `named`: the arguments have names, as a partition's columns.
pub(crate) fn check_arguments(
    signature: &Signature,
    arguments: &Fields,
    time_zone: &str,
    named: bool,
) -> Result<(), Failure> {
    let fit = match named {
        true => {
            let declared = types::columns(&signature.arguments, time_zone).map_err(bad_type)?;
            declared.is_empty() || types::columns_fit(&declared, arguments)
        }
        false => {
            let declared = types::types(&signature.arguments, time_zone).map_err(bad_type)?;
            declared.len() == arguments.len()
                && declared
                    .iter()
                    .zip(arguments)
                    .all(|(declared, given)| types::fits(declared, given.data_type()))
        }
    };
    match fit {
        true => Ok(()),
        false => Err(Failure::internal(format!(
            "the caller gives `{}` where the function takes `{}`",
            types::names(arguments),
            signature.arguments
        ))),
    }
}

/// The values of the arguments that are constant.
///
/// # Safety
/// `constants` is NULL or a struct array of the arguments' types; `is_constant` is NULL or has a byte for each.
pub(crate) unsafe fn constants(
    constants: *const ArrowArray,
    is_constant: *const u8,
    arguments: &Fields,
) -> Result<Vec<Option<ArrayRef>>, Failure> {
    if constants.is_null() || is_constant.is_null() || arguments.is_empty() {
        return Ok(vec![None; arguments.len()]);
    }
    // SAFETY: as the caller promises.
    let (values, is_constant) = unsafe {
        let is_constant = std::slice::from_raw_parts(is_constant, arguments.len());
        (borrowed::owned(constants, arguments)?, is_constant)
    };
    if values.len() != 1 {
        let message = format!("the caller gives {} rows of constants", values.len());
        return Err(Failure::internal(message));
    }
    let constants = values.columns().iter().zip(is_constant);
    let constants = constants.map(|(value, is_constant)| match is_constant {
        0 => None,
        _ => Some(value.clone()),
    });
    Ok(constants.collect())
}

pub(crate) fn bad_type(error: types::TypeError) -> Failure {
    Failure::internal(error.to_string())
}
