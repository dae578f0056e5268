//! How large the heap of a HotSpot JVM will be, from its options and the machine, without starting it.
//!
//! An executor announces its storage memory to the driver before any JVM exists, and Spark computes that from
//! `Runtime.maxMemory()`. The rules are those of HotSpot 17 and 21 (heap ergonomics, generation sizing); a test
//! compares them with a real JVM.

use super::machine::Machine;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// HotSpot's built-in maximum heap size before ergonomics (96 MiB scaled for 64 bit and cut to whole pages).
const BUILT_IN_MAX_HEAP: u64 = 130_862_080;
/// `MaxRAM`: more memory than this is not looked at.
const DEFAULT_MAX_RAM: u64 = 128 * GIB;
/// Largest region that G1 chooses by itself.
const G1_LARGEST_REGION: u64 = 32 * MIB;
/// Alignment that every collector's heap has at least (a page of cards).
const CARD_ALIGNMENT: u64 = 2 * MIB;
/// End of the address range for 32-bit object references with 8-byte alignment.
const COMPRESSED_OOPS_END: u64 = 32 * GIB;
/// `HeapBaseMinAddress`.
const HEAP_BASE: u64 = 2 * GIB;

/// A garbage collector of HotSpot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collector {
    /// `-XX:+UseSerialGC`
    Serial,
    /// `-XX:+UseParallelGC`
    Parallel,
    /// `-XX:+UseG1GC`
    G1,
    /// `-XX:+UseZGC`
    Z,
    /// `-XX:+UseShenandoahGC`
    Shenandoah,
    /// `-XX:+UseEpsilonGC`
    Epsilon,
}

/// Heap of a JVM that is not yet started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSize {
    /// The collector it will use.
    pub collector: Collector,
    /// Bytes reserved for the heap (`-Xmx`, rounded as HotSpot does).
    pub max_heap: u64,
    /// What `Runtime.maxMemory()` will answer, in bytes: the heap without the survivor space that cannot hold objects.
    pub max_memory: u64,
}

/// A size as HotSpot writes it: digits and at most one of `k m g t` (either case). `None` if it is not one or too
/// large.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" => 1,
        "k" | "K" => KIB,
        "m" | "M" => MIB,
        "g" | "G" => GIB,
        "t" | "T" => 1024 * GIB,
        _ => return None,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The options that decide about the heap.
#[derive(Debug, Default)]
struct Flags {
    max_heap: Option<u64>,
    initial_heap: Option<u64>,
    min_heap: Option<u64>,
    new_size: Option<u64>,
    max_new_size: Option<u64>,
    new_ratio: Option<u64>,
    survivor_ratio: Option<u64>,
    min_survivor_ratio: Option<u64>,
    max_ram: Option<u64>,
    max_ram_percentage: Option<f64>,
    min_ram_percentage: Option<f64>,
    region: Option<u64>,
    processors: Option<u64>,
    collector: Option<Collector>,
    adaptive: Option<bool>,
    containers: Option<bool>,
    compressed_oops: Option<bool>,
}

