//! The URIs with the most in-links from other domains, overall or in one domain.

use archive::question::{Answer, Top, TopBody, TopRow};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::{download, parts};
use crate::query::Query;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of URIs on a page.
const ROWS: usize = 50;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let domain = query.owned("domain");
    let after = query.owned("after");
    let question = Top {
        domain: domain.clone(),
        after: after.clone(),
        limit: ROWS,
    };
    let Answer {
        epoch,
        body: TopBody { rows, next },
    } = context.archive.ask(question).await?;
    let address =
        |after: Option<&str>| link::with("/ranking", &[("domain", domain.as_deref()), ("after", after)]);
    let title = domain
        .as_ref()
        .map_or("Ranking".to_owned(), |name| format!("Ranking of {name}"));
    let frame = Frame {
        title: &title,
        section: Section::Ranking,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let content = html! {
        header.page-head {
            h1 { "Ranking" @if let Some(name) = &domain { " of " (parts::url_text(name)) } }
            p.soft { "Sorted by the number of pages of other domains that link to a URI, then by all in-links." }
        }
        (domain_form(domain.as_deref()))
        @if rows.is_empty() && after.is_none() {
            (parts::nothing("Nothing to rank", html! {
                p { @if domain.is_some() { "The archive has no URI of this domain." } @else { "There are no links yet: load pages that link to each other." } }
                @if domain.is_some() { p { a.button.quiet href="/domains" { "All domains" } } } @else { (parts::load_command()) }
            }))
        } @else {
            (list(&rows, ArchivedView::of(&context)))
        }
        @if !rows.is_empty() { (download::links("/api/v1/top", &[("domain", domain.as_deref())])) }
        (parts::pager(after.as_ref().map(|_| address(None)), next.map(|next| address(Some(&next)))))
    };
    Ok(Html::ok(frame.around(content)))
}

fn domain_form(domain: Option<&str>) -> Markup {
    html! {
        form.inline action="/ranking" method="get" {
            label for="domain" { "Domain" }
            input #domain type="text" name="domain" value=(present::clean(domain.unwrap_or(""))) placeholder="all"
                autocapitalize="off" spellcheck="false";
            button type="submit" { "Show" }
        }
    }
}

/// Shows ranked URIs with their in-links.
pub(super) fn list(rows: &[TopRow], view: ArchivedView) -> Markup {
    html! {
        ol.ranking {
            @for row in rows {
                li {
                    span.rank { (present::count(row.rank)) }
                    div.what {
                        (parts::page_link(shown_url(row), &row.title)) " " (open(row, view))
                        @if !row.title.trim().is_empty() { span.where { (parts::url_text(shown_url(row))) } }
                        @if !row.captured { span.badge.plain { "not captured" } }
                    }
                    div.amount {
                        strong { (present::count(row.inlinks_external)) } " from other domains"
                        span.soft { (present::count(row.inlinks)) " in total" }
                    }
                }
            }
        }
    }
}

/// Returns the link that opens a ranked page, if it was captured.
pub(super) fn open(row: &TopRow, view: ArchivedView) -> Markup {
    let link = view.page(shown_url(row), None, "").filter(|_| row.captured);
    html! { @if let Some(link) = link { (link.word(&row.title, shown_url(row))) } }
}

fn shown_url(row: &TopRow) -> &str {
    if row.url.is_empty() {
        &row.url_key
    } else {
        &row.url
    }
}
