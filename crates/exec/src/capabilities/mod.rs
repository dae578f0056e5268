//! Which operators, joins and aggregate functions run natively, and for which types: found by lowering small plans.

mod examples;

use self::examples::{
    all_joins, column, examples, field, grouping, local, operator, order, scan, shuffled, windows,
    with_broadcast,
};
use super::aggregate;
use super::expr::capabilities::{name as type_name, types as plain_types};
use super::lower::{Demand, Lowering};
use catalyst::DataType;
use catalyst::GroupUdf;
use catalyst::Inputs;
use catalyst::MapUdf;
use catalyst::ObjectOperator;
use catalyst::PythonForm;
use catalyst::TableForm;
use catalyst::{AggregateKind, Between, BitOperation, Comoment, ListOrder, Moment, Ties};
use catalyst::{AggregateStrategy, Operator, OperatorKind};
use catalyst::{BuildSide, JoinType};
use catalyst::{Draw, EvalMode, Expr, ExprKind};
use javaser::ScalaVersion;
use rows::{RowDecoder, RowEncoder};

/// The joins that an operator of Spark's runs natively.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinCapability {
    /// Spark's operator.
    pub operator: &'static str,
    /// The side of which there is a table in Spark, if there is.
    pub build_side: Option<BuildSide>,
    /// Types of joins.
    pub types: Vec<String>,
}

/// An aggregate function with the types of its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateCapability {
    /// Name of Spark's class.
    pub name: &'static str,
    /// Types of the argument.
    pub arguments: Vec<String>,
}

/// What can be done with values of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeCapability {
    /// The type.
    pub name: String,
    /// Columns of it are read from files.
    pub scanned: bool,
    /// It is read from and written into the rows of shuffles and results.
    pub rows: bool,
    /// Rows are sorted by it.
    pub sort_key: bool,
    /// Rows are grouped by it.
    pub group_key: bool,
    /// Rows are joined by it with a broadcast side.
    pub broadcast_key: bool,
    /// Rows are joined by it with two sides of shuffles.
    pub shuffled_key: bool,
}

