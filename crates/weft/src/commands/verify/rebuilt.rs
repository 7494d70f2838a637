//! An archive rebuilt from another one's inputs, in a temporary folder next to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, bail};
use archive::question::{
    Dump, DumpFormat, FactsPlace, InputState, JobBody, JobState, LedgerRow, LoadRequest, OptionalStage,
    StatusBody,
};
use archive::{Archive, OpenSettings, TakedownRules};
use data_encoding::HEXLOWER;
use inputs::LoadInput;
use inputs::{Sources, path_text};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::scope::{Extent, UnknownInput};
use crate::commands::status::ledger_rows;
use crate::document_workers;
use crate::stop::Stop;

/// Number of bytes read at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// The message for an input that is not the one that was loaded.
const CHANGED: &str = "its content has changed since it was loaded";

/// What to build from the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RebuildMode {
    /// A ledger, a quarantine, and fingerprints of the other views.
    Fingerprints,
    /// All views.
    AllViews,
}

/// How inputs are loaded again.
#[derive(Clone, Copy)]
pub(super) struct RebuildSettings<'a> {
    pub(super) mode: RebuildMode,
    /// The captures that takedowns of the archive exclude.
    pub(super) kept_out: &'a TakedownRules,
    /// Names of the inputs whose records are compared with their declared digests.
    pub(super) digest_checked: &'a BTreeSet<String>,
}

/// A rebuilt archive.
pub(super) struct RebuiltArchive {
    // Must precede the folder: fields are dropped in order, and the archive must be closed first.
    pub(super) archive: Archive,
    folder: TempDir,
    /// Inputs that are missing or changed.
    pub(super) unknown: Vec<UnknownInput>,
}

impl RebuiltArchive {
    /// Loads the inputs of `rows` up to where they were loaded into the archive at `original`, in the
    /// same way.
    pub(super) fn load(
        original: &Path,
        rows: &[LedgerRow],
        status: &StatusBody,
        sources: &Sources,
        stop: &Stop,
        how: RebuildSettings<'_>,
    ) -> anyhow::Result<RebuiltArchive> {
        let parent = original.parent().unwrap_or(original);
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".weft-verify-");
        // A read-only archive may be in a directory that cannot be written.
        let folder = builder
            .tempdir_in(parent)
            .or_else(|_| builder.tempdir())
            .with_context(|| format!("create a folder in {}", parent.display()))?;
        let mut settings = OpenSettings::default();
        settings.create = true;
        settings.own = true;
        settings.recount = how.mode == RebuildMode::Fingerprints;
        settings.links = Some(status.links_scope);
        settings.documents = Some(status.documents_scope);
        settings.document_reader = Some(document_workers::reader());
        settings.kept_out = Some(how.kept_out.clone());
        // Facts are not a view.
        settings.facts = Some(FactsPlace::None);
        let archive = Archive::open_with(&folder.path().join("archive"), settings, sources.clone())?;
        let mut rebuilt = RebuiltArchive {
            archive,
            folder,
            unknown: Vec::new(),
        };
        let mut absent = Vec::new();
        for request in rebuilt.requests(rows, how.digest_checked, sources, stop)? {
            let (_, job) = rebuilt.archive.load(&request, &mut |_, _| !stop.is_requested())?;
            check(&job)?;
            // Files that are gone have no row in the ledger.
            let failed = job.problems.into_iter().filter(|row| row.digest.is_empty());
            absent.extend(failed);
        }
        let mut loaded = ledger_rows(&rebuilt.archive, None)?;
        loaded.extend(absent);
        let whole = rows.iter().filter(|row| Extent::of(row) == Extent::Whole);
        rebuilt
            .unknown
            .extend(whole.filter_map(|row| unknown(row, &loaded)));
        Ok(rebuilt)
    }

    /// Writes all rows of a view to an unnamed temporary file.
    pub(super) fn dump(&self, view: Dump) -> anyhow::Result<File> {
        let mut file = self.file()?;
        self.archive.dump(view, DumpFormat::Tsv, &mut file)?;
        Ok(file)
    }

    /// Makes an unnamed temporary file, which is deleted when closed.
    pub(super) fn file(&self) -> anyhow::Result<File> {
        tempfile::tempfile_in(self.folder.path()).context("create a file")
    }

    /// Makes one load per collection and check, with the names in the ledger. Search is off because
    /// it is not a view.
    fn requests(
        &mut self,
        rows: &[LedgerRow],
        digest_checked: &BTreeSet<String>,
        sources: &Sources,
        stop: &Stop,
    ) -> anyhow::Result<Vec<LoadRequest>> {
        let mut inputs: BTreeMap<(&str, bool), Vec<LoadInput>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            let path = match Extent::of(row) {
                Extent::Nothing => continue,
                Extent::Whole => row.location.clone(),
                Extent::Beginning => {
                    let path = self.folder.path().join(format!("beginning-{number}"));
                    let mut copy = BufWriter::new(File::create_new(&path).context("create a file")?);
                    match copy_beginning(row, sources, stop, &mut copy)? {
                        Ok(()) => copy.flush().context("write a copy")?,
                        Err(why) => {
                            self.unknown.push(UnknownInput::of(row, why.to_string()));
                            continue;
                        }
                    }
                    path_text(&path)
                }
            };
            let name = row.input.clone();
            inputs
                .entry((row.collection.as_str(), digest_checked.contains(&row.input)))
                .or_default()
                .push(LoadInput { name, path });
        }
        let request = |((collection, verify), inputs): ((&str, bool), _)| LoadRequest {
            inputs,
            collection: Some(collection.to_owned()).filter(|name| !name.is_empty()),
            stages_off: vec![OptionalStage::Search],
            verify,
            ..LoadRequest::default()
        };
        Ok(inputs.into_iter().map(request).collect())
    }
}

