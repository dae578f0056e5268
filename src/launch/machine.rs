//! Memory and processors that this process may use: the machine's, or its container's (cgroup) if that has less.

use std::fs;
use std::path::{Path, PathBuf};

/// Limits above this are "no limit" in cgroup version 1, which has no word for it.
const NO_LIMIT: u64 = 1 << 60;

/// What the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Memory of the machine in bytes.
    pub physical_memory: u64,
    /// Memory limit of the container in bytes.
    pub memory_limit: Option<u64>,
    /// Processors that the process may be scheduled on.
    pub cpus: u64,
    /// Processors that the container's time quota amounts to, rounded up.
    pub cpu_quota: Option<u64>,
    /// Limit of the address space in bytes (`ulimit -v`).
    pub address_space: Option<u64>,
}

impl Machine {
    /// Looks at the running system.
    pub fn detect() -> Self {
        Self::detect_below(Path::new("/"))
    }

    /// Memory in bytes as a container-aware JVM sees it.
    pub fn memory(&self) -> u64 {
        self.memory_limit.map_or(self.physical_memory, |limit| {
            limit.min(self.physical_memory)
        })
    }

    /// Processors as a container-aware JVM sees them; at least 1.
    pub fn processors(&self) -> u64 {
        self.cpu_quota
            .map_or(self.cpus, |quota| quota.min(self.cpus))
            .max(1)
    }

    fn detect_below(root: &Path) -> Self {
        let groups = ControlGroups::read(root);
        Self {
            physical_memory: physical_memory(root).unwrap_or(0),
            memory_limit: groups.memory_limit(),
            cpus: std::thread::available_parallelism()
                .map_or(1, |count| count.get() as u64)
                .max(scheduled_cpus()),
            cpu_quota: groups.cpu_quota(),
            address_space: rustix::process::getrlimit(rustix::process::Resource::As).current,
        }
    }
}

fn physical_memory(root: &Path) -> Option<u64> {
    let info = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// `available_parallelism` already honours quotas; the mask alone is needed for `-XX:-UseContainerSupport` and to round
/// as the JVM does.
fn scheduled_cpus() -> u64 {
    rustix::thread::sched_getaffinity(None).map_or(1, |mask| u64::from(mask.count()))
}

/// The directories that may limit this process, nearest first.
struct ControlGroups {
    memory: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
}

impl ControlGroups {
    fn read(root: &Path) -> Self {
        let mounted = root.join("sys/fs/cgroup");
        let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let path_of = |controller: &str| {
            own.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':');
                let (_, names, path) = (parts.next()?, parts.next()?, parts.next()?);
                names
                    .split(',')
                    .any(|name| name == controller)
                    .then(|| path.trim_start_matches('/').to_owned())
            })
        };
        let chain = |base: PathBuf, path: Option<String>| {
            let deepest = base.join(path.unwrap_or_default());
            // Inside a container the path may be the host's; then only the mount's own top is visible.
            deepest
                .ancestors()
                .take_while(|dir| dir.starts_with(&base))
                .filter(|dir| dir.is_dir())
                .map(Path::to_owned)
                .collect::<Vec<_>>()
        };
        if mounted.join("cgroup.controllers").exists() {
            let all = chain(mounted, path_of(""));
            return Self {
                memory: all.clone(),
                cpu: all,
            };
        }
        Self {
            memory: chain(mounted.join("memory"), path_of("memory")),
            cpu: chain(mounted.join("cpu"), path_of("cpu")),
        }
    }

    fn memory_limit(&self) -> Option<u64> {
        let limits = self.memory.iter().flat_map(|dir| {
            ["memory.max", "memory.limit_in_bytes"].map(|file| read_number(&dir.join(file)))
        });
        limits.flatten().filter(|limit| *limit < NO_LIMIT).min()
    }

    fn cpu_quota(&self) -> Option<u64> {
        let quotas = self.cpu.iter().filter_map(|dir| {
            let (quota, period) = match fs::read_to_string(dir.join("cpu.max")) {
                Ok(line) => {
                    let (quota, period) = line.trim().split_once(' ')?;
                    (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?)
                }
                Err(_) => (
                    read_number(&dir.join("cpu.cfs_quota_us"))?,
                    read_number(&dir.join("cpu.cfs_period_us"))?,
                ),
            };
            (quota > 0 && period > 0).then(|| quota.div_ceil(period))
        });
        quotas.min()
    }
}

/// A file that holds one number; `max`, `-1` and absent files are no number.
fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn system(files: &[(&str, &str)]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        for (path, text) in files {
            let path = root.path().join(path);
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            fs::write(path, text)?;
        }
        Ok(root)
    }

    #[test]
    fn version_2_takes_the_tightest_limit_of_the_chain() -> TestResult {
        let root = system(&[
            (
                "proc/meminfo",
                "MemTotal:       24000000 kB\nMemFree: 1 kB\n",
            ),
            ("proc/self/cgroup", "0::/pods/one\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("sys/fs/cgroup/pods/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/pods/one/memory.max", "max\n"),
            ("sys/fs/cgroup/pods/one/cpu.max", "150000 100000\n"),
        ])?;
        let machine = Machine::detect_below(root.path());
        assert_eq!(machine.physical_memory, 24_000_000 * 1024);
        assert_eq!(machine.memory_limit, Some(1 << 30));
        assert_eq!(machine.memory(), 1 << 30);
        assert_eq!(machine.cpu_quota, Some(2));
        Ok(())
    }

    #[test]
    fn version_1_has_a_directory_per_controller() -> TestResult {
        let root = system(&[
            (
                "proc/self/cgroup",
                "5:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
            ),
            // The container sees its own group as the top of the mount.
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ])?;
        let machine = Machine::detect_below(root.path());
        assert_eq!(
            (machine.memory_limit, machine.cpu_quota),
            (Some(512 << 20), Some(1))
        );
        Ok(())
    }

    #[test]
    fn no_limit_is_none() -> TestResult {
        let root = system(&[
            ("proc/self/cgroup", "0::/\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ])?;
        let machine = Machine::detect_below(root.path());
        assert_eq!((machine.memory_limit, machine.cpu_quota), (None, None));
        Ok(())
    }
}
