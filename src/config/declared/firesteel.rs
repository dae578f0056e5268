//! Firesteel's own properties.

use super::DefaultValue::Is;
use super::{Effect, List, Property, Switch, Text, declarations};

declarations! { Firesteel:
    /// Lanes that may run tasks; what none of the named ones takes runs in the jvm lane, and `jvm` alone delegates
    /// every task.
    LANES: Property<List> = Property::new("spark.firesteel.lanes", List, Is("jvm,python,sql"));

    /// Whether stages of Spark SQL may run in the sql lane.
    SQL_ENABLED: Property<Switch> = Property::new("spark.firesteel.sql.enabled", Switch, Is("true"));

    /// Whether expressions of native stages that have no native form, functions in Scala and Java among them, and
    /// operators on the objects of typed data sets, are evaluated by Spark's own code in the embedded JVM, batch by
    /// batch, whether what is not read natively (ORC, JDBC, Hive's tables, RDDs of objects and others) is read there for
    /// operators that are native, and whether what has no native form above such operators, functions of RDDs and
    /// writes among them, is done there with their rows. Without it such stages are delegated.
    SQL_JVM_EXPRESSIONS: Property<Switch> =
        Property::new("spark.firesteel.sql.jvmExpressions", Switch, Is("true"));

    /// `both` makes the JVM run again what the sql lane has run, and compares the two attempts; for tests.
    VERIFY: Property<Text> = Property::new("spark.firesteel.verify", Text, Is("none"))
        .effect(Effect::NativeBut("with `both` every attempt of the sql lane is given to the JVM too"));

    /// How the sql lane writes rows to shuffles: `columns`, which are smaller and sooner read, also by other executors
    /// with this setting, `rows` as Spark does, or `auto`: columns until somebody asks for rows of a shuffle. Rows are
    /// made of columns for whoever needs them: JVMs, plain Spark executors, and those that take over blocks. With
    /// `spark.shuffle.service.enabled`, `spark.shuffle.useOldFetchProtocol` or `spark.io.encryption.enabled` it is
    /// `rows`.
    SHUFFLE_FORMAT: Property<Text> = Property::new("spark.firesteel.shuffle.format", Text, Is("auto"));

    /// Whether Python workers run in prepared interpreters.
    PYTHON_PREPARE: Property<Switch> =
        Property::new("spark.firesteel.python.prepare", Switch, Is("true"));

    /// Whether prepared interpreters run pipelines of simple functions by native code, and whether simple functions in
    /// SQL are computed without Python.
    PYTHON_COMPILE: Property<Switch> =
        Property::new("spark.firesteel.python.compile", Switch, Is("true"));

    /// Shared libraries whose native functions executors call in their own process: absolute paths, or names of added
    /// files. Functions of other libraries run in Python workers.
    FUNCTIONS: Property<List> = Property::new("spark.firesteel.functions", List, Is(""));

    /// Whether native functions are called in processes of their own: one that crashes costs its task and not the
    /// executor, and one that never ends is killed with its task.
    FUNCTIONS_ISOLATE: Property<Switch> =
        Property::new("spark.firesteel.functions.isolate", Switch, Is("false"));

    /// Of the driver, with its jar: files that `firesteel functions catalog` has written, whose functions SQL is to
    /// know. Executors may load the libraries that they are of from among added files.
    FUNCTIONS_CATALOG: Property<List> =
        Property::new("spark.firesteel.functions.catalog", List, Is(""));

    /// Where `libfiresteel.so` is on drivers and on plain executors that call functions of such files; on none of them
    /// that has `FIRESTEEL_HOME` in its environment, or that runs the jar from where it was installed.
    FUNCTIONS_HOST: Property<Text> = Property::new("spark.firesteel.functions.host", Text, Is(""))
        .effect(Effect::Jvm("of drivers and plain executors"));
}
