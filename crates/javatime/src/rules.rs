//! The rules of one zone: `java.time.zone.ZoneRules`.

use std::cmp::Ordering;

use crate::calendar::{Civil, days_in_month, weekday};
use crate::error::InvalidTable;
use crate::tzdb::Input;

/// Most changes of a zone that Java's own reader takes.
const MAX_CHANGES: i32 = 1024;
/// Most rules of a zone that Java's own reader takes.
const MAX_RULES: i8 = 16;
/// Seconds of the largest offset.
const MAX_OFFSET: i32 = 18 * 3600;
/// Seconds of 30 million years: any change is nearer to 1970. Sums of such numbers do not overflow.
const MAX_SECONDS: i64 = 1_000_000_000_000_000;
const DAY_SECONDS: i64 = 86_400;

/// When clocks of a zone are changed, and by what.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Seconds of the changes in the past and in the nearer future.
    changes: Vec<i64>,
    /// The same as local times, in seconds: where a gap or an overlap begins, and where it ends.
    local_changes: Vec<i64>,
    /// Seconds that clocks are ahead of UTC: before the first change, and behind each.
    offsets: Vec<i32>,
    /// What is done every year behind the last change.
    yearly: Vec<YearlyRule>,
}

/// A change that comes every year: `ZoneOffsetTransitionRule`.
#[derive(Debug, PartialEq, Eq)]
struct YearlyRule {
    month: i32,
    /// Of the month; from its end if negative, where -1 is its last day.
    day: i32,
    /// The day of the week that it is moved to, from Monday, which is 0: to the next one, or back if `day` is negative.
    weekday: Option<i32>,
    /// Seconds from the start of the day; a whole day at most.
    time: i64,
    clock: Clock,
    standard: i32,
    before: i32,
    after: i32,
}

/// The clock that shows the time of a [`YearlyRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Utc,
    Wall,
    Standard,
}

/// A change of clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    /// Local time at which clocks are changed, in seconds.
    local: i64,
    before: i32,
    after: i32,
}

impl Change {
    fn instant(self) -> i64 {
        self.local - i64::from(self.before)
    }

    fn local_after(self) -> i64 {
        self.local + i64::from(self.after - self.before)
    }

    fn is_gap(self) -> bool {
        self.after > self.before
    }
}

/// What a local time is in a zone. Offsets are seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalTime {
    /// It is there once.
    Once(i32),
    /// Clocks are put forward from before to behind it.
    Gap {
        before: i32,
        /// Local time at which clocks go on, in seconds.
        resumes: i64,
    },
    /// Clocks are put back: it is there twice.
    Overlap { before: i32, after: i32 },
}

impl Rules {
    /// Reads `Ser.ZRULES`.
    pub(crate) fn read(input: &mut Input<'_>) -> Result<Self, InvalidTable> {
        if input.i8()? != 1 {
            return Err(InvalidTable::Invalid("kind of rules"));
        }
        let standard_changes = seconds(input)?;
        let standard = offsets(input, standard_changes.len())?;
        let changes = seconds(input)?;
        let offsets = offsets(input, changes.len())?;
        let count = input.i8()?;
        if !(0..=MAX_RULES).contains(&count) {
            return Err(InvalidTable::Invalid("number of rules"));
        }
        let yearly = (0..count)
            .map(|_| YearlyRule::read(input))
            .collect::<Result<Vec<_>, _>>()?;
        // Older versions of Java look at other numbers then.
        if changes.is_empty() && (standard.len() > 1 || standard != offsets || !yearly.is_empty()) {
            return Err(InvalidTable::Invalid("zone without changes"));
        }
        let mut local_changes = Vec::new();
        for (at, offsets) in changes.iter().zip(offsets.windows(2)) {
            let &[before, after] = offsets else { continue };
            let (before, after) = (at + i64::from(before), at + i64::from(after));
            local_changes.extend([before.min(after), before.max(after)]);
        }
        Ok(Self {
            changes,
            local_changes,
            offsets,
            yearly,
        })
    }

    fn offset(&self, index: usize) -> i32 {
        // There is one more than there are changes.
        self.offsets.get(index).copied().unwrap_or_default()
    }

