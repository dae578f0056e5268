//! Exit codes of an executor process, with Spark's meanings.
//!
//! Sources: `org.apache.spark.util.SparkExitCode` and `org.apache.spark.executor.ExecutorExitCode`. A cluster manager
//! decides by them whether an exit was the application's fault.

/// Ordered stop.
pub const SUCCESS: i32 = 0;
/// Bad arguments, registration refused, no driver.
pub const FAILURE: i32 = 1;
/// `SparkExitCode.UNCAUGHT_EXCEPTION`: a thread of the executor itself failed.
pub const UNCAUGHT_EXCEPTION: i32 = 50;
/// `ExecutorExitCode.DISK_STORE_FAILED_TO_CREATE_DIR`: no local directory could be made.
pub const DISK_STORE_FAILED_TO_CREATE_DIR: i32 = 53;
/// `ExecutorExitCode.HEARTBEAT_FAILURE`: too many heartbeats in a row went unanswered.
pub const HEARTBEAT_FAILURE: i32 = 56;
/// `ExecutorExitCode.KILLED_BY_TASK_REAPER` (Spark 4.0 and later; earlier versions use [`UNCAUGHT_EXCEPTION`]).
pub const KILLED_BY_TASK_REAPER: i32 = 57;
/// `ExecutorExitCode.BLOCK_MANAGER_REREGISTRATION_FAILED` (Spark 4.0 and later; earlier versions use [`WORKER_LOST`]).
pub const BLOCK_MANAGER_REREGISTRATION_FAILED: i32 = 58;
/// `System.exit(-1)`: the connection to the standalone Worker was lost.
pub const WORKER_LOST: i32 = -1;
/// Ended by `SIGTERM`, as the JVM's own handler reports it.
pub const TERMINATED: i32 = 143;
