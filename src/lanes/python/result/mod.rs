//! Values of result tasks, as `spark.serializer` writes them.

mod java;
mod kryo;

use javaser::Catalog;
use javaser::kryo::KryoForm;

use crate::cancel::Cancellation;
use crate::python::{Element, Elements};
use crate::task::TaskError;

/// Longest array that Java can have.
const MAX_ELEMENTS: i32 = i32::MAX - 8;

/// `spark.serializer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultFormat {
    /// `JavaSerializer`
    Java,
    /// `KryoSerializer`
    Kryo(KryoForm),
}

impl ResultFormat {
    /// A `java.lang.Long`.
    pub(super) fn long(self, value: i64) -> Vec<u8> {
        match self {
            Self::Java => java::long(value),
            Self::Kryo(kryo) => kryo::long(kryo, value),
        }
    }

    /// `()`, a `scala.runtime.BoxedUnit`.
    pub(super) fn unit(self) -> Vec<u8> {
        match self {
            Self::Java => java::unit(),
            Self::Kryo(kryo) => kryo::unit(kryo),
        }
    }

    /// An array of at most `limit` elements; `class` is its class. No more elements are taken than needed.
    ///
    /// # Errors
    /// Those of the elements; the task is told to stop; there are too many elements.
    pub(super) fn array(
        self,
        class: &str,
        limit: Option<usize>,
        elements: Elements<'_>,
        catalog: &Catalog,
        cancellation: &Cancellation,
    ) -> Result<Vec<u8>, TaskError> {
        match self {
            Self::Java => java::array(class, limit, elements, catalog, cancellation),
            Self::Kryo(kryo) => kryo::array(kryo, class, limit, elements, cancellation),
        }
    }
}

/// Gives the elements of an array to `write`, and says how many there were.
fn take(
    limit: Option<usize>,
    elements: Elements<'_>,
    cancellation: &Cancellation,
    mut write: impl FnMut(Element) -> Result<(), TaskError>,
) -> Result<i32, TaskError> {
    let mut count = 0;
    for element in elements.take(limit.unwrap_or(usize::MAX)) {
        if let Some(reason) = cancellation.reason() {
            return Err(TaskError::Killed(reason));
        }
        if count == MAX_ELEMENTS {
            return Err(TaskError::exception(
                "java.lang.OutOfMemoryError",
                "Requested array size exceeds VM limit",
            ));
        }
        write(element?)?;
        count += 1;
    }
    Ok(count)
}
