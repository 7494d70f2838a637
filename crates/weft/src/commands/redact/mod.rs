//! `weft redact`: copies an input without the records that takedowns exclude.

mod package;
mod uploads;

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use archive::question::{LedgerRow, LedgerState, TakedownRulesBody, TakedownRulesQuestion};
use archive::{Archive, OneInput, TakedownRules};
use export::{MemberRules, PackageCounts, Redaction, RedactionCounts, RedactionRules};
use indicatif::ProgressBar;
use inputs::{Sources, is_package, path_text};
use serde::Serialize;

pub(super) use uploads::notes_on_uploads;

use crate::ask;
use crate::commands::status::ledger_rows;
use crate::commands::store::content;
use crate::context::Context;
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::part_file::check_name;
use crate::style::clean;
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft redact crawls/x.warc.gz x-redacted.warc.gz --dry-run   what would be left out
  weft redact crawls/x.warc.gz x-redacted.warc.gz
  weft redact new.warc.gz out.warc.gz --collection news       as if loaded with this label
  weft redact crawl.wacz crawl-redacted.wacz                  a package, with its lists of pages
  weft --archive /archives/news redact x.warc y.warc --json

Takedowns are made by weft forget; those in force apply to any file, loaded or not. The copy
leaves out the captures that they cover, unusable records of the same URL or time, and the
requests, metadata and continuation records that belong to them. Everything else is copied byte
for byte, in order, including damage, and read back before the copy gets its name. Files whose
records share compressed members must be decompressed first. INPUT is not changed.
In a package (WACZ) this applies to the files of records and to the lists of pages. The copy has a
new index and a new description, without a signature. Other members, such as logs, are left out and
named. See docs/takedown.md.";

/// The beginning of a ZIP file with members.
const ZIP_MARK: &[u8] = b"PK\x03\x04";

/// Number of damaged spans listed; of further ones only the count is printed.
const DAMAGED_LISTED: usize = 10;

/// Flags of `weft redact`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File of records (WARC or ARC, compressed or not), or package (WACZ)
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
    /// What else is left out, if the file is a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'a PackageCounts>,
}

/// Bytes that belong to no record and were copied.
#[derive(Debug, Serialize)]
struct DamagedRecord<'a> {
    /// The member, if the file is a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<&'a str>,
    offset: u64,
    length: u64,
    reason: &'a str,
}

/// Runs `weft redact`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_out(args)?;
    let archive = ask::open(context)?;
    let rules = rules_of(&archive)?;
    let ledger = LedgerRows::of(&archive)?;
    let place = place_of(&args.input)?;
    let read = || format!("read {}", args.input.display());
    if is_package(&path_text(&place)) || begins_like_zip(&place).with_context(read)? {
        return package::run(args, &place, &rules, &ledger, context);
    }
    let place = path_text(&place);
    let input = OneInput::open(&place, &Sources::default(), Path::new("."));
    let input = input.with_context(read)?;
    let known = ledger.find(&input, &place);
    let is_known = known.is_known;
    let known = known.into_rules(args.collection.as_deref());
    let leave_out = RedactionRules {
        rules: &rules,
        collection: &known.collection,
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
    let records =
        |counts: RedactionCounts| counts.records_kept + counts.records_selected + counts.records_concerned;
    ensure!(
        redaction.damaged().is_empty() || records(redaction.counts()) > 0,
        "{} has no WARC or ARC record: it is unknown what a copy may keep",
        args.input.display()
    );
    if !args.dry_run {
        write(args, &input, &redaction, leave_out, context)?;
    }
    let damaged = damaged(&redaction, None);
    let report = report(args, is_known, redaction.counts(), damaged.collect());
    report.print(context)
}

/// Returns the rules of all takedowns.
fn rules_of(archive: &Archive) -> anyhow::Result<TakedownRules> {
    let TakedownRulesBody { rules } = archive.ask(TakedownRulesQuestion {})?.body;
    serde_json::from_str(&rules).context("read the rules of takedowns")
}

/// Returns the absolute path of the input.
fn place_of(input: &Path) -> anyhow::Result<PathBuf> {
    let place = input.canonicalize();
    if let (Err(_), Some((package, _))) = (&place, path_text(input).split_once('#'))
        && is_package(package)
    {
        let member = format!(
            "{} is a member of a package, which cannot be replaced alone: redact the package",
            input.display()
        );
        return Err(NotFound(member).into());
    }
    place.with_context(|| format!("read {}", input.display()))
}

