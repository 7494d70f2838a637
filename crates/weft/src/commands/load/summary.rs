//! Prints the result of a load: totals, rates, and the reasons for all losses.

use std::io::Write;

use archive::Archive;
use archive::question::{InputState, JobBody, JobState, LedgerRow, Quarantine, QuarantineRow};

use crate::context::Context;
use crate::quarantine_text::{loss_text, quarantine_line};
use crate::stage_table::print_stages;
use crate::style::{clean, clean_lines, shell_word};
use crate::units::{bytes, count, counted, duration_ms, per_second};

/// Number of inputs with losses that are listed, and of reasons per input; `weft status` has all.
const INPUTS_LISTED: usize = 10;
const REASONS_LISTED: usize = 5;

/// Number of skipped files that are listed without `-v`.
const SKIPPED_LISTED: u64 = 3;

/// Prints the totals and losses of a finished job.
pub(super) fn print(archive: &Archive, job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
    writeln!(context.out, "{}", inputs(job))?;
    if job.records > 0 || job.bytes_done > 0 && job.inputs_known < job.inputs {
        writeln!(context.out, "{}", sums(job))?;
        writeln!(context.out, "{}", rates(job))?;
    }
    if context.verbose > 0 {
        print_stages(&job.stages, context)?;
    }
    print_skipped(job, context)?;
    losses(archive, job, context)?;
    labels(job, context)?;
    defects(job, context)?;
    match job.state {
        JobState::Cancelled => writeln!(context.out, "stopped; run the same command again to continue")?,
        JobState::Failed => writeln!(
            context.out,
            "the load failed; fix the cause and run the same command again to continue"
        )?,
        _ if job.inputs_loading > 0 => incomplete(job, context)?,
        _ => {}
    }
    Ok(())
}

fn inputs(job: &JobBody) -> String {
    let states = [
        (job.inputs_done, "done"),
        (
            job.inputs_known.saturating_sub(job.inputs_taken_down),
            "already known",
        ),
        (job.inputs_taken_down, "taken down and not read"),
        (job.inputs_loading, "still loading"),
        (job.inputs_failed, "failed"),
    ];
    let states: Vec<String> = states
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", count(*number)))
        .collect();
    let inputs = counted(job.inputs, "input", "inputs");
    if states.is_empty() {
        inputs
    } else {
        format!("{inputs}: {}", states.join(", "))
    }
}

/// Prints the number of files that are not archives. Lists them with `-v`, or if they are few.
fn print_skipped(job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
    if job.files_skipped == 0 {
        return Ok(());
    }
    let named = context.verbose > 0 || job.files_skipped <= SKIPPED_LISTED;
    let hint = if named { "" } else { " (weft load -v lists them)" };
    let files = counted(job.files_skipped, "file is", "files are");
    writeln!(context.out, "{files} not an archive, skipped{hint}")?;
    if named {
        for file in &job.skipped {
            writeln!(context.out, "  {}: {}", clean(&file.name), clean(&file.why))?;
        }
        let hidden = job.files_skipped.saturating_sub(job.skipped.len() as u64);
        if hidden > 0 {
            writeln!(context.out, "  and {} more", count(hidden))?;
        }
    }
    Ok(())
}

fn sums(job: &JobBody) -> String {
    let known = match job.captures_known {
        0 => String::new(),
        known => format!(" ({} already known)", count(known)),
    };
    let taken_down = match job.captures_taken_down {
        0 => String::new(),
        out => format!(" ({} taken down and skipped)", count(out)),
    };
    let quarantined = match job.quarantined {
        0 => String::new(),
        lost => format!(", {} quarantined", count(lost)),
    };
    let lines = match job.index_lines {
        0 => String::new(),
        lines => format!(", {}", counted(lines, "index line", "index lines")),
    };
    let attachments = match job.attachments {
        0 => String::new(),
        attachments => format!(", {}", counted(attachments, "attachment", "attachments")),
    };
    format!(
        "{}, {}{known}{taken_down}{lines}{attachments}, {}, {}{}{quarantined}",
        counted(job.records, "record", "records"),
        counted(job.captures, "capture", "captures"),
        counted(job.pages, "page", "pages"),
        counted(job.links, "link", "links"),
        documents(job),
    )
}

/// Formats documents as `, 12 documents (2 without text: document-time 2)`.
fn documents(job: &JobBody) -> String {
    if job.documents == 0 {
        return String::new();
    }
    let read = counted(job.documents, "document", "documents");
    let unread: u64 = job.documents_unread.iter().map(|row| row.documents).sum();
    if unread == 0 {
        return format!(", {read}");
    }
    let reasons = job.documents_unread.iter();
    let reasons: Vec<String> = reasons
        .map(|row| format!("{} {}", clean(&row.reason), count(row.documents)))
        .collect();
    format!(
        ", {read} ({} without text: {})",
        count(unread),
        reasons.join(", ")
    )
}

fn rates(job: &JobBody) -> String {
    format!(
        "{} in {} ({}/s, {} pages/s, {} links/s), {}",
        bytes(job.bytes_done),
        duration_ms(job.elapsed_ms),
        bytes(per_second(job.bytes_done, job.elapsed_ms)),
        count(per_second(job.pages, job.elapsed_ms)),
        count(per_second(job.links, job.elapsed_ms)),
        counted(job.epochs, "epoch", "epochs"),
    )
}

