//! Stages as text, for people and for tests.

use std::fmt;

use crate::checkpoint::CheckpointRows;
use crate::expr::{SortOrder, list};
use crate::inputs::{Inputs, LeafInput, ShufflePartitionSpec, TaskInputs};
use crate::join::BuildSide;
use crate::plan::{Columns, Operator, OperatorKind};
use crate::python::PythonForm;
use crate::scan::{FileFormat, FileSourceScan};
use crate::shuffle::{Partitioning, ShuffleWrite};
use crate::stage::{Output, Stage};
use crate::types::StructField;
use crate::write::WrittenFormat;

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.output)?;
        write!(f, "  inputs {}", self.inputs)?;
        operator(f, &self.root, 1)
    }
}

fn operator(f: &mut fmt::Formatter<'_>, of: &Operator, depth: usize) -> fmt::Result {
    let pad = "  ".repeat(depth);
    write!(f, "\n{pad}{}", of.kind)?;
    let pad = "  ".repeat(depth + 2);
    match &of.output {
        Columns::Known(columns) => {
            let columns = columns.iter().map(|column| {
                let null = if column.nullable { "?" } else { "" };
                format!("{column}:{}{null}", column.data_type)
            });
            write!(f, "\n{pad}-> {}", list(columns))?;
        }
        Columns::Opaque { num_fields: None } => write!(f, "\n{pad}-> unknown columns")?,
        Columns::Opaque {
            num_fields: Some(fields),
        } => write!(f, "\n{pad}-> {fields} unknown columns")?,
    }
    if let OperatorKind::ShuffleRead { .. } = of.kind {
        write!(f, "\n{pad}metrics {}", of.metrics.len())?;
    } else if !of.metrics.is_empty() {
        let names = of.metrics.iter().map(|metric| &metric.name);
        write!(f, "\n{pad}metrics {}", list(names))?;
    }
    for child in of.children() {
        operator(f, child, depth + 1)?;
    }
    Ok(())
}

fn side(side: BuildSide) -> &'static str {
    match side {
        BuildSide::Left => "BuildLeft",
        BuildSide::Right => "BuildRight",
    }
}

