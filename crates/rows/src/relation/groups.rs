//! Rows by groups of those with the same key.

use crate::slots::NONE;

/// Rows with the same key, next to each other.
#[derive(Debug)]
pub(super) struct Groups {
    /// Where the rows of each group begin in `rows`, and at last where those of the last group end.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Groups {
    /// The rows of a group in their order.
    #[inline]
    pub(super) fn rows(&self, group: u32) -> &[u32] {
        match self.starts.get(group as usize..) {
            Some([start, end, ..]) => self.rows.get(*start as usize..*end as usize),
            _ => None,
        }
        .unwrap_or_default()
    }

    pub(super) fn memory_size(&self) -> usize {
        (self.starts.len() + self.rows.len()) * size_of::<u32>()
    }
}

/// Rows with the same key in the making.
pub(super) struct Grouping {
    /// The group of each row.
    groups: Vec<u32>,
    /// The first row of each group.
    firsts: Vec<u32>,
    /// Rows that have a group.
    count: usize,
}

/// What became of a [`Grouping`].
pub(super) enum Grouped {
    /// The row of each group: they have one each.
    One(Vec<u32>),
    Several(Groups),
}

impl Grouping {
    pub(super) fn new(num_rows: usize) -> Self {
        Self {
            groups: vec![NONE; num_rows],
            firsts: Vec::new(),
            count: 0,
        }
    }

    /// A row whose key has this head, to be called with the rows in their order.
    #[inline]
    pub(super) fn push(&mut self, head: &mut u32, row: usize) {
        if *head == NONE {
            // There are fewer than NONE, of both.
            *head = self.firsts.len() as u32;
            self.firsts.push(row as u32);
        }
        if let Some(group) = self.groups.get_mut(row) {
            *group = *head;
        }
        self.count += 1;
    }

    /// The first row of a group.
    pub(super) fn first(&self, group: u32) -> Option<u32> {
        self.firsts.get(group as usize).copied()
    }

    pub(super) fn finish(self) -> Grouped {
        if self.firsts.len() == self.count {
            return Grouped::One(self.firsts);
        }
        let mut starts = vec![0; self.firsts.len() + 1];
        // Rows without a group are behind the last one, here and below.
        for group in &self.groups {
            if let Some(size) = starts.get_mut(*group as usize + 1) {
                *size += 1;
            }
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        // Where the next row of each group goes; at last where it ends, which is where the next one begins.
        let mut next = starts.clone();
        let mut rows = vec![0; self.count];
        for (row, group) in self.groups.iter().enumerate() {
            let Some(next) = next.get_mut(*group as usize) else {
                continue;
            };
            if let Some(place) = rows.get_mut(*next as usize) {
                *place = row as u32;
            }
            *next += 1;
        }
        Grouped::Several(Groups { starts, rows })
    }
}
