//! Parts shared by several pages. Archived text enters pages through these functions. They clean it
//! and isolate its direction. It never becomes markup, or an address that is not http.

use archive::question::{CaptureKind, CdxRow};
use maud::{Markup, html};

use super::archived::ArchivedView;
use crate::link::At;
use crate::{link, present};

/// Maximum number of characters of a URL or an anchor that are shown. The rest is in the address or
/// the download.
const SHOWN_MAX: usize = 300;

/// Maximum length of a URL that is kept on one line, in bytes.
const URL_BREAKS_MIN: usize = 30;

/// Shows archived text, isolated in its own direction.
pub(super) fn text(text: &str) -> Markup {
    let (shown, cut) = present::cut(text, SHOWN_MAX);
    html! { bdi { (present::clean(shown)) @if cut { "\u{2026}" } } }
}

/// Shows text written by users of this archive. If it is long, its beginning is shown, and the rest
/// after a click.
pub(super) fn long_text(text: &str) -> Markup {
    const BEGINNING: usize = 160;
    let (shown, cut) = present::cut(text, BEGINNING);
    html! {
        @if cut {
            details.long {
                summary { bdi { (present::clean(shown)) "\u{2026}" } }
                bdi { (present::clean(&text[shown.len()..])) }
            }
        } @else {
            bdi { (present::clean(shown)) }
        }
    }
}

/// Shows a URL as text.
pub(crate) fn url_text(url: &str) -> Markup {
    let (shown, cut) = match url.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => (&url[..end], true),
        None => (url, false),
    };
    let shown = present::clean(shown);
    let breaks = shown.len() > URL_BREAKS_MIN;
    html! {
        bdi.url dir="ltr" {
            // A line may end only after a separator, not inside a name.
            @for part in shown.split_inclusive(['/', '?', '&', '=']) { (part) @if breaks && part != "/" && !part.ends_with(":/") { wbr; } }
            @if cut { "\u{2026}" }
        }
    }
}

/// Shows text in an element that takes its direction from it. `dir=auto` ignores isolated text, so
/// this text is not isolated.
pub(super) fn directing_text(text: &str) -> Markup {
    let (shown, cut) = present::cut(text, SHOWN_MAX);
    html! { (present::clean(shown)) @if cut { "\u{2026}" } }
}

/// Returns a link from a URL to the archive's page about it.
pub(crate) fn url_link(url: &str) -> Markup {
    page_link(url, "")
}

/// Returns a link to a page with its title, or with its URL if it has no title.
pub(super) fn page_link(url: &str, title: &str) -> Markup {
    named_link(link::page(url), url, title)
}

/// Like [`page_link`], but to the page at a time.
pub(super) fn dated_link(url: &str, time: &str, title: &str) -> Markup {
    let address = match format::date::DateTime::of_text(time) {
        Some(moment) => link::page_at(url, &link::At::time(&moment.digits())),
        None => link::page(url),
    };
    named_link(address, url, title)
}

fn named_link(address: String, url: &str, title: &str) -> Markup {
    let shown = html! { @if title.trim().is_empty() { (url_text(url)) } @else { (text(title)) } };
    html! {
        @match link::if_short(address) {
            Some(address) => a href=(address) { (shown) },
            None => { (shown) " " span.soft { "(address too long for a link)" } },
        }
    }
}

/// Returns a link to the live web, if the URL is http or https.
pub(crate) fn outside_link(url: &str) -> Markup {
    html! {
        @if let Some(address) = link::outside(url) {
            a.outside href=(address) rel="external nofollow noopener noreferrer" {
                "Live site" span.hidden { " (leaves the archive)" }
            }
        }
    }
}

/// Shows a time for people and machines. Text that is not a time is shown unchanged.
pub(crate) fn time(text: &str) -> Markup {
    match format::date::DateTime::of_text(text) {
        Some(moment) => html! {
            time datetime=(moment.iso()) title=(moment.iso()) { (moment.date_and_time()) }
        },
        None => html! { (present::clean(text)) },
    }
}

/// Like [`time`], but only the day.
pub(super) fn date(text: &str) -> Markup {
    match format::date::DateTime::of_text(text) {
        Some(moment) => html! { time datetime=(moment.iso()) { (moment.date()) } },
        None => html! { (present::clean(text)) },
    }
}

