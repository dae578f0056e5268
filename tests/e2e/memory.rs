//! Tasks of native lanes and cached blocks share one budget: what does not fit goes to disk, and the driver sees it.

use serde_json::json;
use testkit::{Distribution, NEWEST, each_version};

use crate::hold::Hold;
use crate::lanes::Report;
use crate::places;
use crate::process::one_at_a_time;
use crate::report;

/// `(1024 MiB - 300 MiB) * 0.02`, about; a little more than that for what is taken in any case.
const BUDGET: u64 = 17 << 20;
/// What each of the tasks writes, at least.
const WRITTEN: u64 = 24_000_000;
/// Tasks that write, in two shuffles.
const WRITERS: u64 = 8;

fn memory(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let settings = ["spark.memory.fraction=0.02", "spark.rdd.compress=false"];
    let mut hold = Hold::start(&distribution, "memory", &settings);
    let mut native = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
    let found = hold.ask(json!({"do": "spill"}));
    assert_eq!(found["answers"], json!([96_000, 96_000, 96_000]));
    let number = |name: &str| found[name].as_u64().expect("a number");
    // However few of them run at once.
    let spilled = WRITERS * (WRITTEN - BUDGET);
    assert!(number("memory_spilled") > spilled, "{found}");
    assert!(number("disk_spilled") > spilled, "{found}");
    // The sum over four tasks.
    assert!((1 << 20..4 * BUDGET).contains(&number("peak")), "{found}");
    assert!((1..BUDGET).contains(&number("cached_in_memory")), "{found}");
    hold.ask(json!({"do": "stop"}));
    assert_eq!(native.exit_code(20), 0, "{}", native.log());
    Report::new(report::read(&hold.reports(), "0")).check_native();
}

each_version!(what_does_not_fit_is_spilled, super::memory);
