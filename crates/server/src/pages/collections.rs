//! The collections, each with its figures, links to its content, and the command that exports it.

use archive::question::{Answer, CollectionRow, Collections};
use format::terminal::shell_word;
use maud::{Markup, html};
use ui::{Frame, Section};

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::limits::REPORT_CAPTURES_MAX;
use crate::{link, present};

pub(super) async fn show(context: Context) -> PageResult {
    let question = Collections {
        captures_max: Some(REPORT_CAPTURES_MAX),
    };
    let Answer { epoch, body } = context.archive.ask(question).await?;
    let content = html! {
        header.page-head {
            h1 { "Collections" }
            p.soft { "A collection is a label that files get when they are loaded." }
        }
        @if !body.complete { (partial(context.sees_everything())) }
        @if body.rows.is_empty() {
            (parts::nothing_loaded(context.is_admin()))
        } @else {
            (table(&body.rows))
            p.soft { "To label new files: " code { "weft load --collection NAME FILE" } ". To change the label of a loaded file, run " code { "weft forget --input FILE" } " and " code { "weft forget --undo ID" } " before." }
        }
    };
    let frame = Frame {
        title: "Collections",
        section: Section::Collections,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}

/// Says which part is incomplete. A client that sees everything gets complete counts.
fn partial(sees_everything: bool) -> Markup {
    let captures = present::counted(REPORT_CAPTURES_MAX, "capture", "captures");
    html! {
        p.notes role="status" {
            @if sees_everything { "The times are those of the first " (captures) ", in URL order." }
            @else { "Partial result: only the first " (captures) " were read, in URL order." }
        }
    }
}

fn table(rows: &[CollectionRow]) -> Markup {
    let columns = [
        Column("Collection", Align::Text),
        Column("Inputs", Align::Number),
        Column("Captures", Align::Number),
        Column("First capture", Align::Text),
        Column("Last capture", Align::Text),
        Column("Content", Align::Text),
        Column("Export", Align::Text),
    ];
    let time = |time: &Option<String>| match time {
        Some(time) => parts::date(time),
        None => html! { "\u{2013}" },
    };
    let cells = rows.iter().map(|row| {
        vec![
            name(&row.name),
            html! { (present::count(row.inputs)) },
            html! { (present::count(row.captures)) },
            time(&row.fetch_time_first),
            time(&row.fetch_time_last),
            links(&row.name),
            html! { @if !row.name.is_empty() { code { (export(&row.name)) } } },
        ]
    });
    parts::table("Collections", &columns, cells.collect())
}

fn name(name: &str) -> Markup {
    html! {
        @if name.is_empty() {
            span.soft { "no collection" }
        } @else {
            @match link::if_short(link::search_collection(name)) {
                Some(address) => a href=(address) { (parts::text(name)) },
                None => (parts::text(name)),
            }
        }
    }
}

/// Returns links to the content of a collection. No link can select inputs without a label.
fn links(name: &str) -> Markup {
    let of_collection = |path: &str| link::with(path, &[("collection", Some(name))]);
    let links = [
        ("Search", link::search_collection(name)),
        ("Captures", of_collection("/captures")),
        ("Report", of_collection("/report")),
        ("Graph", of_collection("/graph")),
    ];
    html! {
        @if !name.is_empty() {
            ul.facts {
                @for (words, address) in links {
                    @if let Some(address) = link::if_short(address) {
                        li { a href=(address) { (words) span.hidden { " of " (present::clean(name)) } } }
                    }
                }
            }
        }
    }
}

/// Returns the command that writes a collection. Its file has the name of the collection, without
/// characters that separate folders.
fn export(name: &str) -> String {
    let file = format!("{}.warc.gz", name.replace(['/', '\\'], "-"));
    format!(
        "weft export --warc {} --collection {}",
        shell_word(&file),
        shell_word(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_copied_into_a_shell() {
        for (name, expected) in [
            ("news", "--warc news.warc.gz --collection news"),
            ("a b/c", "--warc 'a b-c.warc.gz' --collection 'a b/c'"),
            ("it's", "--warc 'it'\\''s.warc.gz' --collection 'it'\\''s'"),
        ] {
            assert_eq!(export(name), format!("weft export {expected}"));
        }
    }
}
