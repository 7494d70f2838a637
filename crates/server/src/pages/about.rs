//! The page about the program: what it is, how to search, and the API.

use maud::{Markup, html};

use super::html::{Context, Html};
use super::parts::{Align, Column};
use super::{parts, results};
use crate::api::table::ENDPOINTS;
use look::{Frame, Section};

pub(super) async fn show(context: Context) -> Html {
    let frame = Frame {
        title: "About and API",
        section: Section::About,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: None,
    };
    let content = html! {
        header.page-head { h1 { "About" } }
        div.reading {
            p { "This is a web archive: pages of the web as they were when they were captured. Weft reads the archive's "
                "files, and lets you search the pages, follow their links in both directions, look up every capture, and "
                "see what was linked to most." }
            h2 { "Searching" }
            p { "Press " kbd { "/" } " on any page to go to the search box." }
        }
        (results::syntax())
        p.soft { (results::newest_only()) }
        div.reading {
            h2 { "Reading archived pages" }
            @if context.replay_place().is_some() {
                p { "Replay shows an archived page as it was at a time: pictures, styles and frames come from the archive, as near to that time as it has them, "
                    "and nothing comes from the web of today. What was not captured is missing; the bar above the page says how much that is." }
            }
            p { "The view of a single record is a sandbox: its scripts do not run, it loads nothing but what the record itself holds, and a link stands for each frame. "
                "The stored record is there to download." }
            h2 #epochs { "Epochs" }
            p { "The archive changes in steps called epochs. Pages, links, counts, rankings and captures move together in "
                "each; every answer comes from one epoch and names it." }
            h2 #api { "API" }
            p { "Everything on these pages can be asked by programs as well. The "
                a href="/api/v1/openapi.json" { "OpenAPI document" } " describes it in full; errors come as "
                code { "{\"error\": {\"code\", \"message\"}}" } "." }
            @if context.parts().sql {
                p { "Statements in SQL go to " code { "/api/v1/sql?q=" } " (" code { "format" } ": json, jsonl, csv, parquet or arrow), or are typed on the "
                    a href="/sql" { "page for them" } "." }
            }
        }
        (routes())
    };
    Html::ok(frame.around(content))
}

fn routes() -> Markup {
    let columns = [
        Column("Route", Align::Text),
        Column("What it gives", Align::Text),
        Column("Parameters", Align::Text),
    ];
    let cells = ENDPOINTS.iter().map(|endpoint| {
        vec![
            html! { code { @if endpoint.method != "get" { (endpoint.method.to_uppercase()) " " } (endpoint.path) } },
            html! { (endpoint.summary) },
            html! {
                @for (i, parameter) in endpoint.parameters.iter().enumerate() {
                    @if i > 0 { ", " }
                    code title=(parameter.about) { (parameter.name) }
                }
            },
        ]
    });
    parts::table("Routes of the API", &columns, cells.collect())
}
