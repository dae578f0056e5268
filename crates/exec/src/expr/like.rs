//! `LIKE`.

use memchr::memmem::Finder;

/// A pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// What stands between the `%`s.
    parts: Vec<Part>,
    /// Whether it begins with `%`.
    open_start: bool,
    /// Whether it ends with `%`.
    open_end: bool,
}

/// Text without `%`.
#[derive(Debug, Clone)]
struct Part {
    /// Bytes; `None` for any one character.
    items: Vec<Option<u8>>,
    /// If there is no `_` in it.
    finder: Option<Finder<'static>>,
    /// How many bytes, if there is no `_` in it.
    length: usize,
}

impl Part {
    fn new(items: Vec<Option<u8>>) -> Self {
        let plain: Option<Vec<u8>> = items.iter().copied().collect();
        Self {
            length: items.len(),
            finder: plain.map(|plain| Finder::new(&plain).into_owned()),
            items,
        }
    }

    /// How many bytes of the text match from its start.
    fn matches(&self, text: &[u8]) -> Option<usize> {
        if let Some(finder) = &self.finder {
            return text.starts_with(finder.needle()).then_some(self.length);
        }
        let mut at = 0;
        for item in &self.items {
            let byte = text.get(at)?;
            match item {
                Some(expected) if expected == byte => at += 1,
                Some(_) => return None,
                None => {
                    at += 1;
                    // The other bytes of a character.
                    while text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
                        at += 1;
                    }
                }
            }
        }
        Some(at)
    }

    /// What is behind its first occurrence.
    fn skip<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        if let Some(finder) = &self.finder {
            let at = finder.find(text)?;
            return text.get(at + self.length..);
        }
        for start in 0..=text.len() {
            let rest = text.get(start..)?;
            let boundary = rest.first().is_none_or(|byte| byte & 0xc0 != 0x80);
            if boundary && let Some(length) = self.matches(rest) {
                return rest.get(length..);
            }
        }
        None
    }

    /// Whether the text ends with it.
    fn ends(&self, text: &[u8]) -> bool {
        if let Some(finder) = &self.finder {
            return text.ends_with(finder.needle());
        }
        (0..=text.len()).any(|start| {
            let rest = text.get(start..).unwrap_or_default();
            let boundary = rest.first().is_none_or(|byte| byte & 0xc0 != 0x80);
            boundary && self.matches(rest) == Some(rest.len())
        })
    }
}

impl Pattern {
    /// `None` if Spark would fail: an escape character must stand before a wildcard or itself.
    pub(super) fn new(pattern: &str, escape: char) -> Option<Self> {
        let mut parts = vec![Vec::new()];
        let mut chars = pattern.chars();
        let mut wildcards = Vec::new();
        while let Some(char) = chars.next() {
            let literal = if char == escape {
                let next = chars.next()?;
                if next != '_' && next != '%' && next != escape {
                    return None;
                }
                Some(next)
            } else if char == '%' {
                parts.push(Vec::new());
                wildcards.push(());
                continue;
            } else if char == '_' {
                None
            } else {
                Some(char)
            };
            let part = parts.last_mut()?;
            match literal {
                None => part.push(None),
                Some(char) => {
                    let mut buffer = [0; 4];
                    part.extend(char.encode_utf8(&mut buffer).bytes().map(Some));
                }
            }
        }
        let open = |part: Option<&Vec<_>>| part.is_some_and(Vec::is_empty) && !wildcards.is_empty();
        Some(Self {
            open_start: open(parts.first()),
            open_end: open(parts.last()),
            parts: parts
                .into_iter()
                .filter(|part| !part.is_empty())
                .map(Part::new)
                .collect(),
        })
    }

    /// Whether a text is like it.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut rest = text.as_bytes();
        let mut parts = self.parts.as_slice();
        if !self.open_start {
            let Some((first, others)) = parts.split_first() else {
                // Nothing but the empty text is like the empty pattern.
                return rest.is_empty();
            };
            let Some(length) = first.matches(rest) else {
                return false;
            };
            rest = rest.get(length..).unwrap_or_default();
            parts = others;
            if parts.is_empty() {
                return self.open_end || rest.is_empty();
            }
        }
        let last = if self.open_end {
            None
        } else {
            let last = parts.split_last();
            parts = last.map_or(parts, |(_, others)| others);
            last.map(|(last, _)| last)
        };
        for part in parts {
            match part.skip(rest) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        last.is_none_or(|last| last.ends(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::new(pattern, '\\').unwrap().matches(text)
    }

    #[test]
    fn wildcards_match_what_they_should() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("a", "", false),
            ("", "%", true),
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a%c", true),
            ("ac", "a%c", true),
            ("a", "a%a", false),
            ("aa", "a%a", true),
            ("special packages requests", "%special%requests%", true),
            ("requests special", "%special%requests%", false),
            ("aéc", "a_c", true),
            ("aéc", "a__c", false),
            ("é", "_", true),
            ("", "_", false),
            ("xabab", "%ab", true),
            ("abx", "%_b%", true),
            ("bx", "%_b%", false),
            ("aab", "%a_", true),
            ("10%", "10\\%", true),
            ("100", "10\\%", false),
            ("a\\b", "a\\\\b", true),
            ("a\nb", "a_b", true),
            ("ab", "%%", true),
            ("ab", "a%%b", true),
        ] {
            assert_eq!(like(text, pattern), expected, "{text} like {pattern}");
        }
        assert!(Pattern::new("a\\", '\\').is_none());
        assert!(Pattern::new("a\\b", '\\').is_none());
        assert!(Pattern::new("a/%", '/').unwrap().matches("a%"));
    }
}
