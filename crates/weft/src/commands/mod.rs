//! One module per command: its flags, and the text form of its answer.

use clap::Subcommand;

use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};

mod cache;
mod cdx;
mod completions;
mod demo;
mod diff;
mod doctor;
mod domain;
mod dump;
mod export;
pub(crate) mod files;
mod forget;
mod graph;
mod inspect;
mod link_counts;
mod links;
mod load;
mod manual;
mod mcp;
mod pack;
mod page;
mod page_text;
mod pages;
mod rebuild;
mod record;
mod redact;
mod replay_check;
mod report;
mod rights;
mod search;
mod serve;
mod sql;
mod status;
mod store;
mod synth;
mod top;
mod verify;
mod warc;

/// The command to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load files into the archive
    Load(load::Args),
    /// List every record of files and account for every byte
    Inspect(inspect::Args),
    /// Show what the archive contains and how loading went
    Status(status::Args),
    /// Take captures down: remove them everywhere and keep them out
    Forget(forget::Args),
    /// Copy a file without the records that were taken down
    Redact(redact::Args),
    /// Print all rows of a view
    Dump(dump::Args),
    /// Check, recompress, repair, deduplicate and split WARC files
    Warc(warc::Args),
    /// Show everything known about a URL
    Page(page::Args),
    /// List the pages that packages (WACZ) declare
    Pages(pages::Args),
    /// Compare two versions of a page
    Diff(diff::Args),
    /// List pages that link to a URL
    Inlinks(links::InlinksArgs),
    /// List the links of a page
    Outlinks(links::OutlinksArgs),
    /// Show a domain: its size, its top pages, who links to it
    Domain(domain::Args),
    /// Rank URLs by number of in-links, within one domain or overall
    Top(top::Args),
    /// Export the graph of links between domains or hosts
    Graph(graph::Args),
    /// List captures of a URL as CDXJ lines
    Cdx(cdx::Args),
    /// Report crawled resources, failures and duplicates
    Report(report::Args),
    /// Search the full text
    Search(search::Args),
    /// Export captures for other tools: WACZ, WARC, CDXJ, CDX, ZipNum
    Export(export::Args),
    /// Print the archived record of a URL
    Record(record::Args),
    /// Check which parts of an archived page are missing
    ReplayCheck(replay_check::Args),
    /// Manage access rules: which groups of people may see what
    Rights(Box<rights::Args>),
    /// Run SQL over facts and live views as tables
    Sql(sql::Args),
    /// Recompute every view and compare
    Verify(verify::Args),
    /// Rebuild views or the search index from their sources
    Rebuild(rebuild::Args),
    /// Serve pages, API and CDX over HTTP
    Serve(Box<serve::Args>),
    /// Offer the archive to language models as tools (MCP)
    Mcp(mcp::Args),
    /// Inspect and manage the cache of remote stores
    Cache(cache::Args),
    /// Keep files in a store replicated over several disks or machines
    Store(Box<store::Args>),
    /// Catalogue file systems: scan, find, sums, changes
    Files(Box<files::Args>),
    /// Check machine, ports, archive and store, and advise what to fix
    Doctor(doctor::Args),
    /// Try Weft on an archive of its own documentation
    Demo(demo::Args),
    /// Generate a synthetic web of any size
    Synth(synth::Args),
    /// Write a folder of HTML, Markdown or text as a WARC
    Pack(pack::Args),
    /// Print shell completions
    Completions(completions::Args),
    /// Write the manual pages
    #[command(visible_alias = "man")]
    Manual(manual::Args),
}

impl Command {
    /// Returns whether the command queries the archive, so that `--as` can apply to it.
    fn asks_as(&self) -> bool {
        match self {
            Command::Status(_)
            | Command::Dump(_)
            | Command::Page(_)
            | Command::Pages(_)
            | Command::Diff(_)
            | Command::Inlinks(_)
            | Command::Outlinks(_)
            | Command::Domain(_)
            | Command::Top(_)
            | Command::Graph(_)
            | Command::Report(_)
            | Command::Cdx(_)
            | Command::Search(_)
            | Command::Export(_)
            | Command::Record(_)
            | Command::ReplayCheck(_)
            | Command::Mcp(_) => true,
            Command::Rights(args) => args.asks_as(),
            _ => false,
        }
    }
}

/// Runs a command.
pub(crate) fn run(command: Command, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.groups.is_some() && !command.asks_as() {
        let what = "--as works only with commands that query an archive: status, dump, page, pages, \
                    inlinks, outlinks, domain, top, graph, cdx, report, search, export, record, \
                    replay-check, mcp, rights test; all others run as the owner, and SQL statements see \
                    everything";
        return Err(WrongUse(what.to_owned()).into());
    }
    match command {
        Command::Load(args) => load::run(args, context),
        Command::Inspect(args) => inspect::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Forget(args) => forget::run(&args, context),
        Command::Redact(args) => redact::run(&args, context),
        Command::Warc(args) => warc::run(&args, context),
        Command::Dump(args) => dump::run(&args, context),
        Command::Page(args) => page::run(args, context),
        Command::Pages(args) => pages::run(args, context),
        Command::Diff(args) => diff::run(args, context),
        Command::Inlinks(args) => links::run_inlinks(args, context),
        Command::Outlinks(args) => links::run_outlinks(args, context),
        Command::Domain(args) => domain::run(args, context),
        Command::Top(args) => top::run(args, context),
        Command::Graph(args) => graph::run(args, context),
        Command::Cdx(args) => cdx::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Report(args) => report::run(args, context),
        Command::Search(args) => search::run(args, context),
        Command::Record(args) => record::run(args, context),
        Command::ReplayCheck(args) => replay_check::run(&args, context),
        Command::Rights(args) => rights::run(*args, context),
        Command::Sql(args) => sql::run(args, context),
        Command::Verify(args) => verify::run(&args, context),
        Command::Rebuild(args) => rebuild::run(args, context),
        Command::Serve(args) => serve::run(&args, context),
        Command::Mcp(args) => mcp::run(&args, context),
        Command::Cache(args) => cache::run(args, context),
        Command::Store(args) => store::run(*args, context),
        Command::Files(args) => files::run(*args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Synth(args) => synth::run(&args, context),
        Command::Pack(args) => pack::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
        Command::Manual(args) => manual::run(&args, context),
    }
}
