//! The days of each month below the strip of months, for the bar of an archived page.
//!
//! A month of the strip links to its days by a fragment, which shows them in place of the current
//! month's days. So no request is needed, and it works without a script. A year leads to its first
//! capture.

use maud::{Markup, html};

use super::{Day, captures, class, counted, dated, table};
use crate::link;
use crate::present;
use archive::question::{CalendarBody, CalendarTime};
use format::date::DateTime;

/// Maximum number of bytes for links to days. Above it, months lead to their first capture.
const LINKS_BYTES_MAX: usize = 256 << 10;

/// Maximum number of captures of one day that are listed by their times.
const TIMES_MAX: usize = 48;

const WEEKDAYS: [&str; 7] = ["M", "T", "W", "T", "F", "S", "S"];

/// Returns the strip, the days of every month with captures, and the times on the day of `shown`
/// (14 digits). The result is empty for fewer than two captures. `address` returns where the
/// capture of a time is shown.
pub(crate) fn strip_and_days(
    url: &str,
    calendar: &CalendarBody,
    shown: &str,
    address: impl Fn(&str) -> String,
) -> Markup {
    let days: Vec<Day> = calendar.days.iter().filter_map(Day::of).collect();
    let now = DateTime::of_text(shown);
    if captures(&days) < 2 {
        return html! {};
    }
    if days.len() * (address(shown).len() + 100) > LINKS_BYTES_MAX {
        let address = |first: &Day| dated(url, first);
        return table(&days, now, address, address);
    }
    let months = days.chunk_by(|a, b| (a.first.year, a.first.month) == (b.first.year, b.first.month));
    html! {
        div.calendars {
            div {
                (table(&days, now, |first| address(&first.first.digits()), |first| format!("#{}", id(first))))
                @if days.iter().any(|day| day.changes > 0) {
                    p.legend { span.changed aria-hidden="true" {} " the content changed" }
                }
            }
            @for month in months { (days_of(month, now, &address)) }
        }
        (times(url, &calendar.times, shown, &address))
    }
}

/// Returns the id of a month in the page.
fn id(day: &Day) -> String {
    format!("days-{:04}-{:02}", day.first.year, day.first.month)
}

