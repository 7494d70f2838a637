//! Dates as people read them, and times read leniently from texts of archives.

use crate::date::{DateTime, days_of};

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

impl DateTime {
    /// Parses `20140126200624`, `2014-01-26T20:06:24.000Z` or the beginning of either, to the
    /// second. The day is required. Hours, minutes and seconds that are not given are 0.
    ///
    /// ```
    /// use format::date::DateTime;
    ///
    /// let time = DateTime::of_text("20140126200624").unwrap();
    /// assert_eq!(time.date_and_time(), "26 January 2014, 20:06");
    /// assert_eq!(time.iso(), "2014-01-26T20:06:24Z");
    /// assert_eq!(DateTime::of_text("2014"), None);
    /// ```
    pub fn of_text(text: &str) -> Option<DateTime> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).take(14).collect();
        let part = |from: usize, len: usize| {
            digits
                .get(from..from + len)
                .map(|ds| ds.iter().fold(0, |n, d| n * 10 + d))
        };
        // Two digits always fit.
        let two = |from: usize| part(from, 2).and_then(|number| u8::try_from(number).ok());
        let time = DateTime {
            year: i64::from(part(0, 4)?),
            month: two(4)?,
            day: two(6)?,
            hour: two(8).unwrap_or(0),
            minute: two(10).unwrap_or(0),
            second: two(12).unwrap_or(0),
            millisecond: 0,
        };
        // `MONTHS` is indexed by the month. The day is only shown, so 31 February does no harm.
        ((1..=12).contains(&time.month) && (1..=31).contains(&time.day)).then_some(time)
    }

    /// Formats as `26 January 2014`.
    pub fn date(self) -> String {
        format!("{} {} {}", self.day, self.month_name(), self.year)
    }

    /// Formats as `January 2014`.
    pub fn month_and_year(self) -> String {
        format!("{} {}", self.month_name(), self.year)
    }

    fn month_name(self) -> &'static str {
        MONTHS[usize::from(self.month.clamp(1, 12)) - 1]
    }

    /// Formats as `26 January 2014, 20:06`.
    pub fn date_and_time(self) -> String {
        format!("{}, {:02}:{:02}", self.date(), self.hour, self.minute)
    }

    /// Formats as `20140126200624`.
    pub fn digits(self) -> String {
        format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }

    /// Formats as `2014-01-26T20:06:24Z`, without milliseconds.
    pub fn iso(self) -> String {
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }

    /// Returns seconds since 1970.
    pub fn seconds(self) -> i64 {
        let days = days_of(self.year, self.month.into(), self.day.into());
        let (hour, minute, second) = (
            i64::from(self.hour),
            i64::from(self.minute),
            i64::from(self.second),
        );
        days * 86_400 + hour * 3600 + minute * 60 + second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_leniently() {
        let time = DateTime::of_text("20140126200624").expect("a time");
        assert_eq!(DateTime::of_text("2014-01-26T20:06:24.000Z"), Some(time));
        assert_eq!(time.date_and_time(), "26 January 2014, 20:06");
        assert_eq!(time.iso(), "2014-01-26T20:06:24Z");
        assert_eq!(DateTime::of_text("20141326"), None);
        assert_eq!(DateTime::of_text("2014"), None);
        let day = |text| DateTime::of_text(text).expect("a time").seconds() / 86_400;
        assert_eq!(day("20240301") - day("20240228"), 2);
        assert_eq!(day("20230301") - day("20230228"), 1);
        assert_eq!(day("20000101") - day("19700101"), 10_957);
    }
}
