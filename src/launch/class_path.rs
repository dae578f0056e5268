//! Class path strings: wildcards expanded as the `java` launcher does it.

use std::path::{Path, PathBuf};

/// The separator of class path entries.
const SEPARATOR: char = ':';

/// Replaces each entry `DIR/*` by the `.jar` and `.JAR` files of DIR, in the directory's own order, as the launcher
/// does. An entry that names an existing file, an unreadable directory, or a directory without jars stays as it is.
pub fn expand_wildcards(class_path: &str) -> String {
    if !class_path.contains('*') {
        return class_path.to_owned();
    }
    let mut expanded: Vec<String> = Vec::new();
    for entry in class_path.split(SEPARATOR) {
        match wildcard_jars(entry) {
            Some(jars) if !jars.is_empty() => expanded.extend(jars),
            _ => expanded.push(entry.to_owned()),
        }
    }
    expanded.join(&SEPARATOR.to_string())
}

fn wildcard_jars(entry: &str) -> Option<Vec<String>> {
    let directory = entry.strip_suffix('*')?;
    if !(directory.is_empty() || directory.ends_with('/')) || Path::new(entry).exists() {
        return None;
    }
    let listed = std::fs::read_dir(if directory.is_empty() { "." } else { directory }).ok()?;
    let jars = listed
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter(|name| {
            (name.ends_with(".jar") || name.ends_with(".JAR")) && !name.contains(SEPARATOR)
        })
        .map(|name| format!("{directory}{name}"));
    Some(jars.collect())
}

/// The entries of an expanded class path as paths. An empty entry is the working directory, as for the JVM.
pub fn entries(class_path: &str) -> Vec<PathBuf> {
    class_path
        .split(SEPARATOR)
        .map(|entry| PathBuf::from(if entry.is_empty() { "." } else { entry }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_become_jars() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        for name in ["one.jar", "two.JAR", "three.Jar", "notes.txt", "co:lon.jar"] {
            std::fs::write(dir.path().join(name), "")?;
        }
        std::fs::create_dir(dir.path().join("empty"))?;
        let base = dir.path().display();
        let expanded = expand_wildcards(&format!("first:{base}/*:{base}/empty/*:{base}*:/none/*"));
        let parts: Vec<&str> = expanded.split(':').collect();
        assert_eq!(parts.first(), Some(&"first"));
        let mut jars = parts.get(1..3).map(<[_]>::to_vec).unwrap_or_default();
        jars.sort_unstable();
        assert_eq!(jars, [format!("{base}/one.jar"), format!("{base}/two.JAR")]);
        assert_eq!(
            parts.get(3..),
            Some(
                &[
                    format!("{base}/empty/*").as_str(),
                    &format!("{base}*"),
                    "/none/*"
                ][..]
            )
        );
        Ok(())
    }

    #[test]
    fn an_existing_star_is_a_file() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        std::fs::write(dir.path().join("*"), "")?;
        std::fs::write(dir.path().join("a.jar"), "")?;
        let star = format!("{}/*", dir.path().display());
        assert_eq!(expand_wildcards(&star), star);
        Ok(())
    }

    #[test]
    fn empty_entries_are_the_working_directory() {
        assert_eq!(
            entries("a::b"),
            [PathBuf::from("a"), PathBuf::from("."), PathBuf::from("b")]
        );
        assert_eq!(entries(""), [PathBuf::from(".")]);
    }
}
