//! Small plans of each operator.

use javaser::Limits;
use javaser::arena::{Graph, NodeId};

use catalyst::Function;
use catalyst::Generator;
use catalyst::Inputs;
use catalyst::Literal;
use catalyst::RankLike;
use catalyst::{AggregatePython, AggregateUdf, GroupFunction};
use catalyst::{AggregateStrategy, Broadcast, Columns, Operator, OperatorKind, ShuffleRead};
use catalyst::{ArrowSession, TableForm, TablePython};
use catalyst::{ArrowUdf, PythonArgument, PythonForm, PythonUdf};
use catalyst::{Attribute, Draw, Expr, ExprId, ExprKind, Share, SortOrder};
use catalyst::{Bound, Frame, FrameUnit, WindowExpression, WindowFunction};
use catalyst::{BuildSide, EquiJoin, JoinType};
use catalyst::{
    CachedTable, CachedTableCounters, FileFormat, FileSourceScan, InMemoryTableScan, ParquetOptions,
};
use catalyst::{CheckpointRows, CheckpointScan, KeptRows};
use catalyst::{DataType, StructField};
use catalyst::{FrameFunction, WindowPython, WindowUdf};
use catalyst::{GroupUdf, GroupedInput, MapGroups, MapInBatch, MapUdf};
use catalyst::{ObjectOperator, Objects};

pub(super) fn column(id: i64, data_type: &DataType) -> Attribute {
    Attribute {
        name: String::new(),
        data_type: data_type.clone(),
        nullable: true,
        id: ExprId { id, jvm_id: 0 },
    }
}

pub(super) fn field(data_type: &DataType) -> StructField {
    StructField {
        name: "f".to_owned(),
        data_type: data_type.clone(),
        nullable: true,
        field_id: None,
        exists_default: None,
    }
}

pub(super) fn operator(kind: OperatorKind, output: Vec<Attribute>) -> Operator {
    Operator {
        kind,
        output: Columns::Known(output),
        metrics: Vec::new(),
    }
}

pub(super) fn local(leaf: usize, output: &[Attribute]) -> Box<Operator> {
    let kind = OperatorKind::LocalTableScan { leaf };
    Box::new(operator(kind, output.to_vec()))
}

pub(super) fn order(key: &Expr) -> SortOrder {
    SortOrder {
        child: key.clone(),
        ascending: true,
        nulls_first: true,
    }
}

/// Operators on objects, of which this is the last: what they are called for is known of none.
fn objects(last: ObjectOperator, columns: &[Attribute]) -> (Operator, Inputs) {
    let sides = match last {
        ObjectOperator::CoGroup => 2,
        leaf if leaf.is_leaf() => 0,
        _ => 1,
    };
    let objects = Objects {
        chain: vec![last],
        stream: vec![0],
        leaf: last.is_leaf().then_some(0),
        inputs: vec![columns.to_vec(); sides],
        made: columns.to_vec(),
        appends: false,
        filters: 0,
        accumulates: false,
        parts: Vec::new(),
    };
    let kind = OperatorKind::Objects {
        objects: Box::new(objects),
        children: (0..sides).map(|leaf| *local(leaf, columns)).collect(),
    };
    let inputs = match sides {
        2 => Inputs::Zip(vec![Inputs::Leaf(0), Inputs::Leaf(1)]),
        _ => Inputs::Leaf(0),
    };
    (operator(kind, columns.to_vec()), inputs)
}

/// A broadcast variable that nobody reads.
fn broadcast() -> Option<Broadcast> {
    /// The stream of a string.
    const STREAM: [u8; 8] = [0xac, 0xed, 0, 5, 0x74, 0, 1, b'b'];
    let graph = Graph::parse(&STREAM, &Limits::default()).ok()?;
    let node = graph.root()?.node()?;
    Some(Broadcast { id: 0, node })
}

pub(super) fn scan(of: &DataType) -> Option<Operator> {
    let scan = FileSourceScan {
        leaf: 0,
        required_schema: vec![field(of)],
        file_schema: vec![field(of)],
        variant_parts: Vec::new(),
        partition_schema: Vec::new(),
        metadata_columns: Vec::new(),
        partition_filters: Vec::new(),
        data_filters: Vec::new(),
        format: FileFormat::Parquet(ParquetOptions {
            conf: Some(broadcast()?),
            datetime_rebase_mode: "EXCEPTION".to_owned(),
            int96_rebase_mode: "EXCEPTION".to_owned(),
            filter_push_down: true,
            case_sensitive: false,
            timestamp_conversion: false,
            batch_rows: Some(4096),
            deleted_rows: None,
        }),
        ignore_missing_files: false,
        ignore_corrupt_files: false,
        in_jvm: None,
    };
    let kind = OperatorKind::FileSourceScan(Box::new(scan));
    Some(operator(kind, vec![column(0, of)]))
}

