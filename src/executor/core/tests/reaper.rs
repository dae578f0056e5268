//! Native tasks that are killed and go on.

use super::*;
use crate::config::TaskReaperSettings;

fn reaping(kill_timeout: Option<Time>, exit_code: i32) -> CoreConfig {
    let polling_interval = s(4);
    CoreConfig {
        heartbeat_interval: s(1000),
        reaper: Some(Reaper {
            settings: TaskReaperSettings {
                polling_interval,
                kill_timeout,
            },
            exit_code,
        }),
        ..config()
    }
}

/// Two native tasks, the first of them killed at once.
fn killed_at_0(config: CoreConfig) -> Bench {
    let mut b = Bench::with(config);
    let attempt = b.run_natively(1);
    b.run_natively(2);
    let reason = "why".to_owned();
    assert_eq!(b.kill(1), [Output::KillNative { attempt, reason }]);
    b
}

#[test]
fn a_task_that_does_not_stop_ends_the_executor() {
    for (scala_213, code) in [(true, 57), (false, 50)] {
        let settings = reaping(Some(s(5)), 0).reaper.unwrap().settings;
        let rules = Reaper::new(settings, scala_213);
        assert_eq!(rules.exit_code, code);
        let mut b = killed_at_0(reaping(Some(s(5)), rules.exit_code));
        assert_eq!(b.core.next_tick(), Some(s(4)));
        assert_eq!(b.at(3), []);
        assert_eq!(b.at(4), [], "it is looked at and complained about");
        b.now = s(6);
        b.kill(1);
        assert_eq!(b.core.next_tick(), Some(s(8)), "the first kill counts");
        assert_eq!(b.at(8), [Output::Exit(code)]);
    }
}

#[test]
fn with_a_jvm_its_shutdown_hooks_run_first() {
    let mut b = killed_at_0(reaping(Some(s(5)), 57));
    b.launch(3);
    b.jvm_says(JvmMessage::LaunchedExecutor, None);
    assert_eq!(b.at(4), []);
    assert_eq!(b.at(8), [Output::JvmExit(57)]);
}

#[test]
fn a_task_that_stops_in_time_does_no_harm() {
    let mut b = killed_at_0(reaping(Some(s(5)), 57));
    assert_eq!(b.at(4), []);
    b.now = s(7);
    b.ended(1, TaskEnd::Killed);
    assert_eq!(b.at(8), []);
    assert_eq!(b.at(100), [], "the other one was not killed");
    assert_eq!(b.core.next_tick(), Some(s(1000)));
}

#[test]
fn without_a_timeout_it_is_only_complained_about() {
    let mut b = killed_at_0(reaping(None, 57));
    assert_eq!(b.at(4), []);
    assert_eq!(b.at(900), []);
    assert_eq!(b.core.next_tick(), Some(s(904)));
    let mut b = killed_at_0(config());
    assert_eq!(b.at(9), [], "there is no reaper by default");
    assert_eq!(b.core.next_tick(), Some(s(10)));
}

#[test]
fn a_kill_holds_for_a_task_that_bails_out() {
    let mut b = killed_at_0(config());
    let bail = Input::TaskBailedOut {
        task_id: 1,
        reason: "odd bytes".into(),
    };
    assert_eq!(b.put(bail), [killed(1, "why")]);
    let counters = b.report.snapshot();
    assert!(!counters.jvm_started);
    assert_eq!(counters.tasks["jvm"].killed, 1);
}

/// Of a task that bailed out the driver hears, too, when it is killed while it waits for the JVM.
#[test]
fn a_task_that_has_bailed_out_is_killed_while_the_jvm_starts() {
    let mut b = Bench::new();
    b.run_natively(1);
    let bail = Input::TaskBailedOut {
        task_id: 1,
        reason: "odd bytes".into(),
    };
    assert_eq!(b.put(bail), [Output::StartJvm]);
    assert_eq!(b.kill(1), [killed(1, "why")]);
    assert_eq!(b.jvm_says(JvmMessage::LaunchedExecutor, None), []);
}
