//! Objects of a graph as the decoder wants them: fields by their Scala names, with errors that say what is missing.

use std::borrow::Cow;
use std::cell::Cell;

use javaser::arena::{Graph, NodeId, Value};

use crate::error::{Result, Unsupported};
use crate::stage::Settings;

/// Deepest nesting of expressions and operators. Reading takes stack for each level.
const MAX_DEPTH: u32 = 300;

/// The same where expressions may become those of the JVM: each level takes more stack.
const MAX_DEPTH_FOR_JVM: u32 = 150;

/// Most expressions and operators in a stage. A graph may share nodes, a tree repeats them.
const MAX_NODES: u32 = 100_000;

/// Most bytes of a stage's expressions that are copied for the JVM.
const MAX_COPIED: usize = 16 << 20;

/// Fields that say nothing about what an expression or an operator computes: caches of lazy values, and texts for
/// errors.
pub(crate) const NOISE: &[&str] = &[
    "canonicalized",
    "nodePatterns",
    "treePatternBits",
    "lazyTreePatternBits",
    "resolved",
    "deterministic",
    "numeric",
    "queryContext",
    "metrics",
    "parent",
    "aliasCandidateLimit",
];

/// What limits the work on one stage, and what it is judged by.
#[derive(Debug)]
pub(crate) struct Reader<'g> {
    pub(crate) graph: &'g Graph,
    /// What objects do not say themselves.
    pub(crate) settings: Settings,
    nodes: Cell<u32>,
    depth: Cell<u32>,
    copied: Cell<usize>,
}

impl<'g> Reader<'g> {
    pub(crate) fn new(graph: &'g Graph, settings: Settings) -> Self {
        Self {
            graph,
            settings,
            nodes: Cell::new(0),
            depth: Cell::new(0),
            copied: Cell::new(0),
        }
    }

    /// Reads something nested.
    pub(crate) fn nested<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let most = match self.settings.is_native {
            None => MAX_DEPTH,
            Some(_) => MAX_DEPTH_FOR_JVM,
        };
        if self.depth.get() >= most {
            return Err(Unsupported::TooLarge("levels"));
        }
        if self.nodes.get() >= MAX_NODES {
            return Err(Unsupported::TooLarge("nodes"));
        }
        self.depth.set(self.depth.get() + 1);
        self.nodes.set(self.nodes.get() + 1);
        let result = read();
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Values with all that they refer to, as a graph of their own whose roots they are. The bytes of its stream count
    /// towards what is copied of a stage.
    pub(crate) fn copied(&self, values: &[Value]) -> Result<(Graph, Vec<u8>)> {
        let too_large = Unsupported::TooLarge("bytes of expressions");
        if self.copied.get() >= MAX_COPIED {
            return Err(too_large);
        }
        let unreadable = |_| Unsupported::of_use("an object that cannot be copied");
        let mut graph = Graph::default();
        let roots = graph.import_all(self.graph, values).map_err(unreadable)?;
        for root in roots {
            graph.push_root(root).map_err(unreadable)?;
        }
        let stream = graph.to_bytes();
        self.copied
            .set(self.copied.get().saturating_add(stream.len()));
        if self.copied.get() > MAX_COPIED {
            return Err(too_large);
        }
        Ok((graph, stream))
    }

    pub(crate) fn object(&self, node: NodeId) -> Object<'g> {
        Object {
            graph: self.graph,
            node,
        }
    }

    /// The object that the value is.
    pub(crate) fn expect(&self, value: Value) -> Result<Object<'g>> {
        match value.node() {
            Some(node) => Ok(self.object(node)),
            None => Err(Unsupported::of_use("null instead of an object")),
        }
    }

    /// Class of the value, or of the singleton that it stands for, with its package. `null` has none.
    pub(crate) fn class(&self, value: Value) -> &'g str {
        class_of(self.graph, value)
    }
}

/// Class of the value, or of the singleton that it stands for.
pub(crate) fn class_of(graph: &Graph, value: Value) -> &str {
    graph
        .module(value)
        .or_else(|| graph.class_name(value))
        .unwrap_or("null")
}