fn days_of(month: &[Day], now: Option<DateTime>, address: &impl Fn(&str) -> String) -> Markup {
    let Some(first) = month.first() else {
        return html! {};
    };
    let (year, number) = (first.first.year, first.first.month);
    let is_shown = super::is_of(now, year, number);
    let length = format::date::days_in_month(year, i64::from(number)) as u32;
    // 1 January 1970 was a Thursday.
    let weekday = (format::date::days_of(year, i64::from(number), 1) + 3).rem_euclid(7) as u32;
    let of_day = |number: u32| month.iter().find(|day| u32::from(day.first.day) == number);
    html! {
        div.days.shown[is_shown] id=(id(first)) {
            table.calendar {
                caption { (first.first.month_and_year()) " " span.soft { (counted(month)) } }
                thead { tr aria-hidden="true" { @for letter in WEEKDAYS { th { (letter) } } } }
                tbody {
                    @for week in 0..(weekday + length).div_ceil(7) {
                        tr { @for day in (week * 7 + 1)..(week * 7 + 8) {
                            @match day.checked_sub(weekday).filter(|day| (1..=length).contains(day)) {
                                None => td {},
                                Some(number) => td {
                                    @match of_day(number) {
                                        None => (number),
                                        Some(day) => (day_cell(*day, now, address)),
                                    }
                                },
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// Shows a day, which leads to its first capture.
fn day_cell(day: Day, now: Option<DateTime>, address: &impl Fn(&str) -> String) -> Markup {
    let is_day = |now: DateTime| now.date() == day.first.date();
    let words = format!("{} on {}", counted(&[day]), day.first.date());
    html! {
        a class=(class(&[day])) href=(address(&day.first.digits())) title=(words) aria-current=[now.is_some_and(is_day).then_some("date")] {
            span aria-hidden="true" { (day.first.day) @if day.captures > 1 { sub { (super::short(day.captures)) } } }
            span.hidden { (words) }
        }
    }
}

/// Shows the times of captures on the current day, if there are several.
fn times(url: &str, times: &[CalendarTime], shown: &str, address: &impl Fn(&str) -> String) -> Markup {
    let Some(now) = DateTime::of_text(shown) else {
        return html! {};
    };
    let digits = &now.digits()[..8];
    let all = link::with(
        "/captures",
        &[("url", Some(url)), ("from", Some(digits)), ("to", Some(digits))],
    );
    html! {
        @if times.len() > 1 {
            nav.times aria-label="Captures on this day" {
                p { (now.date()) ":" }
                ul {
                    @for time in times.iter().take(TIMES_MAX) {
                        li {
                            a.changed[time.is_changed] href=(address(&time.timestamp)) aria-current=[(time.timestamp == shown).then_some("page")] {
                                (clock(&time.fetch_time)) @if time.is_changed { span.hidden { " changed" } }
                            }
                        }
                    }
                    @if times.len() > TIMES_MAX {
                        li { a href=(all) { "all " (present::count(times.len() as u64)) } }
                    }
                }
            }
        }
    }
}

fn clock(time: &str) -> String {
    DateTime::of_text(time).map_or_else(String::new, |moment| {
        format!("{:02}:{:02}:{:02}", moment.hour, moment.minute, moment.second)
    })
}

#[cfg(test)]
mod tests {
    use archive::question::CalendarDay;

    use super::*;

    /// Returns a calendar of captures, oldest first, each with its content.
    fn calendar(taken: &[(&str, &str)]) -> CalendarBody {
        let mut calendar = CalendarBody::default();
        let mut before = None;
        for (time, content) in taken {
            let is_changed = before.is_some_and(|before| before != content);
            before = Some(content);
            match calendar.days.last_mut().filter(|day| day.first[..8] == time[..8]) {
                Some(day) => {
                    day.captures += 1;
                    day.changes += u64::from(is_changed);
                }
                None => {
                    calendar.times.clear();
                    calendar.days.push(CalendarDay {
                        first: (*time).to_owned(),
                        last: (*time).to_owned(),
                        captures: 1,
                        changes: u64::from(is_changed),
                    });
                }
            }
            calendar.times.push(CalendarTime {
                timestamp: (*time).to_owned(),
                fetch_time: (*time).to_owned(),
                is_changed,
            });
        }
        calendar
    }

    fn html_of(url: &str, taken: &[(&str, &str)]) -> String {
        let shown = taken.last().expect("a capture").0;
        strip_and_days(url, &calendar(taken), shown, |time| {
            format!("/replay/{time}/{url}")
        })
        .into_string()
    }

    #[test]
    fn months_lead_to_days_and_days_to_captures() {
        let html = html_of(
            "http://a/",
            &[
                ("20120301000000", "A"),
                ("20140101000000", "A"),
                ("20140126080000", "A"),
                ("20140126200624", "B"),
            ],
        );
        // 1 January 2014 was a Wednesday.
        assert!(
            html.contains(
                "<tr><td></td><td></td><td><a class=\"many-1\" href=\"/replay/20140101000000/http://a/\""
            ),
            "{html}"
        );
        for part in [
            "href=\"/replay/20140101000000/http://a/\" title=\"3 captures, 1 change in 2014\"",
            "href=\"#days-2014-01\"",
            "<div class=\"days shown\" id=\"days-2014-01\">",
            "<div class=\"days\" id=\"days-2012-03\">",
            "January 2014 <span class=\"soft\">3 captures, 1 change</span>",
            "2 captures, 1 change on 26 January 2014",
            "26<sub>2</sub>",
            "<td>31</td>",
            "08:00:00</a>",
            "20:06:24<span class=\"hidden\"> changed</span>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("<td>32</td>"), "{html}");
        assert_eq!(html.matches("aria-current=\"page\"").count(), 1, "{html}");
    }

    #[test]
    fn very_long_addresses_are_not_repeated_for_each_day() {
        let days: Vec<String> = (0..500)
            .map(|n| format!("2014{:02}{:02}000000", n / 28 % 12 + 1, n % 28 + 1))
            .collect();
        let mut taken: Vec<(&str, &str)> = days.iter().map(|day| (day.as_str(), "A")).collect();
        taken.sort_unstable();
        let html = html_of(&format!("http://a/{}", "x".repeat(2_000)), &taken);
        assert!(
            !html.contains("days-2014-01") && html.contains("/page?url="),
            "{html}"
        );
    }

    #[test]
    fn many_captures_of_one_day_are_one_day() {
        let times: Vec<String> = (0..500)
            .map(|n| format!("20140101{:02}{:02}00", n / 60, n % 60))
            .collect();
        let taken: Vec<(&str, &str)> = times.iter().map(|time| (time.as_str(), "A")).collect();
        let html = html_of("http://a/", &taken);
        assert!(html.contains("all 500") && html.contains("99+"), "{html}");
    }

    #[test]
    fn one_capture_has_no_calendar() {
        assert_eq!(html_of("http://a/", &[("20140126200624", "A")]), "");
    }
}
