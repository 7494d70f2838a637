//! `weft sql`: runs the program `weft-sql`, a separate build because it takes longer to build than
//! everything else.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, anyhow};

use crate::context::Context;
use crate::outcome::{NotFound, Outcome};
use crate::sql_program::{self, HOW_TO_GET_IT, PROGRAM};

const EXAMPLES: &str = "\
Examples:
  weft sql                                       a prompt
  weft sql 'select * from pages order by inlinks desc limit 5'
  weft sql serve                                 HTTP, a page, Arrow Flight SQL
  weft sql verify                                check every view against its definition over the facts
  weft sql --help                                more examples

This runs the program weft-sql: `pip install 'weft-archive[sql]'` installs both, `make sql` builds it.";

/// Flags of `weft sql`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Args {
    /// Arguments for weft-sql: a statement, a command, flags
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// Runs `weft sql`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let program = sql_program::find()
        .ok_or_else(|| NotFound(format!("the program {PROGRAM} is not installed: {HOW_TO_GET_IT}")))?;
    let mut command = Command::new(&program);
    // Flags before the statement were parsed as flags of weft, so pass them on.
    if context.archive_given {
        command.arg("--archive").arg(&context.archive);
    }
    if context.json {
        command.arg("--json");
    }
    if context.read_only {
        command.arg("--read-only");
    }
    command.args((0..context.verbose).map(|_| "-v"));
    command.args(args.arguments);
    // Replaces this process; it returns only if the program cannot be run.
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| format!("run {}", program.display()))
}