    /// Offset at an instant: `ZoneRules.getOffset(Instant)`.
    pub(crate) fn offset_at(&self, second: i64) -> i32 {
        let Some(last) = self.changes.last() else {
            return self.offset(0);
        };
        if !self.yearly.is_empty() && second > *last {
            let offset = self.offset(self.changes.len());
            let year = year_of(second.saturating_add(i64::from(offset)));
            let mut found = offset;
            for rule in &self.yearly {
                let change = rule.change(year);
                if second < change.instant() {
                    return change.before;
                }
                found = change.after;
            }
            return found;
        }
        match search(&self.changes, |change| change.cmp(&second)) {
            Ok(index) => self.offset(index + 1),
            Err(index) => self.offset(index),
        }
    }

    /// What a local time is: `ZoneRules.getOffsetInfo`. `fraction` says that it is behind the full second.
    pub(crate) fn local_time(&self, second: i64, fraction: bool) -> LocalTime {
        // Whole seconds against a time that may have a fraction.
        let compare = |other: &i64| {
            let ordering = other.cmp(&second);
            match ordering {
                Ordering::Equal if fraction => Ordering::Less,
                _ => ordering,
            }
        };
        let Some(last) = self.local_changes.last() else {
            return LocalTime::Once(self.offset(0));
        };
        if !self.yearly.is_empty() && compare(last) == Ordering::Less {
            return self.in_year(second, |local| compare(&local) == Ordering::Greater);
        }
        let mut index = match search(&self.local_changes, compare) {
            Err(0) => return LocalTime::Once(self.offset(0)),
            Err(index) => index - 1,
            Ok(index) => {
                // An overlap right behind a gap.
                let next = self.local_changes.get(index + 1);
                let same = next.is_some() && next == self.local_changes.get(index);
                index + usize::from(same)
            }
        };
        if index % 2 == 1 {
            return LocalTime::Once(self.offset(index / 2 + 1));
        }
        index /= 2;
        let (before, after) = (self.offset(index), self.offset(index + 1));
        if after > before {
            // Where the pair of this change ends.
            let resumes = self.local_changes.get(index * 2 + 1);
            let resumes = resumes.copied().unwrap_or(second);
            LocalTime::Gap { before, resumes }
        } else {
            LocalTime::Overlap { before, after }
        }
    }

    /// As `ZoneRules.findOffsetInfo` for each change of the year. `is_before` says whether the local time is before
    /// another.
    fn in_year(&self, second: i64, is_before: impl Fn(i64) -> bool) -> LocalTime {
        let year = year_of(second);
        let mut found = LocalTime::Once(self.offset(self.changes.len()));
        for rule in &self.yearly {
            let change = rule.change(year);
            let Change { before, after, .. } = change;
            found = if change.is_gap() {
                if is_before(change.local) {
                    LocalTime::Once(before)
                } else if is_before(change.local_after()) {
                    let resumes = change.local_after();
                    LocalTime::Gap { before, resumes }
                } else {
                    LocalTime::Once(after)
                }
            } else if !is_before(change.local) {
                LocalTime::Once(after)
            } else if is_before(change.local_after()) {
                LocalTime::Once(before)
            } else {
                LocalTime::Overlap { before, after }
            };
            match found {
                LocalTime::Once(offset) if offset != before => {}
                _ => return found,
            }
        }
        found
    }
}

