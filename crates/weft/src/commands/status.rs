//! `weft status`: shows the contents of the archive, the ledger, the quarantine and the stages of
//! loading.

use std::ffi::OsString;
use std::io::Write;

use archive::Archive;
use archive::question::{
    Answer, FactsPlace, Ledger, LedgerBody, LedgerRow, LedgerState, Quarantine, QuarantineBody,
    QuarantineRow, Stages, Status, StatusBody,
};
use clap::builder::{PossibleValue, TypedValueParser};

use crate::ask;
use crate::context::Context;
use crate::flag_values::{choice, described};
use crate::outcome::Outcome;
use crate::quarantine_text::quarantine_line;
use crate::stage_table::print_stages;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, day};

const EXAMPLES: &str = "\
Examples:
  weft status
  weft status --ledger            loading progress of each input
  weft status --ledger --state failed
  weft status --quarantine        damaged and unusable records, with reasons
  weft status --stages            time spent in each stage of loading";

/// Flags of `weft status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    /// Only inputs in this state (with --ledger)
    #[arg(long, value_parser = states(), value_name = "STATE", requires = "ledger")]
    state: Option<LedgerState>,
}

/// Returns the parser of states by which inputs are filtered.
fn states() -> impl TypedValueParser<Value = LedgerState> {
    choice([
        (PossibleValue::new("pending"), LedgerState::Pending),
        (PossibleValue::new("loading"), LedgerState::Loading),
        (PossibleValue::new("done"), LedgerState::Done),
        (PossibleValue::new("failed"), LedgerState::Failed),
        (described("cut", "Inputs with a truncated end"), LedgerState::Cut),
        (
            described("missing", "Inputs that were missing or replaced at the last load"),
            LedgerState::Missing,
        ),
    ])
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct What {
    /// Show the pipeline stages of loading
    #[arg(long)]
    stages: bool,
    /// List every input: state, records, captures, losses
    #[arg(long)]
    ledger: bool,
    /// List every loss: input, offset, reason (of one INPUT, or of all)
    #[arg(long, value_name = "INPUT", num_args = 0..=1)]
    quarantine: Option<Option<OsString>>,
}

/// Number of rows per request; lists take as many requests as necessary.
pub(crate) const ROWS_A_QUESTION: usize = 1000;

/// Runs `weft status`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    match &args.what {
        What { stages: true, .. } => {
            if let Some(answer) = ask::print_if_json(archive.ask(Stages {})?, context)? {
                print_stages(&answer.body.stages, context)?;
            }
        }
        What { ledger: true, .. } => {
            if let Some(answer) = ask::print_if_json(all_ledger(&archive, args.state)?, context)? {
                match answer.body.rows.as_slice() {
                    [] if args.state.is_some() => writeln!(context.out, "no input is in this state")?,
                    rows => print_ledger(rows, context)?,
                }
                if args.state == Some(LedgerState::Missing) {
                    print_why_missing(&answer.body.rows, context)?;
                }
            }
        }
        What {
            quarantine: Some(input),
            ..
        } => {
            // File names are bytes and may be typed in their displayed, escaped form.
            let answer = all_quarantine(&archive, input.as_deref().map(ask::input_name))?;
            if let Some(answer) = ask::print_if_json(answer, context)? {
                print_quarantine(&answer.body.rows, context)?;
            }
        }
        _ => {
            if let Some(answer) = ask::print_if_json(archive.ask(Status {})?, context)? {
                print_status(&answer.body, answer.epoch, context)?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Returns the rows of the ledger in one state, or all.
pub(crate) fn ledger_rows(archive: &Archive, state: Option<LedgerState>) -> anyhow::Result<Vec<LedgerRow>> {
    Ok(all_ledger(archive, state)?.body.rows)
}

fn all_ledger(archive: &Archive, state: Option<LedgerState>) -> anyhow::Result<Answer<LedgerBody>> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let mut answer = archive.ask(Ledger {
            state,
            input: None,
            after,
            limit: ROWS_A_QUESTION,
        })?;
        all.append(&mut answer.body.rows);
        if answer.body.next.is_none() {
            answer.body.rows = all;
            return Ok(answer);
        }
        after = answer.body.next;
    }
}

/// Returns the whole quarantine, or that of an input.
fn all_quarantine(archive: &Archive, input: Option<String>) -> anyhow::Result<Answer<QuarantineBody>> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let mut answer = archive.ask(Quarantine {
            input: input.clone(),
            after,
            limit: ROWS_A_QUESTION,
        })?;
        all.append(&mut answer.body.rows);
        if answer.body.next.is_none() {
            answer.body.rows = all;
            return Ok(answer);
        }
        after = answer.body.next;
    }
}

