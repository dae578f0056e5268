//! What all that reads JSON shares: limits of Jackson and of the crate that reads here.

use datafusion_common::{DataFusionError, Result};
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};
use rows::error::bail_out;

/// Depth up to which the crate reads.
pub(crate) const MAX_DEPTH: usize = 200;

/// Jackson's longest name.
pub(crate) const MAX_NAME: usize = 50_000;

/// Whether a text has no token.
pub(crate) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| b" \t\r\n".contains(byte))
}

/// Passes over a value. Jackson looks how long numbers and names are there too.
pub(crate) fn skip(jiter: &mut Jiter<'_>, peek: Peek, max_number: usize) -> Result<()> {
    let start = jiter.current_index();
    jiter.known_skip(peek).map_err(no_json)?;
    let text = jiter.slice_to_current(start);
    if text.len() <= max_number.min(MAX_NAME) {
        return Ok(());
    }
    let mut runs = text.split(|byte| !(byte.is_ascii_digit() || b"+-.eE".contains(byte)));
    match runs.any(|run| run.len() > max_number) || text.len() > MAX_NAME {
        true => Err(bail_out("JSON with long numbers or names")),
        false => Ok(()),
    }
}

/// What the crate says of a text that is no JSON for it; it may be for Jackson.
pub(crate) fn no_json(_: JiterError) -> DataFusionError {
    bail_out("text that is no JSON")
}

/// Whether a text ended too early.
pub(crate) fn is_end(error: &JiterError) -> bool {
    use JsonErrorType as Of;
    match &error.error_type {
        JiterErrorType::JsonError(of) => matches!(
            of,
            Of::EofWhileParsingList
                | Of::EofWhileParsingObject
                | Of::EofWhileParsingString
                | Of::EofWhileParsingValue
        ),
        JiterErrorType::WrongType { .. } => false,
    }
}
