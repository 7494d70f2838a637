//! `weft verify --csv`: checks whether the inputs are unchanged since they were loaded, and writes
//! a table for collection managers.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, bail};
use export::{FixityCheck, FixityCsv, FixityOutcome, check_fixity};
use serde::Serialize;

use super::LISTED;
use crate::ask;
use crate::commands::search::export::bar;
use crate::commands::status::ledger_rows;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::part_file::{PartFile, refuse_existing};
use crate::stop::Stop;
use crate::style::clean;
use crate::units::{count, counted};

/// The results of the checks as printed by `--json`.
#[derive(Default, Serialize)]
struct FixityReport {
    file: String,
    inputs: u64,
    success: u64,
    fail: u64,
    warning: u64,
    /// All checks that did not succeed.
    told: Vec<FixityCheck>,
}

/// Writes the table to `path` and reports changed inputs.
pub(super) fn run(path: &Path, context: &mut Context) -> anyhow::Result<Outcome> {
    refuse_existing(path)?;
    let (part, file) = PartFile::begin(path)?;
    let checked = write(file, context).and_then(|checked| {
        part.finish()?;
        Ok(checked)
    });
    let mut checked = checked.with_context(|| format!("write {}", path.display()))?;
    checked.file = path.display().to_string();
    if context.json {
        context.out.json(&checked)?;
    } else {
        print(&checked, context)?;
    }
    Ok(if checked.fail == 0 {
        Outcome::Done
    } else {
        Outcome::Losses
    })
}

fn write(file: File, context: &Context) -> anyhow::Result<FixityReport> {
    let archive = ask::open(context)?;
    let rows = ledger_rows(&archive, None)?;
    let sources = context
        .remote_inputs
        .sources()
        .with_own(archive::own_inputs(&context.archive));
    let (bar, stop) = (bar(true), Stop::listen()?);
    bar.set_length(rows.iter().map(|row| row.size).sum());
    let mut csv = FixityCsv::new(BufWriter::new(file))?;
    let mut checked = FixityReport::default();
    let mut before = 0;
    for row in &rows {
        let mut goes_on = |bytes: u64| {
            bar.set_position(before + bytes);
            !stop.is_requested()
        };
        let Some(check) = check_fixity(&sources, row, &mut goes_on) else {
            bail!("stopped; no table was written");
        };
        before += row.size;
        csv.row(&check)?;
        checked.inputs += 1;
        match check.outcome {
            FixityOutcome::Success => checked.success += 1,
            FixityOutcome::Fail => checked.fail += 1,
            FixityOutcome::Warning => checked.warning += 1,
        }
        if !check.detail.is_empty() {
            checked.told.push(check);
        }
    }
    bar.finish_and_clear();
    let mut out = csv.finish()?;
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(checked)
}

fn print(checked: &FixityReport, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    // Failures come first, and warnings cannot hide them.
    for outcome in [
        FixityOutcome::Fail,
        FixityOutcome::Warning,
        FixityOutcome::Success,
    ] {
        let told: Vec<&FixityCheck> = checked
            .told
            .iter()
            .filter(|check| check.outcome == outcome)
            .collect();
        let name = match outcome {
            FixityOutcome::Fail => out.style.bad("fail"),
            outcome => outcome.name().to_owned(),
        };
        for check in told.iter().take(LISTED) {
            writeln!(out, "{}: {name}: {}", clean(&check.name), clean(&check.detail))?;
        }
        let hidden = told.len().saturating_sub(LISTED) as u64;
        if hidden > 0 {
            let more = counted(hidden, "input", "inputs");
            writeln!(out, "{more} more: {name} (see the table)")?;
        }
    }
    writeln!(
        out,
        "{} checked: success {}, fail {}, warning {}; written to {}",
        counted(checked.inputs, "input", "inputs"),
        count(checked.success),
        count(checked.fail),
        count(checked.warning),
        checked.file
    )?;
    Ok(())
}
