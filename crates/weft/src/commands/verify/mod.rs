//! `weft verify`: recomputes every view from the records and compares it row by row.
//!
//! The archive checks its own files and the tables derived from other tables ([`Check`]). Then the
//! inputs of the ledger are read again up to where they were loaded. Their rows are only counted
//! and fingerprinted: if ledger, quarantine and the fingerprints of all other views match, so do
//! their rows.
//!
//! If something differs, the inputs are read once more, into an empty archive next to this one. Two
//! archives of the same captures dump the same bytes, regardless of order and interruptions, so the
//! first difference between two dumps of a view is reported. The verified archive is only read.

mod compare;
mod files;
mod fingerprints;
mod rebuilt;
mod scope;

use std::collections::BTreeSet;
use std::io::{Seek, Write};
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use archive::question::{
    Check, CheckBody, DamageRow, Details, Dump, DumpFormat, FingerprintRow, LedgerRow, Quarantine,
    QuarantineRow, Status, StatusBody, TakedownRulesBody, TakedownRulesQuestion, View,
};
use archive::{Archive, TakedownRules};
use inputs::Sources;
use serde::Serialize;
use warc::reason;

use crate::ask;
use crate::commands::status::{ROWS_A_QUESTION, ledger_rows};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::stdout::Out;
use crate::stop::Stop;
use crate::store_args::StoreArgs;
use crate::style::clean;
use crate::units::{count, counted};
use compare::{Comparison, DumpComparison};
use rebuilt::{RebuildMode, RebuildSettings, RebuiltArchive};
use scope::{Comparand, Extent, Scope, UnknownInput};

/// Number of inputs that a list names as text. JSON and the table have all.
const LISTED: usize = 10;

const EXAMPLES: &str = "\
Examples:
  weft verify
  weft verify --archive /data/crawls --json
  weft verify --csv fixity.csv

Reads the whole index and all inputs again. It needs some space in a folder next to the archive (or
in the temporary folder if that is not writable), which is removed at the end. If a view differs,
the inputs are loaded into that folder to show the difference: this takes as long as loading them,
and as much space as the archive.
An input that was read in part (a file that is still being written) is compared up to there.
With --csv views are not compared: each input is read and its SHA-256 compared with the ledger, and
the table has a row for each (a PREMIS event \"fixity check\").
Exit code 1: a view differs, something in the index is damaged, or an input is missing or changed.";

/// Flags of `weft verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The store that holds inputs loaded from `store://`.
    #[command(flatten)]
    place: StoreArgs,
    /// Only check the digests of inputs, and write the results to a table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// All views, each after the views it depends on. `kinds`, `index_lines` and `versions` are the
/// additional details that answers show of captures, indexes and current versions.
const VIEWS: [Dump; 12] = [
    Dump::View(View::Ledger),
    Dump::View(View::Quarantine),
    Dump::View(View::Captures),
    Dump::Details(Details::Kinds),
    Dump::Details(Details::IndexLines),
    Dump::View(View::Pages),
    Dump::Details(Details::Versions),
    Dump::View(View::Links),
    Dump::View(View::Inlinks),
    Dump::View(View::Uris),
    Dump::View(View::Domains),
    Dump::View(View::Top),
];

/// Names of the compared totals, in the order of [`numbers`].
const TOTALS: [&str; 7] = [
    "records",
    "captures",
    "pages",
    "links",
    "uris",
    "domains",
    "quarantined",
];

/// Runs `weft verify`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    context.remote_inputs.use_given(&args.place);
    if let Some(path) = &args.csv {
        return files::run(path, context);
    }
    let archive = ask::open(context)?;
    let stop = Stop::listen()?;
    let (epoch, status) = status(&archive)?;
    let CheckBody {
        damages,
        fingerprints,
        mut notes,
    } = archive.ask(Check {})?.body;
    let rows = ledger_rows(&archive, None)?;
    let sources = context
        .remote_inputs
        .sources()
        .with_own(archive::own_inputs(&context.archive));
    let (views, unknown) = compare_with_inputs(&archive, &status, &fingerprints, &rows, &sources, &stop)?;
    let (epoch_after, _) = self::status(&archive)?;
    ensure!(
        epoch_after == epoch,
        "the archive changed during verification; run it again while no load runs"
    );
    notes.extend(rows.iter().filter_map(note));
    notes.extend(quarantine_note(&status));
    let report = Report {
        epoch,
        inputs: rows.len() as u64,
        same: damages.is_empty() && unknown.is_empty() && views.iter().all(Comparison::is_same),
        notes,
        unknown,
        damages,
        views,
    };
    if context.json {
        context.out.json(&report)?;
    } else {
        print(&report, context)?;
    }
    Ok(if report.same {
        Outcome::Done
    } else {
        Outcome::Losses
    })
}

