//! Operators on objects of users' classes, as typed data sets have them (`map`, `mapPartitions`, `groupByKey` …):
//! Spark's own code runs them, in the JVM beside the task, from rows to rows.
//!
//! ```text
//! rows ─▶ DeserializeToObject ─▶ MapElements ─▶ Filter ─▶ … ─▶ SerializeFromObject ─▶ rows
//! ```
//!
//! No column has objects: whatever is between the operator that makes them and the one that makes rows of them is one
//! chain, which goes to the JVM as a whole. Of an operator it gets the parts that do what it does: functions, and
//! expressions. Where the chain is not at its end yet, it has no stream.

use std::sync::Arc;

use bytes::Bytes;
use javaser::Closure;
use javaser::arena::Value;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{
    Attribute, columns_in, expr_id, read_attribute, read_attributes, runs_in_jvm, type_in_jvm,
};
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::Metric;
use crate::object::{Object, Reader};
use crate::output::plan_output;
use crate::plan::{Columns, LeafId, Operator, OperatorKind};

/// One of Spark's operators on objects. The names are Spark's, without `Exec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectOperator {
    /// An object of each row.
    DeserializeToObject,
    /// An object of each object.
    MapElements,
    /// Objects of all objects of a partition.
    MapPartitions,
    /// The objects of which a condition is true.
    Filter,
    /// A row of each object.
    SerializeFromObject,
    /// Columns of each row, behind its own.
    AppendColumns,
    /// A row of each object, and columns behind it.
    AppendColumnsWithObject,
    /// Objects of each group of rows.
    MapGroups,
    /// Objects of each group of rows of two inputs.
    CoGroup,
    /// The rows of an RDD, of whatever operator that only Spark's code knows.
    Scan,
    /// The objects of an RDD.
    ExternalRDDScan,
}

impl ObjectOperator {
    /// Each once, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::DeserializeToObject,
        Self::MapElements,
        Self::MapPartitions,
        Self::Filter,
        Self::SerializeFromObject,
        Self::AppendColumns,
        Self::AppendColumnsWithObject,
        Self::MapGroups,
        Self::CoGroup,
        Self::Scan,
        Self::ExternalRDDScan,
    ];

    /// By the name of Spark's class. Filters are not for objects alone.
    pub(crate) fn of(class: &str) -> Option<Self> {
        let name = class.strip_suffix("Exec")?;
        let mut all = Self::ALL.into_iter();
        all.find(|one| *one != Self::Filter && one.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DeserializeToObject => "DeserializeToObject",
            Self::MapElements => "MapElements",
            Self::MapPartitions => "MapPartitions",
            Self::Filter => "Filter",
            Self::SerializeFromObject => "SerializeFromObject",
            Self::AppendColumns => "AppendColumns",
            Self::AppendColumnsWithObject => "AppendColumnsWithObject",
            Self::MapGroups => "MapGroups",
            Self::CoGroup => "CoGroup",
            Self::Scan => "Scan",
            Self::ExternalRDDScan => "ExternalRDDScan",
        }
    }

    /// What it is called in messages to the JVM.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Whether it is where rows or objects come from: it has no input but the RDD that the JVM gets.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        matches!(self, Self::Scan | Self::ExternalRDDScan)
    }

    /// Fields of Spark's operator that the JVM gets, in this order.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Self::DeserializeToObject => &["deserializer"],
            Self::MapElements | Self::MapPartitions => &["func"],
            Self::Filter => &["condition"],
            Self::SerializeFromObject => &["serializer"],
            Self::AppendColumns => &["func", "deserializer", "serializer"],
            Self::AppendColumnsWithObject => &["func", "inputSerializer", "newColumnsSerializer"],
            Self::MapGroups => &[
                "func",
                "keyDeserializer",
                "valueDeserializer",
                "groupingAttributes",
                "dataAttributes",
            ],
            Self::CoGroup => &[
                "func",
                "keyDeserializer",
                "leftDeserializer",
                "rightDeserializer",
                "leftGroup",
                "rightGroup",
                "leftAttr",
                "rightAttr",
            ],
            Self::Scan | Self::ExternalRDDScan => &[],
        }
    }

    /// Whether it takes rows.
    fn takes_rows(self) -> bool {
        match self {
            Self::DeserializeToObject | Self::AppendColumns | Self::MapGroups | Self::CoGroup => {
                true
            }
            Self::MapElements
            | Self::MapPartitions
            | Self::Filter
            | Self::SerializeFromObject
            | Self::AppendColumnsWithObject
            | Self::Scan
            | Self::ExternalRDDScan => false,
        }
    }

    /// Fields with the expressions that make columns of what it gives; none if it gives objects.
    fn serializers(self) -> &'static [&'static str] {
        match self {
            Self::SerializeFromObject | Self::AppendColumns => &["serializer"],
            Self::AppendColumnsWithObject => &["inputSerializer", "newColumnsSerializer"],
            Self::DeserializeToObject
            | Self::MapElements
            | Self::MapPartitions
            | Self::Filter
            | Self::MapGroups
            | Self::CoGroup
            | Self::Scan
            | Self::ExternalRDDScan => &[],
        }
    }
}

