//! All links to or from a page.

use archive::question::{Answer, Inlinks, LinkRow, LinksBody, Outlinks};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::parts;
use crate::failure::Failure;
use crate::query::Query;
use crate::{link, present};
use format::date::DateTime;
use ui::{Frame, Section};

/// Number of links on a page.
const ROWS: usize = 100;

/// End of a link that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Target,
}

pub(super) async fn inlinks(context: Context, query: Query) -> PageResult {
    show(context, query, Side::Source).await
}

pub(super) async fn outlinks(context: Context, query: Query) -> PageResult {
    show(context, query, Side::Target).await
}

async fn show(context: Context, query: Query, side: Side) -> PageResult {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("no page given: parameter url is missing").into());
    };
    let after = query.owned("after");
    // Only in-links can be requested for versions other than the newest.
    let at = match side {
        Side::Source => query.moment("at")?,
        Side::Target => None,
    };
    let ever = side == Side::Source && query.get("ever") == Some("1");
    let (path, heading) = match side {
        Side::Source => ("/page/inlinks", "In-links"),
        Side::Target => ("/page/outlinks", "Links"),
    };
    let answer = match side {
        Side::Source => {
            context
                .archive
                .ask(Inlinks {
                    url: url.clone(),
                    after: after.clone(),
                    limit: ROWS,
                    at: at.clone(),
                    ever,
                })
                .await
        }
        Side::Target => {
            context
                .archive
                .ask(Outlinks {
                    url: url.clone(),
                    after: after.clone(),
                    limit: ROWS,
                })
                .await
        }
    };
    let Answer {
        epoch,
        body: LinksBody {
            rows, total, next, ..
        },
    } = answer?;
    let address = |after: Option<&str>| {
        let ever = ever.then_some("1");
        link::with(
            path,
            &[
                ("url", Some(&url)),
                ("at", at.as_deref()),
                ("ever", ever),
                ("after", after),
            ],
        )
    };
    let title = format!("{heading}: {url}");
    let frame = Frame {
        title: &title,
        section: Section::None,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let content = html! {
        header.page-head {
            h1 { (heading) @if let Some(total) = total { span.amount { (present::count(total)) } } }
            p.where { @if side == Side::Source { "to " } @else { "of " } (parts::url_link(&url)) }
            p.soft {
                @if let Some(at) = &at { "Links of the versions that were current at the end of " (at) ". "
                    a href=(link::with(path, &[("url", Some(&url))])) { "Newest versions" } }
                @else if ever {
                    "Links of all versions of each page, with the times of the first and last capture that contain them. "
                    a href=(link::with(path, &[("url", Some(&url))])) { "Only newest versions" }
                }
                @else if side == Side::Source {
                    "Only the newest version of each page counts; links found only in older captures are not included. "
                    a href=(link::with(path, &[("url", Some(&url)), ("ever", Some("1"))])) { "Links of all versions" }
                }
                @else { "Links of the newest version of the page." }
            }
        }
        @if rows.is_empty() { p.soft { "There are no such links." } } @else { (list(&rows, side, ArchivedView::of(&context))) }
        (parts::pager(after.as_ref().map(|_| address(None)), next.map(|next| address(Some(&next)))))
    };
    Ok(Html::ok(frame.around(content)))
}

/// Shows links with their anchors.
pub(super) fn list(rows: &[LinkRow], side: Side, view: ArchivedView) -> Markup {
    html! {
        ul.links { @for row in rows { li { (item(row, side, view)) } } }
    }
}

fn item(row: &LinkRow, side: Side, view: ArchivedView) -> Markup {
    let (url, key, title) = match side {
        Side::Source => (&row.source_url, &row.source_key, row.source_title.as_str()),
        Side::Target => (&row.target_url, &row.target_key, ""),
    };
    let url = if url.is_empty() { key } else { url };
    html! {
        @match side {
            Side::Source => {
                (parts::page_link(url, title)) " " (open(row, url, view))
                @if !title.trim().is_empty() { span.where { (parts::url_text(url)) } }
                @if !row.anchor.is_empty() { q dir="auto" { (parts::directing_text(&row.anchor)) } }
            }
            Side::Target => {
                (parts::page_link(url, &row.anchor))
                @if !row.anchor.trim().is_empty() { span.where { (parts::url_text(url)) } }
            }
        }
        @if let Some(version) = &row.version {
            span.where {
                (day(&version.first_seen))
                @if version.fetch_time != version.first_seen { " to " (day(&version.fetch_time)) }
            }
            @if !version.is_current { span.badge.plain title="The newest version of the page no longer has this link" { "gone" } }
        }
        @if row.external { span.badge.plain { "other domain" } }
        @if row.nofollow { span.badge.plain title="Marked nofollow, ugc or sponsored" { "nofollow" } }
    }
}

/// Returns the link that opens the page with the link. The page linked to might be missing in the archive.
fn open(row: &LinkRow, url: &str, view: ArchivedView) -> Markup {
    let time = row.version.as_ref().map(|version| version.fetch_time.as_str());
    html! { @if let Some(link) = view.page(url, time, "") { (link.word(&row.source_title, url)) } }
}

/// Formats as `26 January 2014`.
fn day(time: &str) -> String {
    DateTime::of_text(time).map_or_else(|| time.to_owned(), DateTime::date)
}
