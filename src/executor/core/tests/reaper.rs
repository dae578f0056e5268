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
    for task_id in [1, 2] {
        b.launch_open(task_id);
        b.judged(task_id, Verdict::Run(LaneName::Python));
    }
    let reason = "why".to_owned();
    let told = [Output::KillNative { task_id: 1, reason }];
    assert_eq!(b.kill(1), told);
    b
}

fn end(b: &mut Bench, task_id: i64) {
    b.put(Input::TaskEnded {
        task_id,
        end: TaskEnd::Killed,
        update: "update".into(),
    });
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
    end(&mut b, 1);
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
    b.launch_open(1);
    b.judged(1, Verdict::Run(LaneName::Python));
    let bail = Input::TaskBailedOut {
        task_id: 1,
        reason: "odd bytes".into(),
    };
    assert_eq!(b.put(bail), [Output::StartJvm]);
    assert_eq!(b.kill(1), [killed(1, "why")]);
    assert_eq!(b.jvm_says(JvmMessage::LaunchedExecutor, None), []);
}
