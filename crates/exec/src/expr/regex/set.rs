//! Sets of characters of Java's regular expressions.

use std::fmt::Write as _;

/// One more than the greatest character.
const END: u32 = 0x11_0000;
/// Halves of characters that take two units in Java, and those characters.
const HALVES: (u32, u32) = (0xD800, 0xE000);
const LARGE: (u32, u32) = (0x1_0000, END);

/// Ranges of characters, in their order and apart from each other: the first of each, and the one behind its last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set(Vec<(u32, u32)>);

impl Set {
    /// The characters from the first to the last of each range.
    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        let mut set = Self::default();
        for (first, last) in ranges {
            set.0.push((*first, last + 1));
        }
        set.in_order()
    }

    pub(super) fn one(character: char) -> Self {
        Self::of(&[(character.into(), character.into())])
    }

    fn in_order(mut self) -> Self {
        self.0.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (start, end) in self.0 {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Self(merged)
    }

    pub(super) fn and(mut self, other: &Self) -> Self {
        self.0.extend(&other.0);
        self.in_order()
    }

    /// All other characters.
    pub(super) fn complement(&self) -> Self {
        let mut found = Vec::new();
        let mut from = 0;
        for (start, end) in &self.0 {
            if from < *start {
                found.push((from, *start));
            }
            from = *end;
        }
        if from < END {
            found.push((from, END));
        }
        Self(found)
    }

    fn has(&self, character: u32) -> bool {
        let mut ranges = self.0.iter();
        ranges.any(|(start, end)| (*start..*end).contains(&character))
    }

    /// With the letters of ASCII whose other case is in the set: how Java ignores case unless it is told more.
    pub(super) fn in_both_cases(self) -> Self {
        let letters = ('a'..='z').map(u32::from);
        let other = letters.flat_map(|lower| {
            let upper = lower - 0x20;
            let both = self.has(lower) || self.has(upper);
            both.then_some([(lower, lower), (upper, upper)])
        });
        let other: Vec<_> = other.flatten().collect();
        self.and(&Self::of(&other))
    }

    /// Whether it has all characters that take two units in Java and all halves of such, or none of them. Else it
    /// matters that Java can be between two halves.
    pub(super) fn is_even(&self) -> bool {
        let part = |(from, to): (u32, u32)| {
            let all = self
                .0
                .iter()
                .any(|(start, end)| *start <= from && to <= *end);
            let none = self
                .0
                .iter()
                .all(|(start, end)| to <= *start || *end <= from);
            (all, none)
        };
        let (halves, large) = (part(HALVES), part(LARGE));
        (halves.0 && large.0) || (halves.1 && large.1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As the crate `regex` writes it.
    pub(super) fn write(&self, out: &mut String) {
        out.push('[');
        for (start, end) in &self.0 {
            let mut range = |start: u32, end: u32| {
                if start < end {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\x{{{start:x}}}-\\x{{{:x}}}", end - 1);
                }
            };
            // It knows no halves.
            range(*start, (*end).min(HALVES.0));
            range((*start).max(HALVES.1), *end);
        }
        out.push(']');
    }
}

/// Characters behind which a line ends.
pub(super) fn line_ends() -> Set {
    Set::of(&[(0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029)])
}

/// The set that a letter behind a backslash means.
pub(super) fn by_letter(letter: char) -> Option<Set> {
    let set = match letter.to_ascii_lowercase() {
        'd' => Set::of(&[(0x30, 0x39)]),
        'w' => Set::of(&[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
        's' => Set::of(&[(0x09, 0x0D), (0x20, 0x20)]),
        'h' => Set::of(&[
            (0x09, 0x09),
            (0x20, 0x20),
            (0xA0, 0xA0),
            (0x1680, 0x1680),
            (0x180E, 0x180E),
            (0x2000, 0x200A),
            (0x202F, 0x202F),
            (0x205F, 0x205F),
            (0x3000, 0x3000),
        ]),
        'v' => Set::of(&[(0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029)]),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() {
        set.complement()
    } else {
        set
    })
}

/// The set of ASCII that a name in `\p{…}` means, if case does not matter to it.
pub(super) fn by_name(name: &str) -> Option<Set> {
    let ranges: &[(u32, u32)] = match name {
        "ASCII" => &[(0, 0x7F)],
        "Alpha" => &[(0x41, 0x5A), (0x61, 0x7A)],
        "Digit" => &[(0x30, 0x39)],
        "Alnum" => &[(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)],
        "Punct" => &[(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
        "Graph" => &[(0x21, 0x7E)],
        "Print" => &[(0x20, 0x7E)],
        "Blank" => &[(0x09, 0x09), (0x20, 0x20)],
        "Cntrl" => &[(0, 0x1F), (0x7F, 0x7F)],
        "XDigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
        "Space" => &[(0x09, 0x0D), (0x20, 0x20)],
        _ => return None,
    };
    Some(Set::of(ranges))
}
