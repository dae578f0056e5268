//! Ids of time zones: `ZoneId.of`, and what Spark does with an id before (`SparkDateTimeUtils.getZoneId`).

/// What an id means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Id {
    /// So many seconds ahead of UTC at all times.
    Offset(i32),
    /// The region with this name.
    Region(String),
}

/// `ZoneId.SHORT_IDS`, without those that were offsets in older versions of Java and are regions in newer ones.
const SHORT: [(&str, &str); 25] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// Short ids whose meaning depends on the version of Java.
const CHANGED: [&str; 3] = ["EST", "HST", "MST"];

impl Id {
    /// `None` if it is no id, or one that Javas read differently.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = two_digits(text);
        if CHANGED.contains(&text.as_str()) {
            return None;
        }
        let short = SHORT.iter().find(|(short, _)| *short == text);
        let id = short.map_or(text.as_str(), |(_, id)| id);
        if id.len() <= 1 || id.starts_with(['+', '-']) {
            return offset(id).map(Self::Offset);
        }
        let prefix = ["UTC", "GMT", "UT"]
            .iter()
            .find_map(|prefix| id.strip_prefix(prefix));
        match prefix {
            Some("") => Some(Self::Offset(0)),
            Some(rest) if rest.starts_with(['+', '-']) => offset(rest).map(Self::Offset),
            _ => Some(Self::Region(id.to_owned())),
        }
    }
}

/// Hours and minutes of one digit get a zero before them.
fn two_digits(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let hour = bytes
        .windows(3)
        .position(|window| matches!(window, [b'+' | b'-', digit, b':'] if digit.is_ascii_digit()));
    if let Some(sign) = hour {
        bytes.insert(sign + 1, b'0');
    }
    let minute = bytes.last_chunk().is_some_and(|[sign, a, b, colon, c]| {
        matches!(sign, b'+' | b'-')
            && *colon == b':'
            && [a, b, c].iter().all(|d| d.is_ascii_digit())
    });
    if minute {
        bytes.insert(bytes.len() - 1, b'0');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// `ZoneOffset.of`, in seconds.
fn offset(id: &str) -> Option<i32> {
    if id == "Z" {
        return Some(0);
    }
    let (sign, digits) = match id.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let parts: Vec<&str> = match (digits.len(), digits.is_ascii()) {
        (1 | 2, true) => vec![digits],
        (4, true) => vec![digits.get(..2)?, digits.get(2..)?],
        (6, true) => vec![digits.get(..2)?, digits.get(2..4)?, digits.get(4..)?],
        (5 | 8, true) => {
            let parts: Vec<_> = digits.split(':').collect();
            let two = parts.iter().all(|part| part.len() == 2);
            two.then_some(parts)?
        }
        _ => return None,
    };
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(parts) {
        if !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    let [hours, minutes, seconds] = numbers;
    let total = hours * 3600 + minutes * 60 + seconds;
    (minutes < 60 && seconds < 60 && total <= 18 * 3600).then_some(sign * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_the_forms_of_java() {
        let of = |id| match Id::parse(id) {
            Some(Id::Offset(seconds)) => Some(seconds),
            _ => None,
        };
        for (id, seconds) in [
            ("Z", 0),
            ("UTC", 0),
            ("GMT", 0),
            ("UT", 0),
            ("+1", 3600),
            ("-01", -3600),
            ("+0130", 5400),
            ("+01:30", 5400),
            ("+1:30", 5400),
            ("+01:3", 3780),
            ("-1:3", -3780),
            ("GMT-1:00", -3600),
            ("UTC+08:00", 28800),
            ("UT+8", 28800),
            ("+18:00", 64800),
            ("-013015", -5415),
            ("+01:30:15", 5415),
        ] {
            assert_eq!(of(id), Some(seconds), "{id}");
        }
        for id in [
            "", "z", "+", "+1:2:3", "+18:01", "+19", "+01:60", "+123", "+1x", "1", "EST", "GMT+x",
            "+１", "+01-30",
        ] {
            assert_eq!(Id::parse(id), None, "{id}");
        }
    }

    #[test]
    fn other_ids_are_regions() {
        let region = |id: &str| Some(Id::Region(id.to_owned()));
        assert_eq!(Id::parse("Europe/Zurich"), region("Europe/Zurich"));
        assert_eq!(Id::parse("PST"), region("America/Los_Angeles"));
        assert_eq!(Id::parse("GMT0"), region("GMT0"));
        assert_eq!(Id::parse("Etc/GMT+5"), region("Etc/GMT+5"));
    }
}
