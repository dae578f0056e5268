//! Spark's own clients.

use crate::fixture::{APP, Fixture};
use auth::{Cipher, Crypto, EngineVersion, Protocol, Secret};
use firesteel::config::ConnectionSecurity;
use firesteel::transport::{Authentication, Protection};
use std::path::Path;
use std::time::Duration;
use testkit::{Distribution, VERSIONS};

/// Runs Spark's own client of that version against the server.
fn run_spark_client(version: &str, target: &str, blocks: &[&str]) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/BlockClient.java");
    let mut command = std::process::Command::new(testkit::jdk().join("bin/java"));
    command
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"])
        .arg(Distribution::find(version).class_path());
    command
        .arg(source)
        .arg(target)
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

/// How Spark's client authenticates itself, and the server's settings for that.
#[derive(Clone, Copy)]
enum Mode {
    Plain,
    Sasl,
    /// A server with keys takes clients without.
    Fallback,
    Keys(EngineVersion, Cipher),
}

impl Mode {
    fn protocol(self) -> Option<Protocol> {
        let crypto = match self {
            Self::Plain => return None,
            Self::Sasl => None,
            Self::Fallback => Some((EngineVersion::V1, Cipher::Ctr)),
            Self::Keys(version, cipher) => Some((version, cipher)),
        };
        Some(Protocol {
            crypto: crypto.map(|(version, cipher)| Crypto { version, cipher }),
            sasl_fallback: true,
        })
    }

    fn start(self) -> Fixture {
        let authentication = self.protocol().map(|protocol| {
            let security = ConnectionSecurity {
                protocol,
                timeout: Duration::from_secs(20),
            };
            let secret = Secret::new("a secret".to_owned());
            Authentication::new(security, secret).of_application(APP)
        });
        Fixture::protected(Protection {
            tls: None,
            authentication,
        })
    }

    /// What the client is told.
    fn target(self, port: u16) -> String {
        match self {
            Self::Plain => port.to_string(),
            Self::Sasl | Self::Fallback => format!("{port}/a secret"),
            Self::Keys(version, cipher) => {
                let version = match version {
                    EngineVersion::V1 => 1,
                    EngineVersion::V2 => 2,
                };
                let cipher = match cipher {
                    Cipher::Ctr => "CTR",
                    Cipher::Gcm => "GCM",
                };
                format!(
                    "{port}/a secret/spark.network.crypto.enabled=true/spark.network.crypto.saslFallback=false\
                     /spark.network.crypto.authEngineVersion={version}/spark.network.crypto.cipher=AES:{cipher}:NoPadding"
                )
            }
        }
    }
}

const MODES: [Mode; 7] = [
    Mode::Plain,
    Mode::Sasl,
    Mode::Fallback,
    Mode::Keys(EngineVersion::V1, Cipher::Ctr),
    Mode::Keys(EngineVersion::V2, Cipher::Ctr),
    Mode::Keys(EngineVersion::V1, Cipher::Gcm),
    Mode::Keys(EngineVersion::V2, Cipher::Gcm),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spark_s_own_clients_are_served() {
    for version in VERSIONS {
        let fixtures = MODES.map(Mode::start);
        let outputs: Vec<_> = fixtures
            .iter()
            .map(|fixture| {
                fixture.write("shuffle_3_10_0.checksum.ADLER32", &7i64.to_be_bytes());
                let first = fixture.map_output(3, 10, &[100, 0, 3 << 20, 70_000]);
                (first, fixture.map_output(3, 11, &[50_000, 6]))
            })
            .collect();
        let names = [
            "shuffle_3_10_0",
            "shuffle_3_10_1",
            "shuffle_3_10_2",
            "shuffle_3_10_3",
            "shuffle_3_11_0",
        ];
        let targets: Vec<_> = MODES
            .iter()
            .zip(&fixtures)
            .map(|(mode, fixture)| mode.target(fixture.server.port()))
            .collect();
        let printed = tokio::task::spawn_blocking(move || {
            run_spark_client(version, &targets.join(","), &names)
        })
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
            missing.len() == 2 * MODES.len()
                && missing.iter().all(|line| line.contains(" failed ")),
            "{missing:?}"
        );
        let reason = "java.nio.file.NoSuchFileException: ";
        assert!(missing[0].contains(reason), "{missing:?}");
        let expected = fixtures
            .iter()
            .zip(&outputs)
            .flat_map(|(fixture, (first, second))| expected(fixture, &names, first, &second[0]));
        assert_eq!(printed, expected.collect::<Vec<_>>(), "Spark {version}");
        for fixture in &fixtures {
            let streams = fixture.source.streams.lock();
            assert!(
                streams.len() == 1 && streams[0].2 == vec![42; 5_000_001],
                "Spark {version}"
            );
        }
    }
}

/// What a client prints but for what is missing.
fn expected(fixture: &Fixture, names: &[&str], first: &[Vec<u8>], last: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in ["memory", "file"] {
        let contents = first.iter().map(Vec::as_slice).chain([last]);
        for (name, bytes) in names.iter().zip(contents) {
            let mut adler = adler2::Adler32::new();
            adler.write_slice(bytes);
            lines.push(format!(
                "{kind} {name} {} {}",
                bytes.len(),
                adler.checksum()
            ));
        }
    }
    let dirs = fixture.dirs.dirs().iter();
    let dirs: Vec<_> = dirs.map(|dir| dir.to_str().unwrap()).collect();
    lines.extend([
        "cause DISK_ISSUE".to_owned(),
        format!("dirs {}", dirs.join(",")),
        "dirs refused Invalid executor id: another, expected 7.".to_owned(),
        "upload stored 0".to_owned(),
    ]);
    lines
}
