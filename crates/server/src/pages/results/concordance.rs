//! Results as a concordance: one line for each match, with the words around it.

use archive::question::{
    Answer, CONTEXT_WORDS, ConcordanceBody, ConcordanceLine, ConcordanceQuestion, LINES_PER_PAGE,
};
use maud::{Markup, html};

use super::super::archived::ArchivedView;
use super::super::html::{Html, PageResult};
use super::super::parts;
use super::{SearchRequest, frame, lists, newest_only, no_hits, notes};
use crate::present;
use crate::state::State;

/// Number of lines on a page.
const LINES: usize = 50;

pub(super) async fn show(context: &State, asked: &SearchRequest) -> PageResult {
    let question = ConcordanceQuestion {
        query: asked.query.clone(),
        limit: LINES,
        per_page: LINES_PER_PAGE,
        context: CONTEXT_WORDS,
        after: asked.after.clone(),
        order: asked.list.order,
        all_versions: asked.list.all_versions,
    };
    let Answer { epoch, body: found } = context.archive.ask(question).await?;
    let content = content(asked, &found, epoch, ArchivedView::of(context));
    Ok(Html::ok(frame(context, asked, epoch).around(content)))
}

fn content(asked: &SearchRequest, found: &ConcordanceBody, epoch: u64, view: ArchivedView) -> Markup {
    let next = found.next.as_deref();
    html! {
        h1.hidden { "Matches of " (parts::text(&asked.query)) " in context" }
        p.summary role="status" {
            strong { (present::counted(found.total, "page", "pages")) }
            span.soft { " \u{b7} at most " (LINES_PER_PAGE) " matches per page \u{b7} " (format!("{:.0}", found.took_ms.max(1.0))) " ms" }
        }
        @if found.search_epoch < epoch {
            p.soft { "Search covers epoch " (found.search_epoch) " of " (epoch) ": the newest pages cannot be found yet." }
        }
        (lists(asked))
        (notes(&found.notes, &found.understood))
        @if found.lines.is_empty() && found.total == 0 {
            (no_hits(asked))
        } @else {
            @if found.lines.is_empty() {
                (parts::nothing("No match in the texts of these pages", html! {
                    p { "They match only by title, URL, anchor texts or other properties." }
                }))
            }
            @for lines in found.lines.chunk_by(|a, b| (&a.url_key, &a.since) == (&b.url_key, &b.since)) {
                (of_page(lines, view))
            }
            (parts::pager(
                asked.after.as_ref().map(|_| asked.link(None, false, 0)),
                next.map(|next| asked.link(Some(next), false, 0)),
            ))
            p.soft.more { (newest_only()) }
        }
    }
}

/// Shows the matches of one version of a page.
fn of_page(lines: &[ConcordanceLine], view: ArchivedView) -> Markup {
    html! {
        @if let Some(first) = lines.first() {
            section.concordance {
                h2 {
                    @if first.until.is_some() {
                        (parts::dated_link(&first.url, &first.fetch_time, &first.title))
                    } @else {
                        (parts::page_link(&first.url, &first.title))
                    }
                }
                p.where {
                    (parts::url_text(&first.url)) " \u{b7} " (time(first))
                    @if let Some(link) = view.page(&first.url, Some(&first.fetch_time), "") { " \u{b7} " (link.word(&first.title, &first.url)) }
                }
                ul {
                    @for line in lines {
                        // The line's text sets its direction, and so the side of the left context.
                        li dir="auto" {
                            span.left { span { (present::clean(&line.left)) } }
                            span.right { mark { (present::clean(&line.matched)) } (present::clean(&line.right)) }
                        }
                    }
                }
            }
        }
    }
}

fn time(line: &ConcordanceLine) -> Markup {
    html! {
        @match &line.until {
            Some(until) => { (parts::date(&line.since)) " to " (parts::date(until)) ", past version" },
            None => (parts::date(&line.fetch_time)),
        }
    }
}
