//! The command line (stable): one subcommand for one thing.

use clap::{Parser, Subcommand};

use crate::commands::{
    cdx, demo, domain, dump, forget, inspect, links, load, pack, page, record, search, serve, status, store,
    synth, top, verify,
};
use crate::context::GlobalArgs;

const EXAMPLES: &str = "\
Examples:
  weft load crawls/*.warc.gz           read files into ./weft-archive
  weft status                          what the archive holds
  weft search 'root zone' site:iana.org
  weft inlinks http://www.iana.org/    who links there
  weft serve                           the same in a browser

Exit codes: 0 done; 1 done with losses or differences, not found, or not done; 2 wrong use.
Results go to standard output, messages to standard error.";

/// Turns web-archive files (WARC, ARC, WAT, WET) into a live, searchable web.
#[derive(Debug, Parser)]
#[command(name = "weft", version, about, after_help = EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read files into the archive
    Load(load::Args),
    /// List every record of files, and account for every byte (needs no archive)
    Inspect(inspect::Args),
    /// What the archive holds, and how loading went
    Status(status::Args),
    /// Take failed inputs out of the ledger
    Forget(forget::Args),
    /// Print all rows of a view
    Dump(dump::Args),
    /// Everything known of a URL
    Page(page::Args),
    /// Pages that link to a URL
    Inlinks(links::InlinksArgs),
    /// Links of a page
    Outlinks(links::OutlinksArgs),
    /// A domain: its size, its top pages, who links to it
    Domain(domain::Args),
    /// URLs by number of in-links, of one domain or of all
    Top(top::Args),
    /// Captures of a URL, as CDXJ lines
    Cdx(cdx::Args),
    /// Full-text search
    Search(search::Args),
    /// The archived record of a URL
    Record(record::Args),
    /// Recompute every view and compare
    Verify(verify::Args),
    /// Serve pages, API and CDX to browsers
    Serve(Box<serve::Args>),
    /// Keep files on several disks or machines
    Store(Box<store::Args>),
    /// Try Weft: an archive of the crates it was built from
    Demo(demo::Args),
    /// Write a made-up web of any size
    Synth(synth::Args),
    /// Write a folder of HTML, Markdown or text as a WARC
    Pack(pack::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        let mut commands: Vec<clap::Command> = Cli::command().get_subcommands().cloned().collect();
        while let Some(command) = commands.pop() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains("Example"),
                "{} --help has no example",
                command.get_name()
            );
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
