//! The captures of one URL as a strip of years and months. Each leads to the page at its first
//! capture, which leads on to the next one.
//!
//! The newest year is first. Years without captures are shown too while there are few, so that gaps
//! are visible. Captures whose content differs from the one before are marked.

mod days;

use std::collections::BTreeMap;

use archive::question::{CalendarDay, CdxRow};
use maud::{Markup, html};

pub(crate) use self::days::strip_and_days;
use crate::link;
use crate::present;
use format::date::DateTime;

/// Maximum number of years with empty ones shown. Over a longer span empty years are left out,
/// because dates can be wrong by centuries.
const YEARS_MAX: i64 = 30;

/// The months' first letters. The cells have the full names.
const LETTERS: [&str; 12] = ["J", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D"];

/// The captures of one day.
#[derive(Clone, Copy)]
struct Day {
    first: DateTime,
    last: DateTime,
    captures: u64,
    /// Captures whose content differs from the one before.
    changes: u64,
}

impl Day {
    /// Converts a count of the archive. Returns `None` for a time that cannot be parsed.
    fn of(day: &CalendarDay) -> Option<Day> {
        Some(Day {
            first: DateTime::of_text(&day.first)?,
            last: DateTime::of_text(&day.last)?,
            captures: day.captures,
            changes: day.changes,
        })
    }
}

/// Days of a year by month, oldest first.
type Months = [Vec<Day>; 12];

/// Returns the strip, which is empty for fewer than two captures. `shown` is the time of the
/// capture that the page shows.
pub(crate) fn strip(url: &str, captures: &[CdxRow], shown: Option<&str>) -> Markup {
    let shown = shown.and_then(DateTime::of_text);
    let address = |first: &Day| dated(url, first);
    table(&days_of(captures), shown, address, address)
}

/// Returns the address of the page at the first capture of a day.
fn dated(url: &str, day: &Day) -> String {
    link::page_at(url, &link::At::time(&day.first.digits()))
}

fn captures(days: &[Day]) -> u64 {
    days.iter().map(|day| day.captures).sum()
}

/// Draws the strip. `of_year` and `of_month` return the addresses of a year and of a month by its
/// first day with captures.
fn table(
    days: &[Day],
    shown: Option<DateTime>,
    of_year: impl Fn(&Day) -> String,
    of_month: impl Fn(&Day) -> String,
) -> Markup {
    let years = years(days);
    html! {
        @if captures(days) > 1 {
            table.calendar {
                caption.hidden { "Captures by year and month" }
                thead { tr {
                    th scope="col" { span.hidden { "Year" } }
                    @for letter in LETTERS { th scope="col" aria-hidden="true" { (letter) } }
                } }
                tbody {
                    @for (year, months) in years.iter().rev() {
                        tr {
                            th scope="row" { (year_cell(*year, months, &of_year)) }
                            @for (month, days) in (1..).zip(months) {
                                td { @if let Some(first) = days.first() {
                                    (cell(&of_month(first), days, &first.first.month_and_year(), is_of(shown, *year, month)))
                                } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Shows a year, as a link if it has captures.
fn year_cell(year: i64, months: &Months, address: impl Fn(&Day) -> String) -> Markup {
    let days: Vec<Day> = months.iter().flatten().copied().collect();
    let words = counted(&days);
    html! {
        @match days.first() {
            Some(first) => a href=(address(first)) title=(format!("{words} in {year}")) { (year) span.hidden { ": " (words) } },
            None => (year),
        }
    }
}

fn is_of(shown: Option<DateTime>, year: i64, month: u8) -> bool {
    shown.is_some_and(|shown| (shown.year, shown.month) == (year, month))
}

/// Returns a link to the captures of a span of time.
fn cell(address: &str, days: &[Day], when: &str, is_shown: bool) -> Markup {
    let count = captures(days);
    let words = format!("{} in {when}", counted(days));
    html! {
        a class=(class(days)) href=(address) title=(words) aria-current=[is_shown.then_some("date")] {
            span.wide[count > SHORT_MAX] aria-hidden="true" { (short(count)) } span.hidden { (words) }
        }
    }
}

/// Formats as `3 captures, 1 change`.
fn counted(days: &[Day]) -> String {
    let captures_counted = present::counted(captures(days), "capture", "captures");
    match days.iter().map(|day| day.changes).sum() {
        0 => captures_counted,
        changes => format!(
            "{captures_counted}, {}",
            present::counted(changes, "change", "changes")
        ),
    }
}

/// Returns the CSS class of a cell: its shade, and whether content changed.
fn class(days: &[Day]) -> String {
    let changed = if days.iter().any(|day| day.changes > 0) {
        " changed"
    } else {
        ""
    };
    format!("many-{}{changed}", level(captures(days)))
}

/// Returns the shade of a month, from 1 to 3.
fn level(count: u64) -> u8 {
    match count {
        0..=1 => 1,
        2..=4 => 2,
        _ => 3,
    }
}

/// Largest number of captures shown as a number, because a month is two digits wide on a phone.
const SHORT_MAX: u64 = 99;

fn short(count: u64) -> String {
    if count > SHORT_MAX {
        "99+".to_owned()
    } else {
        count.to_string()
    }
}

/// Returns the days of captures whose time can be parsed, oldest first.
fn days_of(captures: &[CdxRow]) -> Vec<Day> {
    let mut taken: Vec<(DateTime, &CdxRow)> = captures
        .iter()
        .filter_map(|row| Some((DateTime::of_text(&row.fetch_time)?, row)))
        .collect();
    taken.sort_by(|(a, a_row), (b, b_row)| {
        (a.seconds(), &a_row.timestamp).cmp(&(b.seconds(), &b_row.timestamp))
    });
    let mut days: Vec<Day> = Vec::new();
    let mut before: Option<&str> = None;
    for (moment, row) in taken {
        let changes = u64::from(before.is_some_and(|before| before != row.digest));
        before = Some(&row.digest);
        match days.last_mut().filter(|day| day.last.date() == moment.date()) {
            Some(day) => {
                day.last = moment;
                day.captures += 1;
                day.changes += changes;
            }
            None => days.push(Day {
                first: moment,
                last: moment,
                captures: 1,
                changes,
            }),
        }
    }
    days
}

fn years(days: &[Day]) -> BTreeMap<i64, Months> {
    let mut years: BTreeMap<i64, Months> = BTreeMap::new();
    for day in days {
        let months = years.entry(day.first.year).or_default();
        months[usize::from(day.first.month) - 1].push(*day);
    }
    if let (Some((&first, _)), Some((&last, _))) = (years.first_key_value(), years.last_key_value())
        && last - first < YEARS_MAX
    {
        // Both ends already have captures.
        for year in first..last {
            years.entry(year).or_default();
        }
    }
    years
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip_of(times: &[&str], shown: Option<&str>) -> String {
        let row = |time: &&str| CdxRow {
            fetch_time: (*time).to_owned(),
            timestamp: (*time).to_owned(),
            ..CdxRow::default()
        };
        strip("http://a/", &times.iter().map(row).collect::<Vec<_>>(), shown).into_string()
    }

    #[test]
    fn years_and_months_lead_to_their_first_capture_and_years_stand_newest_first() {
        let html = strip_of(
            &["20140126200624", "20120305000000", "20120301000000", "soon"],
            Some("20140126200624"),
        );
        assert!(
            html.contains("/page?url=http%3A%2F%2Fa%2F&amp;at=20140126200624"),
            "{html}"
        );
        for words in ["2 captures in March 2012", "2 captures in 2012"] {
            let link = format!("at=20120301000000\" title=\"{words}\"");
            assert!(html.contains(&link), "{link} is not in {html}");
        }
        assert_eq!(html.matches("aria-current=\"date\"").count(), 1, "{html}");
        let rows: Vec<usize> = ["2014", "2013", "2012"]
            .map(|year| html.find(&format!(">{year}<")).expect("a year"))
            .to_vec();
        assert!(rows.is_sorted(), "{html}");
    }

    #[test]
    fn one_capture_needs_no_strip_and_wrong_centuries_no_rows_between() {
        assert_eq!(strip_of(&["20140126"], None), "");
        let html = strip_of(&["00010101", "20140126", "99990101"], None);
        assert_eq!(html.matches("scope=\"row\"").count(), 3, "{html}");
    }

    #[test]
    fn a_month_says_how_often_its_content_changed() {
        let row = |time: &str, digest: &str| CdxRow {
            fetch_time: time.to_owned(),
            timestamp: time.to_owned(),
            digest: digest.to_owned(),
            ..CdxRow::default()
        };
        let rows = [
            row("20120305000000", "B"),
            row("20120304000000", "B"),
            row("20120301000000", "A"),
            row("20120201000000", "A"),
        ];
        let html = strip("http://a/", &rows, None).into_string();
        assert!(html.contains("3 captures, 1 change in March 2012"), "{html}");
        assert!(html.contains("many-2 changed"), "{html}");
        // The oldest capture has no known predecessor, so it counts as no change.
        assert!(html.contains("\"1 capture in February 2012\""), "{html}");
    }
}
