//! Dates of records: W3C form in WARC (`2014-03-04T05:14:21.251Z`), digits in ARC
//! (`20140304051421`).
//!
//! If only the beginning of a date can be parsed, the result is that beginning (and is not
//! `exact`), because an approximate time is better than none. But a year far in the future, as in
//! twenty digits of a damaged file, is rejected: such a capture would always be the newest of its
//! page.

/// A point in time parsed from a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordDate {
    /// Milliseconds since 1970-01-01T00:00:00Z; smaller units are cut off.
    pub ms: i64,
    /// Whether the whole text was parsed and all parts were in range.
    pub exact: bool,
}

/// The years of exact dates; later ones are rejected. The last one is fixed and not derived from a
/// clock, so that the validity of a record does not depend on when it is read.
const YEARS: std::ops::RangeInclusive<i64> = 1990..=2099;

/// Parses `WARC-Date`, or digits as in ARC and CDX. Returns `None` if there is not even a year, or
/// if the year is after 2099. Years before 1990 are accepted but not `exact`.
///
/// ```
/// assert_eq!(warc::parse_date("1970-01-02T00:00:00.5Z").unwrap().ms, 86_400_500);
/// assert_eq!(warc::parse_date("19700102000000").unwrap().ms, 86_400_000);
/// assert_eq!(warc::parse_date("2008-10-294T05:21:46-0700").unwrap().exact, false);
/// ```
pub fn parse_date(text: &str) -> Option<RecordDate> {
    let bytes = text.trim().as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut fields = Fields::default();
    let exact = match digits {
        0..4 => return None,
        4 => fields.read_w3c(bytes),
        // The year has more than four digits.
        _ if bytes.get(digits) == Some(&b'-') => return None,
        _ => fields.read_digits(&bytes[..digits]) && digits == 14 && bytes.len() == 14,
    };
    if fields.year > *YEARS.end() {
        return None;
    }
    Some(fields.into_date(exact))
}

/// The parts of a date before range checks.
#[derive(Default)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
    zone_minutes: i64,
}

impl Fields {
    /// Parses `YYYYMMDDhhmmss` or any prefix of it, and ignores the rest. Returns true if all 14
    /// digits are present.
    fn read_digits(&mut self, digits: &[u8]) -> bool {
        let part = |from: usize, to: usize| digits.get(from..to).and_then(number);
        self.year = part(0, 4).unwrap_or(0);
        self.month = part(4, 6).unwrap_or(1);
        self.day = part(6, 8).unwrap_or(1);
        self.hour = part(8, 10).unwrap_or(0);
        self.minute = part(10, 12).unwrap_or(0);
        self.second = part(12, 14).unwrap_or(0);
        digits.len() >= 14
    }

    /// Parses `YYYY-MM-DDThh:mm:ss.fff` and a zone, or any prefix of these. Returns true if
    /// everything was parsed.
    fn read_w3c(&mut self, bytes: &[u8]) -> bool {
        (self.month, self.day) = (1, 1);
        let mut rest = bytes;
        let Some(year) = take_number(&mut rest, None, 4) else {
            return false;
        };
        self.year = year;
        let date = [&mut self.month, &mut self.day];
        for (part, separator) in date.into_iter().zip([b'-', b'-']) {
            match take_number(&mut rest, Some(separator), 2) {
                Some(value) => *part = value,
                None => return rest.is_empty(),
            }
        }
        if let [b't', after @ ..] | [b' ', after @ ..] = rest
            && let Some(hour) = take_number(&mut { after }, None, 2)
        {
            self.hour = hour;
            rest = &after[2..];
        } else if let Some(hour) = take_number(&mut rest, Some(b'T'), 2) {
            self.hour = hour;
        } else {
            return rest.is_empty();
        }
        match take_number(&mut rest, Some(b':'), 2) {
            Some(minute) => self.minute = minute,
            None => return false,
        }
        if let Some(second) = take_number(&mut rest, Some(b':'), 2) {
            self.second = second;
            self.take_fraction(&mut rest);
        }
        self.read_zone(rest)
    }

    fn take_fraction(&mut self, rest: &mut &[u8]) {
        if let [b'.' | b',', after @ ..] = *rest {
            let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
            let mut scale = 100;
            for digit in &after[..digits] {
                self.millisecond += i64::from(digit - b'0') * scale;
                scale /= 10;
            }
            *rest = &after[digits..];
        }
    }

