//! `weft manual`: writes one manual page per command, generated from its `--help`.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::context::Context;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  weft manual ~/.local/share/man/man1 && man weft-load";

/// Flags of `weft manual`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for the pages; created if missing
    dir: PathBuf,
}

/// Runs `weft manual`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to((context.command_line)(), &args.dir))
        .with_context(|| format!("write the manual pages to {}", args.dir.display()))?;
    Ok(Outcome::Done)
}
