//! Dates in UTC by the Gregorian calendar. Converts milliseconds since 1970 to and from year,
//! month, day and so on, and formats CDX digits (`20140126200624`) and ISO 8601.
//!
//! The calendar is that of the crate `time`, which ends with the year 9999. The calendar repeats
//! every 400 years, so later times are mapped to years that `time` supports: every `i64` of
//! milliseconds has a date here.
//!
//! It does not parse dates in archives, where each format has its own leniency
//! (`warc::parse_date`).

use time::{Date, Month};

/// Milliseconds in a day.
pub const DAY_MS: i64 = 86_400_000;

/// Number of digits of a full time, `YYYYMMDDhhmmss`. Fewer digits denote all times that begin with
/// them.
pub const DIGITS: usize = 14;

/// Number of digits of a time to the millisecond.
pub const DIGITS_MS: usize = 17;

/// Days in 400 years, after which the calendar repeats.
const CYCLE_DAYS: i64 = 146_097;
const CYCLE_YEARS: i64 = 400;

/// A year beyond the range of milliseconds in an `i64`.
const YEAR_MAX: u64 = 300_000_000;

/// Julian day of 1970-01-01, the epoch in the counting of `time`.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// A time split into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    /// May be negative or beyond 9999.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999.
    pub millisecond: u16,
}

impl DateTime {
    /// Splits milliseconds since 1970.
    pub fn of_ms(ms: i64) -> DateTime {
        let (days, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
        let (cycles, day) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
        // From 1970 to 2369: always within the range of `time`.
        let (year, month, day) = i32::try_from(day + EPOCH_JULIAN_DAY)
            .ok()
            .and_then(|day| Date::from_julian_day(day).ok())
            .map_or((1970, Month::January, 1), |date| date.to_calendar_date());
        DateTime {
            year: i64::from(year) + cycles * CYCLE_YEARS,
            month: u8::from(month),
            day,
            hour: (rest / 3_600_000) as u8,
            minute: (rest / 60_000 % 60) as u8,
            second: (rest / 1000 % 60) as u8,
            millisecond: (rest % 1000) as u16,
        }
    }
}

/// Returns the days from 1970-01-01 to a date. An invalid month is clamped to the nearest valid
/// one. A day beyond the month's end runs into the following months, one before its start into the
/// preceding ones.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (cycles, year) = (year.div_euclid(CYCLE_YEARS), year.rem_euclid(CYCLE_YEARS));
    // The equivalent year from 0 to 399.
    let month = Month::try_from(month.clamp(1, 12) as u8).unwrap_or(Month::January);
    let first = Date::from_calendar_date(year as i32, month, 1)
        .map_or(EPOCH_JULIAN_DAY, |date| i64::from(date.to_julian_day()));
    first - EPOCH_JULIAN_DAY + cycles * CYCLE_DAYS + day - 1
}

/// Returns the number of days of a month, 28 to 31.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    let month = Month::try_from(month.clamp(1, 12) as u8).unwrap_or(Month::January);
    i64::from(month.length(year.rem_euclid(CYCLE_YEARS) as i32))
}

/// Formats milliseconds since 1970 as `2014-01-26T20:06:24.000Z`.
pub fn iso(ms: i64) -> String {
    format!("{}.{:03}Z", seconds_of(ms), ms.rem_euclid(1000))
}

/// Like [`iso`], but omits zero milliseconds: `2014-01-26T20:06:24Z`.
///
/// ```
/// assert_eq!(format::date::iso_short(86_400_000), "1970-01-02T00:00:00Z");
/// assert_eq!(format::date::iso_short(86_400_500), "1970-01-02T00:00:00.500Z");
/// ```
pub fn iso_short(ms: i64) -> String {
    match ms.rem_euclid(1000) {
        0 => seconds_of(ms) + "Z",
        _ => iso(ms),
    }
}