/// A chain of operators on objects, each of which takes what the one before gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    /// The operators.
    pub chain: Vec<ObjectOperator>,
    /// A stream of objects: the parts of each operator. Empty while the chain gives objects.
    pub stream: Vec<u8>,
    /// Where tasks say which partition of an RDD the first operator reads, if it is a leaf.
    pub leaf: Option<LeafId>,
    /// Columns that the first operator is given of each input, each once.
    pub inputs: Vec<Vec<Attribute>>,
    /// Columns that are made.
    pub made: Vec<Attribute>,
    /// Whether each row of the only input comes out, with the columns that are made behind its own.
    pub appends: bool,
    /// How many filters there are. Each has a metric of the operator, [`Self::passed`]. A scan counts as one, which
    /// lets batches of columns pass.
    pub filters: usize,
    /// Whether functions have accumulators, and may add to them.
    pub accumulates: bool,
    /// Parts of the operators, in the stage's graph, until the stream is made of them.
    pub parts: Vec<Value>,
}

impl Objects {
    fn new(first: ObjectOperator, inputs: Vec<Vec<Attribute>>) -> Self {
        Self {
            chain: Vec::new(),
            stream: Vec::new(),
            leaf: None,
            inputs,
            made: Vec::new(),
            appends: first == ObjectOperator::AppendColumns,
            filters: 0,
            accumulates: false,
            parts: Vec::new(),
        }
    }

    /// Name of the metric with the objects that a filter lets pass, Spark's `numOutputRows`. The first filter is 0.
    #[must_use]
    pub fn passed(filter: usize) -> String {
        format!("objects passed by filter {filter}")
    }

    /// A chain that begins with an RDD.
    pub(crate) fn of_rdd(first: ObjectOperator, leaf: LeafId, rdd: Object<'_>) -> Self {
        Self {
            chain: vec![first],
            leaf: Some(leaf),
            parts: vec![Value::Ref(rdd.node)],
            ..Self::new(first, Vec::new())
        }
    }

    fn add(&mut self, operator: ObjectOperator, plan: Object<'_>) -> Result<()> {
        self.chain.push(operator);
        for field in operator.parts() {
            self.parts.push(plan.value(field)?);
        }
        Ok(())
    }

    /// Makes the stream of a chain that gives rows.
    pub(crate) fn finish(&mut self, reader: &Reader<'_>, made: Vec<Attribute>) -> Result<()> {
        self.made = made;
        let parts = std::mem::take(&mut self.parts);
        (self.stream, self.accumulates) = runs_in_jvm(reader, &parts)?;
        Ok(())
    }
}

/// Which operators run, for which partition.
#[derive(Debug)]
pub struct ObjectsCall {
    /// Tells the partition from all others of the process.
    pub number: u64,
    /// The operators.
    pub objects: Arc<Objects>,
    /// What a leaf reads.
    pub scan: Option<ScanCall>,
}

/// What the JVM reads of an RDD.
#[derive(Debug, Clone)]
pub struct ScanCall {
    /// The partition, as a stream of objects.
    pub partition: Vec<u8>,
    /// Types of the rows, as `StructType.json`.
    pub schema: String,
}

/// What operators are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectsInput<'a> {
    /// To go on.
    Next,
    /// Rows of the input that they have asked for: a stream of `UnsafeRow`s, each behind its size.
    Rows(&'a [u8]),
    /// That this input has no more.
    End,
}

