//! Stages that are native in part: the lower operators are, and what is above them Spark's own code does, in the JVM
//! beside the task. That may be an operator without a native form, functions of RDDs of data frames, or a write to a
//! sink of others.
//!
//! ```text
//! stage's binary:  (RDD ─▶ RDD ─▶ RDD of a native operator ─▶ …, function or shuffle)
//! to the JVM:      (RDD ─▶ RDD ─▶ NativeRows,                    function or shuffle)
//! ```
//!
//! In the binary the RDD of the last native operator becomes one of `org.firesteel.bridge.NativeRows`, whose rows the
//! native task gives. All else is as the driver sent it.

use std::fmt;

use javaser::Closure;
use javaser::arena::{Graph, NodeId, Value};

use crate::carried;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::read_attributes;
use crate::infer::of_query;
use crate::lineage::{Hint, Lineage};
use crate::literal::body;
use crate::object::{Object, Reader};
use crate::objects::check_accumulators;
use crate::pickled::settings_of;
use crate::plan::{Operator, OperatorKind};
use crate::stage::{Output, Settings, Stage};

/// Class that gives the JVM the rows of native operators.
const NATIVE_ROWS: &str = "org.firesteel.bridge.NativeRows";

/// Its `serialVersionUID`.
const NATIVE_ROWS_SUID: i64 = 1;

/// What it is in Spark.
const RDD: &str = "org.apache.spark.rdd.RDD";

/// RDDs of operators with a state.
const STATEFUL: [&str; 2] = ["ReadStateStoreRDD", "StateStoreRDD"];

/// What the names of all expressions have, and of what their generated code calls, that are told by a scan on the same
/// thread which file it reads.
const OF_FILES: &[u8] = b"InputFile";

/// Most RDDs of a stage that are the JVM's.
const MAX_RDDS: usize = 50;

/// Most bytes of a stage's binary for the JVM.
const MAX_BINARY: usize = 64 << 20;

/// What Spark's own code does with the rows of native operators.
#[derive(Clone, PartialEq, Eq)]
pub struct JvmRest {
    /// The stage's binary, a stream whose root is the pair of an RDD and the function or `ShuffleDependency`.
    pub binary: Vec<u8>,
    /// Columns of the native operators' rows.
    pub num_fields: usize,
}

impl fmt::Debug for JvmRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JvmRest")
            .field("bytes", &self.binary.len())
            .finish_non_exhaustive()
    }
}

/// An RDD of a stage that may be that of a native operator, and what is known of it.
struct Candidate<'g> {
    rdd: Object<'g>,
    hint: Hint<'g>,
    settings: Settings,
}

impl Stage {
    /// Has `judge` look at the operators below some of the stage's RDDs, from the top down, until one is good enough:
    /// as [`Stage`]s whose output is [`Output::Rest`]. `complete` adds to settings what sessions do not say.
    ///
    /// Only operators that save more than it takes to hand their rows on are looked at.
    pub fn below_rest<T>(
        graph: &Graph,
        (rdd, target): (NodeId, NodeId),
        settings: Settings,
        complete: impl Fn(&mut Settings),
        mut judge: impl FnMut(Self) -> Option<T>,
    ) -> Option<T> {
        let unpacked = carried::unpacked(graph).ok()?;
        let object = |node| Object {
            graph: &unpacked,
            node,
        };
        let mut next = Some(Candidate {
            rdd: object(rdd),
            hint: Hint::default(),
            settings,
        });
        for _ in 0..MAX_RDDS {
            let candidate = next?;
            let reader = Reader::new(&unpacked, candidate.settings.clone());
            if gives_rows(candidate.rdd)
                && let Ok(mut stage) = candidate.stage(&reader)
                && let Ok(rest) = rest_of(graph, (rdd, target), candidate.rdd.node, &stage)
            {
                stage.output = Output::Rest(Box::new(rest));
                if let Some(done) = judge(stage) {
                    return Some(done);
                }
            }
            next = candidate.below(&reader, &complete);
        }
        None
    }
}

impl<'g> Candidate<'g> {
    /// The operators, without what becomes of their rows.
    fn stage(&self, reader: &Reader<'g>) -> Result<Stage> {
        let tree = Lineage::new(reader).rdd(self.rdd, self.hint.clone())?;
        let operator = tree.operator;
        operator.output.require()?;
        if !pays(&operator) {
            return Err(Unsupported::of_use("too little below what the JVM does"));
        }
        // Not all rows may be asked for.
        check_accumulators(&operator, true)?;
        Ok(Stage {
            root: operator,
            inputs: tree.inputs,
            output: Output::Unit,
            kryo: reader.settings.kryo,
        })
    }

