//! The list of classes that do not write the fields they declare, against five real distributions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::fs::File;

use javaser::Limits;
use javaser::arena::{Graph, Value};
use testkit::{Distribution, NEWEST, OLDEST};

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

/// Class files of Spark and Scala with a `writeObject` that calls none of the methods which write fields.
fn suspects(version: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(Distribution::find(version).jars())
        .unwrap()
        .flatten()
    {
        let name = entry.file_name().into_string().unwrap();
        let wanted = [
            "spark-core_",
            "spark-sketch_",
            "spark-sql_",
            "spark-catalyst_",
            "scala-library",
        ];
        if !wanted.iter().any(|w| name.starts_with(w)) {
            continue;
        }
        let mut jar = zip::ZipArchive::new(File::open(entry.path()).unwrap()).unwrap();
        for index in 0..jar.len() {
            let mut file = jar.by_index(index).unwrap();
            let Some(class) = file
                .name()
                .unwrap()
                .strip_suffix(".class")
                .map(|c| c.replace('/', "."))
            else {
                continue;
            };
            // The core jar also holds renamed copies of other libraries, which no task contains.
            if !class.starts_with("org.apache.spark.") && !class.starts_with("scala.") {
                continue;
            }
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
            let writes_fields = ["defaultWriteObject", "putFields"]
                .iter()
                .any(|m| contains(&bytes, m));
            if contains(&bytes, "(Ljava/io/ObjectOutputStream;)V") && !writes_fields {
                found.push(class);
            }
        }
    }
    found
}

#[test]
fn every_class_that_omits_its_fields_is_known() {
    for version in [OLDEST, NEWEST] {
        let catalog = common::catalog(version);
        let mut checked = Vec::new();
        for class in suspects(version) {
            let Ok(desc) = catalog.lookup(&class) else {
                continue;
            };
            let primitive_first = desc.fields.first().is_some_and(|f| f.signature.len() == 1);
            if !desc.has_write_object() || !primitive_first {
                continue;
            }
            // A stream of it without fields, as its writeObject makes it.
            let mut graph = Graph::default();
            let id = graph.add_desc(&desc).unwrap();
            let object = graph.new_object(id).unwrap();
            graph
                .set_body(object, Some(&class), Graph::blocks(&[1, 2, 3]))
                .unwrap();
            graph.push_root(Value::Ref(object)).unwrap();
            let bytes = graph.to_bytes();
            let again = Graph::parse(&bytes, &Limits::default()).unwrap();
            let Some(Value::Ref(object)) = again.root() else {
                panic!("{class}")
            };
            let level = again.level(object, &class).unwrap();
            assert!(
                level.fields.is_empty(),
                "{version}: {class} is missing in the list"
            );
            assert_eq!(&*level.block_bytes(), [1, 2, 3], "{class}");
            checked.push(class);
        }
        assert!(
            checked.iter().any(|c| c.ends_with("PythonBroadcast")),
            "{version}: {checked:?}"
        );
        assert!(checked.len() >= 2, "{version}: {checked:?}");
    }
}
