//! The page of a directory: its direct children, as a treemap and as a table.

use ::catalogue::ChildOrder;
use axum::extract::RawQuery;
use maud::{Markup, html};
use ui::chart;
use ui::treemap::{Tile, Tint, treemap};

use super::super::html::{Context, Html, PageResult};
use super::super::parts;
use super::{address, frame};
use crate::catalogue::{FilesEntry, FilesPath, FilesUsage, Listing, path_in_query, tidy};
use crate::query::Query;
use crate::{link, present};

/// Values of `by` in addresses. The first is the default.
pub(super) const BY_SIZE: &str = "size";
const BY_ENTRIES: &str = "entries";

/// Maximum number of names in the table.
const ROWS_MAX: usize = 200;

/// Maximum number of rectangles of the treemap on wide and on narrow screens. All further children
/// share one.
const TILES_MAX: usize = 60;
const TILES_NARROW_MAX: usize = 24;

/// Maximum number of characters of a path in the title of its page.
const TITLE_MAX: usize = 300;

/// Maximum number of bytes of links to the directories above. The link to the parent is always
/// shown. In a deep tree a single link may have many thousand bytes.
const LINKS_ABOVE_BYTES_MAX: usize = 8_000;

pub(in crate::pages) async fn show(Context(context): Context, RawQuery(asked): RawQuery) -> PageResult {
    let path = asked.as_deref().and_then(path_in_query).unwrap_or_default();
    let path = tidy(&path);
    let by = match Query::of(asked.as_deref()).get("by") {
        Some(BY_ENTRIES) => ChildOrder::Entries,
        _ => ChildOrder::Size,
    };
    let files = context.catalogued_files()?;
    let listing = files.listing(path, by, ROWS_MAX).await?;
    let title = match listing.breadcrumbs.steps.last() {
        Some(here) => {
            let (shown, is_cut) = present::cut(&here.path, TITLE_MAX);
            format!("Files in {shown}{}", if is_cut { "\u{2026}" } else { "" })
        }
        None => "Files by directory".to_owned(),
    };
    let content = html! {
        header.page-head {
            (breadcrumbs(&listing, by))
            h1 { (heading(&listing)) }
            (facts(&listing))
        }
        (orders(&listing, by))
        (map(&listing, by))
        (table(&listing, by))
    };
    Ok(Html::ok(frame(&context, &title).around(content)))
}

fn value(by: ChildOrder) -> &'static str {
    match by {
        ChildOrder::Size => BY_SIZE,
        ChildOrder::Entries => BY_ENTRIES,
    }
}

fn weight(usage: &FilesUsage, by: ChildOrder) -> u64 {
    match by {
        ChildOrder::Size => usage.size_bytes,
        ChildOrder::Entries => usage.entries,
    }
}

fn amount(weight: u64, by: ChildOrder) -> String {
    match by {
        ChildOrder::Size => present::size(weight),
        ChildOrder::Entries => present::counted(weight, "entry", "entries"),
    }
}

/// Returns the last name of a path.
fn name(path: &FilesPath) -> &str {
    path.path.rsplit('/').next().unwrap_or_default()
}

fn breadcrumbs(listing: &Listing, by: ChildOrder) -> Markup {
    let breadcrumbs = &listing.breadcrumbs;
    let above = breadcrumbs.steps.split_last().map_or(&[][..], |(_, above)| above);
    let links = links_above(above, by);
    html! {
        nav.breadcrumbs aria-label="Parent directories" {
            ol {
                li { a href="/files" { "Files" } }
                @if !breadcrumbs.steps.is_empty() { li { a href=(address(&FilesPath::new(Vec::new()), value(by))) { "Trees" } } }
                @for (place, (step, link)) in above.iter().zip(links).enumerate() {
                    // The root of a tree is shown with its path.
                    @let shown = if place == 0 { &step.path } else { name(step) };
                    li {
                        @match link {
                            Some(address) => a href=(address) { (parts::url_text(shown)) },
                            None => (parts::url_text(shown)),
                        }
                    }
                    @if place == 0 && breadcrumbs.left_out > 0 {
                        li { span.soft title=(present::counted(breadcrumbs.left_out as u64, "directory", "directories")) { "\u{2026}" } }
                    }
                }
            }
        }
    }
}

/// Returns links to the directories above, without those that would make the page too large. The
/// root and the nearest ones have priority.
fn links_above(above: &[FilesPath], by: ChildOrder) -> Vec<Option<String>> {
    let mut links = vec![None; above.len()];
    let mut bytes = 0;
    let nearest_first = (0..above.len().min(1)).chain((1..above.len()).rev());
    for place in nearest_first {
        let is_nearest = place + 1 == above.len();
        if let Some(address) = link::if_short(address(&above[place], value(by)))
            && (is_nearest || bytes + address.len() <= LINKS_ABOVE_BYTES_MAX)
        {
            bytes += address.len();
            links[place] = Some(address);
        }
    }
    links
}

/// Shows the root of a tree by its path, and other directories by their name, because the
/// breadcrumbs show the path.
fn heading(listing: &Listing) -> Markup {
    match listing.breadcrumbs.steps.as_slice() {
        [] => html! { "Space usage" },
        [root] => parts::url_text(&root.path),
        [.., here] => parts::url_text(name(here)),
    }
}

