//! `weft completions`: prints the completion script of a shell.

use std::io::Write as _;

use clap_complete::Shell;

use crate::context::Context;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  weft completions bash >~/.local/share/bash-completion/completions/weft
  weft completions zsh >~/.zfunc/_weft
  weft completions fish >~/.config/fish/completions/weft.fish";

/// Flags of `weft completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell to print completions for
    shell: Shell,
}

/// Runs `weft completions`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    // Generate the whole script before printing: the generator panics if a write fails, for example
    // to a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (context.command_line)(), "weft", &mut script);
    context.out.write_all(&script)?;
    Ok(Outcome::Done)
}