impl fmt::Display for OperatorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSourceScan(scan) => write!(f, "{scan}"),
            Self::InMemoryTableScan(scan) => write!(
                f,
                "InMemoryTableScan of {} columns where [{}]",
                scan.places.len(),
                list(&scan.filters)
            ),
            Self::ShuffleRead { leaf, shuffle } => write!(
                f,
                "ShuffleRead leaf {leaf}: {} maps, {} partitions, {} fields",
                shuffle.num_maps, shuffle.num_partitions, shuffle.num_fields
            ),
            Self::LocalTableScan { leaf } => write!(f, "LocalTableScan leaf {leaf}"),
            Self::OneRowRelation { leaf } => write!(f, "OneRowRelation leaf {leaf}"),
            Self::PickledScan(scan) => write!(f, "RDDScan of Python leaf {}", scan.leaf),
            Self::CheckpointScan(scan) => {
                write!(f, "RDDScan of a checkpoint leaf {}, ", scan.leaf)?;
                match &scan.rows {
                    CheckpointRows::Kept(kept) => write!(f, "RDD {}", kept.rdd_id),
                    CheckpointRows::Files(_) => f.write_str("files"),
                }
            }
            Self::KeepRows { rows, .. } => write!(f, "rows kept as RDD {}", rows.rdd_id),
            Self::Range {
                leaf,
                start,
                step,
                end,
                num_slices,
            } => write!(
                f,
                "Range leaf {leaf}: {start} to {end} by {step} in {num_slices}"
            ),
            Self::Filter { condition, .. } => write!(f, "Filter {condition}"),
            Self::Project { list: of, .. } => write!(f, "Project {}", list(of)),
            Self::Aggregate {
                strategy,
                grouping,
                aggregates,
                aggregate_attributes,
                result,
                initial_input_buffer_offset,
                ..
            } => write!(
                f,
                "{strategy}Aggregate by [{}] of [{}] as [{}] from {initial_input_buffer_offset} giving [{}]",
                list(grouping),
                list(aggregates),
                list(aggregate_attributes),
                list(result)
            ),
            Self::Sort { order, global, .. } => {
                let global = if *global { "global " } else { "" };
                write!(f, "Sort {global}{}", list(order))
            }
            Self::Window {
                expressions,
                partition,
                order,
                ..
            } => write!(
                f,
                "Window [{}] by [{}] sorted [{}]",
                list(expressions),
                list(partition),
                list(order)
            ),
            Self::WindowGroupLimit {
                partition,
                order,
                rank,
                limit,
                ..
            } => write!(
                f,
                "WindowGroupLimit {rank:?} {limit} by [{}] sorted [{}]",
                list(partition),
                list(order)
            ),
            Self::Generate {
                generator,
                outer,
                required,
                ..
            } => {
                let outer = if *outer { "outer " } else { "" };
                write!(f, "Generate {outer}{generator} of ({})", list(required))
            }
            Self::EvalPython { form, udfs, .. } => {
                let name = match form {
                    PythonForm::Pickled { .. } => "BatchEvalPython".to_owned(),
                    PythonForm::Arrow { kind, .. } => format!("ArrowEvalPython {kind:?}"),
                };
                write!(f, "{name} [{}]", list(udfs))
            }
            Self::AggregatePython { aggregate, .. } => {
                let columns = aggregate.functions.iter().map(|function| &function.column);
                let columns: Vec<_> = columns.cloned().collect();
                write!(
                    f,
                    "AggregatePython {:?} by ({})",
                    aggregate.kind,
                    list(&aggregate.grouping)
                )?;
                write!(
                    f,
                    " of ({}) to ({})",
                    list(&aggregate.given),
                    list(&columns)
                )
            }
            Self::WindowPython { window, .. } => {
                write!(f, "WindowPython {:?} [", window.kind)?;
                for (place, of) in window.functions.iter().enumerate() {
                    let separator = if place == 0 { "" } else { ", " };
                    let output = list(std::slice::from_ref(&of.output));
                    write!(f, "{separator}{} {} AS {output}", of.udf, of.frame)?;
                }
                write!(
                    f,
                    "] by [{}] sorted [{}]",
                    list(&window.partition),
                    list(&window.order)
                )
            }
            Self::MapGroups { map, .. } => {
                write!(f, "MapGroups {:?} by", map.kind)?;
                for input in &map.inputs {
                    write!(f, " ({})", list(&input.keys))?;
                }
                write!(f, " to ({})", list(&map.output))
            }
            Self::TablePython { table, .. } => write!(f, "{table}"),
            Self::Objects { objects, .. } => {
                write!(f, "Objects")?;
                for (place, operator) in objects.chain.iter().enumerate() {
                    let separator = if place == 0 { " " } else { ", " };
                    write!(f, "{separator}{}", operator.name())?;
                }
                if let Some(leaf) = objects.leaf {
                    write!(f, " of leaf {leaf}")?;
                }
                for input in &objects.inputs {
                    write!(f, " of ({})", list(input))?;
                }
                write!(f, " to ({})", list(&objects.made))
            }
            Self::MapInBatch { map, .. } => {
                write!(f, "MapInBatch {:?} to ({})", map.kind, list(&map.output))
            }
            Self::Limit { limit, offset, .. } => write!(f, "Limit {limit} offset {offset}"),
            Self::BroadcastHashJoin {
                join,
                build_side,
                null_aware_anti,
                build_output,
                ..
            } => {
                let aware = if *null_aware_anti { " null-aware" } else { "" };
                let columns = list(build_output);
                write!(
                    f,
                    "BroadcastHashJoin {} {join}{aware} of ({columns})",
                    side(*build_side)
                )
            }
            Self::BroadcastNestedLoopJoin {
                join_type,
                condition,
                build_side,
                build_output,
                ..
            } => {
                let columns = list(build_output);
                let build_side = side(*build_side);
                write!(
                    f,
                    "BroadcastNestedLoopJoin {build_side} {join_type} of ({columns})"
                )?;
                match condition {
                    Some(condition) => write!(f, " ON {condition}"),
                    None => Ok(()),
                }
            }
            Self::ShuffledHashJoin {
                join, build_side, ..
            } => write!(f, "ShuffledHashJoin {} {join}", side(*build_side)),
            Self::SortMergeJoin { join, .. } => write!(f, "SortMergeJoin {join}"),
            Self::CartesianProduct { condition, .. } => match condition {
                Some(condition) => write!(f, "CartesianProduct ON {condition}"),
                None => f.write_str("CartesianProduct"),
            },
            Self::Union(children) => write!(f, "Union of {}", children.len()),
            Self::Coalesce(_) => write!(f, "Coalesce"),
            Self::Expand { projections, .. } => {
                let texts = projections.iter().map(|of| format!("[{}]", list(of)));
                write!(f, "Expand {}", list(texts))
            }
            Self::TopK { limit, order, .. } => write!(f, "TopK {limit} by {}", list(order)),
        }
    }
}

