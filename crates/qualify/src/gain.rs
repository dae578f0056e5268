//! What is to be gained, by what was measured. The ratios are those of `docs/benchmarks.md`; another job's are others.

use serde::Serialize;

use crate::judge::Lane;

/// How many times faster something is, at least and at most of what was measured.
type Ratio = (f64, f64);

/// TPC-H, plain Spark's defaults / the sql lane: scale 1 on 3.5.9, scale 10 on 3.5.9.
const SQL: Ratio = (2.73, 4.53);
/// Word count and reduceByKey, plain Spark / the python lane: functions of any kind; simple ones, 3.5.9.
const PYTHON: Ratio = (1.07, 3.54);
/// Not measured by itself.
const COLUMNS: Ratio = (1.0, 1.0);

/// Where the ratios are from.
pub(crate) const SOURCE: &str = "TPC-H at scale 1 and 10 ran 2.73 to 4.53 times faster, jobs of PySpark's RDDs 1.07 \
to 3.54 times (docs/benchmarks.md)";

/// How many times faster tasks would be, all together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// With the least ratios that were measured, and all that is unknown in the JVM.
    pub low: f64,
    /// With the greatest, and all that is unknown native.
    pub high: f64,
}

/// Milliseconds of native tasks by lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NativeTime {
    pub(crate) sql: u64,
    pub(crate) python: u64,
    pub(crate) columns: u64,
}

impl NativeTime {
    pub(crate) fn of(lane: Lane, ms: u64) -> Self {
        let mut time = Self::default();
        match lane {
            Lane::Sql => time.sql = ms,
            Lane::Python => time.python = ms,
            Lane::Columns => time.columns = ms,
        }
        time
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.sql = self.sql.saturating_add(other.sql);
        self.python = self.python.saturating_add(other.python);
        self.columns = self.columns.saturating_add(other.columns);
    }
}

impl Gain {
    /// Of tasks that take so long in plain Spark.
    pub(crate) fn of(native: NativeTime, delegated: u64, unknown: u64) -> Self {
        let ms = |of: u64| of as f64;
        let parts = [
            (ms(native.sql), SQL),
            (ms(native.python), PYTHON),
            (ms(native.columns), COLUMNS),
            (ms(delegated), (1.0, 1.0)),
            (ms(unknown), (1.0, SQL.1)),
        ];
        let before: f64 = parts.iter().map(|(ms, _)| ms).sum();
        let after =
            |ratio: fn(&Ratio) -> f64| -> f64 { parts.iter().map(|(ms, of)| ms / ratio(of)).sum() };
        let times = |after: f64| match before > 0.0 {
            true => (before / after * 100.0).round() / 100.0,
            false => 1.0,
        };
        Self {
            low: times(after(|of| of.0)),
            high: times(after(|of| of.1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_delegated_gains_nothing() {
        let half = NativeTime::of(Lane::Sql, 100);
        assert_eq!(
            Gain::of(half, 0, 0),
            Gain {
                low: 2.73,
                high: 4.53
            }
        );
        let gain = Gain::of(half, 100, 0);
        assert!(
            (1.4..1.6).contains(&gain.low) && gain.high < 1.7,
            "{gain:?}"
        );
        assert_eq!(
            Gain::of(NativeTime::default(), 5, 0),
            Gain {
                low: 1.0,
                high: 1.0
            }
        );
        assert_eq!(
            Gain::of(NativeTime::default(), 0, 5),
            Gain {
                low: 1.0,
                high: 4.53
            }
        );
        assert_eq!(Gain::of(NativeTime::default(), 0, 0).low, 1.0);
    }
}
