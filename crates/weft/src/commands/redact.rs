//! `weft redact`: copies an input without the records that takedowns exclude.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use archive::question::{LedgerRow, LedgerState, TakedownRulesBody, TakedownRulesQuestion};
use archive::{Archive, OneInput, TakedownRules};
use export::{Redaction, RedactionCounts, RedactionRules};
use indicatif::ProgressBar;
use inputs::{Sources, path_text};
use serde::Serialize;

use crate::ask;
use crate::commands::status::ledger_rows;
use crate::commands::store::content;
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft redact crawls/x.warc.gz x-redacted.warc.gz --dry-run   what would be left out
  weft redact crawls/x.warc.gz x-redacted.warc.gz
  weft redact new.warc.gz out.warc.gz --collection news       as if loaded with this label
  weft --archive /archives/news redact x.warc y.warc --json

Takedowns are made by weft forget; those in force apply to any file, loaded or not. The copy
leaves out the captures that they cover, unusable records of the same URL or time, and the
requests, metadata and continuation records that belong to them. Everything else is copied byte
for byte, in order, including damage, and read back before the copy gets its name. Files whose
records share compressed members must be decompressed first. INPUT is not changed.
See docs/takedown.md.";

/// Number of damaged spans listed; of further ones only the count is printed.
const DAMAGED_LISTED: usize = 10;

/// Flags of `weft redact`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File of records (WARC or ARC, compressed or not)
    input: PathBuf,
    /// File to write
    out: PathBuf,
    /// Collection to assume for a file that the archive does not know
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
    /// Report what would be left out, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    input: String,
    out: String,
    dry_run: bool,
    /// Whether the archive knows this file, by its content or its location.
    known: bool,
    #[serde(flatten)]
    counts: RedactionCounts,
    damaged: Vec<DamagedRecord<'a>>,
}

/// Bytes that belong to no record and were copied.
#[derive(Debug, Serialize)]
struct DamagedRecord<'a> {
    offset: u64,
    length: u64,
    reason: &'a str,
}

/// Runs `weft redact`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_out(args)?;
    let archive = ask::open(context)?;
    let TakedownRulesBody { rules } = archive.ask(TakedownRulesQuestion {})?.body;
    let rules: TakedownRules = serde_json::from_str(&rules).context("read the rules of takedowns")?;
    let place = args.input.canonicalize();
    let place = place.with_context(|| format!("read {}", args.input.display()))?;
    let place = path_text(&place);
    let input = OneInput::open(&place, &Sources::default(), Path::new("."));
    let input = input.with_context(|| format!("read {}", args.input.display()))?;
    let known = LedgerMatch::of(&archive, &input, &place)?;
    let leave_out = RedactionRules {
        rules: &rules,
        collection: known
            .collection
            .as_deref()
            .or(args.collection.as_deref())
            .unwrap_or_default(),
        whole: known.whole,
    };
    let bar = content::bar("reading", Some(input.size()), context.json);
    let redaction = Redaction::plan(
        input.input(),
        &args.input.display().to_string(),
        leave_out,
        |at| {
            bar.set_position(at);
        },
    );
    bar.finish_and_clear();
    let redaction = redaction?;
    if !args.dry_run {
        write(args, &input, &redaction, leave_out, context)?;
    }
    let report = report(args, known.is_known, &redaction);
    if context.json {
        context.out.json(&report)?
    } else {
        print(&report, context)?
    }
    Ok(Outcome::Done)
}

fn write(
    args: &Args,
    input: &OneInput,
    redaction: &Redaction,
    leave_out: RedactionRules<'_>,
    context: &Context,
) -> anyhow::Result<()> {
    let changed = || {
        format!(
            "{} changed while it was read; nothing was written. Run weft redact again",
            args.input.display()
        )
    };
    ensure!(input.is_unchanged(), changed());
    // Twice the size: the copy is written and read back.
    let bar: ProgressBar = content::bar("writing", Some(2 * redaction.counts().kept_bytes), context.json);
    let written = redaction.write(&*input.input(), &args.out, args.force, leave_out, |bytes| {
        bar.inc(bytes)
    });
    bar.finish_and_clear();
    Ok(written?)
}

