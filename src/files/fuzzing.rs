//! Fuzz targets of this room; see [`crate::fuzzing`].

use javaser::Limits;

use super::HadoopConf;
use super::conf::read_settings_of_site;

/// Settings of Hadoop as they come with a task: in a Java stream, and what that holds.
pub fn hadoop_conf(data: &[u8]) {
    let conf = HadoopConf::read(data, &Limits::default());
    let of_file_io = HadoopConf::of_file_io(data, &Limits::default()).ok();
    let others = HadoopConf::read_settings(data)
        .into_iter()
        .chain(of_file_io);
    for conf in conf.ok().into_iter().chain(others) {
        for key in conf.keys() {
            let _ = conf.text(key);
            let _ = conf.flag(key, false);
        }
    }
}

/// A `*-site.xml`.
pub fn hadoop_site(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut settings = Default::default();
    if read_settings_of_site("core-site.xml", text, &mut settings).is_ok() {
        let long: usize = settings
            .iter()
            .map(|(key, value)| key.len() + value.len())
            .sum();
        assert!(long <= text.len());
    }
}
