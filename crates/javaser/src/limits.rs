/// What a stream may cost at most. Every limit has an error of its own in [`crate::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Objects inside objects. The parser does not recurse, so this protects readers of the graph, not the stack.
    pub max_depth: usize,
    /// Handles: objects, arrays, strings, class descriptors, enum constants.
    pub max_handles: usize,
    /// Elements of one array.
    pub max_array_len: usize,
    /// Bytes of one string in modified UTF-8.
    pub max_string_len: usize,
    /// Bytes of the whole stream.
    pub max_total: usize,
}

impl Default for Limits {
    /// Generous for anything Spark sends (its own frames end at 2 GiB), small enough that a stranger cannot exhaust
    /// memory.
    fn default() -> Self {
        Self {
            max_depth: 100_000,
            max_handles: 16_000_000,
            max_array_len: 1 << 30,
            max_string_len: 1 << 28,
            max_total: 1 << 31,
        }
    }
}