fn print_status(status: &StatusBody, epoch: u64, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let mut lines = content_lines(status, epoch);
    lines.extend(state_lines(status, epoch));
    for (name, value) in lines {
        let name = out.style.dim(&format!("{name:<8}"));
        writeln!(out, "{name} {}", clean(&value))?;
    }
    Ok(())
}

/// Returns the names and values that describe the contents.
fn content_lines(status: &StatusBody, epoch: u64) -> Vec<(&'static str, String)> {
    let losses = if status.quarantined > 0 {
        " (weft status --quarantine)"
    } else {
        ""
    };
    let mut lines = vec![
        (
            "archive",
            format!(
                "{} (epoch {}, weft {})",
                status.archive,
                count(epoch),
                status.version
            ),
        ),
        ("inputs", inputs(status)),
        (
            "records",
            format!(
                "{}   captures {}   quarantined {}{losses}",
                count(status.records),
                count(status.captures),
                count(status.quarantined)
            ),
        ),
    ];
    if status.index_lines > 0 {
        let rows = counted(status.index_lines, "index line", "index lines");
        lines.push(("indexes", format!("{rows} of captures, loaded or not (weft cdx)")));
    }
    if status.attachments > 0 {
        let attachments = counted(status.attachments, "attachment", "attachments");
        lines.push(("attached", format!("{attachments} of pages (weft page)")));
    }
    if status.captures_taken_down > 0 || status.inputs_taken_down > 0 {
        let captures = counted(status.captures_taken_down, "capture", "captures");
        lines.push(("out", format!("{captures} taken down (weft forget --list)")));
    }
    lines.push((
        "pages",
        format!(
            "{}   links {} ({})   documents {}",
            count(status.pages),
            count(status.links),
            status.links_scope,
            status.documents_scope
        ),
    ));
    let uris = format!("{}   domains {}", count(status.uris), count(status.domains));
    lines.push(("URIs", uris));
    if let (Some(first), Some(last)) = (&status.fetch_time_first, &status.fetch_time_last) {
        lines.push(("fetched", format!("{} to {}", day(first), day(last))));
    }
    if !status.collections.is_empty() {
        lines.push(("labels", status.collections.join(", ")));
    }
    lines
}

/// Returns the names and values that describe derived data, sizes and writing.
fn state_lines(status: &StatusBody, epoch: u64) -> Vec<(&'static str, String)> {
    let mut lines = vec![("search", search(status, epoch))];
    if status.facts_place != FactsPlace::None {
        lines.push(("facts", facts(status)));
    }
    lines.push((
        "size",
        format!(
            "{} on disk, {} in memory",
            bytes(status.disk_bytes),
            bytes(status.memory_bytes)
        ),
    ));
    if status.read_only {
        lines.push(("writes", "none: the archive is opened read-only".to_owned()));
    }
    if !status.refuses_writes.is_empty() {
        let why = &status.refuses_writes;
        lines.push(("writes", format!("refused: {why}; the next load tries again")));
    }
    lines
}

fn inputs(status: &StatusBody) -> String {
    let mut text = format!("{}: {} done", count(status.inputs), count(status.inputs_done));
    for (number, word) in [
        (status.inputs_loading, "loading"),
        (status.inputs_failed, "failed"),
        (status.inputs_taken_down, "taken down"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {} {word}", count(number)));
        }
    }
    text
}

