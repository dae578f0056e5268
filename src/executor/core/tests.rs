//! Every rule of the running executor, with a scripted driver, a scripted JVM and a virtual clock.

mod leaving;
mod reaper;

use wire::task_description::{JobArtifactSet, TaskCpus, TaskDescription};

use super::super::events::{TaskHeader, Verdict};
use super::super::native::NativeAttempt;
use super::*;
use crate::config::LaneName;
use crate::report::TaskEnd;

fn s(n: u64) -> Time {
    Duration::from_secs(n)
}

fn config() -> CoreConfig {
    CoreConfig {
        heartbeat_interval: s(10),
        heartbeat_max_failures: 3,
        heartbeat_jitter: 0.0,
        decommission_enabled: true,
        migration: false,
        decommission_first_look: s(1),
        jvm_migrates: false,
        tasks_wait_for_jvm: false,
        reaper: None,
        reregistration_exit_code: 58,
    }
}

fn header() -> TaskHeader {
    TaskHeader {
        cpus: TaskCpus::whole(1),
        resources: Vec::new(),
    }
}

fn task(task_id: i64) -> Box<TaskDescription> {
    let TaskHeader { cpus, resources } = header();
    Box::new(TaskDescription {
        task_id,
        attempt_number: 0,
        executor_id: "0".to_owned(),
        name: format!("task {task_id}.0 in stage 1.0 (TID {task_id})"),
        index: 0,
        partition_id: 0,
        artifacts: JobArtifactSet::default(),
        properties: Vec::new(),
        cpus,
        resources,
        serialized_task: Bytes::new(),
    })
}

/// A heartbeat of our own while no native task runs.
fn beat() -> Output {
    Output::Heartbeat {
        counts: true,
        running: Vec::new(),
    }
}

/// A task that never began because it was killed.
fn killed(task_id: i64, reason: &str) -> Output {
    Output::TaskKilled {
        task_id,
        reason: reason.into(),
        header: header(),
    }
}

struct Bench {
    core: Core,
    report: Arc<Report>,
    now: Time,
}

impl Bench {
    fn new() -> Self {
        Self::with(config())
    }

    fn with(config: CoreConfig) -> Self {
        let report = Arc::new(Report::new("0", None));
        Self {
            core: Core::new(s(0), config, Arc::clone(&report)),
            report,
            now: s(0),
        }
    }

    fn put(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        out
    }

    fn at(&mut self, t: u64) -> Vec<Output> {
        self.now = s(t);
        self.put(Input::Tick)
    }

    fn launch(&mut self, task_id: i64) -> Vec<Output> {
        self.driver(
            DriverCommand::LaunchTask {
                description: task(task_id),
                delegated: Some("because".into()),
            },
            "launch",
        )
    }

    /// A task that the native lanes look at.
    fn launch_open(&mut self, task_id: i64) -> Vec<Output> {
        let command = DriverCommand::LaunchTask {
            description: task(task_id),
            delegated: None,
        };
        self.driver(command, "launch")
    }

    fn judged(&mut self, task_id: i64, verdict: Verdict) -> Vec<Output> {
        self.put(Input::TaskJudged { task_id, verdict })
    }

    /// A task that a native lane runs.
    fn run_natively(&mut self, task_id: i64) -> Arc<NativeAttempt> {
        assert_eq!(self.launch_open(task_id), [Output::Judge(task(task_id))]);
        let attempt = Arc::new(NativeAttempt::without_work(task_id, LaneName::Python));
        assert_eq!(
            self.judged(task_id, Verdict::Run(Arc::clone(&attempt))),
            [Output::RunNative(Arc::clone(&attempt))]
        );
        attempt
    }

    /// The native lane is done with it.
    fn ended(&mut self, task_id: i64, end: TaskEnd) -> Vec<Output> {
        self.put(Input::TaskEnded {
            task_id,
            end,
            update: "update".into(),
        })
    }

    fn kill(&mut self, task_id: i64) -> Vec<Output> {
        let reason = "why".to_owned();
        self.driver(DriverCommand::KillTask { task_id, reason }, "kill")
    }

    fn driver(&mut self, command: DriverCommand, bytes: &'static str) -> Vec<Output> {
        self.put(Input::Driver {
            command,
            envelope: bytes.into(),
            request: None,
        })
    }