impl YearlyRule {
    /// Reads `ZoneOffsetTransitionRule`.
    fn read(input: &mut Input<'_>) -> Result<Self, InvalidTable> {
        let invalid = || InvalidTable::Invalid("rule");
        let data = input.i32()?.cast_unsigned();
        let bits = |from: u32, count: u32| data >> from & ((1 << count) - 1);
        let small = |bits: u32| i32::try_from(bits).unwrap_or_default();
        let month = small(bits(28, 4));
        let day = small(bits(22, 6)) - 32;
        let weekday = small(bits(19, 3));
        let time = bits(14, 5);
        let clock = match bits(12, 2) {
            0 => Clock::Utc,
            1 => Clock::Wall,
            2 => Clock::Standard,
            _ => return Err(invalid()),
        };
        let (time, end_of_day) = match time {
            31 => (i64::from(input.i32()?), false),
            24 => (DAY_SECONDS, true),
            hours @ 0..24 => (i64::from(hours) * 3600, false),
            _ => return Err(invalid()),
        };
        let standard = match bits(4, 8) {
            255 => input.i32()?,
            quarters => (small(quarters) - 128) * 900,
        };
        let offset = |bits: u32, input: &mut Input<'_>| match bits {
            3 => input.i32(),
            halves => Ok(standard.saturating_add(small(halves) * 1800)),
        };
        let before = offset(bits(2, 2), input)?;
        let after = offset(bits(0, 2), input)?;
        let exists = (1..=12).contains(&month)
            && day != 0
            && (-28..=days_in_month(1970, month)).contains(&day)
            && (end_of_day || (0..DAY_SECONDS).contains(&time))
            && [standard, before, after].into_iter().all(is_offset);
        if !exists {
            return Err(invalid());
        }
        Ok(Self {
            month,
            day,
            weekday: (weekday != 0).then(|| weekday - 1),
            time,
            clock,
            standard,
            before,
            after,
        })
    }

    fn change(&self, year: i32) -> Change {
        let backwards = self.day < 0;
        let day = if backwards {
            days_in_month(year, self.month) + 1 + self.day
        } else {
            self.day
        };
        let date = Civil {
            year,
            month: self.month,
            day,
        };
        // Years come from times of 64 bits of microseconds.
        let days = date.days().unwrap_or_default();
        let moved = self.weekday.map_or(0, |wanted| {
            let forward = (wanted - weekday(days)).rem_euclid(7);
            match (backwards, forward) {
                (true, 1..) => forward - 7,
                _ => forward,
            }
        });
        let local = (i64::from(days) + i64::from(moved)) * DAY_SECONDS + self.time;
        let local = local
            + match self.clock {
                Clock::Utc => i64::from(self.before),
                Clock::Wall => 0,
                Clock::Standard => i64::from(self.before - self.standard),
            };
        Change {
            local,
            before: self.before,
            after: self.after,
        }
    }
}

fn is_offset(seconds: i32) -> bool {
    (-MAX_OFFSET..=MAX_OFFSET).contains(&seconds)
}

/// `Ser.readEpochSec`, as many as there are.
fn seconds(input: &mut Input<'_>) -> Result<Vec<i64>, InvalidTable> {
    let count = input.i32()?;
    if !(0..=MAX_CHANGES).contains(&count) {
        return Err(InvalidTable::Invalid("number of changes"));
    }
    let mut all = Vec::new();
    for _ in 0..count {
        let second = match input.u8()? {
            255 => input.i64()?,
            high => {
                let low = [input.u8()?, input.u8()?];
                let quarters = i64::from(high) << 16 | i64::from(u16::from_be_bytes(low));
                quarters * 900 - 4_575_744_000
            }
        };
        if !(-MAX_SECONDS..=MAX_SECONDS).contains(&second)
            || all.last().is_some_and(|last| second <= *last)
        {
            return Err(InvalidTable::Invalid("change"));
        }
        all.push(second);
    }
    Ok(all)
}

/// `Ser.readOffset`, one more than there are changes.
fn offsets(input: &mut Input<'_>, changes: usize) -> Result<Vec<i32>, InvalidTable> {
    let mut all = Vec::new();
    for _ in 0..=changes {
        let offset = match input.i8()? {
            127 => input.i32()?,
            quarters => i32::from(quarters) * 900,
        };
        if !is_offset(offset) {
            return Err(InvalidTable::Invalid("offset"));
        }
        all.push(offset);
    }
    Ok(all)
}

/// Year of a local time.
fn year_of(second: i64) -> i32 {
    let days = second.div_euclid(DAY_SECONDS);
    Civil::of_days(i32::try_from(days).unwrap_or_default()).year
}

/// `Arrays.binarySearch`: which of several equal elements is found depends on how it is done.
fn search(all: &[i64], compare: impl Fn(&i64) -> Ordering) -> Result<usize, usize> {
    let (mut low, mut high) = (0, all.len());
    while low < high {
        let middle = (low + high - 1) / 2;
        match all.get(middle).map(&compare) {
            Some(Ordering::Less) => low = middle + 1,
            Some(Ordering::Greater) => high = middle,
            _ => return Ok(middle),
        }
    }
    Err(low)
}
