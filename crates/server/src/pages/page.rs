//! Everything known about one URL: the archived page itself, then its versions, links, text and
//! captures. Or a capture of a given date.

use archive::ErrorCode;
use archive::question::{
    Answer, CaptureKind, LinkCountsBody, LinkRow, LinksBody, Outlinks, Page, PageBody, PastVersionRow,
};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::archived_frame::ArchivedFrame;
use super::html::{Context, Html, PageFailure, optional};
use super::linking::Linking;
use super::{attachments, calendar, dated, embed, hidden, linking, links, parts, text};
use crate::failure::Failure;
use crate::query::Query;
use crate::state::State;
use crate::{link, present, sandbox};
use ui::{Frame, Section};

/// Number of links of the page that are shown. A separate page has the rest.
const LINKS: usize = 12;
/// Number of captures shown. A separate page has the rest.
const CAPTURES: usize = 12;

/// The links to and from a page. A direction is absent if it could not be read.
struct PageLinks {
    inlinks: Option<Linking>,
    /// The links shown, and the number of all.
    outlinks: Option<(Vec<LinkRow>, u64)>,
}

impl PageLinks {
    fn of(page: &PageBody, inlinks: Option<LinkCountsBody>, outlinks: Option<LinksBody>) -> PageLinks {
        PageLinks {
            inlinks: inlinks.map(|counts| Linking {
                counts,
                total: page.inlinks,
            }),
            outlinks: outlinks.map(|links| (links.rows, links.total.unwrap_or(0))),
        }
    }
}

pub(super) async fn show(context: Context, asked: HeaderMap, query: Query) -> Result<Response, PageFailure> {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("no page given: parameter url is missing").into());
    };
    let at = query.moment("at")?;
    let of = url.clone();
    let asked_together = context.archive.ask_together(move |together| {
        let outlinks = Outlinks {
            url: of.clone(),
            after: None,
            limit: LINKS,
        };
        (
            together.ask(Page { url: of.clone() }),
            together.ask(linking::question(&of)),
            together.ask(outlinks),
        )
    });
    let (page, inlinks, outlinks) = asked_together.await?;
    let Answer { epoch, body: page } = match page {
        Err(error) if error.code == ErrorCode::NotFound => return Ok(unknown(&context, &url).into_response()),
        page => page?,
    };
    let name = query.owned("capture");
    // A URL without captures has nothing to show at any time.
    let dated = if page.captured && (at.is_some() || name.is_some()) {
        Some(dated::find(&context, &page, at.as_deref(), name).await?)
    } else {
        None
    };
    let title = match &dated {
        Some(dated) => dated.heading(&page),
        None if page.title.is_empty() => &page.url,
        None => &page.title,
    };
    let layout = Frame {
        title,
        section: Section::None,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let view = ArchivedView::of(&context);
    let capture = match &dated {
        Some(dated) => Some(&dated.capture),
        None => page.current.as_ref(),
    };
    let frame = ArchivedFrame::of(&context, &asked, capture).await?;
    let embed = capture.filter(|_| frame.is_replayed());
    let embed = embed.map_or_else(Markup::default, |capture| embed::part(&context, &asked, capture));
    let content = match &dated {
        Some(dated) => dated::content(&page, dated, at.as_deref(), view, &frame, &embed),
        None => {
            let links = PageLinks::of(&page, optional(inlinks), optional(outlinks));
            content(&context, &page, &links, &frame, &embed)
        }
    };
    Ok(frame.answer(Html::ok(layout.around(content))))
}

fn unknown(context: &State, url: &str) -> Html {
    let frame = Frame {
        title: "Not in the archive",
        section: Section::None,
        parts: context.parts(),
        viewer: context.viewer(),
        query: url,
        epoch: None,
    };
    let content = parts::only(
        &hidden::heading(context, "This URL is not in the archive"),
        html! {
            p { (parts::url_text(url)) }
            @if context.sees_everything() { p { "The archive has no capture of it, and no captured page links to it." } }
            (hidden::note(context, url))
            p {
                a.button href=(link::with("/captures", &[("url", Some(url)), ("match", Some("host"))])) { "Captures of this host" }
                " " a.button.quiet href=(link::search(url)) { "Search for it" }
            }
        },
    );
    Html {
        status: axum::http::StatusCode::NOT_FOUND,
        markup: frame.around(content),
    }
}

