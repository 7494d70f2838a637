//! The page of the cache: its contents, its hit rates, and the effect of more or less space.

use archive::question::Jobs;
use cache::{Advice, Cache, DirectoryStats, SPACES, Stats, UserRow};
use maud::{Markup, html};

use super::html::{Context, Html, PageResult};
use super::parts;
use super::parts::{Align, Column};
use crate::metrics::cache::events;
use crate::present;
use ui::{Frame, Section};

pub(super) async fn show(context: Context) -> PageResult {
    // Clients that may see jobs may see this page.
    let epoch = context.archive.ask(Jobs {}).await?.epoch;
    let content = html! {
        header.page-head {
            h1 { "Cache" }
            p.soft {
                "Blocks of remote objects, cached in memory and on disks of this machine."
                noscript { " " a href="/cache" { "Refresh" } }
            }
        }
        div data-live="/cache/live" data-every-ms="3000" { (part(context.cache.as_ref())) }
    };
    let frame = Frame {
        title: "Cache",
        section: Section::Cache,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}

/// Shows the part of the page that the script fetches repeatedly.
pub(super) async fn live(context: Context) -> PageResult {
    context.archive.ask(Jobs {}).await?;
    Ok(Html::ok(part(context.cache.as_ref())))
}

fn part(cache: Option<&Cache>) -> Markup {
    let Some(cache) = cache else {
        return parts::nothing(
            "No cache",
            html! { p { "This server does not use a cache. One is used with " code { "weft serve --cache DIR" } "." } },
        );
    };
    let stats = cache.stats();
    html! {
        section aria-labelledby="tiers" {
            h2 #tiers { "Tiers" }
            (tiers(&stats))
            (whats_wrong(&stats))
        }
        section aria-labelledby="users" {
            h2 #users { "Reads by user" }
            (users("weft", &stats.users))
            // Other programs with the same directories, as of their last written statistics.
            @for written in cache.program_stats().iter().filter(|written| written.program != "weft") {
                section {
                    h3 { (parts::text(&written.program)) }
                    (users(&written.program, &written.stats.users))
                }
            }
        }
        section aria-labelledby="advice" {
            h2 #advice { "Hit rates with more or less space" }
            (advice(&cache.advice()))
        }
    }
}

fn tiers(stats: &Stats) -> Markup {
    let columns = [
        Column("Tier", Align::Text),
        Column("Used", Align::Number),
        Column("Capacity", Align::Number),
        Column("Pinned", Align::Number),
        Column("Blocks", Align::Number),
        Column("State", Align::Text),
    ];
    let memory = &stats.memory;
    let mut rows = vec![vec![
        html! { "Memory" },
        html! { (present::size(memory.used_bytes)) },
        html! { (present::size(memory.capacity_bytes)) },
        html! { "\u{2013}" },
        html! { (present::count(memory.blocks)) },
        html! { "in use" },
    ]];
    rows.extend(stats.directories.iter().map(|directory| {
        vec![
            html! { code { (parts::text(&directory.path)) } },
            html! { (present::size(directory.used_bytes)) },
            html! { (present::size(directory.capacity_bytes.min(directory.quota_bytes))) },
            html! { (present::size(directory.pinned_bytes)) },
            html! { (present::count(directory.blocks)) },
            html! { (state(directory)) },
        ]
    }));
    html! {
        (parts::table("Tiers", &columns, rows))
        @if stats.directories.is_empty() {
            p.soft { "No cache directory is set, so the cache is lost when the server stops. Set one in a file " code { "cache.toml" }
                " in the archive or with " code { "weft serve --cache DIR" } "." }
        }
    }
}

fn state(directory: &DirectoryStats) -> String {
    match (&directory.off, directory.is_guest) {
        (Some(why), _) => format!("paused: {why}"),
        (None, true) => "shared: another program evicts blocks".to_owned(),
        (None, false) if directory.capacity_bytes < directory.quota_bytes => {
            "in use, limited by the free space of the disk".to_owned()
        }
        (None, false) => "in use".to_owned(),
    }
}

/// Shows the counted events of each directory that has any.
fn whats_wrong(stats: &Stats) -> Markup {
    html! {
        @for directory in &stats.directories {
            @let happened: Vec<_> = events(directory).into_iter().filter(|(_, count)| *count > 0).collect();
            @if !happened.is_empty() {
                p.soft { code { (parts::text(&directory.path)) } ": "
                    @for (index, (event, count)) in happened.iter().enumerate() {
                        @if index > 0 { ", " }
                        (present::count(*count)) " " (event.replace('_', " "))
                    }
                }
            }
        }
    }
}

fn users(program: &str, rows: &[UserRow]) -> Markup {
    let columns = [
        Column("User", Align::Text),
        Column("Reads", Align::Number),
        Column("From memory", Align::Number),
        Column("From disk", Align::Number),
        Column("Fetched", Align::Number),
        Column("Hit rate", Align::Number),
        Column("Time waited", Align::Number),
    ];
    let active = rows
        .iter()
        .filter(|row| row.stats.reads > 0 || row.stats.checks > 0);
    let rows: Vec<Vec<Markup>> = active
        .map(|row| {
            let stats = &row.stats;
            vec![
                html! { (row.user) },
                html! { (present::count(stats.reads)) },
                html! { (present::size(stats.memory_bytes + stats.joined_bytes)) },
                html! { (present::size(stats.disk_bytes)) },
                html! { (present::size(stats.fetched_bytes + stats.passed_bytes)) },
                html! { (row.hit_rate().map_or("\u{2013}".to_owned(), percent)) },
                html! { (present::span(stats.wait_us / 1000)) },
            ]
        })
        .collect();
    html! {
        @if rows.is_empty() {
            p.soft { "No data was read through the cache yet." }
        } @else {
            (parts::table(&format!("Reads of {program}"), &columns, rows))
        }
    }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// Names of [`cache::SPACES`] for readers.
const SPACE_NAMES: [&str; SPACES.len()] = ["\u{bc}", "\u{bd}", "current", "2\u{d7}", "4\u{d7}"];

fn advice(advice: &[Advice]) -> Markup {
    let mut columns = vec![Column("Prefix", Align::Text), Column("Reads", Align::Number)];
    columns.extend(SPACE_NAMES.map(|name| Column(name, Align::Number)));
    let rows: Vec<Vec<Markup>> = advice
        .iter()
        .map(|row| {
            let mut cells = vec![
                html! { code { (parts::text(&row.prefix)) } },
                html! { (present::count(row.reads)) },
            ];
            cells.extend(row.hit_rates.map(|rate| html! { (percent(rate)) }));
            cells
        })
        .collect();
    html! {
        @if rows.is_empty() {
            p.soft { "No data was read yet." }
        } @else {
            p.soft { "Share of block reads that the cache would have answered with this much space; in a large cache, one block in eight is tracked." }
            (parts::table("Hit rates by space", &columns, rows))
        }
    }
}
