//! When the executor's heartbeat is due, and when too many of them have failed.
//!
//! Source: `org.apache.spark.executor.Executor.reportHeartBeat` and `startDriverHeartbeater`.

use std::time::Duration;

use super::events::Time;

/// The rhythm of heartbeats. The embedded JVM beats at the same interval; each of its beats is sent as the executor's,
/// and only when it is late (a garbage collection pause, a JVM that does not exist) the executor beats on its own.
#[derive(Debug)]
pub struct HeartbeatClock {
    interval: Duration,
    max_failures: u32,
    failures: u32,
    due: Time,
}

impl HeartbeatClock {
    /// A clock whose first beat is due after `interval` plus `jitter` (a fraction 0..1 of the interval), as Spark
    /// spreads its executors.
    pub fn new(now: Time, interval: Duration, max_failures: u32, jitter: f64) -> Self {
        let first = interval + interval.mul_f64(jitter.clamp(0.0, 1.0));
        Self {
            interval,
            max_failures,
            failures: 0,
            due: now + first,
        }
    }

    /// Interval between beats, which is also how long an answer may take.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// When [`Self::beat_is_due`] turns true.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Whether a beat of our own must be sent now; moves the clock on if so.
    pub fn beat_is_due(&mut self, now: Time) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + self.interval;
        true
    }

    /// The JVM has beaten: ours is due only if the next one of the JVM is half an interval late.
    pub fn jvm_has_beaten(&mut self, now: Time) {
        self.due = now + self.interval + self.interval / 2;
    }

    /// An answer came.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// No answer came. True when that was the last failure allowed.
    pub fn failed(&mut self) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.failures >= self.max_failures
    }

    /// Failures in a row so far.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn beats_once_an_interval_after_a_spread_start() {
        let mut clock = HeartbeatClock::new(S(100), S(10), 60, 0.5);
        assert!(!clock.beat_is_due(S(114)));
        assert!(clock.beat_is_due(S(115)));
        assert!(!clock.beat_is_due(S(115)));
        assert!(clock.beat_is_due(S(125)));
    }

    #[test]
    fn a_jvm_that_beats_in_time_keeps_ours_silent() {
        let mut clock = HeartbeatClock::new(S(0), S(10), 60, 0.0);
        for t in [9, 19, 29] {
            clock.jvm_has_beaten(S(t));
            assert!(!clock.beat_is_due(S(t + 10)));
        }
        assert!(
            clock.beat_is_due(S(29 + 15)),
            "a pause in the JVM does not stop the heartbeat"
        );
    }

    #[test]
    fn only_failures_in_a_row_count() {
        let mut clock = HeartbeatClock::new(S(0), S(10), 3, 0.0);
        assert!(!clock.failed());
        assert!(!clock.failed());
        clock.succeeded();
        assert!(!clock.failed());
        assert!(!clock.failed());
        assert!(clock.failed());
    }
}
