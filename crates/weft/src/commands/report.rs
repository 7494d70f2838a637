//! `weft report`: summarises a crawl.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::question::{Answer, Report, ReportBody, ReportRow};

use crate::ask;
use crate::context::Context;
use crate::flag_values::{date, refuse_reversed};
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::{PartFile, is_standard_output, refuse_existing};
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft report
  weft report --collection news --from 2012 --to 2014-06
  weft report --html -o report.html          with charts, for a browser
  weft report --json | jq .duplicates

Bytes are the stored sizes of records. Every capture is read once. Repeated payloads are found
by their digests: revisits, and payloads that were stored again.";

/// Rows per table.
const ROWS: usize = 20;

/// Flags of `weft report`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only captures of this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Only captures at or after this time
    #[arg(long, value_name = "TIME", value_parser = date())]
    from: Option<String>,
    /// Only captures at or before this time; 2014 means its end
    #[arg(long, value_name = "TIME", value_parser = date())]
    to: Option<String>,
    /// Write a self-contained HTML page
    #[arg(long, requires = "output")]
    html: bool,
    /// File for --html; an existing one is not overwritten, - is standard output
    #[arg(long, short, value_name = "FILE", requires = "html")]
    output: Option<PathBuf>,
}

/// Runs `weft report`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if let Some(path) = args.output.as_deref().filter(|path| !is_standard_output(path)) {
        refuse_existing(path)?;
    }
    if args.html && context.json {
        return Err(
            WrongUse("--html and --json cannot be used together; choose one of them".to_owned()).into(),
        );
    }
    refuse_reversed(args.from.as_deref(), args.to.as_deref())?;
    if let Some(collection) = &args.collection {
        ask::note_unknown_collection(&ask::open(context)?, Some(collection.as_str()))?;
    }
    let of = described(&args);
    let question = Report {
        from: args.from,
        to: args.to,
        collection: args.collection,
        captures_max: None,
    };
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    match &args.output {
        Some(path) if is_standard_output(path) => {
            context.out.write_all(html(&answer, &of).as_bytes())?;
        }
        Some(path) => {
            write_html(&answer, &of, path).with_context(|| format!("write {}", path.display()))?;
            let captures = counted(answer.body.captures, "capture", "captures");
            writeln!(context.out, "report of {captures} written to {}", path.display())?;
        }
        None => print(&answer.body, context)?,
    }
    Ok(Outcome::Done)
}

/// Describes the captures that the report covers.
fn described(args: &Args) -> String {
    let mut of = match &args.collection {
        Some(collection) => format!("captures of the collection {collection}"),
        None => "all captures".to_owned(),
    };
    for (word, time) in [("from", &args.from), ("until", &args.to)] {
        if let Some(time) = time {
            of = format!("{of} {word} {time}");
        }
    }
    of
}

fn html(answer: &Answer<ReportBody>, of: &str) -> String {
    let made = format::date::iso(system::time_ms());
    server::report_document(answer, of, &made)
}

fn write_html(answer: &Answer<ReportBody>, of: &str, path: &Path) -> anyhow::Result<()> {
    let (part, mut file) = PartFile::begin(path)?;
    file.write_all(html(answer, of).as_bytes())?;
    file.sync_all()?;
    Ok(part.finish()?)
}

fn print(body: &ReportBody, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    writeln!(
        out,
        "{}, {}, of {} on {}",
        counted(body.captures, "capture", "captures"),
        bytes(body.bytes),
        counted(body.urls, "URL", "URLs"),
        counted(body.hosts, "host", "hosts")
    )?;
    if let (Some(first), Some(last)) = (&body.fetch_time_first, &body.fetch_time_last) {
        writeln!(out, "from {first} to {last}")?;
    }
    for (rows, table, more) in tables(body) {
        if rows > 0 {
            writeln!(out)?;
            table.print(out)?;
        }
        if let Some(more) = more {
            writeln!(out, "{more}")?;
        }
    }
    let again = &body.duplicates;
    writeln!(out)?;
    writeln!(
        out,
        "{} in {}, which saved {}",
        counted(again.revisits, "revisit", "revisits"),
        bytes(again.revisit_bytes),
        bytes(again.saved_bytes)
    )?;
    writeln!(
        out,
        "{} stored again with the payload of an earlier one, in {}",
        counted(again.repeated, "capture", "captures"),
        bytes(again.repeated_bytes)
    )?;
    Ok(())
}

/// Returns the tables of a report, each with the number of rows that it is made of, and a note if
/// it does not have all of them.
fn tables(body: &ReportBody) -> [(usize, Table, Option<String>); 5] {
    let mut months = Table::new(&[headings("month").as_slice(), &[("new URLs", Column::Right)]].concat());
    for row in &body.by_month {
        months.row([
            row.month.clone(),
            count(row.captures),
            bytes(row.bytes),
            count(row.urls_new),
        ]);
    }
    let mut statuses = Table::new(&headings("status"));
    for row in &body.by_status {
        statuses.row([row.status.to_string(), count(row.captures), bytes(row.bytes)]);
    }
    let mut failures = Table::new(&[
        ("failures of", Column::Left),
        ("status", Column::Right),
        ("captures", Column::Right),
    ]);
    for row in body.failures_most.iter().take(ROWS) {
        failures.row([clean(&row.host), row.status.to_string(), count(row.captures)]);
    }
    [
        (body.by_month.len(), months, None),
        (body.by_status.len(), statuses, None),
        (
            body.by_mime.len(),
            named_rows("type", &body.by_mime),
            more(body.mimes, "types"),
        ),
        (
            body.by_host.len(),
            named_rows("host", &body.by_host),
            more(body.hosts, "hosts"),
        ),
        (
            body.failures_most.len(),
            failures,
            more(body.failures_most.len() as u64, "failures of a host and status"),
        ),
    ]
}

/// Says that a table has only the first rows, and what has more.
fn more(all: u64, of: &str) -> Option<String> {
    (all > ROWS as u64).then(|| format!("the first {ROWS} of {} {of}; --json has 100", count(all)))
}

fn named_rows(name: &'static str, rows: &[ReportRow]) -> Table {
    let mut table = Table::new(&headings(name));
    for row in rows.iter().take(ROWS) {
        table.row([clean(&row.name), count(row.captures), bytes(row.bytes)]);
    }
    table
}

fn headings(name: &'static str) -> [(&'static str, Column); 3] {
    [
        (name, Column::Left),
        ("captures", Column::Right),
        ("bytes", Column::Right),
    ]
}
