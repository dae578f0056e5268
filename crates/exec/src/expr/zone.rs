//! Time zones without rules: Java's rules for the others are not known here.

use catalyst::Unsupported;

/// A time zone that is always as far from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Zone {
    /// Microseconds that clocks there are ahead.
    pub(super) offset: i64,
}

impl Zone {
    pub(super) const UTC: Self = Self { offset: 0 };

    /// The zone with this id.
    ///
    /// # Errors
    /// It has rules, or is not known.
    pub(super) fn of(id: Option<&str>) -> Result<Self, Unsupported> {
        let id = id.unwrap_or_default();
        let refuse = || Unsupported::of_use(format!("time zone {id}"));
        let names = [
            "UTC",
            "GMT",
            "UT",
            "Z",
            "Etc/UTC",
            "Etc/GMT",
            "Etc/UCT",
            "Etc/Zulu",
            "Zulu",
            "UCT",
            "Universal",
            "Etc/Universal",
            "Greenwich",
            "Etc/Greenwich",
            "GMT0",
            "Etc/GMT0",
        ];
        if names.contains(&id) {
            return Ok(Self::UTC);
        }
        let offset = ["UTC", "GMT", "UT"]
            .iter()
            .find_map(|prefix| id.strip_prefix(prefix))
            .unwrap_or(id);
        let (sign, digits) = match offset.split_at_checked(1) {
            Some(("+", digits)) => (1, digits),
            Some(("-", digits)) => (-1, digits),
            _ => return Err(refuse()),
        };
        // Other forms are allowed, but nobody writes them.
        let (hours, minutes) = digits.split_once(':').ok_or_else(refuse)?;
        let part = |text: &str, max: i64| {
            let plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse()
                .ok()
                .filter(|value| plain && (0..=max).contains(value))
                .ok_or_else(refuse)
        };
        let (hours, minutes) = (part(hours, 17)?, part(minutes, 59)?);
        Ok(Self {
            offset: sign * (hours * 60 + minutes) * 60_000_000,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_with_rules_are_refused() {
        assert_eq!(Zone::of(Some("Etc/UTC")).unwrap(), Zone::UTC);
        assert_eq!(Zone::of(Some("+01:30")).unwrap().offset, 5_400_000_000);
        assert_eq!(Zone::of(Some("GMT-01:00")).unwrap().offset, -3_600_000_000);
        assert!(Zone::of(Some("Europe/Zurich")).is_err());
        assert!(Zone::of(Some("+1")).is_err());
        assert!(Zone::of(None).is_err());
    }
}
