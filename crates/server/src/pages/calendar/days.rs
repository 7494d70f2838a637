//! The days of each month below the strip of months, for the bar of an archived page.
//!
//! A month of the strip leads to its days by a fragment, which makes them visible in the place of those of the month that is shown; so
//! nothing is fetched, and it works without a script.

use maud::{Markup, html};

use super::{Taken, class, counted, listed, table, taken};
use crate::link;
use crate::present::{self, Moment};
use archive::question::CdxRow;

/// Most bytes that the links to days may need. Above it, months lead to lists of their captures.
const LINKS_BYTES_MAX: usize = 256 << 10;

/// Most captures of one day that are listed by their times.
const TIMES_MAX: usize = 48;

const WEEKDAYS: [&str; 7] = ["M", "T", "W", "T", "F", "S", "S"];

/// The strip, the days of every month with captures, and the times of the day of `shown`; empty for fewer than two captures. `address`
/// is where the capture of a time is shown.
pub(crate) fn strip_and_days(
    url: &str,
    captures: &[CdxRow],
    shown: &CdxRow,
    address: impl Fn(&CdxRow) -> String,
) -> Markup {
    let taken = taken(captures);
    let now = Moment::parse(&shown.fetch_time);
    if taken.len() < 2 {
        return html! {};
    }
    if taken.len() * (address(shown).len() + 100) > LINKS_BYTES_MAX {
        return table(&taken, now, |month| listed(url, month));
    }
    let months: Vec<&[Taken<'_>]> = taken
        .chunk_by(|a, b| (a.moment.year, a.moment.month) == (b.moment.year, b.moment.month))
        .collect();
    html! {
        div.calendars {
            div {
                (table(&taken, now, |month| format!("#{}", month.first().map(id).unwrap_or_default())))
                @if taken.iter().any(|taken| taken.is_changed) {
                    p.legend { span.changed aria-hidden="true" {} " the content changed" }
                }
            }
            @for month in months { (days(month, now, &address)) }
        }
        (times(url, &taken, shown, &address))
    }
}

/// Name of a month in the page.
fn id(taken: &Taken<'_>) -> String {
    format!("days-{:04}-{:02}", taken.moment.year, taken.moment.month)
}

fn days(month: &[Taken<'_>], now: Option<Moment>, address: &impl Fn(&CdxRow) -> String) -> Markup {
    let Some(first) = month.first() else {
        return html! {};
    };
    let (year, number) = (first.moment.year, first.moment.month);
    let is_shown = super::is_of(now, year, number);
    let last_day = month.last().map_or(1, |last| last.moment.day);
    // A day that the month does not have can stand in a record.
    let length = (civil::days_in_month(i64::from(year), i64::from(number)) as u32).max(last_day);
    // 1 January 1970 was a Thursday.
    let weekday = (civil::days_of(i64::from(year), i64::from(number), 1) + 3).rem_euclid(7) as u32;
    let of_day = |day: u32| {
        let begin = month.partition_point(|taken| taken.moment.day < day);
        let end = month.partition_point(|taken| taken.moment.day <= day);
        &month[begin..end]
    };
    html! {
        div.days.shown[is_shown] id=(id(first)) {
            table.calendar {
                caption { (first.moment.month_and_year()) " " span.soft { (counted(month)) } }
                thead { tr aria-hidden="true" { @for letter in WEEKDAYS { th { (letter) } } } }
                tbody {
                    @for week in 0..(weekday + length).div_ceil(7) {
                        tr { @for day in (week * 7 + 1)..(week * 7 + 8) {
                            @match day.checked_sub(weekday).filter(|day| (1..=length).contains(day)) {
                                None => td {},
                                Some(day) => td { (day_cell(day, of_day(day), now, address)) },
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// A day, which leads to its first capture.
fn day_cell(
    day: u32,
    captures: &[Taken<'_>],
    now: Option<Moment>,
    address: &impl Fn(&CdxRow) -> String,
) -> Markup {
    let Some(first) = captures.first() else {
        return html! { (day) };
    };
    let is_day = |now: Moment| (now.year, now.month, now.day) == (first.moment.year, first.moment.month, day);
    let words = format!("{} on {}", counted(captures), first.moment.date());
    html! {
        a class=(class(captures)) href=(address(first.row)) title=(words) aria-current=[now.is_some_and(is_day).then_some("date")] {
            span aria-hidden="true" { (day) @if captures.len() > 1 { sub { (super::short(captures.len())) } } }
            span.hidden { (words) }
        }
    }
}

/// The times of the day that is shown, if it has more than one capture.
fn times(url: &str, taken: &[Taken<'_>], shown: &CdxRow, address: &impl Fn(&CdxRow) -> String) -> Markup {
    let Some(now) = Moment::parse(&shown.fetch_time) else {
        return html! {};
    };
    let day = |moment: Moment| (moment.year, moment.month, moment.day);
    let of_day: Vec<&Taken<'_>> = taken
        .iter()
        .filter(|taken| day(taken.moment) == day(now))
        .collect();
    let digits = &now.digits()[..8];
    let all = link::with(
        "/captures",
        &[("url", Some(url)), ("from", Some(digits)), ("to", Some(digits))],
    );
    html! {
        @if of_day.len() > 1 {
            nav.times aria-label="Captures of this day" {
                p { (now.date()) ":" }
                ul {
                    @for taken in of_day.iter().take(TIMES_MAX) {
                        li {
                            a.changed[taken.is_changed] href=(address(taken.row)) aria-current=[(taken.row.name() == shown.name()).then_some("page")] {
                                (clock(taken.moment)) @if taken.is_changed { span.hidden { " changed" } }
                            }
                        }
                    }
                    @if of_day.len() > TIMES_MAX {
                        li { a href=(all) { "all " (present::count(of_day.len() as u64)) } }
                    }
                }
            }
        }
    }
}

fn clock(moment: Moment) -> String {
    format!("{:02}:{:02}:{:02}", moment.hour, moment.minute, moment.second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time: &str, digest: &str) -> CdxRow {
        CdxRow {
            fetch_time: time.to_owned(),
            timestamp: time.to_owned(),
            digest: digest.to_owned(),
            offset: time.parse().unwrap_or(0),
            ..CdxRow::default()
        }
    }

    fn html_of(url: &str, rows: &[CdxRow]) -> String {
        strip_and_days(url, rows, &rows[0], |row| {
            format!("/replay/{}/{url}", row.timestamp)
        })
        .into_string()
    }

    #[test]
    fn months_lead_to_days_and_days_to_captures() {
        let rows = [
            row("20140126200624", "B"),
            row("20140126080000", "A"),
            row("20140101000000", "A"),
            row("20120301000000", "A"),
        ];
        let html = html_of("http://a/", &rows);
        // 1 January 2014 was a Wednesday.
        assert!(
            html.contains(
                "<tr><td></td><td></td><td><a class=\"many-1\" href=\"/replay/20140101000000/http://a/\""
            ),
            "{html}"
        );
        for part in [
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
        let rows: Vec<CdxRow> = (0..500)
            .map(|n| row(&format!("20140101{:02}{:02}00", n / 60, n % 60), "A"))
            .collect();
        let html = html_of(&format!("http://a/{}", "x".repeat(2_000)), &rows);
        assert!(
            !html.contains("days-2014-01") && html.contains("/captures?url="),
            "{html}"
        );
        let html = html_of("http://a/", &rows);
        assert!(html.contains("all 500") && html.contains("99+"), "{html}");
    }

    #[test]
    fn one_capture_has_no_calendar_and_no_day_is_lost() {
        assert_eq!(html_of("http://a/", &[row("20140126200624", "A")]), "");
        let html = html_of(
            "http://a/",
            &[row("20140231000000", "A"), row("20140201000000", "A")],
        );
        assert!(html.contains("1 capture on 31 February 2014"), "{html}");
    }
}
