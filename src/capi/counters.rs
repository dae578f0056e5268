use super::boundary::present;
use super::code::firesteel_code;
use super::error::firesteel_error;
use crate::report::{Counters, TaskCounts};

/// A number that is not known yet.
pub const FIRESTEEL_UNKNOWN: u64 = u64::MAX;

/// How task attempts ended in one lane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct firesteel_task_counts {
    /// Attempts that ended as FINISHED.
    pub finished: u64,
    /// Attempts that ended as FAILED.
    pub failed: u64,
    /// Attempts that ended as KILLED.
    pub killed: u64,
}

/// What an executor did so far. Later versions add fields at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct firesteel_counters {
    /// Before the call: `sizeof(firesteel_counters)`, set by the caller. After it: the number of bytes that were filled
    /// in, less if the library is older than the header.
    pub struct_size: usize,
    /// Milliseconds from the start to the driver's acceptance; `FIRESTEEL_UNKNOWN` before that.
    pub ms_to_registered: u64,
    /// Milliseconds that the start of the JVM took; `FIRESTEEL_UNKNOWN` if no JVM is ready.
    pub ms_to_jvm_ready: u64,
    /// Largest resident set size of the process so far, in bytes.
    pub peak_rss_bytes: u64,
    /// Attempts given to the JVM, whatever the reason. The reasons are in the JSON form.
    pub delegated: u64,
    /// Attempts that a native lane gave up before anything of them was visible.
    pub bailed_out: u64,
    /// Attempts that ran in the JVM.
    pub jvm: firesteel_task_counts,
    /// Attempts that ran in the python lane.
    pub python: firesteel_task_counts,
    /// Attempts that ran in the sql lane.
    pub sql: firesteel_task_counts,
    /// Attempts that ran in the lane of native functions.
    pub functions: firesteel_task_counts,
    /// 1 if a JVM was created, else 0.
    pub jvm_started: u32,
    /// 1 if the executor has stopped, else 0.
    pub stopped: u32,
    /// Its exit code if it has stopped, else 0.
    pub exit_code: i32,
    /// Zero.
    pub reserved: u32,
}

/// The first published size: what every caller must have room for.
const FIRST_SIZE: usize = 160;
/// Larger than this library will ever need: a larger claim is an uninitialised field.
const LARGEST_SIZE: usize = 4096;
const _: () = assert!(size_of::<firesteel_counters>() == FIRST_SIZE);

impl firesteel_counters {
    pub(super) fn of(counters: &Counters) -> Self {
        let lane = |name| {
            counters
                .tasks
                .get(name)
                .map_or_else(firesteel_task_counts::default, Into::into)
        };
        Self {
            struct_size: size_of::<Self>(),
            ms_to_registered: counters.ms_to_registered.unwrap_or(FIRESTEEL_UNKNOWN),
            ms_to_jvm_ready: counters.ms_to_jvm_ready.unwrap_or(FIRESTEEL_UNKNOWN),
            peak_rss_bytes: counters.peak_rss_bytes,
            delegated: counters.delegated.values().sum(),
            bailed_out: counters.bailed_out.values().sum(),
            jvm: lane("jvm"),
            python: lane("python"),
            sql: lane("sql"),
            functions: lane("functions"),
            jvm_started: counters.jvm_started.into(),
            stopped: counters.exit_code.is_some().into(),
            exit_code: counters.exit_code.unwrap_or(0),
            reserved: 0,
        }
    }

    /// Writes as many bytes as the caller has room for.
    ///
    /// # Safety
    /// `place` is NULL or points to a `struct_size` followed by as many bytes as it says, which may be written.
    pub(super) unsafe fn fill(
        place: *mut Self,
        values: impl FnOnce() -> Result<Self, firesteel_error>,
    ) -> Result<(), firesteel_error> {
        present("counters", place)?;
        // SAFETY: not NULL and aligned; the first field is there, as the caller promises.
        let room = unsafe { (&raw const (*place).struct_size).read() };
        if !(FIRST_SIZE..=LARGEST_SIZE).contains(&room) {
            return Err(firesteel_error::new(
                firesteel_code::FIRESTEEL_INVALID_ARGUMENT,
                format!("counters.struct_size is {room}; set it to sizeof(firesteel_counters)"),
            ));
        }
        let filled = room.min(size_of::<Self>());
        let values = Self {
            struct_size: filled,
            ..values()?
        };
        // SAFETY: `filled` is within both structs; they do not overlap, one is a local variable.
        unsafe {
            std::ptr::copy_nonoverlapping(
                (&raw const values).cast::<u8>(),
                place.cast::<u8>(),
                filled,
            );
        }
        Ok(())
    }
}

impl From<&TaskCounts> for firesteel_task_counts {
    fn from(counts: &TaskCounts) -> Self {
        Self {
            finished: counts.finished,
            failed: counts.failed,
            killed: counts.killed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LaneName;
    use crate::report::{Report, TaskEnd};
    use std::time::Duration;

    fn example() -> firesteel_counters {
        let report = Report::new("7", None);
        report.set_registered(Duration::from_millis(41));
        report.count_task(LaneName::Jvm, TaskEnd::Failed);
        report.count_delegated("a");
        report.count_delegated("a");
        report.count_delegated("b");
        firesteel_counters::of(&report.snapshot())
    }

    #[test]
    fn every_lane_of_the_report_has_a_field() {
        let report = Report::new("7", None);
        for lane in LaneName::ALL {
            report.count_task(lane, TaskEnd::Finished);
        }
        let c = firesteel_counters::of(&report.snapshot());
        assert_eq!(LaneName::ALL.len(), 3);
        for counts in [c.jvm, c.python, c.sql] {
            assert_eq!(counts.finished, 1);
        }
    }

    #[test]
    fn numbers_are_those_of_the_report() {
        let c = example();
        assert_eq!(
            (c.ms_to_registered, c.ms_to_jvm_ready),
            (41, FIRESTEEL_UNKNOWN)
        );
        assert_eq!(
            (c.jvm.finished, c.jvm.failed, c.delegated, c.bailed_out),
            (0, 1, 3, 0)
        );
        assert_eq!((c.jvm_started, c.stopped, c.exit_code), (0, 0, 0));
    }

    #[test]
    fn older_and_newer_callers_get_what_fits() {
        #[repr(C)]
        struct Newer {
            known: firesteel_counters,
            more: [u64; 4],
        }
        let mut newer = Newer {
            known: example(),
            more: [9; 4],
        };
        newer.known.struct_size = size_of::<Newer>();
        newer.known.delegated = 0;
        // SAFETY: the struct is as large as it says.
        unsafe { firesteel_counters::fill((&raw mut newer).cast(), || Ok(example())) }.unwrap();
        assert_eq!((newer.known.delegated, newer.more), (3, [9; 4]));
        assert_eq!(newer.known.struct_size, size_of::<firesteel_counters>());

        for wrong in [0, FIRST_SIZE - 1, LARGEST_SIZE + 1, usize::MAX] {
            newer.known.struct_size = wrong;
            // SAFETY: a wrong size is refused before it is used.
            let error =
                unsafe { firesteel_counters::fill((&raw mut newer).cast(), || Ok(example())) };
            assert_eq!(
                error.unwrap_err().code(),
                firesteel_code::FIRESTEEL_INVALID_ARGUMENT
            );
            assert_eq!(newer.known.struct_size, wrong);
        }
    }
}