/// What the archive knows about the input.
#[derive(Debug, Default)]
struct LedgerMatch {
    is_known: bool,
    /// The label of its collection, possibly empty.
    collection: Option<String>,
    /// Whether the whole input is taken down.
    whole: bool,
}

impl LedgerMatch {
    /// Looks the input up by content, else by location, since it may have grown since it was
    /// loaded.
    fn of(archive: &Archive, input: &OneInput, place: &str) -> anyhow::Result<LedgerMatch> {
        let is_it = |row: &&LedgerRow| row.digest == input.digest();
        let is_there = |row: &&LedgerRow| row.location == place;
        let rows = ledger_rows(archive, None)?;
        let row = rows.iter().find(is_it).or_else(|| rows.iter().find(is_there));
        let taken_down = ledger_rows(archive, Some(LedgerState::TakenDown))?;
        Ok(row.map_or_else(LedgerMatch::default, |row| LedgerMatch {
            is_known: true,
            collection: Some(row.collection.clone()),
            whole: taken_down
                .iter()
                .any(|whole| whole.location == row.location && whole.digest == row.digest),
        }))
    }
}

/// Fails if the output is the input itself, or an existing file without `--force`.
fn check_out(args: &Args) -> anyhow::Result<()> {
    let Ok(there) = args.out.metadata() else {
        return Ok(());
    };
    let out = args.out.display();
    let same = args.input.metadata();
    if same.is_ok_and(|input| (input.dev(), input.ino()) == (there.dev(), there.ino())) {
        return Err(WrongUse(format!("{out} is the input file; give the copy another name")).into());
    }
    if !there.is_file() {
        return Err(WrongUse(format!("{out} exists and is not a file; name a file to write")).into());
    }
    if !args.force && !args.dry_run {
        return Err(WrongUse(format!("{out} already exists; --force replaces it")).into());
    }
    Ok(())
}

fn report<'a>(args: &Args, known: bool, redaction: &'a Redaction) -> Report<'a> {
    let damaged = redaction.damaged().iter().map(|(span, defect)| DamagedRecord {
        offset: span.offset,
        length: span.length,
        reason: defect.reason,
    });
    Report {
        input: path_text(&args.input),
        out: path_text(&args.out),
        dry_run: args.dry_run,
        known,
        counts: redaction.counts(),
        damaged: damaged.collect(),
    }
}

fn print(report: &Report<'_>, context: &mut Context) -> anyhow::Result<()> {
    let counts = &report.counts;
    let out = &mut context.out;
    let gone = counts.records_selected + counts.records_concerned;
    let verb = match (report.dry_run, gone) {
        (true, _) => "would be",
        (false, 1) => "was",
        (false, _) => "were",
    };
    writeln!(
        out,
        "{} {verb} left out of {}: {} covered by takedowns, {} that belong to them",
        counted(gone, "record", "records"),
        clean(&report.input),
        count(counts.records_selected),
        count(counts.records_concerned),
    )?;
    writeln!(
        out,
        "{}: {}, {} of {}",
        clean(&report.out),
        counted(counts.records_kept, "record", "records"),
        bytes(counts.kept_bytes),
        bytes(counts.input_bytes)
    )?;
    if !report.known {
        writeln!(
            out,
            "the archive does not know this file: takedowns of inputs do not apply, and those of \
             collections only with --collection"
        )?;
    }
    if counts.records_naming > 0 {
        let naming = counted(counts.records_naming, "record", "records");
        writeln!(out, "{naming} in the copy refer by URL or id to left-out records")?;
    }
    for damaged in report.damaged.iter().take(DAMAGED_LISTED) {
        writeln!(
            out,
            "{} at {}, copied as they are: {}",
            bytes(damaged.length),
            damaged.offset,
            damaged.reason
        )?;
    }
    if report.damaged.len() > DAMAGED_LISTED {
        let more = (report.damaged.len() - DAMAGED_LISTED) as u64;
        writeln!(
            out,
            "and {} more, copied as they are",
            counted(more, "damaged span", "damaged spans")
        )?;
    }
    Ok(())
}
