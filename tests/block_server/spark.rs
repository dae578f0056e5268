//! Spark's own clients.

use crate::fixture::{APP, Fixture};
use std::path::Path;
use testkit::{Distribution, VERSIONS};

/// Runs Spark's own client of that version against the server.
fn run_spark_client(version: &str, port: u16, blocks: &[&str]) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/BlockClient.java");
    let mut command = std::process::Command::new(testkit::jdk().join("bin/java"));
    command
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"])
        .arg(Distribution::find(version).class_path());
    command
        .arg(source)
        .arg(port.to_string())
        .args([APP, "7"])
        .args(blocks);
    let output = command.output().expect("java runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "Spark {version}: {errors}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spark_s_own_clients_are_served() {
    for version in VERSIONS {
        let fixture = Fixture::start();
        let first = fixture.map_output(3, 10, &[100, 0, 3 << 20, 70_000]);
        let second = fixture.map_output(3, 11, &[50_000, 6]);
        fixture.write("shuffle_3_10_0.checksum.ADLER32", &7i64.to_be_bytes());
        let names = [
            "shuffle_3_10_0",
            "shuffle_3_10_1",
            "shuffle_3_10_2",
            "shuffle_3_10_3",
            "shuffle_3_11_0",
        ];
        let server = fixture.server.port();
        let printed =
            tokio::task::spawn_blocking(move || run_spark_client(version, server, &names))
                .await
                .unwrap();
        // Between them are lines of Spark's log.
        let kinds = ["memory ", "missing ", "file ", "cause ", "dirs ", "upload "];
        let is_result = |line: &String| kinds.iter().any(|kind| line.starts_with(kind));
        let (missing, printed): (Vec<_>, Vec<_>) = printed
            .into_iter()
            .filter(is_result)
            .partition(|line| line.starts_with("missing "));
        // A failure fails the rest of the request in Spark's client.
        assert!(
            missing.len() == 2 && missing.iter().all(|line| line.contains(" failed ")),
            "{missing:?}"
        );
        let reason = "java.nio.file.NoSuchFileException: ";
        assert!(missing[0].contains(reason), "{missing:?}");
        let contents = [&first[0], &first[1], &first[2], &first[3], &second[0]];
        let expected = ["memory", "file"].into_iter().flat_map(|kind| {
            names.iter().zip(contents).map(move |(name, bytes)| {
                let mut adler = adler2::Adler32::new();
                adler.write_slice(bytes);
                format!("{kind} {name} {} {}", bytes.len(), adler.checksum())
            })
        });
        let dirs: Vec<_> = fixture
            .dirs
            .dirs()
            .iter()
            .map(|dir| dir.to_str().unwrap())
            .collect();
        let rest = [
            "cause DISK_ISSUE".to_owned(),
            format!("dirs {}", dirs.join(",")),
            "dirs refused Invalid executor id: another, expected 7.".to_owned(),
            "upload stored 0".to_owned(),
        ];
        assert_eq!(
            printed,
            expected.chain(rest).collect::<Vec<_>>(),
            "Spark {version}"
        );
        let streams = fixture.source.streams.lock();
        assert!(
            streams.len() == 1 && streams[0].2 == vec![42; 5_000_001],
            "Spark {version}"
        );
        drop(streams);
    }
}
