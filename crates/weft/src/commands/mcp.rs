//! `weft mcp`: offers the archive to language models as tools, over standard input and output.

use std::io;

use anyhow::Context as _;
use archive::question::{Answer, Question};
use archive::{AskError, OpenError};

use crate::ask;
use crate::context::Context;
use crate::exit;
use crate::outcome::Outcome;

const EXAMPLES: &str = r#"Examples:
  weft mcp --archive /data/crawls
  weft mcp --archive /data/crawls --as ''      only what the public may see

A client starts the program itself. Its configuration, in the form that most clients read:

  {
    "mcpServers": {
      "weft": {
        "command": "weft",
        "args": ["mcp", "--archive", "/data/crawls"]
      }
    }
  }

The tools are search, page, inlinks, versions, diff and captures; docs/mcp.md describes them.
They read the archive and never change it. Archived text is marked as quoted. The archive is open
only during a call, or in a running `weft serve`, which makes calls faster."#;

/// Flags of `weft mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

/// Runs `weft mcp`.
pub(crate) fn run(Args {}: &Args, context: &Context) -> anyhow::Result<Outcome> {
    let ask = |question| ask_once(question, context);
    // Not through `context.out`: standard output carries messages of the protocol only.
    let served = mcp::serve(io::stdin().lock(), io::stdout().lock(), &ask);
    match served {
        // The client has ended.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Done),
        served => served.map(|()| Outcome::Done).context("serve a client"),
    }
}

/// Opens the archive for one question. A client keeps this process for hours, and while a process
/// has the archive open, `weft serve` cannot start.
fn ask_once(question: Question, context: &Context) -> Result<Answer, AskError> {
    let archive = ask::open(context).map_err(|error| {
        let message = exit::chain_text(&error);
        match error.downcast_ref() {
            Some(OpenError::Missing { .. } | OpenError::NotEmpty { .. }) => AskError::not_found(message),
            _ => AskError::unavailable(message),
        }
    })?;
    archive.ask(question)
}
