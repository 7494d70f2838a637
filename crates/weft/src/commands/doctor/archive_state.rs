//! Checks of the archive: whether it opens, and the state of its contents.

use std::io::{self, ErrorKind};
use std::path::Path;

use archive::question::{InputState, LedgerRow, LedgerState, Status, StatusBody};
use archive::{Archive, OpenError, OpenSettings};
use cache::{SETTINGS_FILE, Settings};
use inputs::{Sources, is_address, is_local_member, path_of};

use super::finding::Finding;
use crate::ask;
use crate::commands::status::ledger_rows;
use crate::context::Context;
use crate::units::{count, counted};

/// Returns findings about the archive and the cache settings next to it.
pub(super) fn findings(context: &Context) -> Vec<Finding> {
    let mut settings = OpenSettings::default();
    settings.asks_only = true;
    settings.read_only = true;
    let mut findings = match ask::open_with(context, settings) {
        Ok(archive) => archive_findings(&archive),
        Err(error) => vec![open_failure(&error, context)],
    };
    findings.extend(cache_settings(context));
    findings
}

fn open_failure(error: &anyhow::Error, context: &Context) -> Finding {
    let found = crate::exit::chain_text(error);
    let dir = context.archive.display();
    match error.downcast_ref() {
        Some(OpenError::NotEmpty { .. }) => Finding::warning(
            "archive",
            format!("{dir} contains other files, but no archive"),
            "name the right folder with --archive or WEFT_ARCHIVE",
        ),
        // The directory may exist before an archive does, for example for a catalogue of files.
        Some(OpenError::Missing { .. }) if has_contents(&context.archive) => Finding::warning(
            "archive",
            format!("{dir} contains no archive yet"),
            "weft load INPUT creates one; or name the right folder with --archive or WEFT_ARCHIVE",
        ),
        // A user who names an archive expects it to exist.
        Some(OpenError::Missing { .. }) if context.archive_given => Finding::problem(
            "archive",
            format!("there is none in {dir}"),
            "weft load INPUT creates one; if there was one, its disk may not be mounted",
        ),
        Some(OpenError::Missing { .. }) => Finding::ok(
            "archive",
            format!("there is none in {dir} yet: weft load INPUT creates one"),
        ),
        Some(OpenError::Format { .. }) => Finding::problem(
            "archive",
            found,
            "weft load INPUT --archive DIR loads them into a new archive",
        ),
        Some(OpenError::Version { .. }) => Finding::problem(
            "archive",
            found,
            "use the same version of weft as the process that has it open",
        ),
        Some(OpenError::Owned { .. } | OpenError::Read { .. }) => Finding::problem(
            "archive",
            found,
            "ask the process that has it open, or stop that process",
        ),
        _ => Finding::problem(
            "archive",
            found,
            "docs/operations/repair.md says what can be repaired, and how",
        ),
    }
}

fn has_contents(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}

fn archive_findings(archive: &Archive) -> Vec<Finding> {
    let status = match archive.ask(Status {}) {
        Ok(answer) => answer,
        Err(error) => {
            return vec![Finding::problem(
                "archive",
                error.to_string(),
                "weft verify reports what is damaged",
            )];
        }
    };
    let (epoch, status) = (status.epoch, status.body);
    let mut findings = vec![Finding::ok(
        "archive",
        format!(
            "{}: {}, {}, epoch {}",
            status.archive,
            counted(status.captures, "capture", "captures"),
            counted(status.inputs, "input", "inputs"),
            count(epoch)
        ),
    )];
    findings.extend(lost_epochs(&status, epoch));
    findings.extend(refusals(&status));
    findings.push(search(&status, epoch));
    if !status.facts_failure.is_empty() {
        findings.push(Finding::problem(
            "facts",
            status.facts_failure.clone(),
            "docs/facts.md says how to rebuild them",
        ));
    }
    findings.push(losses(&status));
    findings.extend(inputs(archive, &status));
    findings
}

/// Reports an index that lacks epochs which search or facts, derived from it, already have.
fn lost_epochs(status: &StatusBody, epoch: u64) -> Option<Finding> {
    let facts = status.facts.iter().map(|table| table.epoch).max().unwrap_or(0);
    let followers = facts.max(status.search_epoch);
    (followers > epoch).then(|| {
        Finding::problem(
            "index",
            format!(
                "the index ends with epoch {}, but search or facts have epoch {}: the end of its journal \
                 is lost",
                count(epoch),
                count(followers)
            ),
            "restore a backup of the archive, or load the same inputs again: the ledger lists those not \
             done",
        )
    })
}

fn refusals(status: &StatusBody) -> Option<Finding> {
    let why = &status.refuses_writes;
    (!why.is_empty()).then(|| {
        Finding::problem(
            "writes",
            format!("refused: {why}"),
            "free some space; the next load tries again",
        )
    })
}

fn search(status: &StatusBody, epoch: u64) -> Finding {
    if !status.search_failure.is_empty() {
        let found = format!("behind, because writing it failed: {}", status.search_failure);
        return Finding::problem("search", found, "free some space; it catches up by itself");
    }
    if status.search_epoch < epoch {
        return Finding::warning(
            "search",
            format!("up to epoch {} of {}", count(status.search_epoch), count(epoch)),
            "a search or the end of a load brings it up to date",
        );
    }
    let documents = counted(status.search_documents, "document", "documents");
    Finding::ok("search", format!("{documents}, up to date"))
}

/// Returns a finding for each way in which inputs are not read to the end and in place.
fn ledger_findings(archive: &Archive) -> anyhow::Result<Vec<Finding>> {
    Ok(findings_of(&ledger_rows(archive, None)?))
}

