//! SQL metrics: accumulators that the SQL page and adaptive execution read.

use javaser::arena::Value;

use crate::error::Result;
use crate::object::{Object, Reader};

/// An `SQLMetric`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Spark's key for it in its operator: `numOutputRows`.
    pub name: String,
    /// Id of the accumulator.
    pub accumulator: i64,
}

impl Metric {
    pub(crate) fn read(reader: &Reader<'_>, name: &str, value: Value) -> Result<Self> {
        let metric = reader.expect(value)?;
        Ok(Self {
            name: name.to_owned(),
            accumulator: metric.object("metadata")?.long("id")?,
        })
    }
}

/// The metrics in a map that may be null, by name.
pub(crate) fn read_map(
    reader: &Reader<'_>,
    object: Object<'_>,
    field: &str,
) -> Result<Vec<Metric>> {
    if object.maybe(field).is_none() {
        return Ok(Vec::new());
    }
    let mut metrics = object
        .pairs(field)?
        .into_iter()
        .map(|(name, metric)| {
            let name = reader
                .graph
                .str(name)
                .ok_or_else(|| object.missing(field))?;
            Metric::read(reader, &name, metric)
        })
        .collect::<Result<Vec<_>>>()?;
    metrics.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(metrics)
}

/// Metrics of an operator.
pub(crate) fn of_operator(reader: &Reader<'_>, operator: Object<'_>) -> Result<Vec<Metric>> {
    match operator.get("metrics") {
        Some(_) => read_map(reader, operator, "metrics"),
        None => Ok(Vec::new()),
    }
}
