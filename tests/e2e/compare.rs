//! Where two JSON values differ.

use std::collections::BTreeSet;

use serde_json::Value;

/// One line per difference, with the path to it; at most `limit` lines.
pub(crate) fn differences(plain: &Value, firesteel: &Value, limit: usize) -> Vec<String> {
    let mut found = Vec::new();
    walk(plain, firesteel, &mut String::new(), &mut found, limit);
    found
}

fn walk(
    plain: &Value,
    firesteel: &Value,
    path: &mut String,
    found: &mut Vec<String>,
    limit: usize,
) {
    if found.len() >= limit || plain == firesteel {
        return;
    }
    // Of files, whose pages another library has made.
    if path.ends_with("/out_bytes")
        && let (Some(one), Some(other)) = (plain.as_u64(), firesteel.as_u64())
        && one.abs_diff(other) <= one.max(other) / 10
    {
        return;
    }
    let length = path.len();
    match (plain, firesteel) {
        (Value::Object(left), Value::Object(right)) => {
            if let (Some(one), Some(other)) = (about(left), about(right))
                && one.abs_diff(other) <= one.max(other) / 50
            {
                return;
            }
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                path.push('/');
                path.push_str(key);
                let absent = Value::String("(absent)".to_owned());
                walk(
                    left.get(key).unwrap_or(&absent),
                    right.get(key).unwrap_or(&absent),
                    path,
                    found,
                    limit,
                );
                path.truncate(length);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (one, other)) in left.iter().zip(right).enumerate() {
                path.push_str(&format!("/{index}"));
                walk(one, other, path, found, limit);
                path.truncate(length);
            }
        }
        _ => found.push(format!(
            "{path}:\n    plain     {}\n    Firesteel {}",
            short(plain),
            short(firesteel)
        )),
    }
}

/// The number in `{"about": number}`: something whose exact value does not matter, such as the size of what a
/// compressor made of the same bytes, which differs between its releases.
fn about(object: &serde_json::Map<String, Value>) -> Option<u64> {
    match object.len() {
        1 => object.get("about")?.as_u64(),
        _ => None,
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(1500) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[test]
fn differences_name_their_paths() {
    let plain = serde_json::json!({"a": [1, {"b": "x"}], "c": 1});
    let other = serde_json::json!({"a": [1, {"b": "y"}], "d": 1});
    let found = differences(&plain, &other, 10);
    let paths: Vec<&str> = found
        .iter()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(paths, ["/a/1/b", "/c", "/d"]);
    assert!(differences(&plain, &plain, 10).is_empty());
}

#[test]
fn a_fiftieth_makes_no_difference_to_what_is_about_a_number() {
    let written = |size: u64| serde_json::json!({"out_bytes": size});
    assert!(differences(&written(1000), &written(1100), 9).is_empty());
    assert_eq!(differences(&written(1000), &written(1200), 9).len(), 1);
    let of = |size: u64| serde_json::json!({"size": {"about": size}});
    assert!(differences(&of(1000), &of(1020), 10).is_empty());
    assert_eq!(differences(&of(1000), &of(1030), 10).len(), 1);
    assert_eq!(differences(&of(0), &of(1), 10).len(), 1);
}
