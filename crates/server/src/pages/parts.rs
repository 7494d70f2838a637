//! Pieces that pages share. Archived text enters pages through these: cleaned, isolated in its direction,
//! and never as markup or as an address that is not http.

use archive::question::{CaptureKind, CdxRow};
use maud::{Markup, html};

use crate::link::At;
use crate::{link, present, sandbox};

/// Most characters of a URL or an anchor that are shown; the rest is in the address or the download.
const SHOWN_MAX: usize = 300;

/// URLs of more bytes than this may be broken into lines.
const URL_BREAKS_MIN: usize = 30;

/// Archived text in its own direction.
pub(super) fn text(text: &str) -> Markup {
    let (shown, cut) = present::cut(text, SHOWN_MAX);
    html! { bdi { (present::clean(shown)) @if cut { "\u{2026}" } } }
}

/// A URL as text.
pub(super) fn url_text(url: &str) -> Markup {
    let (shown, cut) = match url.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => (&url[..end], true),
        None => (url, false),
    };
    let shown = present::clean(shown);
    let breaks = shown.len() > URL_BREAKS_MIN;
    html! {
        bdi.url dir="ltr" {
            // Where a line ends it ends behind a separator, not inside a name.
            @for part in shown.split_inclusive(['/', '?', '&', '=']) { (part) @if breaks && part != "/" && !part.ends_with(":/") { wbr; } }
            @if cut { "\u{2026}" }
        }
    }
}

/// Text in an element that takes its direction from it (`dir=auto`), which passes over what is isolated in it.
pub(super) fn directing_text(text: &str) -> Markup {
    let (shown, cut) = present::cut(text, SHOWN_MAX);
    html! { (present::clean(shown)) @if cut { "\u{2026}" } }
}

/// A URL, leading to what the archive knows of it.
pub(super) fn url_link(url: &str) -> Markup {
    page_link(url, "")
}

/// A page by its title where it has one, else by its URL.
pub(super) fn page_link(url: &str, title: &str) -> Markup {
    let shown = html! { @if title.trim().is_empty() { (url_text(url)) } @else { (text(title)) } };
    html! {
        @match link::if_short(link::page(url)) {
            Some(address) => a href=(address) { (shown) },
            None => { (shown) " " span.soft { "(an address too long for a link)" } },
        }
    }
}

/// A link to the live web, where the URL is of the web.
pub(super) fn outside_link(url: &str) -> Markup {
    html! {
        @if let Some(address) = link::outside(url) {
            a.outside href=(address) rel="external nofollow noopener noreferrer" {
                "Live site" span.hidden { " (leaves the archive)" }
            }
        }
    }
}

/// A time for people and machines; what is no time is shown as it is.
pub(super) fn time(text: &str) -> Markup {
    match present::Moment::parse(text) {
        Some(moment) => html! {
            time datetime=(moment.machine()) title=(moment.machine()) { (moment.date_and_time()) }
        },
        None => html! { (present::clean(text)) },
    }
}

/// As [`time`], the day only.
pub(super) fn date(text: &str) -> Markup {
    match present::Moment::parse(text) {
        Some(moment) => html! { time datetime=(moment.machine()) { (moment.date()) } },
        None => html! { (present::clean(text)) },
    }
}

