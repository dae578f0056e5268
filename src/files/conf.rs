//! Hadoop's settings: those that came with a task, and those that this executor has of its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use javaser::arena::{Graph, Value};
use javaser::stream::HEADER;
use javaser::{Closure, Limits};

use super::Environment;
use super::writable::{read_text, read_vlong};
use crate::config::declared::HADOOP;
use crate::config::{HadoopSite, SparkProperties};

/// Iceberg's classes that read files as Hadoop does: by its own word, and for schemes that no other class is for.
const FILE_IOS: [&str; 2] = [
    "org.apache.iceberg.hadoop.HadoopFileIO",
    "org.apache.iceberg.io.ResolvingFileIO",
];

/// Most settings that are believed.
const MAX_SETTINGS: usize = 1 << 20;

/// Most places that a setting is said to come from.
const MAX_SOURCES: i32 = 1 << 16;

/// Most bytes before the object stream.
const MAX_PREFIX: usize = 6;

/// Most names that are put into a value, as in Hadoop.
const MAX_SUBSTITUTIONS: usize = 20;

/// Largest `*-site.xml`; real ones have some kilobytes.
const MAX_SITE_BYTES: u64 = 16 << 20;

/// Files that `new Configuration` reads, and those that the client of HDFS adds. Settings of later ones win.
const SITES: [&str; 2] = ["core-site.xml", "hdfs-site.xml"];

/// A Hadoop `Configuration`: settings with Hadoop's defaults among them, or without. Who asks for a setting knows its
/// default.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HadoopConf(HashMap<String, String>);

impl std::fmt::Debug for HadoopConf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // There are keys and passwords among the settings.
        write!(f, "HadoopConf({} settings)", self.0.len())
    }
}

impl HadoopConf {
    /// Reads the Java stream of a `org.apache.spark.util.SerializableConfiguration`.
    ///
    /// # Errors
    /// What it is instead.
    pub fn read(stream: &[u8], limits: &Limits) -> Result<Self, String> {
        // Kryo puts a class id before the stream, which it leaves to Java.
        let prefix = stream.len().min(MAX_PREFIX + HEADER.len());
        let begin = memchr::memmem::find(stream.get(..prefix).unwrap_or_default(), &HEADER)
            .unwrap_or_default();
        let stream = stream.get(begin..).unwrap_or_default();
        let graph = Graph::parse(stream, limits).map_err(|e| e.to_string())?;
        let root = graph.root().ok_or("no object")?;
        Self::of_object(&graph, root)
    }

    /// Reads a `org.apache.spark.util.SerializableConfiguration`, or a `SerializableJobConf`, which is written alike.
    ///
    /// # Errors
    /// What it is instead.
    pub fn of_object(graph: &Graph, conf: Value) -> Result<Self, String> {
        let class = graph.class_name(conf).unwrap_or("null");
        if ![".SerializableConfiguration", ".SerializableJobConf"]
            .iter()
            .any(|known| class.ends_with(known))
        {
            return Err(format!("{class} instead of SerializableConfiguration"));
        }
        let level = conf
            .node()
            .and_then(|node| graph.levels(node).next_back())
            .ok_or("no object")?;
        Self::read_settings(&level.block_bytes()).ok_or_else(|| "damaged settings".to_owned())
    }

    /// Reads the Java stream of Iceberg's `HadoopFileIO`, or of a table that has one.
    ///
    /// # Errors
    /// What it is instead: others may read files in any way.
    pub fn of_file_io(stream: &[u8], limits: &Limits) -> Result<Self, String> {
        let graph = Graph::parse(stream, limits).map_err(|error| error.to_string())?;
        let mut io = graph.root().and_then(Value::node).ok_or("no object")?;
        let class = |node| graph.class_name(Value::Ref(node)).unwrap_or_default();
        for (around, field) in [
            ("SerializableFileIOWithSize", "fileIO"),
            ("SerializableTableWithSize", "io"),
        ] {
            if class(io).rsplit('.').next() == Some(around) {
                io = graph.field_node(io, field).ok_or("no FileIO")?;
            }
        }
        if !FILE_IOS.contains(&class(io)) {
            return Err(format!("files of {}", class(io)));
        }
        let conf = graph.field(io, "hadoopConf").unwrap_or(Value::Null);
        // Older releases have a function that gives them, if nobody asked for another form.
        let conf = Closure::read(&graph, conf)
            .and_then(|function| function.args.first().copied())
            .unwrap_or(conf);
        let map = conf.node().and_then(|conf| graph.field(conf, "confAsMap"));
        let Some(map) = map else {
            return Self::of_object(&graph, conf);
        };
        let settings = graph.pairs(map);
        let settings = settings.ok_or("settings of Hadoop in another form")?;
        let text = |value| graph.str(value).map(Cow::into_owned);
        let settings = settings.into_iter();
        let settings = settings.map(|(key, value)| Some((text(key)?, text(value)?)));
        let settings: Option<HashMap<_, _>> = settings.collect();
        settings
            .map(Self)
            .ok_or_else(|| "damaged settings".to_owned())
    }

