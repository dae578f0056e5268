//! End-to-end tests: real drivers of every supported Spark version, with Firesteel's executors next to plain Spark's.
//!
//! They need the Spark distributions (`FIRESTEEL_SPARK_DIR_<VERSION>`, such as `FIRESTEEL_SPARK_DIR_4_3_0`, or
//! `spark-<version>` under `FIRESTEEL_CACHE`, default `~/.cache/firesteel`) and a built distribution of Firesteel
//! (`FIRESTEEL_DIST`, default `dist/firesteel`). What plain Spark answered is kept in the cache directory by version and
//! content of the jobs; `FIRESTEEL_E2E_FRESH=1` asks it again. Logs of the last run stay under `target/tmp/e2e`.

// Tests may panic; `allow-*-in-tests` of clippy.toml covers only functions that carry `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod bad_input;
mod compare;
mod drills;
mod fleet;
mod full_disk;
mod hold;
mod jobs;
mod lanes;
mod places;
mod process;
mod pyspark_modules;
mod python_lane;
mod report;
mod submit;

/// One test per version, so that a failure names the version: `each_version! { theme::function }` makes
/// `function::v3_5_9` and so on.
#[macro_export]
macro_rules! each_version {
    ($name:ident, $body:path) => {
        mod $name {
            #[test]
            fn v3_5_9() {
                $body("3.5.9");
            }
            #[test]
            fn v4_0_5() {
                $body("4.0.5");
            }
            #[test]
            fn v4_1_4() {
                $body("4.1.4");
            }
            #[test]
            fn v4_2_1() {
                $body("4.2.1");
            }
            #[test]
            fn v4_3_0() {
                $body("4.3.0");
            }
        }
    };
}
