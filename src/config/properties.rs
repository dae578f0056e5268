//! Raw Spark properties: where an executor gets them from, which source wins, and typed access with errors that name the property.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use super::SettingError;
use super::units::{self, SizeUnit, TimeUnit};

/// Deepest nesting of `${…}` references.
const MAX_REFERENCE_DEPTH: usize = 16;

/// The properties of an executor by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SparkProperties {
    values: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
    system: BTreeMap<String, String>,
}

/// True for properties that an executor needs before it can ask the driver, so that its own `-D` options win over what the driver says:
/// security, RPC, network, TLS without passwords, and ports.
pub fn is_startup_key(key: &str) -> bool {
    (key.starts_with("spark.auth") && key != "spark.authenticate.secret")
        || key.starts_with("spark.rpc")
        || key.starts_with("spark.network")
        || (key.starts_with("spark.ssl") && !key.contains("Password"))
        || (key.starts_with("spark.") && key.ends_with(".port"))
        || key.starts_with("spark.port.")
}

impl SparkProperties {
    /// Starts from the system properties of the launch command: those whose name begins with `spark.` are Spark's. All of them, and
    /// `environment`, can be referred to by values.
    pub fn from_launch<'a>(
        system: impl IntoIterator<Item = (&'a str, &'a str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let system: BTreeMap<String, String> = system
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let values = system
            .iter()
            .filter(|(key, _)| key.starts_with("spark."))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Self {
            values,
            environment: environment.into_iter().collect(),
            system,
        }
    }

    /// Adds what the driver sent: it wins, except for start-up properties that the launch command has set.
    pub fn merge_driver(&mut self, driver: impl IntoIterator<Item = (String, String)>) {
        for (key, value) in driver {
            if is_startup_key(&key) {
                self.values.entry(key).or_insert(value);
            } else {
                self.values.insert(key, value);
            }
        }
    }

