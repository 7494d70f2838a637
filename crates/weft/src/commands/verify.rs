//! `weft verify`: every view recomputed from the records, and compared row by row.
//!
//! The inputs of the ledger are read again into an empty archive beside this one; since two archives of the
//! same captures dump the same bytes, whatever the order and the interruptions, every view must dump the same.
//! The archive itself is only asked, never written.

mod compare;
mod fresh;

use std::io::{Seek, Write};

use anyhow::{Context as _, bail, ensure};
use archive::Archive;
use archive::question::{Body, LedgerRow, Question, StatusBody};
use serde::Serialize;

use crate::ask;
use crate::commands::status::ledger_rows;
use crate::context::Context;
use crate::exit::Outcome;
use crate::place::PlaceArgs;
use crate::stop::Stop;
use crate::style::clean;
use crate::units::{count, counted};
use compare::{Comparing, Comparison};
use fresh::Fresh;

const EXAMPLES: &str = "\
Examples:
  weft verify
  weft verify --archive /data/crawls --json

Reads all inputs again, into a folder beside the archive (or, where that
cannot be written to, among temporary files) that is removed at the end: this takes as long as loading them, and as much space as the archive.
Exit code 1: a view differs.";

/// Flags of `weft verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where inputs are that were loaded from `store://`.
    #[command(flatten)]
    place: PlaceArgs,
}

/// Every view, in the order in which one follows from the other.
const VIEWS: [&str; 9] = [
    "ledger",
    "quarantine",
    "captures",
    "pages",
    "links",
    "inlinks",
    "uris",
    "domains",
    "top",
];

/// Runs `weft verify`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    context.places.use_given(&args.place);
    let archive = ask::open(context)?;
    let stop = Stop::listen()?;
    let (epoch, status) = status(&archive)?;
    let rows = finished_inputs(&archive)?;
    let fresh = Fresh::load(archive.dir(), &rows, &status, context.places.sources(), &stop)?;
    let mut views = Vec::new();
    for view in VIEWS {
        views.push(compare_view(view, &archive, &fresh)?);
    }
    ensure!(
        self::status(&archive)?.0 == epoch,
        "something was loaded meanwhile, so nothing can be said; verify again while no load runs"
    );
    let report = Report {
        epoch,
        inputs: rows.len() as u64,
        same: views.iter().all(Comparison::is_same),
        views,
    };
    if context.json {
        context.out.json(&report)?;
    } else {
        print(&report, context)?;
    }
    Ok(if report.same {
        Outcome::Done
    } else {
        Outcome::Losses
    })
}

/// What was compared, and how it came out.
#[derive(Serialize)]
struct Report {
    epoch: u64,
    inputs: u64,
    same: bool,
    views: Vec<Comparison>,
}

fn status(archive: &Archive) -> anyhow::Result<(u64, StatusBody)> {
    let answer = archive.ask(&Question::Status)?;
    match answer.body {
        Body::Status(status) => Ok((answer.epoch, status)),
        body => ask::unexpected(&body),
    }
}

/// The ledger, if every input was read as far as it ever will be.
fn finished_inputs(archive: &Archive) -> anyhow::Result<Vec<LedgerRow>> {
    let rows = ledger_rows(archive, None)?;
    if let Some(row) = rows
        .iter()
        .find(|row| matches!(row.state.as_str(), "pending" | "loading"))
    {
        bail!(
            "{} is loaded up to byte {} of {}: what is in the views cannot be told from the file alone; \
             load it to its end first",
            row.input,
            count(row.bytes_done),
            count(row.size)
        );
    }
    Ok(rows)
}

/// Dumps a view of the fresh archive to a file, then holds the dump of the other against it.
fn compare_view(view: &'static str, archive: &Archive, fresh: &Fresh) -> anyhow::Result<Comparison> {
    let describe = || format!("compare {view}");
    let mut expected = fresh.dump(view).with_context(describe)?;
    expected.rewind().with_context(describe)?;
    let mut comparing = Comparing::new(view, expected);
    archive.dump(view, "tsv", &mut comparing).with_context(describe)?;
    comparing.finish().with_context(describe)
}

fn print(report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    for view in &report.views {
        let rows = counted(view.rows, "row", "rows");
        let Some(difference) = &view.difference else {
            writeln!(out, "{:<11} {rows}, the same", view.view)?;
            continue;
        };
        let verdict = out
            .style
            .bad(&format!("differs from row {} on", count(difference.row)));
        writeln!(out, "{:<11} {rows}, {verdict}", view.view)?;
        for (name, row) in [("expected", &difference.expected), ("found", &difference.found)] {
            let row = row
                .as_deref()
                .map_or("(no row)".to_owned(), |row| clean(&row.replace('\t', "  ")));
            writeln!(out, "  {name:<9} {row}")?;
        }
    }
    let inputs = counted(report.inputs, "input", "inputs");
    let verdict = if report.same {
        "every view follows from"
    } else {
        "not every view follows from"
    };
    writeln!(out, "{verdict} {inputs} (epoch {})", count(report.epoch))?;
    Ok(())
}
