//! `weft search --export`: writes all results to a file or to standard output.

use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use archive::question::SearchQuestion;
use export::{ExportFormat, ExportReport};
use indicatif::{ProgressBar, ProgressStyle};

use crate::ask;
use crate::context::Context;
use crate::flag_values::one_of;
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::{PartFile, is_standard_output, refuse_existing};
use crate::stop::Stop;
use crate::style::clean;
use crate::units::{count, counted};

/// Number of left-out results that are listed; the total is always printed.
const NAMED_MAX: usize = 10;

/// Flags of an export.
#[derive(Debug, clap::Args)]
// The flags of `weft search` have a group of this name already.
#[group(skip)]
pub(super) struct Args {
    /// Write all results instead of one page of them: jsonl, csv, parquet, cdxj (their captures),
    /// warc (their records)
    #[arg(long, visible_alias = "format", value_name = "FORMAT", value_parser = one_of(ExportFormat::ALL, ExportFormat::name), conflicts_with_all = ["after", "limit"])]
    pub(super) export: Option<ExportFormat>,
    /// File for --export; an existing one is not overwritten [default: standard output]
    #[arg(long, short, value_name = "FILE", requires = "export")]
    pub(super) output: Option<PathBuf>,
}

/// Writes all results.
pub(super) fn run(
    question: &SearchQuestion,
    format: ExportFormat,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let output = args.output.as_deref().filter(|path| !is_standard_output(path));
    let bar = bar(output.is_some());
    let stop = Stop::listen()?;
    let mut progress = |done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
        !stop.is_requested()
    };
    let exported = match output {
        Some(path) => {
            refuse_existing(path)?;
            let (part, file) = PartFile::begin(path)?;
            let mut out = BufWriter::new(file);
            let exported = export::write_results(&archive, question, format, &mut out, &mut progress)
                .map_err(anyhow::Error::new)
                .and_then(|exported| {
                    let file = out.into_inner().map_err(|error| error.into_error())?;
                    file.sync_all()?;
                    part.finish()?;
                    Ok(exported)
                });
            exported.with_context(|| format!("write {}", path.display()))?
        }
        None => {
            if !format.is_text() && std::io::stdout().is_terminal() {
                let no_text = format!(
                    "{format} is binary and cannot go to a terminal: name a file with -o FILE, or redirect \
                     the output"
                );
                return Err(WrongUse(no_text).into());
            }
            export::write_results(&archive, question, format, &mut context.out, &mut progress)?
        }
    };
    bar.finish_and_clear();
    report(&exported, output, ["result", "results"], context)
}

/// Returns a progress bar on standard error, hidden unless that is a terminal that the results are
/// not printed to.
pub(in crate::commands) fn bar(to_file: bool) -> ProgressBar {
    if !to_file && std::io::stdout().is_terminal() || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {human_pos} of {human_len} results  {eta}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Reports on standard error what could not be written, so that standard output contains only
/// results.
pub(in crate::commands) fn report(
    exported: &ExportReport,
    path: Option<&Path>,
    [one, many]: [&str; 2],
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if let Some(path) = path {
        if context.json {
            context.out.json(exported)?;
        } else {
            let written = counted(exported.results, one, many);
            let more = records_in_addition(exported);
            writeln!(context.out, "{written} written to {}{more}", path.display())?;
        }
    }
    if exported.index_only > 0 {
        let without = counted(exported.index_only, one, many);
        eprintln!("note: {without} not written: known only from an index, without a record (docs/cdx.md)");
    }
    for problem in exported.problems.iter().take(NAMED_MAX) {
        eprintln!("{}", clean(problem));
    }
    let more = exported.problems.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        eprintln!("and {} more problems", count(more as u64));
    }
    if exported.left_out_copies > 0 {
        let copies = counted(exported.left_out_copies, one, many);
        eprintln!("note: {copies} written from another file, because one cannot be copied into a WARC file");
    }
    if exported.left_out.is_empty() {
        return Ok(if exported.problems.is_empty() {
            Outcome::Done
        } else {
            Outcome::Losses
        });
    }
    let was = if exported.left_out.len() == 1 {
        "was"
    } else {
        "were"
    };
    let left_out = counted(exported.left_out.len() as u64, one, many);
    eprintln!("{left_out} {was} left out:");
    for left_out in exported.left_out.iter().take(NAMED_MAX) {
        eprintln!(
            "  {} of {}: {}",
            clean(&left_out.url),
            left_out.fetch_time,
            clean(&left_out.why)
        );
    }
    let more = exported.left_out.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        eprintln!("  and {} more", count(more as u64));
    }
    Ok(Outcome::Losses)
}

/// Returns the end of the summary: the numbers of records other than captures.
fn records_in_addition(exported: &ExportReport) -> String {
    let mut more = Vec::new();
    if exported.related > 0 {
        let related = counted(exported.related, "record", "records");
        more.push(format!("{related} of requests and metadata"));
    }
    if exported.attachments > 0 {
        more.push(counted(exported.attachments, "attachment", "attachments"));
    }
    if more.is_empty() {
        String::new()
    } else {
        format!(", with {}", more.join(" and "))
    }
}
