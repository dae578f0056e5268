//! `@argfiles` and `JDK_JAVA_OPTIONS`: what the `java` launcher does to its argument vector before it looks at any
//! option.
//!
//! Rules (OpenJDK 17 and 21, `libjli`): an argument `@FILE` in front of the main class is replaced by the words of
//! FILE; words of a file are never expanded again; `@@x` is the argument `@x`; after the main class, or after
//! `--disable-@files`, nothing is expanded. The words of the environment variable `JDK_JAVA_OPTIONS` go in front of the
//! command line and may not choose what is run.

use std::collections::VecDeque;
use std::path::Path;

use super::java::{JavaCommandError, takes_separate_value};

/// Largest argument file that is read, in bytes. The JDK's own limit is 2 GiB; nothing real comes near either.
const MAX_ARGFILE_BYTES: u64 = 64 * 1024 * 1024;

/// Options that may not come from `JDK_JAVA_OPTIONS`, because they choose what is run.
fn is_terminal(arg: &str) -> bool {
    arg.starts_with("--module=")
        || matches!(
            arg,
            "-jar"
                | "-m"
                | "--module"
                | "--dry-run"
                | "-h"
                | "-?"
                | "-help"
                | "--help"
                | "-X"
                | "--help-extra"
                | "-version"
                | "--version"
                | "-fullversion"
                | "--full-version"
        )
}

/// Follows the arguments as they are produced, to know where the main class is and whether `@` still means a file.
#[derive(Default)]
struct Progress {
    value_expected: bool,
    files_off: bool,
    main_seen: bool,
}

impl Progress {
    fn see(&mut self, arg: &str) {
        if arg.starts_with('-') {
            // What follows -jar and -m is the thing to run, so it ends the expansion like a main class.
            self.value_expected =
                takes_separate_value(arg) && !matches!(arg, "-jar" | "--module" | "-m");
            if arg == "--disable-@files" {
                self.files_off = true;
            } else if arg.starts_with("--module=") {
                self.main_seen = true;
            }
        } else {
            if !self.value_expected {
                self.main_seen = true;
            }
            self.value_expected = false;
        }
    }
}

/// The argument vector after expansion: words of `java_options` (the value of `JDK_JAVA_OPTIONS`), then `args`, each
/// `@FILE` replaced. `args` does not contain the program's own name.
///
/// # Errors
/// An unreadable or over-long file, an open quote in the variable, or a variable that chooses what is run.
pub(super) fn expand(
    args: &[String],
    java_options: Option<&str>,
) -> Result<Vec<String>, JavaCommandError> {
    let mut progress = Progress::default();
    let mut expanded = Vec::with_capacity(args.len());
    for word in java_options
        .map(split_environment)
        .transpose()?
        .unwrap_or_default()
    {
        let before = expanded.len();
        push(&word, &mut progress, &mut expanded)?;
        let chooses = expanded.iter().skip(before).find(|arg| is_terminal(arg));
        if let Some(arg) = chooses {
            return Err(JavaCommandError::NotInEnvironment {
                option: arg.clone(),
            });
        }
        if progress.main_seen {
            return Err(JavaCommandError::NotInEnvironment { option: word });
        }
    }
    for arg in args {
        push(arg, &mut progress, &mut expanded)?;
    }
    Ok(expanded)
}

fn push(arg: &str, progress: &mut Progress, out: &mut Vec<String>) -> Result<(), JavaCommandError> {
    let file = arg.strip_prefix('@').filter(|rest| !rest.is_empty());
    match file {
        Some(escaped) if !progress.main_seen && !progress.files_off && escaped.starts_with('@') => {
            progress.see(escaped);
            out.push(escaped.to_owned());
        }
        Some(path) if !progress.main_seen && !progress.files_off => {
            for word in read_argfile(Path::new(path))? {
                progress.see(&word);
                out.push(word);
            }
        }
        _ => {
            if !progress.main_seen {
                progress.see(arg);
            }
            out.push(arg.to_owned());
        }
    }
    Ok(())
}