fn findings_of(all: &[LedgerRow]) -> Vec<Finding> {
    let sources = Sources::default();
    let in_state = |state: LedgerState| all.iter().filter(move |row| state.includes(row));
    let findings = [
        inputs_finding(
            in_state(LedgerState::Failed),
            "failed",
            "weft status --ledger --state failed shows why",
        ),
        inputs_finding(
            in_state(LedgerState::Cut),
            "cut off at the end",
            "load them again once they are complete: what was read is not read again",
        ),
        inputs_finding(
            in_state(LedgerState::Missing),
            "missing or replaced at the last load",
            "weft status --ledger --state missing shows why",
        ),
        inputs_finding(
            all.iter().filter(|row| is_gone(row, &sources)),
            "missing at their path, or truncated since they were loaded",
            "until the files are back, their records cannot be shown, replayed or verified; views and \
             search are not affected",
        ),
        inputs_finding(
            all.iter().filter(|row| is_another(row, &sources)),
            "larger than when they were loaded",
            "load them again; if another file replaced one, its old records cannot be shown",
        ),
    ];
    findings.into_iter().flatten().collect()
}

/// Returns a warning that counts `rows` and names the first one, if there is one.
fn inputs_finding<'a>(
    rows: impl Iterator<Item = &'a LedgerRow>,
    what: &str,
    advice: &str,
) -> Option<Finding> {
    let rows: Vec<&LedgerRow> = rows.collect();
    let first = rows.first()?;
    let number = counted(rows.len() as u64, "input", "inputs");
    let found = format!("{number} {what} ({} first)", first.input);
    Some(Finding::warning("inputs", found, advice))
}

fn losses(status: &StatusBody) -> Finding {
    match status.quarantined {
        0 => Finding::ok("quarantine", "nothing"),
        quarantined => Finding::warning(
            "quarantine",
            // A damaged record that is used is also among the records.
            format!(
                "{} damaged or not usable, besides {} read",
                counted(quarantined, "piece", "pieces"),
                counted(status.records, "record", "records")
            ),
            "weft status --quarantine lists them with reasons",
        ),
    }
}

fn inputs(archive: &Archive, status: &StatusBody) -> Vec<Finding> {
    let mut findings = match ledger_findings(archive) {
        Ok(findings) => findings,
        Err(error) => {
            return vec![Finding::problem(
                "inputs",
                crate::exit::chain_text(&error),
                "weft verify reports what is damaged",
            )];
        }
    };
    if status.inputs_loading > 0 && status.jobs_active == 0 {
        findings.push(Finding::warning(
            "inputs",
            format!(
                "{} partly loaded",
                counted(status.inputs_loading, "input", "inputs")
            ),
            "weft load with the same inputs continues where it stopped",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(
            "inputs",
            format!(
                "{} read to the end, and still in place",
                count(status.inputs_done)
            ),
        ));
    }
    findings
}

/// Returns whether a local file, or a member of a local package, is missing, or shorter than the
/// part already read. Remote addresses are not checked.
fn is_gone(row: &LedgerRow, sources: &Sources) -> bool {
    match size_now(row, sources) {
        Ok(size) => size < row.bytes_done,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Returns whether an input that was read to its end has grown since.
fn is_another(row: &LedgerRow, sources: &Sources) -> bool {
    row.state == InputState::Done && size_now(row, sources).is_ok_and(|size| size > row.size)
}

/// Returns the current size of an input at its place.
fn size_now(row: &LedgerRow, sources: &Sources) -> io::Result<u64> {
    let location = &row.location;
    let unknown = || io::Error::from(ErrorKind::Unsupported);
    if is_local_member(location) {
        // A package may list members that it never had.
        if row.bytes_done == 0 {
            return Err(unknown());
        }
        return match sources.address_size(location)? {
            Some(0) => Err(unknown()),
            Some(size) => Ok(size),
            None => Err(ErrorKind::NotFound.into()),
        };
    }
    if location.is_empty() || is_address(location) {
        return Err(unknown());
    }
    Ok(std::fs::metadata(path_of(location))?.len())
}

fn cache_settings(context: &Context) -> Option<Finding> {
    let path = context.archive.join(SETTINGS_FILE);
    match Settings::read(&path) {
        Ok(settings) if settings.directories.is_empty() => None,
        Ok(settings) => {
            let number = counted(settings.directories.len() as u64, "directory", "directories");
            Some(Finding::ok("cache", format!("{number}, in {}", path.display())))
        }
        Err(error) => Some(Finding::problem(
            "cache",
            error.to_string(),
            "docs/cache.md has an example",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_counted_by_what_is_wrong_with_them() {
        let row = |input: &str, state| LedgerRow {
            input: input.to_owned(),
            state,
            ..LedgerRow::default()
        };
        let failed = InputState::Failed {
            reason: "no space".to_owned(),
        };
        let mut cut = row("cut.warc", InputState::Done);
        cut.cut = "at 17".to_owned();
        // An input may be in several states.
        let mut missing = row("missing.warc", failed.clone());
        missing.missing = "no such file".to_owned();
        let all = [
            row("failed.warc", failed),
            row("done.warc", InputState::Done),
            cut,
            missing,
        ];
        let found: Vec<String> = findings_of(&all)
            .into_iter()
            .map(|finding| finding.found)
            .collect();
        let expected = [
            "2 inputs failed (failed.warc first)",
            "1 input cut off at the end (cut.warc first)",
            "1 input missing or replaced at the last load (missing.warc first)",
        ];
        assert_eq!(found, expected);
        assert_eq!(findings_of(&all[1..2]), []);
    }
}