impl fmt::Display for FileSourceScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |fields: &[StructField]| {
            list(
                fields
                    .iter()
                    .map(|field| format!("{}:{}", field.name, field.data_type)),
            )
        };
        write!(
            f,
            "FileSourceScan leaf {} {} ({}) partitioned by ({}) where [{}] in partitions [{}]",
            self.leaf,
            match &self.format {
                FileFormat::Parquet(_) => "parquet",
                FileFormat::Text(_) => "text",
                FileFormat::Csv(_) => "csv",
                FileFormat::Json(_) => "json",
                FileFormat::Iceberg(_) => "iceberg",
            },
            names(&self.required_schema),
            names(&self.partition_schema),
            list(&self.data_filters),
            list(&self.partition_filters)
        )?;
        write!(f, " {}", self.format)?;
        if !self.metadata_columns.is_empty() {
            let names = self.metadata_columns.iter().map(|field| field.name());
            write!(f, " metadata [{}]", list(names))?;
        }
        for (set, name) in [
            (self.ignore_missing_files, "ignoreMissingFiles"),
            (self.ignore_corrupt_files, "ignoreCorruptFiles"),
        ] {
            if set {
                write!(f, " {name}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShuffleWrite(write) => write!(f, "{write}"),
            Self::Collect {
                limit,
                take_from_end,
                result,
            } => {
                let end = if *take_from_end { " from the end" } else { "" };
                write!(f, "Collect {limit}{end} as {result:?}")
            }
            Self::TakeOrdered => f.write_str("TakeOrdered"),
            Self::Unit => f.write_str("Unit"),
            Self::Count => f.write_str("Count"),
            Self::Rest(rest) => write!(f, "Rest of {} columns", rest.num_fields),
            Self::Checkpoint(_) => f.write_str("Checkpoint"),
            Self::Files(write) => {
                let data = list(write.data.iter().map(|(_, column)| &column.name));
                let partitions = write.partitions.iter().map(|of| &of.attribute.name);
                write!(f, "Files of {data} by {}", list(partitions))?;
                if write.bucket.is_some() {
                    f.write_str(" in buckets")?;
                }
                match &write.format {
                    WrittenFormat::Parquet => Ok(()),
                    WrittenFormat::Text { .. } => f.write_str(" as text"),
                    WrittenFormat::Csv(_) => f.write_str(" as CSV"),
                    WrittenFormat::Json { .. } => f.write_str(" as JSON"),
                }
            }
            Self::JsonTypes(inference) => {
                let crate::JsonInference {
                    malformed,
                    corrupt_record,
                    primitives_as_string,
                    case_sensitive,
                    ..
                } = &**inference;
                write!(f, "JsonTypes malformed {malformed:?} in {corrupt_record}")?;
                let set = if *primitives_as_string {
                    " primitivesAsString"
                } else {
                    ""
                };
                let case = if *case_sensitive {
                    " caseSensitive"
                } else {
                    ""
                };
                write!(f, "{set}{case}")
            }
            Self::CsvTypes(inference) => write!(
                f,
                "CsvTypes of {} columns behind {:?} {}",
                inference.columns, inference.first_line, inference.times
            ),
            Self::Pickled(rows) => {
                let columns = rows.columns.iter().map(|column| &column.name);
                let bytes = if rows.binary_as_bytes {
                    " with bytes"
                } else {
                    ""
                };
                write!(f, "Pickled {}{bytes}", list(columns))
            }
            Self::ArrowBatches(batches) => {
                let columns = batches.columns.iter().map(|column| &column.name);
                let zone = batches.session.time_zone.as_deref().unwrap_or_default();
                write!(f, "ArrowBatches {} {zone}", list(columns))
            }
            Self::RangeSample {
                order, sample_size, ..
            } => write!(f, "RangeSample {sample_size} of {}", list(order)),
        }
    }
}