    fn jvm_says(&mut self, message: JvmMessage, ask: Option<i64>) -> Vec<Output> {
        self.put(Input::Jvm {
            message,
            envelope: "jvm".into(),
            ask,
        })
    }

    fn with_ready_jvm() -> Self {
        let mut b = Self::new();
        assert_eq!(b.launch(1), [Output::StartJvm]);
        assert_eq!(
            b.jvm_says(JvmMessage::LaunchedExecutor, None),
            [Output::JvmOneWay("launch".into())]
        );
        b
    }
}

#[test]
fn a_first_task_starts_the_jvm_and_waits_for_it() {
    let mut b = Bench::new();
    assert!(!b.core.jvm_is_ready());
    assert_eq!(b.launch(1), [Output::StartJvm]);
    assert_eq!(b.launch(2), []);
    assert_eq!(
        b.jvm_says(JvmMessage::CheckKnownEndpoint, Some(7)),
        [Output::AnswerTrue(7)]
    );
    assert_eq!(
        b.jvm_says(JvmMessage::RegisterExecutor, Some(8)),
        [Output::AnswerTrue(8)]
    );
    assert_eq!(
        b.jvm_says(JvmMessage::RegisterBlockManager { again: false }, Some(9)),
        [Output::AnswerBlockManagerId(9)]
    );
    let two = [
        Output::JvmOneWay("launch".into()),
        Output::JvmOneWay("launch".into()),
    ];
    assert_eq!(b.jvm_says(JvmMessage::LaunchedExecutor, None), two);
    assert!(b.core.jvm_is_ready());
    assert_eq!(b.launch(3), [Output::JvmOneWay("launch".into())]);
    assert_eq!(b.report.snapshot().delegated["because"], 3);
}

#[test]
fn status_updates_are_forwarded_and_counted_once() {
    let mut b = Bench::with_ready_jvm();
    let forward = [Output::Forward("jvm".into())];
    assert_eq!(
        b.jvm_says(
            JvmMessage::StatusUpdate {
                task_id: 1,
                end: None
            },
            None
        ),
        forward
    );
    assert_eq!(
        b.jvm_says(
            JvmMessage::StatusUpdate {
                task_id: 1,
                end: Some(TaskEnd::Failed)
            },
            None
        ),
        forward
    );
    assert_eq!(
        b.jvm_says(
            JvmMessage::StatusUpdate {
                task_id: 1,
                end: Some(TaskEnd::Failed)
            },
            None
        ),
        forward
    );
    assert_eq!(b.report.snapshot().tasks["jvm"].failed, 1);
}

#[test]
fn a_kill_before_the_jvm_is_ready_takes_the_task_back() {
    let mut b = Bench::new();
    b.launch(1);
    b.launch(2);
    let kill = |task_id| DriverCommand::KillTask {
        task_id,
        reason: "cancelled".into(),
    };
    assert_eq!(b.driver(kill(1), "kill"), [killed(1, "cancelled")]);
    assert_eq!(b.driver(kill(1), "kill"), [], "a second kill finds nothing");
    assert_eq!(
        b.jvm_says(JvmMessage::LaunchedExecutor, None),
        [Output::JvmOneWay("launch".into())]
    );
    assert_eq!(
        b.driver(kill(2), "kill"),
        [Output::JvmOneWay("kill".into())]
    );
    assert_eq!(b.report.snapshot().tasks["jvm"].killed, 1);
}

#[test]
fn endpoint_messages_are_answered_natively_until_the_jvm_is_ready() {
    let mut b = Bench::new();
    let ask = |request| Input::Endpoint {
        without_jvm: Reply::Integer(0),
        envelope: "rm".into(),
        request,
    };
    assert_eq!(b.put(ask(Some(5))), [Output::Reply(5, Reply::Integer(0))]);
    assert_eq!(b.put(ask(None)), []);
    b.launch(1);
    assert_eq!(b.put(ask(Some(6))), [Output::Reply(6, Reply::Integer(0))]);
    b.jvm_says(JvmMessage::LaunchedExecutor, None);
    assert_eq!(b.put(ask(Some(7))), [Output::JvmRequest(7, "rm".into())]);
    assert_eq!(b.put(ask(None)), [Output::JvmOneWay("rm".into())]);
}

