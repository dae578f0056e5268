/// Tells the executor to move its blocks away and leave. One-way to `Executor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecommissionExecutor;
