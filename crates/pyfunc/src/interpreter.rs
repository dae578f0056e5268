//! What expressions ask the interpreter.

use crate::evaluate::LeftToPython;

/// What depends on the interpreter and its version of Unicode.
pub trait Interpreter {
    /// `int(text)`
    ///
    /// # Errors
    /// It raises an error, or the number has more than 64 bits.
    fn int(&self, text: &str) -> Result<i64, LeftToPython>;

    /// `float(text)`
    ///
    /// # Errors
    /// It raises an error.
    fn float(&self, text: &str) -> Result<f64, LeftToPython>;

    /// `text.lower()`
    ///
    /// # Errors
    /// It raises an error.
    fn lower(&self, text: &str) -> Result<String, LeftToPython>;

    /// `text.upper()`
    ///
    /// # Errors
    /// It raises an error.
    fn upper(&self, text: &str) -> Result<String, LeftToPython>;

    /// What another method without arguments makes of a text, such as `title`.
    ///
    /// # Errors
    /// It raises an error, or is not asked here.
    fn text(&self, _method: &'static str, _text: &str) -> Result<String, LeftToPython> {
        Err(LeftToPython)
    }

    /// What a method without arguments says of a text, such as `isalpha`.
    ///
    /// # Errors
    /// It raises an error, or is not asked here.
    fn holds(&self, _method: &'static str, _text: &str) -> Result<bool, LeftToPython> {
        Err(LeftToPython)
    }
}

/// No interpreter at hand: everything that needs one is left to Python.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInterpreter;

impl Interpreter for NoInterpreter {
    fn int(&self, _: &str) -> Result<i64, LeftToPython> {
        Err(LeftToPython)
    }

    fn float(&self, _: &str) -> Result<f64, LeftToPython> {
        Err(LeftToPython)
    }

    fn lower(&self, _: &str) -> Result<String, LeftToPython> {
        Err(LeftToPython)
    }

    fn upper(&self, _: &str) -> Result<String, LeftToPython> {
        Err(LeftToPython)
    }
}
