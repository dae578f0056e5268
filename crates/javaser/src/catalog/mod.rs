//! Class descriptors as the JVM would compute them, read from a class path.
//!
//! On the start-up path: jars are opened when they are needed, and classes of Spark and Scala are first looked for in
//! the jars that bear their names.

mod classpath;
mod jdk;
mod version;
mod zip;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::classfile::{ACC_INTERFACE, ACC_PUBLIC, ClassFile, ClassFileError, array_suid, dotted};
use crate::stream::*;
use classpath::ClassPath;

pub use version::ScalaVersion;

/// Descriptor of a class: what `java.io.ObjectStreamClass` says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassDesc {
    /// Name with dots; `[I` or `[Lscala.Tuple2;` for arrays.
    pub name: String,
    /// `serialVersionUID`, declared or computed. 0 for enums and for classes that are not serializable.
    pub suid: i64,
    /// Stream flags (`SC_*`). 0 for classes that are not serializable.
    pub flags: u8,
    /// Serial fields in stream order: primitives first, each group by name.
    pub fields: Vec<FieldDesc>,
    /// Super class, if that is serializable.
    pub super_desc: Option<Arc<ClassDesc>>,
}

impl ClassDesc {
    /// Serializable levels, topmost super class first.
    #[must_use]
    pub fn levels(&self) -> Vec<&Self> {
        let mut levels = vec![self];
        let mut above = self.super_desc.as_deref();
        while let Some(class) = above {
            levels.push(class);
            above = class.super_desc.as_deref();
        }
        levels.reverse();
        levels
    }

    /// Whether instances write everything themselves.
    #[must_use]
    pub fn is_externalizable(&self) -> bool {
        self.flags & SC_EXTERNALIZABLE != 0
    }

    /// Whether the class is an enum.
    #[must_use]
    pub fn is_enum(&self) -> bool {
        self.flags & SC_ENUM != 0
    }

    /// Whether the class has a `writeObject`.
    #[must_use]
    pub fn has_write_object(&self) -> bool {
        self.flags & SC_WRITE_METHOD != 0
    }

    /// Whether the class or a super class has this name.
    #[must_use]
    pub fn is_a(&self, class: &str) -> bool {
        let mut level = Some(self);
        while let Some(c) = level {
            if c.name == class {
                return true;
            }
            level = c.super_desc.as_deref();
        }
        false
    }
}

/// Declared field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDesc {
    /// Name.
    pub name: String,
    /// Type in Java's signature form: `J`, `[B`, `Ljava/lang/String;`.
    pub signature: String,
}

/// Why a class cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// No entry of the class path has it.
    #[error("class {class} is in none of the {entries} entries of the class path")]
    ClassNotFound {
        /// The class.
        class: String,
        /// Entries searched.
        entries: usize,
    },
    /// `ObjectStreamClass.lookup` would give `null`.
    #[error("class {class} ({jar}) is not serializable")]
    NotSerializable {
        /// The class.
        class: String,
        /// Where it was found.
        jar: String,
    },
    /// The jar is damaged or cannot be read.
    #[error("cannot read {jar}: {why}")]
    Jar {
        /// The jar or directory.
        jar: String,
        /// What the system or the format check says.
        why: String,
    },
    /// The class file is damaged.
    #[error("class {class} in {jar}: {source}")]
    ClassFile {
        /// The class.
        class: String,
        /// Where it was found.
        jar: String,
        /// What is wrong with it.
        source: ClassFileError,
    },
    /// The descriptor can only be known by running the class.
    #[error("class {class} in {jar}: {why}")]
    Unsupported {
        /// The class.
        class: String,
        /// Where it was found.
        jar: String,
        /// What it does.
        why: &'static str,
    },
    /// The class path has no Spark, no Scala, or an unknown version.
    #[error("{0}")]
    Version(String),
}

impl CatalogError {
    /// Stable code of the error, for reports and tests.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ClassNotFound { .. } => "class-not-found",
            Self::NotSerializable { .. } => "class-not-serializable",
            Self::Jar { .. } => "class-path-jar",
            Self::ClassFile { .. } => "class-file",
            Self::Unsupported { .. } => "class-unsupported",
            Self::Version(_) => "class-path-version",
        }
    }
}

/// Class descriptors of one class path. Thread-safe; every class is read once.
#[derive(Debug)]
pub struct Catalog {
    path: ClassPath,
    classes: Mutex<HashMap<String, Arc<Class>>>,
    scala: OnceLock<ScalaVersion>,
}

/// What is known about a class or interface.
#[derive(Debug)]
struct Class {
    name: String,
    /// Where it was found.
    jar: String,
    modifiers: u16,
    serializable: bool,
    externalizable: bool,
    /// Descriptor or why there is none. For a class that is not serializable it has neither flags nor fields.
    desc: Result<Arc<ClassDesc>, CatalogError>,
}

