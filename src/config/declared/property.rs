//! What a declaration says of a property.

use super::super::lane_name::LaneName;
use super::super::{SettingError, SparkProperties};
use super::kinds::Kind;

/// A version of Spark: major and minor.
pub type Version = (u32, u32);

/// The versions of Spark whose defaults are known.
pub const KNOWN_VERSIONS: [Version; 5] = [(3, 5), (4, 0), (4, 1), (4, 2), (4, 3)];

/// The version in texts such as `4.1.0-SNAPSHOT`; what is no number counts as 0.
pub fn version_of(text: &str) -> Version {
    let mut parts = text
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// The part of the executor that reads a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The executor's life, tasks and resources.
    Executor,
    /// The division of memory.
    Memory,
    /// Connections and RPC.
    Network,
    /// Blocks, broadcasts and decommissioning.
    Storage,
    /// Shuffles.
    Shuffle,
    /// Serializers, compression and encryption of files.
    Serialization,
    /// Files and file systems.
    Files,
    /// Tasks and workers of PySpark.
    Python,
    /// Stages of Spark SQL.
    Sql,
    /// Firesteel itself: no settings of Spark's.
    Firesteel,
}

impl Owner {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 10] = [
        Self::Firesteel,
        Self::Executor,
        Self::Memory,
        Self::Network,
        Self::Storage,
        Self::Shuffle,
        Self::Serialization,
        Self::Files,
        Self::Python,
        Self::Sql,
    ];

    /// The title of its table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Executor => "Executor",
            Self::Memory => "Memory",
            Self::Network => "Network",
            Self::Storage => "Storage and decommissioning",
            Self::Shuffle => "Shuffle",
            Self::Serialization => "Serialization, compression, encryption",
            Self::Files => "Files",
            Self::Python => "Python",
            Self::Sql => "SQL",
            Self::Firesteel => "Firesteel",
        }
    }
}

/// The value of a property that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// A text, written as Spark writes it.
    Is(&'static str),
    /// A text that is another one from some versions on, in ascending order.
    Changed(&'static str, &'static [(Version, &'static str)]),
    /// A text of Firesteel's own, and that of Spark.
    Own(&'static str, &'static str),
    /// There is none: without it, there is nothing to be done.
    Unset,
    /// It depends; in words.
    From(&'static str),
}

impl DefaultValue {
    /// The text in Spark's first known version; what there is to be read if nothing is set.
    pub const fn first(self) -> Option<&'static str> {
        match self {
            Self::Is(text) | Self::Changed(text, _) | Self::Own(text, _) => Some(text),
            Self::Unset | Self::From(_) => None,
        }
    }

    /// The text in that version, if it is another one than in the first known version.
    pub fn changed(self, version: Version) -> Option<&'static str> {
        let Self::Changed(_, changes) = self else {
            return None;
        };
        let last = changes.iter().rfind(|(since, _)| version >= *since);
        last.map(|(_, text)| *text)
    }
}

/// What Firesteel does with a property.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// It is obeyed without a JVM.
    Native,
    /// It is obeyed without a JVM, but for what is said here.
    NativeBut(&'static str),
    /// Native code only makes sure that its value is a good one: why that is all.
    Checked(&'static str),
    /// The JVM obeys it: what is done for that.
    Jvm(&'static str),
    /// `true` stops the executor from starting.
    Refused,
    /// Native lanes run nothing unless it has one of the values that they know.
    KnownValues(&'static [KnownValues]),
}

/// The values of a property with which a lane can run tasks.
#[derive(Debug, Clone, Copy)]
pub struct KnownValues {
    /// The lane.
    pub lane: LaneName,
    /// The values.
    pub values: &'static [&'static str],
    /// The reason to delegate, of the key and another value.
    pub reason: fn(&str, &str) -> String,
}

/// The usual [`KnownValues::reason`].
pub(super) fn is(key: &str, value: &str) -> String {
    format!("{key} is {value}")
}

/// What all declarations have.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The constant's name.
    pub constant: &'static str,
    /// The part that reads it.
    pub owner: Owner,
    /// The value if it is not set.
    pub default: DefaultValue,
    /// The first version of Spark that knows it, if not the first that Firesteel knows.
    pub since: Option<Version>,
    /// What Firesteel does with it.
    pub effect: Effect,
    meaning: &'static str,
}

impl About {
    const fn new(default: DefaultValue) -> Self {
        Self {
            constant: "",
            owner: Owner::Executor,
            default,
            since: None,
            effect: Effect::Native,
            meaning: "",
        }
    }

    /// What it means, as a sentence.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim()
    }
}

/// A property that is read.
#[derive(Debug, Clone, Copy)]
pub struct Property<K> {
    /// Its name.
    pub key: &'static str,
    /// How its value is written.
    pub kind: K,
    /// What else there is to say.
    pub about: About,
}

/// Properties whose names differ in one part: `spark.hadoop.*`, `spark.executor.resource.*.amount`.
#[derive(Debug, Clone, Copy)]
pub struct Family<K> {
    /// What is in front of the part.
    pub prefix: &'static str,
    /// What follows it.
    pub suffix: &'static str,
    /// All that the part can be, without dots in it; any text if this is empty.
    pub members: &'static [&'static str],
    /// How their values are written.
    pub kind: K,
    /// What else there is to say.
    pub about: About,
}

/// A property that the driver gives to the tasks of a job (`SparkContext.setLocalProperty`).
#[derive(Debug, Clone, Copy)]
pub struct LocalProperty {
    /// Its name.
    pub key: &'static str,
}

impl<K> Property<K> {
    pub(in crate::config) const fn new(key: &'static str, kind: K, default: DefaultValue) -> Self {
        Self {
            key,
            kind,
            about: About::new(default),
        }
    }
}

impl<K> Property<K> {
    /// Says from which version of Spark on there is such a property.
    pub(super) const fn since(mut self, version: Version) -> Self {
        self.about.since = Some(version);
        self
    }
}

impl<K: Kind> Property<K> {
    /// The default of the first known version, unless there is none or it depends.
    pub fn default_value(&self) -> Option<K::Value> {
        self.kind.parse(self.about.default.first()?)
    }
}

impl<K> AsRef<str> for Property<K> {
    fn as_ref(&self) -> &str {
        self.key
    }
}

impl AsRef<str> for LocalProperty {
    fn as_ref(&self) -> &str {
        self.key
    }
}

impl<K> Family<K> {
    pub(super) const fn new(
        prefix: &'static str,
        suffix: &'static str,
        members: &'static [&'static str],
        kind: K,
        default: DefaultValue,
    ) -> Self {
        Self {
            prefix,
            suffix,
            members,
            kind,
            about: About::new(default),
        }
    }

    /// The property of that member.
    pub fn key(&self, member: &str) -> String {
        [self.prefix, member, self.suffix].concat()
    }

    /// The member that a property is of, if it is of this family.
    pub fn member<'a>(&self, key: &'a str) -> Option<&'a str> {
        let member = key.strip_prefix(self.prefix)?.strip_suffix(self.suffix)?;
        let known = self.members.is_empty() || self.members.contains(&member);
        (known && !member.is_empty()).then_some(member)
    }
}

