//! Spark's notation for times, sizes, switches and numbers (`JavaUtils.timeStringAs`, `byteStringAs`).

use std::time::Duration;

/// What a value without a unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
}

/// What a value without a unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeUnit {
    /// Bytes.
    Bytes,
    /// KiB.
    Kib,
    /// MiB.
    Mib,
}

/// How a time should look; completes "is not …" in an error message.
pub(super) const TIME: &str = "a time: seconds (s), milliseconds (ms), microseconds (us), minutes (m or min), hours (h) or days (d), for example 50s or 100ms";
/// How a size should look.
pub(super) const SIZE: &str = "a size: bytes (b), kibibytes (k), mebibytes (m), gibibytes (g), tebibytes (t) or pebibytes (p), for example 50b, 100k or 250m; fractions are not allowed";

/// A whole number and what follows it, in lower case; `None` if there is no number or something else than letters
/// follows.
fn number_and_suffix(text: &str) -> Option<(i64, String)> {
    let text = text.trim().to_lowercase();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let end = digits
        .find(|ch: char| !ch.is_ascii_digit())
        .unwrap_or(digits.len());
    let (number, suffix) = text.split_at_checked(text.len() - digits.len() + end)?;
    suffix
        .chars()
        .all(|ch| ch.is_ascii_lowercase())
        .then_some(())?;
    Some((number.parse().ok()?, suffix.to_owned()))
}

/// A time of at least nothing. As in Spark, what is finer than `unit` is cut off: `1500us` in milliseconds is 1 ms.
pub fn parse_time(text: &str, unit: TimeUnit) -> Option<Duration> {
    let (number, suffix) = number_and_suffix(text)?;
    let number = u64::try_from(number).ok()?;
    let micros = match suffix.as_str() {
        "" => match unit {
            TimeUnit::Millis => 1_000,
            TimeUnit::Seconds => 1_000_000,
        },
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    // A time that does not fit is as good as for ever; Java saturates too.
    let time = number.saturating_mul(micros);
    Some(match unit {
        TimeUnit::Millis => Duration::from_millis(time / 1_000),
        TimeUnit::Seconds => Duration::from_secs(time / 1_000_000),
    })
}

/// A size in bytes of at least nothing, that fits a Java `long`. What is finer than `unit` is cut off, as in Spark:
/// `1500` bytes written as `1500b` in KiB is 1 KiB.
pub fn parse_size(text: &str, unit: SizeUnit) -> Option<u64> {
    let (number, suffix) = number_and_suffix(text)?;
    let number = u64::try_from(number).ok()?;
    let scale = |unit: SizeUnit| match unit {
        SizeUnit::Bytes => 1_u64,
        SizeUnit::Kib => 1 << 10,
        SizeUnit::Mib => 1 << 20,
    };
    let of_suffix = match suffix.as_str() {
        "" => scale(unit),
        "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        "p" | "pb" => 1 << 50,
        _ => return None,
    };
    let bytes = number
        .checked_mul(of_suffix)
        .filter(|bytes| i64::try_from(*bytes).is_ok())?;
    Some(bytes - bytes % scale(unit))
}

/// `true` or `false`, in any case.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_the_settings_own() {
        let cases = [
            ("120s", 120_000),
            ("2 ", 2_000),
            (" 3MIN", 180_000),
            ("3m", 180_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("1999ms", 1_000),
            ("0", 0),
        ];
        for (text, millis) in cases {
            assert_eq!(
                parse_time(text, TimeUnit::Seconds),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        assert_eq!(
            parse_time("1500us", TimeUnit::Millis),
            Some(Duration::from_millis(1))
        );
        assert_eq!(
            parse_time("7", TimeUnit::Millis),
            Some(Duration::from_millis(7))
        );
        assert_eq!(
            parse_time("365d", TimeUnit::Seconds),
            Some(Duration::from_secs(365 * 86_400))
        );
        for wrong in [
            "",
            "s",
            "1.5s",
            "1 s",
            "10q",
            "-5s",
            "1s2",
            "99999999999999999999",
        ] {
            assert_eq!(parse_time(wrong, TimeUnit::Millis), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_have_a_unit_or_the_settings_own() {
        for (text, bytes) in [
            ("1g", 1 << 30),
            ("1GB", 1 << 30),
            ("7kb", 7 << 10),
            ("12", 12),
            ("3b", 3),
            ("2t", 2 << 40),
            ("1pb", 1 << 50),
        ] {
            assert_eq!(parse_size(text, SizeUnit::Bytes), Some(bytes), "{text}");
        }
        assert_eq!(parse_size("128", SizeUnit::Mib), Some(128 << 20));
        assert_eq!(parse_size("1500b", SizeUnit::Kib), Some(1 << 10));
        for wrong in ["", "g", "1.5g", "1 g", "10q", "-1", "9000p"] {
            assert_eq!(parse_size(wrong, SizeUnit::Bytes), None, "{wrong}");
        }
    }

    #[test]
    fn switches_are_words() {
        assert_eq!(parse_bool(" True"), Some(true));
        assert_eq!(parse_bool("FALSE"), Some(false));
        for wrong in ["", "yes", "1", "on"] {
            assert_eq!(parse_bool(wrong), None);
        }
    }
}
