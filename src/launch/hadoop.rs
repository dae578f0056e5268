//! Single settings of Hadoop, from the configuration files on the class path.

use std::fs;
use std::path::PathBuf;

use crate::config::HadoopSite;

/// Files that hold settings of YARN, the later ones winning over the earlier.
const FILES: [&str; 2] = ["core-site.xml", "yarn-site.xml"];
/// Larger files are not read; real ones have some kilobytes.
const MAX_BYTES: u64 = 16 << 20;

/// The value of the setting `name`, as Hadoop finds it: in the first directory of the class path that has the file.
/// `None` if it is not set or the file cannot be read: such a setting only decorates links in the UI.
pub fn setting(class_path: &[PathBuf], name: &str) -> Option<String> {
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
}
