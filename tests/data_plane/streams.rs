//! Streams that Spark's own classes read and write.

use super::{java, sample};
use firesteel::blocks::codec::Codec;
use firesteel::blocks::crypto::IoEncryption;
use firesteel::config::{SparkProperties, declared};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{Distribution, VERSIONS, from_hex, to_hex};

/// Answers of a JVM to commands of `SparkStreams.java`.
fn run(version: &str, settings: &[&str], commands: &[String]) -> Vec<Vec<u8>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/SparkStreams.java");
    let mut jvm = Command::new(java())
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp"])
        .arg(Distribution::find(version).class_path())
        .arg(source)
        .args(settings)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("java runs");
    let mut stdin = jvm.stdin.take().unwrap();
    let input = commands.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = jvm.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = lines
        .lines()
        .zip(commands)
        .map(|(line, command)| match line.strip_prefix("! ") {
            Some(error) => panic!("Spark {version}: {error} for {:.60}", command),
            None => from_hex(line),
        })
        .collect();
    assert_eq!(answers.len(), commands.len(), "Spark {version} gave up");
    answers
}

const KEY: [u8; 16] = *b"0123456789abcdef";

#[test]
fn spark_reads_our_streams_and_we_read_spark_s() {
    let settings = ["spark.io.compression.zstd.level=3"];
    let mut properties = SparkProperties::default();
    properties.set("spark.io.compression.zstd.level", "3");
    let codecs = ["lz4", "lzf", "snappy", "zstd"].map(|name| {
        (
            name,
            Codec::by_name(name, &declared::CODEC, &properties).unwrap(),
        )
    });
    let encryption = IoEncryption::new(&KEY, &properties).unwrap();
    let samples = [
        Vec::new(),
        vec![7],
        sample(15, 1),
        sample(32 << 10, 2),
        sample(300_000, 3),
    ];
    let mut commands = Vec::new();
    for data in &samples {
        for (name, codec) in &codecs {
            let mut ours = codec.compress(data).unwrap();
            ours.extend(codec.compress(b"another stream").unwrap());
            commands.push(format!("decompress {name} {}", to_hex(&ours)));
            commands.push(format!("compress {name} {}", to_hex(data)));
        }
        let mut ours = encryption.writer(Vec::new()).unwrap();
        ours.write_all(data).unwrap();
        let ours = to_hex(&ours.into_inner());
        commands.push(format!("decrypt {} {ours}", to_hex(&KEY)));
        commands.push(format!("encrypt {} {}", to_hex(&KEY), to_hex(data)));
    }
    for version in VERSIONS {
        let mut answers = run(version, &settings, &commands).into_iter();
        for data in &samples {
            for (name, codec) in &codecs {
                let theirs = answers.next().unwrap();
                let both = [&data[..], b"another stream"].concat();
                assert!(theirs == both, "Spark {version} read {name} otherwise");
                let theirs = answers.next().unwrap();
                let unpacked = codec.decompress(&theirs, data.len()).unwrap();
                assert!(&unpacked == data, "{name} of Spark {version}");
            }
            assert!(&answers.next().unwrap() == data, "decrypted by {version}");
            let theirs = answers.next().unwrap();
            let mut decrypted = Vec::new();
            let mut reader = encryption.reader(&theirs[..]).unwrap();
            reader.read_to_end(&mut decrypted).unwrap();
            assert!(&decrypted == data, "encrypted by {version}");
        }
    }
}
