//! Decommissioned executors.

use super::*;

fn migrating() -> CoreConfig {
    CoreConfig {
        migration: true,
        ..config()
    }
}

fn gone() -> [Output; 2] {
    let reason = "Finished decommissioning".into();
    [Output::RemoveExecutor { reason }, Output::Exit(0)]
}

impl Bench {
    fn info(&mut self, since: Time, done: bool) -> Vec<Output> {
        self.put(Input::MigrationInfo { since, done })
    }

    fn decommission(&mut self) -> Vec<Output> {
        self.driver(DriverCommand::Decommission, "dec")
    }
}

#[test]
fn an_idle_executor_without_migration_leaves_at_the_next_look() {
    let mut b = Bench::new();
    assert_eq!(b.put(Input::DecommissionSignal), [Output::AskDecommission]);
    assert_eq!(b.put(Input::DecommissionAnswer(true)), []);
    assert_eq!(b.core.next_tick(), Some(s(1)));
    assert_eq!(b.at(1), gone());
}

#[test]
fn the_first_look_may_be_later() {
    let mut b = Bench::with(CoreConfig {
        decommission_first_look: s(7),
        ..config()
    });
    b.decommission();
    assert_eq!(b.at(6), []);
    assert_eq!(b.at(7), gone());
}

#[test]
fn decommission_needs_its_setting() {
    let mut b = Bench::with(CoreConfig {
        decommission_enabled: false,
        ..migrating()
    });
    assert_eq!(b.put(Input::DecommissionSignal), []);
    assert_eq!(b.decommission(), []);
    assert_eq!(b.at(5), []);
}

#[test]
fn blocks_move_before_the_executor_leaves() {
    let mut b = Bench::with(migrating());
    assert_eq!(b.decommission(), [Output::StartMigration]);
    assert_eq!(b.decommission(), [], "once is enough");
    assert_eq!(b.put(Input::DecommissionSignal), []);
    assert_eq!(b.at(1), [Output::AskMigration]);
    assert_eq!(b.info(s(1), false), []);
    assert_eq!(b.at(2), [Output::AskMigration]);
    assert_eq!(b.info(s(1), true), gone());
}

#[test]
fn what_the_last_task_wrote_moves_too() {
    let mut b = Bench::with(migrating());
    b.run_natively(1);
    assert_eq!(b.decommission(), [Output::StartMigration]);
    assert_eq!(b.at(1), [], "a task runs");
    assert_eq!(b.info(s(1), true), [], "nobody asked");
    b.now = s(3);
    b.ended(1, TaskEnd::Finished);
    assert_eq!(b.put(Input::Tick), [Output::AskMigration]);
    assert_eq!(
        b.info(s(2), true),
        [Output::MigrateAgain],
        "that round began before the task ended"
    );
    assert_eq!(b.at(4), [Output::AskMigration]);
    assert_eq!(
        b.info(Time::MAX, true),
        gone(),
        "nobody takes anything any more"
    );
}

#[test]
fn a_jvm_is_told_when_the_native_part_is_done() {
    let mut b = Bench::with(migrating());
    b.launch(1);
    b.jvm_says(JvmMessage::LaunchedExecutor, None);
    b.run_natively(2);
    let both = [Output::StartMigration, Output::JvmDecommissionBlocks];
    assert_eq!(b.decommission(), both, "its tasks see it while they run");
    assert_eq!(b.at(1), []);
    b.ended(2, TaskEnd::Finished);
    assert_eq!(b.at(2), [], "the JVM's task may write another shuffle");
    let end = Some(TaskEnd::Finished);
    b.jvm_says(JvmMessage::StatusUpdate { task_id: 1, end }, None);
    assert_eq!(b.at(3), [Output::AskMigration]);
    assert_eq!(b.info(s(3), true), [Output::JvmDecommission]);
    assert_eq!(b.at(4), [], "the JVM's backend decides when to leave");
    assert_eq!(b.core.next_tick(), Some(s(10)));
}

#[test]
fn a_jvm_that_starts_is_waited_for() {
    let mut b = Bench::new();
    b.launch(1);
    assert_eq!(b.decommission(), []);
    assert_eq!(b.at(1), [], "a task waits");
    let out = b.jvm_says(JvmMessage::LaunchedExecutor, None);
    assert_eq!(out, [Output::JvmOneWay("launch".into())]);
    let end = Some(TaskEnd::Finished);
    b.jvm_says(JvmMessage::StatusUpdate { task_id: 1, end }, None);
    assert_eq!(b.at(2), [Output::JvmDecommission]);
}

#[test]
fn the_fallback_storage_needs_a_jvm() {
    let mut b = Bench::with(CoreConfig {
        jvm_migrates: true,
        ..migrating()
    });
    assert_eq!(b.decommission(), [Output::StartMigration, Output::StartJvm]);
    assert_eq!(b.at(1), [Output::AskMigration]);
    assert_eq!(b.info(s(1), true), [], "it is not there yet");
    assert_eq!(
        b.jvm_says(JvmMessage::LaunchedExecutor, None),
        [Output::JvmDecommissionBlocks]
    );
    assert_eq!(b.at(2), [Output::AskMigration]);
    assert_eq!(b.info(s(1), true), [Output::JvmDecommission]);
}
