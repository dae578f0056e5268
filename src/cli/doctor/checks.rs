//! The single checks of `firesteel doctor`, each independent of what an executor would do with its result.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use javaser::Catalog;
use wire::WireVersion;
use wire::messages::check_fit;

use super::Finding;
use crate::cli::environment;
use crate::config::{SparkProperties, local_dir_roots};
use crate::executor::distribution;
use crate::launch::environment::local_host_name;
use crate::launch::jdk::own_dist;
use crate::launch::{Jdk, class_path};

/// Free space below which an executor's shuffle files will hardly fit, in bytes.
const LITTLE_SPACE: u64 = 1 << 30;
/// Open files that one executor with many shuffle connections can come to need.
const FEW_FILES: u64 = 4096;

/// Runs every check, in the order in which an executor would meet them.
pub(super) fn run(class_path: Option<&str>) -> Vec<(&'static str, Finding)> {
    let (catalog, distribution) = check_distribution(class_path);
    let version = catalog
        .as_ref()
        .and_then(|catalog| catalog.spark_version().ok());
    vec![
        ("installation", check_installation()),
        ("JDK", check_jdk()),
        ("Spark distribution", distribution),
        (
            "classes",
            catalog
                .as_ref()
                .map_or(Finding::Skipped("no usable distribution"), check_classes),
        ),
        (
            "bridge jar",
            version.map_or(Finding::Skipped("no usable distribution"), |version| {
                check_bridge(&version)
            }),
        ),
        ("network", check_network()),
        ("directories", check_directories()),
        ("open files", check_open_files()),
    ]
}

fn check_installation() -> Finding {
    const CURE: &str = "install the whole directory dist/firesteel that scripts/run makes, and run its bin/firesteel";
    let Some(dist) = own_dist() else {
        return Finding::bad(
            "this program is not in the bin/ of a Firesteel directory",
            CURE,
        );
    };
    // Executors do without `lib` and `include`, and images may leave them out.
    for part in ["bin/java", "bin/firesteel", "jars", "python/run_worker.py"] {
        if !dist.join(part).exists() {
            return Finding::bad(format!("{} is missing", dist.join(part).display()), CURE);
        }
    }
    Finding::Good(format!(
        "{}, version {}",
        dist.display(),
        env!("CARGO_PKG_VERSION")
    ))
}

fn check_jdk() -> Finding {
    const CURE: &str = "install JDK 17 or 21 (Debian: apt-get install openjdk-17-jdk-headless) or set FIRESTEEL_JAVA_HOME to the directory of one";
    let jdk = match Jdk::find_on_this_machine() {
        Ok(jdk) => jdk,
        Err(error) => return Finding::bad(error.to_string(), CURE),
    };
    if let Err(problem) = fits_this_machine(jdk.libjvm()) {
        return Finding::bad(problem, CURE);
    }
    let text = format!("{} at {}", jdk.version(), jdk.home().display());
    if jdk.is_supported() {
        Finding::Good(text)
    } else {
        Finding::Warning(format!(
            "{text}: Firesteel is tested with 17 and 21; {CURE}"
        ))
    }
}

