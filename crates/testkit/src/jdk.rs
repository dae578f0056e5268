//! The JDK of drivers, of plain executors and of the tests' own Java programs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Places that hold JDKs, as `find_jdk` of `scripts/lib.sh` knows them.
const USUAL_PLACES: [&str; 3] = ["/usr/lib/jvm", "/opt/java", "/usr/java"];

/// The directory of the JDK: what `FIRESTEEL_JAVA_HOME` or `JAVA_HOME` names, or a JDK 17 or 21 in the usual places.
///
/// # Panics
///
/// If there is none, with what to do about it.
pub fn jdk() -> PathBuf {
    find(|variable| std::env::var_os(variable), &USUAL_PLACES.map(Path::new)).unwrap_or_else(|| {
        panic!(
            "no JDK 17 or 21 with javac under {}: install one (scripts/test does), or set FIRESTEEL_JAVA_HOME to its \
             directory",
            USUAL_PLACES.join(", ")
        )
    })
}

fn find(environment: impl Fn(&str) -> Option<OsString>, places: &[&Path]) -> Option<PathBuf> {
    let named = ["FIRESTEEL_JAVA_HOME", "JAVA_HOME"]
        .into_iter()
        .filter_map(|variable| environment(variable).map(PathBuf::from))
        .find(|home| home.join("bin/java").is_file() && !is_firesteel(home));
    named.or_else(|| {
        let entries = places.iter().filter_map(|place| fs::read_dir(place).ok());
        let mut homes: Vec<PathBuf> = entries
            .flatten()
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|home| {
                home.join("bin/javac").is_file() && !is_firesteel(home) && is_supported(home)
            })
            .collect();
        homes.sort();
        homes.into_iter().next()
    })
}

/// Firesteel's own distribution has a `bin/java`, too.
fn is_firesteel(home: &Path) -> bool {
    home.join("bin/firesteel").exists()
}

/// By the file that every JDK has.
fn is_supported(home: &Path) -> bool {
    let release = fs::read_to_string(home.join("release")).unwrap_or_default();
    let version = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION=\""));
    let major = version.and_then(|version| version.split(['.', '"']).next());
    matches!(major, Some("17" | "21"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temp_dir;

    fn make(place: &Path, name: &str, version: &str) -> PathBuf {
        let home = place.join(name);
        fs::create_dir_all(home.join("bin")).unwrap();
        for program in ["java", "javac"] {
            fs::write(home.join("bin").join(program), "").unwrap();
        }
        fs::write(
            home.join("release"),
            format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n"),
        )
        .unwrap();
        home
    }

    #[test]
    fn supported_jdks_are_found_in_the_usual_places() {
        let place = temp_dir();
        let place = place.path();
        assert_eq!(find(|_| None, &[place]), None);
        make(place, "a", "11.0.2");
        let firesteel = make(place, "b", "17.0.1");
        fs::write(firesteel.join("bin/firesteel"), "").unwrap();
        let wanted = make(place, "c", "21");
        make(place, "d", "17.0.9");
        assert_eq!(find(|_| None, &[place]), Some(wanted));
    }

    #[test]
    fn variables_go_first() {
        let place = temp_dir();
        let place = place.path();
        make(place, "usual", "17.0.1");
        let (own, other) = (make(place, "own", "22"), make(place, "other", "17.0.1"));
        let both = |variable: &str| match variable {
            "FIRESTEEL_JAVA_HOME" => Some(own.clone().into()),
            _ => Some(other.clone().into()),
        };
        assert_eq!(find(both, &[place]), Some(own.clone()));
        let second = |variable: &str| (variable == "JAVA_HOME").then(|| other.clone().into());
        assert_eq!(find(second, &[place]), Some(other.clone()));
    }
}
