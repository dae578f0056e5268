//! End-to-end tests: real drivers of every supported Spark version, with Firesteel's executors next to plain Spark's.
//!
//! They need the Spark distributions (`FIRESTEEL_SPARK_DIR_<VERSION>`, such as `FIRESTEEL_SPARK_DIR_4_3_0`, or
//! `spark-<version>` under `FIRESTEEL_CACHE`, default `~/.cache/firesteel`) and a built distribution of Firesteel
//! (`FIRESTEEL_DIST`, default `dist/firesteel`). What plain Spark answered is kept in the cache directory by version
//! and content of the jobs; `FIRESTEEL_E2E_FRESH=1` asks it again. `FIRESTEEL_E2E_PATIENCE=3` makes all deadlines three
//! times as long. By default most tests run on the newest version, some on the oldest one, too, and few on those
//! between: `FIRESTEEL_E2E_ALL=1` runs them all on all. Jobs that read from other machines start servers that
//! `setup_services` of `scripts/lib.sh` has put into the cache directory. Kubernetes' cluster mode needs name spaces of
//! Linux; with `FIRESTEEL_E2E_ENTRYPOINT=<directory>` its containers start by the `entrypoint.sh` of Spark's images
//! that is there, which needs `tini`. Logs of the last run stay under `target/tmp/e2e`.

// Tests may panic; `allow-*-in-tests` of clippy.toml covers only functions that carry `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod authentication;
mod bad_input;
mod carried_plans;
mod compare;
mod decommission;
mod drills;
mod executor_rules;
mod fleet;
mod full_disk;
mod hold;
mod jobs;
mod kubernetes;
mod lanes;
mod memory;
mod native_catalog;
mod native_functions;
mod pipelines;
mod places;
mod process;
mod pyspark_modules;
mod python_lane;
mod qualify;
mod remote_files;
mod report;
mod shuffle_service;
mod sql_aggregates;
mod sql_cached;
mod sql_checkpoints;
mod sql_connect;
mod sql_default;
mod sql_draws;
mod sql_expressions;
mod sql_faults;
mod sql_frames;
mod sql_groups;
mod sql_iceberg;
mod sql_jvm_expressions;
mod sql_lakes;
mod sql_lane;
mod sql_lines;
mod sql_map_in_batch;
mod sql_objects;
mod sql_python;
mod sql_python_windows;
mod sql_random;
mod sql_records;
mod sql_rests;
mod sql_scans;
mod sql_schemas;
mod sql_simple;
mod sql_steps;
mod sql_tables;
mod sql_times;
mod sql_variants;
mod sql_windows;
mod sql_writes;
mod standalone;
mod submit;
mod tls;
mod yarn;