/// Formats milliseconds since 1970 as an HTTP date (RFC 9110, section 5.6.7).
///
/// ```
/// assert_eq!(format::date::http_date(1_390_766_784_000), "Sun, 26 Jan 2014 20:06:24 GMT");
/// assert_eq!(format::date::http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
/// ```
pub fn http_date(ms: i64) -> String {
    // 1 January 1970 was a Thursday.
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let text = seconds_of(ms);
    let (date, time) = text.split_once('T').unwrap_or((text.as_str(), ""));
    let mut parts = date.rsplitn(3, '-');
    let (day, month, year) = (
        parts.next().unwrap_or(""),
        parts.next().unwrap_or(""),
        parts.next().unwrap_or(""),
    );
    let weekday = ms.div_euclid(86_400_000).rem_euclid(7);
    let weekday = WEEKDAYS[usize::try_from(weekday).unwrap_or(0)];
    let month: usize = month.parse().unwrap_or(1);
    let month = MONTHS[month.clamp(1, 12) - 1];
    format!("{weekday}, {day} {month} {year} {time} GMT")
}

/// Parses the format of [`iso`] into milliseconds since 1970; returns `None` for any other text.
///
/// ```
/// assert_eq!(format::date::ms_of_iso("1970-01-02T00:00:00.500Z"), Some(86_400_500));
/// assert_eq!(format::date::ms_of_iso("1970-01-02"), None);
/// ```
pub fn ms_of_iso(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    // Split from the end: a year before 0 begins with a hyphen.
    let mut date = date.rsplitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (day, month, year) = (date.next()??, date.next()??, date.next()??);
    let mut time = time
        .split([':', '.'])
        .map(|part| part.parse::<u32>().ok().map(i128::from));
    let (hour, minute) = (time.next()??, time.next()??);
    let (second, millisecond) = (time.next()??, time.next()??);
    if year.unsigned_abs() > YEAR_MAX || !(0..=99).contains(&day) {
        return None;
    }
    let days = i128::from(days_of(year, month, day));
    let minutes = (days * 24 + hour) * 60 + minute;
    let ms = i64::try_from((minutes * 60 + second) * 1000 + millisecond).ok()?;
    // Out-of-range fields and other spellings do not survive the round trip.
    (iso(ms) == text).then_some(ms)
}

fn seconds_of(ms: i64) -> String {
    let DateTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        ..
    } = DateTime::of_ms(ms);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Formats milliseconds since 1970 as `20140126200624`.
pub fn digits(ms: i64) -> String {
    let mut digits = digits_ms(ms);
    digits.truncate(DIGITS);
    digits
}

/// Formats milliseconds since 1970 as `20140126200624000`.
pub fn digits_ms(ms: i64) -> String {
    let digits = iso(ms).into_bytes().into_iter().filter(u8::is_ascii_digit);
    digits.take(DIGITS_MS).map(char::from).collect()
}

/// Returns the first and last of the 14-digit texts that begin with these digits: `2014` is a year,
/// `201401` a month.
pub fn range_of_digits(digits: &str) -> (String, String) {
    (format!("{digits:0<DIGITS$}"), format!("{digits:9<DIGITS$}"))
}

/// Returns the digits of a date or a prefix of one: `2008-01-31`, `2008-01-31T10:15Z`, `20080131`.
/// Returns `None` unless the text consists of 1 to 14 digits that begin a date, and separators
/// between complete parts: `2008-1` would mean some month from October on, and `2008-13` a month
/// after December. A fraction of a second after a full time, as in [`iso`], is left out.
///
/// Every time that a user writes is read by this function or by [`digits_ms_of_text`].
pub fn digits_of_text(text: &str) -> Option<String> {
    whole_digits(text).or_else(|| Some(fraction(text)?.0))
}

/// Like [`digits_of_text`], to the millisecond: up to 17 digits, or three digits of a fraction.
pub fn digits_ms_of_text(text: &str) -> Option<String> {
    whole_digits(text).or_else(|| {
        let (mut digits, rest) = match text.split_at_checked(DIGITS) {
            Some((whole, rest)) if (1..=DIGITS_MS - DIGITS).contains(&rest.len()) && is_digits(rest) => {
                (whole_digits(whole).filter(|digits| digits.len() == DIGITS)?, rest)
            }
            _ => fraction(text)?,
        };
        digits.extend(rest.chars().take(DIGITS_MS - DIGITS));
        Some(digits)
    })
}

/// Returns the digits of a full time and those of the fraction of its second.
fn fraction(text: &str) -> Option<(String, &str)> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (whole, rest) = text.rsplit_once('.').filter(|(_, rest)| is_digits(rest))?;
    let digits = whole_digits(whole).filter(|digits| digits.len() == DIGITS)?;
    Some((digits, rest))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn whole_digits(text: &str) -> Option<String> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let parts: Vec<&str> = text.split(['-', ':', '.', '/', 'T', 't', ' ']).collect();
    let is_whole = |part: &&str| part.len().is_multiple_of(2) && !part.is_empty();
    if parts.len() > 1 && !(parts[0].len() >= 4 && parts.iter().all(is_whole)) {
        return None;
    }
    let digits = parts.concat();
    begins_a_date(&digits).then_some(digits)
}