/// Prints the inputs that seem to be still being written, and how far they were complete.
fn incomplete(job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
    let still = counted(job.inputs_loading, "input is", "inputs are");
    writeln!(
        context.out,
        "\n{still} not complete yet; run the same command again to read on"
    )?;
    let is_read_on = |row: &&LedgerRow| row.state == InputState::Loading && row.missing.is_empty();
    let rows = job.problems.iter().filter(is_read_on);
    let mut listed = 0;
    let mut has_open = false;
    for row in rows.take(INPUTS_LISTED) {
        listed += 1;
        has_open |= row.input.ends_with(".open");
        let read = format!("{} of {} bytes read", count(row.bytes_done), count(row.size));
        writeln!(context.out, "  {}: {read}", clean(&row.input))?;
    }
    let hidden = job.inputs_loading.saturating_sub(listed);
    if hidden > 0 {
        writeln!(
            context.out,
            "  {} more: weft status --ledger{}",
            count(hidden),
            context.archive_flag()
        )?;
    }
    if has_open {
        let open = "a file named .open counts as still being written; if it is not, weft inspect shows why \
                    its end cannot be read: rename the file and load it again";
        writeln!(context.out, "{open}")?;
    }
    Ok(())
}

fn losses(archive: &Archive, job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
    if job.inputs_with_losses == 0 {
        return Ok(());
    }
    writeln!(context.out)?;
    let mut listed = 0;
    for package in job.failed_packages.iter().take(INPUTS_LISTED) {
        listed += package.members_failed;
        let members = format!("{} members failed", count(package.members_failed));
        writeln!(
            context.out,
            "{}: {}, the first: {}",
            clean(&package.package),
            context.out.style.warn(&members),
            clean_lines(&package.reason)
        )?;
    }
    // An input that is merely incomplete has lost nothing.
    let is_listed =
        |row: &&LedgerRow| row.has_losses() && !job.failed_packages.iter().any(|package| package.has(row));
    let lines = INPUTS_LISTED.saturating_sub(job.failed_packages.len());
    for row in job.problems.iter().filter(is_listed).take(lines) {
        listed += 1;
        writeln!(
            context.out,
            "{}: {}",
            clean(&row.input),
            context.out.style.warn(&problem(row))
        )?;
        for loss in reasons(archive, row)? {
            writeln!(context.out, "  {}", loss_text(&loss))?;
        }
        let hidden = row.quarantined.saturating_sub(REASONS_LISTED as u64);
        if hidden > 0 {
            let input = shell_word(&row.input);
            let all = format!("weft status --quarantine {input}{}", context.archive_flag());
            writeln!(context.out, "  {} more: {all}", count(hidden))?;
        }
    }
    let hidden = job.inputs_with_losses.saturating_sub(listed);
    if hidden > 0 {
        let all = format!("weft status --ledger{}", context.archive_flag());
        writeln!(context.out, "{} more: {all}", counted(hidden, "input", "inputs"))?;
    }
    Ok(())
}

/// Prints the inputs that keep another label than the load gives, and how to change it.
fn labels(job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
    let kept = job.inputs_of_other_collection;
    if kept == 0 {
        return Ok(());
    }
    let head = counted(kept, "input keeps its collection", "inputs keep their collection");
    let head = format!("{head}, because a load does not change it");
    writeln!(context.out, "\n{}", context.out.style.warn(&head))?;
    let keeps_label = |row: &&LedgerRow| row.collection != job.collection && row.missing.is_empty();
    let rows = job.problems.iter().filter(keeps_label);
    let mut listed = 0;
    for row in rows.take(INPUTS_LISTED) {
        listed += 1;
        let label = match row.collection.as_str() {
            "" => "none".to_owned(),
            label => clean(label),
        };
        writeln!(context.out, "  {}: {label}", clean(&row.input))?;
    }
    let hidden = kept.saturating_sub(listed);
    if hidden > 0 {
        let all = format!("weft status --ledger{}", context.archive_flag());
        writeln!(context.out, "  {} more: {all}", count(hidden))?;
    }
    writeln!(
        context.out,
        "to change it: weft forget --input NAME, weft forget --undo ID, and load the file again with \
         --collection"
    )?;
    Ok(())
}

/// Prints defects of records, and mismatches with package declarations, that did not prevent their
/// use.
fn defects(job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
    if job.defects_total == 0 {
        return Ok(());
    }
    let head = format!(
        "{} in records that are still usable",
        counted(job.defects_total, "defect", "defects")
    );
    writeln!(context.out, "\n{head}")?;
    for defect in job.defects.iter().take(REASONS_LISTED) {
        writeln!(context.out, "  {}", quarantine_line(defect))?;
    }
    if job.defects_total > REASONS_LISTED as u64 {
        writeln!(context.out, "  more: weft load --json, or weft inspect INPUT")?;
    }
    Ok(())
}

fn problem(row: &LedgerRow) -> String {
    let mut text = clean_lines(&row.state.to_string());
    match row.quarantined {
        0 => {}
        1 => text.push_str(", 1 loss"),
        lost => text.push_str(&format!(", {} losses", count(lost))),
    }
    if !row.cut.is_empty() {
        text.push_str(&format!(", its end is cut off ({})", clean(&row.cut)));
    }
    if !row.missing.is_empty() {
        text.push_str(&format!(", but now: {}", clean_lines(&row.missing)));
    }
    text
}

fn reasons(archive: &Archive, row: &LedgerRow) -> anyhow::Result<Vec<QuarantineRow>> {
    if row.quarantined == 0 {
        return Ok(Vec::new());
    }
    let question = Quarantine {
        input: Some(row.input.clone()),
        after: None,
        limit: REASONS_LISTED,
    };
    Ok(archive.ask(question)?.body.rows)
}