/// Compares the archive with its inputs. Returns the views, and the inputs that are unknown.
fn compare_with_inputs(
    archive: &Archive,
    status: &StatusBody,
    fingerprints: &[FingerprintRow],
    rows: &[LedgerRow],
    sources: &Sources,
    stop: &Stop,
) -> anyhow::Result<(Vec<Comparison>, Vec<UnknownInput>)> {
    let kept_out = takedown_rules(archive)?;
    let digest_checked = digest_checked(archive, status)?;
    let load = |mode| {
        let how = RebuildSettings {
            mode,
            kept_out: &kept_out,
            digest_checked: &digest_checked,
        };
        RebuiltArchive::load(archive.dir(), rows, status, sources, stop, how)
    };
    // A damaged archive has no fingerprints. Its readable rows are compared.
    if !fingerprints.is_empty() {
        let rebuilt = load(RebuildMode::Fingerprints)?;
        if let Some(views) = fingerprints::compare_views(archive, status, fingerprints, rows, &rebuilt)? {
            return Ok((views, Vec::new()));
        }
    }
    let rebuilt = load(RebuildMode::AllViews)?;
    let scope = Scope::of(rows, &rebuilt.unknown);
    let views = compare_views(archive, status, &rebuilt, &scope)?;
    Ok((views, rebuilt.unknown))
}

/// The scope and the result of the comparison.
#[derive(Serialize)]
struct Report {
    epoch: u64,
    inputs: u64,
    /// Whether nothing differs, is damaged or unknown.
    same: bool,
    /// Parts that were not compared and need not be.
    notes: Vec<String>,
    /// Inputs whose records can no longer be read.
    unknown: Vec<UnknownInput>,
    damages: Vec<DamageRow>,
    views: Vec<Comparison>,
}

fn status(archive: &Archive) -> anyhow::Result<(u64, StatusBody)> {
    let answer = archive.ask(Status {})?;
    Ok((answer.epoch, answer.body))
}

/// Returns the rules of takedowns; captures they exclude are not expected in any view.
fn takedown_rules(archive: &Archive) -> anyhow::Result<TakedownRules> {
    let TakedownRulesBody { rules } = archive.ask(TakedownRulesQuestion {})?.body;
    serde_json::from_str(&rules).context("read the rules of takedowns")
}

/// Returns the names of inputs with a wrong declared digest in quarantine. A load with `--verify`
/// found them, so they are checked here too.
fn digest_checked(archive: &Archive, status: &StatusBody) -> anyhow::Result<BTreeSet<String>> {
    if status.quarantined == 0 {
        return Ok(BTreeSet::new());
    }
    let is_checked = |row: &QuarantineRow| {
        [reason::BLOCK_DIGEST_MISMATCH, reason::PAYLOAD_DIGEST_MISMATCH].contains(&row.reason.as_str())
    };
    let mut checked = BTreeSet::new();
    let mut after = None;
    loop {
        let question = Quarantine {
            input: None,
            after,
            limit: ROWS_A_QUESTION,
        };
        let body = archive.ask(question)?.body;
        // Every record may have such a row, so only the names are kept.
        checked.extend(body.rows.into_iter().filter(is_checked).map(|row| row.input));
        after = body.next;
        if after.is_none() {
            return Ok(checked);
        }
    }
}

/// Returns a note if something is in quarantine: views that agree with damaged inputs are still
/// those of damaged inputs.
fn quarantine_note(status: &StatusBody) -> Option<String> {
    (status.quarantined > 0).then(|| {
        format!(
            "{} damaged or not usable: weft status --quarantine",
            counted(status.quarantined, "record or part is", "records or parts are")
        )
    })
}

/// Returns a note if the input was not read to its end.
fn note(row: &LedgerRow) -> Option<String> {
    let input = &row.input;
    match Extent::of(row) {
        Extent::Whole => None,
        Extent::Nothing => Some(format!(
            "{input} is {}: the views contain nothing from it",
            row.state
        )),
        Extent::Beginning => Some(format!(
            "{input} is loaded up to byte {} of {}, and compared up to there",
            count(row.bytes_done),
            count(row.size)
        )),
    }
}

/// Compares every view that can be compared, and the totals.
fn compare_views(
    archive: &Archive,
    status: &StatusBody,
    rebuilt: &RebuiltArchive,
    scope: &Scope,
) -> anyhow::Result<Vec<Comparison>> {
    let mut views = Vec::new();
    for view in VIEWS {
        views.push(match scope.refuses(Comparand::Rows(view)) {
            Some(why) => Comparison::impossible(Comparand::Rows(view), why),
            None => compare_view(view, archive, rebuilt, scope)?,
        });
    }
    views.push(compare_totals(status, rebuilt, scope)?);
    Ok(views)
}

