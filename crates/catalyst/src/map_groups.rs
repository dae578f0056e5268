//! `FlatMapGroupsInPandasExec`, `FlatMapCoGroupsInPandasExec` and those for Arrow: rows that a function of Python makes
//! of rows of the same keys.
//!
//! The closure captured the operator, the columns that the function is given, each once, and where among them it finds
//! keys and values.

use javaser::Closure;
use javaser::arena::{NodeId, Value};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, read_attributes};
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::map_in_batch::is_described;
use crate::metrics::read_map;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::python::{groups_in_batches, only_function, text_option, texts};

/// What a function takes and gives that is called for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupUdf {
    /// `SQL_GROUPED_MAP_PANDAS_UDF`: a data frame.
    DataFrame,
    /// `SQL_GROUPED_MAP_ARROW_UDF`: a table.
    Table,
    /// `SQL_GROUPED_MAP_ARROW_ITER_UDF`: an iterator of record batches.
    Batches,
    /// `SQL_GROUPED_MAP_PANDAS_ITER_UDF`: an iterator of data frames.
    DataFrames,
    /// `SQL_COGROUPED_MAP_PANDAS_UDF`: two data frames.
    TwoDataFrames,
    /// `SQL_COGROUPED_MAP_ARROW_UDF`: two tables.
    TwoTables,
}

/// A function for groups.
#[derive(Debug, Clone, PartialEq)]
pub struct MapGroups {
    /// What the function takes and gives.
    pub kind: GroupUdf,
    /// The `PythonFunction` in the stage's graph.
    pub function: NodeId,
    /// `resultId`, by which profiles are kept.
    pub result_id: i64,
    /// What it is given of each input.
    pub inputs: Vec<GroupedInput>,
    /// Columns that come out.
    pub output: Vec<Attribute>,
    /// Whether each group comes in a stream of its own, and in batches as long as the session says, as from 4.1 on, or
    /// as one batch.
    pub in_batches: bool,
    /// Time zone in which the function sees timestamps.
    pub time_zone: String,
    /// What workers are told.
    pub settings: Vec<(String, String)>,
    /// Artifacts of which session workers see, if the session has its own.
    pub job_artifact_uuid: Option<String>,
}

/// What is given of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupedInput {
    /// Rows of which these are the same are a group. The input is sorted by them.
    pub keys: Vec<Attribute>,
    /// Columns that the function is given.
    pub columns: Vec<Attribute>,
    /// Whether columns, or parts of them, have metadata.
    pub has_metadata: bool,
    /// `argOffsets`: how many places follow, how many of them are those of keys, these, and those of values.
    pub places: Vec<usize>,
}

impl GroupUdf {
    /// Each once.
    pub const ALL: [Self; 6] = [
        Self::DataFrame,
        Self::Table,
        Self::Batches,
        Self::DataFrames,
        Self::TwoDataFrames,
        Self::TwoTables,
    ];

    /// The number of its `PythonEvalType`.
    #[must_use]
    pub fn eval_type(self) -> i32 {
        match self {
            Self::DataFrame => 201,
            Self::TwoDataFrames => 206,
            Self::Table => 209,
            Self::TwoTables => 210,
            Self::Batches => 215,
            Self::DataFrames => 216,
        }
    }

    /// How many inputs the groups are of.
    #[must_use]
    pub fn inputs(self) -> usize {
        match self {
            Self::TwoDataFrames | Self::TwoTables => 2,
            _ => 1,
        }
    }

    /// Whether the function is given data frames, in which nothing of columns is left but names and values.
    fn sees_frames(self) -> bool {
        matches!(
            self,
            Self::DataFrame | Self::DataFrames | Self::TwoDataFrames
        )
    }

    /// Whether rows are given as structs, in one column.
    #[must_use]
    pub fn sees_structs(self) -> bool {
        matches!(self, Self::Table | Self::Batches)
    }

    /// Whether the function sees in which batches a group comes.
    #[must_use]
    pub fn sees_batches(self) -> bool {
        matches!(self, Self::Batches | Self::DataFrames)
    }
}

impl MapGroups {
    fn read(
        reader: &Reader<'_>,
        plan: Object<'_>,
        inputs: Vec<GroupedInput>,
        job_artifact_uuid: Option<String>,
    ) -> Result<Self> {
        let kind = match (plan.get("pythonEvalType"), inputs.len()) {
            (Some(_), _) => {
                let number = plan.int("pythonEvalType")?;
                let mut all = GroupUdf::ALL.into_iter();
                all.find(|kind| kind.eval_type() == number)
            }
            // Spark 3.5 has no other.
            (None, 1) => Some(GroupUdf::DataFrame),
            (None, _) => Some(GroupUdf::TwoDataFrames),
        };
        let kind = kind.filter(|kind| kind.inputs() == inputs.len());
        let kind = kind.ok_or_else(|| Unsupported::of_use("a Python function of another kind"))?;
        if plan.flag("largeVarTypes") {
            return Err(Unsupported::of_use("Arrow streams with large texts"));
        }
        if !kind.sees_frames() && inputs.iter().any(|input| input.has_metadata) {
            // Tables have it, too, in some versions.
            return Err(Unsupported::of_use(
                "Python functions of columns with metadata",
            ));
        }
        let (function, result_id) = only_function(reader, plan)?;
        Ok(Self {
            kind,
            function,
            result_id,
            inputs,
            output: read_attributes(reader, plan.elements("output")?)?,
            in_batches: groups_in_batches(reader)?,
            time_zone: plan.text("sessionLocalTimeZone")?.into_owned(),
            settings: texts(reader, plan, "pythonRunnerConf")?,
            job_artifact_uuid,
        })
    }
}