/// The JVM's own limit for super classes is its stack; hostile class files could name each other in a circle.
const MAX_NESTING: usize = 128;

impl Catalog {
    /// Catalog of a class path as the JVM gets it: jars, directories, and `DIR/*` for all jars of a directory. Entries
    /// that do not exist are ignored as the JVM does.
    ///
    /// Opens nothing yet.
    ///
    /// # Errors
    /// [`CatalogError::Jar`] if a `DIR/*` cannot be listed.
    pub fn from_class_path(entries: &[PathBuf]) -> Result<Self, CatalogError> {
        Ok(Self {
            path: ClassPath::new(entries)?,
            classes: Mutex::default(),
            scala: OnceLock::new(),
        })
    }

    /// Descriptor of a serializable class, by its name with dots.
    ///
    /// # Errors
    /// [`CatalogError`]; each names the class, and the jar where there is one.
    pub fn lookup(&self, class: &str) -> Result<Arc<ClassDesc>, CatalogError> {
        let found = self.class(class, 0)?;
        if !found.serializable {
            return Err(CatalogError::NotSerializable {
                class: class.to_owned(),
                jar: found.jar.clone(),
            });
        }
        found.desc.clone()
    }

    /// As [`Catalog::lookup`], but a class that is not serializable has a descriptor too, as in a `java.lang.Class`
    /// value.
    ///
    /// # Errors
    /// [`CatalogError`]
    pub fn lookup_any(&self, class: &str) -> Result<Arc<ClassDesc>, CatalogError> {
        self.class(class, 0)?.desc.clone()
    }

    /// Whether the class exists, serializable or not. Classes of the JDK exist if they are serializable.
    #[must_use]
    pub fn contains(&self, class: &str) -> bool {
        if jdk::is_jdk(class) {
            jdk::lookup(class).is_some()
        } else {
            self.path
                .find(&class_file(class))
                .is_ok_and(|f| f.is_some())
        }
    }

    /// Content of the first resource with this path, for example `spark-version-info.properties`.
    #[must_use]
    pub fn resource(&self, path: &str) -> Option<Vec<u8>> {
        self.path.read(path).ok()?.map(|(_, content)| content)
    }

    /// Whether the class file of a class contains a text, as it does where the class uses a name or a string. `None` if
    /// there is no such class.
    #[must_use]
    pub fn mentions(&self, class: &str, text: &str) -> Option<bool> {
        let file = self.resource(&class_file(class))?;
        Some(memchr::memmem::find(&file, text.as_bytes()).is_some())
    }

    /// The jar or directory from which the JVM would load the class.
    #[must_use]
    pub fn jar_of(&self, class: &str) -> Option<PathBuf> {
        self.path.find(&class_file(class)).ok()?.map(Path::to_owned)
    }

