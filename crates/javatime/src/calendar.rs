//! The calendar of Spark and of `java.time`: Gregorian at all times.

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;
/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;

/// A date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// The year; 0 is the one before 1.
    pub year: i32,
    /// From 1.
    pub month: i32,
    /// From 1.
    pub day: i32,
}

/// Days of 400 years, after which everything repeats.
const ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

impl Civil {
    /// The date so many days after 1970-01-01. Years begin in March here: then the leap day is the last.
    // Years of 32 bits of days fit, months and days are small.
    #[allow(clippy::cast_possible_truncation)]
    pub fn of_days(days: i32) -> Self {
        let days = i64::from(days) + EPOCH;
        let era = days.div_euclid(ERA);
        let day_of_era = days.rem_euclid(ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self {
            year: year as i32,
            month: month as i32,
            day: day as i32,
        }
    }

    /// Days after 1970-01-01; `None` if they are no int.
    pub fn days(self) -> Option<i32> {
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let month = i64::from(if self.month > 2 {
            self.month - 3
        } else {
            self.month + 9
        });
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        i32::try_from(era * ERA + day_of_era - EPOCH).ok()
    }

    /// A date that exists.
    pub fn new(year: i32, month: i32, day: i32) -> Option<Self> {
        let exists = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        exists.then_some(Self { year, month, day })
    }

    /// So many months later; days that the month has not become its last.
    pub fn plus_months(self, months: i32) -> Option<Self> {
        let all = i64::from(self.year) * 12 + i64::from(self.month) - 1 + i64::from(months);
        let year = i32::try_from(all.div_euclid(12)).ok()?;
        let month = i32::try_from(all.rem_euclid(12)).ok()? + 1;
        Some(Self {
            year,
            month,
            day: self.day.min(days_in_month(year, month)),
        })
    }

    /// From 1.
    pub fn day_of_year(self) -> i32 {
        let first = Self {
            month: 1,
            day: 1,
            ..self
        };
        match (self.days(), first.days()) {
            (Some(day), Some(first)) => day - first + 1,
            _ => 0,
        }
    }
}

/// Days of a month.
pub fn days_in_month(year: i32, month: i32) -> i32 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 0 is Monday.
pub fn weekday(days: i32) -> i32 {
    // 1970-01-01 was a Thursday.
    let weekday = (i64::from(days) + 3).rem_euclid(7);
    i32::try_from(weekday).unwrap_or(0)
}

/// Week of the ISO year.
pub fn week_of_year(days: i32) -> i32 {
    // The week belongs to the year of its Thursday.
    let thursday = days.saturating_sub(weekday(days)).saturating_add(3);
    (Civil::of_days(thursday).day_of_year() - 1) / 7 + 1
}

/// Days and microseconds of the day.
pub fn split(micros: i64) -> (i32, i64) {
    let days = micros.div_euclid(DAY);
    // 2^63 microseconds are less than 2^31 days.
    (i32::try_from(days).unwrap_or(0), micros.rem_euclid(DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn civil(year: i32, month: i32, day: i32) -> Civil {
        Civil { year, month, day }
    }

    #[test]
    fn dates_are_days_and_back() {
        assert_eq!(Civil::of_days(0), civil(1970, 1, 1));
        assert_eq!(Civil::of_days(-1), civil(1969, 12, 31));
        assert_eq!(Civil::of_days(11_016), civil(2000, 2, 29));
        for days in (-800_000..800_000).step_by(37).chain([i32::MIN, i32::MAX]) {
            assert_eq!(Civil::of_days(days).days(), Some(days));
        }
        assert_eq!(Civil::new(1900, 2, 29), None);
    }

    #[test]
    fn weeks_are_isos() {
        let of = |year, month, day| civil(year, month, day).days().unwrap();
        assert_eq!(weekday(of(2024, 7, 1)), 0);
        assert_eq!(week_of_year(of(2021, 1, 3)), 53);
        assert_eq!(week_of_year(of(2021, 1, 4)), 1);
        assert_eq!(week_of_year(of(2018, 12, 31)), 1);
        assert_eq!(civil(2024, 12, 31).day_of_year(), 366);
        assert_eq!(civil(2024, 1, 31).plus_months(1), Some(civil(2024, 2, 29)));
        assert_eq!(
            civil(2024, 1, 31).plus_months(-2),
            Some(civil(2023, 11, 30))
        );
    }
}