impl GroupedInput {
    /// Of the closure's parameters: columns and places.
    fn read(
        reader: &Reader<'_>,
        keys: Vec<Attribute>,
        closure: &Closure,
        (columns, places): (usize, usize),
    ) -> Result<Self> {
        let given = closure.elements(reader, columns)?;
        let columns = read_attributes(reader, given.clone())?;
        let mut has_metadata = false;
        for column in given {
            let column = reader.expect(column)?;
            has_metadata |= is_described(reader, column)?;
        }
        let found = closure.args.get(places);
        let found = found.and_then(|array| reader.graph.array(*array));
        let found = found.ok_or_else(|| closure.unsupported())?.into_iter();
        let place = |value| usize::try_from(reader.graph.int(value)?).ok();
        let places: Option<Vec<_>> = found.map(place).collect();
        let places = places.filter(|places| match &places[..] {
            [length, of_keys, rest @ ..] => {
                *length == rest.len() + 1
                    && *of_keys == keys.len()
                    && rest.len() >= keys.len()
                    && rest.iter().all(|place| *place < columns.len())
            }
            _ => false,
        });
        Ok(Self {
            keys,
            columns,
            has_metadata,
            places: places.ok_or_else(|| closure.unsupported())?,
        })
    }
}

impl<'g> Lineage<'_, 'g> {
    /// What a function makes of the groups of an RDD.
    pub(crate) fn map_groups(&mut self, closure: &Closure, child: Object<'g>) -> Result<Tree> {
        let reader = self.reader;
        let plan = closure.arg(reader, 0)?;
        let keys = read_attributes(reader, plan.elements("groupingAttributes")?)?;
        let input = GroupedInput::read(reader, keys, closure, (1, 2))?;
        let child = self.rdd(child, Hint::plan(plan.object("child")?))?;
        let Tree { operator, inputs } = child;
        let option = |field: &str| match plan.get(field) {
            Some(_) => plan.option(field),
            // Versions that do not know it.
            None => Ok(None),
        };
        let options = [option("jobArtifactUUID")?, option("sessionUUID")?];
        self.mapped(plan, options, (vec![input], vec![operator]), inputs)
    }

    /// What a function makes of the groups of two RDDs.
    pub(crate) fn map_cogroups(&mut self, closure: &Closure, zipped: Object<'g>) -> Result<Tree> {
        let reader = self.reader;
        let plan = closure.arg(reader, 0)?;
        let (mut given, mut operators, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        for (side, group, rdd, parameters) in [
            ("left", "leftGroup", "rdd1", (1, 3)),
            ("right", "rightGroup", "rdd2", (2, 4)),
        ] {
            let keys = read_attributes(reader, plan.elements(group)?)?;
            given.push(GroupedInput::read(reader, keys, closure, parameters)?);
            let tree = self.rdd(zipped.object(rdd)?, Hint::plan(plan.object(side)?))?;
            operators.push(tree.operator);
            inputs.push(tree.inputs);
        }
        let option = |place| {
            let value = closure.args.get(place);
            value.map_or(Some(None), |value| reader.graph.scala_option(*value))
        };
        let (Some(artifacts), Some(session)) = (option(5), option(6)) else {
            return Err(closure.unsupported());
        };
        let inputs = Inputs::Zip(inputs);
        self.mapped(plan, [artifacts, session], (given, operators), inputs)
    }

    fn mapped(
        &self,
        plan: Object<'g>,
        [artifacts, session]: [Option<Value>; 2],
        (given, children): (Vec<GroupedInput>, Vec<Operator>),
        inputs: Inputs,
    ) -> Result<Tree> {
        // A session with logs of its own for workers.
        if session.is_some() {
            return Err(Unsupported::of_use("logs of Python workers"));
        }
        let artifacts = text_option(self.reader, artifacts);
        let map = MapGroups::read(self.reader, plan, given, artifacts)?;
        Ok(Tree {
            operator: Operator {
                output: Columns::Known(map.output.clone()),
                metrics: read_map(self.reader, plan, "pythonMetrics")?,
                kind: OperatorKind::MapGroups {
                    map: Box::new(map),
                    children,
                },
            },
            inputs,
        })
    }
}