impl fmt::Display for ShuffleWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checksums = if self.row_checksums {
            " with row checksums"
        } else {
            ""
        };
        let metrics = list(self.metrics.iter().map(|metric| &metric.name));
        write!(
            f,
            "ShuffleWrite {} into {} of {} fields{checksums} metrics {metrics}",
            self.partitioning, self.shuffle.num_partitions, self.shuffle.num_fields,
        )
    }
}

impl fmt::Display for Partitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(expressions) => write!(f, "Hash({})", list(expressions)),
            Self::Range { order, bounds } => {
                let order = list::<&SortOrder>(order);
                write!(f, "Range({order}) with {} bounds", bounds.len())
            }
            Self::RoundRobin { sorted } => f.write_str(if *sorted {
                "RoundRobin sorted"
            } else {
                "RoundRobin"
            }),
            Self::Single => f.write_str("Single"),
        }
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(leaf) => write!(f, "{leaf}"),
            Self::Zip(inputs) => write!(f, "zip({})", list(inputs)),
            Self::Cartesian(inputs) => write!(f, "cartesian({})", list(inputs)),
            Self::Union(inputs) => write!(f, "union({})", list(inputs)),
            Self::Coalesced(inputs) => write!(f, "coalesced({inputs})"),
            Self::Cached(inputs) => write!(f, "cached({inputs})"),
        }
    }
}

impl fmt::Display for TaskInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(leaf, input) => write!(f, "{leaf}={input}"),
            Self::Zip(inputs) => write!(f, "zip({})", list(inputs)),
            Self::Union(index, input) => write!(f, "union {index}({input})"),
            Self::Coalesced(inputs) => write!(f, "coalesced({})", list(inputs)),
            Self::Cached(index, input) => write!(f, "cached {index}({input})"),
        }
    }
}

/// Files by their names only.
impl fmt::Display for LeafInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(files) => {
                let texts = files.iter().map(|file| {
                    let name = file.path.rsplit('/').next().unwrap_or_default();
                    let end = file.start + file.length;
                    let values = list(&file.partition_values);
                    format!(
                        "{name}[{}..{end} of {}]({values})",
                        file.start, file.file_size
                    )
                });
                write!(f, "files({})", list(texts))
            }
            Self::Shuffle(spec) => write!(f, "{spec}"),
            Self::Rows(rows) => write!(f, "{} rows", rows.len()),
            Self::Slice(slice) => write!(f, "slice {slice}"),
            Self::Partition(_) => f.write_str("a partition of Python's"),
            Self::Object(_) => f.write_str("a partition for the JVM"),
        }
    }
}

impl fmt::Display for ShufflePartitionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coalesced {
                start_reducer,
                end_reducer,
            } => write!(f, "reducers {start_reducer}..{end_reducer}"),
            Self::PartialReducer {
                reducer,
                start_map,
                end_map,
            } => write!(f, "reducer {reducer} of maps {start_map}..{end_map}"),
            Self::PartialMapper {
                map,
                start_reducer,
                end_reducer,
            } => write!(f, "map {map} reducers {start_reducer}..{end_reducer}"),
            Self::CoalescedMapper {
                start_map, end_map, ..
            } => write!(f, "maps {start_map}..{end_map}"),
        }
    }
}
