//! The arrows of `docs/architecture.md` against the code: every `use` has an arrow, every arrow is used, and there are
//! no cycles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From a room to the rooms that it names.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// What `crate::` is followed by where no room is meant.
const NO_ROOMS: [&str; 2] = ["panic_text", "fuzzing"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The arrows that the page names, in the code block of that name.
fn drawn() -> Arrows {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, block) = page.split_once("```arrows\n").expect("a block of arrows");
    let (block, _) = block.split_once("```").unwrap();
    let lines = block.lines().map(|line| {
        let (room, others) = line
            .split_once("->")
            .unwrap_or_else(|| panic!("no arrow in {line:?}"));
        let others = others.split(',').map(|other| other.trim().to_owned());
        (
            room.trim().to_owned(),
            others.filter(|other| !other.is_empty()).collect(),
        )
    });
    lines.collect()
}

/// All files of Rust below a directory that are compiled into the product.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if matches!(name.as_str(), "tests" | "testing" | "fuzzing") || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The room that a file is in.
fn room_of(file: &Path) -> String {
    let inside = file.strip_prefix(root().join("src")).unwrap();
    let names: Vec<String> = inside
        .with_extension("")
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    match names.as_slice() {
        [lanes, lane, ..] if lanes == "lanes" && lane != "mod" => format!("lanes/{lane}"),
        [room, ..] => room.clone(),
        [] => panic!("{} is no source", file.display()),
    }
}

/// The rooms that a file's code names, its unit tests left out.
fn named_in(code: &str, own: &str) -> BTreeSet<String> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join(" ");
    let mut found = BTreeSet::new();
    for root in ["crate::", "firesteel::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &code[at + root.len()..];
            let paths = match rest.strip_prefix('{') {
                Some(group) => of_group(group),
                None => vec![rest],
            };
            found.extend(paths.into_iter().filter_map(room_of_path));
        }
    }
    found.remove(own);
    found
}

/// The paths of `use crate::{…}`, behind its first brace.
fn of_group(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut paths) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                paths.push(group[start..at].trim());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    paths
}

/// The room that a path behind `crate::` begins with.
fn room_of_path(path: &str) -> Option<String> {
    let mut names = path.split("::").map(|name| {
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
        &name[..end.unwrap_or(name.len())]
    });
    match names.next()? {
        "lanes" => Some(format!("lanes/{}", names.next().unwrap_or_default())),
        "" => None,
        first if NO_ROOMS.contains(&first) || first.starts_with(char::is_uppercase) => None,
        first => Some(first.to_owned()),
    }
}

fn of_rooms() -> Arrows {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 100, "{} sources", files.len());
    let mut arrows = Arrows::new();
    for file in files {
        let room = room_of(&file);
        if matches!(room.as_str(), "lib" | "lanes") {
            continue;
        }
        let named = named_in(&fs::read_to_string(&file).unwrap(), &room);
        arrows.entry(room).or_default().extend(named);
    }
    arrows
}

/// From a crate to the crates of this workspace that it depends on.
fn of_crates() -> Arrows {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let names: BTreeSet<String> = crates
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let of = |name: &String| {
        let manifest =
            fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let (_, dependencies) = manifest
            .split_once("\n[dependencies]\n")
            .unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let named = dependencies
            .lines()
            .filter_map(|line| line.split_once("../"));
        let named =
            named.map(|(_, path)| format!("crates/{}", path.split('"').next().unwrap_or_default()));
        (format!("crates/{name}"), named.collect())
    };
    names.iter().map(of).collect()
}

#[test]
fn code_has_the_arrows_of_the_page() {
    let mut found = of_rooms();
    found.extend(of_crates());
    let drawn = drawn();
    for (room, others) in &found {
        let Some(arrows) = drawn.get(room) else {
            panic!("docs/architecture.md has no line for {room}");
        };
        let missing: Vec<_> = others.difference(arrows).collect();
        assert!(
            missing.is_empty(),
            "{room} names {missing:?}, to which docs/architecture.md has no arrow"
        );
        let unused: Vec<_> = arrows.difference(others).collect();
        assert!(
            unused.is_empty(),
            "docs/architecture.md has arrows from {room} to {unused:?}, which it does not name"
        );
    }
    let gone: Vec<_> = drawn
        .keys()
        .filter(|room| !found.contains_key(*room))
        .collect();
    assert!(
        gone.is_empty(),
        "docs/architecture.md has lines for {gone:?}, which are not there"
    );
}

#[test]
fn arrows_have_no_cycles() {
    let mut left = drawn();
    while !left.is_empty() {
        let ends: Vec<String> = left
            .iter()
            .filter(|(_, others)| others.is_empty())
            .map(|(room, _)| room.clone())
            .collect();
        assert!(!ends.is_empty(), "a cycle among {:?}", left.keys());
        for end in &ends {
            left.remove(end);
        }
        for others in left.values_mut() {
            others.retain(|other| !ends.contains(other));
        }
    }
}

#[test]
fn lanes_are_named_by_few() {
    for (room, others) in of_rooms() {
        let lanes = others
            .iter()
            .filter(|other| other.starts_with("lanes/"))
            .count();
        let may = matches!(room.as_str(), "assemble" | "cli");
        assert!(lanes == 0 || may, "{room} names a lane");
    }
}

#[test]
fn uses_are_found_in_code_and_not_in_comments() {
    let code = "use crate::blocks::{A, crate_b};\n// crate::config\nuse crate::{files::{B, C},\n memory};\nfn f() { crate::lanes::sql::g(my_crate::files) }\n\
                #[cfg(test)]\nmod tests {\n use crate::rpc; }";
    let found = named_in(code, "executor");
    assert_eq!(
        Vec::from_iter(found),
        ["blocks", "files", "lanes/sql", "memory"]
    );
}
