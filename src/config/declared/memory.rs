//! Properties of the division of memory.

use super::super::units::SizeUnit;
use super::DefaultValue::{From, Is};
use super::{Decimal, Property, Size, Switch, Whole, declarations};

declarations! { Memory:
    /// The heap of executors; the cluster manager starts them with that `-Xmx`.
    EXECUTOR_MEMORY: Property<Size> =
        Property::new("spark.executor.memory", Size(SizeUnit::Mib), Is("1g"));

    /// Memory beside the heap that the cluster manager gives to an executor.
    MEMORY_OVERHEAD: Property<Size> = Property::new(
        "spark.executor.memoryOverhead",
        Size(SizeUnit::Mib),
        From("`spark.executor.memoryOverheadFactor` of the heap"),
    );

    /// Memory beside the heap, as a share of the heap.
    MEMORY_OVERHEAD_FACTOR: Property<Decimal> = Property::new(
        "spark.executor.memoryOverheadFactor",
        Decimal { least: 0.0, most: 1000.0 },
        Is("0.1"),
    );

    /// The least memory beside the heap, if that is a share of it.
    MIN_MEMORY_OVERHEAD: Property<Size> =
        Property::new("spark.executor.minMemoryOverhead", Size(SizeUnit::Mib), Is("384m"))
            .since((4, 0));

    /// The share of the heap, less the reserved 300 MiB, that is for execution and storage.
    MEMORY_FRACTION: Property<Decimal> =
        Property::new("spark.memory.fraction", Decimal { least: 0.0, most: 1.0 }, Is("0.6"));

    /// The share of the memory for execution and storage that cached blocks keep against execution.
    STORAGE_FRACTION: Property<Decimal> =
        Property::new("spark.memory.storageFraction", Decimal { least: 0.0, most: 1.0 }, Is("0.5"));

    /// Whether memory outside the heap is used.
    OFF_HEAP_ENABLED: Property<Switch> =
        Property::new("spark.memory.offHeap.enabled", Switch, Is("false"));

    /// Memory outside the heap, in bytes.
    OFF_HEAP_SIZE: Property<Size> =
        Property::new("spark.memory.offHeap.size", Size(SizeUnit::Bytes), Is("0b"));

    /// For tests of Spark: the heap.
    TESTING_MEMORY: Property<Size> = Property::new(
        "spark.testing.memory",
        Size(SizeUnit::Bytes),
        From("the JVM's largest heap"),
    );

    /// For tests of Spark: bytes of the heap that are neither for execution nor storage.
    TESTING_RESERVED_MEMORY: Property<Whole> = Property::new(
        "spark.testing.reservedMemory",
        Whole { least: 0, most: (u64::MAX / 2) as i128 },
        From("`314572800`; `0` with `spark.testing`"),
    );
}
