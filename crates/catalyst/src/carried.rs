//! Operators that generated code carries: the driver's session extension `org.firesteel.CarriedPlans`
//! (`jvm-bridge/plan`) adds one object to those that the code refers to. It is a pair of a name and the bytes of an
//! object stream of its own, which a JVM does not read.
//!
//! What other stages compute is an `OtherStage` there: its columns, and the metrics of reading it.

use std::borrow::Cow;

use javaser::Limits;
use javaser::arena::{Graph, NodeId, Value};

use crate::error::{Result, Unsupported};

/// First of the pair. No literal of a query is a pair, so that no data is taken for one.
const NAME: &str = "org.firesteel.plan";

/// Most stages of generated code in one task.
const MAX_PLANS: usize = 100;

/// The driver sends at most a MiB.
const LIMITS: Limits = Limits {
    max_depth: 10_000,
    max_handles: 100_000,
    max_array_len: 100_000,
    max_string_len: 1 << 20,
    max_total: 1 << 20,
};

/// The graph with carried operators in place of their bytes. Nodes of `graph` keep their ids.
///
/// # Errors
/// They cannot be read.
pub(crate) fn unpacked(graph: &Graph) -> Result<Cow<'_, Graph>> {
    let packed: Vec<_> = graph
        .nodes()
        .filter_map(|(pair, _)| Some((pair, graph.byte_array(second(graph, pair)?)?)))
        .collect();
    if packed.is_empty() {
        return Ok(Cow::Borrowed(graph));
    }
    if packed.len() > MAX_PLANS {
        return Err(Unsupported::TooLarge("stages of generated code"));
    }
    let mut unpacked = graph.clone();
    for (pair, bytes) in packed {
        let unreadable = |_| Unsupported::of_use("carried operators that cannot be read");
        let plan = Graph::parse(bytes, &LIMITS).map_err(unreadable)?;
        let root = plan.root().unwrap_or(Value::Null);
        let root = unpacked.import(&plan, root).map_err(unreadable)?;
        unpacked.set_field(pair, "_2", root).map_err(unreadable)?;
    }
    Ok(Cow::Owned(unpacked))
}

/// The operators, if `value` is an unpacked pair of them.
pub(crate) fn plan(graph: &Graph, value: Value) -> Option<Value> {
    second(graph, value.node()?)
}

fn second(graph: &Graph, pair: NodeId) -> Option<Value> {
    let [name, second] = graph.tuple(Value::Ref(pair))?[..] else {
        return None;
    };
    (graph.str(name)? == NAME).then_some(second)
}