/// Spark's operators that run natively.
#[must_use]
pub fn operators() -> Vec<&'static str> {
    let mut names = Vec::new();
    for (operator, inputs) in examples() {
        let name = class_of(&operator.kind);
        if is_lowered(&operator, &inputs) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Joins that run natively.
#[must_use]
pub fn joins() -> Vec<JoinCapability> {
    let mut found: Vec<JoinCapability> = Vec::new();
    for (operator, inputs, build_side, join_type) in all_joins() {
        let name = class_of(&operator.kind);
        let is_it =
            |join: &&mut JoinCapability| join.operator == name && join.build_side == build_side;
        let join = match found.iter_mut().find(is_it) {
            Some(known) => known,
            None => {
                found.push(JoinCapability {
                    operator: name,
                    build_side,
                    types: Vec::new(),
                });
                let Some(last) = found.last_mut() else {
                    continue;
                };
                last
            }
        };
        if is_lowered(&operator, &inputs) {
            join.types.push(join_name(&join_type).to_owned());
        }
    }
    found
}

/// Aggregate functions that run natively.
#[must_use]
pub fn aggregates() -> Vec<AggregateCapability> {
    let functions = functions().into_iter().map(|kind| AggregateCapability {
        name: function_name(kind),
        arguments: types()
            .iter()
            .filter(|of| aggregate::takes(kind, of))
            .map(type_name)
            .collect(),
    });
    let mut found: Vec<AggregateCapability> = Vec::new();
    for function in functions.filter(|function| !function.arguments.is_empty()) {
        // Modes of a function differ in what they do on overflow only.
        if !found.contains(&function) {
            found.push(function);
        }
    }
    found
}

/// Functions of windows that are no aggregates.
#[must_use]
pub fn window_functions() -> Vec<&'static str> {
    let mut names = Vec::new();
    for (name, operator) in windows() {
        if is_lowered(&operator, &Inputs::Leaf(0)) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What can be done with values of each type.
#[must_use]
pub fn types_of_columns() -> Vec<TypeCapability> {
    let of = |of: &DataType| {
        let columns = [column(0, of)];
        let key = Expr::attribute(column(0, of));
        let by = |kind: OperatorKind| {
            let output = columns.to_vec();
            is_lowered(&operator(kind, output), &Inputs::Leaf(0))
        };
        let all = || [of].into_iter();
        TypeCapability {
            name: type_name(of),
            scanned: scan(of).is_some_and(|scan| is_lowered(&scan, &Inputs::Leaf(0))),
            rows: RowEncoder::new(all()).is_ok() && RowDecoder::new(all()).is_ok(),
            sort_key: by(OperatorKind::Sort {
                order: vec![order(&key)],
                global: false,
                child: local(0, &columns),
            }),
            group_key: by(grouping(AggregateStrategy::Hash, &key, &columns)),
            broadcast_key: with_broadcast(of, &JoinType::Inner, BuildSide::Right, true)
                .is_some_and(|join| is_lowered(&join, &Inputs::Leaf(0))),
            shuffled_key: {
                let (join, inputs) = shuffled(of, &JoinType::Inner, None);
                is_lowered(&join, &inputs)
            },
        }
    };
    types().iter().map(of).collect()
}

fn types() -> Vec<DataType> {
    let mut all = plain_types();
    all.push(DataType::CalendarInterval);
    all.push(DataType::Array {
        element: Box::new(DataType::Integer),
        contains_null: true,
    });
    all.push(DataType::Map {
        key: Box::new(DataType::Integer),
        value: Box::new(DataType::Integer),
        value_contains_null: true,
    });
    all.push(DataType::Struct(vec![field(&DataType::Integer)]));
    all
}

/// The name of Spark's class, or of its RDD.
fn class_of(kind: &OperatorKind) -> &'static str {
    match kind {
        OperatorKind::FileSourceScan(_) => "FileSourceScanExec",
        OperatorKind::InMemoryTableScan(_) => "InMemoryTableScanExec",
        OperatorKind::ShuffleRead { .. } => "ShuffledRowRDD",
        OperatorKind::LocalTableScan { .. } => "LocalTableScanExec",
        OperatorKind::OneRowRelation { .. } => "OneRowRelationExec",
        OperatorKind::PickledScan(_) | OperatorKind::CheckpointScan(_) => "RDDScanExec",
        OperatorKind::KeepRows { .. } => "LocalCheckpointRDD",
        OperatorKind::Range { .. } => "RangeExec",
        OperatorKind::Filter { condition, .. } => match &condition.kind {
            ExprKind::Draw(sample @ Draw::Sampled { .. }) => sample.name(),
            _ => "FilterExec",
        },
        OperatorKind::Project { .. } => "ProjectExec",
        OperatorKind::Aggregate { strategy, .. } => match strategy {
            AggregateStrategy::Hash => "HashAggregateExec",
            AggregateStrategy::Sort => "SortAggregateExec",
            AggregateStrategy::ObjectHash { .. } => "ObjectHashAggregateExec",
        },
        OperatorKind::Sort { .. } => "SortExec",
        OperatorKind::Limit { offset: 0, .. } => "LocalLimitExec",
        OperatorKind::Limit { .. } => "GlobalLimitExec",
        OperatorKind::BroadcastHashJoin { .. } => "BroadcastHashJoinExec",
        OperatorKind::BroadcastNestedLoopJoin { .. } => "BroadcastNestedLoopJoinExec",
        OperatorKind::ShuffledHashJoin { .. } => "ShuffledHashJoinExec",
        OperatorKind::SortMergeJoin { .. } => "SortMergeJoinExec",
        OperatorKind::CartesianProduct { .. } => "CartesianProductExec",
        OperatorKind::Union(_) => "UnionExec",
        OperatorKind::Coalesce(_) => "CoalesceExec",
        OperatorKind::Expand { .. } => "ExpandExec",
        OperatorKind::TopK { .. } => "TakeOrderedAndProjectExec",
        OperatorKind::Window { .. } => "WindowExec",
        OperatorKind::WindowGroupLimit { .. } => "WindowGroupLimitExec",
        OperatorKind::Generate { .. } => "GenerateExec",
        OperatorKind::EvalPython { form, .. } => match form {
            PythonForm::Pickled { .. } => "BatchEvalPythonExec",
            PythonForm::Arrow { .. } => "ArrowEvalPythonExec",
        },
        OperatorKind::TablePython { table, .. } => match table.form {
            TableForm::Pickled { .. } => "BatchEvalPythonUDTFExec",
            TableForm::Values(_) | TableForm::Batches(_) => "ArrowEvalPythonUDTFExec",
        },
        // Its name changed when groups became streams.
        OperatorKind::AggregatePython { aggregate, .. } => match aggregate.in_batches {
            false => "AggregateInPandasExec",
            true => "ArrowAggregatePythonExec",
        },
        OperatorKind::WindowPython { window, .. } => match window.in_batches {
            false => "WindowInPandasExec",
            true => "ArrowWindowPythonExec",
        },
        OperatorKind::MapGroups { map, .. } => match map.kind {
            GroupUdf::DataFrame | GroupUdf::DataFrames => "FlatMapGroupsInPandasExec",
            GroupUdf::Table | GroupUdf::Batches => "FlatMapGroupsInArrowExec",
            GroupUdf::TwoDataFrames => "FlatMapCoGroupsInPandasExec",
            GroupUdf::TwoTables => "FlatMapCoGroupsInArrowExec",
        },
        OperatorKind::Objects { objects, .. } => match objects.chain.last() {
            Some(ObjectOperator::DeserializeToObject) => "DeserializeToObjectExec",
            Some(ObjectOperator::MapElements) => "MapElementsExec",
            Some(ObjectOperator::MapPartitions) => "MapPartitionsExec",
            Some(ObjectOperator::AppendColumns) => "AppendColumnsExec",
            Some(ObjectOperator::AppendColumnsWithObject) => "AppendColumnsWithObjectExec",
            Some(ObjectOperator::MapGroups) => "MapGroupsExec",
            Some(ObjectOperator::CoGroup) => "CoGroupExec",
            Some(ObjectOperator::SerializeFromObject) => "SerializeFromObjectExec",
            Some(ObjectOperator::Scan) => "any other scan",
            Some(ObjectOperator::ExternalRDDScan) => "ExternalRDDScanExec",
            Some(ObjectOperator::Filter) | None => "FilterExec",
        },
        OperatorKind::MapInBatch { map, .. } => match map.kind {
            MapUdf::DataFrames => "MapInPandasExec",
            MapUdf::Batches => "MapInArrowExec",
        },
    }
}

fn join_name(of: &JoinType) -> &'static str {
    match of {
        JoinType::Inner => "Inner",
        JoinType::LeftOuter => "LeftOuter",
        JoinType::RightOuter => "RightOuter",
        JoinType::FullOuter => "FullOuter",
        JoinType::LeftSemi => "LeftSemi",
        JoinType::LeftAnti => "LeftAnti",
        JoinType::Existence(_) => "ExistenceJoin",
    }
}

