//! Streams one side of a join along a table of the other.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{BatchCoalescer, filter};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::side::{Column, Condition, Streamed, gather};
use crate::exec::{Pipe, batch_of};
use crate::filter::coalescer;
use crate::project::evaluate;
use crate::sources::{SharedMemory, Sources};
use rows::error::bail_out;
use rows::{MatchCursor, Matches, RelationKind, RelationTable};

/// Which rows come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emit {
    /// Pairs that match.
    Pairs {
        /// And streamed rows without a match.
        streamed: bool,
        /// And rows of the table without one, at the end.
        build: bool,
    },
    /// Streamed rows that have a match.
    Semi,
    /// Streamed rows that have none.
    Anti,
    /// Streamed rows, with whether they have one.
    Existence,
    /// `NOT IN`: streamed rows that have none and are not null.
    NullAwareAnti,
    /// Rows of the table that have a match, at the end.
    BuildSemi,
    /// Rows of the table that have none, at the end.
    BuildAnti,
}

impl Emit {
    fn is_pairs(self) -> bool {
        matches!(self, Self::Pairs { .. })
    }

    /// Whether rows of the table that had a match are to be known.
    fn marks_build(self) -> bool {
        matches!(
            self,
            Self::Pairs { build: true, .. } | Self::BuildSemi | Self::BuildAnti
        )
    }
}

/// A join that was judged, with one side chosen for the table. Shared by the tasks of a stage.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) emit: Emit,
    /// Keys of the streamed side; none in a nested loop join.
    pub(super) keys: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) condition: Option<Condition>,
    pub(super) output: Vec<Column>,
}

/// The side of which there is a table.
#[derive(Debug)]
pub(super) struct Build {
    /// What was broadcast.
    pub(super) kind: RelationKind,
    pub(super) batch: RecordBatch,
    /// By the keys; `None` if all rows are met.
    pub(super) table: Option<RelationTable>,
    /// If it is shared by tasks.
    #[expect(dead_code, reason = "it is given back when the table is dropped")]
    pub(super) memory: Option<Box<dyn SharedMemory>>,
}

/// The rows of the table for each row of a streamed batch.
enum Found {
    Table(Matches, MatchCursor),
    /// All of them; the next pair.
    All(u32, u32),
}

/// A streamed batch on its way.
struct Current {
    batch: RecordBatch,
    found: Found,
    /// Streamed rows that have a match.
    matched: Vec<bool>,
    /// Streamed rows before this one are out.
    done: u32,
}

pub(super) struct Probe {
    sources: Arc<dyn Sources>,
    plan: Arc<Plan>,
    build: Arc<Build>,
    /// Rows of the table that had a match.
    build_matched: Vec<bool>,
    streamed: SchemaRef,
    current: Option<Current>,
    coalescer: BatchCoalescer,
    batch_size: usize,
}

impl Probe {
    /// `sources` know whether the task may go on.
    pub(super) fn new(
        sources: Arc<dyn Sources>,
        plan: Arc<Plan>,
        build: Arc<Build>,
        streamed: SchemaRef,
        schema: SchemaRef,
        batch_size: usize,
    ) -> Self {
        let marks = plan.emit.marks_build();
        Self {
            sources,
            build_matched: vec![false; if marks { build.batch.num_rows() } else { 0 }],
            plan,
            build,
            streamed,
            current: None,
            coalescer: coalescer(schema, batch_size),
            batch_size,
        }
    }

    fn put(
        &mut self,
        streamed: &RecordBatch,
        streamed_rows: Streamed<'_>,
        build_rows: &UInt32Array,
        exists: Option<&BooleanArray>,
    ) -> Result<()> {
        let rows = match streamed_rows {
            Streamed::All => streamed.num_rows(),
            Streamed::Rows(rows) => rows.len(),
            Streamed::Nulls => build_rows.len(),
        };
        if rows == 0 {
            return Ok(());
        }
        let batch = &self.build.batch;
        let columns = self.plan.output.iter();
        let columns = columns
            .map(|column| gather(*column, streamed, streamed_rows, batch, build_rows, exists));
        let batch = batch_of(
            &self.coalescer.schema(),
            columns.collect::<Result<_>>()?,
            rows,
        )?;
        Ok(self.coalescer.push_batch(batch)?)
    }

    /// A batch of which each row has at most one match, and all matches count.
    fn put_unique(&mut self, batch: &RecordBatch, found: &Matches) -> Result<()> {
        let build_rows: UInt32Array = found.unique().collect();
        let Emit::Pairs { streamed: true, .. } = self.plan.emit else {
            if build_rows.null_count() == 0 {
                return self.put(batch, Streamed::All, &build_rows, None);
            }
            let pairs = (0..).zip(build_rows.iter());
            let pairs = pairs.filter_map(|(row, build)| Some((row, build?)));
            let (rows, build_rows): (Vec<u32>, Vec<u32>) = pairs.unzip();
            return self.put(
                batch,
                Streamed::Rows(&rows.into()),
                &build_rows.into(),
                None,
            );
        };
        self.put(batch, Streamed::All, &build_rows, None)
    }