/// Shows named figures: `(name, value)`.
pub(super) fn figures(figures: &[(&str, Markup)]) -> Markup {
    html! {
        dl.figures {
            @for (name, value) in figures {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Shows a line of short facts, separated by dots.
pub(crate) fn facts(facts: &[Markup]) -> Markup {
    html! { ul.facts { @for fact in facts { li { (fact) } } } }
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column(pub(super) &'static str, pub(super) Align);

/// Alignment of a column.
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

/// Shows a table that becomes a list of cards on narrow screens. The roles restore the semantics
/// that those styles remove for assistive software.
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

/// Returns links to the first rows and to the next ones. Both arguments are addresses.
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

/// Shows archived content in a frame that can do nothing by itself. Only a reader's click on a link
/// leaves the frame.
pub(super) fn frame(url: &str, at: Option<&At>) -> Markup {
    html! {
        iframe sandbox="allow-top-navigation-by-user-activation" loading="lazy" referrerpolicy="no-referrer" tabindex="0"
            title="Archived page, in a sandbox" src=(link::sandbox(url, at)) {}
    }
}

/// Shows a message in place of an empty list.
pub(super) fn nothing(heading: &str, content: Markup) -> Markup {
    html! { section.nothing { h2 { (heading) } (content) } }
}

/// Like [`nothing`], but as the only content of a page.
pub(crate) fn only(heading: &str, content: Markup) -> Markup {
    html! { section.nothing { h1 { (heading) } (content) } }
}

/// Explains how to fill an empty archive. Only administrators see the page of loads.
pub(super) fn nothing_loaded(is_admin: bool) -> Markup {
    nothing(
        "This archive is empty",
        html! {
            p { "Load web archive files to fill it:" }
            (load_command())
            p { "No files yet? " code { "weft demo" } " creates an archive to try." }
            @if is_admin { p { a href="/loads" { "Show running loads" } } }
        },
    )
}

/// Shows the command that loads files, and which files it takes.
pub(super) fn load_command() -> Markup {
    html! {
        pre.command { code { "weft load crawl.warc.gz crawl.wacz" } }
        p { "Inputs are WARC, ARC, WAT and WET files, compressed or not, WACZ packages and indexes (CDX, CDXJ). "
            "Name them by path, folder, list of paths, or address (https://, s3://)." }
    }
}

/// Shows a content type, or a phrase if none is declared or the record is a revisit.
pub(super) fn media(mime: &str) -> Markup {
    match mime {
        "unk" | "" => html! { span.soft { "no type declared" } },
        "warc/revisit" => html! { span.soft title="The content was the same as before" { "revisit" } },
        mime => text(mime),
    }
}

/// Shows a status code as a badge. Its meaning does not depend on colour alone.
pub(super) fn status(status: u16, kind: CaptureKind) -> Markup {
    let (class, word) = match (status, kind) {
        (_, CaptureKind::Revisit) => ("plain", "unchanged"),
        (0, _) => ("plain", "no status"),
        (204, _) => ("good", "no content"),
        (206, _) => ("good", "partial"),
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

/// Shows captures as a table, in the given order, newest first.
///
/// The first `shown` of `listed` are in the table. `part` says that there may be more captures
/// before or after `listed`.
pub(super) fn captures(
    listed: &[CdxRow],
    shown: usize,
    part: bool,
    with_url: bool,
    view: ArchivedView,
) -> Markup {
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
            record_links(row, &at, view),
        ]);
        cells
    });
    table("Captures", &columns, rows.collect())
}

/// Returns links to a capture's content, if a browser can show it, and to its record.
fn record_links(row: &CdxRow, at: &At, view: ArchivedView) -> Markup {
    if row.index_only {
        let file = format!(
            "Known only from an index; load {} to read it",
            present::clean(&row.filename)
        );
        return html! { span.soft title=(file) { "not loaded" } };
    }
    let of = format!(" of {}", present::clean(&row.timestamp));
    let Some(record) = link::if_short(link::record(&row.url, Some(at))) else {
        return html! { span.soft { "address too long" } };
    };
    html! {
        @if let Some(open) = view.capture(row, at) {
            (open.word(&row.timestamp, &row.url)) " \u{b7} "
        }
        a href=(record) download { "Download" span.hidden { " the record" (of) } }
    }
}
