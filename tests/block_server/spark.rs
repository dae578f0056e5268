//! Spark's own clients.

use crate::fixture::{APP, Fixture};
use std::path::{Path, PathBuf};

/// The `jars` directory of a distribution.
fn jars(version: &str) -> PathBuf {
    let variable = format!("FIRESTEEL_SPARK_DIR_{}", version.replace('.', "_"));
    let installed = || {
        let cache = std::env::var_os("FIRESTEEL_CACHE")
            .map(PathBuf::from)
            .unwrap_or_else(|| {
                PathBuf::from(std::env::var_os("HOME").expect("HOME is set"))
                    .join(".cache/firesteel")
            });
        let lib = cache.join(format!("spark-{version}/lib"));
        let pythons =
            std::fs::read_dir(&lib).unwrap_or_else(|error| panic!("{}: {error}", lib.display()));
        let mut homes = pythons.map(|python| python.unwrap().path().join("site-packages/pyspark"));
        homes
            .find(|home| home.join("jars").is_dir())
            .expect("an installed pyspark")
    };
    std::env::var_os(&variable)
        .map_or_else(installed, PathBuf::from)
        .join("jars")
}

/// Runs Spark's own client of that version against the server.
fn run_spark_client(version: &str, port: u16, blocks: &[&str]) -> Vec<String> {
    let java = std::env::var_os("JAVA_HOME")
        .map_or("java".into(), |home| PathBuf::from(home).join("bin/java"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/BlockClient.java");
    let mut command = std::process::Command::new(java);
    command
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"])
        .arg(jars(version).join("*"));
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
    for version in ["3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"] {
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
        let (missing, printed): (Vec<_>, Vec<_>) = printed
            .into_iter()
            .partition(|line| line.starts_with("missing "));
        // A failure fails the rest of the request in Spark's client.
        assert!(
            missing.len() == 2 && missing.iter().all(|line| line.contains(" failed ")),
            "{missing:?}"
        );
        let reasons = [
            "has no reducers 9 to 10",
            "java.nio.file.NoSuchFileException: ",
        ];
        assert!(
            reasons.iter().any(|reason| missing[0].contains(reason)),
            "{missing:?}"
        );
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
