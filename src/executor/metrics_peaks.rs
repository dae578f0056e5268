//! `ExecutorMetrics` of an executor without a JVM, and the peaks that heartbeats and task results carry (Spark's
//! `ExecutorMetricsPoller` and `ProcfsMetricsGetter`).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use parking_lot::Mutex;
use wire::messages::{ExecutorMetrics, StageAttempt};
use wire::version::EXECUTOR_METRICS;

use crate::config::{SettingError, SparkProperties, declared};

/// Memory of the executor's own pools in bytes, as the driver knows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolMemory {
    /// Execution memory counted against `spark.executor.memory`.
    pub on_heap_execution: u64,
    /// Execution memory counted against `spark.memory.offHeap.size`.
    pub off_heap_execution: u64,
    /// Blocks counted against `spark.executor.memory`.
    pub on_heap_storage: u64,
    /// Blocks counted against `spark.memory.offHeap.size`.
    pub off_heap_storage: u64,
}

/// Memory of a group of processes in bytes. Pages that processes share count for each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Number of processes.
    pub processes: u32,
    /// Size of their address spaces.
    pub virtual_bytes: u64,
    /// What is in memory.
    pub rss_bytes: u64,
}

/// This process and all that descend from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessTree {
    /// The executor itself, and JVMs below it.
    pub executor: ProcessMemory,
    /// Processes with `python` in their names: Python's daemons and workers.
    pub python: ProcessMemory,
    /// All others.
    pub other: ProcessMemory,
}

/// Memory of the Python workers (and the daemons that fork them) now. Zero where `/proc` is missing.
pub fn python_workers() -> ProcessMemory {
    process_tree().python
}

/// Memory of this process and its descendants now. Zeros where `/proc` is missing.
pub fn process_tree() -> ProcessTree {
    let root = rustix::process::getpid().as_raw_nonzero().get();
    tree_in(Path::new("/proc"), root, rustix::param::page_size() as u64)
}

/// The fields of `/proc/<pid>/stat` that count here.
struct Stat {
    pid: i32,
    parent: i32,
    name: String,
    virtual_bytes: u64,
    rss_pages: u64,
}

impl Stat {
    /// `pid (name) state ppid … vsize rss …`: proc(5), fields 1, 2, 4, 23 and 24. The name may hold blanks and
    /// parentheses.
    fn parse(line: &str) -> Option<Self> {
        let (pid, rest) = line.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Self {
            pid: pid.trim().parse().ok()?,
            parent: fields.nth(1)?.parse().ok()?,
            name: name.to_lowercase(),
            virtual_bytes: fields.nth(18)?.parse().ok()?,
            rss_pages: fields.next()?.parse().ok()?,
        })
    }
}

fn tree_in(proc_dir: &Path, root: i32, page_size: u64) -> ProcessTree {
    let mut stats = HashMap::new();
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let entries = fs::read_dir(proc_dir).into_iter().flatten().flatten();
    for entry in entries {
        let is_pid = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        if !entry.file_name().to_str().is_some_and(is_pid) {
            continue;
        }
        // A process that is gone by now counts no more.
        let read = fs::read(entry.path().join("stat")).ok();
        let stat = read.and_then(|bytes| Stat::parse(&String::from_utf8_lossy(&bytes)));
        if let Some(stat) = stat {
            children.entry(stat.parent).or_default().push(stat.pid);
            stats.insert(stat.pid, stat);
        }
    }
    let mut tree = ProcessTree::default();
    let (mut open, mut seen) = (vec![root], HashSet::from([root]));
    while let Some(pid) = open.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if seen.insert(*child) {
                open.push(*child);
            }
        }
        let Some(stat) = stats.get(&pid) else {
            continue;
        };
        // Spark goes by the name alone, but this process need not be called `java`.
        let group = if pid == root || stat.name.contains("java") {
            &mut tree.executor
        } else if stat.name.contains("python") {
            &mut tree.python
        } else {
            &mut tree.other
        };
        group.processes += 1;
        group.virtual_bytes += stat.virtual_bytes;
        group.rss_bytes += stat.rss_pages.saturating_mul(page_size);
    }
    tree
}

