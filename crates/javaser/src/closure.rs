//! Scala's and Java's closures in object streams: `java.lang.invoke.SerializedLambda`.

use crate::arena::{Graph, Value};

/// A closure: which method of which class is its code, and what it captured.
#[derive(Debug, Clone, PartialEq)]
pub struct Closure {
    class: String,
    method: String,
    /// What it captured, in the order of the method's first parameters.
    pub args: Vec<Value>,
}

impl Closure {
    /// The closure that the value is, if it is one.
    #[must_use]
    pub fn read(graph: &Graph, value: Value) -> Option<Self> {
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

    /// Class (without `org.apache.spark.`) and the method that the closure was written in: `collect`. What several
    /// closures of one method have in common; the same in all releases.
    #[must_use]
    pub fn name(&self) -> (&str, &str) {
        let method = self.method.split('$').next().unwrap_or(&self.method);
        (&self.class, method)
    }

    /// As [`Closure::name`], with the number that tells the closures of one method apart: `collect$2`. The compiler
    /// counts them, so that a release may have another number.
    #[must_use]
    pub fn numbered_name(&self) -> (&str, &str) {
        (&self.class, &self.method)
    }

    /// The closure that this one wraps: the first thing that it captured.
    #[must_use]
    pub fn inner(&self, graph: &Graph) -> Option<Self> {
        Self::read(graph, *self.args.first()?)
    }

    /// For people: `SparkContext::textFile$2`; not of closures that are not Spark's, whose names may be anything.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.class.contains("$$Lambda") || self.class.contains("$iw") {
            return "a closure of the user".to_owned();
        }
        let class = self.class.rsplit('.').next().unwrap_or(&self.class);
        format!("{class}::{}", self.method)
    }
}
