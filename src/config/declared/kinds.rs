//! Kinds of values that properties have, and how Spark writes them.

use std::time::Duration;

use super::super::units::{self, SizeUnit, TimeUnit};

/// How the value of a property is written and what it means.
pub trait Kind {
    /// What it is read as.
    type Value;

    /// Reads a value; `None` if it is not one of this kind.
    fn parse(&self, text: &str) -> Option<Self::Value>;

    /// What a value should be: completes "… should be …".
    fn expected(&self) -> String;

    /// The kind in a word or two, for tables.
    fn name(&self) -> &'static str;
}

/// `true` or `false`.
#[derive(Debug, Clone, Copy)]
pub struct Switch;

/// A time; without a unit it counts in this one.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub TimeUnit);

/// A time that is no limit if it is negative or nothing.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimit(pub TimeUnit);

/// A size in bytes; without a unit it counts in this one.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub SizeUnit);

/// A whole number between two bounds, both included.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    /// The smallest one.
    pub least: i128,
    /// The largest one.
    pub most: i128,
}

/// A number between two bounds, both included.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    /// The smallest one.
    pub least: f64,
    /// The largest one.
    pub most: f64,
}

/// Any text.
#[derive(Debug, Clone, Copy)]
pub struct Text;

/// Texts with commas between them; blanks around them and empty ones do not count.
#[derive(Debug, Clone, Copy)]
pub struct List;

impl Kind for Switch {
    type Value = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        units::parse_bool(text)
    }

    fn expected(&self) -> String {
        "true or false".to_owned()
    }

    fn name(&self) -> &'static str {
        "switch"
    }
}

impl Kind for Time {
    type Value = Duration;

    fn parse(&self, text: &str) -> Option<Duration> {
        units::parse_time(text, self.0)
    }

    fn expected(&self) -> String {
        units::TIME.to_owned()
    }

    fn name(&self) -> &'static str {
        time_name(self.0)
    }
}

impl Kind for TimeLimit {
    type Value = Option<Duration>;

    fn parse(&self, text: &str) -> Option<Option<Duration>> {
        if let Some(positive) = text.trim().strip_prefix('-') {
            return units::parse_time(positive, self.0).map(|_| None);
        }
        let time = units::parse_time(text, self.0)?;
        Some((!time.is_zero()).then_some(time))
    }

    fn expected(&self) -> String {
        units::TIME.to_owned()
    }

    fn name(&self) -> &'static str {
        time_name(self.0)
    }
}

const fn time_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Millis => "time (ms)",
        TimeUnit::Seconds => "time (s)",
    }
}

impl Kind for Size {
    type Value = u64;

    fn parse(&self, text: &str) -> Option<u64> {
        units::parse_size(text, self.0)
    }

    fn expected(&self) -> String {
        units::SIZE.to_owned()
    }

    fn name(&self) -> &'static str {
        match self.0 {
            SizeUnit::Bytes => "size (bytes)",
            SizeUnit::Kib => "size (KiB)",
            SizeUnit::Mib => "size (MiB)",
        }
    }
}

impl Kind for Whole {
    type Value = i128;

    fn parse(&self, text: &str) -> Option<i128> {
        let text = text.trim();
        // As for Rust's unsigned numbers: not even -0.
        if self.least >= 0 && text.starts_with('-') {
            return None;
        }
        let number: i128 = text.parse().ok()?;
        (self.least..=self.most).contains(&number).then_some(number)
    }

    fn expected(&self) -> String {
        format!("a number between {} and {}", self.least, self.most)
    }

    fn name(&self) -> &'static str {
        "number"
    }
}

impl Kind for Decimal {
    type Value = f64;

    fn parse(&self, text: &str) -> Option<f64> {
        let number: f64 = text.trim().parse().ok()?;
        (self.least..=self.most).contains(&number).then_some(number)
    }

    fn expected(&self) -> String {
        format!("a number between {} and {}", self.least, self.most)
    }

    fn name(&self) -> &'static str {
        "number"
    }
}

impl Kind for Text {
    type Value = String;

    fn parse(&self, text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn expected(&self) -> String {
        "a text".to_owned()
    }

    fn name(&self) -> &'static str {
        "text"
    }
}

impl Kind for List {
    type Value = Vec<String>;

    fn parse(&self, text: &str) -> Option<Vec<String>> {
        let elements = text.split(',').map(str::trim);
        Some(
            elements
                .filter(|element| !element.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    fn expected(&self) -> String {
        "a list with commas".to_owned()
    }

    fn name(&self) -> &'static str {
        "list"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_times_or_none() {
        let limit = TimeLimit(TimeUnit::Millis);
        assert_eq!(limit.parse("5s"), Some(Some(Duration::from_secs(5))));
        for none in ["0", "-1", " -5s"] {
            assert_eq!(limit.parse(none), Some(None), "{none}");
        }
        for wrong in ["", "-", "--1", "soon"] {
            assert_eq!(limit.parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        let port = Whole {
            least: 0,
            most: 65535,
        };
        assert_eq!(port.parse(" 7079 "), Some(7079));
        for wrong in ["-1", "-0", "65536", "1.0", "", "x", "1e3"] {
            assert_eq!(port.parse(wrong), None, "{wrong}");
        }
        assert_eq!(port.expected(), "a number between 0 and 65535");
        let share = Decimal {
            least: 0.0,
            most: 1.0,
        };
        assert_eq!(share.parse("0.6"), Some(0.6));
        for wrong in ["-0.1", "1.5", "NaN", "x"] {
            assert_eq!(share.parse(wrong), None, "{wrong}");
        }
        assert_eq!(share.expected(), "a number between 0 and 1");
    }

    #[test]
    fn lists_have_commas() {
        assert_eq!(
            List.parse(" a,,b ,"),
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(List.parse(""), Some(Vec::new()));
    }
}