/// Named figures: `(name, value)`.
pub(super) fn figures(figures: &[(&str, Markup)]) -> Markup {
    html! {
        dl.figures {
            @for (name, value) in figures {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// A line of small facts with dots between.
pub(super) fn facts(facts: &[Markup]) -> Markup {
    html! { ul.facts { @for fact in facts { li { (fact) } } } }
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column(pub(super) &'static str, pub(super) Align);

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Text,
    Number,
}

impl Align {
    fn class(self) -> Option<&'static str> {
        (self == Align::Number).then_some("number")
    }
}

/// A table that becomes a list of cards on narrow screens. The roles say what styles would take away.
pub(super) fn table(caption: &str, columns: &[Column], rows: Vec<Vec<Markup>>) -> Markup {
    html! {
        table.cards role="table" {
            caption.hidden { (caption) }
            thead role="rowgroup" {
                tr role="row" {
                    @for Column(name, align) in columns {
                        th class=[align.class()] scope="col" role="columnheader" { (name) }
                    }
                }
            }
            tbody role="rowgroup" {
                @for row in rows {
                    tr role="row" {
                        @for (Column(name, align), cell) in columns.iter().zip(row) {
                            td class=[align.class()] role="cell" data-name=(name) { div { (cell) } }
                        }
                    }
                }
            }
        }
    }
}

/// Back to the first rows, and on to the next. `next` is an address.
pub(super) fn pager(first: Option<String>, next: Option<String>) -> Markup {
    html! {
        @if first.is_some() || next.is_some() {
            nav.pager aria-label="Pages" {
                @if let Some(first) = first { a.button.quiet href=(first) { "\u{2190} First" } }
                @if let Some(next) = next { a.button rel="next" href=(next) { "Next \u{2192}" } }
            }
        }
    }
}

/// Archived content in a frame that can do nothing by itself: only a reader's click on a link leaves it.
pub(super) fn frame(url: &str, at: Option<&At>) -> Markup {
    html! {
        iframe sandbox="allow-top-navigation-by-user-activation" loading="lazy" referrerpolicy="no-referrer" title="Archived page, in a sandbox"
            src=(link::sandbox(url, at)) {}
    }
}

/// What is said where there is nothing to show.
pub(super) fn nothing(heading: &str, content: Markup) -> Markup {
    html! { section.nothing { h2 { (heading) } (content) } }
}

/// The same where it is all that a page says.
pub(super) fn only(heading: &str, content: Markup) -> Markup {
    html! { section.nothing { h1 { (heading) } (content) } }
}

/// What to do with an archive that holds nothing yet.
pub(super) fn nothing_loaded() -> Markup {
    nothing(
        "This archive is empty",
        html! {
            p { "Load web-archive files into it, and this page fills while they are read:" }
            pre.command { code { "weft load crawl.warc.gz" } }
            p { "WARC, ARC, WAT and WET are read, compressed or not; folders and lists of paths as well. "
                "Have nothing at hand? " code { "weft demo" } " makes an archive to try." }
            p { a href="/loads" { "See what is being loaded" } }
        },
    )
}

/// A content type, or in words what stands for one.
pub(super) fn media(mime: &str) -> Markup {
    match mime {
        "unk" | "" => html! { span.soft { "no type declared" } },
        "warc/revisit" => html! { span.soft title="Says that the content was as before" { "revisit" } },
        mime => text(mime),
    }
}

/// Status code as a badge whose meaning does not rest on colour alone.
pub(super) fn status(status: u16, kind: CaptureKind) -> Markup {
    let (class, word) = match (status, kind) {
        (_, CaptureKind::Revisit) => ("plain", "unchanged"),
        (0, _) => ("plain", "no status"),
        (204, _) => ("good", "no content"),
        (206, _) => ("good", "part"),
        (200..=299, _) => ("good", "OK"),
        (301 | 308, _) => ("plain", "moved"),
        (300..=399, _) => ("plain", "redirect"),
        (401 | 403, _) => ("bad", "forbidden"),
        (404, _) => ("bad", "not found"),
        (410, _) => ("bad", "gone"),
        (400..=499, _) => ("bad", "refused"),
        _ => ("bad", "server error"),
    };
    html! {
        span class=(format!("badge {class}")) {
            @if status != 0 { (status) " " }
            (word)
        }
    }
}

/// Captures as a table, newest first as they come.
///
/// They are the first of `listed`, which is only `part` of all where more may stand before or behind.
pub(super) fn captures(listed: &[CdxRow], shown: usize, part: bool, with_url: bool) -> Markup {
    const COLUMNS: [Column; 6] = [
        Column("Captured (UTC)", Align::Text),
        Column("URL", Align::Text),
        Column("Status", Align::Text),
        Column("Type", Align::Text),
        Column("Size", Align::Number),
        Column("Record", Align::Text),
    ];
    let columns: Vec<Column> = COLUMNS.into_iter().filter(|c| with_url || c.0 != "URL").collect();
    let rows = listed.iter().take(shown).enumerate().map(|(index, row)| {
        let at = At::among(listed, index, part);
        let mut cells = vec![html! {
            @match link::if_short(link::page_at(&row.url, &at)) {
                Some(page) => a href=(page) { (time(&row.fetch_time)) },
                None => (time(&row.fetch_time)),
            }
        }];
        if with_url {
            cells.push(url_link(&row.url));
        }
        cells.extend([
            status(row.status, row.kind),
            media(&row.mime),
            html! { (present::size(row.length)) },
            record_links(row, &at),
        ]);
        cells
    });
    table("Captures", &columns, rows.collect())
}

/// What can be had of a capture: its content where a browser can show it, and its record.
fn record_links(row: &CdxRow, at: &At) -> Markup {
    let at = Some(at);
    let of = format!(" of {}", present::clean(&row.timestamp));
    // The address of the content is the longer one.
    let Some(content) = link::if_short(link::sandbox(&row.url, at)) else {
        return html! { span.soft { "address too long" } };
    };
    html! {
        @if sandbox::worth_showing(row.status, &row.mime, row.kind) {
            a href=(content) target="_blank" rel="noopener" { "Show" span.hidden { " the content" (of) } }
            " \u{b7} "
        }
        a href=(link::record(&row.url, at)) download { "Download" span.hidden { " the record" (of) } }
    }
}
