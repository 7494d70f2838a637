//! `weft dump`: all rows of a view, for other programs and for comparing archives.

use archive::AskError;
use clap::ValueEnum;

use crate::context::Context;
use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  weft dump pages | cut -f2,6              URL and digest of every page
  weft dump links --format jsonl | head
  diff <(weft dump inlinks --archive a) <(weft dump inlinks --archive b)

Rows are sorted bytewise (top: by rank); a tab, line end or backslash within a
value is written \\t, \\n, \\\\.
Two archives of the same captures dump the same bytes.";

/// Flags of `weft dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which view
    #[arg(value_enum)]
    view: View,
    /// Tab-separated text, or one JSON object a line (--json means jsonl)
    #[arg(long, value_enum, default_value_t = Format::Tsv)]
    format: Format,
}

/// The views of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum View {
    Captures,
    Pages,
    Links,
    Inlinks,
    Uris,
    Domains,
    Top,
    Ledger,
    Quarantine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Tsv,
    Jsonl,
}

/// The word of a value on the command line.
fn word<V: ValueEnum>(value: V) -> String {
    value
        .to_possible_value()
        .map(|word| word.get_name().to_owned())
        .unwrap_or_default()
}

/// Runs `weft dump`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let format = if context.json { Format::Jsonl } else { args.format };
    let archive = crate::ask::open(context)?;
    archive
        .dump(&word(args.view), &word(format), &mut context.out)
        .map_err(|error: AskError| anyhow::Error::new(error).context(format!("dump {}", word(args.view))))?;
    Ok(Outcome::Done)
}