    fn read_zone(&mut self, zone: &[u8]) -> bool {
        let (sign, mut rest) = match zone {
            [b'Z' | b'z'] => return true,
            [b'+', rest @ ..] => (1, rest),
            [b'-', rest @ ..] => (-1, rest),
            _ => return false,
        };
        let Some(hours) = take_number(&mut rest, None, 2) else {
            return false;
        };
        let minutes = take_number(&mut rest, Some(b':'), 2).or_else(|| take_number(&mut rest, None, 2));
        self.zone_minutes = sign * (hours * 60 + minutes.unwrap_or(0));
        rest.is_empty()
    }

    fn into_date(mut self, mut exact: bool) -> RecordDate {
        // The first out-of-range part and all parts after it get their lowest values. An
        // inexact date is therefore never later than the intended one.
        let mut understood = true;
        let mut within = |value: &mut i64, min: i64, max: i64| {
            understood &= (min..=max).contains(value);
            if !understood {
                *value = min;
            }
        };
        within(&mut self.month, 1, 12);
        within(
            &mut self.day,
            1,
            format::date::days_in_month(self.year, self.month),
        );
        within(&mut self.hour, 0, 23);
        within(&mut self.minute, 0, 59);
        // 60 is a leap second.
        within(&mut self.second, 0, 60);
        if !understood {
            (self.millisecond, self.zone_minutes) = (0, 0);
        }
        exact &= understood && YEARS.contains(&self.year);
        let days = format::date::days_of(self.year, self.month, self.day);
        // A zone of +01:00 is ahead of UTC, so it is subtracted.
        let minutes = days * 1440 + self.hour * 60 + self.minute - self.zone_minutes;
        RecordDate {
            ms: (minutes * 60 + self.second) * 1000 + self.millisecond,
            exact,
        }
    }
}

/// Takes `separator` and then exactly `digits` digits from the front of `rest`. If they are not
/// there, `rest` stays unchanged.
fn take_number(rest: &mut &[u8], separator: Option<u8>, digits: usize) -> Option<i64> {
    let mut bytes = *rest;
    if let Some(separator) = separator {
        bytes = bytes.strip_prefix(&[separator])?;
    }
    let value = bytes.get(..digits).and_then(number)?;
    if bytes.get(digits).is_some_and(u8::is_ascii_digit) && digits == 2 && separator.is_some() {
        return None;
    }
    *rest = &bytes[digits..];
    Some(value)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, b| {
        b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use format::date::iso_short as format_date;

    use super::*;

    fn check(text: &str, printed: &str, exact: bool) {
        let date = parse_date(text).unwrap_or_else(|| panic!("{text} not read"));
        assert_eq!(
            (format_date(date.ms).as_str(), date.exact),
            (printed, exact),
            "{text}"
        );
    }

    #[test]
    fn forms_seen_in_archives() {
        check("2014-01-27T17:12:38Z", "2014-01-27T17:12:38Z", true);
        check("2019-11-18T12:56:03.352903999Z", "2019-11-18T12:56:03.352Z", true);
        check("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", true);
        check("2020-02-29T00:00:00+01:30", "2020-02-28T22:30:00Z", true);
        check("2020-02-29T00:00:00-0700", "2020-02-29T07:00:00Z", true);
        check("2014-01", "2014-01-01T00:00:00Z", true);
        check("2014", "2014-01-01T00:00:00Z", true);
        check("2008-10-294T05:21:46-0700", "2008-10-01T00:00:00Z", false);
        check("20080430204825", "2008-04-30T20:48:25Z", true);
        check("2016020900", "2016-02-09T00:00:00Z", false);
        check("200011101120", "2000-11-10T11:20:00Z", false);
        check("201512000000000", "2015-12-01T00:00:00Z", false);
        check("20160211000000jpg", "2016-02-11T00:00:00Z", false);
        check("200009180023002953", "2000-09-18T00:23:00Z", false);
        check("2014-13-45T25:61:61Z", "2014-01-01T00:00:00Z", false);
        check("2014-02-30T10:00:00Z", "2014-02-01T00:00:00Z", false);
        check("2014-01-05T25:00:00.5+05:00", "2014-01-05T00:00:00Z", false);
        check("20140199991199", "2014-01-01T00:00:00Z", false);
        check("2099-12-31T23:59:59Z", "2099-12-31T23:59:59Z", true);
        check("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z", false);
        check("00000000000000", "0000-01-01T00:00:00Z", false);
    }

    #[test]
    fn not_a_date() {
        for text in [
            "",
            "x",
            "20x",
            "a0d1fdddf3165d04",
            "-2014",
            "9999-12-31T23:59:59Z",
            "2100-01-01T00:00:00Z",
            "99999999999999",
            "99991231235960999999",
            "10000-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