/// What operators say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectsAnswer {
    /// Rows of this input are wanted.
    Wanted(usize),
    /// What is made, or a part of it.
    Made {
        /// A stream of `UnsafeRow`s, each behind its size.
        rows: Bytes,
        /// How many objects each filter has let pass since the last answer of this kind.
        passed: Vec<u64>,
        /// Whether there is no more.
        last: bool,
    },
}

/// Whether an operator gives objects.
pub(crate) fn gives_objects(operator: &Operator) -> bool {
    matches!(&operator.kind, OperatorKind::Objects { objects, .. } if objects.stream.is_empty())
}

/// An operator on objects, from its object.
pub(crate) fn object_operator(
    reader: &Reader<'_>,
    operator: ObjectOperator,
    plan: Object<'_>,
    children: Vec<Operator>,
) -> Result<Operator> {
    if reader.settings.is_native.is_none() {
        return Err(Unsupported::Class(plan.name().to_owned()));
    }
    let (mut objects, children, metrics) = match operator.takes_rows() {
        true => {
            let inputs = given(reader, operator, plan)?;
            if inputs.len() != children.len() || children.iter().any(gives_objects) {
                return Err(other());
            }
            let objects = Box::new(Objects::new(operator, inputs));
            (objects, children, Vec::new())
        }
        false => match only(children)? {
            Operator {
                kind: OperatorKind::Objects { objects, children },
                metrics,
                ..
            } if objects.stream.is_empty() => (objects, children, metrics),
            _ => return Err(other()),
        },
    };
    objects.add(operator, plan)?;
    let mut output = Columns::Opaque {
        num_fields: Some(1),
    };
    let serializers = operator.serializers();
    if !serializers.is_empty() {
        let mut made = Vec::new();
        for field in serializers {
            made.extend(named_columns(reader, plan, field)?);
        }
        objects.finish(reader, made.clone())?;
        if let ([child], true) = (&children[..], objects.appends) {
            made = [child.output.require()?, &made].concat();
        }
        output = Columns::Known(made);
    }
    Ok(Operator {
        kind: OperatorKind::Objects { objects, children },
        output,
        metrics,
    })
}

/// A filter of objects, whose condition is about nothing else.
pub(crate) fn filter(plan: Object<'_>, own: Vec<Metric>, mut child: Operator) -> Result<Operator> {
    let OperatorKind::Objects { objects, .. } = &mut child.kind else {
        return Err(other());
    };
    objects.add(ObjectOperator::Filter, plan)?;
    child.metrics.extend(own.into_iter().map(|metric| Metric {
        name: Objects::passed(objects.filters),
        ..metric
    }));
    objects.filters += 1;
    Ok(child)
}

/// A projection of objects: it gives them another name.
pub(crate) fn project(reader: &Reader<'_>, plan: Object<'_>, child: Operator) -> Result<Operator> {
    let [named] = plan.elements("projectList")?[..] else {
        return Err(other());
    };
    let named = reader.expect(named)?;
    let named = match named.name() {
        "Alias" => named.object("child")?,
        _ => named,
    };
    match named.name() {
        "AttributeReference" => Ok(child),
        _ => Err(other()),
    }
}

/// Fails if functions may be called for more objects or fewer than in Spark, and somebody may see how many. `some` says
/// whether the rows of an operator are not all asked for, there or here.
pub(crate) fn check_accumulators(operator: &Operator, some: bool) -> Result<()> {
    if let OperatorKind::Objects { objects, .. } = &operator.kind
        && some
        && objects.accumulates
    {
        return Err(Unsupported::of_use(
            "an accumulator of rows that are not all needed",
        ));
    }
    let below = match &operator.kind {
        OperatorKind::Sort { .. } | OperatorKind::TopK { .. } | OperatorKind::Aggregate { .. } => {
            false
        }
        OperatorKind::Limit { .. }
        | OperatorKind::BroadcastHashJoin { .. }
        | OperatorKind::BroadcastNestedLoopJoin { .. }
        | OperatorKind::ShuffledHashJoin { .. }
        | OperatorKind::SortMergeJoin { .. }
        | OperatorKind::CartesianProduct { .. } => true,
        _ => some,
    };
    operator
        .children()
        .try_for_each(|child| check_accumulators(child, below))
}

