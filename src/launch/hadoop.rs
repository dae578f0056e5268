//! Single settings of Hadoop, from the configuration files on the class path.

use std::fs;
use std::path::PathBuf;

use crate::config::{HadoopSite, SparkProperties, declared};

/// Files that hold settings of YARN, the later ones winning over the earlier.
const FILES: [&str; 2] = ["core-site.xml", "yarn-site.xml"];
/// Larger files are not read; real ones have some kilobytes.
const MAX_BYTES: u64 = 16 << 20;

/// The value of the setting `name` as an executor's `Configuration` of YARN has it: the application's
/// (`spark.hadoop.NAME`), else that of the files on the class path.
pub fn setting_of_application(
    properties: &SparkProperties,
    class_path: &[PathBuf],
    name: &str,
) -> Option<String> {
    properties
        .get(declared::HADOOP.key(name))
        .or_else(|| setting(class_path, name))
}

/// Sets what Spark takes from YARN's settings where the application has none: the port of the shuffle service, which
/// runs in node managers (`StorageUtils.externalShuffleServicePort`).
pub fn apply_yarn_settings(properties: &mut SparkProperties, class_path: &[PathBuf]) {
    let key = declared::SHUFFLE_SERVICE_PORT.key;
    if !properties.contains(key)
        && let Some(port) = setting_of_application(properties, class_path, key)
    {
        properties.set(key, port);
    }
}

/// The value of the setting `name`, as Hadoop finds it: in the first directory of the class path that has the file.
/// `None` if it is not set or the file cannot be read.
fn setting(class_path: &[PathBuf], name: &str) -> Option<String> {
    FILES.iter().rev().find_map(|file| {
        let path = class_path
            .iter()
            .map(|entry| entry.join(file))
            .find(|path| path.is_file())?;
        if fs::metadata(&path).ok()?.len() > MAX_BYTES {
            return None;
        }
        value_in(&fs::read_to_string(path).ok()?, name)
    })
}

/// The last value that a configuration file gives to `name`.
fn value_in(xml: &str, name: &str) -> Option<String> {
    let site = HadoopSite::parse(xml).ok()?;
    let mut values = site.settings.into_iter().rev();
    let found = values.find(|(key, _)| key == name);
    found.map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_from_the_first_directory_that_has_the_file() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let write = |place: &str, text: &str| {
            let path = dir.path().join(place);
            fs::create_dir_all(path.parent().unwrap_or(dir.path()))?;
            fs::write(
                path,
                format!("<?xml version=\"1.0\"?>\n<configuration>{text}</configuration>"),
            )
        };
        let property = |name: &str, value: &str| {
            format!("<property><name>{name}</name> <!-- x --> <value> {value} </value></property>")
        };
        write(
            "one/core-site.xml",
            &(property("a", "core") + &property("b", "core")),
        )?;
        write(
            "two/yarn-site.xml",
            &(property("a", "yarn") + &property("a", "later")),
        )?;
        write("three/yarn-site.xml", &property("a", "hidden"))?;
        fs::write(dir.path().join("broken.xml"), "<configuration>")?;
        let path = ["jar.jar", "one", "two", "three"].map(|entry| dir.path().join(entry));
        assert_eq!(setting(&path, "a").as_deref(), Some("later"));
        assert_eq!(setting(&path, "b").as_deref(), Some("core"));
        assert_eq!(setting(&path, "c"), None);
        assert_eq!(value_in("<configuration>", "a"), None);
        Ok(())
    }

    #[test]
    fn the_shuffle_service_of_node_managers_tells_its_port() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let key = declared::SHUFFLE_SERVICE_PORT.key;
        let file = format!(
            "<configuration><property><name>{key}</name><value>7447</value></property></configuration>"
        );
        fs::write(dir.path().join("yarn-site.xml"), file)?;
        let class_path = [dir.path().to_owned()];
        let port = |pairs: &[(&'static str, &'static str)], class_path: &[PathBuf]| {
            let mut properties = SparkProperties::from_launch(pairs.iter().copied(), []);
            apply_yarn_settings(&mut properties, class_path);
            properties.get(key)
        };
        assert_eq!(port(&[], &class_path).as_deref(), Some("7447"));
        assert_eq!(port(&[(key, "7500")], &class_path).as_deref(), Some("7500"));
        let of_hadoop = [("spark.hadoop.spark.shuffle.service.port", "7600")];
        assert_eq!(port(&of_hadoop, &class_path).as_deref(), Some("7600"));
        assert_eq!(port(&[], &[]), None);
        Ok(())
    }
}
