//! Texts that came from others, as logs and messages may show them.

use std::fmt;

/// Characters that are shown.
pub const MAX_SHOWN: usize = 200;

/// Shows a text that anybody may have written: control characters, and those that change the order of what is read,
/// are escaped, so that it can neither begin a line of its own nor command a terminal; what is longer than
/// [`MAX_SHOWN`] characters is cut.
///
/// ```
/// let name = "x\nERROR \u{1b}[2J";
/// assert_eq!(wire::printable::Printable(name).to_string(), r"x\nERROR \u{1b}[2J");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for c in characters.by_ref().take(MAX_SHOWN) {
            write_shown(f, c)?;
        }
        match characters.next() {
            Some(_) => write!(f, "... ({} bytes)", self.0.len()),
            None => Ok(()),
        }
    }
}

/// Writes a character, escaped if it could do more than stand in its line.
///
/// # Errors
/// Those of the writer.
pub fn write_shown(out: &mut impl fmt::Write, c: char) -> fmt::Result {
    match is_shown(c) {
        true => out.write_char(c),
        false => write!(out, "{}", c.escape_default()),
    }
}

/// Whether a character does nothing but stand in its line.
fn is_shown(c: char) -> bool {
    // Line and paragraph separators, and what turns the direction of text around.
    let moves =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !moves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        let shown = Printable(&"\u{202e}".repeat(201)).to_string();
        assert!(shown.starts_with(r"\u{202e}\u{202e}"), "{shown}");
        assert!(shown.ends_with("... (603 bytes)"), "{shown}");
        assert_eq!(shown.matches("202e").count(), MAX_SHOWN);
        assert_eq!(Printable("rdd_1_2 \u{e9}").to_string(), "rdd_1_2 \u{e9}");
    }
}
