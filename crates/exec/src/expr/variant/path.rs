//! Paths into variants.

use super::format::{Read, Value, Variant};

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// `.name`, `['name']` or `["name"]`
    Name(String),
    /// `[7]`
    Index(usize),
}

/// The steps of a path as Spark's `VariantPathParser` reads it. `None` if it is none for Spark.
pub(super) fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, behind) = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, behind) = name.split_at(end);
            if name.is_empty() {
                return None;
            }
            (Step::Name(name.to_owned()), behind)
        } else if let Some(name) = rest.strip_prefix("['") {
            let (name, behind) = name.split_once('\'')?;
            (Step::Name(name.to_owned()), behind.strip_prefix(']')?)
        } else if let Some(name) = rest.strip_prefix("[\"") {
            let (name, behind) = name.split_once('"')?;
            (Step::Name(name.to_owned()), behind.strip_prefix(']')?)
        } else {
            let (number, behind) = rest.strip_prefix('[')?.split_once(']')?;
            let is_number = !number.is_empty() && number.bytes().all(|of| of.is_ascii_digit());
            // What is larger than an int is no number to Spark either.
            let number = number.parse::<i32>().ok().filter(|_| is_number)?;
            (Step::Index(usize::try_from(number).ok()?), behind)
        };
        steps.push(step);
        rest = behind;
    }
    Some(steps)
}

/// What a variant has at a path.
pub(super) fn find<'a>(mut of: Variant<'a>, steps: &[Step]) -> Read<Option<Variant<'a>>> {
    for step in steps {
        let found = match (step, of.value()?) {
            (Step::Name(name), Value::Object(object)) => object.get(name)?,
            (Step::Index(index), Value::Array(array)) => array.get(*index)?,
            _ => None,
        };
        match found {
            Some(found) => of = found,
            None => return Ok(None),
        }
    }
    Ok(Some(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_sparks() {
        let name = |name: &str| Step::Name(name.to_owned());
        assert_eq!(steps("$"), Some(vec![]));
        assert_eq!(
            steps("$.a b['c.d'][\"e'f\"][07].*"),
            Some(vec![
                name("a b"),
                name("c.d"),
                name("e'f"),
                Step::Index(7),
                name("*")
            ])
        );
        assert_eq!(steps("$['']"), Some(vec![name("")]));
        for path in [
            "",
            "a",
            "$a",
            "$.",
            "$..a",
            "$.['a']",
            "$[a]",
            "$[-1]",
            "$[+1]",
            "$[]",
            "$['a\"]",
            "$[1",
            "$[2147483648]",
            "$ .a",
            " $",
        ] {
            assert_eq!(steps(path), None, "{path}");
        }
    }
}
