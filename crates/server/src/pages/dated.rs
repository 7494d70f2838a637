//! One URL at a date (`/page?url=...&at=...`), or one of its captures (`&capture=...`). Shows the
//! capture and its neighbours in time.
//!
//! Links, and differences between versions, are shown with the newest version.

use archive::question::{CdxRow, PageBody};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::archived_frame::ArchivedFrame;
use super::{calendar, parts};
use crate::failure::Failure;
use crate::link::At;
use crate::present;
use crate::state::State;
use crate::{link, record, sandbox};
use format::date::DateTime;

/// Maximum number of captures that come with a page. There may be older ones.
const LISTED_MAX: usize = 1000;

/// A capture of a page.
pub(super) struct Dated {
    pub(super) capture: CdxRow,
    /// The capture's own title, empty if it has none. `None` if it is not known.
    pub(super) title: Option<String>,
}

impl Dated {
    /// Returns the page's heading: the capture's own title if it is known, otherwise the title of
    /// the newest version.
    pub(super) fn heading<'d>(&'d self, page: &'d PageBody) -> &'d str {
        let title = self.title.as_deref().unwrap_or(&page.title);
        match title.trim() {
            "" => &self.capture.url,
            _ => title,
        }
    }
}

/// Finds the named capture, or else the one nearest to a time.
pub(super) async fn find(
    state: &State,
    page: &PageBody,
    at: Option<&str>,
    name: Option<String>,
) -> Result<Dated, Failure> {
    let at = at.map(str::to_owned);
    let (_, record) = record::locate(&state.archive, page.url.clone(), at, name).await?;
    let capture = record.capture.clone();
    let title = match &page.current {
        // The title of the newest version is in the index. The title of any other must be read from
        // its record.
        Some(current) if current.name() == capture.name() => Some(page.title.clone()),
        _ => sandbox::title(state, record).await,
    };
    Ok(Dated { capture, title })
}

/// Returns whether the page may have captures that are not listed with it.
pub(super) fn is_part(page: &PageBody) -> bool {
    page.captures.len() >= LISTED_MAX
}

/// Returns how addresses name a capture of the page.
pub(super) fn at(page: &PageBody, capture: &CdxRow) -> At {
    match place(page, capture) {
        Some(index) => At::among(&page.captures, index, is_part(page)),
        None => At::exactly(capture),
    }
}

fn place(page: &PageBody, capture: &CdxRow) -> Option<usize> {
    let is_it = |row: &CdxRow| (row.offset, &row.filename) == (capture.offset, &capture.filename);
    // Offset and input name identify a capture; times do not, because a URL may be captured twice
    // in a millisecond.
    page.captures.iter().position(is_it)
}

/// Completes a time: a year or a month means its beginning.
fn padded(at: &str) -> Option<DateTime> {
    // A time may be cut anywhere: both `2014` and `20140` are completed from here. A result that is
    // no date is shown as typed.
    let defaults = "00000101000000";
    let at = format!("{at}{}", defaults.get(at.len()..).unwrap_or(""));
    DateTime::of_text(&at)
}

/// Returns the page's content for one capture. `asked` is the time in the address.
pub(super) fn content(
    page: &PageBody,
    dated: &Dated,
    asked: Option<&str>,
    view: ArchivedView,
    frame: &ArchivedFrame,
    embed: &Markup,
) -> Markup {
    let capture = &dated.capture;
    // If a year was requested, any capture in it matches.
    let missed = asked.filter(|asked| !digits(&capture.fetch_time).starts_with(asked));
    html! {
        article.page {
            (head(page, dated))
            @if let Some(asked) = missed {
                p.callout { "Requested: " (parts::time(&asked_time(asked))) "; this is the nearest capture." }
            }
            (neighbours(page, capture))
            section.archived aria-labelledby="archived" {
                h2.hidden #archived { "Archived page" }
                (archived(page, capture, view, frame))
            }
            (embed)
            section aria-labelledby="captures" {
                h2 #captures { "Captures" span.amount { (present::count(page.captures.len() as u64)) } }
                (calendar::strip(&page.url, &page.captures, Some(&capture.fetch_time)))
                p { (of_month(page, capture)) a.more href=(link::with("/captures", &[("url", Some(&page.url))])) { "All captures" } }
            }
            p.soft {
                "For links and for changes between versions, see "
                a href=(link::page(&page.url)) { "the newest version" } "."
            }
        }
    }
}

/// Returns a link to the captures of the same month, if there are others.
fn of_month(page: &PageBody, capture: &CdxRow) -> Markup {
    let month = capture.timestamp.get(..6);
    let is_of_month = |row: &&CdxRow| row.timestamp.get(..6) == month;
    let count = page.captures.iter().filter(is_of_month).count();
    let named = DateTime::of_text(&capture.fetch_time).filter(|_| count > 1);
    // Both bounds are the same month: `to` covers all times with that prefix.
    let address = link::with(
        "/captures",
        &[("url", Some(&page.url)), ("from", month), ("to", month)],
    );
    html! {
        @if let Some(moment) = named {
            a.more href=(address) { (present::count(count as u64)) " captures in " (moment.month_and_year()) } " "
        }
    }
}

/// Returns the time as digits, such as `20140126200624000`.
fn digits(fetch_time: &str) -> String {
    fetch_time.chars().filter(char::is_ascii_digit).collect()
}

