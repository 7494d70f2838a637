//! The pages of the catalogue of files: an overview, and the space used below a directory (`tree`).

use maud::{Markup, html};
use ui::chart::{self, DayValue, Scale};
use ui::{Frame, Section};

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::catalogue::{FilesClass, FilesDay, FilesGroup, FilesPath, FilesScan, FilesTree, Latest, Overview};
use crate::present;

mod measures;
pub(super) mod tree;

use measures::{Measure, measures};

/// Maximum number of rows of the age profile. Earlier years share one row.
const YEARS_MAX: usize = 16;

pub(super) async fn show(Context(context): Context) -> PageResult {
    let latest = context.catalogued_files()?.overview().await?;
    let overview = &latest.overview;
    let content = html! {
        header.page-head {
            h1 { "Files" }
            p.soft { "The contents of file systems, as of the last scans." }
        }
        (note(&latest))
        @if overview.trees.is_empty() {
            (parts::nothing("No directory tree is catalogued yet", html! {
                p { "Scan a directory to list its contents here:" }
                pre.command { code { "weft files scan DIR" } }
            }))
        } @else {
            (figures(overview))
            section aria-labelledby="trees" { h2 #trees { "Trees" } (trees(&overview.trees)) p.more { a href="/files/tree" { "Space usage" } } }
            div.columns {
                section aria-labelledby="sizes" { h2 #sizes { "Files by size" } (classes("Size in bytes", &overview.sizes)) }
                section aria-labelledby="ages" { h2 #ages { "Files by year of last change" } (classes("Year", &years(&overview.ages))) }
                section aria-labelledby="owners" { h2 #owners { "Owners" } (groups("Owner", &overview.owners)) }
                section aria-labelledby="formats" { h2 #formats { "Formats" } (groups("Format", &overview.formats)) }
            }
            section aria-labelledby="growth" { h2 #growth { "Growth" } (growth(&overview.growth)) }
            section aria-labelledby="scans" { h2 #scans { "Last scans" } (scans(&overview.scans)) }
        }
    };
    Ok(Html::ok(frame(&context, "Files").around(content)))
}

fn frame<'a>(context: &crate::state::State, title: &'a str) -> Frame<'a> {
    Frame {
        title,
        section: Section::Files,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: None,
    }
}

/// Says so if the figures are not current.
fn note(latest: &Latest) -> Markup {
    let ago = system::wall_ms().saturating_sub(latest.overview.time_ms);
    html! {
        @if latest.in_use {
            div.callout role="status" {
                p { "A scan is updating the catalogue. These figures are " (present::span(ago)) " old; "
                    a href="/files" { "try again" } " when it has ended." }
            }
        }
    }
}

fn figures(overview: &Overview) -> Markup {
    let figure = |n: u64| html! { (present::count(n)) };
    let size = |n: u64| html! { (present::size(n)) };
    let total = &overview.total;
    parts::figures(&[
        ("Entries", figure(total.entries)),
        ("Files", figure(total.files)),
        ("Directories", figure(total.directories)),
        ("Size", size(total.size_bytes)),
        ("On disk", size(total.disk_bytes)),
    ])
}

/// Returns the address of the page of a directory.
fn address(path: &FilesPath, by: &str) -> String {
    let mut address = "/files/tree".to_owned();
    let mut mark = '?';
    if !path.bytes.is_empty() {
        address.push_str("?path=");
        address.extend(url::form_urlencoded::byte_serialize(&path.bytes));
        mark = '&';
    }
    if by != tree::BY_SIZE {
        address.push(mark);
        address.push_str("by=");
        address.push_str(by);
    }
    address
}

fn link(path: &FilesPath) -> Markup {
    html! {
        @match crate::link::if_short(address(path, tree::BY_SIZE)) {
            Some(address) => a href=(address) { (parts::url_text(&path.path)) },
            None => (parts::url_text(&path.path)),
        }
    }
}

fn time(ms: i64) -> Markup {
    parts::time(&format::date::iso(ms))
}

fn trees(trees: &[FilesTree]) -> Markup {
    const COLUMNS: [Column; 7] = [
        Column("Tree", Align::Text),
        Column("Entries", Align::Number),
        Column("Directories", Align::Number),
        Column("Size", Align::Number),
        Column("On disk", Align::Number),
        Column("Last full scan", Align::Text),
        Column("Unreadable", Align::Number),
    ];
    let cells = trees.iter().map(|tree| {
        vec![
            link(&tree.dir),
            html! { (present::count(tree.usage.entries)) },
            html! { (present::count(tree.usage.directories)) },
            html! { (present::size(tree.usage.size_bytes)) },
            html! { (present::size(tree.usage.disk_bytes)) },
            html! { @if tree.whole_scan == 0 { "never" } @else { (time(tree.whole_ended_ms)) } },
            html! { @if tree.faults > 0 { span.badge.bad { (present::count(tree.faults)) } } @else { "0" } },
        ]
    });
    parts::table("Trees", &COLUMNS, cells.collect())
}

fn classes(what: &str, classes: &[FilesClass]) -> Markup {
    let rows = classes.iter().map(|class| Measure {
        name: &class.name,
        count: class.files,
        size_bytes: class.size_bytes,
    });
    measures(what, "Files", &rows.collect::<Vec<_>>())
}

/// Returns the last years, and one row for all earlier ones.
fn years(ages: &[FilesClass]) -> Vec<FilesClass> {
    let mut years = ages.to_vec();
    if years.len() > YEARS_MAX {
        let earlier = years.split_off(YEARS_MAX - 1);
        let before = years.last().map_or("", |year| year.name.as_str());
        years.push(FilesClass {
            name: format!("before {before}"),
            files: earlier.iter().map(|year| year.files).sum(),
            size_bytes: earlier
                .iter()
                .fold(0, |sum, year| sum.saturating_add(year.size_bytes)),
        });
    }
    years
}

fn groups(what: &str, groups: &[FilesGroup]) -> Markup {
    let rows = groups.iter().map(|group| Measure {
        name: &group.name,
        count: group.usage.entries,
        size_bytes: group.usage.size_bytes,
    });
    measures(what, "Entries", &rows.collect::<Vec<_>>())
}

fn growth(days: &[FilesDay]) -> Markup {
    const COLUMNS: [Column; 3] = [
        Column("Day", Align::Text),
        Column("Entries", Align::Number),
        Column("Size", Align::Number),
    ];
    let values = |value: fn(&FilesDay) -> u64| {
        let value = |day: &FilesDay| DayValue {
            day: day.day_number,
            name: day.day.clone(),
            value: value(day) as f64,
        };
        days.iter().map(value).collect::<Vec<_>>()
    };
    let cells = days.iter().rev().map(|day| {
        vec![
            html! { (day.day) },
            html! { (present::count(day.entries)) },
            html! { (present::size(day.size_bytes)) },
        ]
    });
    html! {
        div.charts {
            (chart::days("Size", &values(|day| day.size_bytes), Scale::Binary, |value| present::size(value as u64)))
            (chart::days("Entries", &values(|day| day.entries), Scale::Decimal, |value| present::count(value as u64)))
        }
        details { summary { "Show as a table" } (parts::table("Growth by day", &COLUMNS, cells.collect())) }
    }
}

fn scans(scans: &[FilesScan]) -> Markup {
    const COLUMNS: [Column; 8] = [
        Column("Scan", Align::Text),
        Column("Directory", Align::Text),
        Column("Started (UTC)", Align::Text),
        Column("Duration", Align::Number),
        Column("Entries", Align::Number),
        Column("Added", Align::Number),
        Column("Removed", Align::Number),
        Column("Changed", Align::Number),
    ];
    let cells = scans.iter().map(|scan| {
        vec![
            html! { (present::count(scan.scan)) },
            html! {
                (link(&scan.dir))
                @if !scan.is_ended { " " span.badge.plain { "unfinished" } }
                @if scan.faults > 0 { " " span.badge.bad { (present::count(scan.faults)) " unreadable" } }
            },
            time(scan.begun_ms),
            html! { (present::span(scan.spent_ms)) },
            html! { (present::count(scan.entries)) },
            html! { (present::count(scan.added)) },
            html! { (present::count(scan.removed)) },
            html! { (present::count(scan.changed)) },
        ]
    });
    parts::table("Last scans", &COLUMNS, cells.collect())
}
