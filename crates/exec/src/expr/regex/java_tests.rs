#![allow(clippy::indexing_slicing)]

use super::*;

/// A text of hexadecimal digits of UTF-16.
fn text(digits: &str) -> Option<String> {
    let units = digits
        .as_bytes()
        .chunks(4)
        .map(|unit| u16::from_str_radix(std::str::from_utf8(unit).unwrap(), 16).unwrap());
    String::from_utf16(&units.collect::<Vec<_>>()).ok()
}

/// Places of all groups of all matches in units of UTF-16; those of groups that Java keeps in its own way are left out.
fn places(pattern: &Pattern, text: &str) -> RunResult<String> {
    let units = |at: usize| text[..at].encode_utf16().count();
    let mut out = String::new();
    pattern.all_with_groups(text, |_, groups| {
        for (group, number) in pattern.groups.iter().enumerate() {
            out += &match groups.get(*number) {
                _ if pattern.of.inner.contains(&group) => "?,".to_owned(),
                Some((start, end)) => format!("{}:{},", units(start), units(end)),
                None => "-1:-1,".to_owned(),
            };
        }
        out.push(';');
        Ok(true)
    })?;
    Ok(out)
}

/// What Java found, without groups that it keeps in its own way.
fn expected(places: &str, inner: &[usize]) -> String {
    let matches = places.split_terminator(';').map(|found| {
        let groups = found.split_terminator(',').enumerate();
        let groups = groups.map(|(group, place)| if inner.contains(&group) { "?" } else { place });
        groups.map(|place| format!("{place},")).collect::<String>() + ";"
    });
    matches.collect()
}

/// `FIRESTEEL_PATTERNS` names a file of `tests/capture/Patterns.java` to be compared instead.
#[test]
fn patterns_find_what_java_finds() {
    let lines = match std::env::var_os("FIRESTEEL_PATTERNS") {
        Some(path) => std::fs::read(path).unwrap(),
        None => {
            let packed = include_bytes!("../../../tests/fixtures/patterns.txt.zst");
            zstd::decode_all(packed.as_slice()).unwrap()
        }
    };
    let lines = String::from_utf8(lines).unwrap();
    let (mut compared, mut replacements, mut bailed_out) = (0, 0, 0);
    let (mut patterns, mut taken) = (0, 0);
    let mut pattern = None;
    for line in lines.lines() {
        let parts: Vec<_> = line.split('\t').collect();
        if parts[0] == "P" {
            patterns += 1;
            let java = text(parts[1]).unwrap();
            pattern = Pattern::new(&java, true).map(|of| (of, Pattern::new(&java, false).unwrap()));
            taken += usize::from(pattern.is_some());
            assert!(pattern.is_none() || parts[2] == "ok", "{java:?}");
            continue;
        }
        let Some((pattern, bare)) = &pattern else {
            continue;
        };
        let text_of = |digits| text(digits);
        let text = text_of(parts[1]).unwrap();
        let Ok(found) = places(pattern, &text) else {
            bailed_out += 1;
            continue;
        };
        let java = expected(parts[2], &pattern.of.inner);
        assert_eq!(found, java, "{:?} in {text:?}", pattern.of.pattern);
        assert_eq!(bare.is_match(&text).unwrap(), !java.is_empty());
        let (mut spans, mut bare_spans) = (Vec::new(), Vec::new());
        let all = pattern.all_with_groups(&text, |span, _| {
            spans.push(span);
            Ok(true)
        });
        all.unwrap();
        let all = bare.all(&text, |span| {
            bare_spans.push(span);
            Ok(true)
        });
        all.unwrap();
        assert_eq!(spans, bare_spans, "{:?} in {text:?}", bare.of.pattern);
        compared += 1;

        let by = text_of(parts[3]).unwrap();
        let by = replacement(&by, pattern.of.groups, &pattern.of.names);
        let mut made = String::new();
        match replaced(pattern, true, &text, by.as_deref(), &mut made) {
            Ok(()) => {
                assert_eq!(
                    Some(made),
                    text_of(parts[4]),
                    "{:?} in {text:?}",
                    pattern.of.pattern
                );
                replacements += 1;
            }
            Err(_) => assert!(parts[4] == "error" || !pattern.of.inner.is_empty()),
        }
    }
    println!(
        "{patterns} patterns, {taken} of them taken, {compared} texts and {replacements} replacements compared, {bailed_out} bailed out of"
    );
    assert!(compared > 5_000 && replacements > 5_000 && taken > 800 && bailed_out < compared / 10);
}

#[test]
fn others_are_left_to_java() {
    for pattern in [
        "(a",
        "a)",
        "*a",
        "[]",
        "[]a]",
        "a{",
        "a{2",
        "a{,2}",
        "a{3,2}",
        "a*+",
        "a++",
        "a**",
        "a{2}{3}",
        "(a*)*",
        "(|a)+",
        "^*",
        "\\b+",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?>a)",
        "(a)\\1",
        "\\k<x>",
        "\\G",
        "\\R",
        "\\X",
        "(?m)^a",
        "(?x)a",
        "(?u)a",
        "[a-z&&[^b]]",
        "[a[b]]",
        "[--a]",
        "[a--]",
        "[b-a]",
        "\\p{L}",
        "\\p{Lower}",
        "\\pL",
        "\\0",
        "\\cA",
        "\\x{41}",
        "\\ud83d",
        "😀",
        "[\\x00-\\uffff]",
        "[^😀]",
        "\\b{g}",
        "[\\d\\D&&a]",
        "[^\\d\\D]",
        "a{1001}",
        "(?<a>x)(?<a>y)",
        "(?<1>x)",
        "\\y",
        "\\E",
        "a\\",
        "[a\\b]",
    ] {
        assert!(Pattern::new(pattern, true).is_none(), "{pattern}");
    }
}

#[test]
fn what_java_versions_differ_in_is_bailed_out_of() {
    let pattern = |java| Pattern::new(java, true).unwrap();
    assert!(pattern("\\bé").first("é").is_err());
    assert!(pattern("a$").first("a\n").is_err());
    assert!(pattern("a$").first("a\nb").is_ok());
    assert!(pattern("x*").all("😀", |_| Ok(true)).is_err());
    assert!(pattern("x*").first("😀").is_ok());
    assert!(pattern("x+").all("😀x", |_| Ok(true)).is_ok());
}

#[test]
fn places_are_those_of_java() {
    assert_eq!(start_of("aé日x", 3).unwrap(), Some(6));
    assert_eq!(start_of("a😀x", 1).unwrap(), Some(1));
    assert_eq!(start_of("ab", 2).unwrap(), None);
    assert_eq!(start_of("", 1).unwrap(), None);
    assert!(start_of("a😀x", 2).is_err());
    assert!(start_of("😀", 1).is_err());
}