fn read_argfile(path: &Path) -> Result<Vec<String>, JavaCommandError> {
    let unreadable = |source| JavaCommandError::ArgFile {
        path: path.to_owned(),
        source,
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_ARGFILE_BYTES {
        return Err(JavaCommandError::ArgFileTooLarge {
            path: path.to_owned(),
            bytes: size,
            limit: MAX_ARGFILE_BYTES,
        });
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    Ok(words(&String::from_utf8_lossy(&bytes)))
}

enum Lexer {
    Between,
    Comment,
    Quote(char),
    Escape(char),
    /// After a backslash at the end of a line inside a quote: the next line's leading blanks are dropped.
    Continuation(char),
    Word,
}

/// The words of an argument file.
///
/// Two oddities of the JDK are kept, because files exist that depend on them or at least load with them: an unquoted
/// `#` inside a word starts a comment and drops the unquoted text in front of it, and an empty quoted word at the very
/// end of the file is not a word.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut state = Lexer::Between;
    // `kept` are finished pieces of the word (before quotes and escapes), `piece` the run of plain characters being
    // read.
    let mut kept = String::new();
    let mut has_kept = false;
    let mut piece = String::new();
    let mut input: VecDeque<char> = text.chars().collect();
    while let Some(ch) = input.pop_front() {
        let blank = matches!(ch, ' ' | '\n' | '\r' | '\t' | '\u{c}');
        match state {
            Lexer::Between if blank => {}
            Lexer::Continuation(_) if blank => {}
            Lexer::Between => {
                state = Lexer::Word;
                piece.clear();
                input.push_front(ch);
            }
            Lexer::Continuation(quote) => {
                state = Lexer::Quote(quote);
                input.push_front(ch);
            }
            Lexer::Escape(quote) if matches!(ch, '\n' | '\r') => state = Lexer::Continuation(quote),
            Lexer::Escape(quote) => {
                kept.push(match ch {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'f' => '\u{c}',
                    other => other,
                });
                has_kept = true;
                state = Lexer::Quote(quote);
            }
            Lexer::Comment => {
                if matches!(ch, '\n' | '\r') {
                    state = Lexer::Between;
                }
            }
            Lexer::Word | Lexer::Quote(_) => {
                let quote = if let Lexer::Quote(quote) = state {
                    Some(quote)
                } else {
                    None
                };
                match ch {
                    '\n' | '\r' => {
                        end_word(&mut kept, &mut has_kept, &mut piece, &mut found, &mut state)
                    }
                    ' ' | '\t' | '\u{c}' if quote.is_none() => {
                        end_word(&mut kept, &mut has_kept, &mut piece, &mut found, &mut state);
                    }
                    '#' if quote.is_none() => {
                        piece.clear();
                        state = Lexer::Comment;
                    }
                    '\\' if let Some(quote) = quote => {
                        kept.push_str(&piece);
                        has_kept = true;
                        piece.clear();
                        state = Lexer::Escape(quote);
                    }
                    '\'' | '"' if quote.is_none_or(|open| open == ch) => {
                        if !piece.is_empty() {
                            kept.push_str(&piece);
                            has_kept = true;
                            piece.clear();
                        }
                        state = if quote.is_none() {
                            Lexer::Quote(ch)
                        } else {
                            Lexer::Word
                        };
                    }
                    other => piece.push(other),
                }
            }
        }
    }
    if matches!(state, Lexer::Word | Lexer::Quote(_)) && (has_kept || !piece.is_empty()) {
        found.push(kept + &piece);
    }
    found
}

fn end_word(
    kept: &mut String,
    has_kept: &mut bool,
    piece: &mut String,
    found: &mut Vec<String>,
    state: &mut Lexer,
) {
    kept.push_str(piece);
    piece.clear();
    *has_kept = false;
    found.push(std::mem::take(kept));
    *state = Lexer::Between;
}

/// The words of `JDK_JAVA_OPTIONS`: separated by blanks, with quotes but without escapes.
fn split_environment(value: &str) -> Result<Vec<String>, JavaCommandError> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut input = value.chars();
    while let Some(ch) = input.next() {
        match ch {
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' => found.extend(word.take()),
            '"' | '\'' => {
                let open = word.get_or_insert_default();
                loop {
                    match input.next() {
                        Some(close) if close == ch => break,
                        Some(inside) => open.push(inside),
                        None => return Err(JavaCommandError::OpenQuote),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    found.extend(word);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "words of {text:?}");
    }

    #[test]
    fn words_are_separated_by_blanks_and_joined_by_quotes() {
        check(
            "-version -cp \"c:\\\\java libs\\\\one.jar\" \n",
            &["-version", "-cp", "c:\\java libs\\one.jar"],
        );
        check(
            "com.foo.Panda \"Furious 5\"\u{c}and\t'Shi Fu' \"escape\tprison",
            &[
                "com.foo.Panda",
                "Furious 5",
                "and",
                "Shi Fu",
                "escape\tprison",
            ],
        );
        check("a\"b c\"d 'e \"f\" g'", &["ab cd", "e \"f\" g"]);
        check("\"\" x ''", &["", "x"]);
    }

    #[test]
    fn escapes_hold_inside_quotes_only() {
        check("\"\\a\\f\\n\\r\\t\\\\\"", &["a\u{c}\n\r\t\\"]);
        check("c:\\dir\\file", &["c:\\dir\\file"]);
        check("\"one \\\n   two\"", &["one two"]);
    }

    #[test]
    fn an_open_quote_ends_with_its_line() {
        check("\"open \n  next\"", &["open ", "next"]);
    }

    #[test]
    fn comments_reach_to_the_end_of_the_line() {
        check(
            "one #two\n'line #2' #rest\r\n#all\nfour #eof",
            &["one", "line #2", "four"],
        );
        check("lost#comment\nkept", &["kept"]);
    }

    #[test]
    fn environment_words_have_quotes_without_escapes() {
        assert_eq!(
            split_environment("  -Da='b c' -De=\"f\\\" ").ok(),
            Some(vec!["-Da=b c".into(), "-De=f\\".into()])
        );
        assert!(matches!(
            split_environment("-Da='b"),
            Err(JavaCommandError::OpenQuote)
        ));
    }

    #[test]
    fn files_are_expanded_until_the_main_class() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("args");
        std::fs::write(&file, "-cp 'a b' @nested\n-Dx=1 Main @in-file")?;
        let at = format!("@{}", file.display());
        let args = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        // `@nested` stands where a main class would: it is the thing to run, and is not opened.
        assert_eq!(
            expand(&args(&[&at, "@also-not"]), None)?,
            [
                "-cp",
                "a b",
                "@nested",
                "-Dx=1",
                "Main",
                "@in-file",
                "@also-not"
            ]
        );
        assert_eq!(
            expand(&args(&["--disable-@files", "@off"]), None)?,
            ["--disable-@files", "@off"]
        );
        assert_eq!(
            expand(&args(&["-cp", "@@literal", "@"]), None)?,
            ["-cp", "@literal", "@"]
        );
        assert_eq!(
            expand(&args(&["Main"]), Some("-Da=1 -cp x"))?,
            ["-Da=1", "-cp", "x", "Main"]
        );
        assert!(matches!(
            expand(&args(&["@/no/such/file"]), None),
            Err(JavaCommandError::ArgFile { .. })
        ));
        for refused in ["Main", "-jar x", "-version", "--module=x", &at] {
            assert!(
                matches!(
                    expand(&[], Some(refused)),
                    Err(JavaCommandError::NotInEnvironment { .. })
                ),
                "{refused}"
            );
        }
        Ok(())
    }
}