fn asked_time(asked: &str) -> String {
    padded(asked).map_or_else(|| asked.to_owned(), DateTime::iso)
}

fn head(page: &PageBody, dated: &Dated) -> Markup {
    let Dated { capture, title } = dated;
    let mut facts = vec![
        html! { a href=(link::domain(&page.domain)) { (parts::url_text(&page.domain)) } },
        html! { "Captured " (parts::time(&capture.fetch_time)) },
        parts::status(capture.status, capture.kind),
        parts::media(&capture.mime),
        html! { (present::size(capture.length)) },
    ];
    if !capture.collection.is_empty() {
        facts.push(html! { span title="Collection" { (parts::text(&capture.collection)) } });
    }
    html! {
        header.page-head {
            h1 dir="auto" { (parts::directing_text(dated.heading(page))) }
            @if title.is_none() && !page.title.trim().is_empty() { p.soft { "This is the title of the newest version." } }
            p.where { (parts::url_text(&capture.url)) " " (parts::outside_link(&capture.url)) }
            (parts::facts(&facts))
        }
    }
}

/// Returns links to the captures before and after `capture`, if it is among those listed.
pub(super) fn neighbours(page: &PageBody, capture: &CdxRow) -> Markup {
    let of = |row: &CdxRow| link::page_at(&page.url, &at(page, row));
    let place = place(page, capture);
    // The list has the newest capture first.
    let earlier = place.and_then(|place| page.captures.get(place + 1));
    let later = place.and_then(|place| page.captures.get(place.checked_sub(1)?));
    html! {
        @if earlier.is_some() || later.is_some() {
            nav.neighbours aria-label="Earlier and later captures" {
                @if let Some(row) = earlier { a rel="prev" href=(of(row)) { "\u{2190} Earlier" span.soft { " " (parts::time(&row.fetch_time)) } } }
                @if let Some(row) = later { a rel="next" href=(of(row)) { "Later" span.soft { " " (parts::time(&row.fetch_time)) } " \u{2192}" } }
            }
        }
    }
}

fn archived(page: &PageBody, capture: &CdxRow, view: ArchivedView, frame: &ArchivedFrame) -> Markup {
    let at = at(page, capture);
    let view = frame.view(view);
    let open = view.capture(capture, &at);
    let at = Some(&at);
    let shown = sandbox::worth_showing(capture.status, &capture.mime, capture.kind);
    html! {
        p.actions {
            @if let Some(open) = open { (open.button()) }
            @if shown && view == ArchivedView::Replay {
                a.button.quiet href=(link::sandbox(&capture.url, at)) rel="noopener" target="_blank" { "Open in the sandbox" }
            }
            a.button.quiet href=(link::record(&capture.url, at)) download { "Download the record" }
        }
        (frame.notice())
        @if shown {
            (frame.show(&capture.url, at))
            (frame.note(page))
        } @else if (300..400).contains(&capture.status) {
            p.callout { "This capture is a redirect to another URL." }
        } @else {
            p.callout { "This content cannot be shown here; download the record instead." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(times: &[&str]) -> PageBody {
        let row = |(offset, time): (u64, &&str)| CdxRow {
            fetch_time: (*time).to_owned(),
            timestamp: (*time).to_owned(),
            filename: "x.warc".into(),
            offset,
            ..CdxRow::default()
        };
        PageBody {
            url: "http://a/".into(),
            captures: (0..).zip(times).map(row).collect(),
            ..PageBody::default()
        }
    }

    #[test]
    fn a_capture_has_its_neighbours() {
        let page = page(&["20140601000000", "20140126200624", "20100101000000"]);
        let html = |index: usize| neighbours(&page, &page.captures[index]).into_string();
        assert!(
            html(1).contains("at=20100101000000\"") && html(1).contains("at=20140601000000\""),
            "{}",
            html(1)
        );
        assert!(!html(0).contains("rel=\"next\"") && !html(2).contains("rel=\"prev\""));
        assert_eq!(neighbours(&page, &CdxRow::default()).into_string(), "");
    }

    #[test]
    fn other_captures_of_the_month_are_a_click_away() {
        let page = page(&["20140126200624", "20140101000000", "20100101000000"]);
        let html = |index: usize| of_month(&page, &page.captures[index]).into_string();
        assert!(
            html(0).contains("&amp;from=201401&amp;to=201401\">2 captures in January 2014</a>"),
            "{}",
            html(0)
        );
        assert_eq!(html(2), "");
    }

    #[test]
    fn captures_of_one_second_are_told_apart() {
        let page = page(&["20140126200624", "20140126200624", "20100101000000"]);
        let html = neighbours(&page, &page.captures[1]).into_string();
        assert!(
            html.contains("at=20140126200624&amp;capture=0%2Cx.warc") && html.contains("at=20100101000000\""),
            "{html}"
        );
    }

    #[test]
    fn a_capture_that_is_not_listed_is_named_exactly() {
        let page = page(&["20140126200624"]);
        let other = CdxRow {
            timestamp: "19990101000000".into(),
            filename: "y.warc".into(),
            ..CdxRow::default()
        };
        assert_eq!(at(&page, &other), At::exactly(&other));
        assert_eq!(at(&page, &page.captures[0]), At::time("20140126200624"));
    }
}
