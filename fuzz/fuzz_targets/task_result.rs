//! Results of tasks, with their accumulators.
#![no_main]

use wire::messages::{DirectTaskResult, IndirectTaskResult};

firesteel_fuzz::target!(|data: &[u8]| {
    if let Ok(result) = DirectTaskResult::decode(data) {
        assert!(result.value.len() + 8 * result.metric_peaks.len() <= data.len());
    }
    let _ = IndirectTaskResult::decode(data);
});
