//! The register of takedowns: time, author, reason and number of captures. It does not contain what
//! was taken down.

use archive::question::{Answer, TakedownRow, Takedowns, TakedownsBody};
use maud::{Markup, html};

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use super::rights;
use crate::present;
use ui::{Frame, Section};

/// Maximum number of takedowns on the page, newest first. The API has all.
const ROWS: usize = 500;

pub(super) async fn show(context: Context) -> PageResult {
    let Answer { epoch, body } = context.archive.ask(Takedowns {}).await?;
    let frame = Frame {
        title: "Takedowns",
        section: Section::Takedowns,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let content = html! {
        header.page-head {
            h1 { "Takedowns" }
            p.soft { "What was taken down is removed from pages, links, counts, search and facts for everybody, and stays out when its files are loaded again, until the takedown is undone. "
                "The register shows when, by whom, why and how much was taken down, but not what: of that it keeps only hashes." }
        }
        (rights::neighbours(Section::Takedowns))
        @if body.rows.is_empty() { (nothing()) } @else { (register(&body)) (commands()) }
    };
    Ok(Html::ok(frame.around(content)))
}

fn nothing() -> Markup {
    parts::nothing(
        "No takedowns",
        html! {
            p { "To remove something from the archive, first list what would be removed, then take it down:" }
            pre.command { code {
                "weft forget --url http://example.com/page --dry-run\n"
                "weft forget --url http://example.com/page --reason 'request 1234'"
            } }
            p { "You can also take down a " code { "--prefix" } ", an " code { "--input" } ", a " code { "--collection" } " or everything "
                code { "--before" } " a time. To hide something only from some people, use "
                a href="/rights" { "rules" } "." }
        },
    )
}

fn commands() -> Markup {
    html! {
        section.reading aria-labelledby="more" {
            h2 #more { "Commands" }
            pre.command { code {
                "weft forget --url http://example.com/page --dry-run\n"
                "weft forget --undo 1\n"
                "weft forget --purge"
            } }
            p.soft { "Once a takedown is undone, its content returns when its inputs are loaded again. A purge rewrites the archive's own files, "
                "so that none contains what was removed. The files that were loaded are never changed." }
        }
    }
}

fn register(body: &TakedownsBody) -> Markup {
    let in_force = body.rows.iter().filter(|row| row.undone.is_none()).count() as u64;
    let columns = [
        Column("No.", Align::Text),
        Column("When (UTC)", Align::Text),
        Column("By", Align::Text),
        Column("Why", Align::Text),
        Column("Kind", Align::Text),
        Column("Captures", Align::Number),
        Column("Pages", Align::Number),
        Column("Inputs", Align::Number),
        Column("State", Align::Text),
    ];
    let cells = body.rows.iter().rev().take(ROWS).map(|row| {
        vec![
            html! { (row.id) },
            parts::time(&row.at),
            html! { @if row.who.is_empty() { span.soft { "not given" } } @else { (parts::text(&row.who)) } },
            html! { @if row.reason.is_empty() { span.soft { "no reason given" } } @else { (parts::long_text(&row.reason)) } },
            kind(row),
            html! { (present::count(row.captures)) },
            html! { (present::count(row.pages)) },
            html! { (present::count(row.inputs)) },
            state(row),
        ]
    });
    html! {
        (parts::figures(&[
            ("Takedowns in force", html! { (present::count(in_force)) }),
            ("Captures kept out", html! { (present::count(body.captures_taken_down)) }),
            ("Whole inputs kept out", html! { (present::count(body.inputs_taken_down)) }),
        ]))
        section aria-labelledby="register" {
            h2 #register { "Register" }
            div.governed.register { (parts::table("Takedowns, newest first", &columns, cells.collect())) }
            @if body.rows.len() > ROWS {
                p.soft { "The newest " (ROWS) " of " (present::count(body.rows.len() as u64)) "; "
                    a href="/api/v1/takedowns" { "the API" } " lists all." }
            }
        }
    }
}

fn kind(row: &TakedownRow) -> Markup {
    html! {
        @match row.kind.as_str() {
            "url" => "one URL",
            "prefix" => "URLs with a common prefix",
            "inputs" => "whole inputs",
            "collection" => "a collection",
            "before" => { "everything fetched before " @match &row.before { Some(before) => (parts::date(before)), None => "a time" } },
            other => (present::clean(other)),
        }
    }
}

fn state(row: &TakedownRow) -> Markup {
    html! {
        @match &row.undone {
            None => span.badge.good { "in force" },
            Some(undone) => {
                span.badge { "undone" } " " span.soft {
                    (parts::date(undone))
                    @if let Some(by) = row.undone_by.as_deref().filter(|by| !by.is_empty()) { " by " (parts::text(by)) }
                }
            },
        }
    }
}