    /// `Configuration.write`: settings, each with where it came from, which is of no interest.
    pub fn read_settings(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = read_vlong(bytes)?;
        let count = usize::try_from(count).ok().filter(|c| *c <= MAX_SETTINGS)?;
        let mut settings = HashMap::new();
        for _ in 0..count {
            let (key, behind) = read_text(rest)?;
            let (value, behind) = read_text(behind)?;
            settings.insert(key, value);
            rest = skip_sources(behind)?;
        }
        Some(Self(settings))
    }

    /// What `SparkHadoopUtil.newConfiguration` gives on an executor: the site files on its class path, Amazon's keys in
    /// the environment, and `spark.hadoop.*`.
    ///
    /// # Errors
    /// A file that cannot be read, or is more than a list of settings.
    pub fn of_executor(
        class_path: &[PathBuf],
        properties: &SparkProperties,
        environment: &Environment,
    ) -> Result<Self, String> {
        let mut settings = HashMap::new();
        for site in SITES {
            let mut places = class_path.iter().map(|dir| dir.join(site));
            if let Some(path) = places.find(|path| path.is_file()) {
                read_site(&path, &mut settings)?;
            }
        }
        let key = environment.get("AWS_ACCESS_KEY_ID");
        if let (Some(key), Some(secret)) = (key, environment.get("AWS_SECRET_ACCESS_KEY")) {
            // Only later versions of Spark look at it.
            if environment.get("AWS_ENDPOINT_URL").is_some() {
                return Err("AWS_ENDPOINT_URL is set".to_owned());
            }
            settings.insert("fs.s3a.access.key".to_owned(), key.to_owned());
            settings.insert("fs.s3a.secret.key".to_owned(), secret.to_owned());
            if let Some(token) = environment.get("AWS_SESSION_TOKEN") {
                settings.insert("fs.s3a.session.token".to_owned(), token.to_owned());
            }
        }
        let of_spark = properties
            .iter()
            .filter_map(|(key, value)| Some((HADOOP.member(key)?, value)));
        for (key, value) in of_spark {
            settings.insert(key.to_owned(), value.to_owned());
        }
        Ok(Self(settings))
    }

    /// A setting, if it is there, with the values of the settings and environment variables that it names.
    pub fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        let value = self.0.get(key)?;
        Some(self.substitute(value))
    }

    /// A setting that says something: not missing, not blank. Without the blanks around it.
    pub fn text(&self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// A setting that is `true` or `false`; what is neither counts as the default.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        match self.text(key) {
            Some(value) if value.eq_ignore_ascii_case("true") => true,
            Some(value) if value.eq_ignore_ascii_case("false") => false,
            _ => default,
        }
    }

    /// The names of all settings.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// `Configuration.substituteVars`. System properties of a JVM are not known here: what names one stays as it is.
    fn substitute<'a>(&self, value: &'a str) -> Cow<'a, str> {
        let mut value = Cow::Borrowed(value);
        for _ in 0..MAX_SUBSTITUTIONS {
            let Some((start, end, found)) = variables(&value).find_map(|(start, end)| {
                let name = value.get(start + 2..end - 1)?;
                Some((start, end, self.variable(name)?))
            }) else {
                break;
            };
            let before = value.get(..start).unwrap_or_default();
            let behind = value.get(end..).unwrap_or_default();
            value = Cow::Owned(format!("{before}{found}{behind}"));
        }
        value
    }

    fn variable(&self, name: &str) -> Option<String> {
        let Some(of_environment) = name.strip_prefix("env.").filter(|name| !name.is_empty()) else {
            return self.0.get(name).cloned();
        };
        let environment = |name: &str| std::env::var(name).ok();
        if let Some((name, default)) = of_environment.split_once('-') {
            return match name.strip_suffix(':') {
                Some(name) => environment(name).filter(|value| !value.is_empty()),
                None => environment(name),
            }
            .or_else(|| Some(default.to_owned()));
        }
        environment(of_environment)
    }
}

/// `WritableUtils.writeCompressedStringArray`: a count, and for each text its compressed length and bytes; -1 for what
/// is null.
fn skip_sources(bytes: &[u8]) -> Option<&[u8]> {
    let (count, mut rest) = int(bytes)?;
    if count > MAX_SOURCES {
        return None;
    }
    for _ in 0..count {
        let (length, behind) = int(rest)?;
        let length = usize::try_from(length.max(0)).ok()?;
        rest = behind.get(length..)?;
    }
    Some(rest)
}

fn int(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((i32::from_be_bytes(*number), rest))
}

/// Where `${name}` stands in a text. Names have no blanks, dollars and braces.
fn variables(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices("${").filter_map(|(start, _)| {
        let name = text.get(start + 2..)?;
        let length = name.find(['}', '$', ' '])?;
        (length > 0 && name.get(length..)?.starts_with('}')).then_some((start, start + length + 3))
    })
}

