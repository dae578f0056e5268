//! Scala and Java collections as they lie in a stream.

use super::{Array, Elements, Graph, Node, NodeId, Value};

/// `Unmodifiable(Synchronized(...))`; more is a circle or a joke.
const MAX_WRAPPERS: usize = 8;

impl Graph {
    /// Elements of an array or of a Scala or Java sequence or set; `None` for anything else.
    #[must_use]
    pub fn elements(&self, value: Value) -> Option<Vec<Value>> {
        self.elements_at(value, 0)
    }

    /// Keys and values of a Scala or Java map; `None` for anything else.
    #[must_use]
    pub fn pairs(&self, value: Value) -> Option<Vec<(Value, Value)>> {
        self.pairs_at(value, 0)
    }

    /// Elements of a `scala.TupleN`, also of its variants for primitives.
    #[must_use]
    pub fn tuple(&self, value: Value) -> Option<Vec<Value>> {
        let id = value.node()?;
        let arity = self.class_name(value)?.strip_prefix("scala.Tuple")?;
        let arity: usize = arity.split('$').next()?.parse().ok()?;
        let mut values = Vec::new();
        for index in 1..=arity.min(22) {
            let special = |name: &str| name.starts_with(&format!("_{index}$mc"));
            let found = self
                .levels(id)
                .rev()
                .find_map(|l| l.iter().find(|(f, _)| special(f.name())).map(|(_, v)| v));
            values.push(found.or_else(|| self.field(id, &format!("_{index}")))?);
        }
        Some(values)
    }

    /// The value of a Scala `Option`: `Some(None)` for `None`, `None` for anything that is no `Option`.
    #[must_use]
    pub fn scala_option(&self, value: Value) -> Option<Option<Value>> {
        if self.class_name(value)? == "scala.Some" {
            return Some(self.field(value.node()?, "value"));
        }
        (self.module(value)? == "scala.None$").then_some(None)
    }

    fn elements_at(&self, value: Value, wrappers: usize) -> Option<Vec<Value>> {
        let id = value.node()?;
        let class = self.class_name(value)?;
        if class.starts_with('[') {
            return self.array(value);
        }
        let inner = |name: &str| {
            self.field(id, name)
                .filter(|_| wrappers < MAX_WRAPPERS)
                .and_then(|v| self.elements_at(v, wrappers + 1))
        };
        if let Some(rest) = class.strip_prefix("scala.collection.") {
            return match rest {
                "generic.DefaultSerializationProxy" => self.default_proxy(id),
                "immutable.List$SerializationProxy" | "mutable.ListBuffer" => {
                    Some(self.until_end(self.body(id)?.1))
                }
                "immutable.HashSet$SerializationProxy" => Some(self.body(id)?.1),
                "mutable.HashSet" | "mutable.LinkedHashSet" => Some(self.body(id)?.1),
                "immutable.Vector" => self.vector(id),
                "mutable.ArrayBuffer" => self.truncated(id, "array", "size0"),
                "mutable.ArraySeq" => self.truncated(id, "array", "length"),
                "immutable.Nil$" | "immutable.Set$EmptySet$" => Some(Vec::new()),
                _ if rest.starts_with("mutable.WrappedArray$of")
                    || rest.starts_with("mutable.ArraySeq$of") =>
                {
                    inner("array")
                }
                _ if rest.starts_with("immutable.ArraySeq$of") => inner("unsafeArray"),
                // A Java list around a Scala sequence.
                "convert.JavaCollectionWrappers$SeqWrapper" | "convert.Wrappers$SeqWrapper" => {
                    inner("underlying")
                }
                _ => self.numbered(id, rest.strip_prefix("immutable.Set$Set")?, "elem"),
            };
        }
        match class {
            "scala.runtime.ModuleSerializationProxy" => {
                let empty = matches!(
                    self.module(value)?,
                    "scala.collection.immutable.Nil$" | "scala.collection.immutable.Set$EmptySet$"
                );
                empty.then(Vec::new)
            }
            "java.util.ArrayList"
            | "java.util.LinkedList"
            | "java.util.HashSet"
            | "java.util.LinkedHashSet"
            | "java.util.CollSer"
            | "java.util.concurrent.CopyOnWriteArrayList" => Some(self.body(id)?.1),
            // The comparator comes first.
            "java.util.TreeSet" => Some(self.body(id)?.1.into_iter().skip(1).collect()),
            "java.util.Arrays$ArrayList" => inner("a"),
            "java.util.Collections$EmptyList" | "java.util.Collections$EmptySet" => {
                Some(Vec::new())
            }
            "java.util.Collections$SingletonList" | "java.util.Collections$SingletonSet" => {
                self.field(id, "element").map(|v| vec![v])
            }
            _ if class.starts_with("java.util.Collections$Synchronized")
                || class.starts_with("java.util.Collections$Unmodifiable") =>
            {
                inner("c")
            }
            _ => None,
        }
    }

