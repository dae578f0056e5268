//! Properties of PySpark's tasks and workers.

use super::super::LaneName::Python;
use super::super::units::{SizeUnit, TimeUnit};
use super::DefaultValue::{From, Is, Own, Unset};
use super::property::is;
use super::{Effect, KnownValues, Property, Size, Switch, Text, Time, Whole, declarations};

declarations! { Python:
    /// Whether workers run more than one task.
    PYTHON_WORKER_REUSE: Property<Switch> =
        Property::new("spark.python.worker.reuse", Switch, Is("true"));

    /// Whether workers are forked from a daemon.
    PYTHON_USE_DAEMON: Property<Switch> =
        Property::new("spark.python.use.daemon", Switch, Is("true"));

    /// The module of the daemon.
    PYTHON_DAEMON_MODULE: Property<Text> =
        Property::new("spark.python.daemon.module", Text, Is("pyspark.daemon"));

    /// The module of workers.
    PYTHON_WORKER_MODULE: Property<Text> =
        Property::new("spark.python.worker.module", Text, Is("pyspark.worker"));

    /// How long a worker may take to connect.
    PYTHON_AUTH_TIMEOUT: Property<Time> = Property::new(
        "spark.python.authenticate.socketTimeout",
        Time(TimeUnit::Seconds),
        Is("15s"),
    );

    /// Whether a crashed worker says where it was.
    PYTHON_FAULTHANDLER: Property<Switch> =
        Property::new("spark.python.worker.faulthandler.enabled", Switch, Is("false"));

    /// Time after which a worker that says nothing is reported; 0 is never.
    PYTHON_IDLE_TIMEOUT: Property<Time> = Property::new(
        "spark.python.worker.idleTimeoutSeconds",
        Time(TimeUnit::Seconds),
        Is("0"),
    )
    .since((4, 0));

    /// How long the worker of a killed task may take to end by itself. Spark's default is for workers that have not
    /// been told anything; ours have their sockets closed at once, end right then if they look at them, and else would
    /// be killed after Spark's time as well.
    PYTHON_KILL_TIMEOUT: Property<Time> = Property::new(
        "spark.python.task.killTimeout",
        Time(TimeUnit::Millis),
        Own("200ms", "2s"),
    );

    /// Whether a worker that says nothing for that time is killed.
    PYTHON_KILL_ON_IDLE_TIMEOUT: Property<Switch> =
        Property::new("spark.python.worker.killOnIdleTimeout", Switch, Is("false")).since((4, 1));

    /// How often workers say where they are; 0 is never.
    PYTHON_TRACEBACK_DUMP_INTERVAL: Property<Time> = Property::new(
        "spark.python.worker.tracebackDumpIntervalSeconds",
        Time(TimeUnit::Seconds),
        Is("0"),
    )
    .since((4, 1));

    /// How many workers without a task are kept.
    PYTHON_IDLE_WORKERS: Property<Whole> = Property::new(
        "spark.python.factory.idleWorkerMaxPoolSize",
        Whole { least: 1, most: i32::MAX as i128 },
        Unset,
    )
    .since((4, 1));

    /// Whether a worker ends if it cannot write its last bytes.
    PYTHON_KILL_ON_FLUSH_FAILURE: Property<Switch> =
        Property::new("spark.python.daemon.killWorkerOnFlushFailure", Switch, Is("true"))
            .since((4, 1));

    /// Whether workers are talked to by Unix sockets.
    PYTHON_UNIX_SOCKETS: Property<Switch> = Property::new(
        "spark.python.unix.domain.socket.enabled",
        Switch,
        From("the environment variable `PYSPARK_UDS_MODE`, else `false`"),
    )
    .since((4, 1));

    /// The directory of Unix sockets.
    PYTHON_UNIX_SOCKET_DIR: Property<Text> = Property::new(
        "spark.python.unix.domain.socket.dir",
        Text,
        From("the directory of temporary files"),
    )
    .since((4, 1));

    /// The buffer of the connection to a worker, between 1 KiB and 16 MiB.
    BUFFER_SIZE: Property<Size> =
        Property::new("spark.buffer.size", Size(SizeUnit::Bytes), Is("65536"));

    /// Whether the metrics of a task tell every block that it touched.
    TRACK_UPDATED_BLOCK_STATUSES: Property<Switch> =
        Property::new("spark.taskMetrics.trackUpdatedBlockStatuses", Switch, Is("false")).effect(
            Effect::KnownValues(&[KnownValues { lane: Python, values: &["false"], reason: is }]),
        );
}
