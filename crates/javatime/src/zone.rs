//! Zones: from instants to local times and back, in microseconds.

use std::fmt;
use std::sync::Arc;

use crate::calendar::{DAY, SECOND};
use crate::id::Id;
use crate::rules::{LocalTime, Rules};
use crate::tzdb::Zones;

/// Why a zone is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownZone {
    /// It is no id, or Javas do not agree on it.
    #[error("no time zone of all versions of Java")]
    NoId,
    /// There are no tables.
    #[error("no JDK whose time zones could be read")]
    NoTable,
    /// It is not in the JDK's tables.
    #[error("not among the time zones of the JDK")]
    NotThere,
    /// Its rules are of a kind that is not known.
    #[error("rules that are not known")]
    Invalid,
}

/// A zone by the name that Spark has for it.
#[derive(Clone)]
pub struct TimeZone(Arc<Named>);

struct Named {
    id: String,
    zone: Result<Zone, UnknownZone>,
}

impl TimeZone {
    /// What Spark's `getZoneId` makes of an id.
    #[must_use]
    pub fn new(id: &str, zones: &Zones) -> Self {
        let zone = match Id::parse(id) {
            None => Err(UnknownZone::NoId),
            Some(Id::Offset(seconds)) => Ok(Zone(Kind::Fixed(seconds))),
            Some(Id::Region(name)) => zones.region(&name),
        };
        let id = id.to_owned();
        Self(Arc::new(Named { id, zone }))
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The zone, if it is known.
    ///
    /// # Errors
    /// Why it is not.
    pub fn zone(&self) -> Result<&Zone, UnknownZone> {
        self.0.zone.as_ref().map_err(|why| *why)
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for TimeZone {}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A zone. Methods give `None` where a time is beyond 64 bits of microseconds.
#[derive(Debug, Clone)]
pub struct Zone(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// Always so many seconds ahead.
    Fixed(i32),
    Rules(Arc<Rules>),
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self(Kind::Fixed(0));

    pub(crate) fn with_rules(rules: Rules) -> Self {
        Self(Kind::Rules(Arc::new(rules)))
    }

    /// Microseconds that clocks are ahead of UTC at an instant.
    #[must_use]
    pub fn offset_at(&self, instant: i64) -> i64 {
        let seconds = match &self.0 {
            Kind::Fixed(seconds) => *seconds,
            Kind::Rules(rules) => rules.offset_at(instant.div_euclid(SECOND)),
        };
        i64::from(seconds) * SECOND
    }

    /// The local time at an instant.
    #[must_use]
    pub fn local(&self, instant: i64) -> Option<i64> {
        instant.checked_add(self.offset_at(instant))
    }

    fn local_time(&self, local: i64) -> LocalTime {
        match &self.0 {
            Kind::Fixed(seconds) => LocalTime::Once(*seconds),
            Kind::Rules(rules) => {
                let second = local.div_euclid(SECOND);
                rules.local_time(second, local.rem_euclid(SECOND) != 0)
            }
        }
    }

    /// The instant of a local time: `LocalDateTime.atZone`. One in a gap is as much later as the gap is long; of one
    /// that is there twice it is the first.
    #[must_use]
    pub fn instant(&self, local: i64) -> Option<i64> {
        let offset = match self.local_time(local) {
            LocalTime::Once(offset) => offset,
            LocalTime::Gap { before, .. } | LocalTime::Overlap { before, .. } => before,
        };
        local.checked_sub(i64::from(offset) * SECOND)
    }

    /// The instant of a local time near another instant: `ZonedDateTime.ofLocal` with a preferred offset. Of a local
    /// time that is there twice it is the one with that offset (in microseconds), if it has it.
    #[must_use]
    pub fn instant_with(&self, local: i64, preferred: i64) -> Option<i64> {
        match self.local_time(local) {
            LocalTime::Overlap { after, .. } if i64::from(after) * SECOND == preferred => {
                local.checked_sub(preferred)
            }
            _ => self.instant(local),
        }
    }

    /// The instant at which a day begins: `LocalDate.atStartOfDay`. Where midnight is in a gap, the day begins behind.
    #[must_use]
    pub fn start_of_day(&self, days: i32) -> Option<i64> {
        let midnight = i64::from(days).checked_mul(DAY)?;
        match self.local_time(midnight) {
            LocalTime::Gap { resumes, .. } => self.instant(resumes.checked_mul(SECOND)?),
            _ => self.instant(midnight),
        }
    }

    /// Whether a local time is there twice.
    #[must_use]
    pub fn is_ambiguous(&self, local: i64) -> bool {
        matches!(self.local_time(local), LocalTime::Overlap { .. })
    }
}
