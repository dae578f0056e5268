/// Tells the executor to stop and exit with code 0. One-way to `Executor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopExecutor;