    /// The RDD that this one's rows are made of, partition by partition, if it is one that does no more.
    fn below(self, reader: &Reader<'g>, complete: &impl Fn(&mut Settings)) -> Option<Self> {
        let Self { rdd, settings, .. } = self;
        let (below, hint) = match rdd.class().strip_prefix("org.apache.spark.")? {
            "rdd.MapPartitionsRDD" if !rdd.flag("isFromBarrier") => {
                let closure = Lineage::new(reader).closure_of(rdd).ok();
                let hint = closure.and_then(|closure| child_of(reader, &closure));
                (rdd.object("prev").ok()?, hint)
            }
            "rdd.MapPartitionsWithEvaluatorRDD" => {
                let factory = rdd.object("evaluatorFactory").ok()?;
                let output = factory.elements("childOutput");
                let output = output.and_then(|output| read_attributes(reader, output));
                (rdd.object("prev").ok()?, output.ok().map(Hint::output))
            }
            "sql.execution.SQLExecutionRDD" => {
                let settings = match settings.in_query {
                    true => settings,
                    // It has settings of its own for jobs that are no queries.
                    false => {
                        let mut own = settings_of(rdd).ok()?;
                        complete(&mut own);
                        own.is_native = settings.is_native;
                        own
                    }
                };
                return Some(Self {
                    rdd: of_query(rdd).ok()?,
                    hint: Hint::default(),
                    settings,
                });
            }
            // Operators of streams, with a partition of what they know from the batches before.
            class
                if class.starts_with("sql.execution.streaming.")
                    && STATEFUL.contains(&rdd.name()) =>
            {
                (rdd.object("dataRDD").ok()?, None)
            }
            _ => return None,
        };
        Some(Self {
            rdd: below,
            hint: hint.unwrap_or_default(),
            settings,
        })
    }
}

/// The operator whose RDD an operator's closure is called with.
fn child_of<'g>(reader: &Reader<'g>, closure: &Closure) -> Option<Hint<'g>> {
    let (class, method) = closure.name();
    if !class.starts_with("sql.execution.") || method != "doExecute" {
        return None;
    }
    let plan = closure.arg(reader, 0).ok()?;
    plan.maybe("child").map(Hint::plan)
}

/// Whether the elements of an RDD of Spark SQL are rows, and not batches of columns or objects.
fn gives_rows(rdd: Object<'_>) -> bool {
    // The JVM takes rows that are kept from where they are.
    let is_kept = || {
        let level = rdd.object("storageLevel");
        level.map_or(true, |level| !matches!(*body(level), [0, _]))
    };
    let gives = match rdd.class().strip_prefix("org.apache.spark.") {
        Some("rdd.MapPartitionsRDD") => {
            let outer = Closure::in_field(rdd, "f").ok();
            let inner = outer.and_then(|outer| outer.inner(rdd.graph));
            inner.is_some_and(|inner| {
                let (class, method) = inner.name();
                class.starts_with("sql.execution.") && method == "doExecute"
            })
        }
        Some("rdd.MapPartitionsWithEvaluatorRDD") => {
            rdd.name_of("evaluatorFactory").is_ok_and(|factory| {
                [
                    "FilterEvaluatorFactory",
                    "ProjectEvaluatorFactory",
                    "WholeStageCodegenEvaluatorFactory",
                    "WindowEvaluatorFactory",
                    "WindowGroupLimitEvaluatorFactory",
                ]
                .contains(&factory)
            })
        }
        Some("rdd.ZippedPartitionsRDD2") => Closure::in_field(rdd, "f").is_ok_and(|closure| {
            let (class, method) = closure.name();
            class.starts_with("sql.execution.") && method == "doExecute"
        }),
        Some("rdd.ZippedPartitionsWithEvaluatorRDD") => rdd
            .name_of("evaluatorFactory")
            .is_ok_and(|factory| factory == "SortMergeJoinEvaluatorFactory"),
        _ => false,
    };
    gives && !is_kept()
}

/// Whether operators save more by being native than it takes to hand their rows on.
fn pays(operator: &Operator) -> bool {
    match &operator.kind {
        OperatorKind::Aggregate { .. }
        | OperatorKind::Sort { .. }
        | OperatorKind::TopK { .. }
        | OperatorKind::BroadcastHashJoin { .. }
        | OperatorKind::BroadcastNestedLoopJoin { .. }
        | OperatorKind::ShuffledHashJoin { .. }
        | OperatorKind::SortMergeJoin { .. }
        | OperatorKind::CartesianProduct { .. }
        | OperatorKind::Window { .. }
        | OperatorKind::WindowGroupLimit { .. } => true,
        _ => operator.children().any(pays),
    }
}

/// The stage's binary with `native` in place of what computes its rows.
fn rest_of(
    graph: &Graph,
    (rdd, target): (NodeId, NodeId),
    native: NodeId,
    stage: &Stage,
) -> Result<JvmRest> {
    let unreadable = |_| Unsupported::of_use("an object that cannot be copied");
    let mut changed = graph.clone();
    changed
        .become_instance(native, RDD, NATIVE_ROWS, NATIVE_ROWS_SUID)
        .map_err(unreadable)?;
    // What it was made of is not needed there.
    changed
        .set_field_at(native, RDD, "dependencies_", Value::Null)
        .map_err(unreadable)?;
    let root = changed.root().unwrap_or(Value::Null);
    let known = [Some(rdd), Some(target)];
    if changed
        .tuple(root)
        .is_none_or(|pair| pair.into_iter().map(Value::node).ne(known))
    {
        return Err(Unsupported::of_use("a stage's binary that is no pair"));
    }
    let mut copy = Graph::default();
    let root = copy.import(&changed, root).map_err(unreadable)?;
    copy.push_root(root).map_err(unreadable)?;
    let binary = copy.to_bytes();
    if binary.len() > MAX_BINARY {
        return Err(Unsupported::TooLarge("bytes of a stage"));
    }
    if binary.windows(OF_FILES.len()).any(|part| part == OF_FILES) {
        return Err(Unsupported::of_use(
            "names of files that native operators read",
        ));
    }
    Ok(JvmRest {
        binary,
        num_fields: stage.root.output.require()?.len(),
    })
}
