//! Raw Spark properties: where an executor gets them from, which source wins, and typed access with errors that name
//! the property.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::SettingError;
use super::declared::{
    Decimal, Family, Kind, List, Property, Size, Switch, Text, Time, TimeLimit, Whole,
};

/// Deepest nesting of `${…}` references.
const MAX_REFERENCE_DEPTH: usize = 16;

/// References that are resolved for one value; more stay as they are.
const MAX_REFERENCES: usize = 1000;
/// Bytes that references bring into one value; those that would bring more stay as they are.
const MAX_REFERENCED_BYTES: usize = 256 << 10;

/// What may still be resolved: values that name others twice, which name others twice, would grow without end.
struct Budget {
    references: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            references: MAX_REFERENCES,
            bytes: MAX_REFERENCED_BYTES,
        }
    }
}

impl Budget {
    /// True if the value of one more reference may be put in.
    fn take(&mut self, value: &str) -> bool {
        let left = self.references.checked_sub(1);
        let Some((references, bytes)) = left.zip(self.bytes.checked_sub(value.len())) else {
            return false;
        };
        *self = Self { references, bytes };
        true
    }
}

/// The properties of an executor by name. Values are not printed: some are secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SparkProperties {
    values: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
    system: BTreeMap<String, String>,
}

impl fmt::Debug for SparkProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// True for properties that an executor needs before it can ask the driver, so that its own `-D` options win over what
/// the driver says: security, RPC, network, TLS without passwords, and ports.
pub fn is_startup_key(key: &str) -> bool {
    (key.starts_with("spark.auth") && key != "spark.authenticate.secret")
        || key.starts_with("spark.rpc")
        || key.starts_with("spark.network")
        || (key.starts_with("spark.ssl") && !key.contains("Password"))
        || (key.starts_with("spark.") && key.ends_with(".port"))
        || key.starts_with("spark.port.")
}

impl SparkProperties {
    /// Starts from the system properties of the launch command: those whose name begins with `spark.` are Spark's. All
    /// of them, and `environment`, can be referred to by values.
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

    /// Takes one property away; true if it was set.
    pub fn remove(&mut self, key: impl AsRef<str>) -> bool {
        self.values.remove(key.as_ref()).is_some()
    }

    /// The value as it was set, without references resolved.
    pub fn raw(&self, key: impl AsRef<str>) -> Option<&str> {
        self.values.get(key.as_ref()).map(String::as_str)
    }

    /// True if the property is set.
    pub fn contains(&self, key: impl AsRef<str>) -> bool {
        self.values.contains_key(key.as_ref())
    }

    /// All properties in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value with its references resolved: `${spark.x}`, `${env:X}`, `${system:x}`. An unknown reference stays as
    /// it is.
    pub fn get(&self, key: impl AsRef<str>) -> Option<String> {
        Some(self.resolve(self.raw(key)?, 0, &mut Budget::default()))
    }

    fn resolve(&self, text: &str, depth: usize, budget: &mut Budget) -> String {
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
            match value.filter(|value| budget.take(value)) {
                Some(value) => resolved.push_str(&self.resolve(value, depth + 1, budget)),
                None => resolved.extend(["${", name, "}"]),
            }
            rest = after;
        }
        resolved.push_str(rest);
        resolved
    }

    /// The value of `key` read as one of that kind; `None` if it is not set.
    pub(super) fn value_of<K: Kind>(
        &self,
        key: &str,
        kind: &K,
    ) -> Result<Option<K::Value>, SettingError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match kind.parse(&value) {
            Some(value) => Ok(Some(value)),
            None => Err(wrong(key, kind, value)),
        }
    }

    /// The value of a property; `None` if it is not set, whatever its default is.
    ///
    /// # Errors
    /// It is not of the property's kind.
    pub fn optional<K: Kind>(
        &self,
        property: &Property<K>,
    ) -> Result<Option<K::Value>, SettingError> {
        self.value_of(property.key, &property.kind)
    }

    /// The value of a property, else its default.
    fn value<K: Kind>(&self, property: &Property<K>) -> Result<K::Value, SettingError> {
        if let Some(value) = self.optional(property)? {
            return Ok(value);
        }
        let default = property.about.default.first().unwrap_or_default();
        let value = property.default_value();
        value.ok_or_else(|| wrong(property.key, &property.kind, default.to_owned()))
    }

    /// A text; empty if it is not set and has no default.
    pub fn text(&self, property: &Property<Text>) -> String {
        let default = || property.about.default.first().unwrap_or_default();
        self.get(property.key)
            .unwrap_or_else(|| default().to_owned())
    }

    /// A text with a default that only the caller knows.
    pub fn text_or(&self, property: &Property<Text>, default: &str) -> String {
        self.get(property.key).unwrap_or_else(|| default.to_owned())
    }

    /// A switch.
    ///
    /// # Errors
    /// The value is neither `true` nor `false`.
    pub fn switch(&self, property: &Property<Switch>) -> Result<bool, SettingError> {
        self.value(property)
    }

    /// A switch with a default that only the caller knows.
    ///
    /// # Errors
    /// As [`Self::switch`].
    pub fn switch_or(
        &self,
        property: &Property<Switch>,
        default: bool,
    ) -> Result<bool, SettingError> {
        Ok(self.optional(property)?.unwrap_or(default))
    }

    /// A whole number.
    ///
    /// # Errors
    /// The value is no number or lies outside of the property's bounds.
    pub fn number<T: TryFrom<i128>>(&self, property: &Property<Whole>) -> Result<T, SettingError> {
        fitting(property.key, &property.kind, self.value(property)?)
    }

    /// A whole number that may be absent, or has a default that only the caller knows.
    ///
    /// # Errors
    /// As [`Self::number`].
    pub fn optional_number<T: TryFrom<i128>>(
        &self,
        property: &Property<Whole>,
    ) -> Result<Option<T>, SettingError> {
        let number = self.optional(property)?;
        number
            .map(|number| fitting(property.key, &property.kind, number))
            .transpose()
    }

    /// A whole number of a family; 0 if it is not set.
    ///
    /// # Errors
    /// As [`Self::number`].
    pub fn number_of<T: TryFrom<i128>>(
        &self,
        family: &Family<Whole>,
        member: &str,
    ) -> Result<T, SettingError> {
        let key = family.key(member);
        let number = self.value_of(&key, &family.kind)?;
        fitting(&key, &family.kind, number.unwrap_or(0))
    }

    /// A number.
    ///
    /// # Errors
    /// The value is no number or lies outside of the property's bounds.
    pub fn decimal(&self, property: &Property<Decimal>) -> Result<f64, SettingError> {
        self.value(property)
    }

    /// A time.
    ///
    /// # Errors
    /// The value is not a time in Spark's notation.
    pub fn time(&self, property: &Property<Time>) -> Result<Duration, SettingError> {
        self.value(property)
    }

    /// A time with a default that only the caller knows.
    ///
    /// # Errors
    /// As [`Self::time`].
    pub fn time_or(
        &self,
        property: &Property<Time>,
        default: Duration,
    ) -> Result<Duration, SettingError> {
        Ok(self.optional(property)?.unwrap_or(default))
    }

    /// A time that is no limit if it is absent, negative or nothing.
    ///
    /// # Errors
    /// The value is not a time in Spark's notation.
    pub fn limit(&self, property: &Property<TimeLimit>) -> Result<Option<Duration>, SettingError> {
        self.value(property)
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// The value is not a size in Spark's notation.
    pub fn size(&self, property: &Property<Size>) -> Result<u64, SettingError> {
        self.value(property)
    }

    /// The elements of a list; every text is one.
    pub fn list(&self, property: &Property<List>) -> Vec<String> {
        self.value(property).unwrap_or_default()
    }
}

