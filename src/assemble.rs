//! The lanes of this program: the only file that names them all.

use std::sync::Arc;

use javatime::Zones;

use crate::config::{LaneName, SettingError, declared};
use crate::lanes::jvm::HotSpot;
use crate::lanes::python::{PythonLane, PythonParts};
use crate::lanes::sql::{SqlLane, SqlParts};
use crate::launch::{Jdk, JdkError};
use crate::native_functions::isolate;
use crate::python::worker::PythonWorkers;
use crate::task::{Assembly, Lane, LaneParts};

/// What executors of this program are made of.
pub const ASSEMBLY: Assembly = Assembly {
    lanes,
    jvms: &HotSpot,
};

fn lanes(parts: LaneParts<'_>) -> Result<Vec<Box<dyn Lane>>, SettingError> {
    let LaneParts {
        plane,
        files,
        settings,
    } = parts;
    let properties = &plane.env.properties;
    isolate(properties)?;
    let (mut workers, mut python, mut sql) = (None, None, None);
    if settings.native_lanes.contains(&LaneName::Python) {
        let own = PythonWorkers::new(properties, &plane.env.catalog)?;
        workers = Some(own.clone());
        let parts = PythonParts {
            workers: own,
            local_dirs: Arc::clone(&plane.env.local_dirs),
            broadcasts: Arc::clone(&plane.broadcasts),
            shuffle: Arc::clone(&plane.shuffle),
            store: Arc::new(plane.blocks.clone()),
            files: Arc::clone(files),
        };
        python = Some(PythonLane::new(parts, properties, plane.env.limits)?);
    }
    if settings.native_lanes.contains(&LaneName::Sql)
        && properties.switch(&declared::SQL_ENABLED)?
    {
        let jdk = Jdk::find_on_this_machine();
        // Of the Spark on the class path, which is the driver's; nothing if it does not say.
        let spark_version = plane.env.catalog.spark_version().unwrap_or_default();
        let parts = SqlParts {
            broadcasts: Arc::clone(&plane.broadcasts),
            store: Arc::new(plane.blocks.clone()),
            shuffle: Arc::clone(&plane.shuffle),
            memory: plane.memory.clone(),
            files: Arc::clone(files),
            java_major: jdk.as_ref().map_or(0, Jdk::major),
            zones: time_zones(jdk),
            spark: declared::version_of(&spark_version),
            spark_version,
            workers,
        };
        sql = Some(SqlLane::new(parts, properties)?);
    }
    // Each computes parts of the other's tasks.
    if let (Some(python), Some(sql)) = (&python, &sql) {
        python.connect(sql.rows_for_python());
        sql.connect(python.objects_for_sql());
    }
    let python = python.map(|lane| Box::new(lane) as Box<dyn Lane>);
    let sql = sql.map(|lane| Box::new(lane) as Box<dyn Lane>);
    Ok(python.into_iter().chain(sql).collect())
}

/// The time zones of the JDK whose JVM would run what is delegated. Without them, expressions in zones with rules are
/// delegated.
pub(crate) fn time_zones(jdk: Result<Jdk, JdkError>) -> Zones {
    let read = || -> Result<Zones, String> {
        let jdk = jdk.map_err(|error| error.to_string())?;
        let path = jdk.time_zones();
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Zones::read(bytes).map_err(|error| format!("{}: {error}", path.display()))
    };
    match read() {
        Ok(zones) => zones,
        Err(error) => {
            tracing::warn!("Time zones with rules are left to the JVM: {error}");
            Zones::default()
        }
    }
}
