//! What sessions say of functions of Python: Spark keeps it in the tasks' properties.

use catalyst::ArrowSession;
use datafusion_common::Result;
use rows::error::bail_out;

use crate::config::declared::{
    ARROW_BATCH_SIZE, ARROW_FUNCTIONS, ARROW_STREAMS, LEGACY_ARROW_FUNCTIONS, PANDAS_FUNCTIONS,
    PYSPARK_SESSION, PYTHON_FUNCTION_BATCHES, PYTHON_FUNCTIONS, SESSION_TIME_ZONE,
};

/// Members of [`PYTHON_FUNCTIONS`] and [`PYSPARK_SESSION`] that say nothing to workers of pickled rows, and what they
/// say to others is said. Of [`PYTHON_FUNCTION_BATCHES`] those that change how fast rows go and nothing else.
const OF_DRIVERS: [&str; 8] = [
    "binaryAsBytes",
    "inferNestedDictAsStruct.enabled",
    "jvmStacktrace.enabled",
    "legacy.inferArrayTypeFromFirstElement.enabled",
    "legacy.inferMapTypeFromFirstPair.enabled",
    "plotting.max_rows",
    "udf.buffer.size",
    "udf.maxRecordsPerBatch",
];

/// Members of [`ARROW_STREAMS`] that are no business of functions: they are of drivers, or of tables.
const OF_OTHER_STREAMS: [&str; 10] = [
    "cache.prefetch.enabled",
    "enabled",
    "fallback.enabled",
    "localRelationThreshold",
    "maxRecordsPerBatch",
    "pyspark.enabled",
    "pyspark.fallback.enabled",
    "pyspark.selfDestruct.enabled",
    VALIDATES_SCHEMAS,
    "sparkr.enabled",
];

/// The member of [`ARROW_STREAMS`] that says whether results of functions of whole partitions are looked at.
const VALIDATES_SCHEMAS: &str = "pyspark.validateSchema.enabled";

/// The member of [`PANDAS_FUNCTIONS`] whose default depends on the version.
const SAFE_CONVERSION: &str = "convertToArrowArraySafely";

/// Whether a session's setting changes how functions of Python run: workers are told as if none was set.
pub(super) fn changes_functions(key: &str, over_arrow: bool) -> bool {
    let families = [
        &PYTHON_FUNCTIONS,
        &PYTHON_FUNCTION_BATCHES,
        &PYSPARK_SESSION,
    ];
    let mut members = families.iter().filter_map(|family| family.member(key));
    let changes_all = members.any(|member| !OF_DRIVERS.contains(&member));
    let stream = ARROW_STREAMS.member(key);
    let changes_stream = stream.is_some_and(|member| !OF_OTHER_STREAMS.contains(&member));
    changes_all || over_arrow && (changes_stream || LEGACY_ARROW_FUNCTIONS.member(key).is_some())
}

/// What a session says of Arrow streams, where the plan does not (from Spark 4.0 on).
///
/// # Errors
/// Bail-out: a value that Spark refuses.
pub(super) fn arrow_session(
    properties: &[(String, String)],
    converts_safely: bool,
) -> Result<ArrowSession> {
    let find = |key: &str| properties.iter().find(|(name, _)| name == key);
    let time_zone = find(SESSION_TIME_ZONE.key).map(|(_, zone)| zone.clone());
    let batch_size = find(ARROW_BATCH_SIZE.key).map_or(Ok(10_000), |(_, size)| size.parse());
    let told = |key: &str| {
        let families = [&PANDAS_FUNCTIONS, &ARROW_FUNCTIONS, &PYTHON_FUNCTIONS];
        families.iter().any(|family| family.member(key).is_some())
    };
    let mut settings: Vec<_> = properties
        .iter()
        .filter(|(key, _)| told(key))
        .cloned()
        .collect();
    let safe = PANDAS_FUNCTIONS.key(SAFE_CONVERSION);
    if find(&safe).is_none() {
        settings.push((safe, converts_safely.to_string()));
    }
    // Workers look at it where there are timestamps, which bail out if it is not known.
    let zone = time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
    settings.push((SESSION_TIME_ZONE.key.to_owned(), zone));
    Ok(ArrowSession {
        time_zone,
        batch_size: batch_size.map_err(|_| bail_out("a number of rows of batches for Python"))?,
        settings,
        validates_schemas: find(&ARROW_STREAMS.key(VALIDATES_SCHEMAS))
            .is_some_and(|(_, value)| value != "false"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_change_functions_are_found() {
        let batches = PYTHON_FUNCTION_BATCHES.key("udf.maxBytesPerBatch");
        let profiler = PYSPARK_SESSION.key("udf.profiler");
        let interpreter = PYTHON_FUNCTIONS.key("python");
        for key in [batches, profiler, interpreter] {
            assert!(changes_functions(&key, false), "{key}");
        }
        let of_driver = PYSPARK_SESSION.key("jvmStacktrace.enabled");
        let rows = PYTHON_FUNCTION_BATCHES.key("udf.maxRecordsPerBatch");
        // Whether rows are pickled at all is known by the operator.
        let arrow = ARROW_FUNCTIONS.key("arrow.enabled");
        for key in [of_driver, rows, arrow, ARROW_BATCH_SIZE.key.to_owned()] {
            assert!(!changes_functions(&key, true), "{key}");
        }
        let large = ARROW_STREAMS.key("useLargeVarTypes");
        let legacy = LEGACY_ARROW_FUNCTIONS.key("pandas.conversion.enabled");
        for key in [large, legacy] {
            assert!(!changes_functions(&key, false), "{key}");
            assert!(changes_functions(&key, true), "{key}");
        }
    }

    #[test]
    fn workers_are_told_what_spark_would_tell() {
        let coercion = ARROW_FUNCTIONS.key("pandas.intToDecimalCoercionEnabled");
        let properties = [
            (ARROW_BATCH_SIZE.key.to_owned(), "7".to_owned()),
            (coercion.clone(), "true".to_owned()),
            ("other".to_owned(), "x".to_owned()),
        ];
        let session = arrow_session(&properties, true).unwrap();
        assert_eq!((session.batch_size, session.time_zone), (7, None));
        let safe = PANDAS_FUNCTIONS.key(SAFE_CONVERSION);
        let zone = SESSION_TIME_ZONE.key.to_owned();
        let told = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let expected = [
            told(&coercion, "true"),
            told(&safe, "true"),
            told(&zone, "UTC"),
        ];
        assert_eq!(session.settings, expected);
        let properties = [
            (zone, "Asia/Kolkata".to_owned()),
            (safe.clone(), "false".to_owned()),
        ];
        let session = arrow_session(&properties, true).unwrap();
        assert_eq!(session.batch_size, 10_000);
        assert_eq!(session.time_zone.as_deref(), Some("Asia/Kolkata"));
        assert!(session.settings.contains(&(safe, "false".to_owned())));
        assert_eq!(session.settings.len(), 2);
        let properties = [(ARROW_BATCH_SIZE.key.to_owned(), "many".to_owned())];
        assert!(arrow_session(&properties, true).is_err());
    }
}