fn read_site(path: &Path, settings: &mut HashMap<String, String>) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unreadable = |why: String| format!("{name} cannot be read: {why}");
    let length = fs::metadata(path)
        .map_err(|e| unreadable(e.to_string()))?
        .len();
    if length > MAX_SITE_BYTES {
        return Err(unreadable("it is too large".to_owned()));
    }
    let text = fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    read_settings_of_site(&name, &text, settings)
}

/// The settings in the text of a file of that name.
pub(super) fn read_settings_of_site(
    name: &str,
    text: &str,
    settings: &mut HashMap<String, String>,
) -> Result<(), String> {
    let site =
        HadoopSite::parse(text).map_err(|error| format!("{name} cannot be read: {error}"))?;
    if let Some(element) = site.other_element {
        return Err(format!("{name} has <{element}>"));
    }
    settings.extend(site.settings);
    Ok(())
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for HadoopConf {
    fn from(settings: [(&str, &str); N]) -> Self {
        Self(settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_with_their_sources() {
        let bytes =
            b"\x02\x01a\x02bc\0\0\0\x02\0\0\0\x03gz!\xff\xff\xff\xff\x01d\x00\xff\xff\xff\xff";
        let conf = HadoopConf::read_settings(bytes).unwrap();
        assert_eq!(conf, HadoopConf::from([("a", "bc"), ("d", "")]));
        assert_eq!(conf.get("a").as_deref(), Some("bc"));
        assert_eq!(conf.text("d"), None);
        for length in 0..bytes.len() {
            assert_eq!(HadoopConf::read_settings(&bytes[..length]), None);
        }
        assert!(HadoopConf::read(bytes, &Limits::default()).is_err());
    }

    #[test]
    fn a_file_io_has_settings() {
        let newer = include_bytes!("fixtures/file-io-1.12.0.bin");
        let older = include_bytes!("fixtures/file-io-1.6.1.bin");
        for stream in [&newer[..], older] {
            let conf = HadoopConf::of_file_io(stream, &Limits::default()).unwrap();
            assert_eq!(conf.text("fs.defaultFS").unwrap(), "hdfs://nn:8020");
            let endpoint = conf.text("fs.s3a.endpoint").unwrap();
            assert_eq!(endpoint, "http://127.0.0.1:9000");
            assert!(HadoopConf::read(stream, &Limits::default()).is_err());
            // One of another class.
            let name = b"HadoopFileIO";
            let at = memchr::memmem::find(stream, name).unwrap();
            let mut other = stream.to_vec();
            other[at] = b'X';
            assert!(HadoopConf::of_file_io(&other, &Limits::default()).is_err());
        }
    }

    #[test]
    fn values_may_name_other_settings_and_the_environment() {
        let conf = HadoopConf::from([
            ("home", "/data"),
            ("dir", "${home}/x/${env.FIRESTEEL_NOT_SET:-y}"),
            ("twice", "${dir} ${dir}"),
            ("jvm", "${user.name}-${home}"),
            ("loop", "a${loop}"),
            ("default", "${env.FIRESTEEL_NOT_SET-z}"),
            ("odd", "${} ${a b} $ {home}"),
        ]);
        let get = |key| conf.get(key).unwrap();
        assert_eq!(get("dir"), "/data/x/y");
        assert_eq!(get("twice"), "/data/x/y /data/x/y");
        assert_eq!(get("jvm"), "${user.name}-/data");
        assert_eq!(get("default"), "z");
        assert_eq!(get("odd"), "${} ${a b} $ {home}");
        assert!(get("loop").len() < 100);
    }

    #[test]
    fn an_executor_has_its_site_files_and_sparks_settings() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let text = format!("<?xml version=\"1.0\"?><configuration>{text}</configuration>");
            fs::write(dir.path().join(name), text).unwrap();
        };
        let mut properties = SparkProperties::default();
        properties.set("spark.hadoop.b", "spark");
        write(
            "core-site.xml",
            "<property><name>a</name><value>1</value><final>true</final></property>
             <property name=\"b\" value=\"site\"/>",
        );
        write(
            "hdfs-site.xml",
            "<property><name>c</name><value/></property>",
        );
        let path = [PathBuf::from("/nonexistent"), dir.path().to_owned()];
        let none = Environment::default();
        let conf = HadoopConf::of_executor(&path, &properties, &none);
        let expected = HadoopConf::from([("a", "1"), ("b", "spark"), ("c", "")]);
        assert_eq!(conf, Ok(expected));
        let keys = Environment::from([("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")]);
        let conf = HadoopConf::of_executor(&path, &properties, &keys).unwrap();
        assert_eq!(conf.text("fs.s3a.access.key").as_deref(), Some("k"));
        write(
            "core-site.xml",
            "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"x\"/>",
        );
        let refused = HadoopConf::of_executor(&path, &properties, &none);
        assert_eq!(refused, Err("core-site.xml has <include>".to_owned()));
    }
}
