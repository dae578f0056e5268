/// Asks for a histogram of the Java heap. Ask to `BlockManagerEndpoint1`; the reply is a
/// `String[]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerHeapHistogram;
