//! Records that are damaged or could not be used, with reason and position.

use archive::question::{Answer, Quarantine, QuarantineBody};
use maud::html;

use super::html::{Context, Html, PageResult};
use super::parts;
use super::parts::{Align, Column};
use crate::query::Query;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of records on a page.
const ROWS: usize = 100;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let input = query.owned("input");
    let after = query.owned("after");
    let question = Quarantine {
        input: input.clone(),
        after: after.clone(),
        limit: ROWS,
    };
    let Answer {
        epoch,
        body: QuarantineBody { rows, next },
    } = context.archive.ask(question).await?;
    let columns = [
        Column("Input", Align::Text),
        Column("Offset", Align::Number),
        Column("Reason", Align::Text),
        Column("Detail", Align::Text),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            parts::url_text(&row.input),
            html! { (present::count(row.offset)) },
            html! { code { (present::clean(&row.reason)) } },
            parts::text(&row.detail),
        ]
    });
    let address =
        |after: Option<&str>| link::with("/quarantine", &[("input", input.as_deref()), ("after", after)]);
    let content = html! {
        header.page-head {
            h1 { "Quarantine" }
            p.soft { "Records that are damaged or could not be used, with the reason and their position in the input." }
            @if let Some(input) = &input {
                p { "Input: " (parts::url_text(input)) " \u{b7} " a href="/quarantine" { "all inputs" } }
            }
        }
        @if rows.is_empty() {
            (parts::nothing("Nothing in quarantine", html! { p { "No record is damaged, and every record could be used." } p { a.button.quiet href="/loads" { "Loads" } } }))
        } @else {
            (parts::table("Records in quarantine", &columns, cells.collect()))
        }
        (parts::pager(after.as_ref().map(|_| address(None)), next.map(|next| address(Some(&next)))))
    };
    let frame = Frame {
        title: "Quarantine",
        section: Section::Quarantine,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}