/// A number as the type that the caller wants; the bounds are within it.
fn fitting<T: TryFrom<i128>>(key: &str, kind: &Whole, number: i128) -> Result<T, SettingError> {
    T::try_from(number).map_err(|_| wrong(key, kind, number.to_string()))
}

fn wrong(key: &str, kind: &impl Kind, value: String) -> SettingError {
    SettingError::Invalid {
        key: key.to_owned(),
        value,
        expected: kind.expected(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::declared::DefaultValue;
    use super::super::units::{SizeUnit, TimeUnit};
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
    fn values_do_not_grow_without_end() {
        let mut conf = SparkProperties::default();
        for level in 0..20 {
            let next = format!("${{spark.n{}}}", level + 1);
            conf.set(format!("spark.n{level}"), next.repeat(100));
        }
        for leaf in ["", "x"] {
            conf.set("spark.n10", leaf.repeat(1000));
            let value = conf.get("spark.n0").unwrap();
            assert!(value.len() <= 2 * MAX_REFERENCED_BYTES, "{}", value.len());
        }
    }

    #[test]
    fn errors_name_the_property_and_what_it_should_be() {
        let conf = properties(&[("spark.x", "abc")]);
        fn text<T>(result: Result<T, SettingError>) -> String {
            let error = result.err();
            error.map(|error| error.to_string()).unwrap_or_default()
        }
        fn property<K>(kind: K) -> Property<K> {
            Property::new("spark.x", kind, DefaultValue::Unset)
        }
        assert_eq!(
            text(conf.switch(&property(Switch))),
            "spark.x should be true or false, but was 'abc'"
        );
        let whole = property(Whole { least: 0, most: 5 });
        assert_eq!(
            text(conf.number::<u8>(&whole)),
            "spark.x should be a number between 0 and 5, but was 'abc'"
        );
        let time = property(Time(TimeUnit::Millis));
        assert!(text(conf.time(&time)).starts_with("spark.x should be a time"));
        let size = property(Size(SizeUnit::Bytes));
        assert!(text(conf.size(&size)).starts_with("spark.x should be a size"));
    }

    #[test]
    fn what_is_not_set_has_its_default() -> Result<(), SettingError> {
        let conf = properties(&[("spark.set", "3")]);
        let number = |key: &'static str, default| {
            Property::new(
                key,
                Whole {
                    least: 0,
                    most: 300,
                },
                default,
            )
        };
        let set = number("spark.set", DefaultValue::Is("7"));
        let not_set = number("spark.notSet", DefaultValue::Is("7"));
        assert_eq!(conf.number::<u8>(&set)?, 3);
        assert_eq!(conf.number::<u8>(&not_set)?, 7);
        assert_eq!(conf.optional_number::<u8>(&not_set)?, None);
        // A default that is none of the kind, or does not fit the type, is an error and no panic.
        let unset = number("spark.notSet", DefaultValue::Unset);
        assert!(conf.number::<u8>(&unset).is_err());
        let large = number("spark.notSet", DefaultValue::Is("300"));
        assert!(conf.number::<u8>(&large).is_err());
        Ok(())
    }
}