fn search(status: &StatusBody, epoch: u64) -> String {
    let documents = count(status.search_documents);
    if status.search_epoch >= epoch {
        format!("{documents} documents, up to date")
    } else {
        let why = match status.search_failure.as_str() {
            "" => String::new(),
            why => format!("; writing it failed: {why}"),
        };
        format!(
            "{documents} documents, up to epoch {} of {}{why}",
            count(status.search_epoch),
            count(epoch)
        )
    }
}

fn facts(status: &StatusBody) -> String {
    let mut text = match &status.facts_place {
        FactsPlace::At(place) => format!("in {place}"),
        _ => "in the archive".to_owned(),
    };
    for row in &status.facts {
        text.push_str(&format!("   {} {}", row.table, count(row.rows)));
    }
    match status.facts_failure.as_str() {
        "" => text + &format!("   {}", bytes(status.facts.iter().map(|row| row.bytes).sum())),
        why => text + &format!("; reading them failed: {why}"),
    }
}

fn print_ledger(rows: &[LedgerRow], context: &mut Context) -> anyhow::Result<()> {
    if rows.is_empty() {
        writeln!(context.out, "no inputs yet: load some with weft load INPUT")?;
        return Ok(());
    }
    // Most archives have no takedowns, so the column is usually omitted.
    let is_out = rows.iter().any(|row| row.taken_down > 0);
    let mut heads = vec![
        ("input", Column::Flexible),
        ("state", Column::Left),
        ("size", Column::Right),
        ("read", Column::Right),
        ("records", Column::Right),
        ("captures", Column::Right),
        ("quarantined", Column::Right),
    ];
    heads.extend(is_out.then_some(("taken down", Column::Right)));
    heads.push(("label", Column::Left));
    let mut table = Table::new(&heads);
    for row in rows {
        let [input, state, size, read, records, captures, quarantined, label] = [
            row.input.clone(),
            state(row),
            bytes(row.size),
            read_share(row),
            count(row.records),
            count(row.captures),
            count(row.quarantined),
            row.collection.clone(),
        ];
        if is_out {
            let taken_down = count(row.taken_down);
            table.row([
                input,
                state,
                size,
                read,
                records,
                captures,
                quarantined,
                taken_down,
                label,
            ]);
        } else {
            table.row([input, state, size, read, records, captures, quarantined, label])
        }
    }
    table.print(&mut context.out)?;
    Ok(())
}

/// Prints why each input could not be read or continued, and what to do about one that was
/// replaced.
fn print_why_missing(rows: &[LedgerRow], context: &mut Context) -> anyhow::Result<()> {
    for row in rows {
        writeln!(context.out, "{}: {}", clean(&row.input), clean(&row.missing))?;
    }
    Ok(())
}

/// Returns the state, with notes on inputs that are cut off or missing.
fn state(row: &LedgerRow) -> String {
    let notes = [(&row.cut, "cut off"), (&row.missing, "missing now")];
    let noted = notes.iter().filter(|(note, _)| !note.is_empty());
    let words = noted.map(|(_, word)| format!(", {word}"));
    std::iter::once(row.state.to_string()).chain(words).collect()
}

/// Returns how much of an input was read: `100 %` only if all of it was.
fn read_share(row: &LedgerRow) -> String {
    match row.size {
        0 => "-".into(),
        size => format!(
            "{} %",
            u128::from(row.bytes_done.min(size)) * 100 / u128::from(size)
        ),
    }
}

/// Prints losses, one per line: `input at offset: reason: detail`.
pub(crate) fn print_quarantine(rows: &[QuarantineRow], context: &mut Context) -> anyhow::Result<()> {
    if rows.is_empty() {
        writeln!(context.out, "the quarantine is empty")?;
    }
    for row in rows {
        writeln!(context.out, "{}", quarantine_line(row))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_fully_read_only_when_it_is() {
        let row = |bytes_done, size| {
            read_share(&LedgerRow {
                bytes_done,
                size,
                ..LedgerRow::default()
            })
        };
        assert_eq!(
            ["-", "99 %", "100 %"],
            [row(0, 0), row(999, 1000), row(1000, 1000)]
                .each_ref()
                .map(|s| &**s)
        );
    }
}