/// Present values in the order of [`EXECUTOR_METRICS`]. What only a JVM has (heap, buffer pools, garbage collection) is
/// 0.
fn present_values(pools: &PoolMemory, tree: &ProcessTree) -> [i64; EXECUTOR_METRICS.len()] {
    EXECUTOR_METRICS.map(|name| {
        let value = match name {
            "OnHeapExecutionMemory" => pools.on_heap_execution,
            "OffHeapExecutionMemory" => pools.off_heap_execution,
            "OnHeapStorageMemory" => pools.on_heap_storage,
            "OffHeapStorageMemory" => pools.off_heap_storage,
            "OnHeapUnifiedMemory" => pools
                .on_heap_execution
                .saturating_add(pools.on_heap_storage),
            "OffHeapUnifiedMemory" => pools
                .off_heap_execution
                .saturating_add(pools.off_heap_storage),
            "ProcessTreeJVMVMemory" => tree.executor.virtual_bytes,
            "ProcessTreeJVMRSSMemory" => tree.executor.rss_bytes,
            "ProcessTreePythonVMemory" => tree.python.virtual_bytes,
            "ProcessTreePythonRSSMemory" => tree.python.rss_bytes,
            "ProcessTreeOtherVMemory" => tree.other.virtual_bytes,
            "ProcessTreeOtherRSSMemory" => tree.other.rss_bytes,
            _ => 0,
        };
        i64::try_from(value).unwrap_or(i64::MAX)
    })
}

/// Peaks by running task and by stage. Shared between the heartbeat and the threads that run tasks.
#[derive(Debug)]
pub struct MetricsPeaks {
    count: usize,
    process_tree: bool,
    peaks: Mutex<Peaks>,
}

#[derive(Debug, Default)]
struct Peaks {
    tasks: HashMap<i64, (StageAttempt, Vec<i64>)>,
    stages: HashMap<StageAttempt, StagePeaks>,
}

#[derive(Debug)]
struct StagePeaks {
    running: usize,
    values: Vec<i64>,
}

fn raise(peaks: &mut [i64], values: &[i64]) {
    for (peak, value) in peaks.iter_mut().zip(values) {
        *peak = (*peak).max(*value);
    }
}

impl MetricsPeaks {
    /// `count` is how many values the driver's version has:
    /// [`WireVersion::executor_metrics`](wire::WireVersion::executor_metrics).
    ///
    /// # Errors
    /// `spark.executor.processTreeMetrics.enabled` is neither `true` nor `false`.
    pub fn new(properties: &SparkProperties, count: usize) -> Result<Self, SettingError> {
        Ok(Self {
            count: count.min(EXECUTOR_METRICS.len()),
            process_tree: properties.switch(&declared::PROCESS_TREE_METRICS)?,
            peaks: Mutex::default(),
        })
    }

    /// Present values in the driver's order. Those of the process tree are 0 unless
    /// `spark.executor.processTreeMetrics.enabled` is on.
    pub fn current(&self, pools: &PoolMemory) -> ExecutorMetrics {
        let tree = match self.process_tree {
            true => process_tree(),
            false => ProcessTree::default(),
        };
        let mut metrics = present_values(pools, &tree).to_vec();
        metrics.truncate(self.count);
        ExecutorMetrics { metrics }
    }

    /// A task of that stage attempt has begun.
    pub fn task_started(&self, task_id: i64, stage: StageAttempt) {
        let zeros = vec![0; self.count];
        let mut peaks = self.peaks.lock();
        peaks.tasks.insert(task_id, (stage, zeros.clone()));
        let entry = peaks.stages.entry(stage).or_insert(StagePeaks {
            running: 0,
            values: zeros,
        });
        entry.running += 1;
    }

    /// A task has ended: its peaks, for its result (`metricPeaks`). Zeros for a task that was not announced or saw no
    /// [`MetricsPeaks::poll`].
    pub fn task_ended(&self, task_id: i64) -> Vec<i64> {
        let mut peaks = self.peaks.lock();
        let Some((stage, values)) = peaks.tasks.remove(&task_id) else {
            return vec![0; self.count];
        };
        if let Some(stage) = peaks.stages.get_mut(&stage) {
            stage.running = stage.running.saturating_sub(1);
        }
        values
    }

    /// Takes the present values into the peaks of everything that runs: before each heartbeat, and every
    /// `spark.executor.metrics.pollingInterval` if that is not 0. Gives the present values.
    pub fn poll(&self, pools: &PoolMemory) -> ExecutorMetrics {
        let current = self.current(pools);
        let mut peaks = self.peaks.lock();
        for (_, values) in peaks.tasks.values_mut() {
            raise(values, &current.metrics);
        }
        for stage in peaks.stages.values_mut() {
            raise(&mut stage.values, &current.metrics);
        }
        current
    }

