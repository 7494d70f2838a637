//! `weft forget`: inputs leave the ledger, with what they left in quarantine. So far only those that failed, and those
//! without captures.

use std::ffi::OsString;
use std::io::Write;

use archive::Archive;
use archive::question::{Body, LedgerState, Question};

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

So far only inputs that failed, or that have no captures, can be forgotten; what
a failed one had brought in leaves every view with it. Captures of inputs that
were loaded stay. A forgotten input that is loaded again is a new one.";

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
    /// An input by its name or place, as weft status --ledger shows it (may be repeated)
    #[arg(long, value_name = "NAME")]
    input: Vec<OsString>,
    /// Every input that failed
    #[arg(long)]
    failed: bool,
}

/// Runs `weft forget`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let inputs = match args.which.failed {
        true => failed(&archive)?,
        false => args
            .which
            .input
            .iter()
            .map(|name| ask::input_name(name))
            .collect(),
    };
    let answer = archive.ask(&Question::Forget { inputs })?;
    if context.json {
        context.out.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let Body::Forgotten { inputs } = &answer.body else {
        return ask::unexpected(&answer.body);
    };
    let forgotten = counted(inputs.len() as u64, "input", "inputs");
    writeln!(context.out, "{forgotten} forgotten")?;
    for input in inputs {
        writeln!(context.out, "  {}", clean(input))?;
    }
    Ok(Outcome::Done)
}

fn failed(archive: &Archive) -> anyhow::Result<Vec<String>> {
    let rows = ledger_rows(archive, Some(LedgerState::Failed))?;
    Ok(rows.into_iter().map(|row| row.location).collect())
}
