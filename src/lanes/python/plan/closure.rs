//! Spark's own closures, recognised by their names.

use javaser::arena::{Graph, Value};

/// A `java.lang.invoke.SerializedLambda`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Closure {
    /// Class that has the code, with dots and without `org.apache.spark.`.
    pub(super) class: String,
    /// Method that is the code, without `$anonfun$` and `$adapted`: `collect$2`.
    pub(super) method: String,
    /// What it captured.
    pub(super) args: Vec<Value>,
}

impl Closure {
    /// The closure that the value is, if it is one.
    pub(super) fn read(graph: &Graph, value: Value) -> Option<Self> {
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

    /// Class and method, to be matched.
    pub(super) fn name(&self) -> (&str, &str) {
        (&self.class, &self.method)
    }

    /// For people: `SparkContext::textFile$2`, or the package's name if the closure is not Spark's, whose names may be anything.
    pub(super) fn describe(&self) -> String {
        if self.class.contains("$$Lambda") || self.class.contains("$iw") {
            return "a closure of the user".to_owned();
        }
        let class = self.class.rsplit('.').next().unwrap_or(&self.class);
        format!("{class}::{}", self.method)
    }
}