fn function_name(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Sum { .. } => "Sum",
        AggregateKind::Average { .. } => "Average",
        AggregateKind::Count => "Count",
        AggregateKind::Min => "Min",
        AggregateKind::Max => "Max",
        AggregateKind::First { .. } => "First",
        AggregateKind::Last { .. } => "Last",
        AggregateKind::CentralMoment { moment, .. } => match moment {
            Moment::StddevSamp => "StddevSamp",
            Moment::StddevPop => "StddevPop",
            Moment::VarianceSamp => "VarianceSamp",
            Moment::VariancePop => "VariancePop",
            Moment::Skewness => "Skewness",
            Moment::Kurtosis => "Kurtosis",
            Moment::SumOfSquares => "RegrReplacement",
        },
        AggregateKind::Comoment { comoment, .. } => match comoment {
            Comoment::Corr => "Corr",
            Comoment::CovPopulation => "CovPopulation",
            Comoment::CovSample => "CovSample",
            Comoment::RegrR2 => "RegrR2",
            Comoment::SumOfProducts => "RegrSXY",
            Comoment::RegrSlope => "RegrSlope",
            Comoment::RegrIntercept => "RegrIntercept",
        },
        AggregateKind::Bits(operation) => match operation {
            BitOperation::And => "BitAndAgg",
            BitOperation::Or => "BitOrAgg",
            BitOperation::Xor => "BitXorAgg",
        },
        AggregateKind::ApproxCountDistinct { .. } => "HyperLogLogPlusPlus",
        AggregateKind::CollectSet { .. } => "CollectSet",
        AggregateKind::Percentile {
            between: Between::Line | Between::LineFromLower,
            ..
        } => "Percentile",
        AggregateKind::Percentile { .. } => "PercentileDisc",
        AggregateKind::ApproxPercentile { .. } => "ApproximatePercentile",
        AggregateKind::HllSketch { .. } => "HllSketchAgg",
        AggregateKind::HllUnion { .. } => "HllUnionAgg",
        AggregateKind::CountMinSketch => "CountMinSketchAgg",
        AggregateKind::BloomFilter { .. } => "BloomFilterAggregate",
        AggregateKind::CollectList => "CollectList",
        AggregateKind::MaxBy => "MaxBy",
        AggregateKind::MinBy => "MinBy",
        AggregateKind::ExtremesBy { .. } => "MaxMinByK",
        AggregateKind::PivotFirst => "PivotFirst",
        AggregateKind::ListAgg { .. } => "ListAgg",
        AggregateKind::Histogram { .. } => "HistogramNumeric",
        AggregateKind::Mode { .. } => "Mode",
    }
}

