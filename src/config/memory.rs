//! Spark's division of an executor's memory (`UnifiedMemoryManager`).

use super::declared::{self, Property, Size};
use super::units::SizeUnit;
use super::{SettingError, SparkProperties};

/// Memory that Spark leaves to everything it does not count.
const RESERVED: u64 = 300 << 20;
/// The smallest heap is this many times the reserved memory.
const SMALLEST_HEAP_FACTOR: f64 = 1.5;

/// Memory for execution and storage together, as announced to the driver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemorySettings {
    /// Bytes on the heap.
    pub max_on_heap: u64,
    /// Bytes outside the heap: `spark.memory.offHeap.size`.
    pub max_off_heap: u64,
    /// Share of both that cached blocks keep against execution: `spark.memory.storageFraction`.
    pub storage_fraction: f64,
    /// Bytes that the cluster manager gives to the executor: heap, `spark.executor.memoryOverhead` and off-heap memory.
    pub total: u64,
}

impl MemorySettings {
    /// Applies Spark's rules to a JVM whose `Runtime.maxMemory()` is `max_jvm_memory`.
    ///
    /// # Errors
    /// A fraction outside 0 to 1, or a heap below one and a half times the reserved memory, in Spark's words.
    pub fn new(conf: &SparkProperties, max_jvm_memory: u64) -> Result<Self, SettingError> {
        let system = conf.optional(&declared::TESTING_MEMORY)?;
        let system = system.unwrap_or(max_jvm_memory);
        let reserved = conf.optional_number(&declared::TESTING_RESERVED_MEMORY)?;
        let reserved = reserved.unwrap_or(match conf.contains(declared::TESTING) {
            true => 0,
            false => RESERVED,
        });
        let smallest = (reserved as f64 * SMALLEST_HEAP_FACTOR).ceil() as u64;
        if system < smallest {
            return Err(SettingError::Conflict {
                message: format!(
                    "System memory {system} must be at least {smallest}. Please increase heap size using the \
                     --executor-memory option or spark.executor.memory in Spark configuration."
                ),
            });
        }
        // Spark reads this setting in bytes here, though elsewhere a bare number counts MiB.
        let bytes = Property {
            kind: Size(SizeUnit::Bytes),
            ..declared::EXECUTOR_MEMORY
        };
        if let Some(executor) = conf.optional(&bytes)?
            && executor < smallest
        {
            return Err(SettingError::Conflict {
                message: format!(
                    "Executor memory {executor} must be at least {smallest}. Please increase executor memory using \
                     the --executor-memory option or spark.executor.memory in Spark configuration."
                ),
            });
        }
        let max_on_heap = part(system - reserved, conf.decimal(&declared::MEMORY_FRACTION)?);
        let off_heap = conf.size(&declared::OFF_HEAP_SIZE)?;
        if conf.switch(&declared::OFF_HEAP_ENABLED)? && off_heap == 0 {
            return Err(SettingError::Conflict {
                message: "spark.memory.offHeap.size must be > 0 when spark.memory.offHeap.enabled == true".to_owned(),
            });
        }
        Ok(Self {
            max_on_heap,
            max_off_heap: off_heap,
            storage_fraction: conf.decimal(&declared::STORAGE_FRACTION)?,
            total: max_jvm_memory
                .saturating_add(overhead(conf, max_jvm_memory)?)
                .saturating_add(off_heap),
        })
    }
}

/// What an executor may take beside its heap, as Spark asks the cluster manager for it.
fn overhead(conf: &SparkProperties, max_jvm_memory: u64) -> Result<u64, SettingError> {
    if let Some(overhead) = conf.optional(&declared::MEMORY_OVERHEAD)? {
        return Ok(overhead);
    }
    let factor = conf.decimal(&declared::MEMORY_OVERHEAD_FACTOR)?;
    let least = conf.size(&declared::MIN_MEMORY_OVERHEAD)?;
    Ok(part(max_jvm_memory, factor).max(least))
}

/// A share of some bytes, cut to whole ones, in double precision as Spark computes it.
fn part(bytes: u64, fraction: f64) -> u64 {
    (bytes as f64 * fraction) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn memory(
        pairs: &[(&'static str, &'static str)],
        heap: u64,
    ) -> Result<MemorySettings, SettingError> {
        MemorySettings::new(
            &SparkProperties::from_launch(pairs.iter().copied(), []),
            heap,
        )
    }

    #[test]
    fn a_gibibyte_gives_what_real_executors_announce() -> Result<(), SettingError> {
        let settings = memory(&[("spark.executor.memory", "1g")], GIB)?;
        assert_eq!(
            (settings.max_on_heap, settings.max_off_heap),
            (455_501_414, 0)
        );
        assert_eq!(settings.storage_fraction, 0.5);
        assert_eq!(settings.total, GIB + (384 << 20));
        Ok(())
    }

    #[test]
    fn fractions_and_off_heap_are_settings() -> Result<(), SettingError> {
        let settings = memory(
            &[
                ("spark.memory.fraction", "0.8"),
                ("spark.memory.storageFraction", "0"),
                ("spark.memory.offHeap.enabled", "true"),
                ("spark.memory.offHeap.size", "1g"),
            ],
            GIB,
        )?;
        assert_eq!(
            settings,
            MemorySettings {
                max_on_heap: 607_335_219,
                max_off_heap: GIB,
                storage_fraction: 0.0,
                total: 2 * GIB + (384 << 20)
            }
        );
        assert!(memory(&[("spark.memory.fraction", "1.5")], GIB).is_err());
        assert!(memory(&[("spark.memory.offHeap.enabled", "true")], GIB).is_err());
        Ok(())
    }

    #[test]
    fn too_little_memory_is_refused_in_sparks_words() {
        let text = |result: Result<MemorySettings, SettingError>| {
            result
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert!(
            text(memory(&[], 471_859_199))
                .starts_with("System memory 471859199 must be at least 471859200. ")
        );
        assert!(memory(&[], 471_859_200).is_ok());
        assert!(
            text(memory(&[("spark.executor.memory", "100m")], GIB))
                .starts_with("Executor memory 104857600 must be at least 471859200. ")
        );
    }

    #[test]
    fn tests_of_spark_reserve_nothing() -> Result<(), SettingError> {
        let conf = [
            ("spark.testing", "true"),
            ("spark.testing.memory", "1000"),
            ("spark.memory.fraction", "0.5"),
        ];
        assert_eq!(memory(&conf, GIB)?.max_on_heap, 500);
        let conf = [
            ("spark.testing.memory", "1000"),
            ("spark.testing.reservedMemory", "400"),
        ];
        assert_eq!(memory(&conf, GIB)?.max_on_heap, 360);
        Ok(())
    }
}