fn facts(listing: &Listing) -> Markup {
    let usage = &listing.usage;
    parts::facts(&[
        html! { (present::size(usage.size_bytes)) },
        html! { (present::size(usage.disk_bytes)) " on disk" },
        html! { (present::counted(usage.entries, "entry", "entries")) },
        html! { (present::counted(usage.directories, "directory", "directories")) },
        html! { (present::counted(usage.files, "file", "files")) },
    ])
}

/// Returns links to each order.
fn orders(listing: &Listing, by: ChildOrder) -> Markup {
    html! {
        nav aria-label="Order" {
            ul.chips {
                @for (order, shown) in [(ChildOrder::Size, "By size"), (ChildOrder::Entries, "By entries")] {
                    @if let Some(address) = link::if_short(address(&listing.at, value(order))) {
                        li { a href=(address) aria-current=[(order == by).then_some("true")] { (shown) } }
                    }
                }
            }
        }
    }
}

/// Returns the total weight of all direct children. Shares refer to it.
fn whole(listing: &Listing, by: ChildOrder) -> u64 {
    let rows = listing.rows.iter().map(|row| weight(&row.usage, by));
    rows.fold(weight(&listing.others_usage, by), u64::saturating_add)
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

fn map(listing: &Listing, by: ChildOrder) -> Markup {
    let of = match by {
        ChildOrder::Size => "bytes",
        ChildOrder::Entries => "entries",
    };
    let label = format!("Shares of {of}; the table below lists the same figures");
    let wide = tiles(listing, by, TILES_MAX);
    html! {
        @if !wide.is_empty() {
            (treemap(&label, &wide, &tiles(listing, by, TILES_NARROW_MAX)))
            p.legend.soft aria-hidden="true" {
                span.key.inner { "directory" } " " span.key.leaf { "file" } " " span.key.rest { "several entries" }
            }
        }
    }
}

/// Returns the heaviest rows as tiles, and one tile for all others.
fn tiles(listing: &Listing, by: ChildOrder, most: usize) -> Vec<Tile> {
    let whole = whole(listing, by);
    let heavy = listing.rows.iter().filter(|row| weight(&row.usage, by) > 0);
    let mut tiles: Vec<Tile> = heavy.clone().take(most).map(|row| tile(row, by, whole)).collect();
    let others = (listing.others, weight(&listing.others_usage, by));
    let (count, rest) = heavy.skip(most).fold(others, |(count, sum), row| {
        (count + 1, sum.saturating_add(weight(&row.usage, by)))
    });
    if rest > 0 {
        let name = present::counted(count, "other", "others");
        tiles.push(Tile {
            title: format!("{name}: {}, {}", amount(rest, by), percent(rest, whole)),
            name,
            weight: rest as f64,
            amount: amount(rest, by),
            link: None,
            tint: Tint::Rest,
        });
        // The treemap expects the heaviest tile first.
        tiles.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }
    tiles
}

fn tile(row: &FilesEntry, by: ChildOrder, whole: u64) -> Tile {
    let weight = weight(&row.usage, by);
    let is_inner = row.is_directory();
    let title = format!(
        "{}: {}, {}, {}",
        row.name,
        present::size(row.usage.size_bytes),
        percent(weight, whole),
        present::counted(row.usage.entries, "entry", "entries")
    );
    Tile {
        name: row.name.clone(),
        weight: weight as f64,
        amount: amount(weight, by),
        title,
        link: is_inner
            .then(|| address(&row.at, value(by)))
            .and_then(link::if_short),
        tint: if is_inner { Tint::Inner } else { Tint::Leaf },
    }
}

fn table(listing: &Listing, by: ChildOrder) -> Markup {
    let whole = whole(listing, by);
    html! {
        @if listing.rows.is_empty() {
            p.soft {
                @match listing.kind {
                    "directory" => "No entries are catalogued in this directory.",
                    kind => { "No entries below: this is not a directory but of kind " (kind) "." }
                }
            }
        } @else {
            table.measures.listing {
                caption.hidden { "Entries of this directory, largest first" }
                thead { tr { th scope="col" { "Name" } th.number scope="col" { "Entries" } th.number scope="col" { "Size" } th.number scope="col" { "Share" } } }
                tbody {
                    @for row in &listing.rows {
                        tr {
                            th scope="row" { div.clamped { (named(row, by)) } }
                            td.number { (present::count(row.usage.entries)) }
                            td.number { (present::size(row.usage.size_bytes)) }
                            td.number { (percent(weight(&row.usage, by), whole)) (chart::bar(weight(&row.usage, by), whole)) }
                        }
                    }
                    @if listing.others > 0 {
                        tr {
                            th scope="row" { span.soft { (present::counted(listing.others, "other", "others")) } }
                            td.number { (present::count(listing.others_usage.entries)) }
                            td.number { (present::size(listing.others_usage.size_bytes)) }
                            td.number { (percent(weight(&listing.others_usage, by), whole)) (chart::bar(weight(&listing.others_usage, by), whole)) }
                        }
                    }
                }
            }
        }
    }
}

fn named(row: &FilesEntry, by: ChildOrder) -> Markup {
    let link = row.is_directory().then(|| address(&row.at, value(by)));
    html! {
        @match link.and_then(link::if_short) {
            Some(address) => a href=(address) { (parts::url_text(&row.name)) @if !row.name.ends_with('/') { "/" } },
            None => {
                (parts::url_text(&row.name))
                @if row.kind != "file" { " " span.badge.plain { (row.kind) } }
                @if row.usage.entries == 0 { " " span.badge.plain title="A file with several names (hard links) is counted under the first of them" { "counted elsewhere" } }
            }
        }
    }
}