/// Dumps a view of the rebuilt archive to a file and compares the verified archive's dump with it.
fn compare_view(
    view: Dump,
    archive: &Archive,
    rebuilt: &RebuiltArchive,
    scope: &Scope,
) -> anyhow::Result<Comparison> {
    let describe = || format!("compare {view}");
    let mut expected = rebuilt.dump(view).with_context(describe)?;
    expected.rewind().with_context(describe)?;
    let compared = Comparand::Rows(view);
    let mut comparing = DumpComparison::new(compared, scope, expected);
    // If one table is unreadable, the others are still checked.
    if let Err(error) = archive.dump(view, DumpFormat::Tsv, &mut comparing) {
        return Ok(Comparison::impossible(compared, error.to_string()));
    }
    comparing.finish().with_context(describe)
}

/// Compares the totals that `weft status` shows, one per row.
fn compare_totals(found: &StatusBody, rebuilt: &RebuiltArchive, scope: &Scope) -> anyhow::Result<Comparison> {
    if let Some(why) = scope.refuses(Comparand::Totals) {
        return Ok(Comparison::impossible(Comparand::Totals, why));
    }
    let mut expected = rebuilt.file()?;
    write_totals(&status(&rebuilt.archive)?.1, &mut expected)?;
    expected.rewind()?;
    let mut comparing = DumpComparison::new(Comparand::Totals, scope, expected);
    write_totals(found, &mut comparing)?;
    Ok(comparing.finish()?)
}

fn write_totals(status: &StatusBody, out: &mut impl Write) -> std::io::Result<()> {
    for (name, number) in TOTALS.iter().zip(numbers(status)) {
        writeln!(out, "{name}\t{number}")?;
    }
    Ok(())
}

/// Returns the totals to compare.
fn numbers(status: &StatusBody) -> [u64; TOTALS.len()] {
    [
        status.records,
        status.captures,
        status.pages,
        status.links,
        status.uris,
        status.domains,
        status.quarantined,
    ]
}

fn print(report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    for view in &report.views {
        if let Some(why) = &view.not_compared {
            let verdict = out.style.bad("not compared");
            writeln!(out, "{:<11} {verdict}: {}", view.view, clean(why))?;
            continue;
        }
        let rows = counted(view.rows, "row", "rows");
        let Some(difference) = &view.difference else {
            writeln!(out, "{:<11} {rows}, the same", view.view)?;
            continue;
        };
        let verdict = out
            .style
            .bad(&format!("differs from row {} on", count(difference.row)));
        writeln!(out, "{:<11} {rows}, {verdict}", view.view)?;
        for (name, row) in [("expected", &difference.expected), ("found", &difference.found)] {
            let row = row
                .as_deref()
                .map_or("(no row)".to_owned(), |row| clean(&row.replace('\t', "  ")));
            writeln!(out, "  {name:<9} {row}")?;
        }
    }
    for note in report.notes.iter().take(LISTED) {
        writeln!(out, "note: {}", clean(note))?;
    }
    more(report.notes.len(), ("note", "notes"), out)?;
    for UnknownInput { input, why } in report.unknown.iter().take(LISTED) {
        let unknown = out.style.bad("could not be compared");
        writeln!(out, "{}: {unknown}: {}", clean(input), clean(why))?;
    }
    more(report.unknown.len(), ("such input", "such inputs"), out)?;
    for DamageRow { part, found, advice } in &report.damages {
        let damaged = out.style.bad("damaged");
        writeln!(out, "{part}: {damaged}: {}; {}", clean(found), clean(advice))?;
    }
    writeln!(out, "{} (epoch {})", verdict(report), count(report.epoch))?;
    Ok(())
}

/// Says how many items of a list are not printed.
fn more(all: usize, (one, several): (&str, &str), out: &mut Out) -> std::io::Result<()> {
    match all.saturating_sub(LISTED) as u64 {
        0 => Ok(()),
        hidden => writeln!(out, "{} more (--json lists all)", counted(hidden, one, several)),
    }
}

fn verdict(report: &Report) -> String {
    let inputs = counted(report.inputs, "input", "inputs");
    let damages = match report.damages.len() as u64 {
        0 => String::new(),
        number => format!(", and {} damaged", counted(number, "part is", "parts are")),
    };
    if !report.unknown.is_empty() {
        let unknown = report.unknown.len() as u64;
        return format!("{} of {inputs} could not be compared{damages}", count(unknown));
    }
    if report.views.iter().all(Comparison::is_same) {
        format!("every view matches {inputs}{damages}")
    } else {
        format!("not every view matches {inputs}{damages}")
    }
}
