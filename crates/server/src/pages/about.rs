//! The page about the program: what it is, how to search, and the API.

use maud::{Markup, html};

use super::html::{Context, Html};
use super::parts::{Align, Column};
use super::{parts, results};
use crate::api::table::ENDPOINTS;
use ui::{Frame, Section};

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
            p { "This is a web archive. It keeps web pages from the days of their captures. Here you can search the "
                "archived pages, follow their links in both directions, look up every capture, and see which URLs are "
                "linked to most." }
            h2 { "Searching" }
            p { "Press " kbd { "/" } " on any page to go to the search box." }
        }
        (results::syntax())
        p.soft { (results::newest_only()) }
        div.reading {
            h2 { "Reading archived pages" }
            @if context.replay_origin().is_some() {
                p { "Replay shows an archived page at a given time: images, style sheets and frames come from the archive, from the captures nearest to that time, "
                    "and nothing is loaded from the live web. What was not captured is missing; the bar above the page can check how complete it is." }
            }
            p { "A single record is shown in a sandbox: scripts do not run, nothing is loaded from outside the record, and frames are replaced by links. "
                "The stored record can be downloaded." }
            h2 #epochs { "Epochs" }
            p { "The archive changes in steps called epochs. Pages, links, counts, rankings and captures change together in "
                "each epoch; every response comes from one epoch and names it." }
            h2 #api { "API" }
            p { "Everything on these pages is also available to programs. The "
                a href="/api/v1/openapi.json" { "OpenAPI document" } " describes the API in full; errors are returned as "
                code { "{\"error\": {\"code\", \"message\"}}" } "." }
            @if context.parts().sql {
                p { "SQL statements are sent to " code { "/api/v1/sql?q=" } " (" code { "format" } ": json, jsonl, csv, parquet or arrow), or entered on the "
                    a href="/sql" { "SQL page" } "." }
            }
        }
        (routes())
    };
    Html::ok(frame.around(content))
}

fn routes() -> Markup {
    let columns = [
        Column("Route", Align::Text),
        Column("Description", Align::Text),
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
