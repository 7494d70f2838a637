//! `weft store`: manages objects on several volumes from the command line.
//!
//! If a process has the volumes open (`weft serve --volume`, `weft store serve`), the command finds
//! it through them and sends it the requests. Otherwise the command opens the volumes itself. The
//! output is the same.

use crate::context::Context;
use crate::outcome::Outcome;
use crate::store_args::{StoreArgs, place};

mod census;
pub(crate) mod content;
mod fixity;
mod get;
pub(crate) mod key;
mod layout;
mod ls;
mod pass_progress;
pub(crate) mod protect;
mod put;
mod recover;
mod reindex;
mod repair;
pub(crate) mod retention;
mod rm;
mod scrub;
mod serve;
pub(crate) mod session;
mod stat;
mod status;

const EXAMPLES: &str = "\
Examples:
  weft store put crawls/*.warc.gz store://crawls/2014/ --volume /disks/a --volume /disks/b
  export WEFT_STORE=/disks/a:/disks/b     (from here on no --volume is needed)
  weft store ls crawls/2014/
  weft store get store://crawls/2014/a.warc.gz
  weft store census                       count all replicas of all objects
  weft store serve --config node.toml     run a node of a cluster

Objects are named store://bucket/name, or bucket/name. docs/store.md describes how to run a store.";

/// Flags of `weft store`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(flatten)]
    place: StoreArgs,
    #[command(subcommand)]
    command: Command,
}

/// Commands on the store.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write files into the store; success means they are synced on all their volumes
    Put(put::Args),
    /// Read an object into a file or to standard output
    Get(get::Args),
    /// List buckets or objects
    Ls(ls::Args),
    /// Delete objects
    Rm(rm::Args),
    /// Retain objects until a time: until then they cannot be deleted or replaced
    Retain(protect::RetainArgs),
    /// Put objects under a legal hold, or end one
    Hold(protect::HoldArgs),
    /// Show everything known about an object: digests, version, replicas
    Stat(stat::Args),
    /// Count every replica of every object
    Census(census::Args),
    /// Read replicas again and verify their digests
    Scrub(scrub::Args),
    /// Restore missing and bad replicas, and move misplaced ones
    Repair(repair::Args),
    /// Show the layout of volumes, plan a change, apply it
    Layout(layout::Args),
    /// Show when replicas were verified and with what result; digests
    Fixity(fixity::Args),
    /// Rebuild the listing index of volumes from their files
    Reindex(reindex::Args),
    /// Serve volumes, as one of several nodes or as a complete store
    Serve(serve::Args),
    /// Show nodes, volumes and background workers
    Status(status::Args),
}

/// Runs `weft store`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let Args {
        place: place_args,
        command,
    } = args;
    let place = || place(&place_args);
    match command {
        Command::Put(args) => put::run(&args, place()?, context),
        Command::Get(args) => get::run(&args, place()?, context),
        Command::Ls(args) => ls::run(&args, place()?, context),
        Command::Rm(args) => rm::run(&args, place()?, context),
        Command::Retain(args) => protect::retain(&args, place()?, context),
        Command::Hold(args) => protect::hold(&args, place()?, context),
        Command::Stat(args) => stat::run(&args, place()?, context),
        Command::Census(args) => census::run(&args, place()?, context),
        Command::Scrub(args) => scrub::run(&args, place()?, context),
        Command::Repair(args) => repair::run(&args, place()?, context),
        Command::Layout(args) => layout::run(&args, &place_args, context),
        Command::Fixity(args) => fixity::run(&args, place()?, context),
        Command::Reindex(args) => reindex::run(&args, &place()?, context),
        Command::Serve(args) => serve::run(&args, &place()?, context),
        Command::Status(args) => status::run(&args, place()?, context),
    }
}