    /// Streamed rows by whether they have a match.
    fn put_streamed(&mut self, batch: &RecordBatch, matched: &[bool]) -> Result<()> {
        let wanted = match self.plan.emit {
            Emit::Semi => true,
            Emit::Anti | Emit::NullAwareAnti => false,
            Emit::Existence => {
                let exists = BooleanArray::from(matched.to_vec());
                let none = UInt32Array::new_null(batch.num_rows());
                return self.put(batch, Streamed::All, &none, Some(&exists));
            }
            Emit::Pairs { .. } | Emit::BuildSemi | Emit::BuildAnti => return Ok(()),
        };
        let nulls = match self.plan.emit {
            Emit::NullAwareAnti => {
                let keys = evaluate(&self.plan.keys, batch)?;
                keys.first().and_then(|key| key.logical_nulls())
            }
            _ => None,
        };
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let rows = (0..).zip(matched.iter().enumerate());
        let rows: Vec<u32> = rows
            .filter(|(_, (row, matched))| **matched == wanted && !is_null(*row))
            .map(|(row, _)| row)
            .collect();
        let none = UInt32Array::new_null(rows.len());
        if rows.len() == batch.num_rows() {
            return self.put(batch, Streamed::All, &none, None);
        }
        self.put(batch, Streamed::Rows(&rows.into()), &none, None)
    }

    /// The next pairs of the current batch.
    fn step(&mut self) -> Result<()> {
        let Some(mut current) = self.current.take() else {
            return Ok(());
        };
        let plan = Arc::clone(&self.plan);
        let rows = current.batch.num_rows();
        if let Found::Table(found, _) = &current.found
            && plan.condition.is_none()
            && !plan.emit.marks_build()
        {
            let unique = self
                .build
                .table
                .as_ref()
                .is_some_and(RelationTable::key_is_unique);
            if plan.emit.is_pairs() {
                if unique {
                    return self.put_unique(&current.batch, found);
                }
            } else {
                let matched: Vec<bool> = (0..rows).map(|row| found.is_match(row)).collect();
                return self.put_streamed(&current.batch, &matched);
            }
        }
        let (streamed_rows, build_rows, last) = self.pairs(&mut current)?;
        // A row that is not done may have more matches.
        let end = match last {
            true => u32::try_from(rows).map_err(|_| bail_out("a batch of too many rows"))?,
            false => streamed_rows.last().copied().unwrap_or(current.done),
        };
        let (streamed_rows, build_rows) = self.undecided(&current, streamed_rows, build_rows);
        let (streamed_rows, build_rows) = self.matching(&current, streamed_rows, build_rows)?;
        for row in streamed_rows.values() {
            if let Some(matched) = current.matched.get_mut(*row as usize) {
                *matched = true;
            }
        }
        if plan.emit.marks_build() {
            for row in build_rows.values() {
                if let Some(matched) = self.build_matched.get_mut(*row as usize) {
                    *matched = true;
                }
            }
        }
        if let Emit::Pairs { streamed, .. } = plan.emit {
            let rows = Streamed::Rows(&streamed_rows);
            if streamed {
                let (rows, build_rows) = with_unmatched(&current, &streamed_rows, &build_rows, end);
                self.put(&current.batch, Streamed::Rows(&rows), &build_rows, None)?;
            } else {
                self.put(&current.batch, rows, &build_rows, None)?;
            }
            current.done = end;
        }
        if !last {
            self.current = Some(current);
            return Ok(());
        }
        self.put_streamed(&current.batch, &current.matched)
    }

    /// Pairs that may match, and whether they are the last ones of the batch.
    fn pairs(&self, current: &mut Current) -> Result<(Vec<u32>, Vec<u32>, bool)> {
        let limit = self.batch_size;
        let (mut streamed, mut build) = (Vec::new(), Vec::new());
        let last = match &mut current.found {
            Found::Table(found, cursor) => {
                let table = self.build.table.as_ref();
                let table = table.ok_or_else(|| bail_out("a join without a table"))?;
                found.pairs(table, cursor, limit, &mut streamed, &mut build)
            }
            Found::All(row, next) => {
                let small = |of: usize| u32::try_from(of);
                let of = (
                    small(current.batch.num_rows()),
                    small(self.build.batch.num_rows()),
                );
                let (Ok(rows), Ok(of)) = of else {
                    return Err(bail_out("too many rows in a relation"));
                };
                while *row < rows && streamed.len() < limit {
                    if *next >= of {
                        (*row, *next) = (*row + 1, 0);
                        continue;
                    }
                    streamed.push(*row);
                    build.push(*next);
                    *next += 1;
                }
                *row >= rows
            }
        };
        Ok((streamed, build, last))
    }

