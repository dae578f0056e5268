use super::java::{decode_within, encode};
use crate::WireError;
use crate::ids::StorageLevel;
use javaser::arena::{Graph, Value};
use javaser::types::{Raw, ScalaOption};
use javaser::{Catalog, ClassDesc, Limits};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const CLASS_TAG: &str = "scala.reflect.ClassTag$GenericClassTag";
/// The class of it from Spark 4.3 on; before that it is a `Tuple2(StorageLevel, ClassTag)`.
const CLASS: &str = "org.apache.spark.network.netty.BlockReplicationMetadata";

/// What its object stream may cost at most: it comes from strangers. Spark's have less than 1 KiB and 50 handles.
const LIMITS: Limits = Limits {
    max_depth: 64,
    max_handles: 1000,
    max_array_len: 64 << 10,
    max_string_len: 64 << 10,
    max_total: 64 << 10,
};

/// What `UploadBlock` says of a block besides its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockReplicationMetadata {
    /// Where it shall be kept.
    pub level: StorageLevel,
    /// Class of its records, as `Class.getName` gives it (`[B`, `java.lang.String`); `None` for files of shuffles, and
    /// for a primitive or other special `ClassTag` when read. Written as a plain class tag.
    pub class_tag: Option<String>,
    /// Checksum of its bytes at the sender (from Spark 4.3).
    pub checksum: Option<i64>,
    /// Whether the receiver shall compare it with what the driver knows (from Spark 4.3).
    pub verify_sealed_checksum: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "scala.Tuple2")]
struct Pair {
    #[serde(rename = "_1")]
    level: StorageLevel,
    #[serde(rename = "_2")]
    class_tag: Option<Raw>,
}

#[derive(Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.network.netty.BlockReplicationMetadata",
    rename_all = "camelCase"
)]
struct Java {
    verify_sealed_checksum: bool,
    checksum: ScalaOption<i64>,
    class_tag: Option<Raw>,
    level: StorageLevel,
}

impl BlockReplicationMetadata {
    /// The Java object stream, in the form of this distribution.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's classes do not fit.
    pub fn encode(&self, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
        let class_tag = self
            .class_tag
            .as_deref()
            .map(|class| class_tag(class, catalog))
            .transpose()?;
        if catalog.contains(CLASS) {
            let java = Java {
                verify_sealed_checksum: self.verify_sealed_checksum,
                checksum: self.checksum.into(),
                class_tag,
                level: self.level,
            };
            encode(&java, CLASS, catalog)
        } else {
            let pair = Pair {
                level: self.level,
                class_tag,
            };
            encode(&pair, "scala.Tuple2", catalog)
        }
    }

    /// Reads either form.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged, too large, or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        if content.len() > LIMITS.max_total {
            return Err(WireError::Length {
                what: "UploadBlock.metadata",
                len: i64::try_from(content.len()).unwrap_or(i64::MAX),
                max: LIMITS.max_total as u64,
            });
        }
        if javaser::peek_class(content) == Some(CLASS) {
            let java: Java = decode_within(content, CLASS, &LIMITS)?;
            return Ok(Self {
                level: java.level,
                class_tag: class_of(java.class_tag.as_ref()),
                checksum: java.checksum.as_ref().copied(),
                verify_sealed_checksum: java.verify_sealed_checksum,
            });
        }
        let pair: Pair = decode_within(content, "UploadBlock.metadata", &LIMITS)?;
        Ok(Self {
            level: pair.level,
            class_tag: class_of(pair.class_tag.as_ref()),
            checksum: None,
            verify_sealed_checksum: false,
        })
    }
}

fn class_of(tag: Option<&Raw>) -> Option<String> {
    let graph = Graph::parse(&tag?.0, &LIMITS).ok()?;
    let class = graph.field(graph.root()?.node()?, "runtimeClass")?;
    graph.class_value(class).map(str::to_owned)
}