#[test]
fn tokens_that_come_before_the_jvm_reach_it_first() {
    let mut b = Bench::new();
    assert_eq!(b.driver(DriverCommand::UpdateDelegationTokens, "old"), []);
    assert_eq!(b.driver(DriverCommand::UpdateDelegationTokens, "new"), []);
    b.launch(1);
    let out = b.jvm_says(JvmMessage::LaunchedExecutor, None);
    assert_eq!(
        out,
        [
            Output::JvmOneWay("new".into()),
            Output::JvmOneWay("launch".into())
        ]
    );
}

#[test]
fn heartbeats_go_on_while_the_jvm_pauses() {
    let mut b = Bench::with_ready_jvm();
    assert_eq!(b.at(9), []);
    assert_eq!(
        b.jvm_says(JvmMessage::Heartbeat, Some(3)),
        [Output::ForwardHeartbeat(3, "jvm".into())]
    );
    assert_eq!(b.at(19), [], "the JVM's next beat is due");
    assert_eq!(b.at(24), [beat()], "it is late: we beat for it");
    assert_eq!(b.at(34), [beat()]);
    assert_eq!(b.core.next_tick(), Some(s(44)));
}

#[test]
fn too_many_failed_heartbeats_exit_56() {
    let mut b = Bench::new();
    let fail = || Input::HeartbeatAnswer {
        from_jvm: false,
        answer: Err("timeout".into()),
    };
    assert_eq!(b.put(fail()), []);
    assert_eq!(b.put(fail()), []);
    assert_eq!(b.put(fail()), [Output::Exit(56)]);
    assert_eq!(b.at(100), [], "a stopped executor does nothing");
}

#[test]
fn a_driver_that_forgot_us_gets_a_new_registration() {
    let mut b = Bench::with_ready_jvm();
    let told = |from_jvm| Input::HeartbeatAnswer {
        from_jvm,
        answer: Ok(true),
    };
    assert_eq!(
        b.put(told(true)),
        [],
        "the JVM has the answer and acts on it"
    );
    assert_eq!(b.put(told(false)), [Output::Reregister(None)]);
    assert_eq!(
        b.jvm_says(JvmMessage::Heartbeat, Some(4)),
        [Output::AnswerReregister(4)]
    );
    assert_eq!(
        b.jvm_says(JvmMessage::RegisterBlockManager { again: true }, Some(5)),
        [Output::Reregister(Some(5))]
    );
    assert_eq!(b.put(Input::ReregisterAnswer(Ok(true))), []);
    assert_eq!(
        b.jvm_says(JvmMessage::Heartbeat, Some(6)),
        [Output::ForwardHeartbeat(6, "jvm".into())]
    );
    assert_eq!(
        b.put(Input::ReregisterAnswer(Ok(false))),
        [Output::JvmExit(58)]
    );
}

#[test]
fn stop_waits_for_the_jvm_but_not_for_ever() {
    let mut b = Bench::with_ready_jvm();
    assert_eq!(
        b.driver(DriverCommand::StopExecutor, "stop"),
        [Output::JvmOneWay("stop".into())]
    );
    assert_eq!(
        b.put(Input::DriverLost {
            driver: "d:1".into()
        }),
        [],
        "a disconnect after a stop is normal"
    );
    assert_eq!(
        b.jvm_says(JvmMessage::Other, None),
        [Output::Forward("jvm".into())]
    );
    assert_eq!(b.at(59), []);
    assert_eq!(b.at(60), [Output::Exit(0)]);
}

#[test]
fn without_a_jvm_a_stop_is_at_once() {
    let mut b = Bench::new();
    assert_eq!(
        b.driver(DriverCommand::StopExecutor, "stop"),
        [Output::Exit(0)]
    );
    let mut b = Bench::new();
    b.launch(1);
    assert_eq!(
        b.driver(DriverCommand::StopExecutor, "stop"),
        [Output::Exit(0)],
        "a JVM that is still starting is not waited for"
    );
}

#[test]
fn a_lost_driver_ends_the_executor_as_it_ends_sparks() {
    let lost = || Input::DriverLost {
        driver: "d:1".into(),
    };
    assert_eq!(Bench::new().put(lost()), [Output::Exit(0)]);
    let mut b = Bench::with_ready_jvm();
    assert_eq!(b.put(lost()), [Output::JvmDisconnected]);
    assert_eq!(b.at(4), []);
    assert_eq!(b.at(5), [Output::Exit(0)]);
}

