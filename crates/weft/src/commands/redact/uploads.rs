//! Finds uploaded files of an archive that contain what is taken down.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::{Archive, OneInput, TakedownRules};
use export::{PackageRedaction, Redaction, RedactionRules};
use inputs::{Sources, is_package, path_text};

use super::{LedgerRows, begins_like_zip, rules_of};
use crate::units::counted;

/// Returns a note for each uploaded file that contains something that is taken down, or that cannot
/// be read. Reads all of these files.
pub(in crate::commands) fn notes_on_uploads(archive: &Archive) -> anyhow::Result<Vec<String>> {
    let rules = rules_of(archive)?;
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let ledger = LedgerRows::of(archive)?;
    let mut notes = Vec::new();
    for file in files_in(&archive.uploads_path())? {
        match taken_down_in(&file, &rules, &ledger) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => notes.push(format!(
                "{} has {found} taken down: replace it by a copy of weft redact (docs/takedown.md)",
                file.display()
            )),
            Err(error) => notes.push(format!(
                "{} cannot be read, so it may contain what is taken down: {error:#}",
                file.display()
            )),
        }
    }
    Ok(notes)
}

/// Returns the files of a folder, in the order of their names. The folder may be missing.
fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = || format!("read folder {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(read)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(read)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns what of a file is taken down, such as "2 records"; empty if nothing is.
fn taken_down_in(file: &Path, rules: &TakedownRules, ledger: &LedgerRows) -> anyhow::Result<String> {
    let file = file.canonicalize()?;
    let location = path_text(&file);
    let (records, pages) = if is_package(&location) || begins_like_zip(&file)? {
        let mut known = |input: &OneInput, member: &str| ledger.find(input, member).into_rules(None);
        let package = PackageRedaction::plan(&file, rules, &std::env::temp_dir(), &mut known)?;
        (package.counts(), package.package_counts().pages_left_out)
    } else {
        let input = OneInput::open(&location, &Sources::default(), Path::new("."))?;
        let known = ledger.find(&input, &location).into_rules(None);
        let leave_out = RedactionRules {
            rules,
            collection: &known.collection,
            whole: known.whole,
        };
        let redaction = Redaction::plan(input.input(), &location, leave_out, |_| {})?;
        (redaction.counts(), 0)
    };
    Ok(
        match (records.records_selected + records.records_concerned, pages) {
            (0, 0) => String::new(),
            (0, pages) => counted(pages, "listed page", "listed pages"),
            (records, _) => counted(records, "record", "records"),
        },
    )
}
