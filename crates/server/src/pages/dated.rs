//! One URL as it was at a date (`/page?url=...&at=...`): the capture nearest to it, and its neighbours in time.
//!
//! Text and links are kept of the newest version alone, so they are not shown here.

use archive::question::{CdxRow, PageBody};
use maud::{Markup, html};

use super::{calendar, parts};
use crate::present::{self, Moment};
use crate::{link, sandbox};

/// The capture nearest to a time; of two that are as near, the later one. `captures` are newest first.
pub(super) fn nearest<'p>(captures: &'p [CdxRow], at: &str) -> Option<(usize, &'p CdxRow)> {
    let wanted = padded(at)?.seconds();
    let distance =
        |row: &CdxRow| Moment::parse(&row.fetch_time).map(|moment| moment.seconds().abs_diff(wanted));
    let dated = captures
        .iter()
        .enumerate()
        .filter(|(_, row)| distance(row).is_some());
    dated.min_by_key(|(_, row)| distance(row))
}

/// A year or a month stands for its beginning.
fn padded(at: &str) -> Option<Moment> {
    let defaults = "00000101000000";
    let at = format!("{at}{}", defaults.get(at.len()..).unwrap_or(""));
    Moment::parse(&at)
}

/// The page's content, for the capture at `index` of its captures.
pub(super) fn content(page: &PageBody, index: usize, capture: &CdxRow, asked: &str) -> Markup {
    html! {
        article.page {
            (head(page, capture))
            @if !capture.timestamp.starts_with(asked) {
                p.callout { "Asked for " (parts::time(&asked_time(asked))) "; this capture is the nearest." }
            }
            (neighbours(page, index))
            section.archived aria-labelledby="archived" {
                h2.hidden #archived { "Archived page" }
                (archived(capture))
            }
            section aria-labelledby="captures" {
                h2 #captures { "Captures" span.amount { (present::count(page.captures.len() as u64)) } }
                (calendar::strip(&page.url, &page.captures, Some(&capture.fetch_time)))
                p { a.more href=(link::with("/captures", &[("url", Some(&page.url))])) { "All captures" } }
            }
            p.soft {
                "Text and links are kept of the newest version alone: "
                a href=(link::page(&page.url)) { "the newest version" } "."
            }
        }
    }
}

fn asked_time(asked: &str) -> String {
    padded(asked).map_or_else(|| asked.to_owned(), Moment::machine)
}

fn head(page: &PageBody, capture: &CdxRow) -> Markup {
    let mut facts = vec![
        html! { a href=(link::domain(&page.domain)) { (parts::url_text(&page.domain)) } },
        html! { "Captured " (parts::time(&capture.fetch_time)) },
        parts::status(capture.status, &capture.kind),
        parts::media(&capture.mime),
        html! { (present::size(capture.length)) },
    ];
    if !capture.collection.is_empty() {
        facts.push(html! { span title="Collection" { (parts::text(&capture.collection)) } });
    }
    html! {
        header.page-head {
            h1 dir="auto" { @if page.title.trim().is_empty() { (parts::url_text(&capture.url)) } @else { (parts::text(&page.title)) } }
            p.where { (parts::url_text(&capture.url)) " " (parts::outside_link(&capture.url)) }
            (parts::facts(&facts))
        }
    }
}

/// Links to the captures before and after the one at `index` (newest first), and to the newest version.
pub(super) fn neighbours(page: &PageBody, index: usize) -> Markup {
    let of = |row: &CdxRow| link::with("/page", &[("url", Some(&page.url)), ("at", Some(&row.timestamp))]);
    let earlier = page.captures.get(index + 1);
    let later = index.checked_sub(1).and_then(|index| page.captures.get(index));
    html! {
        @if earlier.is_some() || later.is_some() {
            nav.neighbours aria-label="Captures in time" {
                @if let Some(row) = earlier { a rel="prev" href=(of(row)) { "\u{2190} Earlier" span.soft { " " (parts::time(&row.fetch_time)) } } }
                @if let Some(row) = later { a rel="next" href=(of(row)) { "Later" span.soft { " " (parts::time(&row.fetch_time)) } " \u{2192}" } }
            }
        }
    }
}

fn archived(capture: &CdxRow) -> Markup {
    let at = Some(capture.timestamp.as_str());
    let shown = sandbox::worth_showing(capture.status, &capture.mime, &capture.kind);
    html! {
        @if shown {
            (parts::frame(&capture.url, at))
        } @else if (300..400).contains(&capture.status) {
            p.callout { "This address led on to another then." }
        } @else {
            p.callout { "This content cannot be shown here; the record can be downloaded." }
        }
        p.actions {
            @if shown {
                a.button.quiet href=(link::sandbox(&capture.url, at)) rel="noopener" target="_blank" { "Open it alone" }
            }
            a.button.quiet href=(link::record(&capture.url, at)) download { "Download the record" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captures(times: &[&str]) -> Vec<CdxRow> {
        let row = |time: &&str| CdxRow {
            fetch_time: (*time).to_owned(),
            timestamp: (*time).to_owned(),
            ..CdxRow::default()
        };
        times.iter().map(row).collect()
    }

    #[test]
    fn the_nearest_capture_is_shown_with_its_neighbours() {
        let rows = captures(&["20140601000000", "20140126200624", "20100101000000"]);
        for (at, index) in [
            ("20140126200624", 1),
            ("2014", 1),
            ("201405", 0),
            ("1999", 2),
            ("20991231", 0),
        ] {
            assert_eq!(nearest(&rows, at).map(|(index, _)| index), Some(index), "{at}");
        }
        assert!(nearest(&[], "2014").is_none());
        assert!(nearest(&rows, "20149999").is_none());
        let page = PageBody {
            url: "http://a/".into(),
            captures: rows,
            ..PageBody::default()
        };
        let html = neighbours(&page, 1).into_string();
        assert!(
            html.contains("at=20100101000000") && html.contains("at=20140601000000"),
            "{html}"
        );
        assert!(!neighbours(&page, 0).into_string().contains("Later"));
    }
}
