//! Java's regular expressions in the language of the crate `regex`.

use std::iter::Peekable;
use std::str::Chars;

use super::set::{Set, by_letter, by_name, line_ends};

/// How often something can be repeated by a count.
const MOST: u32 = 1000;

/// A pattern that means the same in both languages, but for what its fields say.
#[derive(Debug)]
pub(super) struct Translated {
    /// In the language of `regex`.
    pub(super) pattern: String,
    /// Names of groups, with their numbers.
    pub(super) names: Vec<(String, usize)>,
    /// Number of groups.
    pub(super) groups: usize,
    /// Groups that are repeated in something larger: what they keep when that goes back is Java's own.
    pub(super) inner: Vec<usize>,
    /// Whether it asks for the end, where Java also stops before the end of the last line.
    pub(super) ends: bool,
    /// Whether it asks for boundaries of words: versions of Java differ in what is a word, but for ASCII.
    pub(super) words: bool,
}

/// The pattern, with groups that keep what they match or without. `None` if it has anything that might mean something
/// else in Java.
pub(super) fn translate(pattern: &str, keeps: bool) -> Option<Translated> {
    let pattern = unquoted(pattern);
    let mut parser = Parser {
        chars: pattern.chars().peekable(),
        out: String::new(),
        any_case: false,
        all: false,
        keeps,
        depth: 0,
        last: 0,
        simple: true,
        found: Translated {
            pattern: String::new(),
            names: Vec::new(),
            groups: 0,
            inner: Vec::new(),
            ends: false,
            words: false,
        },
    };
    parser.alternatives()?;
    if parser.chars.next().is_some() {
        return None;
    }
    let mut found = parser.found;
    found.pattern = parser.out;
    Some(found)
}

