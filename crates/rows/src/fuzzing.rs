//! Private decoders as the fuzz targets see them. Compiled for `cargo fuzz` only.

pub use crate::objects::fuzz_row_objects as row_objects;
pub use crate::relation::fuzz_relation_page as relation_page;