/// Groups, without functions.
pub(super) fn grouping(
    strategy: AggregateStrategy,
    key: &Expr,
    columns: &[Attribute],
) -> OperatorKind {
    OperatorKind::Aggregate {
        strategy,
        grouping: vec![key.clone()],
        aggregates: Vec::new(),
        aggregate_attributes: Vec::new(),
        result: vec![key.clone()],
        initial_input_buffer_offset: 1,
        child: local(0, columns),
    }
}

/// A function of Python from rows of one integer to rows of these columns.
fn map_in_batch(kind: MapUdf, function: NodeId, columns: &[Attribute]) -> MapInBatch {
    MapInBatch {
        kind,
        function,
        result_id: 0,
        input: vec![field(&DataType::Integer)],
        output: columns.to_vec(),
        checked: true,
        time_zone: "UTC".to_owned(),
        batch_size: None,
        settings: Vec::new(),
        job_artifact_uuid: None,
    }
}

fn table_forms() -> [TableForm; 3] {
    let session = ArrowSession {
        time_zone: Some("UTC".to_owned()),
        batch_size: 1,
        settings: Vec::new(),
        validates_schemas: false,
    };
    let pickled = TableForm::Pickled {
        binary_as_bytes: true,
    };
    [
        pickled,
        TableForm::Values(session.clone()),
        TableForm::Batches(session),
    ]
}

/// A class of Python that makes rows of these columns.
fn table_python(form: TableForm, function: NodeId, columns: &[Attribute]) -> (Operator, Inputs) {
    let table = TablePython {
        form,
        name: "f".to_owned(),
        function,
        arguments: Vec::new(),
        table_arguments: Vec::new(),
        schema: columns.iter().map(|of| field(&of.data_type)).collect(),
        analyzed: None,
        partition_columns: Vec::new(),
        required: Vec::new(),
        results: columns.to_vec(),
        job_artifact_uuid: None,
    };
    let kind = OperatorKind::TablePython {
        table: Box::new(table),
        child: local(0, &[column(1, &DataType::Integer)]),
    };
    (operator(kind, columns.to_vec()), Inputs::Leaf(0))
}

/// A function of Python of groups by one integer.
fn aggregate_python(kind: AggregateUdf, in_batches: bool, function: NodeId) -> (Operator, Inputs) {
    let columns = [column(0, &DataType::Integer)];
    let key = Expr::attribute(column(0, &DataType::Integer));
    let aggregate = AggregatePython {
        kind,
        functions: vec![GroupFunction {
            functions: vec![function],
            result_id: 0,
            arguments: vec![(0, None)],
            column: column(1, &DataType::Integer),
        }],
        given: vec![key.clone()],
        grouping: vec![key.clone()],
        result: vec![key],
        in_batches,
        time_zone: "UTC".to_owned(),
        settings: Vec::new(),
        job_artifact_uuid: None,
    };
    let kind = OperatorKind::AggregatePython {
        aggregate: Box::new(aggregate),
        child: local(0, &columns),
    };
    (operator(kind, columns.to_vec()), Inputs::Leaf(0))
}

/// A function of Python of the rows up to each, by one integer.
fn window_python(kind: WindowUdf, in_batches: bool, function: NodeId) -> (Operator, Inputs) {
    let columns = [column(0, &DataType::Integer)];
    let key = Expr::attribute(column(0, &DataType::Integer));
    let output = column(1, &DataType::Integer);
    let argument = PythonArgument {
        name: None,
        value: key.clone(),
    };
    let udf = PythonUdf {
        name: "f".to_owned(),
        functions: vec![function],
        arguments: vec![argument],
        data_type: DataType::Integer,
        deterministic: true,
        result_id: 0,
    };
    let frame = Frame {
        unit: FrameUnit::Rows,
        lower: Bound::UnboundedPreceding,
        upper: Bound::CurrentRow,
        time_zone: None,
    };
    let window = WindowPython {
        kind,
        functions: vec![FrameFunction {
            udf,
            frame,
            output: output.clone(),
        }],
        partition: vec![key.clone()],
        order: vec![order(&key)],
        in_batches,
        bound_types: "window_bound_types",
        session: None,
        job_artifact_uuid: None,
    };
    let kind = OperatorKind::WindowPython {
        window: Box::new(window),
        child: local(0, &columns),
    };
    let output = [&columns[..], &[output]].concat();
    (operator(kind, output), Inputs::Leaf(0))
}

