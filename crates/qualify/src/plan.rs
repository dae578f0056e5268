//! Plans as event logs have them, and their fragments: what the tasks of one stage run.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::event::or_default;

/// An operator of a plan.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PlanNode {
    #[serde(rename = "nodeName", default, deserialize_with = "or_default")]
    pub(crate) name: String,
    /// One line with its expressions. Long lists are cut off.
    #[serde(rename = "simpleString", default, deserialize_with = "or_default")]
    pub(crate) text: String,
    #[serde(default, deserialize_with = "or_default")]
    children: Vec<usize>,
    /// What a scan says about its files.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) metadata: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "or_default")]
    metrics: Vec<Metric>,
}

/// A plan. Its operators are in a list, for it may be deep.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Plan {
    root: PlanNode,
    /// The operators below the root: each has places in this list, all different.
    #[serde(skip)]
    pub(crate) below: Vec<PlanNode>,
}

impl Plan {
    fn children<'p>(&'p self, node: &'p PlanNode) -> impl DoubleEndedIterator<Item = &'p PlanNode> {
        node.children
            .iter()
            .filter_map(|place| self.below.get(*place))
    }
}

#[derive(Debug, Deserialize)]
struct Metric {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(rename = "accumulatorId")]
    id: i64,
}

/// Metrics that the writing side of a shuffle counts; the reading side counts the others.
const WRITTEN: [&str; 4] = [
    "shuffle records written",
    "shuffle bytes written",
    "shuffle write time",
    "data size",
];

/// A stage of generated code in a fragment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Code {
    /// The stage of code in the same fragment that it gives its rows to.
    above: Option<usize>,
    /// Whether an operator of it is among the objects that the code refers to.
    names_operators: bool,
}

/// The part of a plan that the tasks of a stage run.
#[derive(Debug, Default)]
pub(crate) struct Fragment<'p> {
    /// Its operators, those above before those below. The exchange that it writes comes first.
    pub(crate) nodes: Vec<&'p PlanNode>,
    /// Accumulators that tasks of this fragment only update.
    pub(crate) own: Vec<i64>,
    /// Accumulators of reading shuffles, which others may read, too.
    pub(crate) shared: Vec<i64>,
    code: Vec<Code>,
    /// Whether the answer of the query, or of a subquery, is made of its rows.
    pub(crate) is_result: bool,
}

impl Fragment<'_> {
    /// Whether all operators are found in the stage without a jar on the driver: those without generated code always
    /// are.
    pub(crate) fn names_operators(&self) -> bool {
        let names = |index: usize| {
            let mut next = Some(index);
            // Stages of code are above each other in the order in which they were met.
            while let Some(code) = next.and_then(|index| self.code.get(index)) {
                if code.names_operators {
                    return true;
                }
                next = code.above;
            }
            false
        };
        (0..self.code.len()).all(names)
    }
}

/// What a node is to the fragments around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    None,
    /// Others read what the fragment below it writes.
    Shuffle,
    /// The driver gathers the rows of the fragment below it.
    Gathered,
    /// A subquery: the same, and its rows are an answer.
    Answer,
}

fn border(name: &str) -> Border {
    match name {
        "Exchange" => Border::Shuffle,
        "BroadcastExchange" | "SubqueryBroadcast" | "SubqueryAdaptiveBroadcast" => Border::Gathered,
        "Subquery" => Border::Answer,
        _ => Border::None,
    }
}

/// Whether generated code refers to the operator itself.
fn is_named(node: &PlanNode) -> bool {
    let name = node.name.split('(').next().unwrap_or_default();
    match name {
        "HashAggregate" => !node.text.contains("(keys=[],"),
        "Sort" | "SortMergeJoin" | "ShuffledHashJoin" => true,
        _ => false,
    }
}

