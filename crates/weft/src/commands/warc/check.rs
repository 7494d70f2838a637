//! `weft warc check`: lists violations of the standard in files.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;

use anyhow::Context as _;
use inputs::{Sources, path_text};
use serde::Serialize;
use warc_tools::check::{Checker, Finding, rules};

use crate::commands::inspect::{Piece, files, package_note, pieces};
use crate::commands::store::content;
use crate::context::Context;
use crate::exit::print_error;
use crate::outcome::Outcome;
use crate::stderr::progress_line;
use crate::store_args::StoreArgs;
use crate::style::clean;
use crate::units::{count, counted};

const EXAMPLES: &str = "\
Examples:
  weft warc check crawl.warc.gz
  weft warc check --advice crawls/            also check recommendations of the standard
  weft warc check --json crawls/ | jq -r .rule | sort | uniq -c
  weft warc check --rules                     list all rules and their sources

Exit code 1: something was found, or a file could not be read.";

/// Flags of `weft warc check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files, folders of files, or addresses (s3://, https://, store://)
    #[arg(required_unless_present = "rules", value_name = "FILE")]
    inputs: Vec<OsString>,
    /// Also report deviations from recommendations of the standard
    #[arg(long)]
    advice: bool,
    /// Print the rules without checking files
    #[arg(long, conflicts_with_all = ["inputs", "advice"])]
    rules: bool,
    /// The store that holds `store://` inputs.
    #[command(flatten)]
    place: StoreArgs,
}

/// A finding and its file, for `--json`.
#[derive(Serialize)]
struct Row<'a> {
    file: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// A rule, for `--json`.
#[derive(Serialize)]
struct RuleRow {
    rule: &'static str,
    source: String,
    advice: bool,
    demands: &'static str,
}

/// Runs `weft warc check`. An unreadable file does not stop the others.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.rules {
        return print_rules(context);
    }
    context.remote_inputs.use_given(&args.place);
    let sources = context.remote_inputs.sources();
    let mut locations = files::expand(&args.inputs, &sources)?;
    skip_quarantine_files(&mut locations, &args.inputs);
    let mut checker = Checker::new(args.advice);
    let mut outcome = Outcome::Done;
    for piece in pieces(&locations, &sources) {
        let location = match &piece {
            Piece::File(location) => location,
            Piece::Member(part) => {
                package_note(part, context)?;
                &part.location
            }
            Piece::Note(part) => {
                package_note(part, context)?;
                if part.problem.is_some() {
                    outcome = Outcome::Losses;
                }
                continue;
            }
        };
        match file(location, &sources, &mut checker, context) {
            Ok(0) => {}
            Ok(_) => outcome = Outcome::Losses,
            Err(error) if context.out.closed() => return Err(error),
            Err(error) => {
                outcome = Outcome::Losses;
                context.out.flush()?;
                print_error(&error, context);
            }
        }
    }
    Ok(outcome)
}

/// Skips and reports quarantine files that `weft warc repair` put next to a file, unless they were
/// named explicitly.
fn skip_quarantine_files(locations: &mut Vec<String>, inputs: &[OsString]) {
    let all: HashSet<String> = locations.iter().cloned().collect();
    locations.retain(|location| {
        let is_named = inputs.iter().any(|input| path_text(input.as_ref()) == *location);
        let pieces = location.strip_suffix(".jsonl").unwrap_or(location);
        // A quarantine always consists of both files.
        let is_quarantine = pieces.ends_with(".quarantine")
            && all.contains(pieces)
            && all.contains(&format!("{pieces}.jsonl"));
        if is_quarantine && !is_named {
            progress_line(&format!(
                "{}: skipped, it is a quarantine of weft warc repair",
                clean(location)
            ));
        }
        !is_quarantine || is_named
    });
}

/// Checks a file. Returns the number of findings.
fn file(
    location: &str,
    sources: &Sources,
    checker: &mut Checker,
    context: &mut Context,
) -> anyhow::Result<u64> {
    let input = sources
        .open(location)
        .with_context(|| format!("read {location}"))?;
    let mut file = checker.file(Box::new(input), location)?;
    let bar = content::bar("checking", Some(file.size_bytes()), context.json);
    let mut found = 0;
    while let Some(findings) = file.next_findings()? {
        for finding in &findings {
            found += 1;
            bar.suspend(|| print(location, finding, context))?;
        }
        bar.set_position(file.position());
    }
    bar.finish_and_clear();
    if !context.json {
        let records = counted(file.records(), "record", "records");
        let verdict = match found {
            0 => "no findings".to_owned(),
            found => context.out.style.warn(&counted(found, "finding", "findings")),
        };
        writeln!(context.out, "{}: {records}, {verdict}", clean(location))?;
    }
    Ok(found)
}

fn print(location: &str, finding: &Finding, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        let row = Row {
            file: location,
            finding,
        };
        return Ok(context.out.json(&row)?);
    }
    let out = &mut context.out;
    let rule = if finding.advice {
        finding.rule.to_owned()
    } else {
        out.style.warn(finding.rule)
    };
    let id = finding.record_id.as_deref().unwrap_or_default();
    writeln!(
        out,
        "{} at {}: {rule}: {} [{}] {}",
        clean(location),
        finding.offset,
        clean(&finding.detail),
        finding.source,
        clean(id)
    )?;
    Ok(())
}

fn print_rules(context: &mut Context) -> anyhow::Result<Outcome> {
    let rows = rules::all().map(|rule| RuleRow {
        rule: rule.name,
        source: rule.source(None),
        advice: rule.advice,
        demands: rule.demands,
    });
    let mut advice = 0;
    for row in rows {
        advice += u64::from(row.advice);
        if context.json {
            context.out.json(&row)?
        } else {
            writeln!(context.out, "{:<26} {}  [{}]", row.rule, row.demands, row.source)?
        }
    }
    if !context.json {
        writeln!(
            context.out,
            "{} of these are checked only with --advice",
            count(advice)
        )?;
    }
    Ok(Outcome::Done)
}
