//! The pages that packages list: those that their crawls were meant to capture.

use archive::question::{Answer, ListedPageRow, ListedPages, ListedPagesBody, ListedPagesProblem};
use maud::{Markup, html};
use ui::{Frame, Section};

use super::archived::ArchivedView;
use super::download;
use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::query::Query;
use crate::{link, present};

/// Number of listed pages on a page.
const ROWS: usize = 100;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let question = ListedPages {
        input: query.owned("input"),
        collection: query.owned("collection"),
        whole: false,
        after: query.owned("after"),
        limit: ROWS,
    };
    let Answer { epoch, body } = context.archive.ask(question.clone()).await?;
    let address = |after: Option<&str>| {
        let (input, collection) = (question.input.as_deref(), question.collection.as_deref());
        link::with(
            "/pages",
            &[("input", input), ("collection", collection), ("after", after)],
        )
    };
    let ListedPagesBody { rows, problems, next } = &body;
    let is_empty = rows.is_empty() && next.is_none() && question.after.is_none();
    let content = html! {
        header.page-head {
            h1 { "Pages of crawls" }
            p.soft { "Pages listed in WACZ packages: those that a crawl was meant for, not everything it captured." }
        }
        (form(&question))
        (problem_list(problems))
        @if is_empty {
            (parts::nothing("No pages", html! {
                @if question.input.is_some() || question.collection.is_some() {
                    p { "No WACZ package with this name or collection lists pages." }
                    p { a.button.quiet href="/pages" { "Pages of all packages" } }
                } @else {
                    p { "No WACZ package is loaded, or none lists pages. Load one:" }
                    pre.command { code { "weft load crawl.wacz" } }
                    p { "All other pages: " a href="/domains" { "domains" } ", " a href="/captures" { "captures" } "." }
                }
            }))
        } @else {
            (table(rows, ArchivedView::of(&context)))
            (download::links(
                "/api/v1/pages",
                &[("input", question.input.as_deref()), ("collection", question.collection.as_deref())],
            ))
        }
        (parts::pager(question.after.as_ref().map(|_| address(None)), next.as_deref().map(|next| address(Some(next)))))
    };
    let frame = Frame {
        title: "Pages of crawls",
        section: Section::Pages,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}

fn form(question: &ListedPages) -> Markup {
    let field = |id: &'static str, name: &str, hint: &str, value: &Option<String>| {
        let value = value.as_deref().map(present::clean).unwrap_or_default();
        html! {
            div.short { label for=(id) { (name) } input id=(id) name=(id) value=(value) placeholder=(hint) maxlength="500" autocomplete="off"; }
        }
    };
    html! {
        form.fields action="/pages" method="get" {
            (field("input", "Package", "all, or a file name", &question.input))
            (field("collection", "Collection", "all, or a name", &question.collection))
            button type="submit" { "Show" }
        }
    }
}

/// Shows the parts of the lists that cannot be used.
fn problem_list(problems: &[ListedPagesProblem]) -> Markup {
    html! {
        @if !problems.is_empty() {
            div.notes role="status" {
                p { "Some entries of the page lists cannot be used." }
                ul {
                    @for problem in problems {
                        li {
                            (parts::text(&problem.package))
                            @if !problem.list.is_empty() { ", " (parts::text(&problem.list)) }
                            @if problem.line > 0 { ", line " (present::count(problem.line)) }
                            ": " (parts::text(&problem.what))
                        }
                    }
                }
            }
        }
    }
}

fn table(rows: &[ListedPageRow], view: ArchivedView) -> Markup {
    let columns = [
        Column("Page", Align::Text),
        Column("Captured", Align::Text),
        Column("Listed in", Align::Text),
    ];
    let cells = rows
        .iter()
        .map(|row| vec![page(row), captured(row, view), list(row)]);
    parts::table("Pages listed in packages", &columns, cells.collect())
}

fn page(row: &ListedPageRow) -> Markup {
    // Some programs write the URL as the title.
    let title = if row.title == row.url {
        ""
    } else {
        row.title.as_str()
    };
    html! {
        @match &row.capture {
            Some(capture) => (parts::dated_link(&row.url, &capture.fetch_time, title)),
            None => (parts::page_link(&row.url, title)),
        }
        @if !title.trim().is_empty() { " " span.where { (parts::url_text(&row.url)) } }
        @if row.seed { " " span.badge.plain { "seed" } }
    }
}

fn captured(row: &ListedPageRow, view: ArchivedView) -> Markup {
    html! {
        (parts::time(&row.fetch_time)) " "
        @if let Some(capture) = &row.capture {
            @if let Some(link) = view.page(&row.url, Some(&capture.fetch_time), "") { (link.word(&row.title, &row.url)) }
        } @else if let Some(nearest) = &row.nearest {
            span.badge.plain { "captured at another time" } " " (parts::time(nearest)) " "
            @if let Some(link) = view.page(&row.url, Some(nearest), "") { (link.word(&row.title, &row.url)) }
        } @else {
            span.badge.plain { "not captured" }
        }
    }
}

fn list(row: &ListedPageRow) -> Markup {
    let only = link::with("/pages", &[("input", Some(&row.package))]);
    html! { a href=(only) { (parts::text(&row.package)) } " " span.soft { (parts::text(&row.list)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_also_the_title_is_shown_once() {
        for (title, times) in [("http://a.org/", 1), ("", 1), ("A", 2)] {
            let row = ListedPageRow {
                url: "http://a.org/".into(),
                title: title.into(),
                ..ListedPageRow::default()
            };
            let shown = page(&row).into_string();
            let seen = shown.matches("http://a.org/").count() + shown.matches(">A<").count();
            assert_eq!(seen, times, "{shown}");
        }
    }

    #[test]
    fn a_package_leads_to_its_pages() {
        let row = ListedPageRow {
            package: "crawls/a.wacz".into(),
            ..ListedPageRow::default()
        };
        let shown = list(&row).into_string();
        assert!(shown.contains("href=\"/pages?input=crawls%2Fa.wacz\""), "{shown}");
    }
}
