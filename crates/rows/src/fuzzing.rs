//! Private decoders as the fuzz targets see them. Compiled for `cargo fuzz` only.

pub use crate::relation::fuzz_relation_page as relation_page;
