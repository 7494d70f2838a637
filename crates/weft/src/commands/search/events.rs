//! `weft search --events`: matches by month, with the first and the most linked pages.

use std::io::Write;

use archive::question::{EventPage, Events, EventsBody};

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::stdout::Out;
use crate::style::clean;
use crate::units::{count, counted, day};

/// Prints each month or year that has matches.
pub(super) fn run(query: String, context: &mut Context) -> anyhow::Result<Outcome> {
    let question = Events {
        query,
        ..Events::default()
    };
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    print(&answer.body, &mut context.out)?;
    Ok(Outcome::Done)
}

fn print(body: &EventsBody, out: &mut Out) -> std::io::Result<()> {
    super::notes(&body.notes, out)?;
    if body.by_year {
        let note = out.style.dim("by year: the period has more than 60 months");
        writeln!(out, "{note}")?;
    }
    let with_matches = body.rows.iter().filter(|row| row.versions > 0);
    let mut rows = 0;
    for row in with_matches {
        rows += 1;
        let period = out.style.bold(&clean(&row.period));
        let versions = counted(row.versions, "version", "versions");
        let new = row.new_versions.map(|new| format!(", {} new", count(new)));
        writeln!(out, "{period}: {versions}{}", new.unwrap_or_default())?;
        for page in &row.first {
            page_text("first", page, out)?;
        }
        for page in &row.linked {
            page_text("linked", page, out)?;
        }
    }
    if rows == 0 {
        writeln!(out, "no matches")?;
    }
    Ok(())
}

fn page_text(list: &str, page: &EventPage, out: &mut Out) -> std::io::Result<()> {
    let links = page.inlinks_external.map(|links| {
        format!(
            " \u{b7} {} from other domains",
            counted(links, "in-link", "in-links")
        )
    });
    let url = out.style.address(&clean(&page.url));
    writeln!(
        out,
        "  {list:<6}  {}  {url}  {}{}",
        day(&page.since),
        clean(&page.title),
        links.unwrap_or_default()
    )
}
