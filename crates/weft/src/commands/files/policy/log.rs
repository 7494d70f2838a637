//! `weft files policy log`: lists runs and their actions.

use std::io::Write;

use ::catalogue::{ActRow, ActState};

use super::{show, sum};
use crate::commands::files::times::shown_ms;
use crate::commands::files::{JsonPath, display_path, open};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::{NotFound, Outcome};
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::count;

const EXAMPLES: &str = "\
Examples:
  weft files policy log                        every run
  weft files policy log --run 12               what run 12 did with each file, and why
  weft files policy log --failed               failures of all runs
  weft files policy log --path a.warc.gz       all actions on files whose path contains this";

/// Flags of `weft files policy log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// List the actions of this run
    #[arg(long, value_name = "RUN", value_parser = whole_from(1_u64, 3))]
    run: Option<u64>,
    /// Only actions that failed
    #[arg(long)]
    failed: bool,
    /// Only actions on paths that contain this text
    #[arg(long, value_name = "TEXT")]
    path: Option<String>,
}

/// Runs `weft files policy log`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = open(context)?;
    if args.run.is_none() && !args.failed && args.path.is_none() {
        return runs(&catalogue, context);
    }
    let mut lines = 0u64;
    catalogue.each_act(args.run, |run, act, row| {
        let has_path = args
            .path
            .as_ref()
            .is_none_or(|text| String::from_utf8_lossy(&row.path).contains(text.as_str()));
        if has_path && (!args.failed || row.state == ActState::Failed) {
            lines += 1;
            print(run, act, &row, context)?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    if lines == 0
        && let Some(run) = args.run
        && !catalogue.runs()?.iter().any(|(number, _)| *number == run)
    {
        return Err(NotFound(format!(
            "there is no run {run}: weft files policy log lists the runs"
        ))
        .into());
    }
    if lines == 0 && !context.json {
        writeln!(context.out, "no such action in the log")?;
    }
    Ok(Outcome::Done)
}

fn print(run: u64, act: u64, row: &ActRow, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        context.out.json(&serde_json::json!({
            "run": run,
            "act": act,
            "action": row.action,
            "state": row.state,
            "at_ms": row.at_ms,
            "path": JsonPath::new(&row.path),
            "to": (!row.to.is_empty()).then(|| JsonPath::new(&row.to)),
            "size_bytes": row.version.size_bytes,
            "why": row.why,
        }))?;
        return Ok(());
    }
    let state = match row.state {
        ActState::Failed => context.out.style.bad(row.state.name()),
        _ => row.state.name().to_owned(),
    };
    let to = if row.to.is_empty() {
        String::new()
    } else {
        format!(" -> {}", display_path(&row.to))
    };
    writeln!(
        context.out,
        "{run}.{act}  {}  {} {state}  {}{to}  {}",
        shown_ms(row.at_ms),
        clean(row.action.name()),
        display_path(&row.path),
        context.out.style.dim(&clean(&row.why)),
    )?;
    Ok(())
}

fn runs(catalogue: &::catalogue::Catalogue, context: &mut Context) -> anyhow::Result<Outcome> {
    let runs = catalogue.runs()?;
    if context.json {
        for (number, row) in &runs {
            context.out.json(&show::json(*number, row))?;
        }
        return Ok(Outcome::Done);
    }
    if runs.is_empty() {
        writeln!(context.out, "no policy has run yet")?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(&[
        ("run", Column::Right),
        ("begun (UTC)", Column::Left),
        ("policy", Column::Left),
        ("action", Column::Left),
        ("state", Column::Left),
        ("done", Column::Right),
        ("skipped", Column::Right),
        ("failed", Column::Right),
        ("because", Column::Flexible),
    ]);
    for (number, row) in &runs {
        let state = match row.state {
            ActState::Begun => "stopped",
            state => state.name(),
        };
        let was_taken_back = row.state == ActState::Undone || row.end.contains("taken back");
        let because = match row.end.is_empty() {
            true => clean(&row.cause),
            false if was_taken_back => format!("{}; {}", clean(&row.cause), clean(&row.end)),
            false => format!("{}; ended early: {}", clean(&row.cause), clean(&row.end)),
        };
        table.row([
            number.to_string(),
            shown_ms(row.begun_ms),
            clean(&row.policy),
            clean(row.action.name()),
            state.to_owned(),
            sum(row.done),
            count(row.skipped),
            count(row.failed),
            because,
        ]);
    }
    table.print(&mut context.out)?;
    Ok(Outcome::Done)
}