/// Returns whether a file is a ZIP file. Without its directory it would pass for damaged records,
/// which are copied.
fn begins_like_zip(place: &Path) -> std::io::Result<bool> {
    let mut beginning = Vec::new();
    let file = inputs::open_file(place)?;
    file.take(ZIP_MARK.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == ZIP_MARK)
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

/// What the archive knows about an input.
#[derive(Debug, Default)]
struct LedgerMatch {
    is_known: bool,
    /// The label of its collection, possibly empty.
    collection: Option<String>,
    /// Whether the whole input is taken down.
    whole: bool,
}

impl LedgerMatch {
    /// Returns what takedowns mean for the input. `collection` is its label if the ledger does not
    /// know it.
    fn into_rules(self, collection: Option<&str>) -> MemberRules {
        MemberRules {
            collection: self
                .collection
                .or_else(|| collection.map(str::to_owned))
                .unwrap_or_default(),
            whole: self.whole,
        }
    }
}

/// The ledger, to look inputs up.
struct LedgerRows {
    rows: Vec<LedgerRow>,
    taken_down: Vec<LedgerRow>,
}

impl LedgerRows {
    fn of(archive: &Archive) -> anyhow::Result<LedgerRows> {
        Ok(LedgerRows {
            rows: ledger_rows(archive, None)?,
            taken_down: ledger_rows(archive, Some(LedgerState::TakenDown))?,
        })
    }

    /// Looks an input up by content, else by location, since it may have grown since it was loaded.
    fn find(&self, input: &OneInput, place: &str) -> LedgerMatch {
        let is_it = |row: &&LedgerRow| row.digest == input.digest();
        let is_there = |row: &&LedgerRow| row.location == place;
        let found = self.rows.iter().find(is_it);
        let found = found.or_else(|| self.rows.iter().find(is_there));
        found.map_or_else(LedgerMatch::default, |row| LedgerMatch {
            is_known: true,
            collection: Some(row.collection.clone()),
            whole: self
                .taken_down
                .iter()
                .any(|whole| whole.location == row.location && whole.digest == row.digest),
        })
    }
}

/// Fails if the output is the input itself, or an existing file without `--force`.
fn check_out(args: &Args) -> anyhow::Result<()> {
    check_name(&args.out)?;
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

fn report<'a>(
    args: &Args,
    known: bool,
    counts: RedactionCounts,
    damaged: Vec<DamagedRecord<'a>>,
) -> Report<'a> {
    Report {
        input: path_text(&args.input),
        out: path_text(&args.out),
        dry_run: args.dry_run,
        known,
        counts,
        damaged,
        package: None,
    }
}

fn damaged<'a>(redaction: &'a Redaction, member: Option<&'a str>) -> impl Iterator<Item = DamagedRecord<'a>> {
    redaction
        .damaged()
        .iter()
        .map(move |(span, defect)| DamagedRecord {
            member,
            offset: span.offset,
            length: span.length,
            reason: defect.reason,
        })
}

impl Report<'_> {
    fn print(&self, context: &mut Context) -> anyhow::Result<Outcome> {
        if context.json {
            context.out.json(self)?;
        } else {
            print(self, context)?;
        }
        Ok(Outcome::Done)
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
    if let Some(package) = report.package {
        print_package(package, context)?;
    }
    let out = &mut context.out;
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
    print_damaged(&report.damaged, context)
}

fn print_damaged(spans: &[DamagedRecord<'_>], context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    for damaged in spans.iter().take(DAMAGED_LISTED) {
        let member = damaged.member.map(|member| format!(" of {}", clean(member)));
        writeln!(
            out,
            "{} at {}{}, copied as they are: {}",
            bytes(damaged.length),
            damaged.offset,
            member.unwrap_or_default(),
            damaged.reason
        )?;
    }
    if spans.len() > DAMAGED_LISTED {
        let more = (spans.len() - DAMAGED_LISTED) as u64;
        writeln!(
            out,
            "and {} more, copied as they are",
            counted(more, "damaged span", "damaged spans")
        )?;
    }
    Ok(())
}

fn print_package(package: &PackageCounts, context: &mut Context) -> anyhow::Result<()> {
    writeln!(
        context.out,
        "lists of pages: {}, {} left out; the index and the description are new, without a signature",
        counted(package.pages_kept, "page", "pages"),
        count(package.pages_left_out)
    )?;
    if package.lines_left_out > 0 {
        let lines = counted(package.lines_left_out, "line", "lines");
        writeln!(context.out, "{lines} of the lists left out: no page")?;
    }
    if package.members_left_out.is_empty() {
        return Ok(());
    }
    let members = package.members_left_out.len() as u64;
    writeln!(
        context.out,
        "{} not copied, because they may name pages that are taken down:",
        counted(members, "other member", "other members")
    )?;
    for member in &package.members_left_out {
        writeln!(context.out, "  {}", clean(member))?;
    }
    Ok(())
}