impl Flags {
    fn read<'a>(options: impl IntoIterator<Item = &'a str>) -> Self {
        let mut flags = Self::default();
        for option in options {
            flags.read_one(option);
        }
        flags
    }

    fn read_one(&mut self, option: &str) {
        if let Some(flag) = option.strip_prefix("-XX:+") {
            self.read_switch(flag, true);
        } else if let Some(flag) = option.strip_prefix("-XX:-") {
            self.read_switch(flag, false);
        } else if let Some((name, value)) = option
            .strip_prefix("-XX:")
            .and_then(|flag| flag.split_once('='))
        {
            self.read_value(name, value);
        } else if let Some(size) = option.strip_prefix("-Xmx") {
            self.max_heap = parse_size(size).or(self.max_heap);
        } else if let Some(size) = option.strip_prefix("-Xms") {
            let size = parse_size(size).filter(|size| *size > 0);
            self.initial_heap = size.or(self.initial_heap);
            self.min_heap = size.or(self.min_heap);
        } else if let Some(size) = option.strip_prefix("-Xmn") {
            self.new_size = parse_size(size).or(self.new_size);
            self.max_new_size = parse_size(size).or(self.max_new_size);
        }
    }

    fn read_switch(&mut self, flag: &str, on: bool) {
        let collector = match flag {
            "UseSerialGC" => Collector::Serial,
            "UseParallelGC" => Collector::Parallel,
            "UseG1GC" => Collector::G1,
            "UseZGC" => Collector::Z,
            "UseShenandoahGC" => Collector::Shenandoah,
            "UseEpsilonGC" => Collector::Epsilon,
            "UseAdaptiveSizePolicy" => return self.adaptive = Some(on),
            "UseContainerSupport" => return self.containers = Some(on),
            "UseCompressedOops" => return self.compressed_oops = Some(on),
            _ => return,
        };
        if on {
            self.collector = Some(collector);
        } else if self.collector == Some(collector) {
            self.collector = None;
        }
    }

    fn read_value(&mut self, name: &str, value: &str) {
        let size = parse_size(value);
        let slot = match name {
            "MaxHeapSize" => &mut self.max_heap,
            "InitialHeapSize" => &mut self.initial_heap,
            "MinHeapSize" => &mut self.min_heap,
            "NewSize" => &mut self.new_size,
            "MaxNewSize" => &mut self.max_new_size,
            "NewRatio" => &mut self.new_ratio,
            "SurvivorRatio" => &mut self.survivor_ratio,
            "MinSurvivorRatio" => &mut self.min_survivor_ratio,
            "MaxRAM" => &mut self.max_ram,
            "G1HeapRegionSize" => &mut self.region,
            "ActiveProcessorCount" => &mut self.processors,
            "MaxRAMPercentage" => {
                return self.max_ram_percentage = value.parse().ok().or(self.max_ram_percentage);
            }
            "MinRAMPercentage" => {
                return self.min_ram_percentage = value.parse().ok().or(self.min_ram_percentage);
            }
            // The older spelling: 1/n of the memory.
            "MaxRAMFraction" => {
                return self.max_ram_percentage = value
                    .parse()
                    .ok()
                    .map(|n: f64| 100.0 / n)
                    .or(self.max_ram_percentage);
            }
            "MinRAMFraction" => {
                return self.min_ram_percentage = value
                    .parse()
                    .ok()
                    .map(|n: f64| 100.0 / n)
                    .or(self.min_ram_percentage);
            }
            _ => return,
        };
        *slot = size.or(*slot);
    }
}

impl HeapSize {
    /// Works out the heap of a JVM that is started with `options` on `machine`. `JAVA_TOOL_OPTIONS` and
    /// `_JAVA_OPTIONS`, which the JVM reads by itself, are looked up with `env`.
    pub fn of(options: &[String], machine: &Machine, env: impl Fn(&str) -> Option<String>) -> Self {
        let before = env("JAVA_TOOL_OPTIONS").unwrap_or_default();
        let after = env("_JAVA_OPTIONS").unwrap_or_default();
        let all = before
            .split_whitespace()
            .chain(options.iter().map(String::as_str))
            .chain(after.split_whitespace());
        Self::from_flags(&Flags::read(all), machine)
    }

    fn from_flags(flags: &Flags, machine: &Machine) -> Self {
        let contained = flags.containers.unwrap_or(true);
        let physical = if contained {
            machine.memory()
        } else {
            machine.physical_memory
        };
        let processors = flags
            .processors
            .filter(|count| *count > 0)
            .unwrap_or(if contained {
                machine.processors()
            } else {
                machine.cpus
            });
        // HotSpot's "server class": two processors and 2 GiB, a quarter GiB of which may be hidden by firmware.
        let server = processors >= 2 && physical >= 1792 * MIB;
        let collector = flags.collector.unwrap_or(if server {
            Collector::G1
        } else {
            Collector::Serial
        });
        let asked = flags.max_heap.unwrap_or_else(|| {
            ergonomic_max_heap(flags, physical, machine.address_space, collector)
        });
        let max_heap = align_up(asked.max(2 * MIB), heap_alignment(flags, collector, asked));
        let unusable = match collector {
            Collector::Serial => serial_survivor(flags, max_heap),
            Collector::Parallel => parallel_unusable(flags, max_heap, physical),
            _ => 0,
        };
        Self {
            collector,
            max_heap,
            max_memory: max_heap.saturating_sub(unusable),
        }
    }
}

fn ergonomic_max_heap(
    flags: &Flags,
    physical: u64,
    address_space: Option<u64>,
    collector: Collector,
) -> u64 {
    let memory = flags.max_ram.unwrap_or(physical.min(DEFAULT_MAX_RAM));
    let small = share(memory, flags.min_ram_percentage.unwrap_or(50.0));
    let mut heap = if small < BUILT_IN_MAX_HEAP {
        small
    } else {
        share(memory, flags.max_ram_percentage.unwrap_or(25.0)).max(BUILT_IN_MAX_HEAP)
    };
    if let Some(limit) = address_space {
        heap = heap.min(limit / 2);
    }
    heap = heap.max(flags.initial_heap.or(flags.min_heap).unwrap_or(0));
    // Who asks for a share of the memory gets it, at the price of compressed references.
    let share_asked = flags.max_ram.is_some()
        || flags.max_ram_percentage.is_some()
        || flags.min_ram_percentage.is_some();
    if flags
        .compressed_oops
        .unwrap_or(collector != Collector::Z && !share_asked)
    {
        let unmapped = if collector == Collector::G1 {
            G1_LARGEST_REGION
        } else {
            CARD_ALIGNMENT
        };
        heap = heap.min(COMPRESSED_OOPS_END - HEAP_BASE - unmapped);
    }
    heap
}

