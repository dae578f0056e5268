//! Hadoop's settings, as `org.apache.spark.util.SerializableConfiguration` writes them.

use std::collections::HashMap;

use javaser::Limits;
use javaser::arena::Graph;

use crate::lanes::python::plan::read_vlong;

/// Most settings that are believed.
const MAX_SETTINGS: usize = 1 << 20;

/// How an object stream begins.
const STREAM: [u8; 4] = [0xac, 0xed, 0, 5];

/// Most bytes before it.
const MAX_PREFIX: usize = 6;

/// A Hadoop `Configuration`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct HadoopConf(HashMap<String, String>);

impl HadoopConf {
    /// Reads the Java stream of a `SerializableConfiguration`.
    pub(in super::super) fn read(stream: &[u8], limits: &Limits) -> Result<Self, String> {
        // Kryo puts a class id before the stream, which it leaves to Java.
        let begin = stream
            .windows(STREAM.len())
            .take(MAX_PREFIX + 1)
            .position(|window| window == STREAM)
            .unwrap_or_default();
        let stream = stream.get(begin..).unwrap_or_default();
        let graph = Graph::parse(stream, limits).map_err(|e| e.to_string())?;
        let root = graph.root().ok_or("no object")?;
        let class = graph.class_name(root).unwrap_or("null");
        if !class.ends_with(".SerializableConfiguration") {
            return Err(format!("{class} instead of SerializableConfiguration"));
        }
        let level = root
            .node()
            .and_then(|node| graph.levels(node).next_back())
            .ok_or("no object")?;
        Self::read_settings(&level.block_bytes()).ok_or_else(|| "damaged settings".to_owned())
    }

    /// `Configuration.write`: settings, and where they came from, which is of no interest.
    fn read_settings(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = read_vlong(bytes)?;
        let count = usize::try_from(count).ok().filter(|c| *c <= MAX_SETTINGS)?;
        let mut settings = HashMap::new();
        for _ in 0..count {
            let (key, behind) = text(rest)?;
            let (value, behind) = text(behind)?;
            settings.insert(key, value);
            rest = behind;
        }
        Some(Self(settings))
    }

    /// A setting, if it is there.
    pub(in super::super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for HadoopConf {
    fn from(settings: [(&str, &str); N]) -> Self {
        Self(settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    }
}

/// `Text.writeString`
fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = read_vlong(bytes)?;
    let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((String::from_utf8_lossy(text).into_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_before_their_sources() {
        let bytes = b"\x02\x01a\x02bc\x01d\x00\xff\xff";
        let conf = HadoopConf::read_settings(bytes).unwrap();
        assert_eq!(conf, HadoopConf::from([("a", "bc"), ("d", "")]));
        assert_eq!(conf.get("a"), Some("bc"));
        assert_eq!(HadoopConf::read_settings(&bytes[..4]), None);
        assert!(HadoopConf::read(bytes, &Limits::default()).is_err());
    }
}
