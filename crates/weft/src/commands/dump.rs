//! `weft dump`: prints all rows of a view, for other programs and for comparing archives.

use archive::AskError;
use archive::question::{DumpFormat, View};

use crate::context::Context;
use crate::flag_values::one_of;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  weft dump pages | cut -f2,6              URL and digest of each page
  weft dump links --format jsonl | head
  diff <(weft dump inlinks --archive a) <(weft dump inlinks --archive b)

Rows are sorted bytewise (top: by rank). In values, tabs, line ends and
backslashes are escaped as \\t, \\n, \\\\.
Archives of the same captures produce identical dumps.";

/// Flags of `weft dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// View to print
    #[arg(value_parser = one_of(View::ALL, View::name))]
    view: View,
    /// Tab-separated text, or one JSON object per line (--json means jsonl)
    #[arg(long, default_value_t, value_parser = one_of([DumpFormat::Tsv, DumpFormat::Jsonl], DumpFormat::name))]
    format: DumpFormat,
}

/// Runs `weft dump`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let format = if context.json {
        DumpFormat::Jsonl
    } else {
        args.format
    };
    let archive = crate::ask::open(context)?;
    archive
        .dump(args.view, format, &mut context.out.untrusted())
        .map_err(|error: AskError| anyhow::Error::new(error).context(format!("dump {}", args.view.name())))?;
    Ok(Outcome::Done)
}
