//! The columns of windows, made in parts: rows may have large values in common.

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use arrow::compute::take;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;

use super::lists::ListColumn;

/// Bytes of a part of a column of values that rows have in common, about.
pub(super) const PART: usize = 16 << 20;

/// A column for the rows of whole partitions.
pub(super) enum Column {
    /// A value for each row.
    Own(ArrayRef),
    /// Values that several rows have.
    Shared {
        values: ArrayRef,
        /// The place of each row's.
        of_rows: UInt32Array,
    },
    /// Lists that are parts of one.
    Lists(ListColumn),
}

impl Column {
    /// How many rows from one on a part may have.
    pub(super) fn rows_at_once(&self, from: usize) -> usize {
        match self {
            Self::Own(_) => usize::MAX,
            Self::Lists(lists) => lists.rows_at_once(from),
            Self::Shared { values, .. } => {
                let bytes = values.get_array_memory_size() / values.len().max(1);
                (PART / bytes.max(1)).max(1)
            }
        }
    }

    /// The values of so many rows from one on.
    pub(super) fn part(&self, start: usize, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Own(values) => Ok(values.slice(start, rows)),
            Self::Lists(lists) => lists.part(start, rows),
            Self::Shared { values, of_rows } => {
                Ok(take(values, &of_rows.slice(start, rows), None)?)
            }
        }
    }
}

/// Memory that columns take while they are computed, and afterwards.
pub(super) struct Memory<'a> {
    reservation: &'a MemoryReservation,
    /// Bytes of what was there before.
    before: usize,
    /// Bytes of columns that are there.
    kept: usize,
}

impl<'a> Memory<'a> {
    pub(super) fn new(reservation: &'a MemoryReservation) -> Self {
        Self {
            reservation,
            before: reservation.size(),
            kept: 0,
        }
    }

    /// So many bytes are needed for what is being computed.
    ///
    /// # Errors
    /// Bail-out: there are not as many.
    pub(super) fn need(&mut self, bytes: usize) -> Result<()> {
        // It becomes a column while it is there.
        let own = bytes.saturating_mul(2).saturating_add(self.kept);
        self.reservation.try_resize(self.before.saturating_add(own))
    }

    /// So many bytes stay.
    ///
    /// # Errors
    /// As [`Self::need`]
    pub(super) fn keep(&mut self, bytes: usize) -> Result<()> {
        self.kept = self.kept.saturating_add(bytes);
        self.need(0)
    }

    /// Bytes of columns that stay.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }
}