/// A `ClassTag` of a class.
fn class_tag(class: &str, catalog: &Catalog) -> Result<Raw, WireError> {
    let unwritable = |why: String| WireError::Unwritable {
        what: "ClassTag",
        why,
    };
    let catalogued = |name: &str| {
        catalog
            .lookup_any(name)
            .map_err(|error| unwritable(error.to_string()))
    };
    let class = match class.starts_with('[') {
        true => array(class, catalogued(CLASS_TAG)?),
        false => catalogued(class)?,
    };
    let build = || {
        let mut graph = Graph::default();
        let tag_desc = graph.add_desc(&*catalogued(CLASS_TAG).map_err(|error| error.to_string())?);
        let tag = graph.new_object(tag_desc.map_err(|error| error.to_string())?);
        let tag = tag.map_err(|error| error.to_string())?;
        let class_desc = graph.add_desc(&class).map_err(|error| error.to_string())?;
        let class = graph
            .new_class(class_desc)
            .map_err(|error| error.to_string())?;
        graph
            .set_field(tag, "runtimeClass", Value::Ref(class))
            .and_then(|()| graph.push_root(Value::Ref(tag)))
            .map_err(|error| error.to_string())?;
        Ok(Raw(graph.to_bytes()))
    };
    build().map_err(unwritable)
}

/// The descriptor of an array class, made of any other. Nobody checks an array's version.
fn array(class: &str, of: Arc<ClassDesc>) -> Arc<ClassDesc> {
    let mut desc = Arc::unwrap_or_clone(of);
    class.clone_into(&mut desc.name);
    desc.suid = 0;
    desc.flags = javaser::SC_SERIALIZABLE;
    desc.fields.clear();
    desc.super_desc = None;
    desc.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::catalog;
    use testkit::{VERSIONS, is_since, of_series};

    #[test]
    fn each_version_has_its_form() {
        for version in VERSIONS {
            let catalog = catalog(version);
            for class_tag in [Some("[B"), Some("java.lang.String"), None] {
                let metadata = BlockReplicationMetadata {
                    level: StorageLevel::MEMORY_AND_DISK_SER,
                    class_tag: class_tag.map(str::to_owned),
                    checksum: is_since(version, "4.3").then_some(7),
                    verify_sealed_checksum: false,
                };
                let bytes = metadata.encode(catalog).unwrap();
                let class = if is_since(version, "4.3") {
                    CLASS
                } else {
                    "scala.Tuple2"
                };
                assert_eq!(javaser::peek_class(&bytes), Some(class));
                assert_eq!(
                    BlockReplicationMetadata::decode(&bytes).unwrap(),
                    metadata,
                    "{version}"
                );
            }
        }
        assert!(BlockReplicationMetadata::decode(b"x").is_err());
    }

    #[test]
    fn large_and_deep_streams_are_refused() {
        let encode = |class_tag: Raw| {
            let pair = Pair {
                level: StorageLevel::DISK_ONLY,
                class_tag: Some(class_tag),
            };
            encode(&pair, "scala.Tuple2", catalog(of_series("4.1"))).unwrap()
        };
        // Arrays in arrays: `[Ljava.lang.Object;` of one element each.
        let arrays = |depth: usize, width: usize| {
            let mut graph = Graph::default();
            let desc = catalog(of_series("4.1"))
                .lookup_any("java.lang.Object")
                .unwrap();
            let desc = graph.add_desc(&array("[Ljava.lang.Object;", desc)).unwrap();
            let mut value = Value::Null;
            for _ in 0..depth {
                let mut items = vec![Value::Null; width];
                items[0] = value;
                let array = graph.new_ref_array(desc, items).unwrap();
                value = Value::Ref(array);
            }
            graph.push_root(value).unwrap();
            Raw(graph.to_bytes())
        };
        assert!(BlockReplicationMetadata::decode(&encode(arrays(20, 10))).is_ok());
        for (depth, width) in [(70, 1), (2000, 1), (10, 7000)] {
            let bytes = encode(arrays(depth, width));
            let error = BlockReplicationMetadata::decode(&bytes).unwrap_err();
            assert!(
                matches!(error.code(), "wire-message" | "wire-length"),
                "{error}"
            );
        }
    }
}