/// A function of Python from groups by one integer to rows of these columns.
fn map_groups(kind: GroupUdf, function: NodeId, columns: &[Attribute]) -> (Operator, Inputs) {
    let numbers = 0..kind.inputs();
    let of_input = |id: usize| [column(id as i64, &DataType::Integer)];
    let given = numbers.clone().map(|id| GroupedInput {
        keys: of_input(id).to_vec(),
        columns: of_input(id).to_vec(),
        has_metadata: false,
        places: vec![3, 1, 0, 0],
    });
    let map = MapGroups {
        kind,
        function,
        result_id: 0,
        inputs: given.collect(),
        output: columns.to_vec(),
        in_batches: true,
        time_zone: "UTC".to_owned(),
        settings: Vec::new(),
        job_artifact_uuid: None,
    };
    let kind = OperatorKind::MapGroups {
        map: Box::new(map),
        children: numbers
            .clone()
            .map(|id| *local(id, &of_input(id)))
            .collect(),
    };
    let leaves: Vec<_> = numbers.map(Inputs::Leaf).collect();
    let inputs = match &leaves[..] {
        [only] => only.clone(),
        _ => Inputs::Zip(leaves),
    };
    (operator(kind, columns.to_vec()), inputs)
}

/// Each operator but joins, with the shape of its inputs.
fn plain() -> Vec<(Operator, Inputs)> {
    let columns = [column(0, &DataType::Integer)];
    let key = Expr::attribute(column(0, &DataType::Integer));
    let child = || local(0, &columns);
    let shuffle = ShuffleRead {
        shuffle_id: 0,
        num_maps: 1,
        num_partitions: 1,
        num_fields: 1,
    };
    let limit = |offset| OperatorKind::Limit {
        limit: 1,
        offset,
        child: child(),
    };
    let eval_python = |form| OperatorKind::EvalPython {
        form,
        udfs: vec![PythonUdf {
            name: "f".to_owned(),
            functions: Vec::new(),
            arguments: vec![PythonArgument {
                name: None,
                value: key.clone(),
            }],
            data_type: DataType::Integer,
            deterministic: true,
            result_id: 0,
        }],
        results: columns.to_vec(),
        job_artifact_uuid: None,
        child: child(),
    };
    let one_leaf = [
        OperatorKind::ShuffleRead { leaf: 0, shuffle },
        OperatorKind::LocalTableScan { leaf: 0 },
        OperatorKind::Filter {
            condition: Expr {
                kind: ExprKind::Literal(Literal::Boolean(true)),
                data_type: DataType::Boolean,
                nullable: false,
            },
            child: child(),
        },
        OperatorKind::Filter {
            condition: Expr::from(Draw::Sampled {
                seed: 1,
                share: Share::new(0.0, 0.5),
            }),
            child: child(),
        },
        OperatorKind::Project {
            list: vec![key.clone()],
            child: child(),
        },
        grouping(AggregateStrategy::Hash, &key, &columns),
        grouping(AggregateStrategy::Sort, &key, &columns),
        grouping(
            AggregateStrategy::ObjectHash { sorts_from: 128 },
            &key,
            &columns,
        ),
        OperatorKind::Sort {
            order: vec![order(&key)],
            global: true,
            child: child(),
        },
        OperatorKind::TopK {
            limit: 1,
            order: vec![order(&key)],
            child: child(),
        },
        limit(0),
        limit(1),
        OperatorKind::Expand {
            projections: vec![vec![key.clone()]],
            child: child(),
        },
        OperatorKind::Window {
            expressions: Vec::new(),
            partition: vec![key.clone()],
            order: vec![order(&key)],
            child: child(),
        },
        OperatorKind::WindowGroupLimit {
            partition: Vec::new(),
            order: vec![order(&key)],
            rank: RankLike::Rank,
            limit: 1,
            child: child(),
        },
        eval_python(PythonForm::Pickled {
            binary_as_bytes: true,
        }),
        eval_python(PythonForm::Arrow {
            kind: ArrowUdf::Values,
            session: None,
        }),
        OperatorKind::Generate {
            generator: Generator::Stack {
                rows: 1,
                values: vec![key.clone()],
            },
            outer: false,
            required: Vec::new(),
            generated: columns.to_vec(),
            child: child(),
        },
    ];
    let one_leaf = one_leaf.into_iter();
    let mut all: Vec<_> = scan(&DataType::Integer)
        .into_iter()
        .chain(one_leaf.map(|kind| operator(kind, columns.to_vec())))
        .map(|operator| (operator, Inputs::Leaf(0)))
        .collect();
    let range = OperatorKind::Range {
        leaf: 0,
        start: 0,
        step: 1,
        end: 1,
        num_slices: 1,
    };
    let range = operator(range, vec![column(0, &DataType::Long)]);
    all.push((range, Inputs::Leaf(0)));
    let one_row = operator(OperatorKind::OneRowRelation { leaf: 0 }, Vec::new());
    all.push((one_row, Inputs::Leaf(0)));
    let union = OperatorKind::Union(vec![*local(0, &columns), *local(1, &columns)]);
    let inputs = Inputs::Union(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
    all.push((operator(union, columns.to_vec()), inputs));
    let product = OperatorKind::CartesianProduct {
        condition: None,
        left: child(),
        right: local(1, &[column(1, &DataType::Integer)]),
    };
    let inputs = Inputs::Cartesian(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
    let pairs = vec![column(0, &DataType::Integer), column(1, &DataType::Integer)];
    all.push((operator(product, pairs), inputs));
    if let Some(Broadcast { node, .. }) = broadcast() {
        for kind in [MapUdf::DataFrames, MapUdf::Batches] {
            let map = map_in_batch(kind, node, &columns);
            let map = OperatorKind::MapInBatch {
                map: Box::new(map),
                child: child(),
            };
            all.push((operator(map, columns.to_vec()), Inputs::Leaf(0)));
        }
        let tables = table_forms().into_iter();
        all.extend(tables.map(|form| table_python(form, node, &columns)));
        all.push(aggregate_python(AggregateUdf::Series, false, node));
        let aggregates = AggregateUdf::ALL.into_iter();
        all.extend(aggregates.map(|kind| aggregate_python(kind, true, node)));
        all.push(window_python(WindowUdf::Series, false, node));
        let windows = WindowUdf::ALL.into_iter();
        all.extend(windows.map(|kind| window_python(kind, true, node)));
        let groups = GroupUdf::ALL.into_iter();
        all.extend(groups.map(|kind| map_groups(kind, node, &columns)));
        let scan = InMemoryTableScan {
            table: CachedTable {
                rdd_id: 0,
                storage_level: (13, 1),
                batch_size: 10_000,
                compressed: true,
                counters: CachedTableCounters::ByPartition {
                    node,
                    of_task: false,
                },
                child: child(),
            },
            places: vec![0],
            filters: Vec::new(),
            only_made: false,
            columnar: false,
        };
        let scan = OperatorKind::InMemoryTableScan(Box::new(scan));
        let inputs = Inputs::Cached(Box::new(Inputs::Leaf(0)));
        all.push((operator(scan, columns.to_vec()), inputs));
    }
    all.extend(ObjectOperator::ALL.map(|last| objects(last, &columns)));
    let rows = KeptRows {
        rdd_id: 0,
        storage_level: (9, 1),
    };
    let keep = OperatorKind::KeepRows {
        rows,
        child: child(),
    };
    let inputs = Inputs::Cached(Box::new(Inputs::Leaf(0)));
    all.push((operator(keep, columns.to_vec()), inputs));
    let rows = CheckpointRows::Kept(rows);
    let scan = OperatorKind::CheckpointScan(CheckpointScan { leaf: 0, rows });
    all.push((operator(scan, columns.to_vec()), Inputs::Leaf(0)));
    let coalesce = OperatorKind::Coalesce(child());
    let inputs = Inputs::Coalesced(Box::new(Inputs::Leaf(0)));
    all.push((operator(coalesce, columns.to_vec()), inputs));
    all
}

/// Each operator at least once.
pub(super) fn examples() -> Vec<(Operator, Inputs)> {
    let joins = all_joins().into_iter();
    let joins = joins.map(|(operator, inputs, ..)| (operator, inputs));
    plain().into_iter().chain(joins).collect()
}

/// A join's key, as Spark plans it.
fn normalized(column: Attribute) -> Expr {
    let data_type = column.data_type.clone();
    let key = Expr::attribute(column);
    if !matches!(
        data_type,
        DataType::Float | DataType::Double | DataType::Struct(_)
    ) {
        return key;
    }
    Expr {
        kind: ExprKind::Call {
            function: Function::KnownFloatingPointNormalized,
            args: vec![key],
            mode: None,
            time_zone: None,
        },
        data_type,
        nullable: true,
    }
}

fn equi_join(of: &DataType, join_type: &JoinType) -> EquiJoin {
    EquiJoin {
        left_keys: vec![normalized(column(0, of))],
        right_keys: vec![normalized(column(1, of))],
        join_type: join_type.clone(),
        condition: None,
    }
}

/// A join of two inputs, with a table of one side or sorted.
pub(super) fn shuffled(
    of: &DataType,
    join_type: &JoinType,
    build_side: Option<BuildSide>,
) -> (Operator, Inputs) {
    let sides = [[column(0, of)], [column(1, of)]];
    let [left, right] = &sides;
    let output = join_type.output(left, right);
    let join = equi_join(of, join_type);
    let (left, right) = (local(0, left), local(1, right));
    let kind = match build_side {
        Some(build_side) => OperatorKind::ShuffledHashJoin {
            join,
            build_side,
            left,
            right,
        },
        None => OperatorKind::SortMergeJoin { join, left, right },
    };
    let inputs = Inputs::Zip(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
    (operator(kind, output), inputs)
}

/// A join with the side of which Spark has a table, and its type.
pub(super) type Join = (Operator, Inputs, Option<BuildSide>, JoinType);

/// Every join that Spark could plan.
pub(super) fn all_joins() -> Vec<Join> {
    let of = DataType::Integer;
    let exists = column(2, &DataType::Boolean);
    let join_types = [
        JoinType::Inner,
        JoinType::LeftOuter,
        JoinType::RightOuter,
        JoinType::FullOuter,
        JoinType::LeftSemi,
        JoinType::LeftAnti,
        JoinType::Existence(exists),
    ];
    let mut all = Vec::new();
    for build_side in [None, Some(BuildSide::Left), Some(BuildSide::Right)] {
        for join_type in &join_types {
            let (operator, inputs) = shuffled(&of, join_type, build_side);
            all.push((operator, inputs, build_side, join_type.clone()));
        }
    }
    for has_keys in [true, false] {
        for build_side in [BuildSide::Left, BuildSide::Right] {
            for join_type in &join_types {
                let join = with_broadcast(&of, join_type, build_side, has_keys);
                all.extend(join.map(|operator| {
                    let inputs = Inputs::Leaf(0);
                    (operator, inputs, Some(build_side), join_type.clone())
                }));
            }
        }
    }
    all
}

/// A join with a broadcast side, by keys or of all pairs.
pub(super) fn with_broadcast(
    of: &DataType,
    join_type: &JoinType,
    build_side: BuildSide,
    has_keys: bool,
) -> Option<Operator> {
    let (left, right) = ([column(0, of)], [column(1, of)]);
    let output = join_type.output(&left, &right);
    let (build_output, streamed) = match build_side {
        BuildSide::Left => (left.to_vec(), local(0, &right)),
        BuildSide::Right => (right.to_vec(), local(0, &left)),
    };
    let broadcast = broadcast()?;
    let kind = match has_keys {
        true => OperatorKind::BroadcastHashJoin {
            join: equi_join(of, join_type),
            build_side,
            null_aware_anti: false,
            broadcast,
            build_output,
            streamed,
        },
        false => OperatorKind::BroadcastNestedLoopJoin {
            join_type: join_type.clone(),
            condition: None,
            build_side,
            broadcast,
            build_output,
            streamed,
        },
    };
    Some(operator(kind, output))
}

/// A window with each function that is no aggregate, by the name of Spark's class.
pub(super) fn windows() -> Vec<(&'static str, Operator)> {
    let columns = [column(0, &DataType::Integer)];
    let key = Expr::attribute(column(0, &DataType::Integer));
    let offset = |offset| WindowFunction::Offset {
        input: key.clone(),
        offset,
        default: None,
        ignore_nulls: false,
    };
    let functions = [
        ("RowNumber", WindowFunction::RowNumber),
        ("Rank", WindowFunction::Rank),
        ("DenseRank", WindowFunction::DenseRank),
        ("PercentRank", WindowFunction::PercentRank),
        ("CumeDist", WindowFunction::CumeDist),
        ("NTile", WindowFunction::NTile { buckets: 2 }),
        ("Lead", offset(1)),
        ("Lag", offset(-1)),
        (
            "NthValue",
            WindowFunction::NthValue {
                input: key.clone(),
                offset: 1,
                ignore_nulls: false,
            },
        ),
    ];
    let windows = functions.into_iter().map(|(name, function)| {
        let output = column(1, &function.data_type());
        let expression = WindowExpression {
            function,
            frame: Frame {
                unit: FrameUnit::Rows,
                lower: Bound::UnboundedPreceding,
                upper: Bound::CurrentRow,
                time_zone: None,
            },
            output: output.clone(),
        };
        let kind = OperatorKind::Window {
            expressions: vec![expression],
            partition: vec![key.clone()],
            order: vec![order(&key)],
            child: local(0, &columns),
        };
        (name, operator(kind, [&columns[..], &[output]].concat()))
    });
    windows.collect()
}
