//! A range of capture times.

use crate::AskError;

/// The first and last time, both inclusive.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    /// 14 digits; `None` if unbounded.
    first: Option<String>,
    last: Option<String>,
}

impl Window {
    /// Makes a window from dates or prefixes of dates: `2014` is a year, and as an end means its
    /// last second.
    pub(super) fn of(from: Option<&str>, to: Option<&str>) -> Result<Window, AskError> {
        let range = |text: &str| {
            let digits = format::date::digits_of_text(text).ok_or_else(|| {
                AskError::bad_request(format!(
                    "{text:?} is not a time: expected a date or its beginning, such as 2014, 2014-01-26 or 20140126200624"
                ))
            })?;
            Ok::<_, AskError>(format::date::range_of_digits(&digits))
        };
        Ok(Window {
            first: from.map(range).transpose()?.map(|(first, _)| first),
            last: to.map(range).transpose()?.map(|(_, last)| last),
        })
    }

    pub(super) fn contains(&self, time_ms: i64) -> bool {
        if self.first.is_none() && self.last.is_none() {
            return true;
        }
        let digits = format::date::digits(time_ms);
        self.first.as_ref().is_none_or(|first| *first <= digits)
            && self.last.as_ref().is_none_or(|last| digits <= *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: Option<&str>, to: Option<&str>, expected: [bool; 4]) {
        let window = Window::of(from, to).unwrap();
        let times = [
            "2013-12-31T23:59:59.999Z",
            "2014-01-01T00:00:00.000Z",
            "2014-12-31T23:59:59.999Z",
            "2015-01-01T00:00:00.000Z",
        ];
        let found = times.map(|time| window.contains(format::date::ms_of_iso(time).unwrap()));
        assert_eq!(found, expected, "{from:?} to {to:?}");
    }

    #[test]
    fn both_ends_are_included() {
        check(None, None, [true; 4]);
        check(Some("2014"), None, [false, true, true, true]);
        check(None, Some("2014"), [true, true, true, false]);
        check(Some("2014"), Some("2014-12-31"), [false, true, true, false]);
        check(Some("2015"), Some("2014"), [false; 4]);
        check(
            Some("20140101000000"),
            Some("20140101000000"),
            [false, true, false, false],
        );
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for bad in ["", "2014-13", "yesterday", "2014-02-30", "2014-1"] {
            assert!(Window::of(Some(bad), None).is_err(), "{bad}");
            assert!(Window::of(None, Some(bad)).is_err(), "{bad}");
        }
    }
}