/// Returns whether any date begins with these 1 to 14 digits: there is no 13th month and no 30
/// February.
pub fn begins_a_date(digits: &str) -> bool {
    if !(1..=DIGITS).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let number = |digits: &str| digits.parse::<i64>().unwrap_or_default();
    let year_and_month = digits.get(..4).zip(digits.get(4..6));
    let days = year_and_month.map_or(31, |(year, month)| days_in_month(number(year), number(month)));
    let parts = [(4, 1, 12), (6, 1, days), (8, 0, 23), (10, 0, 59), (12, 0, 59)];
    parts.iter().all(|&(from, least, most)| match digits.get(from..) {
        None | Some("") => true,
        // A single digit covers all values that begin with it.
        Some(one) if one.len() == 1 => number(one) <= most / 10,
        Some(rest) => (least..=most).contains(&number(&rest[..2])),
    })
}

/// Returns milliseconds since 1970 for 1 to 17 digits; missing ones take their earliest value.
/// Out-of-range values (31 June) overflow into the next part, which is sufficient for finding the
/// nearest capture.
pub fn ms_of_digits(text: &str) -> i64 {
    let (text, fraction) = text.split_at_checked(DIGITS).unwrap_or((text, ""));
    let full = format!("{text}{}", &"00010101000000"[text.len().min(DIGITS)..]);
    let part = |from: usize, to: usize| {
        full.get(from..to)
            .and_then(|digits| digits.parse::<i64>().ok())
            .unwrap_or(0)
    };
    let days = days_of(part(0, 4), part(4, 6), part(6, 8));
    let seconds = days * 86_400 + part(8, 10) * 3600 + part(10, 12) * 60 + part(12, 14);
    seconds * 1000 + format!("{fraction:0<3}").parse::<i64>().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the day after a date, by the calendar's rules.
    fn after((year, month, day): (i64, i64, i64)) -> (i64, i64, i64) {
        let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
        let days = match month {
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => 31,
        };
        assert_eq!(days_in_month(year, month), days, "{year}-{month}");
        match (day < days, month < 12) {
            (true, _) => (year, month, day + 1),
            (false, true) => (year, month + 1, 1),
            (false, false) => (year + 1, 1, 1),
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        for days in [-800_000..800_000, 2_930_000..2_940_000] {
            let mut expected = None;
            for day in days {
                let civil = DateTime::of_ms(day * DAY_MS);
                let date = (civil.year, i64::from(civil.month), i64::from(civil.day));
                assert_eq!(date, expected.unwrap_or(date), "day {day}");
                assert_eq!(days_of(date.0, date.1, date.2), day);
                expected = Some(after(date));
            }
        }
        assert_eq!(days_of(1970, 1, 1), 0);
    }

    #[test]
    fn times_there_and_back() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(iso(1_390_766_784_123), "2014-01-26T20:06:24.123Z");
        assert_eq!(digits(1_390_766_784_123), "20140126200624");
        assert_eq!(digits_ms(1_390_766_784_123), "20140126200624123");
        for second in (-4_000_000_000_i64..4_200_000_000).step_by(12_345_677) {
            assert_eq!(ms_of_digits(&digits(second * 1000)), second * 1000);
        }
        assert_eq!(ms_of_digits("20140126200624123"), 1_390_766_784_123);
        assert_eq!(ms_of_digits("201401262006241"), 1_390_766_784_100);
        assert_eq!(ms_of_digits("2014"), ms_of_digits("20140101000000"));
        assert_eq!(ms_of_digits("20140631"), ms_of_digits("20140701"));
        assert_eq!(ms_of_digits("20149901"), ms_of_digits("20141201"));
    }

    #[test]
    fn years_beyond_four_digits() {
        assert_eq!(iso_short(253_402_300_800_000), "10000-01-01T00:00:00Z");
        assert_eq!(iso_short(-62_167_219_200_001), "-001-12-31T23:59:59.999Z");
        assert_eq!(iso(i64::MAX), "292278994-08-17T07:12:55.807Z");
        assert_eq!(iso(i64::MIN), "-292275055-05-16T16:47:04.192Z");
        assert_eq!(days_of(10_000, 1, 1) * DAY_MS, 253_402_300_800_000);
    }

    #[test]
    fn iso_is_read_as_it_is_written_and_nothing_else_is() {
        let edges = [
            i64::MIN,
            -62_167_219_200_001,
            -1,
            0,
            1,
            253_402_300_800_000,
            i64::MAX,
        ];
        for ms in edges
            .into_iter()
            .chain((-4_000_000_000_000_i64..4_200_000_000_000).step_by(12_345_677_891))
        {
            assert_eq!(ms_of_iso(&iso(ms)), Some(ms), "{}", iso(ms));
        }
        let odd = [
            "",
            "T",
            "2014-01-26T20:06:24Z",
            "2014-02-30T20:06:24.000Z",
            "2014-01-26T24:06:24.000Z",
            "2014-1-26T20:06:24.000Z",
            "2014-01-26T20:06:24.000+01:00",
            "2014-01-26T20:06:24.000.1Z",
            "292278994-08-17T07:12:55.808Z",
            "-9223372036854775808-01-01T00:00:00.000Z",
            "2014-01-9223372036854775807T00:00:00.000Z",
            "٢٠١٤-01-26T20:06:24.000Z",
        ];
        for text in odd {
            assert_eq!(ms_of_iso(text), None, "{text}");
        }
    }

    #[test]
    fn prefixes_stand_for_ranges() {
        let both = |first: &str, last: &str| (first.to_owned(), last.to_owned());
        assert_eq!(range_of_digits("2014"), both("20140000000000", "20149999999999"));
        let day = digits_of_text("2008-01-31").expect("digits");
        assert_eq!(range_of_digits(&day), both("20080131000000", "20080131999999"));
        assert_eq!(
            digits_of_text("2008-01-31T10:15Z").as_deref(),
            Some("200801311015")
        );
        for odd in ["", "x", "-", "200x", "123456789012345", "٢٠٠٨", "2008Z-01", "Z"] {
            assert_eq!(digits_of_text(odd), None, "{odd}");
        }
    }

    #[test]
    fn dates_that_there_are_not_are_none() {
        for odd in [
            "2012-2",
            "2012-2-3",
            "-5",
            "2012-",
            "20-12",
            "2012--02",
            "2012-13",
            "2012-00",
            "20122",
            "99999",
            "2012-02-30",
            "2013-02-29",
            "201204310",
            "2012-01-32",
            "2012-01-00",
            "2026-13-45",
            "2012-01-01T24",
            "2012-01-01T10:60",
            "201201011060",
            "2012010110596",
        ] {
            assert_eq!(digits_of_text(odd), None, "{odd}");
        }
        for (good, digits) in [
            ("2", "2"),
            ("201", "201"),
            ("20121", "20121"),
            ("2012-02-29", "20120229"),
            ("20120131T101559Z", "20120131101559"),
            ("2012/12/31", "20121231"),
            ("2012-01-01T23:59:59Z", "20120101235959"),
            ("2012-01-01 23:59:59", "20120101235959"),
            ("2012-01-01T23:59:59.120Z", "20120101235959"),
            ("2012-01-01T23:59:59.1", "20120101235959"),
        ] {
            assert_eq!(digits_of_text(good).as_deref(), Some(digits));
        }
        for (good, digits) in [
            ("2012-01", "201201"),
            ("2012-01-01T23:59:59.1Z", "201201012359591"),
            ("2012-01-01T23:59:59.123456Z", "20120101235959123"),
            ("20120101235959123", "20120101235959123"),
            ("201201012359591", "201201012359591"),
        ] {
            assert_eq!(digits_ms_of_text(good).as_deref(), Some(digits));
        }
        for odd in [
            "2012.5",
            "2012-13",
            "201213012359591",
            "201201012359591234",
            "2012-01-01T23:59:59.x",
            "\u{e4}",
        ] {
            assert_eq!(digits_ms_of_text(odd), None, "{odd}");
        }
        for day in -400_000..400_000 {
            let digits = digits(day * DAY_MS);
            assert!(
                (1..=DIGITS).all(|count| begins_a_date(&digits[..count])),
                "{digits}"
            );
        }
    }
}
