//! What runs natively, as data. Nothing here knows any of it: the program that has the lanes fills it in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the lanes run in sessions of one time zone. Names of operators, functions and RDDs are those of Spark's
/// classes; types are written as Spark does, `decimal` stands for all decimals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Operators, such as `FilterExec`.
    pub operators: Vec<String>,
    /// Joins of the operators that are joins.
    pub joins: Vec<Join>,
    /// Aggregate functions, with the types of their argument.
    pub aggregates: Vec<Function>,
    /// Functions of windows that are no aggregates.
    pub windows: Vec<String>,
    /// What can be done with columns of a type.
    pub types: Vec<Type>,
    /// Formats of files that are scanned, such as `Parquet`.
    pub formats: Vec<String>,
    /// Schemes of file systems that are read, such as `file`.
    pub schemes: Vec<String>,
    /// Formats of files that are written, such as `Parquet`.
    #[serde(default)]
    pub written_formats: Vec<String>,
    /// Schemes of file systems that are written to, such as `file`.
    #[serde(default)]
    pub written_schemes: Vec<String>,
    /// RDDs of PySpark, such as `PythonRDD` and `MapPartitionsRDD of RDD.coalesce`.
    pub rdds: Vec<String>,
    /// Expressions, each as often as it has kinds of arguments.
    pub expressions: Vec<Function>,
    /// Conversions.
    pub casts: Vec<Cast>,
    /// Whether projections and filters have other expressions evaluated in the JVM: all but these.
    #[serde(default)]
    pub not_in_jvm: Option<Vec<String>>,
}

/// Joins of one operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Spark's class.
    pub operator: String,
    /// The side of which there is a table: `BuildLeft`, `BuildRight`, or none.
    pub build_side: Option<String>,
    /// Types of joins, such as `LeftOuter`.
    pub types: Vec<String>,
}

/// A function with types of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Spark's class.
    pub name: String,
    /// For expressions the type of each argument; for aggregates the types that the one argument may have.
    pub arguments: Vec<String>,
}

/// What can be done with columns of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Type {
    /// The type.
    pub name: String,
    /// Read from files.
    pub scanned: bool,
    /// In the rows of shuffles and results.
    pub rows: bool,
    /// A key to sort by.
    pub sort_key: bool,
    /// A key of groups.
    pub group_key: bool,
    /// A key of joins with a broadcast.
    pub broadcast_key: bool,
    /// A key of joins of two shuffles.
    pub shuffled_key: bool,
}

/// A conversion that is native in some mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cast {
    /// What is converted.
    pub from: String,
    /// Into what.
    pub to: String,
}

/// Why lanes would run nothing of an application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Off {
    /// An executor would not start.
    pub refused: Option<String>,
    /// Spark SQL is left to the JVM.
    pub sql: Option<String>,
    /// PySpark's RDDs are left to the JVM.
    pub python: Option<String>,
}

/// Who knows what runs natively.
pub trait Native {
    /// What runs natively in sessions of this time zone, in Java's spelling; one that is not known is an empty text.
    fn table(&self, time_zone: &str) -> Table;

    /// What the properties of an application of this version of Spark turn off.
    fn off(&self, version: &str, properties: &BTreeMap<String, String>) -> Off;
}

/// Types that differ in what they are made of only, as one: `decimal` of any precision, `array`, `map`, `struct`.
pub(crate) fn shape(of: &str) -> &str {
    let end = of.find(['(', '<', ' ']).unwrap_or(of.len());
    match of.get(..end) {
        Some(word @ ("decimal" | "array" | "map" | "struct")) => word,
        Some("char" | "varchar") => "string",
        Some("string") => "string",
        _ => of,
    }
}

impl Table {
    /// What is known of a type.
    pub(crate) fn of_type(&self, name: &str) -> Option<&Type> {
        let exact = self.types.iter().find(|known| known.name == name);
        exact.or_else(|| {
            let mut known = self.types.iter();
            known.find(|known| shape(&known.name) == shape(name))
        })
    }

    /// Whether a function of that class is computed for arguments of these types, as far as they are known.
    pub(crate) fn computes(&self, class: &str, arguments: &[Option<String>]) -> bool {
        let mut of_class = self.expressions.iter().filter(|it| it.name == class);
        of_class.any(|it| {
            let mut pairs = arguments.iter().zip(&it.arguments);
            pairs.all(|(given, known)| match given {
                Some(given) => shape(given) == shape(known),
                None => true,
            })
        })
    }

    /// Whether the JVM evaluates expressions of that class for operators of this name, in the log's spelling.
    pub(crate) fn leaves_to_jvm(&self, operator: &str, class: &str) -> bool {
        let mut not = self.not_in_jvm.as_ref().map(|not| not.iter());
        let not = not.as_mut().is_none_or(|not| not.any(|it| it == class));
        matches!(operator, "Project" | "Filter") && !not
    }

    /// Whether there is a function of that class at all.
    pub(crate) fn has_function(&self, class: &str) -> bool {
        self.expressions.iter().any(|it| it.name == class)
    }

    /// Whether values are converted, from a type that may not be known.
    pub(crate) fn converts(&self, from: Option<&str>, to: &str) -> bool {
        if from.is_some_and(|from| from == to) {
            return true;
        }
        self.casts.iter().any(|cast| {
            shape(&cast.to) == shape(to) && from.is_none_or(|from| shape(&cast.from) == shape(from))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jvm_evaluates_what_projections_and_filters_have() {
        let mut table = Table::default();
        assert!(!table.leaves_to_jvm("Project", "Soundex"));
        table.not_in_jvm = Some(vec!["Uuid".to_owned()]);
        assert!(table.leaves_to_jvm("Project", "Soundex"));
        assert!(table.leaves_to_jvm("Filter", "Soundex"));
        assert!(!table.leaves_to_jvm("Generate", "Soundex"));
        assert!(!table.leaves_to_jvm("Project", "Uuid"));
    }
}