    /// Without the pairs that cannot change what comes out: one match of a row is as good as many, unless pairs come
    /// out.
    fn undecided(
        &self,
        current: &Current,
        mut streamed_rows: Vec<u32>,
        mut build_rows: Vec<u32>,
    ) -> (Vec<u32>, Vec<u32>) {
        if self.plan.condition.is_none() || self.plan.emit.is_pairs() {
            return (streamed_rows, build_rows);
        }
        let (rows, matched) = match self.plan.emit.marks_build() {
            true => (&build_rows, &self.build_matched),
            false => (&streamed_rows, &current.matched),
        };
        let open = rows
            .iter()
            .map(|row| matched.get(*row as usize) != Some(&true));
        let open: Vec<bool> = open.collect();
        if open.contains(&false) {
            let kept = |rows: &mut Vec<u32>| {
                let mut open = open.iter();
                rows.retain(|_| open.next() == Some(&true));
            };
            kept(&mut streamed_rows);
            kept(&mut build_rows);
        }
        (streamed_rows, build_rows)
    }

    /// Those pairs that the condition is true of.
    fn matching(
        &self,
        current: &Current,
        streamed_rows: Vec<u32>,
        build_rows: Vec<u32>,
    ) -> Result<(UInt32Array, UInt32Array)> {
        let (streamed_rows, build_rows) = (streamed_rows.into(), build_rows.into());
        let Some(condition) = &self.plan.condition else {
            return Ok((streamed_rows, build_rows));
        };
        let build = &self.build.batch;
        let mask = condition.mask(&current.batch, &streamed_rows, build, &build_rows)?;
        let kept = |rows: &UInt32Array| {
            Ok::<_, datafusion_common::DataFusionError>(filter(rows, &mask)?.as_primitive().clone())
        };
        Ok((kept(&streamed_rows)?, kept(&build_rows)?))
    }
}

/// Pairs and, between them in the order of streamed rows, those rows before `end` that have no match.
fn with_unmatched(
    current: &Current,
    streamed_rows: &UInt32Array,
    build_rows: &UInt32Array,
    end: u32,
) -> (UInt32Array, UInt32Array) {
    let is_matched = |row: u32| current.matched.get(row as usize) == Some(&true);
    let mut rows = Vec::with_capacity(streamed_rows.len());
    let mut builds = Vec::with_capacity(streamed_rows.len());
    let mut next = current.done;
    let pairs = streamed_rows.values().iter().zip(build_rows.values());
    let mut unmatched_to = |to: u32, rows: &mut Vec<u32>, builds: &mut Vec<Option<u32>>| {
        for row in next..to.max(next) {
            if !is_matched(row) {
                rows.push(row);
                builds.push(None);
            }
        }
        next = next.max(to);
    };
    for (row, build) in pairs {
        unmatched_to(*row, &mut rows, &mut builds);
        rows.push(*row);
        builds.push(Some(*build));
    }
    unmatched_to(end, &mut rows, &mut builds);
    (rows.into(), builds.into())
}

impl Pipe for Probe {
    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let found = match &self.build.table {
            Some(table) => {
                let keys = evaluate(&self.plan.keys, &batch)?;
                Found::Table(table.probe(&keys, rows)?, MatchCursor::default())
            }
            None => Found::All(0, 0),
        };
        self.current = Some(Current {
            matched: vec![false; rows],
            batch,
            found,
            done: 0,
        });
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let wanted = match self.plan.emit {
            Emit::Pairs { build: true, .. } | Emit::BuildAnti => Some(false),
            Emit::BuildSemi => Some(true),
            _ => None,
        };
        if let Some(wanted) = wanted {
            let rows = (0..).zip(std::mem::take(&mut self.build_matched));
            let rows = rows.filter(|(_, matched)| *matched == wanted);
            let rows: Vec<u32> = rows.map(|(row, _)| row).collect();
            let none = RecordBatch::new_empty(Arc::clone(&self.streamed));
            for rows in rows.chunks(self.batch_size) {
                self.put(&none, Streamed::Nulls, &rows.to_vec().into(), None)?;
            }
        }
        Ok(self.coalescer.finish_buffered_batch()?)
    }

    fn pop(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Ok(Some(batch));
            }
            if self.current.is_none() {
                return Ok(None);
            }
            // A batch may have very many pairs, and none of them come out.
            self.sources.alive()?;
            self.step()?;
        }
    }
}
