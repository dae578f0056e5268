/// Asks which of the executor's blocks a filter accepts. Ask to `BlockManagerEndpoint1`; the
/// reply is a `Seq[BlockId]`. The filter is a Scala closure that only a JVM can run, so it is not
/// kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetMatchingBlockIds {
    /// Meant for the driver: whether it shall ask the executors.
    pub ask_storage_endpoints: bool,
}
