//! Where the rows of a shuffle go.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::range::RangeBounds;
use crate::expr::lower;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr};
use catalyst::{Partitioning, ShuffleWrite};
use javaser::XorShiftRandom;
use rows::EncodedRows;
use rows::murmur3;
use rows::types::ToArrow as _;
use rows::types::schema_of;

/// Sends rows of a shuffle's map task to the reduce partitions that Spark would send them to.
#[derive(Debug)]
pub struct Partitioner {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    num_partitions: i32,
    way: Way,
}

#[derive(Debug, Clone)]
enum Way {
    Single,
    Hash,
    Range(Arc<RangeBounds>),
    RoundRobin { sorted: bool, position: i32 },
}

impl Partitioner {
    /// Judges a shuffle. Made once per stage; tasks take [`Partitioner::task`].
    ///
    /// # Errors
    /// Keys are not computed natively.
    pub fn new(write: &ShuffleWrite) -> std::result::Result<Self, Unsupported> {
        Self::with(
            &write.partitioning,
            &write.output,
            write.shuffle.num_partitions,
        )
    }

    /// As [`Partitioner::new`], for rows with the columns `output`.
    ///
    /// # Errors
    /// Keys are not computed natively.
    pub fn with(
        partitioning: &Partitioning,
        output: &[Attribute],
        num_partitions: i32,
    ) -> std::result::Result<Self, Unsupported> {
        if num_partitions < 1 {
            return Err(Unsupported::of_use("a shuffle without partitions"));
        }
        let lower_all = |exprs: Vec<&Expr>| {
            exprs
                .into_iter()
                .map(|expr| lower(expr, output))
                .collect::<std::result::Result<Vec<_>, _>>()
        };
        let (keys, way) = match partitioning {
            Partitioning::Single => (Vec::new(), Way::Single),
            Partitioning::Hash(exprs) => {
                for expr in exprs {
                    if !murmur3::is_hashed(&expr.data_type.to_arrow()?) {
                        return Err(Unsupported::of_use(format!("a hash of {}", expr.data_type)));
                    }
                }
                (lower_all(exprs.iter().collect())?, Way::Hash)
            }
            Partitioning::Range { order, bounds } => {
                let bounds = RangeBounds::new(order, bounds)?;
                let keys = lower_all(order.iter().map(|by| &by.child).collect())?;
                (keys, Way::Range(Arc::new(bounds)))
            }
            Partitioning::RoundRobin { sorted } => {
                let way = Way::RoundRobin {
                    sorted: *sorted,
                    position: 0,
                };
                (Vec::new(), way)
            }
        };
        schema_of(output)?;
        Ok(Self {
            keys,
            num_partitions,
            way,
        })
    }

    /// For one task: `partition_id` is `TaskContext.partitionId`.
    #[must_use]
    pub fn task(&self, partition_id: i32) -> Self {
        let mut way = self.way.clone();
        if let Way::RoundRobin { position, .. } = &mut way {
            *position = XorShiftRandom::new(partition_id.into()).next_int(self.num_partitions);
        }
        Self {
            keys: self.keys.clone(),
            num_partitions: self.num_partitions,
            way,
        }
    }

    /// Whether all rows of the task have to be there, in [`round_robin_order`], before they are sent: round robin that
    /// is the same in each attempt. Spark does so only if there is more than one partition.
    #[must_use]
    pub fn needs_sorted_rows(&self) -> bool {
        matches!(self.way, Way::RoundRobin { sorted: true, .. })
    }

    /// Number of reduce partitions.
    #[must_use]
    pub fn num_partitions(&self) -> i32 {
        self.num_partitions
    }

    /// The reduce partition of each row of a batch. Batches are to be given in the order of their rows.
    ///
    /// # Errors
    /// Those of the keys; bail-outs.
    pub fn partition_ids(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let rows = batch.num_rows();
        let keys = self
            .keys
            .iter()
            .map(|key| key.evaluate(batch)?.into_array(rows))
            .collect::<Result<Vec<ArrayRef>>>()?;
        // Numbers of partitions are not negative.
        let n = self.num_partitions;
        Ok(match &mut self.way {
            Way::Single => vec![0; rows],
            Way::Hash => murmur3::hash_columns(&keys, rows, murmur3::SEED)?
                .into_iter()
                .map(|hash| hash.rem_euclid(n) as u32)
                .collect(),
            Way::Range(bounds) => bounds.partition_ids(&keys, rows)?,
            Way::RoundRobin { position, .. } => (0..rows)
                .map(|_| {
                    *position = position.wrapping_add(1);
                    position.rem_euclid(n) as u32
                })
                .collect(),
        })
    }
}

/// The order in which Spark sends the rows of a task round robin: by hash, size and bytes of the rows.
#[must_use]
pub fn round_robin_order(rows: &EncodedRows<'_>) -> Vec<u32> {
    let mut order: Vec<_> = (0..)
        .zip(rows.rows())
        .map(|(index, row)| {
            let hash = javaser::murmur3::hash_bytes(row, murmur3::SEED as u32) as i32;
            (hash, row.len(), row, index)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(.., index)| index).collect()
}

/// Rows of a batch put together by partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scattered {
    /// Rows, partition after partition; in their own order within each.
    pub rows: Vec<u32>,
    /// Where in `rows` each partition starts, and where the last ends.
    pub starts: Vec<u32>,
}

/// Puts rows together by their partitions.
#[must_use]
pub fn scatter(partition_ids: &[u32], num_partitions: usize) -> Scattered {
    let mut starts = vec![0_u32; num_partitions + 1];
    for id in partition_ids {
        if let Some(count) = starts.get_mut(*id as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut rows = vec![0; partition_ids.len()];
    for (row, id) in (0..).zip(partition_ids) {
        if let Some(place) = next.get_mut(*id as usize) {
            if let Some(slot) = rows.get_mut(*place as usize) {
                *slot = row;
            }
            *place += 1;
        }
    }
    Scattered { rows, starts }
}