macro_rules! builders {
    ($type:ident) => {
        impl<K> $type<K> {
            /// Says what Firesteel does with it, if it does not just obey.
            pub(super) const fn effect(mut self, effect: Effect) -> Self {
                self.about.effect = effect;
                self
            }

            /// Completes the declaration.
            pub(super) const fn described(
                mut self,
                owner: Owner,
                constant: &'static str,
                meaning: &'static str,
            ) -> Self {
                self.about.owner = owner;
                self.about.constant = constant;
                self.about.meaning = meaning;
                self
            }
        }
    };
}

builders!(Property);
builders!(Family);

/// A [`Property`] or [`Family`] of any kind.
pub trait Declaration: Sync {
    /// What there is to say of it.
    fn about(&self) -> &About;

    /// The name in tables; the part that differs is `*`, or its possible values in braces.
    fn title(&self) -> String;

    /// The property's name, if this is a single one.
    fn key(&self) -> Option<&'static str>;

    /// True if a property of that name is declared by this.
    fn declares(&self, key: &str) -> bool;

    /// The kind of its values in a word or two.
    fn kind(&self) -> &'static str;

    /// Looks at the value of `key`, one of the declared properties.
    ///
    /// # Errors
    /// It is set to a value that is not of the kind.
    fn check(&self, properties: &SparkProperties, key: &str) -> Result<(), SettingError>;
}

impl<K: Kind + Sync> Declaration for Property<K> {
    fn about(&self) -> &About {
        &self.about
    }

    fn title(&self) -> String {
        self.key.to_owned()
    }

    fn key(&self) -> Option<&'static str> {
        Some(self.key)
    }

    fn declares(&self, key: &str) -> bool {
        self.key == key
    }

    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    fn check(&self, properties: &SparkProperties, key: &str) -> Result<(), SettingError> {
        properties.value_of(key, &self.kind).map(|_| ())
    }
}

impl<K: Kind + Sync> Declaration for Family<K> {
    fn about(&self) -> &About {
        &self.about
    }

    fn title(&self) -> String {
        match self.members {
            [] => self.key("*"),
            members => self.key(&format!("{{{}}}", members.join(","))),
        }
    }

    fn key(&self) -> Option<&'static str> {
        None
    }

    fn declares(&self, key: &str) -> bool {
        self.member(key).is_some()
    }

    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    fn check(&self, properties: &SparkProperties, key: &str) -> Result<(), SettingError> {
        properties.value_of(key, &self.kind).map(|_| ())
    }
}
