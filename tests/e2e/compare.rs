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
    let length = path.len();
    match (plain, firesteel) {
        (Value::Object(left), Value::Object(right)) => {
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