    /// The peaks of stages since the last heartbeat, for `Heartbeat.executorUpdates`, ordered by stage. They begin
    /// anew, and stages without running tasks are forgotten.
    pub fn take_updates(&self) -> Vec<(StageAttempt, ExecutorMetrics)> {
        let mut peaks = self.peaks.lock();
        let mut updates = Vec::with_capacity(peaks.stages.len());
        peaks.stages.retain(|id, stage| {
            let metrics = std::mem::replace(&mut stage.values, vec![0; self.count]);
            updates.push((*id, ExecutorMetrics { metrics }));
            stage.running > 0
        });
        updates.sort_by_key(|(id, _)| (id.stage_id, id.attempt));
        updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const STAGE: StageAttempt = StageAttempt {
        stage_id: 3,
        attempt: 0,
    };

    /// The directory of a made-up process, for tests.
    fn fake_process(
        proc_dir: &Path,
        pid: i32,
        parent: i32,
        name: &str,
        vsize: u64,
        pages: u64,
    ) -> PathBuf {
        let dir = proc_dir.join(pid.to_string());
        fs::create_dir(&dir).unwrap();
        let line = format!(
            "{pid} ({name}) S {parent} 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 {vsize} {pages} 18446744073709551615 1 1"
        );
        fs::write(dir.join("stat"), line).unwrap();
        dir
    }

    fn at(metrics: &[i64], name: &str) -> i64 {
        metrics[EXECUTOR_METRICS.iter().position(|n| *n == name).unwrap()]
    }

    #[test]
    fn the_tree_is_sorted_by_names_as_in_spark() {
        let dir = tempfile::tempdir().unwrap();
        let proc_dir = dir.path();
        fake_process(proc_dir, 100, 1, "firesteel", 1000, 10);
        fake_process(proc_dir, 101, 100, "python3.11", 200, 2);
        fake_process(proc_dir, 102, 101, "Python (fork) 1", 300, 3);
        fake_process(proc_dir, 103, 102, "awk", 50, 1);
        fake_process(proc_dir, 104, 100, "java", 70, 1);
        fake_process(proc_dir, 200, 1, "python3", 9999, 99);
        let gone = fake_process(proc_dir, 105, 100, "python3", 1, 1);
        fs::remove_file(gone.join("stat")).unwrap();
        fs::create_dir(proc_dir.join("self")).unwrap();
        let group = |processes, virtual_bytes, rss_bytes| ProcessMemory {
            processes,
            virtual_bytes,
            rss_bytes,
        };
        let tree = tree_in(proc_dir, 100, 4096);
        assert_eq!(tree.executor, group(2, 1070, 11 * 4096));
        assert_eq!(tree.python, group(2, 500, 5 * 4096));
        assert_eq!(tree.other, group(1, 50, 4096));
        assert_eq!(
            tree_in(&proc_dir.join("none"), 100, 4096),
            ProcessTree::default()
        );
    }

    #[test]
    fn this_process_and_its_children_are_found() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let tree = process_tree();
        assert!(tree.executor.rss_bytes > 1 << 20, "{tree:?}");
        assert!(tree.executor.virtual_bytes > tree.executor.rss_bytes);
        assert!(tree.other.processes >= 1, "{tree:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn peaks_belong_to_tasks_and_stages() {
        let conf = SparkProperties::default();
        let peaks = MetricsPeaks::new(&conf, 21).unwrap();
        let storage = |bytes| PoolMemory {
            on_heap_storage: bytes,
            on_heap_execution: 1,
            ..PoolMemory::default()
        };
        peaks.task_started(7, STAGE);
        peaks.poll(&storage(50));
        let now = peaks.poll(&storage(20));
        assert_eq!(now.metrics.len(), 21);
        assert_eq!(at(&now.metrics, "OnHeapStorageMemory"), 20);
        assert_eq!(at(&now.metrics, "OnHeapUnifiedMemory"), 21);
        assert_eq!(at(&now.metrics, "ProcessTreeJVMRSSMemory"), 0);
        let updates = peaks.take_updates();
        assert_eq!(updates.len(), 1);
        assert_eq!(updates[0].0, STAGE);
        assert_eq!(at(&updates[0].1.metrics, "OnHeapStorageMemory"), 50);
        // A new interval begins for the stage, not for the task.
        peaks.poll(&storage(30));
        assert_eq!(at(&peaks.task_ended(7), "OnHeapStorageMemory"), 50);
        let updates = peaks.take_updates();
        assert_eq!(at(&updates[0].1.metrics, "OnHeapStorageMemory"), 30);
        assert!(peaks.take_updates().is_empty());
        assert_eq!(peaks.task_ended(7), vec![0; 21]);
    }

    #[test]
    fn the_process_tree_is_looked_at_when_asked_for() {
        let mut conf = SparkProperties::default();
        conf.set("spark.executor.processTreeMetrics.enabled", "true");
        let peaks = MetricsPeaks::new(&conf, EXECUTOR_METRICS.len()).unwrap();
        let metrics = peaks.current(&PoolMemory::default()).metrics;
        assert_eq!(metrics.len(), EXECUTOR_METRICS.len());
        assert!(at(&metrics, "ProcessTreeJVMRSSMemory") > 1 << 20);
        assert_eq!(at(&metrics, "JVMHeapMemory"), 0);
    }
}
