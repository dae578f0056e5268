use arrow::array::{ArrayRef, StructArray};

use crate::guest::{Binding, Declaration, Failure, Task};

/// A function that gives one value for each group of rows.
pub trait Aggregate: Send + Sync + 'static {
    /// What it is. The same at every call.
    fn declaration(&self) -> Declaration;

    /// The types of a state as columns, `name:type, …`: one column at least, for all signatures the same ones.
    fn state(&self) -> String;

    /// Makes an instance for a task.
    ///
    /// # Errors
    /// The function does not take such arguments, or cannot be used.
    fn bind(&self, binding: &Binding) -> Result<Box<dyn AggregateInstance>, Failure>;
}

/// An aggregate that is called by one task: it keeps what it needs to know of each group.
///
/// The number of groups never shrinks from call to call; groups that the instance does not know yet begin at the call
/// that first counts them. The arguments are borrowed: see [`crate::guest`].
pub trait AggregateInstance: Send {
    /// Takes rows.
    ///
    /// # Errors
    /// A value cannot be worked with, or whatever else fails the task.
    fn update(
        &mut self,
        task: &Task,
        arguments: &StructArray,
        groups: Groups<'_>,
    ) -> Result<(), Failure>;

    /// Takes states that an instance gave, as `update` takes rows. Several may be of the same group.
    ///
    /// # Errors
    /// Whatever fails the task.
    fn merge(
        &mut self,
        task: &Task,
        states: &StructArray,
        groups: Groups<'_>,
    ) -> Result<(), Failure>;

    /// Gives the states of groups 0 to `count`: an array of each column of [`Aggregate::state`].
    ///
    /// # Errors
    /// Whatever fails the task.
    fn states(&mut self, task: &Task, count: usize) -> Result<Vec<ArrayRef>, Failure>;

    /// Gives the results of groups 0 to `count`, and forgets all groups.
    ///
    /// # Errors
    /// Whatever fails the task.
    fn finish(&mut self, task: &Task, count: usize) -> Result<ArrayRef, Failure>;

    /// Bytes that the instance keeps, besides those that it reserves itself.
    fn size(&self) -> usize;
}

/// The groups that rows belong to.
#[derive(Debug, Clone, Copy)]
pub struct Groups<'a> {
    pub(crate) of_rows: &'a [u32],
    pub(crate) count: usize,
}

impl<'a> Groups<'a> {
    /// The group of each row, below [`Groups::count`].
    #[must_use]
    pub fn of_rows(self) -> &'a [u32] {
        self.of_rows
    }

    /// How many groups there are.
    #[must_use]
    pub fn count(self) -> usize {
        self.count
    }

    /// The group of each row, as indices.
    pub fn indices(self) -> impl Iterator<Item = usize> + 'a {
        self.of_rows.iter().map(|group| *group as usize)
    }
}
