//! Spark's own closures, recognised by their names.

use javaser::arena::{Graph, Value};

use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};

/// A `java.lang.invoke.SerializedLambda`.
#[derive(Debug, Clone)]
pub(crate) struct Closure {
    /// Class that has the code, without `org.apache.spark.`.
    class: String,
    /// Method that is the code, without `$anonfun$` and `$adapted`: `doExecute$1`.
    method: String,
    /// What it captured.
    pub(crate) args: Vec<Value>,
}

impl Closure {
    /// The closure that the value is, if it is one.
    pub(crate) fn read(graph: &Graph, value: Value) -> Option<Self> {
        if graph.class_name(value)? != "java.lang.invoke.SerializedLambda" {
            return None;
        }
        let node = value.node()?;
        let text = |name| graph.str(graph.field(node, name)?);
        let class = text("implClass")?.replace('/', ".");
        let method = text("implMethodName")?;
        let method = method.strip_prefix("$anonfun$").unwrap_or(&method);
        Some(Self {
            class: match class.strip_prefix("org.apache.spark.") {
                Some(own) => own.to_owned(),
                None => class,
            },
            method: method.strip_suffix("$adapted").unwrap_or(method).to_owned(),
            args: graph.array(graph.field(node, "capturedArgs")?)?,
        })
    }

    /// The closure in a field.
    pub(crate) fn in_field(object: Object<'_>, field: &str) -> Result<Self> {
        Self::read(object.graph, object.value(field)?).ok_or_else(|| object.missing(field))
    }

    /// Class and method. The number behind the method differs between releases: it counts the closures before it in the class.
    pub(crate) fn name(&self) -> (&str, &str) {
        let method = self.method.split('$').next().unwrap_or(&self.method);
        (&self.class, method)
    }

    /// The closure that this one wraps.
    pub(crate) fn inner(&self, graph: &Graph) -> Option<Self> {
        Self::read(graph, *self.args.first()?)
    }

    pub(crate) fn arg<'g>(&self, reader: &Reader<'g>, index: usize) -> Result<Object<'g>> {
        match self.args.get(index) {
            Some(value) => reader.expect(*value),
            None => Err(self.unsupported()),
        }
    }

    pub(crate) fn int(&self, reader: &Reader<'_>, index: usize) -> Result<i32> {
        self.args
            .get(index)
            .and_then(|value| reader.graph.int(*value))
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| self.unsupported())
    }

    pub(crate) fn elements(&self, reader: &Reader<'_>, index: usize) -> Result<Vec<Value>> {
        self.args
            .get(index)
            .and_then(|value| reader.graph.elements(*value))
            .ok_or_else(|| self.unsupported())
    }

    /// That it is not known.
    pub(crate) fn unsupported(&self) -> Unsupported {
        // Names of closures that are not Spark's may be anything.
        if self.class.contains("$$Lambda") || self.class.contains("$iw") {
            return Unsupported::of_use("a closure of the user");
        }
        let class = self.class.rsplit('.').next().unwrap_or(&self.class);
        Unsupported::of_use(format!("{class}::{}", self.method))
    }
}
