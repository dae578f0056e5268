//! Why a function is not simple.

use std::fmt;

/// What keeps a function from being an expression: the reasons of `firesteel_pyfunc.reasons`, in the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NotSimple {
    /// A version of CPython whose instructions are not known.
    Version {
        /// The 3 of 3.15.
        major: u8,
        /// The 15 of 3.15.
        minor: u8,
    },
    /// An interpreter that is not CPython.
    Interpreter,
    /// A callable that is neither a Python function nor one of the known built-in ones.
    Callable,
    /// Default, named or variable arguments, or another number of them than is given.
    Arguments,
    /// A generator or coroutine.
    Generator,
    /// A function or comprehension within the function.
    InnerFunction,
    /// A loop.
    Loop,
    /// A method or attribute that is not known.
    Attribute,
    /// An object from outside that is neither a number nor a text nor called.
    Object,
    /// A constant of another kind or size.
    Constant,
    /// An operation that is not known.
    Operation,
    /// A value that is computed and not used: an error of it would be missed.
    Unused,
    /// More than the compiler follows.
    Size,
}

/// The beginning of the text of [`NotSimple::Version`].
const VERSION: &str = "an unknown version of Python: ";

impl NotSimple {
    /// All but [`NotSimple::Version`].
    pub const FIXED: [Self; 12] = [
        Self::Interpreter,
        Self::Callable,
        Self::Arguments,
        Self::Generator,
        Self::InnerFunction,
        Self::Loop,
        Self::Attribute,
        Self::Object,
        Self::Constant,
        Self::Operation,
        Self::Unused,
        Self::Size,
    ];

    /// The reason of a text, if it is exactly one's.
    pub fn of_text(text: &str) -> Option<Self> {
        let number = |digits: &str| digits.parse().ok();
        let version = || {
            let (major, minor) = text.strip_prefix(VERSION)?.split_once('.')?;
            Some(Self::Version {
                major: number(major)?,
                minor: number(minor)?,
            })
        };
        let fixed = || {
            Self::FIXED
                .into_iter()
                .find(|reason| reason.fixed_text() == text)
        };
        // Numbers can be written in several ways.
        version()
            .filter(|reason| reason.to_string() == text)
            .or_else(fixed)
    }

    fn fixed_text(self) -> &'static str {
        match self {
            Self::Version { .. } => VERSION,
            Self::Interpreter => "an interpreter that is not CPython",
            Self::Callable => "a callable that is not a Python function",
            Self::Arguments => "default, named, variable or too many arguments",
            Self::Generator => "a generator or coroutine",
            Self::InnerFunction => "a function or comprehension within the function",
            Self::Loop => "a loop",
            Self::Attribute => "an unknown method or attribute",
            Self::Object => "an object from outside that is not a number or text",
            Self::Constant => "a constant of another kind or size",
            Self::Operation => "an unknown operation",
            Self::Unused => "a value that is not used",
            Self::Size => "too many operations",
        }
    }
}

impl fmt::Display for NotSimple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.fixed_text())?;
        match self {
            Self::Version { major, minor } => write!(f, "{major}.{minor}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_of_one_reason_each() {
        let version = NotSimple::Version {
            major: 3,
            minor: 15,
        };
        for reason in NotSimple::FIXED.into_iter().chain([version]) {
            assert_eq!(NotSimple::of_text(&reason.to_string()), Some(reason));
        }
    }

    #[test]
    fn other_texts_are_of_none() {
        for text in ["", "a loo", "a loops", VERSION] {
            assert_eq!(NotSimple::of_text(text), None, "{text}");
        }
        for version in ["3", "3.", "3.256", "03.15", "+3.15", "3.15 ", "3.15.1"] {
            assert_eq!(
                NotSimple::of_text(&format!("{VERSION}{version}")),
                None,
                "{version}"
            );
        }
    }
}