/// The columns of an operator that makes rows of objects.
pub(crate) fn object_output(reader: &Reader<'_>, plan: Object<'_>) -> Result<Vec<Attribute>> {
    let operator = ObjectOperator::of(plan.name()).ok_or_else(other)?;
    let mut output = Vec::new();
    if operator == ObjectOperator::AppendColumns {
        output = plan_output(reader, plan.object("child")?)?;
    }
    for field in operator.serializers() {
        output.extend(named_columns(reader, plan, field)?);
    }
    Ok(output)
}

/// Whether columns are those of objects.
pub(crate) fn are_objects(reader: &Reader<'_>, columns: &[Value]) -> bool {
    let [only] = columns else {
        return false;
    };
    let of = reader
        .expect(*only)
        .and_then(|column| column.value("dataType"));
    of.is_ok_and(|of| reader.class(of) == "org.apache.spark.sql.types.ObjectType")
}

fn other() -> Unsupported {
    Unsupported::of_use("objects of another operator")
}

fn only(children: Vec<Operator>) -> Result<Operator> {
    let mut children = children.into_iter();
    match (children.next(), children.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(other()),
    }
}

/// The columns that an operator is given of each of its inputs.
fn given(
    reader: &Reader<'_>,
    operator: ObjectOperator,
    plan: Object<'_>,
) -> Result<Vec<Vec<Attribute>>> {
    let of = |fields: &[&str]| {
        let mut columns: Vec<Attribute> = Vec::new();
        for field in fields {
            for column in read_attributes(reader, plan.elements(field)?)? {
                if columns.iter().all(|known| known.id != column.id) {
                    columns.push(column);
                }
            }
        }
        Ok(columns)
    };
    let all = match operator {
        ObjectOperator::MapGroups => vec![of(&["groupingAttributes", "dataAttributes"])?],
        ObjectOperator::CoGroup => vec![
            of(&["leftGroup", "leftAttr"])?,
            of(&["rightGroup", "rightAttr"])?,
        ],
        _ => return Ok(vec![columns_in(reader, plan.value("deserializer")?)?]),
    };
    for field in operator
        .parts()
        .iter()
        .filter(|field| field.ends_with("Deserializer"))
    {
        let used = columns_in(reader, plan.value(field)?)?;
        let known = |column: &Attribute| all.iter().flatten().any(|known| known.id == column.id);
        if !used.iter().all(known) {
            return Err(other());
        }
    }
    Ok(all)
}

/// Columns by the expressions that make them.
fn named_columns(reader: &Reader<'_>, plan: Object<'_>, field: &str) -> Result<Vec<Attribute>> {
    let named = |value| {
        let named = reader.expect(value)?;
        if named.name() != "Alias" {
            return read_attribute(reader, value);
        }
        let of = type_in_jvm(reader, named.object("child")?);
        Ok(Attribute {
            name: named.text("name")?.into_owned(),
            id: expr_id(named.object("exprId")?)?,
            data_type: of.ok_or_else(|| Unsupported::of_use("a serializer of another type"))?,
            nullable: true,
        })
    };
    plan.elements(field)?.into_iter().map(named).collect()
}

impl<'g> Lineage<'_, 'g> {
    /// What an operator on objects makes of an RDD.
    pub(crate) fn objects(
        &mut self,
        operator: ObjectOperator,
        closure: &Closure,
        child: Object<'g>,
    ) -> Result<Tree> {
        let plan = closure.arg(self.reader, 0)?;
        let child = self.rdd(child, Hint::plan(plan.object("child")?))?;
        Ok(Tree {
            operator: object_operator(self.reader, operator, plan, vec![child.operator])?,
            inputs: child.inputs,
        })
    }

    /// What is made of the groups of two RDDs.
    pub(crate) fn cogrouped_objects(
        &mut self,
        closure: &Closure,
        zipped: Object<'g>,
    ) -> Result<Tree> {
        let plan = closure.arg(self.reader, 0)?;
        let (mut children, mut inputs) = (Vec::new(), Vec::new());
        for (side, rdd) in [("left", "rdd1"), ("right", "rdd2")] {
            let child = self.rdd(zipped.object(rdd)?, Hint::plan(plan.object(side)?))?;
            children.push(child.operator);
            inputs.push(child.inputs);
        }
        Ok(Tree {
            operator: object_operator(self.reader, ObjectOperator::CoGroup, plan, children)?,
            inputs: Inputs::Zip(inputs),
        })
    }
}
