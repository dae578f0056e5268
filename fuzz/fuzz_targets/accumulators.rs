//! Accumulators: those of Spark, and the numbers of them that come with a task.
#![no_main]

use firesteel::task::TaskMetrics;
use firesteel::task::accumulators::MetricIds;
use wire::messages::{AccumulableInfo, LongAccumulator};

firesteel_fuzz::target!(|data: &[u8]| {
    let _ = LongAccumulator::decode(data);
    let _ = AccumulableInfo::decode(data);
    if let Ok(ids) = MetricIds::read(data) {
        // Only the size of the result is told where nothing was counted.
        assert!(ids.updates(&TaskMetrics::default(), true).len() <= 1);
    }
});
