//! `weft forget`: removes inputs from the ledger, with what they brought in. So far it accepts only inputs
//! that were not loaded to their end, and those without captures.

use std::ffi::OsString;
use std::io::Write;

use archive::question::{Forget, ForgottenBody, LedgerState};
use archive::{Archive, OpenSettings};

use crate::ask;
use crate::commands::status::ledger_rows;
use crate::context::Context;
use crate::exit::Outcome;
use crate::style::clean;
use crate::units::counted;

const EXAMPLES: &str = "\
Examples:
  weft forget --input crawls/empty.warc.gz
  weft forget --failed                    every input that failed
  weft load --retry                       or try them once more

So far only inputs that failed, that were not read to their end (their file is
gone or was replaced, say), or that have no captures, can be forgotten; what
they had brought in leaves every view with them. Captures of inputs that were
loaded whole stay. A forgotten input that is loaded again is a new one.";

/// Flags of `weft forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// An input by its name, place or digest, as weft dump ledger and --json show them (may be repeated)
    #[arg(long, value_name = "NAME")]
    input: Vec<OsString>,
    /// Every input that failed
    #[arg(long)]
    failed: bool,
}

/// Runs `weft forget`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open_with(context, OpenSettings::default())?;
    let inputs = match args.which.failed {
        true => failed(&archive)?,
        false => args
            .which
            .input
            .iter()
            .map(|name| ask::input_name(name))
            .collect(),
    };
    let answer = archive.ask(Forget { inputs })?;
    if context.json {
        context.out.json(&answer.any())?;
        return Ok(Outcome::Done);
    }
    let ForgottenBody {
        inputs,
        captures,
        quarantined,
    } = &answer.body;
    let forgotten = counted(inputs.len() as u64, "input", "inputs");
    let with = match (captures, quarantined) {
        (0, 0) => String::new(),
        (captures, 0) => format!(", {} taken back", counted(*captures, "capture", "captures")),
        (captures, losses) => format!(
            ", {} and {} taken back",
            counted(*captures, "capture", "captures"),
            counted(*losses, "loss", "losses")
        ),
    };
    writeln!(context.out, "{forgotten} forgotten{with}")?;
    for input in inputs {
        writeln!(context.out, "  {}", clean(input))?;
    }
    Ok(Outcome::Done)
}

fn failed(archive: &Archive) -> anyhow::Result<Vec<String>> {
    let rows = ledger_rows(archive, Some(LedgerState::Failed))?;
    Ok(rows.into_iter().map(|row| row.location).collect())
}
