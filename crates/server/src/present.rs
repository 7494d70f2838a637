//! Formats numbers, dates, sizes and archived text for readers.

pub(crate) use format::number::{bytes as size, count, counted, duration_ms as span, rate};
pub(crate) use ui::{clean, clean_lines, cut};

/// Returns the text without characters that XML 1.0 does not allow.
pub(crate) fn xml_text(text: &str) -> String {
    let is_xml = |c: &char| !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    clean(text).chars().filter(is_xml).collect()
}

/// The parts of a time, from 14 digits or ISO 8601. Hours, minutes and seconds that are not given
/// are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Moment {
    /// Parses `20140126200624`, `2014-01-26T20:06:24.000Z` or the beginning of either. The day is
    /// required.
    pub(crate) fn parse(text: &str) -> Option<Moment> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).take(14).collect();
        let part = |from: usize, len: usize| {
            digits
                .get(from..from + len)
                .map(|ds| ds.iter().fold(0, |n, d| n * 10 + d))
        };
        let moment = Moment {
            year: part(0, 4)?,
            month: part(4, 2)?,
            day: part(6, 2)?,
            hour: part(8, 2).unwrap_or(0),
            minute: part(10, 2).unwrap_or(0),
            second: part(12, 2).unwrap_or(0),
        };
        // `MONTHS` is indexed by the month. The day is only shown, so 31 February does no harm.
        ((1..=12).contains(&moment.month) && (1..=31).contains(&moment.day)).then_some(moment)
    }

    /// Formats as `26 January 2014`.
    pub(crate) fn date(self) -> String {
        format!("{} {} {}", self.day, MONTHS[self.month as usize - 1], self.year)
    }

    /// Formats as `January 2014`.
    pub(crate) fn month_and_year(self) -> String {
        format!("{} {}", MONTHS[self.month as usize - 1], self.year)
    }

    /// Formats as `26 January 2014, 20:06`.
    pub(crate) fn date_and_time(self) -> String {
        format!("{}, {:02}:{:02}", self.date(), self.hour, self.minute)
    }

    /// Formats as `20140126200624`, for addresses.
    pub(crate) fn digits(self) -> String {
        format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }

    /// Formats as `2014-01-26T20:06:24Z`, for machines.
    pub(crate) fn machine(self) -> String {
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }

    /// Returns seconds since 1970. Used only for the distance between two times.
    pub(crate) fn seconds(self) -> i64 {
        let (year, month, day) = (self.year.into(), self.month.into(), self.day.into());
        let days = format::date::days_of(year, month, day);
        days * 86_400 + i64::from(self.hour * 3600 + self.minute * 60 + self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let moment = Moment::parse("20140126200624").expect("a time");
        assert_eq!(Moment::parse("2014-01-26T20:06:24.000Z"), Some(moment));
        assert_eq!(moment.date_and_time(), "26 January 2014, 20:06");
        assert_eq!(moment.machine(), "2014-01-26T20:06:24Z");
        assert_eq!(Moment::parse("20141326"), None);
        assert_eq!(Moment::parse("2014"), None);
        let day = |text| Moment::parse(text).expect("a time").seconds() / 86_400;
        assert_eq!(day("20240301") - day("20240228"), 2);
        assert_eq!(day("20230301") - day("20230228"), 1);
        assert_eq!(day("20000101") - day("19700101"), 10_957);
    }
}