    fn class(&self, name: &str, depth: usize) -> Result<Arc<Class>, CatalogError> {
        if let Some(known) = self
            .classes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
        {
            return Ok(known.clone());
        }
        let class = Arc::new(self.read_class(name, depth)?);
        self.classes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), class.clone());
        Ok(class)
    }

    fn read_class(&self, name: &str, depth: usize) -> Result<Class, CatalogError> {
        if name.starts_with('[') {
            return self.array_class(name, depth);
        }
        if jdk::is_jdk(name) {
            return self.jdk_class(name, depth);
        }
        let Some((jar, content)) = self.path.read(&class_file(name))? else {
            return Err(CatalogError::ClassNotFound {
                class: name.to_owned(),
                entries: self.path.len(),
            });
        };
        let jar = jar.display().to_string();
        let broken = |source| CatalogError::ClassFile {
            class: name.to_owned(),
            jar: jar.clone(),
            source,
        };
        if depth > MAX_NESTING {
            return Err(broken(ClassFileError(
                "its super classes are nested too deeply",
            )));
        }
        let file = ClassFile::parse(&content).map_err(broken)?;
        if file.name() != name {
            return Err(broken(ClassFileError("it has another name")));
        }
        let super_class = match file.super_name {
            Some(b"java/lang/Object") | None => None,
            Some(super_name) => Some(self.class(&dotted(super_name), depth + 1)?),
        };
        let mut serializable = super_class.as_ref().is_some_and(|s| s.serializable);
        let mut externalizable = super_class.as_ref().is_some_and(|s| s.externalizable);
        for interface in &file.interfaces {
            match *interface {
                b"java/io/Serializable" | b"scala/Serializable" => serializable = true,
                // No trait of the Scala library extends Externalizable.
                other if serializable && other.starts_with(b"scala/") => {}
                other => {
                    let other = self.class(&dotted(other), depth + 1)?;
                    serializable |= other.serializable;
                    externalizable |= other.externalizable;
                }
            }
        }
        let desc = if file.modifiers & ACC_INTERFACE != 0 || !serializable {
            Ok(ClassDesc {
                name: name.to_owned(),
                suid: 0,
                flags: 0,
                fields: Vec::new(),
                super_desc: None,
            })
        } else {
            describe(name, &jar, &file, super_class.as_deref(), externalizable)
        };
        Ok(Class {
            name: name.to_owned(),
            jar,
            modifiers: file.modifiers,
            serializable,
            externalizable,
            desc: desc.map(Arc::new),
        })
    }

    fn jdk_class(&self, name: &str, depth: usize) -> Result<Class, CatalogError> {
        let jar = "the JDK".to_owned();
        let plain = |suid, flags, fields, super_desc| {
            Arc::new(ClassDesc {
                name: name.to_owned(),
                suid,
                flags,
                fields,
                super_desc,
            })
        };
        let known = jdk::lookup(name);
        let serializable = known.is_some();
        let externalizable = known.as_ref().is_some_and(|k| k.externalizable);
        let public = known.as_ref().is_none_or(|k| k.public);
        let desc = match known.and_then(|k| k.desc) {
            None => plain(0, 0, Vec::new(), None),
            Some(known) => {
                let super_desc = match known.super_name {
                    Some(s) => Some(self.class(s, depth + 1)?.desc.clone()?),
                    None => None,
                };
                plain(known.suid, known.flags, known.fields, super_desc)
            }
        };
        // Classes that are not in the table are only met as element types of arrays: Object, CharSequence and the like.
        let modifiers = if public { ACC_PUBLIC } else { 0 };
        Ok(Class {
            name: name.to_owned(),
            jar,
            modifiers,
            serializable,
            externalizable,
            desc: Ok(desc),
        })
    }

    fn array_class(&self, name: &str, depth: usize) -> Result<Class, CatalogError> {
        let element = name.trim_start_matches('[');
        let (modifiers, jar) = match element.strip_prefix('L').and_then(|e| e.strip_suffix(';')) {
            Some(class) => self
                .class(class, depth + 1)
                .map(|c| (c.modifiers, c.jar.clone()))?,
            None if matches!(element, "B" | "C" | "D" | "F" | "I" | "J" | "S" | "Z") => {
                (ACC_PUBLIC, "the JDK".to_owned())
            }
            None => {
                return Err(CatalogError::ClassNotFound {
                    class: name.to_owned(),
                    entries: self.path.len(),
                });
            }
        };
        let suid = array_suid(name, modifiers);
        let desc = ClassDesc {
            name: name.to_owned(),
            suid,
            flags: SC_SERIALIZABLE,
            fields: Vec::new(),
            super_desc: None,
        };
        Ok(Class {
            name: name.to_owned(),
            jar,
            modifiers,
            serializable: true,
            externalizable: false,
            desc: Ok(Arc::new(desc)),
        })
    }
}

fn describe(
    name: &str,
    jar: &str,
    file: &ClassFile<'_>,
    super_class: Option<&Class>,
    externalizable: bool,
) -> Result<ClassDesc, CatalogError> {
    let unsupported = |why| CatalogError::Unsupported {
        class: name.to_owned(),
        jar: jar.to_owned(),
        why,
    };
    let super_desc = match super_class.filter(|s| s.serializable) {
        Some(s) => Some(s.desc.clone()?),
        None => None,
    };
    let is_enum = super_class.is_some_and(|s| s.name == "java.lang.Enum")
        || super_desc.as_ref().is_some_and(|s| s.is_enum());
    let mut desc = ClassDesc {
        name: name.to_owned(),
        suid: 0,
        flags: SC_SERIALIZABLE | SC_ENUM,
        fields: Vec::new(),
        super_desc,
    };
    if is_enum {
        return Ok(desc);
    }
    desc.suid = file
        .serial_version_uid()
        .map_err(|source| CatalogError::ClassFile {
            class: name.to_owned(),
            jar: jar.to_owned(),
            source,
        })?;
    if externalizable {
        desc.flags = SC_EXTERNALIZABLE | SC_BLOCK_DATA;
        return Ok(desc);
    }
    if file.has_persistent_fields() {
        return Err(unsupported(
            "it lists its serial fields itself (serialPersistentFields)",
        ));
    }
    desc.flags = if file.has_write_object() {
        SC_SERIALIZABLE | SC_WRITE_METHOD
    } else {
        SC_SERIALIZABLE
    };
    desc.fields = file
        .serial_fields()
        .into_iter()
        .map(|(name, signature)| FieldDesc { name, signature })
        .collect();
    Ok(desc)
}

fn class_file(class: &str) -> String {
    format!("{}.class", class.replace('.', "/"))
}
