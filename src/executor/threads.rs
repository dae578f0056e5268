//! Thread dumps without a JVM: what the kernel tells of the threads of this process, and which of them run tasks.

use std::path::Path;
use std::sync::Arc;

use wire::messages::{StackTrace, ThreadStackTrace, ThreadState};

use super::native::NativeAttempt;

/// Where Linux shows the threads of a process.
const THREADS: &str = "/proc/self/task";
/// Java's `Thread.NORM_PRIORITY`.
const NORMAL_PRIORITY: i32 = 5;

/// All threads of this process, among them those of `running`.
pub(super) fn of_process(running: &[Arc<NativeAttempt>]) -> Vec<ThreadStackTrace> {
    let Ok(entries) = std::fs::read_dir(THREADS) else {
        return Vec::new();
    };
    let mut threads: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|thread: i32| {
            let attempt = running.iter().find(|of| of.thread() == Some(thread));
            read(thread, attempt.map(|attempt| &**attempt))
        })
        .collect();
    threads.sort_by_key(|thread| thread.thread_id);
    threads
}

/// The thread of a task, unless it has not begun or is gone.
pub(super) fn of_task(attempt: &NativeAttempt) -> Option<ThreadStackTrace> {
    read(attempt.thread()?, Some(attempt))
}

/// `None` if the thread has ended.
fn read(thread: i32, attempt: Option<&NativeAttempt>) -> Option<ThreadStackTrace> {
    let directory = Path::new(THREADS).join(thread.to_string());
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    let (name, state) = name_and_state(&stat)?;
    let mut calls = Vec::new();
    // A kernel that does not tell says 0.
    if let Ok(call) = std::fs::read_to_string(directory.join("wchan"))
        && !matches!(call.trim(), "" | "0")
    {
        calls.push(format!("kernel.{}(Native Method)", call.trim()));
    }
    if let Some(attempt) = attempt {
        let lane = attempt.lane().name();
        calls.push(format!("firesteel.lanes.{lane}.run(Native Method)"));
    }
    Some(ThreadStackTrace {
        thread_id: thread.into(),
        thread_name: match attempt {
            // As Spark calls its threads, so that the UI shows them first.
            Some(attempt) => format!("Executor task launch worker for {}", attempt.name()),
            None => name.to_owned(),
        },
        thread_state: state,
        stack_trace: StackTrace { elems: calls },
        in_native: true,
        priority: NORMAL_PRIORITY,
        ..ThreadStackTrace::default()
    })
}

/// Of a line such as `17 (a name) S 1 …`, where the name may have parentheses, too.
fn name_and_state(stat: &str) -> Option<(&str, ThreadState)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let state = match after.trim_start().chars().next()? {
        'R' => ThreadState::Runnable,
        'Z' | 'X' | 'x' => ThreadState::Terminated,
        _ => ThreadState::Waiting,
    };
    Some((name, state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LaneName;

    #[test]
    fn names_may_have_parentheses() {
        let found = name_and_state("17 (a (b) c) S 1 2 3");
        assert_eq!(found, Some(("a (b) c", ThreadState::Waiting)));
        assert_eq!(
            name_and_state("17 (a) R 1").map(|f| f.1),
            Some(ThreadState::Runnable)
        );
        assert_eq!(name_and_state("17 (a)"), None);
        assert_eq!(name_and_state(""), None);
    }

    #[test]
    fn threads_of_tasks_have_their_names() {
        let here = Arc::new(NativeAttempt::without_work(1, LaneName::Python));
        assert_eq!(of_task(&here), None, "it has not begun");
        here.is_here();
        let elsewhere = Arc::new(NativeAttempt::without_work(2, LaneName::Sql));
        let task = of_task(&here).unwrap();
        assert_eq!(task.thread_name, "Executor task launch worker for a task");
        assert_eq!(task.thread_state, ThreadState::Runnable);
        let calls = &task.stack_trace.elems;
        assert_eq!(
            calls.last().unwrap(),
            "firesteel.lanes.python.run(Native Method)"
        );
        let all = of_process(&[here, elsewhere]);
        let named = |thread: &&ThreadStackTrace| thread.thread_name == task.thread_name;
        assert_eq!(all.iter().filter(named).count(), 1);
        assert!(
            all.iter()
                .any(|thread| thread.thread_name != task.thread_name)
        );
    }
}