    fn pairs_at(&self, value: Value, wrappers: usize) -> Option<Vec<(Value, Value)>> {
        let id = value.node()?;
        let class = self.class_name(value)?;
        let inner = |name: &str| {
            self.field(id, name)
                .filter(|_| wrappers < MAX_WRAPPERS)
                .and_then(|v| self.pairs_at(v, wrappers + 1))
        };
        if let Some(rest) = class.strip_prefix("scala.collection.") {
            return match rest {
                "generic.DefaultSerializationProxy" => self
                    .default_proxy(id)?
                    .into_iter()
                    .map(|e| self.pair(e))
                    .collect(),
                "immutable.HashMap$SerializationProxy"
                | "mutable.HashMap"
                | "mutable.LinkedHashMap" => Some(in_pairs(&self.body(id)?.1)),
                "immutable.Map$EmptyMap$" => Some(Vec::new()),
                _ => {
                    let count = rest.strip_prefix("immutable.Map$Map")?;
                    Some(
                        self.numbered(id, count, "key")?
                            .into_iter()
                            .zip(self.numbered(id, count, "value")?)
                            .collect(),
                    )
                }
            };
        }
        match class {
            "scala.runtime.ModuleSerializationProxy" => {
                (self.module(value)? == "scala.collection.immutable.Map$EmptyMap$").then(Vec::new)
            }
            "java.util.HashMap"
            | "java.util.LinkedHashMap"
            | "java.util.TreeMap"
            | "java.util.Hashtable"
            | "java.util.Properties"
            | "java.util.IdentityHashMap"
            | "java.util.CollSer" => Some(in_pairs(&self.body(id)?.1)),
            "java.util.concurrent.ConcurrentHashMap" => {
                let mut pairs = in_pairs(&self.body(id)?.1);
                // Two nulls end the list; keys are never null.
                pairs.retain(|(key, _)| *key != Value::Null);
                Some(pairs)
            }
            "java.util.Collections$EmptyMap" => Some(Vec::new()),
            "java.util.Collections$SingletonMap" => {
                Some(vec![(self.field(id, "k")?, self.field(id, "v")?)])
            }
            "java.util.Collections$SynchronizedMap" | "java.util.Collections$UnmodifiableMap" => {
                inner("m")
            }
            _ => None,
        }
    }

    fn pair(&self, value: Value) -> Option<(Value, Value)> {
        match self.tuple(value)?.as_slice() {
            [a, b] => Some((*a, *b)),
            _ => None,
        }
    }

    /// Primitive data and objects of the level nearest to the object's class that has a body.
    fn body(&self, id: NodeId) -> Option<(Vec<u8>, Vec<Value>)> {
        let level = self
            .levels(id)
            .rev()
            .find(|l| !l.body.is_empty() || l.desc.flags() & crate::SC_WRITE_METHOD != 0)?;
        Some((level.block_bytes().into_owned(), level.objects().collect()))
    }

    /// `count` objects, or all up to the end mark if the count is -1.
    fn default_proxy(&self, id: NodeId) -> Option<Vec<Value>> {
        let (block, mut values) = self.body(id)?;
        match i32::from_be_bytes(*block.first_chunk()?) {
            -1 => Some(self.until_end(values)),
            count => {
                values.truncate(usize::try_from(count).ok()?);
                Some(values)
            }
        }
    }

    /// Values in front of `ListSerializeEnd$` (2.12) or `SerializeEnd$` (2.13).
    fn until_end(&self, mut values: Vec<Value>) -> Vec<Value> {
        let is_end = |v: &Value| {
            matches!(
                self.module(*v),
                Some(
                    "scala.collection.immutable.ListSerializeEnd$"
                        | "scala.collection.generic.SerializeEnd$"
                )
            )
        };
        if let Some(end) = values.iter().position(is_end) {
            values.truncate(end);
        }
        values
    }

    /// Fields `elem1`, `elem2`, ..., also with Scala's mangled names.
    fn numbered(&self, id: NodeId, count: &str, name: &str) -> Option<Vec<Value>> {
        let count: usize = count.parse().ok().filter(|c| *c <= 4)?;
        let level = self.levels(id).next_back()?;
        let wanted = |i: usize| format!("{name}{i}");
        (1..=count)
            .map(|i| {
                level
                    .iter()
                    .find(|(f, _)| unmangled(f.name()) == wanted(i))
                    .map(|(_, v)| v)
            })
            .collect()
    }

    fn truncated(&self, id: NodeId, array: &str, length: &str) -> Option<Vec<Value>> {
        let mut values = self.array(self.field(id, array)?)?;
        values.truncate(usize::try_from(self.int(self.field(id, length)?)?).ok()?);
        Some(values)
    }

    /// Scala 2.12: a tree of arrays of 32, up to six levels; `display0` to `display5` is the path to `focus`.
    fn vector(&self, id: NodeId) -> Option<Vec<Value>> {
        let int = |name| {
            self.int(self.field(id, name)?)
                .and_then(|i| usize::try_from(i).ok())
        };
        let (start, end, focus) = (int("startIndex")?, int("endIndex")?, int("focus")?);
        let mut displays = Vec::new();
        for name in [
            "display0", "display1", "display2", "display3", "display4", "display5",
        ] {
            displays.push(self.field(id, name)?);
        }
        let mut values = Vec::new();
        // Each step needs an array that is there: a false length ends at the first hole.
        for index in start..end {
            let level = (0..6).find(|l| (index ^ focus) >> (5 * (l + 1)) == 0)?;
            let mut node = *displays.get(level)?;
            for depth in (0..=level).rev() {
                let Node::Array(Array {
                    elements: Elements::Refs { values, .. },
                    ..
                }) = self.node(node.node()?)?
                else {
                    return None;
                };
                node = *values.get((index >> (5 * depth)) & 31)?;
            }
            values.push(node);
            if values.len() > self.nodes.len().saturating_mul(32) {
                return None;
            }
        }
        Some(values)
    }
}

/// The name that a Scala source gives a field: the part behind `$$`.
pub(crate) fn unmangled(field: &str) -> &str {
    field.rsplit_once("$$").map_or(field, |(_, name)| name)
}

fn in_pairs(values: &[Value]) -> Vec<(Value, Value)> {
    values
        .chunks_exact(2)
        .filter_map(|c| Some((*c.first()?, *c.get(1)?)))
        .collect()
}
