//! `weft graph`: exports links between domains or hosts to a file for other programs.

use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::Archive;
use archive::question::{GraphBy, GraphPart};
use export::{Graph, GraphBuilder, GraphFormat, GraphSelection, GraphTotals};
use serde::Serialize;

use super::search::export::bar;
use crate::ask;
use crate::context::Context;
use crate::flag_values::{date, one_of, refuse_reversed, whole_from};
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::{PartFile, is_standard_output, refuse_existing};
use crate::stop::Stop;
use crate::units::{count, counted};

const EXAMPLES: &str = "\
Examples:
  weft graph -o domains.gexf                                    for Gephi
  weft graph --by host --top 1000 -o hosts.graphml              the 1,000 largest hosts
  weft graph --from 2012 --to 2014-06 --collection news -o news.parquet
  weft graph --min-links 10 -o links --format csv

The links are those of current versions, as in weft dump links: one per page and URL that it
links to. --from and --to select links by when the current version of the linking page was
captured. In tables (csv, parquet) links within a domain or host are rows with the same source
and target, so the rows add up to all links; in gexf and graphml they are the node's attribute
links_within. Each edge has the times at which its earliest and latest pages were captured; in gexf
it exists between them.";

/// Flags of `weft graph`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What a node represents: domain (registered) or host
    #[arg(long, value_name = "WHAT", default_value = "domain", value_parser = one_of(GraphBy::ALL, GraphBy::name), hide_possible_values = true)]
    by: GraphBy,
    /// Only links of pages captured at or after this time
    #[arg(long, value_name = "TIME", value_parser = date())]
    from: Option<String>,
    /// Only links of pages captured at or before this time; 2014 means its end
    #[arg(long, value_name = "TIME", value_parser = date())]
    to: Option<String>,
    /// Only links of pages in this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Drop edges with fewer links
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole_from(0_u64, 10))]
    min_links: u64,
    /// Only the N nodes with the most links from and to others, and the edges among them
    #[arg(long, value_name = "N", value_parser = whole_from(1_usize, 100))]
    top: Option<usize>,
    /// File to write; an existing one is not overwritten, - is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// gexf, graphml, parquet or csv [default: from the file's extension]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(GraphFormat::ALL, GraphFormat::name), hide_possible_values = true)]
    format: Option<GraphFormat>,
}

/// The result as printed by `--json`.
#[derive(Serialize)]
struct GraphReport<'a> {
    file: String,
    format: &'static str,
    by: &'static str,
    #[serde(flatten)]
    totals: &'a GraphTotals,
}

/// Runs `weft graph`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let path = &args.output;
    let Some(format) = args.format.or_else(|| GraphFormat::of_path(path)) else {
        let unknown = format!(
            "cannot tell the format from the name {}: use .gexf, .graphml, .parquet or .csv, or set \
             --format",
            path.display()
        );
        return Err(WrongUse(unknown).into());
    };
    refuse_reversed(args.from.as_deref(), args.to.as_deref())?;
    if is_standard_output(path) {
        return run_to_standard_output(&args, format, context);
    }
    refuse_existing(path)?;
    let archive = ask::open(context)?;
    let mut graph = build(&archive, &args)?;
    let (part, file) = PartFile::begin(path)?;
    let written = write(&mut graph, format, file).and_then(|()| Ok(part.finish()?));
    written.with_context(|| format!("write {}", path.display()))?;
    let totals = graph.totals();
    if context.json {
        context.out.json(&GraphReport {
            file: path.display().to_string(),
            format: format.name(),
            by: args.by.name(),
            totals: &totals,
        })?;
    } else {
        print(&args, &totals, context)?;
    }
    Ok(Outcome::Done)
}

fn run_to_standard_output(
    args: &Args,
    format: GraphFormat,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if context.json {
        let both = "--json and -o - cannot be used together: both print to standard output";
        return Err(WrongUse(both.to_owned()).into());
    }
    if format == GraphFormat::Parquet && std::io::stdout().is_terminal() {
        let binary = "parquet is binary and cannot go to a terminal: redirect the output";
        return Err(WrongUse(binary.to_owned()).into());
    }
    let archive = ask::open(context)?;
    build(&archive, args)?.write(format, &mut context.out)?;
    Ok(Outcome::Done)
}

fn build(archive: &Archive, args: &Args) -> anyhow::Result<Graph> {
    ask::note_unknown_collection(archive, args.collection.as_deref())?;
    let question = GraphPart {
        by: args.by,
        from: args.from.clone(),
        to: args.to.clone(),
        collection: args.collection.clone(),
        after: None,
    };
    let (bar, stop) = (bar(true), Stop::listen()?);
    let mut builder = GraphBuilder::new(question, &temporary_folder(&args.output));
    while builder.next(&|question| archive.ask(question))? {
        bar.set_length(builder.pages());
        bar.set_position(builder.pages());
        if stop.is_requested() {
            anyhow::bail!(
                "stopped after {}; nothing was written",
                counted(builder.pages(), "page", "pages")
            );
        }
    }
    let selection = GraphSelection {
        links_min: args.min_links,
        nodes_max: args.top,
    };
    let graph = builder.finish(selection)?;
    bar.finish_and_clear();
    Ok(graph)
}

/// Returns the directory for temporary files: the output's own, which has space for it.
fn temporary_folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn write(graph: &mut Graph, format: GraphFormat, file: File) -> anyhow::Result<()> {
    let mut out = BufWriter::new(file);
    graph.write(format, &mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(())
}

fn print(args: &Args, totals: &GraphTotals, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let (one, many) = match args.by {
        GraphBy::Domain => ("domain", "domains"),
        GraphBy::Host => ("host", "hosts"),
    };
    writeln!(
        out,
        "{} and {} from {} of {} written to {}",
        counted(totals.nodes, one, many),
        counted(totals.edges, "edge", "edges"),
        counted(totals.links, "link", "links"),
        counted(totals.pages, "page or redirect", "pages and redirects"),
        args.output.display()
    )?;
    if totals.epoch_first != totals.epoch_last {
        writeln!(
            out,
            "note: there was a load meanwhile: pages are of epochs {} to {}",
            count(totals.epoch_first),
            count(totals.epoch_last)
        )?;
    }
    Ok(())
}
