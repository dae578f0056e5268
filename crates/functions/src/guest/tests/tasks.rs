use std::mem::offset_of;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, StringArray};

use super::library;
use crate::abi::*;
use crate::guest::Task;
use crate::testing::{Bound, Failed, Host};

fn tell(bound: &Bound<'_>, commands: &[&str]) -> Result<String, Failed> {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![5; commands.len()]));
    let commands: ArrayRef = Arc::new(StringArray::from(commands.to_vec()));
    let answer = bound.execute(&[commands, numbers])?;
    Ok(answer.as_string::<i32>().value(0).to_owned())
}

#[test]
fn functions_see_the_task() {
    let host = Host::new(library::module);
    let binds = host.bind("binds", "string, int").unwrap();
    assert_eq!(
        tell(&binds, &["task"]).unwrap(),
        "Asia/Tokyo true Some(3) Some(4) None Some(77)"
    );
    tell(&binds, &["log"]).unwrap();
    assert_eq!(host.logged(), [(FIRESTEEL_LOG_WARN, "odd".to_owned())]);
}

#[test]
fn constants_are_the_instances_own() {
    let host = Host::new(library::module);
    let binds = host.bind("binds", "string, int").unwrap();
    assert_eq!(tell(&binds, &["constant"]).unwrap(), "None");
    let five: ArrayRef = Arc::new(Int32Array::from(vec![5]));
    let binds = host
        .bind_with("binds", "string, int", &[None, Some(five)])
        .unwrap();
    assert_eq!(tell(&binds, &["constant"]).unwrap(), "Some(5)");
}

#[test]
fn signatures_may_not_apply() {
    let host = Host::new(library::module);
    let failed = host.bind("binds", "string, bigint").err().unwrap();
    assert_eq!(failed.status, FIRESTEEL_STATUS_NOT_APPLICABLE);
    assert_eq!(failed.message, "no bigint");
}

#[test]
fn cancelled_tasks_are_noticed() {
    let host = Host::new(library::module);
    let binds = host.bind("binds", "string, int").unwrap();
    host.cancel();
    let failed = tell(&binds, &["task"]).unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_CANCELLED);
}

#[test]
fn memory_is_reserved_and_given_back() {
    let host = Host::new(library::module);
    let reserved = || host.reserved();
    let binds = host.bind("binds", "string, int").unwrap();
    assert_eq!(tell(&binds, &["300", "400"]).unwrap(), "300 more");
    assert_eq!(reserved(), 700);
    for too_many in ["400", "295", &usize::MAX.to_string()] {
        let failed = tell(&binds, &[too_many]).unwrap_err();
        assert_eq!(failed.status, FIRESTEEL_STATUS_NO_MEMORY);
        assert!(failed.message.contains("refused"), "{failed:?}");
        assert_eq!(reserved(), 700);
    }
    tell(&binds, &["free"]).unwrap();
    assert_eq!(reserved(), 0);
    tell(&binds, &["300"]).unwrap();
    drop(binds);
    assert_eq!(reserved(), 0);
}

/// A shorter struct, of an older host, has zeros for the rest.
#[test]
fn hosts_may_know_less() {
    let mut host = Host::new(library::module);
    host.host.struct_size = offset_of!(firesteel_host, is_cancelled);
    host.task.struct_size = offset_of!(firesteel_task, stage_id);
    host.cancel();
    let binds = host.bind("binds", "string, int").unwrap();
    assert_eq!(
        tell(&binds, &["task"]).unwrap(),
        "Asia/Tokyo true Some(0) Some(0) Some(0) Some(0)"
    );
    assert_eq!(tell(&binds, &["5000"]).unwrap(), "5000 more");
    tell(&binds, &["log"]).unwrap();
    assert_eq!(host.logged().len(), 1);
    drop(binds);
    assert_eq!(host.reserved(), 0);

    host.task.time_zone = firesteel_str::of("");
    let binds = host.bind("binds", "string, int").unwrap();
    assert!(tell(&binds, &["task"]).unwrap().starts_with("UTC "));
    drop(binds);
    host.task.struct_size = offset_of!(firesteel_task, host);
    let failed = host.bind("binds", "string, int").err().unwrap();
    assert!(failed.message.contains("host is NULL"), "{failed:?}");
}

/// What is kept of a task that has ended does not reach for its host.
#[test]
fn tasks_end_with_their_instances() {
    let host = Host::new(library::module);
    // SAFETY: the host lives until the task is ended.
    let task = unsafe { Task::new(&raw const *host.task) }.unwrap();
    let kept = task.clone();
    let mut reservation = kept.reserve(100).unwrap();
    assert!(!kept.is_cancelled());
    task.end();
    drop(host);
    assert!(kept.is_cancelled());
    assert!(kept.reserve(1).is_err());
    assert!(reservation.grow(1).is_err());
    kept.log(crate::guest::Level::Info, "to nobody");
    assert_eq!(kept.time_zone(), "Asia/Tokyo");
    drop(reservation);
}