/// Each function at least once.
fn functions() -> Vec<AggregateKind> {
    let moment = |moment| AggregateKind::CentralMoment {
        moment,
        null_on_divide_by_zero: true,
        skips_empty: true,
    };
    let comoment = |comoment| AggregateKind::Comoment {
        comoment,
        null_on_divide_by_zero: true,
        skips_empty: true,
        checks_squares: true,
        null_by_zero: false,
    };
    let percentile = |between| AggregateKind::Percentile {
        reverse: false,
        between,
    };
    vec![
        AggregateKind::Sum {
            mode: EvalMode::Legacy,
        },
        AggregateKind::Average {
            mode: EvalMode::Legacy,
        },
        AggregateKind::Count,
        AggregateKind::Min,
        AggregateKind::Max,
        AggregateKind::First {
            ignore_nulls: false,
        },
        AggregateKind::Last {
            ignore_nulls: false,
        },
        AggregateKind::Bits(BitOperation::And),
        AggregateKind::Bits(BitOperation::Or),
        AggregateKind::Bits(BitOperation::Xor),
        AggregateKind::ApproxCountDistinct { precision: 9 },
        AggregateKind::CollectList,
        AggregateKind::CollectSet {
            scala: ScalaVersion::V2_13,
        },
        percentile(Between::Line),
        percentile(Between::First),
        AggregateKind::ApproxPercentile { accuracy: 100 },
        AggregateKind::MaxBy,
        AggregateKind::MinBy,
        AggregateKind::ExtremesBy {
            least: false,
            rows: 3,
        },
        AggregateKind::PivotFirst,
        AggregateKind::ListAgg {
            order: ListOrder::None,
        },
        AggregateKind::Histogram { bins: 5 },
        AggregateKind::Mode { ties: Ties::First },
        moment(Moment::StddevSamp),
        moment(Moment::StddevPop),
        moment(Moment::VarianceSamp),
        moment(Moment::VariancePop),
        moment(Moment::Skewness),
        moment(Moment::Kurtosis),
        moment(Moment::SumOfSquares),
        comoment(Comoment::Corr),
        comoment(Comoment::CovPopulation),
        comoment(Comoment::CovSample),
        comoment(Comoment::RegrR2),
        comoment(Comoment::SumOfProducts),
        comoment(Comoment::RegrSlope),
        comoment(Comoment::RegrIntercept),
        AggregateKind::HllSketch { lg_k: 12 },
        AggregateKind::HllUnion { any_size: false },
        AggregateKind::CountMinSketch,
        AggregateKind::BloomFilter {
            estimated_items: 100,
            bits: 1024,
        },
    ]
}

fn is_lowered(operator: &Operator, inputs: &Inputs) -> bool {
    let demand = Demand {
        columns: None,
        ordered: true,
    };
    Lowering::new().operator(operator, inputs, demand).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_by_lowering() {
        let found = operators();
        for name in ["FileSourceScanExec", "SortMergeJoinExec", "UnionExec"] {
            assert!(found.contains(&name), "{name} of {found:?}");
        }
        let tried = examples();
        let mut names: Vec<_> = tried.iter().map(|(of, _)| class_of(&of.kind)).collect();
        names.dedup();
        // Every example is of a plan that Spark could make: what is missing is refused.
        assert!(names.iter().all(|name| found.contains(name)), "{names:?}");
    }

    #[test]
    fn joins_are_found_for_each_side() {
        let all = joins();
        let types = |operator: &str, side| {
            let is_it =
                |join: &&JoinCapability| join.operator == operator && join.build_side == side;
            let join = all.iter().find(is_it).unwrap();
            join.types.join(" ")
        };
        let right = Some(BuildSide::Right);
        assert_eq!(
            types("BroadcastHashJoinExec", right),
            "Inner LeftOuter LeftSemi LeftAnti ExistenceJoin"
        );
        assert_eq!(
            types("BroadcastHashJoinExec", Some(BuildSide::Left)),
            "Inner RightOuter"
        );
        assert!(types("SortMergeJoinExec", None).contains("FullOuter"));
    }

    #[test]
    fn functions_of_windows_are_found() {
        let found = window_functions();
        for name in ["RowNumber", "Rank", "Lead", "Lag", "NthValue"] {
            assert!(found.contains(&name), "{name} of {found:?}");
        }
    }

    #[test]
    fn functions_and_types_are_found() {
        let all = aggregates();
        let sum = all.iter().find(|function| function.name == "Sum").unwrap();
        assert!(sum.arguments.iter().any(|of| of == "decimal"));
        assert!(!sum.arguments.iter().any(|of| of == "string"));
        let types = types_of_columns();
        let of = |name: &str| types.iter().find(|of| of.name == name).unwrap();
        let text = of("string");
        assert!(text.scanned && text.rows && text.sort_key && text.group_key && text.shuffled_key);
        let list = of("array<int>");
        assert!(list.scanned && list.rows && list.sort_key);
    }
}