/// Takes a plan apart. The first fragment makes the query's answer.
pub(crate) fn fragments(plan: &Plan) -> Vec<Fragment<'_>> {
    struct Open<'p> {
        node: &'p PlanNode,
        fragment: usize,
        /// The innermost stage of code around it.
        code: Option<usize>,
        /// Whether the node's own code is part of that.
        inside: bool,
    }
    let mut all = vec![Fragment {
        is_result: true,
        ..Fragment::default()
    }];
    let mut open = vec![Open {
        node: &plan.root,
        fragment: 0,
        code: None,
        inside: false,
    }];
    while let Some(Open {
        node,
        fragment,
        mut code,
        mut inside,
    }) = open.pop()
    {
        let border = border(&node.name);
        let below = match border {
            Border::None => fragment,
            _ => {
                code = None;
                inside = false;
                all.push(Fragment {
                    is_result: border == Border::Answer,
                    ..Fragment::default()
                });
                all.len() - 1
            }
        };
        for metric in &node.metrics {
            let is_written = WRITTEN.contains(&metric.name.as_str());
            match border {
                Border::None => add(&mut all, fragment, |it| it.own.push(metric.id)),
                Border::Shuffle if is_written => add(&mut all, below, |it| it.own.push(metric.id)),
                Border::Shuffle => add(&mut all, fragment, |it| it.shared.push(metric.id)),
                // Counted by the driver.
                Border::Gathered | Border::Answer => {}
            }
        }
        add(&mut all, below, |it| {
            it.nodes.push(node);
            if node.name.starts_with("WholeStageCodegen") {
                it.code.push(Code {
                    above: code,
                    names_operators: false,
                });
                (code, inside) = (Some(it.code.len() - 1), true);
            } else if node.name == "InputAdapter" {
                inside = false;
            } else if inside
                && is_named(node)
                && let Some(code) = code.and_then(|code| it.code.get_mut(code))
            {
                code.names_operators = true;
            }
        });
        // The first child is looked at first.
        let children = plan.children(node).rev();
        open.extend(children.map(|child| Open {
            node: child,
            fragment: below,
            code,
            inside,
        }));
    }
    all
}

fn add<'a, 'p>(all: &'a mut [Fragment<'p>], at: usize, what: impl FnOnce(&'a mut Fragment<'p>)) {
    if let Some(fragment) = all.get_mut(at) {
        what(fragment);
    }
}

/// All operators of a plan, those below before those above.
pub(crate) fn from_below(plan: &Plan) -> Vec<&PlanNode> {
    let (mut open, mut all) = (vec![&plan.root], Vec::new());
    while let Some(node) = open.pop() {
        all.push(node);
        open.extend(plan.children(node));
    }
    all.reverse();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of operators, each with its number, metrics and what is below it.
    fn plan(nodes: &[(&str, &[i64], &[usize])]) -> Plan {
        let mut all: Vec<PlanNode> = nodes
            .iter()
            .map(|(name, ids, children)| PlanNode {
                name: (*name).to_owned(),
                text: format!("{name} [k#1]"),
                children: children.to_vec(),
                metrics: ids
                    .iter()
                    .map(|id| Metric {
                        // Those of exchanges are read, but for one.
                        name: if *id == 5 {
                            "data size"
                        } else {
                            "records read"
                        }
                        .to_owned(),
                        id: *id,
                    })
                    .collect(),
                ..PlanNode::default()
            })
            .collect();
        let root = all.pop().unwrap();
        Plan { root, below: all }
    }

    fn names<'p>(fragment: &Fragment<'p>) -> Vec<&'p str> {
        fragment
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect()
    }

    #[test]
    fn exchanges_are_borders() {
        let plan = plan(&[
            ("Scan parquet ", &[1], &[]),
            ("Filter", &[3], &[0]),
            ("WholeStageCodegen (1)", &[2], &[1]),
            ("Exchange", &[4, 5], &[2]),
            ("InputAdapter", &[7], &[3]),
            ("Sort", &[6], &[4]),
            ("WholeStageCodegen (2)", &[8], &[5]),
        ]);
        let all = fragments(&plan);
        assert_eq!(
            names(&all[0]),
            ["WholeStageCodegen (2)", "Sort", "InputAdapter"]
        );
        assert_eq!(
            names(&all[1]),
            [
                "Exchange",
                "WholeStageCodegen (1)",
                "Filter",
                "Scan parquet "
            ]
        );
        assert_eq!(
            (all[0].own.as_slice(), all[0].shared.as_slice()),
            (&[8, 6, 7][..], &[4][..])
        );
        assert_eq!(all[1].own, [5, 2, 3, 1]);
        assert!(all[0].is_result && !all[1].is_result);
        assert!(all[0].names_operators() && !all[1].names_operators());
    }

    #[test]
    fn code_is_named_by_code_above_it() {
        let code_above = |above: &'static str, below: &'static str| {
            plan(&[
                (below, &[], &[]),
                ("WholeStageCodegen (1)", &[], &[0]),
                ("InputAdapter", &[], &[1]),
                (above, &[], &[2]),
                ("WholeStageCodegen (2)", &[], &[3]),
            ])
        };
        let named = |plan: &Plan| fragments(plan)[0].names_operators();
        assert!(named(&code_above("Sort", "Filter")));
        assert!(!named(&code_above("Filter", "Sort")));
        assert!(named(&plan(&[("Filter", &[], &[])])));
    }
}