fn share(memory: u64, percentage: f64) -> u64 {
    // Bytes of memory are far below 2^53: the product is as exact as HotSpot's own, which uses doubles too.
    (memory as f64 * percentage / 100.0) as u64
}

/// Size in bytes of the pieces that region-based collectors cut their heap into.
fn region(wanted: u64, smallest: u64, largest: u64, round_up: bool) -> u64 {
    let size = wanted.clamp(smallest, largest);
    if size.is_power_of_two() || round_up {
        size.next_power_of_two()
    } else {
        size.next_power_of_two() / 2
    }
}

fn heap_alignment(flags: &Flags, collector: Collector, heap: u64) -> u64 {
    const WANTED_REGIONS: u64 = 2048;
    match collector {
        Collector::G1 => match flags.region {
            Some(size) if size > 0 => region(size, MIB, 512 * MIB, true),
            _ => region(heap / WANTED_REGIONS, MIB, G1_LARGEST_REGION, true),
        }
        .max(CARD_ALIGNMENT),
        Collector::Serial | Collector::Parallel | Collector::Z => CARD_ALIGNMENT,
        Collector::Shenandoah => region(heap / WANTED_REGIONS, 256 * KIB, 32 * MIB, false),
        Collector::Epsilon => rustix::param::page_size() as u64,
    }
}

/// Size in bytes of the young generation when it is as large as it may get.
fn max_young(flags: &Flags, max_heap: u64, alignment: u64) -> u64 {
    let young = match (flags.max_new_size, flags.new_size) {
        (Some(most), _) => align_down(most, alignment).max(alignment),
        (None, least) => young_by_ratio(flags, max_heap, alignment)
            .max(align_down(least.unwrap_or(0), alignment)),
    };
    young.min(max_heap.saturating_sub(alignment))
}

fn young_by_ratio(flags: &Flags, heap: u64, alignment: u64) -> u64 {
    align_down(heap / (flags.new_ratio.unwrap_or(2) + 1), alignment).max(alignment)
}

fn serial_survivor(flags: &Flags, max_heap: u64) -> u64 {
    const ALIGNMENT: u64 = 64 * KIB;
    let survivor = max_young(flags, max_heap, ALIGNMENT) / (flags.survivor_ratio.unwrap_or(8) + 2);
    align_down(survivor, ALIGNMENT).max(ALIGNMENT)
}

/// The Parallel collector's `maxMemory()` leaves out the largest survivor space it may come to use, but never says less
/// than what the heap has at the start.
fn parallel_unusable(flags: &Flags, max_heap: u64, physical: u64) -> u64 {
    const ALIGNMENT: u64 = 512 * KIB;
    const INITIAL_SHARE: f64 = 1.5625;
    let ratio = flags.survivor_ratio.map(|ratio| ratio + 2);
    let most = max_young(flags, max_heap, ALIGNMENT);
    let initial_heap = align_up(
        flags
            .initial_heap
            .unwrap_or_else(|| share(physical, INITIAL_SHARE))
            .min(max_heap),
        CARD_ALIGNMENT,
    );
    let initial_young = if initial_heap == max_heap {
        flags
            .new_size
            .map_or(most, |size| align_down(size, ALIGNMENT))
    } else {
        flags
            .new_size
            .map_or_else(
                || young_by_ratio(flags, initial_heap, ALIGNMENT),
                |size| align_down(size, ALIGNMENT),
            )
            .min(most)
    };
    let initial_survivor =
        align_down(initial_young / ratio.unwrap_or(8).max(3), ALIGNMENT).max(ALIGNMENT);
    let unusable = if flags.adaptive.unwrap_or(true) {
        align_down(
            most / flags.min_survivor_ratio.or(ratio).unwrap_or(3).max(3),
            ALIGNMENT,
        )
    } else {
        initial_survivor
    };
    let not_there_yet = max_heap - initial_heap.min(max_heap);
    unusable.min(not_there_yet + initial_survivor)
}

fn align_down(value: u64, alignment: u64) -> u64 {
    value - value % alignment
}

fn align_up(value: u64, alignment: u64) -> u64 {
    align_down(value.saturating_add(alignment - 1), alignment)
}

#[cfg(test)]
#[path = "heap_tests.rs"]
mod tests;
