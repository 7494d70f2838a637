//! `weft inspect`: every record of files, and where every byte of them went. Needs no archive.
//!
//! Invariant, checked for each file: records, padding and quarantined bytes add up to the file's size.

mod account;
mod files;
mod row;

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use warc::{Entry, Reader, ReaderSettings};

use crate::context::Context;
use crate::exit::Outcome;
use crate::style::clean;
use crate::units::counted;
use account::Account;
use row::Row;

const EXAMPLES: &str = "\
Examples:
  weft inspect crawl.warc.gz
  weft inspect --summary crawls/
  weft inspect --json crawl.warc.gz | jq -r 'select(.type==\"response\") | .target'

Exit code 1: a file has defects or bytes that could not be read as records.";

/// Flags of `weft inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, or folders of files
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<std::path::PathBuf>,
    /// Print only the sums
    #[arg(long)]
    summary: bool,
    /// Check the digests that records declare (the default)
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Do not check digests
    #[arg(long)]
    no_verify: bool,
}

/// Runs `weft inspect`. A file that cannot be read does not stop the others.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let paths = files::expand(&args.inputs)?;
    let mut outcome = Outcome::Done;
    let mut total = Account::default();
    let mut files_read = 0;
    for path in &paths {
        match file(path, files_read > 0, args, context) {
            Ok(account) => {
                files_read += 1;
                total.add(&account);
            }
            Err(error) if context.out.closed() => return Err(error),
            Err(error) => {
                outcome = Outcome::Losses;
                context.out.flush()?;
                let label = context.err_style.bad("error:");
                // Nothing is left to do if standard error is closed as well.
                let _ = writeln!(std::io::stderr(), "{label} {}", clean(&format!("{error:#}")));
            }
        }
    }
    if files_read > 1 && !context.json {
        let files = context.out.style.bold(&counted(files_read, "file", "files"));
        writeln!(context.out, "\n{files}")?;
        total.print(context)?;
    }
    Ok(if total.is_clean() {
        outcome
    } else {
        Outcome::Losses
    })
}

fn file(path: &Path, after_another: bool, args: &Args, context: &mut Context) -> anyhow::Result<Account> {
    let size = std::fs::metadata(path)
        .with_context(|| format!("read {}", path.display()))?
        .len();
    let mut settings = ReaderSettings::default();
    settings.verify_digests = !args.no_verify;
    let mut reader = Reader::open(path, settings)?;
    let mut account = Account::of_size(size);
    if !context.json {
        if after_another {
            writeln!(context.out)?;
        }
        let name = context.out.style.bold(&clean(&path.display().to_string()));
        writeln!(context.out, "{name}")?;
        if !args.summary {
            row::heads(&mut context.out)?;
        }
    }
    while let Some(entry) = reader.next_entry()? {
        entry_row(path, &entry, &mut account, args, context)?;
    }
    if context.json {
        context.out.json(&account.to_json(&path.display().to_string()))?;
    } else {
        account.print(context)?;
    }
    Ok(account)
}

fn entry_row(
    path: &Path,
    entry: &Entry,
    account: &mut Account,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<()> {
    let Some(row) = Row::of(entry) else { return Ok(()) };
    account.count(entry, &row);
    match (context.json, args.summary) {
        (true, false) => context.out.json(&row.to_json(&path.display().to_string()))?,
        (false, false) => row.print(&mut context.out)?,
        (_, true) => {}
    }
    Ok(())
}