    /// Sets one property.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.values.insert(key.into(), value.into());
    }

    /// The value as it was set, without references resolved.
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// True if the property is set.
    pub fn contains(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// All properties in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value with its references resolved: `${spark.x}`, `${env:X}`, `${system:x}`. An unknown reference stays as it is.
    pub fn get(&self, key: &str) -> Option<String> {
        Some(self.resolve(self.raw(key)?, 0))
    }

    fn resolve(&self, text: &str, depth: usize) -> String {
        if depth > MAX_REFERENCE_DEPTH {
            return text.to_owned();
        }
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, reference)) = rest.split_once("${") {
            resolved.push_str(before);
            let Some((name, after)) = reference.split_once('}') else {
                resolved.push_str("${");
                rest = reference;
                continue;
            };
            let value = match name.split_once(':') {
                Some(("env", name)) => self.environment.get(name),
                Some(("system", name)) => self.system.get(name),
                Some(_) => None,
                None => self.values.get(name),
            };
            match value {
                Some(value) => resolved.push_str(&self.resolve(value, depth + 1)),
                None => resolved.extend(["${", name, "}"]),
            }
            rest = after;
        }
        resolved.push_str(rest);
        resolved
    }

    fn read<T>(
        &self,
        key: &str,
        default: T,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, SettingError> {
        let Some(value) = self.get(key) else {
            return Ok(default);
        };
        parse(&value).ok_or_else(|| SettingError::Invalid {
            key: key.to_owned(),
            value,
            expected: expected.to_owned(),
        })
    }

    /// A text setting.
    pub fn text(&self, key: &str, default: &str) -> String {
        self.get(key).unwrap_or_else(|| default.to_owned())
    }

    /// A switch.
    ///
    /// # Errors
    /// The value is neither `true` nor `false`.
    pub fn switch(&self, key: &str, default: bool) -> Result<bool, SettingError> {
        self.read(key, default, "true or false", units::parse_bool)
    }

    /// A number between two bounds, both included.
    ///
    /// # Errors
    /// The value is no number of that kind or lies outside.
    pub fn number<T: FromStr + PartialOrd + Display>(
        &self,
        key: &str,
        default: T,
        least: T,
        most: T,
    ) -> Result<T, SettingError> {
        let expected = format!("a number between {least} and {most}");
        self.read(key, default, &expected, |text| {
            text.trim()
                .parse()
                .ok()
                .filter(|number| *number >= least && *number <= most)
        })
    }

    /// A time.
    ///
    /// # Errors
    /// The value is not a time in Spark's notation.
    pub fn time(
        &self,
        key: &str,
        default: Duration,
        unit: TimeUnit,
    ) -> Result<Duration, SettingError> {
        self.read(key, default, units::TIME, |text| {
            units::parse_time(text, unit)
        })
    }

    /// A time that may be absent.
    ///
    /// # Errors
    /// The value is not a time in Spark's notation.
    pub fn optional_time(
        &self,
        key: &str,
        unit: TimeUnit,
    ) -> Result<Option<Duration>, SettingError> {
        self.read(key, None, units::TIME, |text| {
            units::parse_time(text, unit).map(Some)
        })
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// The value is not a size in Spark's notation.
    pub fn size(&self, key: &str, default: u64, unit: SizeUnit) -> Result<u64, SettingError> {
        self.read(key, default, units::SIZE, |text| {
            units::parse_size(text, unit)
        })
    }

    /// A comma-separated list; blanks around its elements and empty elements do not count.
    pub fn list(&self, key: &str) -> Vec<String> {
        let text = self.get(key).unwrap_or_default();
        text.split(',')
            .map(str::trim)
            .filter(|element| !element.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&'static str, &'static str)]) -> SparkProperties {
        SparkProperties::from_launch(
            pairs.iter().copied(),
            [("HOME".to_owned(), "/home/ann".to_owned())],
        )
    }

    #[test]
    fn the_launch_command_wins_for_startup_properties_only() {
        let mut conf = properties(&[
            ("spark.network.timeout", "10s"),
            ("spark.executor.memory", "1g"),
            ("user.dir", "/"),
        ]);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        conf.merge_driver([
            pair("spark.network.timeout", "20s"),
            pair("spark.executor.memory", "2g"),
            pair("spark.rpc.askTimeout", "5s"),
        ]);
        assert_eq!(conf.raw("spark.network.timeout"), Some("10s"));
        assert_eq!(conf.raw("spark.executor.memory"), Some("2g"));
        assert_eq!(conf.raw("spark.rpc.askTimeout"), Some("5s"));
        assert_eq!(conf.raw("user.dir"), None);
    }

    #[test]
    fn startup_properties_are_sparks() {
        for key in [
            "spark.authenticate",
            "spark.auth.x",
            "spark.rpc.io.threads",
            "spark.network.timeout",
            "spark.ssl.rpc.keyStore",
            "spark.driver.port",
            "spark.port.maxRetries",
        ] {
            assert!(is_startup_key(key), "{key}");
        }
        for key in [
            "spark.authenticate.secret",
            "spark.ssl.rpc.keyStorePassword",
            "spark.executor.memory",
            "other.port",
            "spark.ports",
        ] {
            assert!(!is_startup_key(key), "{key}");
        }
    }

    #[test]
    fn values_refer_to_others() {
        let conf = properties(&[
            (
                "spark.a",
                "${spark.b}/${env:HOME}/${system:user.name}/${env:NONE}/${other:x}/${open",
            ),
            ("spark.b", "<${spark.c}>"),
            ("spark.c", "c"),
            ("spark.loop", "x${spark.loop}"),
            ("user.name", "ann"),
        ]);
        assert_eq!(
            conf.get("spark.a").as_deref(),
            Some("<c>//home/ann/ann/${env:NONE}/${other:x}/${open")
        );
        assert!(conf.get("spark.loop").is_some_and(|text| text.len() < 100));
    }

    #[test]
    fn errors_name_the_property_and_what_it_should_be() {
        let conf = properties(&[("spark.x", "abc")]);
        let text = |result: Result<(), SettingError>| {
            result
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert_eq!(
            text(conf.switch("spark.x", true).map(|_| ())),
            "spark.x should be true or false, but was 'abc'"
        );
        assert_eq!(
            text(conf.number("spark.x", 1, 0, 5).map(|_| ())),
            "spark.x should be a number between 0 and 5, but was 'abc'"
        );
        assert!(
            text(
                conf.time("spark.x", Duration::ZERO, TimeUnit::Millis)
                    .map(|_| ())
            )
            .starts_with("spark.x should be a time")
        );
        assert!(
            text(conf.size("spark.x", 0, SizeUnit::Bytes).map(|_| ()))
                .starts_with("spark.x should be a size")
        );
    }

    #[test]
    fn lists_have_commas() {
        assert_eq!(
            properties(&[("spark.l", " a,,b ,")]).list("spark.l"),
            ["a", "b"]
        );
        assert!(properties(&[]).list("spark.l").is_empty());
    }
}
