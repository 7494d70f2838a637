//! `weft inspect`: lists every record of files and accounts for every byte. It needs no archive.
//!
//! Invariant, checked for each file: records, padding and quarantined bytes add up to the size of
//! the file.

mod account;
pub(super) mod files;
mod row;

use std::ffi::OsString;
use std::io::Write;

use anyhow::Context as _;
use inputs::{PackagePart, Sources, is_package, package_parts};
use serde_json::json;
use warc::{Entry, Input as _, Reader, ReaderSettings};

use crate::context::Context;
use crate::exit::print_error;
use crate::outcome::Outcome;
use crate::store_args::StoreArgs;
use crate::style::clean;
use crate::units::counted;
use account::Account;
use row::Row;

const EXAMPLES: &str = "\
Examples:
  weft inspect crawl.warc.gz
  weft inspect --summary crawls/
  weft inspect --summary s3://bucket/crawls/
  weft inspect crawl.wacz                   the members of a package, compared with datapackage.json
  weft inspect --json crawl.warc.gz | jq -r 'select(.type==\"response\") | .target'

Exit code 1: a file has defects, bytes that could not be read as records, or
records that a load would reject (for example, because the URL is invalid).";

/// Flags of `weft inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders of files, or addresses (s3://, https://, store://)
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,
    /// Print only the totals; digests are verified only with --verify
    #[arg(long)]
    summary: bool,
    /// Verify the digests that records declare (the default without --summary)
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Do not verify digests
    #[arg(long)]
    no_verify: bool,
    /// The store that holds `store://` inputs.
    #[command(flatten)]
    place: StoreArgs,
}

impl Args {
    fn verifies(&self) -> bool {
        self.verify || !(self.summary || self.no_verify)
    }
}

/// Runs `weft inspect`. An unreadable file does not stop the others.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    context.remote_inputs.use_given(&args.place);
    let sources = context.remote_inputs.sources();
    let locations = files::expand(&args.inputs, &sources)?;
    let mut outcome = Outcome::Done;
    let mut total = Account::default();
    let mut files_read = 0;
    for piece in pieces(&locations, &sources) {
        let read = match &piece {
            Piece::File(location) => file(location, &sources, files_read > 0, args, context),
            Piece::Member(part) => member(part, &sources, files_read > 0, args, context),
            Piece::Note(part) => {
                context.out.flush()?;
                package_note(part, context)?;
                if part.problem.is_some() {
                    outcome = Outcome::Losses;
                }
                continue;
            }
        };
        match read {
            Ok(account) => {
                files_read += 1;
                total.add(&account);
            }
            Err(error) if context.out.closed() => return Err(error),
            Err(error) => {
                outcome = Outcome::Losses;
                context.out.flush()?;
                print_error(&error, context);
            }
        }
    }
    if files_read > 1 && !context.json {
        let files = context.out.style.bold(&counted(files_read, "file", "files"));
        writeln!(context.out, "\n{files}")?;
        total.print(args.verifies(), context)?;
    }
    Ok(if total.is_clean() {
        outcome
    } else {
        Outcome::Losses
    })
}

/// One item to inspect: a file, a member of a package, or a problem with a package.
pub(super) enum Piece {
    File(String),
    Member(PackagePart),
    Note(PackagePart),
}

/// Returns the items of files, with packages replaced by their members.
pub(super) fn pieces(locations: &[String], sources: &Sources) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for location in locations {
        if !is_package(location) {
            pieces.push(Piece::File(location.clone()));
            continue;
        }
        for part in package_parts(location, sources) {
            pieces.push(if part.problem.is_some() || part.location.is_empty() {
                Piece::Note(part)
            } else {
                Piece::Member(part)
            });
        }
    }
    pieces
}

/// Prints how the content of a package deviates from its declarations, and who signed it.
pub(super) fn package_note(part: &PackagePart, context: &mut Context) -> anyhow::Result<()> {
    for text in part.problem.iter().chain(&part.warnings) {
        if context.json {
            let kind = if part.problem.is_some() {
                "problem"
            } else {
                "warning"
            };
            context.out.json(&json!({ "package": part.name, kind: text }))?;
        } else {
            let word = match part.problem {
                Some(_) => context.out.style.bad("error:"),
                None => context.out.style.warn("warning:"),
            };
            writeln!(context.out, "{word} {}: {}", clean(&part.name), clean(text))?;
        }
    }
    for note in &part.notes {
        if context.json {
            context.out.json(&json!({ "package": part.name, "note": note }))?;
        } else {
            writeln!(context.out, "note: {}: {}", clean(&part.name), clean(note))?;
        }
    }
    Ok(())
}

/// Inspects a member of a package, and checks its digest against the declared one.
fn member(
    part: &PackagePart,
    sources: &Sources,
    after_another: bool,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Account> {
    let account = file(&part.location, sources, after_another, args, context)?;
    let mut part = part.clone();
    let other = part
        .digest_if_other(sources)
        .with_context(|| format!("read {}", part.name))?;
    let declared = part.declared.clone().unwrap_or_default();
    match other {
        Some(found) => part.warnings.push(format!(
            "found {found}, expected {declared} from datapackage.json"
        )),
        None if declared.is_empty() || context.json => {}
        None => writeln!(
            context.out,
            "digest matches datapackage.json: {}",
            clean(&declared)
        )?,
    }
    package_note(&part, context)?;
    Ok(account)
}

fn file(
    location: &str,
    sources: &Sources,
    after_another: bool,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Account> {
    let describe = || format!("read {location}");
    let input = sources.open(location).with_context(describe)?;
    let size = input.size().with_context(describe)?;
    let mut settings = ReaderSettings::default();
    settings.verify_digests = args.verifies();
    let mut reader = Reader::from_input(Box::new(input), location, settings)?;
    let mut account = Account::of_size(size);
    if !context.json {
        if after_another {
            writeln!(context.out)?;
        }
        let name = context.out.style.bold(&clean(location));
        writeln!(context.out, "{name}")?;
        if !args.summary {
            row::heads(&mut context.out)?;
        }
    }
    while let Some(entry) = reader.next_entry()? {
        entry_row(location, &entry, &mut account, args, context)?;
        if let Entry::Record(record) = entry {
            reader.recycle(record);
        }
    }
    if context.json {
        let sums = account.to_json(location, args.verifies());
        context.out.json(&sums)?;
    } else {
        account.print(args.verifies(), context)?;
    }
    Ok(account)
}

fn entry_row(
    location: &str,
    entry: &Entry,
    account: &mut Account,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<()> {
    let Some(row) = Row::of(entry) else { return Ok(()) };
    account.count(entry, &row);
    match (context.json, args.summary) {
        (true, false) => context.out.json(&row.to_json(location))?,
        (false, false) => row.print(&mut context.out)?,
        (_, true) => {}
    }
    Ok(())
}