/// Why the part of an input that was loaded cannot be loaded again.
#[derive(Debug, thiserror::Error)]
enum BeginningError {
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("{CHANGED}")]
    Changed,
}

/// Copies the part of an input that was loaded, if its bytes still match the digest in the ledger.
/// The outer error ends the comparison, the inner one concerns this input. The input may have grown
/// since, and may be complete by now.
fn copy_beginning(
    row: &LedgerRow,
    sources: &Sources,
    stop: &Stop,
    copy: &mut impl Write,
) -> anyhow::Result<Result<(), BeginningError>> {
    let input = match sources.open(&row.location) {
        Ok(input) => input,
        Err(error) => return Ok(Err(BeginningError::Unreadable(error))),
    };
    let (size, known) = row.beginning();
    let mut hasher = Sha256::new();
    let mut piece = vec![0; BUFFER_BYTES];
    let mut at = 0;
    while at < size {
        if stop.is_requested() {
            bail!(STOPPED);
        }
        let room = BUFFER_BYTES.min(usize::try_from(size - at).unwrap_or(BUFFER_BYTES));
        let bytes = match input.read_at(&mut piece[..room], at) {
            Ok(0) => return Ok(Err(BeginningError::Changed)),
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(BeginningError::Unreadable(error))),
        };
        hasher.update(&piece[..bytes]);
        let kept = bytes.min(usize::try_from(row.bytes_done.saturating_sub(at)).unwrap_or(bytes));
        copy.write_all(&piece[..kept]).context("write a copy")?;
        at += bytes as u64;
    }
    let digest = format!("sha256:{}", HEXLOWER.encode(&hasher.finalize()));
    Ok((digest == known).then_some(()).ok_or(BeginningError::Changed))
}

/// Returns the reason if the records of a completely loaded input are now unknown.
fn unknown(row: &LedgerRow, loaded: &[LedgerRow]) -> Option<UnknownInput> {
    let failed = |row: &LedgerRow| matches!(row.state, InputState::Failed { .. });
    let same = loaded
        .iter()
        .find(|now| (&now.input, &now.digest) == (&row.input, &row.digest));
    let why = match same {
        Some(now) if failed(now) && !failed(row) => Some(now),
        Some(_) => return None,
        None => loaded.iter().find(|now| now.input == row.input && failed(now)),
    };
    let why = match why.map(|now| &now.state) {
        Some(InputState::Failed { reason }) => reason.clone(),
        _ => CHANGED.to_owned(),
    };
    Some(UnknownInput::of(row, why))
}

const STOPPED: &str = "stopped; nothing was compared";

fn check(job: &JobBody) -> anyhow::Result<()> {
    match job.state {
        JobState::Done => Ok(()),
        JobState::Cancelled => bail!(STOPPED),
        _ => bail!(
            "read the inputs again: {}",
            job.error
                .as_deref()
                .unwrap_or("it failed without giving a reason")
        ),
    }
}
