//! A graph as JSON for people.

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::{Map, Value as Json, json};

use super::{Array, Content, Desc, Elements, Graph, Node, NodeId, Value};

/// Bytes of names and strings. A stream can name a class of 64 kB in the six bytes of an object.
const MAX_TEXT: usize = 64 << 20;

/// Objects inside objects; deeper ones are listed under `deeper`. The reader of the JSON may recurse.
const MAX_NESTING: usize = 48;

impl Graph {
    /// The graph as JSON.
    ///
    /// `roots` lists the stream's roots. Objects have `@class`, `@id` and their fields (those of super classes too,
    /// with the class in front where a name appears twice), and under `@data` what each class's `writeObject` wrote:
    /// block data as `{"@bytes": hex}`, objects as they are. Objects met again are `{"@ref": id}`; a nesting deeper
    /// than 48 is continued under `deeper`, by id. Behind 64 MiB of names and strings only ids follow.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut printer = Printer {
            graph: self,
            seen: HashSet::new(),
            later: Vec::new(),
            text_left: MAX_TEXT,
        };
        let roots: Vec<Json> = self.roots.iter().map(|c| printer.content(c, 0)).collect();
        let mut deeper = Map::new();
        while let Some(id) = printer.later.pop() {
            let json = printer.node(id, 0);
            deeper.insert(id.0.to_string(), json);
        }
        let mut out = Map::new();
        out.insert("roots".to_owned(), Json::Array(roots));
        if !deeper.is_empty() {
            out.insert("deeper".to_owned(), Json::Object(deeper));
        }
        Json::Object(out)
    }
}

struct Printer<'g> {
    graph: &'g Graph,
    /// Nodes that are printed, or will be.
    seen: HashSet<NodeId>,
    /// Nodes that were too deep.
    later: Vec<NodeId>,
    text_left: usize,
}

