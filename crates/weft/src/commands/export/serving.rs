//! `weft export --serving`: exports the archive as sorted tables that answer look-ups.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use export::{serving_place, write_serving};
use inputs::path_text;

use crate::ask;
use crate::commands::search::export::bar;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::stop::Stop;
use crate::style::clean;
use crate::units::counted;

/// Writes the tables of the newest epoch.
pub(super) fn run(place: &Path, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let text = path_text(place);
    let writing = || format!("write {}", clean(&text));
    let store = serving_place(&text, archive.sources()).with_context(writing)?;
    let (bar, stop) = (bar(true), Stop::listen()?);
    let mut progress = |done: u64| {
        bar.set_length(done);
        bar.set_position(done);
        !stop.is_requested()
    };
    let written = write_serving(&archive, &*store, &mut progress);
    bar.finish_and_clear();
    let written = written.with_context(writing)?;
    if context.json {
        context.out.json(&written)?;
    } else {
        writeln!(
            context.out,
            "{} in {}, written to {} (batch {})",
            counted(written.rows(), "row", "rows"),
            counted(written.tables.len() as u64, "table", "tables"),
            clean(&text),
            written.batch,
        )?;
    }
    if written.has_rules {
        eprintln!("note: the archive has access rules, so weft serve --web refuses these tables");
    }
    Ok(Outcome::Done)
}