/// With backslashes before characters instead of `\\Q` and `\\E` around them.
fn unquoted(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut quoted = false;
    while let Some(character) = chars.next() {
        match (quoted, character, chars.peek()) {
            (false, '\\', Some('Q')) | (true, '\\', Some('E')) => {
                chars.next();
                quoted = !quoted;
            }
            (false, '\\', _) => {
                out.push('\\');
                out.extend(chars.next());
            }
            // Not to be read as more of what stands before.
            (true, '0'..='9', _) => {
                out.push_str("\\x3");
                out.push(character);
            }
            (true, _, _) if character.is_ascii_punctuation() => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// Something that can be repeated.
struct Item {
    /// Whether it can match nothing.
    empty: bool,
    /// Whether it says something of a place instead of matching characters.
    place: bool,
    /// The number of the group that it is.
    group: Option<usize>,
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
    out: String,
    /// `(?i)`
    any_case: bool,
    /// `(?s)`
    all: bool,
    keeps: bool,
    depth: usize,
    /// Groups before the item that was read last.
    last: usize,
    /// Whether no part of the alternative is a group or repeated.
    simple: bool,
    found: Translated,
}

impl Parser<'_> {
    /// Whether what was read can match nothing.
    fn alternatives(&mut self) -> Option<bool> {
        self.depth += 1;
        if self.depth > 50 {
            return None;
        }
        let start = self.out.len();
        self.simple = true;
        let mut empty = self.sequence()?;
        // The crate takes what alternatives begin with out of them, which changes their order where that can match in
        // more than one way. It does not look into groups.
        if self.chars.peek() == Some(&'|') && !self.simple {
            self.out.insert(start, '(');
            self.out.push(')');
        }
        while self.chars.next_if_eq(&'|').is_some() {
            self.out.push('|');
            empty |= self.sequence()?;
        }
        self.depth -= 1;
        self.simple = false;
        Some(empty)
    }

    fn sequence(&mut self) -> Option<bool> {
        let mut empty = true;
        while !matches!(self.chars.peek(), None | Some('|' | ')')) {
            self.last = self.found.groups;
            let Some(item) = self.item()? else {
                continue;
            };
            empty &= self.repetition(&item)?;
        }
        Some(empty)
    }

    fn set(&mut self, set: &Set) -> Option<Option<Item>> {
        if set.is_empty() || !set.is_even() {
            return None;
        }
        set.write(&mut self.out);
        Some(Some(Item {
            empty: false,
            place: false,
            group: None,
        }))
    }

    fn literal(&mut self, character: char) -> Option<Option<Item>> {
        let set = Set::one(character);
        self.set(&if self.any_case {
            set.in_both_cases()
        } else {
            set
        })
    }

    fn place(&mut self, pattern: &str) -> Option<Option<Item>> {
        self.out.push_str(pattern);
        Some(Some(Item {
            empty: true,
            place: true,
            group: None,
        }))
    }

    fn end(&mut self) -> Option<Option<Item>> {
        self.found.ends = true;
        self.place("\\z")
    }

    /// What can be repeated, or `Some(None)` for what only sets flags.
    fn item(&mut self) -> Option<Option<Item>> {
        match self.chars.next()? {
            '.' if self.all => self.set(&Set::default().complement()),
            '.' => self.set(&line_ends().complement()),
            '^' => self.place("\\A"),
            '$' => self.end(),
            '(' => self.group(),
            '[' => {
                let set = self.class()?;
                self.set(&set)
            }
            '\\' => self.escape(),
            '*' | '+' | '?' | '{' => None,
            other => self.literal(other),
        }
    }

    fn escape(&mut self) -> Option<Option<Item>> {
        let next = *self.chars.peek()?;
        if let Some(set) = self.named_set()? {
            return self.set(&set);
        }
        let place = match next {
            'b' | 'B' => {
                self.found.words = true;
                if next == 'b' {
                    "(?-u:\\b)"
                } else {
                    "(?-u:\\B)"
                }
            }
            'A' => "\\A",
            'z' => "\\z",
            'Z' => {
                self.chars.next();
                return self.end();
            }
            _ => {
                let character = self.escaped()?;
                return self.literal(character);
            }
        };
        self.chars.next();
        // `\b{g}` is something else.
        if self.chars.peek() == Some(&'{') {
            return None;
        }
        self.place(place)
    }

    /// The set behind a backslash, if there is one; its letters are read then.
    fn named_set(&mut self) -> Option<Option<Set>> {
        let next = *self.chars.peek()?;
        if let Some(set) = by_letter(next) {
            self.chars.next();
            return Some(Some(set));
        }
        if !matches!(next, 'p' | 'P') {
            return Some(None);
        }
        self.chars.next();
        self.chars.next_if_eq(&'{')?;
        let mut name = String::new();
        loop {
            match self.chars.next()? {
                '}' => break,
                letter => name.push(letter),
            }
        }
        let set = by_name(&name)?;
        Some(Some(if next == 'P' { set.complement() } else { set }))
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> Option<char> {
        let next = self.chars.next()?;
        Some(match next {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{C}',
            'a' => '\u{7}',
            'e' => '\u{1B}',
            'x' if self.chars.peek() == Some(&'{') => return None,
            'x' => self.hexadecimal(2)?,
            'u' => self.hexadecimal(4)?,
            _ if next.is_ascii_punctuation() || next == ' ' => next,
            _ => return None,
        })
    }

    fn hexadecimal(&mut self, digits: u32) -> Option<char> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 16 + self.chars.next()?.to_digit(16)?;
        }
        char::from_u32(number)
    }

    /// A group, or flags.
    fn group(&mut self) -> Option<Option<Item>> {
        let flags = (self.any_case, self.all);
        let mut keeps = true;
        if self.chars.next_if_eq(&'?').is_some() {
            match *self.chars.peek()? {
                '<' => {
                    self.chars.next();
                    let name = self.name()?;
                    if self.found.names.iter().any(|(other, _)| *other == name) {
                        return None;
                    }
                    self.found.names.push((name, self.found.groups + 1));
                }
                _ => {
                    if !self.flags()? {
                        return Some(None);
                    }
                    keeps = false;
                }
            }
        }
        if keeps {
            self.found.groups += 1;
        }
        if keeps && self.keeps {
            self.out.push_str(&format!("(?P<g{}>", self.found.groups));
        } else {
            self.out.push_str("(?:");
        }
        let (last, number) = (self.last, self.found.groups);
        let empty = self.alternatives()?;
        self.last = last;
        self.chars.next_if_eq(&')')?;
        self.out.push(')');
        (self.any_case, self.all) = flags;
        Some(Some(Item {
            empty,
            place: false,
            group: keeps.then_some(number),
        }))
    }

    /// The name of a group.
    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.chars.next()? {
                '>' if !name.is_empty() => return Some(name),
                letter if letter.is_ascii_alphabetic() => name.push(letter),
                digit if digit.is_ascii_digit() && !name.is_empty() => name.push(digit),
                _ => return None,
            }
        }
    }

    /// Flags and whether a group follows. Others than `i` and `s` are not known.
    fn flags(&mut self) -> Option<bool> {
        let mut on = true;
        loop {
            match self.chars.next()? {
                'i' => self.any_case = on,
                's' => self.all = on,
                '-' if on => on = false,
                ':' => return Some(true),
                ')' => return Some(false),
                _ => return None,
            }
        }
    }

    /// What says how often the last item is repeated. Gives whether that can match nothing.
    fn repetition(&mut self, item: &Item) -> Option<bool> {
        let (least, most) = match self.chars.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.chars.next();
                self.counts()?
            }
            _ => return Some(item.empty),
        };
        self.chars.next();
        // What matches nothing in a loop: Java has its own ways out of that.
        let often = most.is_none_or(|most| most > 1);
        if item.place || (item.empty && often) || most == Some(0) {
            return None;
        }
        self.simple = false;
        let lazy = match self.chars.peek() {
            Some('?') => {
                self.chars.next();
                true
            }
            // Possessive, or an error.
            Some('+' | '*' | '{') => return None,
            _ => false,
        };
        if matches!(self.chars.peek(), Some('+' | '*' | '?' | '{')) {
            return None;
        }
        if often {
            let groups = self.last + 1..=self.found.groups;
            let inner = groups.filter(|group| item.group != Some(*group));
            self.found.inner.extend(inner);
        }
        match (least, most) {
            (0, None) => self.out.push('*'),
            (1, None) => self.out.push('+'),
            (0, Some(1)) => self.out.push('?'),
            (least, None) => self.out.push_str(&format!("{{{least},}}")),
            (least, Some(most)) => self.out.push_str(&format!("{{{least},{most}}}")),
        }
        if lazy {
            self.out.push('?');
        }
        Some(item.empty || least == 0)
    }

    /// `n}`, `n,}`, `n,m}` but for the brace.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let least = self.number()?;
        if self.chars.next_if_eq(&',').is_none() {
            (self.chars.peek() == Some(&'}')).then_some((least, Some(least)))
        } else if self.chars.peek() == Some(&'}') {
            Some((least, None))
        } else {
            let most = self.number()?;
            (self.chars.peek() == Some(&'}') && least <= most).then_some((least, Some(most)))
        }
    }

    fn number(&mut self) -> Option<u32> {
        let mut number: Option<u32> = None;
        while let Some(digit) = self.chars.peek().and_then(|next| next.to_digit(10)) {
            self.chars.next();
            number = Some(number.unwrap_or(0) * 10 + digit);
            if number > Some(MOST) {
                return None;
            }
        }
        number
    }

    /// A class behind its bracket.
    fn class(&mut self) -> Option<Set> {
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut set = Set::default();
        let mut first = true;
        loop {
            let character = match self.chars.next()? {
                ']' if !first => break,
                // Classes in classes.
                ']' | '[' => return None,
                '&' if self.chars.peek() == Some(&'&') => return None,
                '\\' => match self.named_set()? {
                    Some(more) => {
                        set = set.and(&more);
                        first = false;
                        continue;
                    }
                    None => self.escaped()?,
                },
                '-' if self.chars.peek() == Some(&'-') => return None,
                other => other,
            };
            first = false;
            let range = self.range(character)?;
            set = set.and(&if self.any_case {
                range.in_both_cases()
            } else {
                range
            });
        }
        Some(if negated { set.complement() } else { set })
    }

    /// The characters from this to the one behind a hyphen; only this one if no hyphen follows or nothing behind it.
    fn range(&mut self, first: char) -> Option<Set> {
        let mut ahead = self.chars.clone();
        if ahead.next() != Some('-') || ahead.next() == Some(']') {
            return Some(Set::one(first));
        }
        self.chars.next();
        let last = match self.chars.next()? {
            '\\' => self.escaped()?,
            '[' | '&' | '-' | '^' => return None,
            other => other,
        };
        (first <= last).then(|| Set::of(&[(first.into(), last.into())]))
    }
}