#[test]
fn a_lost_worker_ends_the_executor_with_minus_1() {
    let lost = || Input::WorkerLost {
        url: "spark://Worker@h:1".into(),
    };
    assert_eq!(Bench::new().put(lost()), [Output::Exit(-1)]);
    assert_eq!(Bench::with_ready_jvm().put(lost()), [Output::JvmExit(-1)]);
}

#[test]
fn sigterm_exits_143() {
    assert_eq!(Bench::new().put(Input::Terminate), [Output::Exit(143)]);
}

#[test]
fn a_jvm_that_cannot_start_is_reported_to_the_driver() {
    let mut b = Bench::new();
    b.launch(1);
    let out = b.put(Input::JvmFailed("no libjvm.so".into()));
    assert_eq!(
        out,
        [
            Output::RemoveExecutor {
                reason: "Unable to create executor due to no libjvm.so".into()
            },
            Output::Exit(1)
        ]
    );
}

#[test]
fn an_unreadable_task_ends_the_executor_with_a_reason() {
    let mut b = Bench::new();
    let out = b.driver(DriverCommand::UnreadableTask("ends early".into()), "launch");
    assert!(
        matches!(&out[..], [Output::RemoveExecutor { reason }, Output::Exit(1)] if reason.contains("ends early"))
    );
}

#[test]
fn unknown_asks_are_answered_even_without_a_jvm() {
    let mut b = Bench::new();
    let ask = |b: &mut Bench, command| {
        b.put(Input::Driver {
            command,
            envelope: "x".into(),
            request: Some(2),
        })
    };
    let out = ask(&mut b, DriverCommand::Unknown("org.example.New".into()));
    assert_eq!(out, [Output::Reply(2, Reply::NoSuchEndpoint)]);
    assert_eq!(
        ask(&mut b, DriverCommand::TaskThreadDump { task_id: 1 }),
        [Output::ReplyThread(2, None)]
    );
    let mut b = Bench::with_ready_jvm();
    assert_eq!(
        ask(&mut b, DriverCommand::Unknown("org.example.New".into())),
        [Output::JvmRequest(2, "x".into())]
    );
    assert_eq!(
        ask(&mut b, DriverCommand::TaskThreadDump { task_id: 1 }),
        [Output::JvmRequest(2, "x".into())]
    );
}

#[test]
fn a_setting_may_want_the_jvm_from_the_start() {
    let mut b = Bench::new();
    assert_eq!(
        b.put(Input::JvmWanted("spark.plugins=x".into())),
        [Output::StartJvm]
    );
    assert_eq!(b.put(Input::JvmWanted("spark.plugins=x".into())), []);
    assert_eq!(b.launch(1), []);
    assert_eq!(
        b.jvm_says(JvmMessage::LaunchedExecutor, None),
        [Output::JvmOneWay("launch".into())]
    );
}

#[test]
fn tasks_come_when_a_jvm_that_is_wanted_from_the_start_is_ready() {
    let mut b = Bench::with(CoreConfig {
        tasks_wait_for_jvm: true,
        ..config()
    });
    b.put(Input::JvmWanted("spark.plugins=x".into()));
    assert_eq!(
        b.jvm_says(JvmMessage::RegisterExecutor, Some(8)),
        [Output::AnswerTrue(8)]
    );
    assert_eq!(
        b.jvm_says(JvmMessage::LaunchedExecutor, None),
        [Output::Forward("jvm".into())],
        "the driver may give tasks now"
    );
    assert_eq!(b.launch(1), [Output::JvmOneWay("launch".into())]);
}

#[test]
fn a_native_task_runs_without_a_jvm() {
    let mut b = Bench::new();
    b.run_natively(1);
    assert_eq!(
        b.ended(1, TaskEnd::Finished),
        [Output::Forward("update".into())]
    );
    let counters = b.report.snapshot();
    assert_eq!(counters.tasks["python"].finished, 1);
    assert!(!counters.jvm_started && counters.delegated.is_empty());
}

#[test]
fn a_task_that_no_native_lane_takes_is_delegated_with_the_reason() {
    let mut b = Bench::new();
    b.launch_open(1);
    assert_eq!(
        b.judged(1, Verdict::Delegate("a Scala closure".into())),
        [Output::StartJvm]
    );
    assert_eq!(
        b.jvm_says(JvmMessage::LaunchedExecutor, None),
        [Output::JvmOneWay("launch".into())]
    );
    assert_eq!(b.report.snapshot().delegated["a Scala closure"], 1);
}

