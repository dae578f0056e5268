//! Class paths of every shape: jars, directories, wildcards, what shadows what, and what is damaged.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use javaser::{Catalog, CatalogError, SC_SERIALIZABLE, SC_WRITE_METHOD};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A directory that goes with the test.
struct Dir(testkit::TempDir);

impl Dir {
    fn new() -> Self {
        Self(testkit::temp_dir())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

#[derive(Default)]
struct Pool(Vec<Vec<u8>>);

impl Pool {
    fn add(&mut self, entry: Vec<u8>) -> [u8; 2] {
        self.0.push(entry);
        u16::try_from(self.0.len()).unwrap().to_be_bytes()
    }

    fn utf8(&mut self, text: &str) -> [u8; 2] {
        self.add(
            [
                &[1][..],
                &u16::try_from(text.len()).unwrap().to_be_bytes(),
                text.as_bytes(),
            ]
            .concat(),
        )
    }

    fn class(&mut self, name: &str) -> [u8; 2] {
        let name = self.utf8(name);
        self.add([&[7][..], &name].concat())
    }
}

/// A class file: fields are access, name, descriptor and the number of a constant.
fn class(
    name: &str,
    above: &str,
    interfaces: &[&str],
    fields: &[(u16, &str, &str, Option<i64>)],
    methods: &[(u16, &str, &str)],
) -> Vec<u8> {
    let mut pool = Pool::default();
    let mut body = vec![0, 0x21];
    body.extend(pool.class(name));
    body.extend(pool.class(above));
    body.extend(u16::try_from(interfaces.len()).unwrap().to_be_bytes());
    for interface in interfaces {
        body.extend(pool.class(interface));
    }
    body.extend(u16::try_from(fields.len()).unwrap().to_be_bytes());
    for (access, name, descriptor, constant) in fields {
        body.extend(access.to_be_bytes());
        body.extend(pool.utf8(name));
        body.extend(pool.utf8(descriptor));
        match constant {
            None => body.extend([0, 0]),
            Some(value) => {
                let attribute = pool.utf8("ConstantValue");
                let value = pool.add([&[5][..], &value.to_be_bytes()].concat());
                // A long takes two places in the pool.
                pool.0.push(Vec::new());
                body.extend([&[0, 1][..], &attribute, &[0, 0, 0, 2], &value].concat());
            }
        }
    }
    body.extend(u16::try_from(methods.len()).unwrap().to_be_bytes());
    for (access, name, descriptor) in methods {
        body.extend(access.to_be_bytes());
        body.extend(pool.utf8(name));
        body.extend(pool.utf8(descriptor));
        body.extend([0, 0]);
    }
    body.extend([0, 0]);
    let count = u16::try_from(pool.0.len() + 1).unwrap().to_be_bytes();
    [
        &[0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61][..],
        &count,
        &pool.0.concat(),
        &body,
    ]
    .concat()
}

fn serializable(name: &str, suid: i64) -> Vec<u8> {
    class(
        name,
        "java/lang/Object",
        &["java/io/Serializable"],
        &[
            (0x1A, "serialVersionUID", "J", Some(suid)),
            (2, "b", "I", None),
        ],
        &[],
    )
}

fn jar(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer
            .start_file(
                *name,
                SimpleFileOptions::default().compression_method(method),
            )
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn catalog(entries: &[&Path]) -> Catalog {
    Catalog::from_class_path(&entries.iter().map(|e| e.to_path_buf()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn jars_directories_and_wildcards_are_searched_in_order() {
    let dir = Dir::new();
    let stored = dir.file(
        "lib/x.jar",
        &jar(
            &[("a/B.class", &serializable("a/B", 1))],
            CompressionMethod::Stored,
        ),
    );
    dir.file(
        "lib/y.jar",
        &jar(
            &[
                ("a/B.class", &serializable("a/B", 2)),
                ("a/C.class", &serializable("a/C", 3)),
            ],
            CompressionMethod::Deflated,
        ),
    );
    dir.file("lib/notes.txt", b"no jar");
    let classes = dir.path().join("classes");
    dir.file("classes/a/C.class", &serializable("a/C", 4));
    let missing = dir.path().join("missing.jar");

    let all = catalog(&[
        &missing,
        &dir.path().join("lib/*"),
        &classes,
        &dir.path().join("nothing/*"),
    ]);
    assert_eq!(all.lookup("a.B").unwrap().suid, 1);
    assert_eq!(all.lookup("a.C").unwrap().suid, 3);
    assert_eq!(all.jar_of("a.B").unwrap(), stored);
    let directory_first = catalog(&[&classes, &dir.path().join("lib/*")]);
    assert_eq!(directory_first.lookup("a.C").unwrap().suid, 4);
    assert_eq!(directory_first.lookup("a.B").unwrap().suid, 1);
    assert!(!directory_first.contains("a.D"));
    assert_eq!(
        directory_first.resource("a/B.class").unwrap(),
        serializable("a/B", 1)
    );
}

#[test]
fn a_class_in_front_shadows_the_distribution_s() {
    let dir = Dir::new();
    let name = "org/apache/spark/Heartbeat";
    let file = format!("{name}.class");
    let core = dir.file(
        "jars/spark-core_2.13-4.1.4.jar",
        &jar(
            &[(&file, &serializable(name, 1))],
            CompressionMethod::Deflated,
        ),
    );
    let mine = dir.file(
        "mine/patch.jar",
        &jar(
            &[(&file, &serializable(name, 2))],
            CompressionMethod::Deflated,
        ),
    );
    let suid = |entries: &[&Path]| {
        catalog(entries)
            .lookup("org.apache.spark.Heartbeat")
            .unwrap()
            .suid
    };
    assert_eq!(suid(&[&core, &mine]), 1);
    assert_eq!(suid(&[&mine, &core]), 2);
    let versions = catalog(&[&mine, &core]).spark_versions_found();
    assert_eq!(versions, [("4.1.4".to_owned(), core)]);
}

/// As on the class path of Spark's own tests.
#[test]
fn a_classifier_is_no_version() {
    let dir = Dir::new();
    let bytes = jar(
        &[("a/B.class", &serializable("a/B", 1))],
        CompressionMethod::Deflated,
    );
    let file = |name: &str| dir.file(name, &bytes);
    let core = file("spark-core_2.13-4.1.3.jar");
    let tests = file("spark-common-utils_2.13-4.1.3-tests.jar");
    let others = ["tests", "sources", "test-sources", "javadoc"]
        .map(|classifier| file(&format!("spark-core_2.13-4.1.2-{classifier}.jar")));
    let mut entries = vec![tests.as_path(), core.as_path()];
    entries.extend(others.iter().map(PathBuf::as_path));
    let versions = catalog(&entries).spark_versions_found();
    assert_eq!(versions, [("4.1.3".to_owned(), core)]);
    // A vendor's or a coming version is one.
    for version in ["4.1.3-vendor-7", "4.2.0-preview1", "4.3.0-SNAPSHOT"] {
        let core = file(&format!("spark-core_2.13-{version}.jar"));
        let versions = catalog(&[&core]).spark_versions_found();
        assert_eq!(versions, [(version.to_owned(), core)]);
    }
}

#[test]
fn offsets_are_right_behind_a_prefix_and_a_comment() {
    let dir = Dir::new();
    let mut bytes = b"#!/bin/sh\nexec java -jar $0\n".to_vec();
    bytes.extend(jar(
        &[("a/B.class", &serializable("a/B", 7))],
        CompressionMethod::Deflated,
    ));
    // The archive's comment: its length is the last field of the end record.
    let at = bytes.len() - 2;
    bytes[at..].copy_from_slice(&2000u16.to_le_bytes());
    bytes.extend([b' '; 2000]);
    let jar = dir.file("x.jar", &bytes);
    assert_eq!(catalog(&[&jar]).lookup("a.B").unwrap().suid, 7);
}

#[test]
fn damaged_jars_are_named() {
    let dir = Dir::new();
    let good = jar(
        &[("a/B.class", &serializable("a/B", 7))],
        CompressionMethod::Deflated,
    );
    let mut wrong_crc = good.clone();
    let data = 30 + "a/B.class".len() + 20;
    wrong_crc[data] ^= 0xFF;
    for (what, bytes) in [
        ("empty", &[][..]),
        ("text", b"not a jar"),
        ("cut", &good[..good.len() - 30]),
        ("data", &wrong_crc),
    ] {
        let path = dir.file(&format!("{what}.jar"), bytes);
        let error = catalog(&[&path]).lookup("a.B").unwrap_err();
        assert_eq!(error.code(), "class-path-jar", "{what}: {error}");
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{what}: {error}"
        );
    }
    // As for the JVM, it does not matter if another jar has the class.
    let good = dir.file("good.jar", &good);
    let all = catalog(&[&dir.path().join("text.jar"), &good]);
    assert_eq!(all.lookup("a.B").unwrap().suid, 7);
    let not_a_class = dir.file(
        "text-class.jar",
        &jar(&[("a/B.class", b"hello")], CompressionMethod::Stored),
    );
    let error = catalog(&[&not_a_class]).lookup("a.B").unwrap_err();
    assert_eq!(error.code(), "class-file");
    assert!(
        error.to_string().contains("a.B") && error.to_string().contains("text-class.jar"),
        "{error}"
    );
    let other_name = dir.file(
        "renamed.jar",
        &jar(
            &[("a/B.class", &serializable("a/C", 1))],
            CompressionMethod::Stored,
        ),
    );
    assert_eq!(
        catalog(&[&other_name]).lookup("a.B").unwrap_err().code(),
        "class-file"
    );
}

#[test]
fn classes_that_only_run_time_could_describe_are_refused() {
    let dir = Dir::new();
    let serializable = &["java/io/Serializable"];
    let persistent = class(
        "a/P",
        "java/lang/Object",
        serializable,
        &[(
            0x1A,
            "serialPersistentFields",
            "[Ljava/io/ObjectStreamField;",
            None,
        )],
        &[],
    );
    let computed = class(
        "a/U",
        "java/lang/Object",
        serializable,
        &[(0x1A, "serialVersionUID", "J", None)],
        &[],
    );
    let circle = class("a/X", "a/X", &[], &[], &[]);
    let orphan = class("a/O", "a/Gone", &[], &[], &[]);
    for (name, bytes) in [
        ("P", &persistent),
        ("U", &computed),
        ("X", &circle),
        ("O", &orphan),
    ] {
        dir.file(&format!("a/{name}.class"), bytes);
    }
    let catalog = catalog(&[dir.path()]);
    assert_eq!(
        catalog.lookup("a.P").unwrap_err().code(),
        "class-unsupported"
    );
    assert_eq!(catalog.lookup("a.U").unwrap_err().code(), "class-file");
    assert_eq!(catalog.lookup("a.X").unwrap_err().code(), "class-file");
    let missing = catalog.lookup("a.O").unwrap_err();
    assert!(
        matches!(&missing, CatalogError::ClassNotFound { class, .. } if class == "a.Gone"),
        "{missing}"
    );
    assert_eq!(
        catalog.spark_version().unwrap_err().code(),
        "class-path-version"
    );
}

#[test]
fn flags_and_fields_follow_the_class() {
    let dir = Dir::new();
    let write_object = (2, "writeObject", "(Ljava/io/ObjectOutputStream;)V");
    let fields: &[(u16, &str, &str, Option<i64>)] = &[
        (2, "z", "J", None),
        (2, "a", "Ljava/lang/String;", None),
        (0x82, "gone", "I", None),
        (2, "b", "I", None),
        (8, "s", "I", None),
    ];
    dir.file(
        "a/W.class",
        &class(
            "a/W",
            "java/lang/Object",
            &["java/io/Serializable"],
            fields,
            &[write_object],
        ),
    );
    dir.file(
        "a/Sub.class",
        &class(
            "a/Sub",
            "a/W",
            &[],
            &[],
            &[(1, "writeObject", write_object.2)],
        ),
    );
    dir.file(
        "a/E.class",
        &class(
            "a/E",
            "java/lang/Object",
            &["java/io/Externalizable"],
            fields,
            &[write_object],
        ),
    );
    dir.file(
        "a/Plain.class",
        &class("a/Plain", "java/lang/Object", &[], fields, &[]),
    );
    let catalog = catalog(&[dir.path()]);
    let w = catalog.lookup("a.W").unwrap();
    assert_eq!(w.flags, SC_SERIALIZABLE | SC_WRITE_METHOD);
    let names: Vec<_> = w.fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["b", "z", "a"]);
    let sub = catalog.lookup("a.Sub").unwrap();
    assert_eq!(sub.flags, SC_SERIALIZABLE);
    assert_eq!(
        sub.levels()
            .iter()
            .map(|l| l.name.as_str())
            .collect::<Vec<_>>(),
        ["a.W", "a.Sub"]
    );
    assert!(sub.is_a("a.W") && !w.is_a("a.Sub"));
    let external = catalog.lookup("a.E").unwrap();
    assert!(external.is_externalizable() && external.fields.is_empty());
    assert_eq!(
        catalog.lookup("a.Plain").unwrap_err().code(),
        "class-not-serializable"
    );
}
