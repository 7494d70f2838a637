//! The captures of one URL as a strip of years and months. Each month leads to its captures.
//!
//! The newest year is first. Years without captures are shown too while there are few, so that gaps are
//! visible.

use std::collections::BTreeMap;

use archive::question::CdxRow;
use maud::{Markup, html};

use crate::link;
use crate::present::{self, Moment};

/// Up to this many years, empty ones are shown too. Over a longer span they are left out, because dates can
/// be wrong by centuries.
const YEARS_MAX: u32 = 30;

/// The months' first letters. The cells have the full names.
const LETTERS: [&str; 12] = ["J", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D"];

/// Captures of a month, newest first.
type Month = Vec<Moment>;

/// The strip; empty for fewer than two captures. `shown` is the time of the capture that the page shows.
pub(crate) fn strip(url: &str, captures: &[CdxRow], shown: Option<&str>) -> Markup {
    let years = years(captures);
    let shown = shown.and_then(Moment::parse);
    html! {
        @if captures.len() > 1 && !years.is_empty() {
            table.calendar {
                caption.hidden { "Captures by year and month" }
                thead { tr {
                    th scope="col" { span.hidden { "Year" } }
                    @for letter in LETTERS { th scope="col" aria-hidden="true" { (letter) } }
                } }
                tbody {
                    @for (year, months) in years.iter().rev() {
                        tr {
                            th scope="row" { (year) }
                            @for (month, captures) in (1..).zip(months) {
                                td { @if let Some(newest) = captures.first() { (cell(url, newest, captures.len(), is_of(shown, *year, month))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_of(shown: Option<Moment>, year: u32, month: u32) -> bool {
    shown.is_some_and(|shown| (shown.year, shown.month) == (year, month))
}

/// A month, which leads to its only capture or to the list of its captures.
fn cell(url: &str, newest: &Moment, count: usize, is_shown: bool) -> Markup {
    let address = match count {
        1 => link::page_at(url, &link::At::time(&newest.digits())),
        _ => {
            // Both bounds are the same month: `to` covers all that begins so.
            let month = &newest.digits()[..6];
            link::with(
                "/captures",
                &[("url", Some(url)), ("from", Some(month)), ("to", Some(month))],
            )
        }
    };
    let words = format!(
        "{} in {}",
        present::counted(count as u64, "capture", "captures"),
        newest.month_and_year()
    );
    html! {
        a class=(format!("many-{}", level(count))) href=(address) title=(words) aria-current=[is_shown.then_some("date")] {
            span.wide[count > SHORT_MAX] aria-hidden="true" { (short(count)) } span.hidden { (words) }
        }
    }
}

/// How dark a month is: 1 to 3.
fn level(count: usize) -> u8 {
    match count {
        0..=1 => 1,
        2..=4 => 2,
        _ => 3,
    }
}

/// The largest number of captures shown as a number, because a month is two digits wide on a phone.
const SHORT_MAX: usize = 99;

fn short(count: usize) -> String {
    if count > SHORT_MAX {
        "99+".to_owned()
    } else {
        count.to_string()
    }
}

fn years(captures: &[CdxRow]) -> BTreeMap<u32, [Month; 12]> {
    let mut years: BTreeMap<u32, [Month; 12]> = BTreeMap::new();
    for moment in captures.iter().filter_map(|row| Moment::parse(&row.fetch_time)) {
        let months = years.entry(moment.year).or_default();
        months[moment.month as usize - 1].push(moment);
    }
    if let (Some((&first, _)), Some((&last, _))) = (years.first_key_value(), years.last_key_value())
        && last - first < YEARS_MAX
    {
        // Both ends have captures already.
        for year in first..last {
            years.entry(year).or_default();
        }
    }
    for month in years.values_mut().flatten() {
        month.sort_by_key(|moment| std::cmp::Reverse(moment.seconds()));
    }
    years
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip_of(times: &[&str], shown: Option<&str>) -> String {
        let row = |time: &&str| CdxRow {
            fetch_time: (*time).to_owned(),
            ..CdxRow::default()
        };
        strip("http://a/", &times.iter().map(row).collect::<Vec<_>>(), shown).into_string()
    }

    #[test]
    fn months_lead_to_their_captures_and_years_stand_newest_first() {
        let html = strip_of(
            &["20140126200624", "20120305000000", "20120301000000", "soon"],
            Some("20140126200624"),
        );
        assert!(
            html.contains("/page?url=http%3A%2F%2Fa%2F&amp;at=20140126200624"),
            "{html}"
        );
        assert!(
            html.contains("/captures?url=http%3A%2F%2Fa%2F&amp;from=201203&amp;to=201203"),
            "{html}"
        );
        assert!(html.contains("2 captures in March 2012"), "{html}");
        assert_eq!(html.matches("aria-current=\"date\"").count(), 1, "{html}");
        let rows: Vec<usize> = ["2014", "2013", "2012"]
            .map(|year| html.find(&format!("<th scope=\"row\">{year}")).expect("a year"))
            .to_vec();
        assert!(rows.is_sorted(), "{html}");
    }

    #[test]
    fn one_capture_needs_no_strip_and_wrong_centuries_no_rows_between() {
        assert_eq!(strip_of(&["20140126"], None), "");
        let html = strip_of(&["00010101", "20140126", "99990101"], None);
        assert_eq!(html.matches("scope=\"row\"").count(), 3, "{html}");
    }
}
