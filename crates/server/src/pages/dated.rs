//! One URL as it was at a date (`/page?url=...&at=...`): the capture nearest to it, and its neighbours in time.
//!
//! Text and links are kept of the newest version alone, so they are not shown here.

use archive::question::{Body, CdxRow, PageBody, Question};
use maud::{Markup, html};

use super::{beside, calendar, parts};
use crate::present::{self, Moment};
use crate::state::State;
use crate::{link, sandbox};

/// Captures that come with a page; there can be more, older ones.
const LISTED_MAX: usize = 1000;

/// The capture of a page that is nearest to a time. None where that is no time.
pub(super) async fn nearest(state: &State, page: &PageBody, at: &str) -> Option<CdxRow> {
    let listed = nearest_of(&page.captures, at)?;
    let is_oldest = page
        .captures
        .last()
        .is_some_and(|oldest| oldest.timestamp == listed.timestamp);
    if page.captures.len() < LISTED_MAX || !is_oldest {
        return Some(listed.clone());
    }
    let question = Question::Record {
        url: page.url.clone(),
        at: Some(at.to_owned()),
    };
    let answers = state.asker.ask_together([question]).await.ok();
    let record = answers.and_then(|[answer]| {
        beside(answer, |body| match body {
            Body::Record(record) => Some(record.capture),
            _ => None,
        })
    });
    Some(record.unwrap_or_else(|| listed.clone()))
}

/// Of two captures that are as near, the later one. `captures` are newest first.
fn nearest_of<'p>(captures: &'p [CdxRow], at: &str) -> Option<&'p CdxRow> {
    let wanted = padded(at)?.seconds();
    let distance =
        |row: &CdxRow| Moment::parse(&row.fetch_time).map(|moment| moment.seconds().abs_diff(wanted));
    let dated = captures.iter().filter(|row| distance(row).is_some());
    dated.min_by_key(|row| distance(row))
}

/// A year or a month stands for its beginning.
fn padded(at: &str) -> Option<Moment> {
    let defaults = "00000101000000";
    let at = format!("{at}{}", defaults.get(at.len()..).unwrap_or(""));
    Moment::parse(&at)
}

/// The page's content, for one capture; `asked` is the time in the address.
pub(super) fn content(page: &PageBody, capture: &CdxRow, asked: &str) -> Markup {
    html! {
        article.page {
            (head(page, capture))
            @if !capture.timestamp.starts_with(asked) {
                p.callout { "Asked for " (parts::time(&asked_time(asked))) "; this capture is the nearest." }
            }
            (neighbours(page, &capture.timestamp))
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

/// Links to the captures before and after the one of `timestamp`, where it is among those listed.
pub(super) fn neighbours(page: &PageBody, timestamp: &str) -> Markup {
    let of = |row: &CdxRow| link::page_at(&page.url, &row.timestamp);
    // An address names a capture by its second: others of the same one would lead back here.
    let is_listed = page.captures.iter().any(|row| row.timestamp == timestamp);
    let listed = if is_listed { page.captures.as_slice() } else { &[] };
    let earlier = listed.iter().find(|row| row.timestamp.as_str() < timestamp);
    let later = listed.iter().rfind(|row| row.timestamp.as_str() > timestamp);
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
            let found = nearest_of(&rows, at).map(|row| &row.timestamp);
            assert_eq!(found, Some(&rows[index].timestamp), "{at}");
        }
        assert!(nearest_of(&[], "2014").is_none());
        assert!(nearest_of(&rows, "20149999").is_none());
        let page = PageBody {
            url: "http://a/".into(),
            captures: rows,
            ..PageBody::default()
        };
        let html = neighbours(&page, "20140126200624").into_string();
        assert!(
            html.contains("at=20100101000000") && html.contains("at=20140601000000"),
            "{html}"
        );
        assert!(
            !neighbours(&page, "20140601000000")
                .into_string()
                .contains("Later")
        );
    }

    #[test]
    fn captures_of_one_second_lead_on_all_the_same() {
        let page = PageBody {
            url: "http://a/".into(),
            captures: captures(&["20140126200624", "20140126200624", "20100101000000"]),
            ..PageBody::default()
        };
        let html = neighbours(&page, "20140126200624").into_string();
        assert!(
            html.contains("at=20100101000000") && !html.contains("at=20140126200624"),
            "{html}"
        );
    }
}
