//! Properties of the executor's life, its tasks and resources.

use super::super::units::{SizeUnit, TimeUnit};
use super::DefaultValue::{Is, Unset};
use super::{
    Effect, Family, List, Property, Size, Switch, Text, Time, TimeLimit, Whole, declarations,
};

declarations! { Executor:
    /// The application's id, set by the executor from its arguments.
    APP_ID: Property<Text> = Property::new("spark.app.id", Text, Unset);

    /// The executor's id, set by the executor from its arguments.
    EXECUTOR_ID: Property<Text> = Property::new("spark.executor.id", Text, Unset);

    /// Cores of an executor, for the number of threads of Python libraries and the memory of Python workers.
    EXECUTOR_CORES: Property<Whole> =
        Property::new("spark.executor.cores", Whole { least: 1, most: 1 << 20 }, Is("1"));

    /// Cores of a task; a part of a core from Spark 4.3 on.
    TASK_CPUS: Property<Text> = Property::new("spark.task.cpus", Text, Is("1"));

    /// Whether threads of tasks are interrupted when they are killed. Native ones need not be.
    INTERRUPT_ON_CANCEL: Property<Switch> =
        Property::new("spark.job.interruptOnCancel", Switch, Is("false"));

    /// Pause between two heartbeats; also how long one waits for its answer.
    HEARTBEAT_INTERVAL: Property<Time> =
        Property::new("spark.executor.heartbeatInterval", Time(TimeUnit::Millis), Is("10s"));

    /// Failed heartbeats in a row after which the executor gives up.
    HEARTBEAT_MAX_FAILURES: Property<Whole> = Property::new(
        "spark.executor.heartbeat.maxFailures",
        Whole { least: 1, most: i32::MAX as i128 },
        Is("60"),
    );

    /// Whether heartbeats tell the memory of the executor's processes.
    PROCESS_TREE_METRICS: Property<Switch> =
        Property::new("spark.executor.processTreeMetrics.enabled", Switch, Is("false"));

    /// The largest result in bytes that an executor sends to the driver; 0 is no limit.
    MAX_RESULT_SIZE: Property<Size> =
        Property::new("spark.driver.maxResultSize", Size(SizeUnit::Bytes), Is("1g"));

    /// The largest result in bytes that is sent with a message; larger ones are blocks that the driver fetches.
    MAX_DIRECT_RESULT_SIZE: Property<Size> =
        Property::new("spark.task.maxDirectResultSize", Size(SizeUnit::Bytes), Is("1048576b"));

    /// Whether killed tasks that go on are watched.
    TASK_REAPER_ENABLED: Property<Switch> =
        Property::new("spark.task.reaper.enabled", Switch, Is("false"));

    /// How often killed tasks that go on are looked at.
    TASK_REAPER_POLLING_INTERVAL: Property<Time> =
        Property::new("spark.task.reaper.pollingInterval", Time(TimeUnit::Millis), Is("10s"));

    /// Time after which a killed task that goes on ends the executor; never if it is negative.
    TASK_REAPER_KILL_TIMEOUT: Property<TimeLimit> =
        Property::new("spark.task.reaper.killTimeout", TimeLimit(TimeUnit::Millis), Is("-1ms"))
            .effect(Effect::NativeBut(
                "with a time, and the reaper enabled, a JVM is created at the start and the executor waits for it",
            ));

    /// Classes that are initialised in every executor.
    PLUGINS: Property<Text> = Property::new("spark.plugins", Text, Is(""))
        .effect(Effect::Jvm("with plugins a JVM is created at the start and the executor waits for it"));

    /// Classes that find custom resources.
    DISCOVERY_PLUGIN: Property<List> = Property::new("spark.resources.discoveryPlugin", List, Is(""))
        .effect(Effect::Jvm(
            "if resources are to be found by a class other than Spark's own, a JVM is created before the executor \
             registers",
        ));

    /// How many of a custom resource an executor has.
    RESOURCE_AMOUNT: Family<Whole> = Family::new(
        "spark.executor.resource.",
        ".amount",
        &[],
        Whole { least: 0, most: u64::MAX as i128 },
        Unset,
    );

    /// The program that finds the addresses of a custom resource.
    RESOURCE_DISCOVERY_SCRIPT: Family<Text> =
        Family::new("spark.executor.resource.", ".discoveryScript", &[], Text, Unset);

    /// Environment variables of executors, set by the cluster manager: `JAVA_HOME` makes an executor Firesteel's.
    EXECUTOR_ENV: Family<Text> = Family::new("spark.executorEnv.", "", &[], Text, Unset);

    /// Options of the JVM that come before `spark.executor.extraJavaOptions`.
    DEFAULT_JAVA_OPTIONS: Property<Text> =
        Property::new("spark.executor.defaultJavaOptions", Text, Unset)
            .effect(Effect::Jvm(JAVA_OPTIONS));

    /// Options of the JVM.
    EXTRA_JAVA_OPTIONS: Property<Text> = Property::new("spark.executor.extraJavaOptions", Text, Unset)
        .effect(Effect::Jvm(JAVA_OPTIONS));

    /// Whether log lines are JSON.
    STRUCTURED_LOGGING: Property<Switch> =
        Property::new("spark.log.structuredLogging.enabled", Switch, Is("false"))
            .since((4, 0))
            .effect(Effect::Checked("`FIRESTEEL_LOG_FORMAT` decides about lines that are not the JVM's"));

    /// Whether executors may leave on request.
    DECOMMISSION_ENABLED: Property<Switch> =
        Property::new("spark.decommission.enabled", Switch, Is("false"));

    /// The signal, without `SIG`, that asks an executor to leave: `PWR`, `USR1`, `USR2` or `HUP`.
    DECOMMISSION_SIGNAL: Property<Text> =
        Property::new("spark.executor.decommission.signal", Text, Is("PWR"))
            .effect(Effect::NativeBut("another signal than these four is not watched, which is logged"));

    /// For tests of Spark: milliseconds until it is first looked whether a leaving executor may go.
    DECOMMISSION_FIRST_LOOK: Property<Whole> = Property::new(
        "spark.test.executor.decommission.initial.sleep.millis",
        Whole { least: 0, most: i32::MAX as i128 },
        Is("1000"),
    );

    /// For tests of Spark: more ports are tried and no memory is reserved.
    TESTING: Property<Text> = Property::new("spark.testing", Text, Unset);
}

const JAVA_OPTIONS: &str = "the heap's size is announced by them; if they name proxies or trust stores, the JVM reads \
                            all files of other machines";
