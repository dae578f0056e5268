//! A library of native functions for Firesteel: one of each kind.
//!
//! | Function | Kind | Types |
//! |---|---|---|
//! | `geohash` | scalar | `double latitude, double longitude, int precision` → `string` |
//! | `top_k` | aggregate | `double value, int k` → `array<double>` |
//! | `series` | table | `bigint from, bigint to, bigint step` → `value:bigint` |
//! | `parse_access_log` | partition | `value:string` → `host, time, method, path, status, bytes` |
//!
//! `cargo build --release -p firesteel-example-functions` makes `libfiresteel_example_functions.so`.

mod access_log;
mod geohash;
mod series;
mod top_k;

use functions::guest::{Module, scalar};

/// The functions of this library.
pub fn module() -> Module {
    Module::new("examples", env!("CARGO_PKG_VERSION"))
        .scalar(scalar(geohash::declaration(), geohash::geohash))
        .aggregate(top_k::TopK)
        .table(series::Series)
        .partition(access_log::ParseAccessLog)
}

functions::module!(module());