#[test]
fn a_native_task_may_bail_out_to_the_jvm() {
    let mut b = Bench::new();
    b.run_natively(1);
    let bail = |task_id| Input::TaskBailedOut {
        task_id,
        reason: "odd bytes".into(),
    };
    assert_eq!(b.put(bail(1)), [Output::StartJvm]);
    assert_eq!(
        b.jvm_says(JvmMessage::LaunchedExecutor, None),
        [Output::JvmOneWay("launch".into())]
    );
    // Only once, and only of tasks that run natively.
    assert_eq!(b.put(bail(1)), []);
    assert_eq!(b.put(bail(7)), []);
    b.jvm_says(
        JvmMessage::StatusUpdate {
            task_id: 1,
            end: Some(TaskEnd::Finished),
        },
        None,
    );
    let counters = b.report.snapshot();
    assert_eq!(counters.bailed_out["odd bytes"], 1);
    assert_eq!(counters.tasks["jvm"].finished, 1);
    assert_eq!(counters.tasks["python"].finished, 0);
}

#[test]
fn kills_reach_native_tasks_and_those_that_are_looked_at() {
    let mut b = Bench::new();
    let attempt = b.run_natively(1);
    b.launch_open(2);
    let reason = "why".to_owned();
    assert_eq!(b.kill(1), [Output::KillNative { attempt, reason }]);
    assert_eq!(b.kill(2), [killed(2, "why")]);
    let late = Arc::new(NativeAttempt::without_work(2, LaneName::Python));
    assert_eq!(b.judged(2, Verdict::Run(late)), []);
    assert!(!b.report.snapshot().jvm_started);
}

#[test]
fn native_tasks_beat_beside_a_ready_jvm() {
    let mut b = Bench::with_ready_jvm();
    let jvms = |ask| Output::ForwardHeartbeat(ask, "jvm".into());
    assert_eq!(b.jvm_says(JvmMessage::Heartbeat, Some(5)), [jvms(5)]);
    let running = vec![b.run_natively(2)];
    let beside = Output::Heartbeat {
        counts: false,
        running,
    };
    assert_eq!(
        b.jvm_says(JvmMessage::Heartbeat, Some(6)),
        [jvms(6), beside]
    );
}

#[test]
fn thread_dumps_show_native_tasks() {
    let dump = || Input::ThreadDump {
        envelope: "all".into(),
        request: 3,
    };
    let of_task = |task_id| Input::Driver {
        command: DriverCommand::TaskThreadDump { task_id },
        envelope: "one".into(),
        request: Some(4),
    };
    let mut b = Bench::new();
    assert_eq!(b.put(dump()), [Output::ReplyThreads(3, Vec::new())]);
    let attempt = b.run_natively(1);
    let threads = vec![Arc::clone(&attempt)];
    assert_eq!(b.put(dump()), [Output::ReplyThreads(3, threads)]);
    let thread = [Output::ReplyThread(4, Some(attempt))];
    assert_eq!(b.put(of_task(1)), thread);
    b.launch(2);
    b.jvm_says(JvmMessage::LaunchedExecutor, None);
    assert_eq!(b.put(of_task(1)), thread, "the JVM does not know it");
    let asked = [Output::JvmRequest(4, "one".into())];
    assert_eq!(b.put(of_task(2)), asked);
    assert_eq!(b.put(dump()), [Output::JvmRequest(3, "all".into())]);
}

#[test]
fn free_memory_is_given_back_once_native_tasks_are_gone() {
    let mut b = Bench::new();
    assert_eq!(b.at(10), [beat()], "none has come");
    let running = vec![b.run_natively(1)];
    let counts = true;
    assert_eq!(b.at(20), [Output::Heartbeat { counts, running }]);
    b.ended(1, TaskEnd::Finished);
    assert_eq!(b.at(30), [Output::TrimMemory, beat()]);
    assert_eq!(b.at(40), [beat()], "once");
    b.launch_open(2);
    assert_eq!(b.at(50), [beat()], "it is looked at");
    b.judged(2, Verdict::Delegate("a Scala closure".into()));
    b.jvm_says(JvmMessage::LaunchedExecutor, None);
    assert_eq!(
        b.jvm_says(JvmMessage::Heartbeat, Some(5)),
        [
            Output::TrimMemory,
            Output::ForwardHeartbeat(5, "jvm".into())
        ],
        "what the JVM runs does not keep ours"
    );
}
