//! Spark's classes by the names under which plans print them. What runs natively is not decided here: the classes are
//! looked up in the [`Table`].

use std::collections::HashMap;

use crate::table::Table;

/// Functions whose classes have other names, as Spark's own registry has them (`capture_functions.py`).
const FUNCTIONS: &str = include_str!("functions.txt");

/// Names that are in no registry, or under which the registry has only what makes the function.
const PRINTED: [(&str, &str); 11] = [
    ("bloom_filter_agg", "BloomFilterAggregate"),
    ("element", "GetArrayItem"),
    ("first", "First"),
    ("from_unixtime", "FromUnixTime"),
    ("last", "Last"),
    ("lpad", "StringLPad"),
    ("max_by", "MaxBy"),
    ("might_contain", "BloomFilterMightContain"),
    ("min_by", "MinBy"),
    ("rpad", "StringRPad"),
    ("udf", "ScalaUDF"),
];

/// Words before brackets that compute nothing by themselves.
const NO_FUNCTIONS: [&str; 18] = [
    "and",
    "currentrow$",
    "dynamicpruningexpression",
    "existencejoin",
    "hashpartitioning",
    "keys",
    "lambdafunction",
    "limit",
    "list",
    "namedlambdavariable",
    "not",
    "or",
    "rangepartitioning",
    "roundrobinpartitioning",
    "specifiedwindowframe",
    "unboundedfollowing$",
    "unboundedpreceding$",
    "windowspecdefinition",
];

/// What makes a function, as the registry has it, is named after the function.
const MAKERS: [&str; 3] = ["ExpressionBuilder", "GeneratorBuilder", "Builder"];

/// Classes by printed name.
#[derive(Debug)]
pub(crate) struct Names {
    classes: HashMap<String, String>,
}

/// Without what differs between a class's name and a function's.
fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

impl Names {
    pub(crate) fn new(table: &Table) -> Self {
        let mut classes = HashMap::new();
        let expressions = table.expressions.iter().chain(&table.aggregates);
        let names = expressions.map(|it| it.name.as_str());
        for class in names.chain(table.windows.iter().map(String::as_str)) {
            classes.insert(plain(class), class.to_owned());
        }
        let functions = FUNCTIONS.lines().filter_map(|line| line.split_once(' '));
        // What tries is the same function in another mode.
        for (name, class) in functions.filter(|(name, _)| !name.starts_with("try_")) {
            let maker = MAKERS.iter().find_map(|maker| class.strip_suffix(maker));
            let class = maker.unwrap_or(class);
            // A function that is named after another one's class is printed as that.
            classes
                .entry(plain(name))
                .or_insert_with(|| class.to_owned());
        }
        for (name, class) in PRINTED {
            classes.insert(plain(name), class.to_owned());
        }
        Self { classes }
    }

    /// The class of what is printed as `name`; its own name, if that is not known. `None` if it computes nothing.
    pub(crate) fn class<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        let printed = name.rsplit('.').next().unwrap_or(name);
        if NO_FUNCTIONS.contains(&printed.to_lowercase().as_str()) {
            return None;
        }
        let known = |name: &str| self.classes.get(&plain(name)).map(String::as_str);
        let found = known(printed).or_else(|| known(printed.strip_prefix("try_")?));
        Some(found.unwrap_or(printed))
    }

    /// The class of an aggregate function that is printed with its part in an aggregation.
    pub(crate) fn aggregate<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        let parts = ["partial_", "merge_"];
        let rest = parts.iter().find_map(|part| name.strip_prefix(part));
        self.class(rest.unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Function;

    #[test]
    fn classes_are_found_by_what_is_printed() {
        let function = |name: &str| Function {
            name: name.to_owned(),
            arguments: Vec::new(),
        };
        let table = Table {
            expressions: ["DateAdd", "Md5", "Ceil", "Sqrt"].map(function).to_vec(),
            windows: vec!["RowNumber".to_owned()],
            ..Table::default()
        };
        let names = Names::new(&table);
        for (printed, class) in [
            ("date_add", "DateAdd"),
            ("md5", "Md5"),
            ("CEIL", "Ceil"),
            ("SQRT", "Sqrt"),
            ("row_number", "RowNumber"),
            ("date_trunc", "TruncTimestamp"),
            ("substr", "Substring"),
            ("rpad", "StringRPad"),
            ("try_substr", "Substring"),
            ("soundex", "soundex"),
        ] {
            assert_eq!(names.class(printed), Some(class));
        }
        assert_eq!(names.class("hashpartitioning"), None);
        assert_eq!(names.aggregate("partial_avg"), Some("Average"));
        assert_eq!(names.aggregate("merge_stddev"), Some("StddevSamp"));
    }
}