fn content(
    context: &State,
    page: &PageBody,
    links: &PageLinks,
    frame: &ArchivedFrame,
    embed: &Markup,
) -> Markup {
    let view = ArchivedView::of(context);
    html! {
        article.page {
            (head(page))
            @if page.captured {
                (archived(page, view, frame))
                (embed)
                div.with-aside.wide {
                    div.main-column {
                        (versions(page, view))
                        (inlink_list("In-links", &page.url, links, view))
                        (page_text(page))
                        (captures(page, view))
                        (attachments::section(page))
                    }
                    aside aria-label="Links on this page" { (outlink_list(page, links, view)) }
                }
            } @else {
                p.callout { (hidden::heading(context, "This URL was not captured")) ". It is known from links to it." }
                (hidden::note(context, &page.url))
                div.main-column { (inlink_list("Pages that link to it", &page.url, links, view)) }
            }
        }
    }
}

fn head(page: &PageBody) -> Markup {
    html! {
        header.page-head {
            h1 dir="auto" { @if page.title.trim().is_empty() { (parts::url_text(&page.url)) } @else { (parts::directing_text(&page.title)) } }
            p.where { (parts::url_text(&page.url)) " " (parts::outside_link(&page.url)) }
            (parts::facts(&head_facts(page)))
        }
    }
}

fn head_facts(page: &PageBody) -> Vec<Markup> {
    let mut facts = Vec::new();
    if !page.domain.is_empty() {
        facts.push(html! { a href=(link::domain(&page.domain)) { (parts::url_text(&page.domain)) } });
    }
    if let Some(time) = &page.fetch_time {
        facts.push(html! { "Captured " (parts::time(time)) });
    }
    if let Some(seen) = page
        .last_seen
        .as_ref()
        .filter(|seen| Some(*seen) != page.fetch_time.as_ref())
    {
        facts.push(html! { "last seen " (parts::time(seen)) });
    }
    if page.fetch_time.is_some() {
        // A revisit is never the current version.
        facts.push(parts::status(page.status, CaptureKind::Response));
        facts.push(parts::media(&page.mime));
    }
    if !page.language.is_empty() {
        facts.push(html! { "language " (parts::text(&page.language)) });
    }
    if let Some(robots) = &page.robots {
        facts.push(html! { "robots " (parts::text(robots)) });
    }
    if let Some(canonical) = page
        .canonical
        .as_ref()
        .filter(|canonical| **canonical != page.url)
    {
        facts.push(html! { a href=(link::page(canonical)) { "canonical URL" } });
    }
    facts
}

/// Shows the page itself: where it opens, when it was captured, and a small view of it.
fn archived(page: &PageBody, view: ArchivedView, frame: &ArchivedFrame) -> Markup {
    let current = page.current.as_ref();
    let at = current.map(|current| dated::at(page, current));
    let at = at.as_ref();
    let view = frame.view(view);
    let open = current
        .zip(at)
        .and_then(|(current, at)| view.capture(current, at));
    let kind = current.map_or(CaptureKind::Response, |current| current.kind);
    let shown = page.fetch_time.is_some() && sandbox::worth_showing(page.status, &page.mime, kind);
    html! {
        section.archived aria-labelledby="archived" {
            h2.hidden #archived { "Archived page" }
            @if page.fetch_time.is_some() {
                p.actions {
                    @if let Some(open) = open { (open.button()) }
                    @if shown && view == ArchivedView::Replay {
                        a.button.quiet href=(link::sandbox(&page.url, at)) rel="noopener" target="_blank" { "Open in the sandbox" }
                    }
                    a.button.quiet href=(link::record(&page.url, at)) download { "Download the record" }
                }
                (frame.notice())
            }
            @if let Some(current) = current { (dated::neighbours(page, current)) }
            (calendar::strip(&page.url, &page.captures, page.fetch_time.as_deref()))
            @if (300..400).contains(&page.status) {
                p { "This URL redirects to another one, which is listed under \u{201c}Links on this page\u{201d} unless it differs only in spelling." }
            }
            @if shown {
                div.small-frame { (frame.show(&page.url, at)) }
                (frame.note(page))
            }
        }
    }
}

fn page_text(page: &PageBody) -> Markup {
    let text = page.text_preview.trim();
    html! {
        @if !text.is_empty() {
            section aria-labelledby="text" {
                h2 #text { "Text" }
                details {
                    summary { "Show the text" }
                    (text::text(text, page.text_truncated))
                }
            }
        }
    }
}

