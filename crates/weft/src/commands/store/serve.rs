//! `weft store serve`: a node of the store, without an archive.

use std::io::Write;

use crate::context::Context;
use crate::exit::Outcome;
use crate::keeping::Keeping;
use crate::out::progress_line;
use crate::place::{PlaceArgs, place};
use crate::stop::Stop;

const EXAMPLES: &str = "\
Examples:
  weft store serve --config node.toml                  a node of several
  weft store serve --volume /disks/a --volume /disks/b a store of this machine alone

Ctrl-C or SIGTERM ends it after the requests under way. docs/store.md has complete node.toml and cluster.toml files.";

/// Flags of `weft store serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

/// Runs `weft store serve`.
pub(super) fn run(_: &Args, place_args: &PlaceArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    let place = place(place_args)?;
    let stop = Stop::listen()?;
    let keeping = Keeping::start(&place)?;
    announce(&keeping, context)?;
    stop.wait();
    progress_line("stopping (Ctrl-C again stops at once)");
    keeping.end();
    Ok(Outcome::Done)
}

/// A line that says where, so that programs which start a node can read it.
fn announce(keeping: &Keeping, context: &mut Context) -> anyhow::Result<()> {
    let node = keeping.node();
    if context.json {
        let store = node.store();
        context.out.json(&serde_json::json!({
            "node": store.cluster().me(),
            "address": node.address().to_string(),
            "layout": store.cluster().view().layouts.current.number,
            "unplaced": node.unplaced(),
        }))?;
    } else {
        writeln!(context.out, "{}", keeping.said())?;
    }
    context.out.flush()?;
    Ok(())
}
