//! `weft synth`: generates a synthetic web.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use generate::synth::{self, Error, Format, Report, Settings};
use indicatif::{ProgressBar, ProgressStyle};

use crate::context::Context;
use crate::flag_values::{choice, whole, whole_from};
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::check_name;
use crate::style::clean;
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft synth --pages 10000 --seed 1 --format warc web.warc.gz
  weft synth --pages 1000000 --seed 7 --format wat --files 8 web.wat.gz

The same number of pages, seed and share of re-crawls give the same bytes on every machine.";

/// Flags of `weft synth`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of page visits, including re-crawls
    #[arg(long, value_name = "N", value_parser = whole(1_u64..=1 << 32, 10_000))]
    pages: u64,
    /// Random seed; each seed gives a different web
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = whole_from(0_u64, 1))]
    seed: u64,
    /// Format: responses with HTML, or their metadata in Common Crawl's form
    #[arg(long, default_value = "warc", value_parser = choice([("warc", Format::Warc), ("wat", Format::Wat)]))]
    format: Format,
    /// Number of visits per thousand that re-crawl an earlier page, with some links changed
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(0_u64..=900, 100))]
    recrawls_permille: u64,
    /// Number of files to write; several are numbered: web-00000.wat.gz and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole_from(1_u64, 8))]
    files: u64,
    /// File to write
    out: PathBuf,
}

/// Runs `weft synth`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_name(&args.out)?;
    let settings = Settings {
        pages: args.pages,
        seed: args.seed,
        format: args.format,
        recrawls_permille: args.recrawls_permille,
        files: args.files,
        threads: std::thread::available_parallelism().map_or(2, usize::from),
    };
    let bar = bar(args.pages);
    let written = synth::write(&settings, &args.out, &mut |pages| bar.set_position(pages));
    bar.finish_and_clear();
    let report = written.map_err(|error| match error {
        Error::Setting { .. } => anyhow::Error::new(WrongUse(error.to_string())),
        error => error.into(),
    })?;
    if context.json {
        context.out.json(&report)?;
    } else {
        print(&report, context)?;
    }
    Ok(Outcome::Done)
}

fn bar(pages: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {human_pos} of {human_len} pages")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(pages).with_style(style.progress_chars("=> "))
}

fn print(report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    for file in &report.files {
        writeln!(out, "{}", clean(&file.display().to_string()))?;
    }
    writeln!(
        out,
        "{} ({} of them again), {} ({} to other domains), {}",
        counted(report.pages, "page", "pages"),
        count(report.recrawls),
        counted(report.links, "link", "links"),
        count(report.links_external),
        bytes(report.bytes)
    )?;
    Ok(())
}
