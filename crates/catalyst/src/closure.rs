//! What operators and dependencies captured, read out of Spark's closures.

use javaser::Closure;
use javaser::arena::Value;

use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};

/// Reading a closure whose captured arguments are known by their place.
pub(crate) trait ClosureArgs: Sized {
    /// The closure in a field.
    fn in_field(object: Object<'_>, field: &str) -> Result<Self>;
    /// A captured object.
    fn arg<'g>(&self, reader: &Reader<'g>, index: usize) -> Result<Object<'g>>;
    /// A captured number.
    fn int(&self, reader: &Reader<'_>, index: usize) -> Result<i32>;
    /// A captured collection.
    fn elements(&self, reader: &Reader<'_>, index: usize) -> Result<Vec<Value>>;
    /// That the closure is not known.
    fn unsupported(&self) -> Unsupported;
}

impl ClosureArgs for Closure {
    fn in_field(object: Object<'_>, field: &str) -> Result<Self> {
        Self::read(object.graph, object.value(field)?).ok_or_else(|| object.missing(field))
    }

    fn arg<'g>(&self, reader: &Reader<'g>, index: usize) -> Result<Object<'g>> {
        match self.args.get(index) {
            Some(value) => reader.expect(*value),
            None => Err(self.unsupported()),
        }
    }

    fn int(&self, reader: &Reader<'_>, index: usize) -> Result<i32> {
        self.args
            .get(index)
            .and_then(|value| reader.graph.int(*value))
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| self.unsupported())
    }

    fn elements(&self, reader: &Reader<'_>, index: usize) -> Result<Vec<Value>> {
        self.args
            .get(index)
            .and_then(|value| reader.graph.elements(*value))
            .ok_or_else(|| self.unsupported())
    }

    fn unsupported(&self) -> Unsupported {
        Unsupported::of_use(self.describe())
    }
}
