//! Text output of `weft forget`.

use std::io::Write;

use archive::question::{ForgottenBody, PurgedBody, TakedownRow, TakenDownBody, UndoneBody};

use crate::context::Context;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, time};

/// Number of inputs listed by name; of further ones only the count is printed.
const INPUTS_LISTED: usize = 10;

/// Prints the removed captures, or in a dry run those to be removed.
pub(super) fn taken_down(body: &TakenDownBody, context: &mut Context) -> anyhow::Result<()> {
    if !body.forgotten.inputs.is_empty() {
        forgotten(&body.forgotten, context)?;
    }
    if body.dry_run {
        return would_leave(body, context);
    }
    let Some(takedown) = &body.takedown else {
        return Ok(());
    };
    let (id, captures) = (takedown.id, counted(body.captures, "capture", "captures"));
    if body.known {
        writeln!(
            context.out,
            "takedown {id} of {} already covers this",
            time(&takedown.at)
        )?;
        return Ok(());
    }
    let pages = match takedown.pages {
        0 => String::new(),
        pages => format!(", {} with them", counted(pages, "page", "pages")),
    };
    writeln!(
        context.out,
        "takedown {id}: {captures} of {} removed from every view{pages}; matching captures stay out of \
         later loads",
        counted(takedown.inputs, "input", "inputs")
    )?;
    writeln!(
        context.out,
        "weft forget --undo {id} undoes it; files of the archive may contain the data until weft forget \
         --purge"
    )?;
    if body.captures == 0 {
        writeln!(
            context.out,
            "note: no capture matches now; check the spelling, and undo the takedown if it is wrong"
        )?;
    }
    for capture in &body.unreadable {
        writeln!(
            context.out,
            "  the capture of {} at offset {} of {} would become current, but cannot be read: {}",
            clean(&capture.url),
            capture.offset,
            clean(&capture.input),
            clean(&capture.why)
        )?;
    }
    Ok(())
}

fn would_leave(body: &TakenDownBody, context: &mut Context) -> anyhow::Result<()> {
    writeln!(
        context.out,
        "{} of {} would be taken down; nothing was changed",
        counted(body.captures, "capture", "captures"),
        counted(body.inputs.len() as u64, "input", "inputs")
    )?;
    for row in &body.rows {
        writeln!(
            context.out,
            "  {}  {}  {}",
            time(&row.fetch_time),
            clean(&row.url),
            clean(&row.input)
        )?;
    }
    if body.captures == 0 && body.forgotten.inputs.is_empty() {
        writeln!(context.out, "note: no capture matches now; check the spelling")?;
    }
    let hidden = body.captures.saturating_sub(body.rows.len() as u64);
    if hidden > 0 {
        writeln!(context.out, "  and {} more", count(hidden))?;
    }
    Ok(())
}

/// Prints the inputs removed from the ledger.
pub(super) fn forgotten(body: &ForgottenBody, context: &mut Context) -> anyhow::Result<()> {
    let ForgottenBody {
        inputs,
        captures,
        quarantined,
    } = body;
    let forgotten = counted(inputs.len() as u64, "input", "inputs");
    let with = match (captures, quarantined) {
        (0, 0) => String::new(),
        (captures, 0) => format!(", {} removed", counted(*captures, "capture", "captures")),
        (captures, losses) => format!(
            ", {} and {} removed",
            counted(*captures, "capture", "captures"),
            counted(*losses, "loss", "losses")
        ),
    };
    writeln!(context.out, "{forgotten} forgotten{with}")?;
    list_inputs(inputs, context)
}

/// Prints the names of the first inputs.
fn list_inputs(inputs: &[String], context: &mut Context) -> anyhow::Result<()> {
    for input in inputs.iter().take(INPUTS_LISTED) {
        writeln!(context.out, "  {}", clean(input))?;
    }
    let hidden = inputs.len().saturating_sub(INPUTS_LISTED) as u64;
    if hidden > 0 {
        writeln!(context.out, "  and {} more (--json names all)", count(hidden))?;
    }
    Ok(())
}

/// Prints a takedown that was undone.
pub(super) fn undone(body: &UndoneBody, context: &mut Context) -> anyhow::Result<()> {
    writeln!(context.out, "takedown {} undone", body.takedown.id)?;
    if body.inputs.is_empty() {
        return Ok(());
    }
    writeln!(context.out, "load these inputs again to restore what it removed:")?;
    list_inputs(&body.inputs, context)
}

/// Prints the result of a purge.
pub(super) fn purged(body: &PurgedBody, context: &mut Context) -> anyhow::Result<()> {
    let done = if body.notes.is_empty() {
        "no file of the archive's directory contains removed data"
    } else {
        "the purge is incomplete"
    };
    writeln!(
        context.out,
        "rewritten: {}, {} before; {done}",
        bytes(body.disk_bytes),
        bytes(body.disk_bytes_before)
    )?;
    for note in &body.notes {
        writeln!(context.out, "note: {}", clean(note))?;
    }
    if body.inputs.is_empty() {
        return Ok(());
    }
    let holding = counted(
        body.inputs.len() as u64,
        "input still contains",
        "inputs still contain",
    );
    writeln!(
        context.out,
        "{holding} removed captures: weft redact writes copies without them"
    )?;
    list_inputs(&body.inputs, context)
}

/// Prints the register of takedowns.
pub(super) fn register(rows: &[TakedownRow], context: &mut Context) -> anyhow::Result<()> {
    if rows.is_empty() {
        writeln!(context.out, "there are no takedowns")?;
        return Ok(());
    }
    let mut table = Table::new(&[
        ("id", Column::Right),
        ("when", Column::Left),
        ("who", Column::Left),
        ("kind", Column::Left),
        ("captures", Column::Right),
        ("pages", Column::Right),
        ("undone", Column::Left),
        ("reason", Column::Flexible),
    ]);
    for row in rows {
        let kind = match &row.before {
            Some(before) => format!("before {}", time(before)),
            None => row.kind.clone(),
        };
        table.row([
            row.id.to_string(),
            time(&row.at),
            row.who.clone(),
            kind,
            count(row.captures),
            count(row.pages),
            row.undone.as_deref().map(time).unwrap_or_default(),
            row.reason.clone(),
        ]);
    }
    table.print(&mut context.out)?;
    Ok(())
}