impl Printer<'_> {
    fn content(&mut self, content: &Content, depth: usize) -> Json {
        match content {
            Content::Value(value) => self.value(*value, depth),
            Content::Block(block) => json!({ "@bytes": hex(block.bytes()) }),
            Content::Reset => json!({ "@reset": true }),
        }
    }

    fn value(&mut self, value: Value, depth: usize) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(v) => v.into(),
            Value::Byte(v) => v.into(),
            Value::Char(v) => v.into(),
            Value::Short(v) => v.into(),
            Value::Int(v) => v.into(),
            Value::Long(v) => v.into(),
            Value::Float(v) => number(v.into()),
            Value::Double(v) => number(v),
            Value::Aborted(exception) => {
                json!({ "@aborted": self.value(Value::Ref(exception), depth) })
            }
            Value::Ref(id) => {
                if !self.afford(id) {
                    return json!({ "@ref": id.0 });
                }
                // Strings and classes have no id in the JSON: printed each time.
                let short = matches!(
                    self.graph.node(id),
                    Some(Node::Str(_) | Node::Class { .. } | Node::Desc(_))
                );
                if !short && !self.seen.insert(id) {
                    return json!({ "@ref": id.0 });
                }
                if !short && depth >= MAX_NESTING {
                    self.later.push(id);
                    return json!({ "@ref": id.0 });
                }
                self.node(id, depth)
            }
        }
    }

    /// Pays for the texts of a node, those of its class included.
    fn afford(&mut self, id: NodeId) -> bool {
        let of_desc =
            |d: &Desc| d.name().len() + d.fields().iter().map(|f| f.name().len()).sum::<usize>();
        let texts = match self.graph.node(id) {
            Some(Node::Str(s)) => s.bytes.len(),
            Some(Node::Desc(desc)) => of_desc(desc),
            Some(Node::Class { desc }) => self.graph.desc(*desc).map_or(0, of_desc),
            Some(Node::Object(_) | Node::Array(_) | Node::Enum { .. }) => {
                let levels: usize = self.graph.levels(id).map(|l| of_desc(l.desc)).sum();
                levels + self.graph.class_name(Value::Ref(id)).map_or(0, str::len)
            }
            None => 0,
        };
        match self.text_left.checked_sub(texts) {
            Some(left) => {
                self.text_left = left;
                true
            }
            None => false,
        }
    }

    fn node(&mut self, id: NodeId, depth: usize) -> Json {
        let class = self.graph.class_name(Value::Ref(id)).unwrap_or_default();
        match self.graph.node(id) {
            None => Json::Null,
            Some(Node::Str(_)) => self
                .graph
                .str(Value::Ref(id))
                .map_or(Json::Null, |s| s.into_owned().into()),
            Some(Node::Class { .. }) => {
                json!({ "@class": class, "name": self.graph.class_value(Value::Ref(id)) })
            }
            Some(Node::Enum { .. }) => {
                json!({ "@class": class, "constant": self.graph.enum_constant(Value::Ref(id)) })
            }
            Some(Node::Desc(desc)) => self.desc(desc),
            Some(Node::Array(Array { elements, .. })) => match elements {
                Elements::Primitive(b'B', bytes) => {
                    json!({ "@class": class, "@id": id.0, "bytes": hex(bytes) })
                }
                _ => {
                    let values = self.graph.array(Value::Ref(id)).unwrap_or_default();
                    let values: Vec<Json> = values
                        .into_iter()
                        .map(|v| self.value(v, depth + 1))
                        .collect();
                    json!({ "@class": class, "@id": id.0, "elements": values })
                }
            },
            Some(Node::Object(_)) => self.object(id, class, depth),
        }
    }

    fn object(&mut self, id: NodeId, class: &str, depth: usize) -> Json {
        let mut out = Map::new();
        out.insert("@class".to_owned(), class.into());
        out.insert("@id".to_owned(), id.0.into());
        let mut data = Map::new();
        for level in self.graph.levels(id) {
            for (field, value) in level.iter() {
                let json = self.value(value, depth + 1);
                // The subclass comes later: its field is the one of that name.
                if let Some(hidden) = out.insert(field.name().to_owned(), json) {
                    let above = self.declared_above(id, level.desc.name(), field.name());
                    out.insert(format!("{above}.{}", field.name()), hidden);
                }
            }
            if !level.body.is_empty() {
                let items = level
                    .body
                    .iter()
                    .map(|c| self.content(c, depth + 1))
                    .collect();
                data.insert(level.desc.name().to_owned(), Json::Array(items));
            }
        }
        if !data.is_empty() {
            out.insert("@data".to_owned(), Json::Object(data));
        }
        Json::Object(out)
    }

    /// Nearest super class of `class` that declares the field.
    fn declared_above(&self, id: NodeId, class: &str, field: &str) -> String {
        let levels = self
            .graph
            .levels(id)
            .rev()
            .skip_while(|l| l.desc.name() != class)
            .skip(1);
        let mut declaring = levels.filter(|l| l.field(field).is_some());
        declaring
            .next()
            .map_or_else(String::new, |l| l.desc.name().to_owned())
    }

    fn desc(&self, desc: &Desc) -> Json {
        let fields: Vec<Json> = desc
            .fields()
            .iter()
            .map(|f| json!({ "name": f.name(), "type": self.graph.field_signature(f) }))
            .collect();
        let above = desc
            .super_desc()
            .and_then(|s| self.graph.desc(s))
            .map(Desc::name);
        json!({
            "@class": "java.io.ObjectStreamClass",
            "name": desc.name(),
            "serialVersionUID": desc.suid(),
            "flags": desc.flags(),
            "fields": fields,
            "interfaces": desc.proxy_interfaces(),
            "super": above,
        })
    }
}

/// JSON has no NaN and no infinities.
fn number(v: f64) -> Json {
    serde_json::Number::from_f64(v).map_or_else(|| v.to_string().into(), Json::Number)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
