//! Properties of files and file systems.

use super::super::units::TimeUnit;
use super::DefaultValue::{Is, Unset};
use super::{Effect, Family, Property, Switch, Text, Time, declarations};

declarations! { Files:
    /// Whether a file of `SparkContext.addFile` may replace another one of its name.
    FILES_OVERWRITE: Property<Switch> = Property::new("spark.files.overwrite", Switch, Is("false"));

    /// How long the download of a file may be silent.
    FILES_FETCH_TIMEOUT: Property<Time> =
        Property::new("spark.files.fetchTimeout", Time(TimeUnit::Seconds), Is("60s"));

    /// Whether executors of an application on one host share downloaded files.
    FILES_USE_FETCH_CACHE: Property<Switch> =
        Property::new("spark.files.useFetchCache", Switch, Is("true"));

    /// Whether damaged files of RDDs are skipped; the driver puts it into the tasks that read files.
    FILES_IGNORE_CORRUPT: Property<Switch> =
        Property::new("spark.files.ignoreCorruptFiles", Switch, Is("false")).effect(
            Effect::Jvm("with `true` the python lane delegates tasks that read files"),
        );

    /// Settings of Hadoop's file systems, without the first two words.
    HADOOP: Family<Text> = Family::new("spark.hadoop.", "", &[], Text, Unset).effect(
        Effect::NativeBut("files that only Hadoop can read with them are left to the JVM"),
    );
}
