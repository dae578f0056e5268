/// Asks for the stacks of all threads. Ask to `BlockManagerEndpoint1`; the reply is a
/// `ThreadStackTrace[]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerThreadDump;
