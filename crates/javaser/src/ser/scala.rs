//! Collections and tuples in the form that Spark's own JVM of that Scala version writes (or one that its reader takes
//! for the same).

use super::Tree;
use super::encode::Encoder;
use crate::arena::{Content, Graph, Value};
use crate::{Error, ScalaVersion};

const OBJECT: &str = "java.lang.Object";
const OBJECTS: &str = "[Ljava.lang.Object;";

impl Encoder<'_> {
    pub(super) fn tuple(&mut self, items: Vec<Tree>) -> Result<Value, Error> {
        let tuple = self.new_object(&format!("scala.Tuple{}", items.len()))?;
        for (index, item) in (1..).zip(items) {
            let value = self.object(item, OBJECT)?;
            self.set(tuple, &format!("_{index}"), value)?;
        }
        Ok(Value::Ref(tuple))
    }

    /// A sequence or set where `class` is declared.
    pub(super) fn sequence(&mut self, items: Vec<Tree>, class: &str) -> Result<Value, Error> {
        let values = items
            .into_iter()
            .map(|item| self.object(item, OBJECT))
            .collect::<Result<Vec<_>, _>>()?;
        let is_set = class
            .rsplit('.')
            .next()
            .is_some_and(|name| name.contains("Set"));
        match class {
            _ if class.starts_with("java.util.") => self.java_collection(values, class),
            _ if class.starts_with("scala.collection.mutable.") && is_set => {
                self.mutable_set(values)
            }
            _ if is_set => self.set_of(values),
            _ => match self.scala {
                ScalaVersion::V2_12 => self.seq_2_12(values, class),
                _ => self.seq_2_13(values, class),
            },
        }
    }

    fn seq_2_12(&mut self, values: Vec<Value>, class: &str) -> Result<Value, Error> {
        match class {
            "scala.collection.immutable.List"
            | "scala.collection.immutable.Seq"
            | "scala.collection.immutable.LinearSeq" => {
                if values.is_empty() {
                    return self.module("scala.collection.immutable.Nil$");
                }
                let end = self.module("scala.collection.immutable.ListSerializeEnd$")?;
                self.with_body(
                    "scala.collection.immutable.List$SerializationProxy",
                    &[],
                    values.into_iter().chain([end]),
                )
            }
            "scala.collection.mutable.ArrayBuffer" | "scala.collection.mutable.Buffer" => {
                let length = self.length(values.len(), class)?;
                let array = self.objects(values)?;
                self.with_fields(
                    "scala.collection.mutable.ArrayBuffer",
                    &[
                        ("initialSize", Value::Int(16)),
                        ("size0", length),
                        ("array", array),
                    ],
                )
            }
            "scala.collection.immutable.Vector" | "scala.collection.immutable.IndexedSeq" => {
                self.small_vector(values, class)
            }
            _ => {
                let array = self.objects(values)?;
                self.with_fields(
                    "scala.collection.mutable.WrappedArray$ofRef",
                    &[("array", array)],
                )
            }
        }
    }

    /// One level of the tree; no message of Spark needs more.
    fn small_vector(&mut self, mut values: Vec<Value>, class: &str) -> Result<Value, Error> {
        if values.len() > 32 {
            return Err(Error::WrongType {
                context: class.to_owned(),
                why: "more than 32 elements".to_owned(),
            });
        }
        let length = self.length(values.len(), class)?;
        let display = if values.is_empty() {
            Value::Null
        } else {
            values.resize(32, Value::Null);
            self.objects(values)?
        };
        let depth = Value::Int(i32::from(display != Value::Null));
        self.with_fields(
            "scala.collection.immutable.Vector",
            &[
                ("endIndex", length),
                ("depth", depth),
                ("display0", display),
            ],
        )
    }

    fn seq_2_13(&mut self, values: Vec<Value>, class: &str) -> Result<Value, Error> {
        let factory = match class {
            "scala.collection.immutable.List" | "scala.collection.immutable.LinearSeq" => {
                "scala.collection.immutable.List$"
            }
            "scala.collection.immutable.Vector" => "scala.collection.immutable.Vector$",
            _ if class.starts_with("scala.collection.mutable.") => {
                "scala.collection.mutable.ArrayBuffer$"
            }
            _ => {
                let array = self.objects(values)?;
                return self.with_fields(
                    "scala.collection.immutable.ArraySeq$ofRef",
                    &[("unsafeArray", array)],
                );
            }
        };
        self.by_factory(
            "scala.collection.IterableFactory$ToFactory",
            factory,
            values,
        )
    }

    fn set_of(&mut self, values: Vec<Value>) -> Result<Value, Error> {
        match values.len() {
            0 => self.module("scala.collection.immutable.Set$EmptySet$"),
            count @ 1..=4 => {
                let fields: Vec<_> = (1..)
                    .zip(values)
                    .map(|(i, v)| (format!("elem{i}"), v))
                    .collect();
                let fields: Vec<_> = fields.iter().map(|(name, v)| (name.as_str(), *v)).collect();
                self.with_fields(
                    &format!("scala.collection.immutable.Set$Set{count}"),
                    &fields,
                )
            }
            count if self.scala == ScalaVersion::V2_12 => {
                let length = self.int_length(count, "scala.collection.immutable.HashSet")?;
                self.with_body(
                    "scala.collection.immutable.HashSet$SerializationProxy",
                    &length.to_be_bytes(),
                    values,
                )
            }
            _ => self.by_factory(
                "scala.collection.IterableFactory$ToFactory",
                "scala.collection.immutable.HashSet$",
                values,
            ),
        }
    }

    fn mutable_set(&mut self, values: Vec<Value>) -> Result<Value, Error> {
        if self.scala != ScalaVersion::V2_12 {
            let table = self.table_length(values.len())?;
            let fields = [
                ("loadFactor", Value::Double(0.75)),
                ("tableLength", Value::Int(table)),
            ];
            let factory = self.with_fields(
                "scala.collection.mutable.HashSet$DeserializationFactory",
                &fields,
            )?;
            return self.default_proxy(factory, values);
        }
        let header = self.hash_header(450, values.len())?;
        self.with_body("scala.collection.mutable.HashSet", &header, values)
    }

    /// A map where `class` is declared.
    pub(super) fn map(&mut self, entries: Vec<(Tree, Tree)>, class: &str) -> Result<Value, Error> {
        let mut pairs = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            pairs.push((self.object(key, OBJECT)?, self.object(value, OBJECT)?));
        }
        match class {
            _ if class.starts_with("java.util.") => self.java_map(&pairs, class),
            _ if class.starts_with("scala.collection.mutable.") => self.mutable_map(pairs),
            _ => self.immutable_map(pairs),
        }
    }

    fn immutable_map(&mut self, pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
        match pairs.len() {
            0 => self.module("scala.collection.immutable.Map$EmptyMap$"),
            count @ 1..=4 => {
                let named = (1..)
                    .zip(pairs)
                    .flat_map(|(i, (k, v))| [(format!("key{i}"), k), (format!("value{i}"), v)]);
                let fields: Vec<_> = named.collect();
                let fields: Vec<_> = fields.iter().map(|(name, v)| (name.as_str(), *v)).collect();
                self.with_fields(
                    &format!("scala.collection.immutable.Map$Map{count}"),
                    &fields,
                )
            }
            count if self.scala == ScalaVersion::V2_12 => {
                let length = self.int_length(count, "scala.collection.immutable.HashMap")?;
                self.with_body(
                    "scala.collection.immutable.HashMap$SerializationProxy",
                    &length.to_be_bytes(),
                    flat(&pairs),
                )
            }
            _ => {
                let tuples = self.tuples(pairs)?;
                self.by_factory(
                    "scala.collection.MapFactory$ToFactory",
                    "scala.collection.immutable.HashMap$",
                    tuples,
                )
            }
        }
    }

    fn mutable_map(&mut self, pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
        if self.scala == ScalaVersion::V2_12 {
            let header = self.hash_header(750, pairs.len())?;
            return self.with_body("scala.collection.mutable.HashMap", &header, flat(&pairs));
        }
        let table = self.table_length(pairs.len())?;
        let fields = [
            ("loadFactor", Value::Double(0.75)),
            ("tableLength", Value::Int(table)),
        ];
        let factory = self.with_fields(
            "scala.collection.mutable.HashMap$DeserializationFactory",
            &fields,
        )?;
        let tuples = self.tuples(pairs)?;
        self.default_proxy(factory, tuples)
    }

    fn java_collection(&mut self, values: Vec<Value>, class: &str) -> Result<Value, Error> {
        let length = self.int_length(values.len(), class)?;
        if class.ends_with("Set") {
            let table = self.table_length(values.len())?;
            let header = [
                table.to_be_bytes(),
                0.75f32.to_be_bytes(),
                length.to_be_bytes(),
            ]
            .concat();
            let class = if class == "java.util.LinkedHashSet" {
                class
            } else {
                "java.util.HashSet"
            };
            return self.with_body(class, &header, values);
        }
        let list = self.with_body("java.util.ArrayList", &length.to_be_bytes(), values)?;
        if let Some(id) = list.node() {
            self.graph.set_field(id, "size", Value::Int(length))?;
        }
        Ok(list)
    }

    fn java_map(&mut self, pairs: &[(Value, Value)], class: &str) -> Result<Value, Error> {
        let length = self.int_length(pairs.len(), class)?;
        let table = self.table_length(pairs.len())?;
        let header = [table.to_be_bytes(), length.to_be_bytes()].concat();
        let (class, load_factor) = match class {
            "java.util.Properties" => (class, None),
            "java.util.Hashtable" | "java.util.LinkedHashMap" => (class, Some(0.75)),
            _ => ("java.util.HashMap", Some(0.75)),
        };
        let map = self.with_body(class, &header, flat(pairs))?;
        if let (Some(id), Some(load_factor)) = (map.node(), load_factor) {
            self.graph
                .set_field(id, "loadFactor", Value::Float(load_factor))?;
            self.graph
                .set_field(id, "threshold", Value::Int(table / 4 * 3))?;
        }
        Ok(map)
    }

    fn tuples(&mut self, pairs: Vec<(Value, Value)>) -> Result<Vec<Value>, Error> {
        pairs
            .into_iter()
            .map(|(k, v)| self.with_fields("scala.Tuple2", &[("_1", k), ("_2", v)]))
            .collect()
    }

    /// Scala 2.13: the factory of a companion object, and how many elements to feed it.
    fn by_factory(
        &mut self,
        factory_class: &str,
        companion: &str,
        values: Vec<Value>,
    ) -> Result<Value, Error> {
        let companion = self.module(companion)?;
        let factory = self.with_fields(factory_class, &[("factory", companion)])?;
        self.default_proxy(factory, values)
    }

    fn default_proxy(&mut self, factory: Value, values: Vec<Value>) -> Result<Value, Error> {
        const PROXY: &str = "scala.collection.generic.DefaultSerializationProxy";
        let length = self.int_length(values.len(), PROXY)?;
        let proxy = self.with_body(PROXY, &length.to_be_bytes(), values)?;
        if let Some(id) = proxy.node() {
            self.set(id, "factory", factory)?;
        }
        Ok(proxy)
    }

    fn with_fields(&mut self, class: &str, fields: &[(&str, Value)]) -> Result<Value, Error> {
        let object = self.new_object(class)?;
        for (name, value) in fields {
            self.set(object, name, *value)?;
        }
        Ok(Value::Ref(object))
    }

    fn with_body(
        &mut self,
        class: &str,
        block: &[u8],
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Value, Error> {
        let object = self.new_object(class)?;
        let mut body = Graph::blocks(block);
        body.extend(values.into_iter().map(Content::Value));
        self.graph.set_body(object, None, body)?;
        Ok(Value::Ref(object))
    }

    fn objects(&mut self, values: Vec<Value>) -> Result<Value, Error> {
        let (desc, _) = self.desc(OBJECTS)?;
        self.graph.new_ref_array(desc, values).map(Value::Ref)
    }

    fn int_length(&self, length: usize, class: &str) -> Result<i32, Error> {
        i32::try_from(length).map_err(|_| Error::WrongType {
            context: class.to_owned(),
            why: format!("{length} elements"),
        })
    }

    fn length(&self, length: usize, class: &str) -> Result<Value, Error> {
        self.int_length(length, class).map(Value::Int)
    }

    /// Buckets of a hash table for so many entries, as Java and Scala count them: a power of two, three quarters used.
    fn table_length(&self, entries: usize) -> Result<i32, Error> {
        let buckets = (entries / 3 * 4 + 4).next_power_of_two().max(16);
        self.int_length(buckets, "a hash table")
    }

    /// Head of Scala 2.12's mutable hash tables: load factor in thousandths, size, seed, no size map.
    fn hash_header(&self, load_factor: i32, entries: usize) -> Result<Vec<u8>, Error> {
        let size = self.int_length(entries, "a hash table")?;
        let seed = (self.table_length(entries)? - 1).count_ones();
        Ok([
            &load_factor.to_be_bytes()[..],
            &size.to_be_bytes(),
            &seed.to_be_bytes(),
            &[0],
        ]
        .concat())
    }
}

fn flat(pairs: &[(Value, Value)]) -> Vec<Value> {
    pairs.iter().flat_map(|(k, v)| [*k, *v]).collect()
}