fn captures(page: &PageBody, view: ArchivedView) -> Markup {
    let all = link::with("/captures", &[("url", Some(&page.url))]);
    html! {
        @if !page.captures.is_empty() {
            section aria-labelledby="captures" {
                h2 #captures { "Captures" span.amount { (present::count(page.captures.len() as u64)) } }
                (parts::captures(&page.captures, CAPTURES, dated::is_part(page), false, view))
                @if page.captures.len() > CAPTURES { p { a.more href=(all) { "All captures" } } }
            }
        }
    }
}

/// Returns the address of the changes between the version of a time and the one before it.
fn changes_since(url: &str, fetch_time: &str) -> String {
    let digits: String = fetch_time.chars().filter(char::is_ascii_digit).take(14).collect();
    link::with("/page/diff", &[("url", Some(url)), ("to", Some(&digits))])
}

/// Shows the versions of the page, if it has several: the current one, then past ones.
fn versions(page: &PageBody, view: ArchivedView) -> Markup {
    let past = &page.past_versions;
    html! {
        @if !past.is_empty() {
            section aria-labelledby="versions" {
                h2 #versions { "Versions" span.amount { (present::count(past.len() as u64 + 1)) } }
                ol.versions {
                    li { (current_version(page)) }
                    @for (place, version) in past.iter().take(CAPTURES).enumerate() {
                        li { (past_version(page, version, place + 1 < past.len(), view)) }
                    }
                }
                @if past.len() > CAPTURES {
                    p.soft { "The newest " (CAPTURES + 1) "; search with " code { "from:" } " to find the others by their words." }
                }
            }
        }
    }
}

fn current_version(page: &PageBody) -> Markup {
    html! {
        @if page.title.trim().is_empty() { (parts::url_text(&page.url)) } @else { (parts::text(&page.title)) }
        p.soft {
            @if let Some(since) = &page.since { "since " (parts::date(since)) ", " }
            "newest version"
            @if page.is_page || page.is_document {
                " \u{b7} " a href=(link::with("/page/diff", &[("url", Some(&page.url))])) { "latest changes" }
            }
        }
    }
}

fn past_version(page: &PageBody, version: &PastVersionRow, has_earlier: bool, view: ArchivedView) -> Markup {
    let open = view.page(&page.url, Some(&version.fetch_time), &version.mime);
    html! {
        (parts::dated_link(&page.url, &version.fetch_time, &version.title)) " "
        @if let Some(open) = open { (open.word(&version.title, &page.url)) }
        p.soft {
            (parts::date(&version.since)) " to " (parts::date(&version.until))
            @if has_earlier { " \u{b7} " a href=(changes_since(&page.url, &version.fetch_time)) { "changes" } }
        }
    }
}

fn inlink_list(heading: &str, url: &str, links: &PageLinks, view: ArchivedView) -> Markup {
    let total = links.inlinks.as_ref().map_or(0, |linking| linking.total);
    let linking = links.inlinks.as_ref();
    let linking = linking.filter(|linking| !linking.counts.rows.is_empty());
    html! {
        section aria-labelledby="inlinks" {
            h2 #inlinks { (heading) span.amount { (present::count(total)) } }
            @if linking.is_none() { p.soft { "No current version of a page links here." } }
            @if let Some(linking) = linking {
                (linking::list(url, linking, view))
                p { a.more href=(link::with("/page/inlinks", &[("url", Some(url))])) { "All in-links" } }
            }
        }
    }
}

fn outlink_list(page: &PageBody, links: &PageLinks, view: ArchivedView) -> Markup {
    let (rows, total): (&[LinkRow], u64) = match &links.outlinks {
        Some((rows, total)) => (rows.as_slice(), *total),
        None => (&[], 0),
    };
    html! {
        section aria-labelledby="outlinks" {
            h2 #outlinks { "Links on this page" span.amount { (present::count(total)) } }
            @if rows.is_empty() { p.soft { "The page has no links." } } @else { (links::list(rows, links::Side::Target, view)) }
            @if total > rows.len() as u64 {
                p { a.more href=(link::with("/page/outlinks", &[("url", Some(&page.url))])) { "All " (present::count(total)) } }
            }
            @if page.links_dropped > 0 {
                p.soft { (present::counted(page.links_dropped, "more link was", "more links were")) " not kept, because the page has too many." }
            }
        }
    }
}
