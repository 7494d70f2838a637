//! `weft warc`: tools for WARC and ARC files, independent of any archive.

mod check;
mod dedup;
mod extract;
mod output;
mod recompress;
mod repair;
mod split;

use clap::Subcommand;

use crate::context::Context;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  weft warc check crawl.warc.gz
  weft warc extract crawl.warc.gz --url http://www.iana.org/ --payload > page.html
  weft warc recompress crawl.warc.gz -o crawl.warc.zst --dictionary train
  weft warc dedup 2023.warc.gz 2024.warc.gz -o smaller/
  weft warc repair broken.warc.gz -o mended.warc.gz

These commands need no archive and never change their input. See docs/warc.md.";

/// Flags of `weft warc`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check files against the standard, rule by rule
    Check(check::Args),
    /// Extract single records or their payloads
    Extract(extract::Args),
    /// Rewrite a file with each record compressed separately
    Recompress(recompress::Args),
    /// Replace repeated payloads by revisit records
    Dedup(dedup::Args),
    /// Recover the intact parts of a damaged file
    Repair(repair::Args),
    /// Split a file by size, number, host, type or day
    Split(split::Args),
}

/// Runs `weft warc`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Check(args) => check::run(args, context),
        Command::Extract(args) => extract::run(args, context),
        Command::Recompress(args) => recompress::run(args, context),
        Command::Dedup(args) => dedup::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        Command::Split(args) => split::run(args, context),
    }
}