/// A shared library of our own machine type? Reads the ELF header: class at 4, machine at 18.
fn fits_this_machine(library: &Path) -> Result<(), String> {
    let header = |path: &Path| -> std::io::Result<[u8; 20]> {
        let mut bytes = [0; 20];
        fs::File::open(path)?.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let named = |error: std::io::Error| format!("cannot read {}: {error}", library.display());
    let theirs = header(library).map_err(named)?;
    let ours = std::env::current_exe()
        .and_then(|path| header(&path))
        .map_err(named)?;
    let kind = |bytes: [u8; 20]| (bytes[4], bytes[18], bytes[19]);
    if theirs.starts_with(b"\x7fELF") && kind(theirs) == kind(ours) {
        Ok(())
    } else {
        Err(format!(
            "{} is not a library for this machine ({})",
            library.display(),
            std::env::consts::ARCH
        ))
    }
}

fn check_distribution(class_path: Option<&str>) -> (Option<Catalog>, Finding) {
    let Some(text) = class_path else {
        let cure = "give --spark-home DIR or --class-path CP, or set SPARK_HOME, to check what executors will find";
        return (None, Finding::bad("no class path to look at", cure));
    };
    let entries = class_path::entries(&class_path::expand_wildcards(text));
    match distribution::open(&entries) {
        Ok(catalog) => {
            let version = catalog.spark_version().unwrap_or_default();
            let jar = catalog
                .jar_of("org.apache.spark.SparkConf")
                .unwrap_or_default();
            (
                Some(catalog),
                Finding::Good(format!("Spark {version}, {}", jar.display())),
            )
        }
        Err(error) => (
            None,
            Finding::bad(error.to_string(), format!("check the class path: {text}")),
        ),
    }
}

fn check_classes(catalog: &Catalog) -> Finding {
    const CURE: &str = "use one of the supported Spark versions: 3.5, 4.0, 4.1, 4.2, 4.3";
    for class in distribution::STARTUP_CLASSES {
        if let Err(error) = catalog.lookup(class) {
            return Finding::bad(format!("{class} does not fit: {error}"), CURE);
        }
    }
    let fits = WireVersion::detect(catalog).and_then(|version| check_fit(catalog, &version));
    match fits {
        Ok(()) => Finding::Good("every message of an executor can be written".to_owned()),
        Err(error) => Finding::bad(error.to_string(), CURE),
    }
}

fn check_bridge(version: &str) -> Finding {
    match crate::executor::bridge_jar(version) {
        Ok(jar) => Finding::Good(jar.display().to_string()),
        Err(problem) => Finding::bad(
            problem,
            "rebuild the distribution with scripts/run, or use a supported Spark version: 3.5, 4.0, 4.1, 4.2, 4.3",
        ),
    }
}

/// Can this machine be reached under the name it announces?
fn check_network() -> Finding {
    let host = local_host_name(environment);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let cure = format!(
        "make {host} an address of this machine (/etc/hosts, DNS), or set SPARK_LOCAL_IP to one that drivers and executors can reach"
    );
    let reached = || -> std::io::Result<u16> {
        let listener = TcpListener::bind((bare, 0))?;
        let address = listener.local_addr()?;
        TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        Ok(address.port())
    };
    match reached() {
        Ok(port) => Finding::Good(format!("listens and answers at {host} (tried port {port})")),
        Err(error) => Finding::bad(
            format!("cannot listen and connect at {host}: {error}"),
            cure,
        ),
    }
}

/// Can the directories that the environment names hold shuffle files?
fn check_directories() -> Finding {
    let conf = SparkProperties::default();
    let roots = local_dir_roots(&conf, environment, None);
    let mut found = Vec::new();
    for root in &roots {
        let cure = format!(
            "make {} a directory that this user may write to, or name others in spark.local.dir or SPARK_LOCAL_DIRS",
            root.display()
        );
        let probe = root.join(format!("firesteel-doctor-{}", std::process::id()));
        let written = fs::create_dir_all(root)
            .and_then(|()| fs::write(&probe, b"probe"))
            .and_then(|()| fs::remove_file(&probe));
        if let Err(error) = written {
            return Finding::bad(format!("cannot write to {}: {error}", root.display()), cure);
        }
        let free =
            rustix::fs::statvfs(root).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
        if free < LITTLE_SPACE {
            return Finding::Warning(format!(
                "{} has only {} MiB free",
                root.display(),
                free >> 20
            ));
        }
        found.push(format!("{} ({} GiB free)", root.display(), free >> 30));
    }
    Finding::Good(found.join(", "))
}

fn check_open_files() -> Finding {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match limit {
        Some(limit) if limit < FEW_FILES => Finding::Warning(format!(
            "at most {limit} at a time; large shuffles need more: raise it with ulimit -n 65536 where executors are started"
        )),
        Some(limit) => Finding::Good(format!("at most {limit} at a time")),
        None => Finding::Good("without limit".to_owned()),
    }
}
