//! Native functions in processes of their own (`spark.firesteel.functions.isolate`): what crashes there costs a task,
//! and what never ends is killed with its task. The executor itself loads no library.
//!
//! A process is this program again, as `firesteel functions serve`. A [`Worker`](worker::Worker) is the executor's side
//! of it, [`serve`] is the other. They have two sockets and two pieces of shared memory. One socket carries calls and
//! their answers, of which one side at a time speaks; columns that go with one are in the memory that its sender
//! writes, as Arrow's IPC format has them. The other socket carries what may come at any time: memory that a function
//! asks for, and that its task was cancelled. Nothing that comes from the process is trusted: the executor copies
//! columns before it looks at them, and looks at all of them.

mod columns;
mod instance;
mod memory;
mod message;
mod pool;
mod serve;
mod side;
mod worker;

pub(super) use self::instance::{IsolatedInstance, IsolatedRows};
pub(super) use self::pool::isolation;
pub use self::pool::{Isolated, ProcessCounts, count_isolated, isolate};
pub use self::serve::serve;

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    //! What fuzz targets call.

    use arrow::buffer::Buffer;
    use arrow::datatypes::{DataType, Field, Fields};

    use super::columns;
    use super::message::{Reply, ToExecutor, read_message};

    /// What a process says on either socket, and columns that it gives.
    pub fn isolated_replies(data: &[u8]) {
        let mut rest = data;
        while let Ok(Some(_)) = read_message::<Reply>(&mut rest) {}
        let mut rest = data;
        while let Ok(Some(_)) = read_message::<ToExecutor>(&mut rest) {}
        let fields = [
            Field::new("a", DataType::Utf8, true),
            Field::new("b", DataType::Int32, true),
        ];
        let _ = columns::read(Buffer::from(data), &Fields::from(fields.to_vec()));
        let _ = columns::read(Buffer::from(data), &Fields::empty());
    }
}