/// Last part of a Java class name, without the `$` of singletons.
pub(crate) fn simple(class: &str) -> &str {
    let class = class.rsplit('.').next().unwrap_or(class);
    class.strip_suffix('$').unwrap_or(class)
}

/// The name that a Scala source gives a field.
pub(crate) fn unmangled(field: &str) -> &str {
    field.rsplit_once("$$").map_or(field, |(_, name)| name)
}

/// An object of the graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) node: NodeId,
}

impl<'g> Object<'g> {
    /// Class, with its package.
    pub(crate) fn class(&self) -> &'g str {
        class_of(self.graph, Value::Ref(self.node))
    }

    /// Class, without its package.
    pub(crate) fn name(&self) -> &'g str {
        simple(self.class())
    }

    /// A field's value, which may be null; `None` if there is no such field.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.graph.levels(self.node).rev().find_map(|level| {
            level
                .iter()
                .find(|(field, _)| field.name() == name || unmangled(field.name()) == name)
                .map(|(_, value)| value)
        })
    }

    pub(crate) fn missing(&self, field: &str) -> Unsupported {
        Unsupported::Missing {
            class: self.name().to_owned(),
            field: field.to_owned(),
        }
    }

    pub(crate) fn value(&self, name: &str) -> Result<Value> {
        self.get(name).ok_or_else(|| self.missing(name))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Self> {
        match self.value(name)?.node() {
            Some(node) => Ok(Self {
                graph: self.graph,
                node,
            }),
            None => Err(self.missing(name)),
        }
    }

    /// The object in a field that may be absent or null.
    pub(crate) fn maybe(&self, name: &str) -> Option<Self> {
        let node = self.get(name)?.node()?;
        Some(Self {
            graph: self.graph,
            node,
        })
    }

    pub(crate) fn long(&self, name: &str) -> Result<i64> {
        self.graph
            .int(self.value(name)?)
            .ok_or_else(|| self.missing(name))
    }

    pub(crate) fn int(&self, name: &str) -> Result<i32> {
        i32::try_from(self.long(name)?).map_err(|_| self.missing(name))
    }

    pub(crate) fn double(&self, name: &str) -> Result<f64> {
        let value = self.graph.double(self.value(name)?);
        value.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn bool(&self, name: &str) -> Result<bool> {
        self.graph
            .bool(self.value(name)?)
            .ok_or_else(|| self.missing(name))
    }

    /// A flag that older or newer versions do not have.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(|value| self.graph.bool(value)) == Some(true)
    }

    pub(crate) fn text(&self, name: &str) -> Result<Cow<'g, str>> {
        self.graph
            .str(self.value(name)?)
            .ok_or_else(|| self.missing(name))
    }

    /// Elements of a sequence.
    pub(crate) fn elements(&self, name: &str) -> Result<Vec<Value>> {
        self.graph
            .elements(self.value(name)?)
            .ok_or_else(|| self.missing(name))
    }

    /// Entries of a map.
    pub(crate) fn pairs(&self, name: &str) -> Result<Vec<(Value, Value)>> {
        self.graph
            .pairs(self.value(name)?)
            .ok_or_else(|| self.missing(name))
    }

    /// Value of a Scala `Option`.
    pub(crate) fn option(&self, name: &str) -> Result<Option<Value>> {
        self.graph
            .scala_option(self.value(name)?)
            .ok_or_else(|| self.missing(name))
    }

    /// Class of a field's value, or of the singleton that it stands for, without its package.
    pub(crate) fn name_of(&self, name: &str) -> Result<&'g str> {
        Ok(simple(class_of(self.graph, self.value(name)?)))
    }

    /// Fails if the class itself has fields that are neither known nor noise.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        let Some(level) = self.graph.levels(self.node).next_back() else {
            return Ok(());
        };
        for (field, _) in level.iter() {
            let name = unmangled(field.name());
            let noise = NOISE.contains(&name)
                || name.starts_with("bitmap$")
                || name.starts_with("x$")
                || known.contains(&name);
            if !noise {
                return Err(Unsupported::Extra {
                    class: self.name().to_owned(),
                    field: name.to_owned(),
                });
            }
        }
        Ok(())
    }
}
