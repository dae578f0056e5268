//! Log lines in Spark's own format on stderr.
