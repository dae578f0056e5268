use super::*;
use crate::launch::jdk::Jdk;
use std::process::Command;

/// A machine that is not a container.
const fn machine(memory: u64, cpus: u64) -> Machine {
    Machine {
        physical_memory: memory,
        memory_limit: None,
        cpus,
        cpu_quota: None,
        address_space: None,
    }
}

fn heap(options: &[&str], machine: &Machine) -> HeapSize {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    HeapSize::of(&options, machine, |_| None)
}

#[test]
fn sizes_are_digits_and_one_unit() {
    assert_eq!(parse_size("1024"), Some(1024));
    assert_eq!(parse_size("7k"), Some(7 << 10));
    assert_eq!(parse_size("7M"), Some(7 << 20));
    assert_eq!(parse_size("7g"), Some(7 << 30));
    assert_eq!(parse_size("2T"), Some(2 << 40));
    for wrong in [
        "",
        "g",
        "1gb",
        "1.5g",
        "-1",
        "+1",
        "1 g",
        "99999999999t",
        "1é",
    ] {
        assert_eq!(parse_size(wrong), None, "{wrong}");
    }
}

#[test]
fn the_default_is_a_quarter_of_the_memory_the_process_may_use() {
    let mut small = machine(64 * GIB, 8);
    assert_eq!(heap(&[], &small).max_heap, 16 * GIB);
    assert_eq!(heap(&[], &small).collector, Collector::G1);
    small.memory_limit = Some(4 * GIB);
    assert_eq!(heap(&[], &small).max_heap, GIB);
    assert_eq!(
        heap(&["-XX:-UseContainerSupport"], &small).max_heap,
        16 * GIB
    );
    small.cpu_quota = Some(1);
    assert_eq!(heap(&[], &small).collector, Collector::Serial);
}

#[test]
fn a_huge_machine_keeps_compressed_references() {
    assert_eq!(heap(&[], &machine(512 * GIB, 64)).max_heap, 30_688 * MIB);
    assert_eq!(
        heap(&["-XX:-UseCompressedOops"], &machine(512 * GIB, 64)).max_heap,
        32 * GIB
    );
    assert_eq!(
        heap(&["-XX:MaxRAMPercentage=50"], &machine(512 * GIB, 64)).max_heap,
        64 * GIB
    );
}

#[test]
fn few_processors_or_little_memory_mean_serial() {
    assert_eq!(
        heap(&["-Xmx1g"], &machine(8 * GIB, 1)).collector,
        Collector::Serial
    );
    assert_eq!(
        heap(&["-Xmx1g"], &machine(1791 * MIB, 4)).collector,
        Collector::Serial
    );
    assert_eq!(
        heap(&["-Xmx1g"], &machine(1792 * MIB, 2)).collector,
        Collector::G1
    );
    assert_eq!(
        heap(&["-XX:+UseZGC", "-XX:-UseZGC"], &machine(8 * GIB, 2)).collector,
        Collector::G1
    );
}

#[test]
fn the_environment_of_the_jvm_counts() {
    let env = |name: &str| match name {
        "JAVA_TOOL_OPTIONS" => Some("-Xmx3g -XX:+UseSerialGC".to_owned()),
        "_JAVA_OPTIONS" => Some("-Xmx5g".to_owned()),
        _ => None,
    };
    let size = HeapSize::of(&["-Xmx4g".to_owned()], &machine(64 * GIB, 8), env);
    assert_eq!(
        (size.max_heap, size.collector),
        (5 * GIB, Collector::Serial)
    );
}

/// What a real JVM on this machine answers to `Runtime.maxMemory()`.
fn real_max_memory(
    jdk: &Jdk,
    source: &std::path::Path,
    options: &[&str],
) -> Result<u64, Box<dyn std::error::Error>> {
    let output = Command::new(jdk.java())
        .args(options)
        .arg("-cp")
        .arg(source)
        .arg("MaxMemory")
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = text.lines().find_map(|line| line.strip_prefix("max="));
    Ok(answer
        .ok_or_else(|| {
            format!(
                "{options:?}: {text}{}",
                String::from_utf8_lossy(&output.stderr)
            )
        })?
        .parse()?)
}

#[test]
fn agrees_with_a_real_jvm() -> Result<(), Box<dyn std::error::Error>> {
    let jdk = Jdk::find_on_this_machine()?;
    let dir = tempfile::tempdir()?;
    let source = dir.path().join("MaxMemory.java");
    std::fs::write(
        &source,
        "class MaxMemory { public static void main(String[] a) { System.out.println(\"max=\" + Runtime.getRuntime().maxMemory()); } }",
    )?;
    let compiled = Command::new(jdk.home().join("bin/javac"))
        .arg("-d")
        .arg(dir.path())
        .arg(&source)
        .status()?;
    assert!(compiled.success());
    let here = Machine::detect();
    let cases: &[&[&str]] = &[
        &[],
        &["-Xmx1g"],
        &["-Xmx1g", "-XX:+UseParallelGC"],
        &["-Xmx1g", "-Xms1g", "-XX:+UseParallelGC"],
        &["-Xmx1g", "-XX:+UseSerialGC"],
        &["-Xmx1000m", "-XX:+UseParallelGC"],
        &["-Xmx777m", "-XX:+UseSerialGC"],
        &["-Xmx777777k"],
        &["-Xmx777777k", "-XX:+UseZGC"],
        &["-Xmx777777k", "-XX:+UseShenandoahGC"],
        &[
            "-Xmx777777k",
            "-XX:+UnlockExperimentalVMOptions",
            "-XX:+UseEpsilonGC",
        ],
        &["-XX:MaxRAMPercentage=60"],
        &["-XX:MaxRAMFraction=3"],
        &["-XX:MaxRAM=300m"],
        &["-XX:MaxRAM=200m"],
        &["-XX:MaxRAM=200m", "-XX:+UseSerialGC"],
        &["-XX:MaxRAM=40g", "-XX:+UseParallelGC"],
        &["-Xmx1g", "-Xmn300m", "-XX:+UseParallelGC"],
        &["-Xmx1g", "-Xmn300m", "-XX:+UseSerialGC"],
        &["-Xmx1g", "-XX:NewRatio=1", "-XX:+UseSerialGC"],
        &["-Xmx1g", "-XX:SurvivorRatio=4", "-XX:+UseSerialGC"],
        &["-Xmx1g", "-XX:SurvivorRatio=4", "-XX:+UseParallelGC"],
        &["-Xmx1g", "-XX:NewSize=600m", "-XX:+UseParallelGC"],
        &["-Xmx3333m", "-XX:G1HeapRegionSize=16m"],
        &["-Xmx9999m"],
        &["-Xms7g"],
        &["-XX:ActiveProcessorCount=1"],
        &["-Xmx3m", "-XX:+UseSerialGC"],
    ];
    for options in cases {
        let ours = heap(options, &here).max_memory;
        assert_eq!(
            ours,
            real_max_memory(&jdk, dir.path(), options)?,
            "{options:?}"
        );
    }
    Ok(())
}
