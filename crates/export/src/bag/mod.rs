//! Exports the files of a collection as a bag (BagIt 1.0, RFC 8493): byte for byte as loaded, with
//! manifests. A package is one file, whichever of its members were loaded.
//!
//! Invariants:
//! - a file is in the bag only if it has the digest in the ledger, computed from the very bytes
//!   that were written. Of a package, the members have theirs. A file that was not loaded to its
//!   end begins with the bytes that the ledger has a digest of, and is in the bag only if no
//!   takedown is in force, because nobody knows what its unread part contains;
//! - a file with anything taken down is not in the bag; a takedown during the export makes it fail;
//! - a bag is complete or absent: the caller makes it in a folder with another name, and renames
//!   that at the end.

mod files;
mod paths;
mod tags;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use archive::question::{Ledger, LedgerRow, TakedownRulesQuestion};
use archive::{Archive, AskError, TakedownRules};
use data_encoding::HEXLOWER;
use inputs::InputReader;
use serde::Serialize;
use sha2::{Digest, Sha256, Sha512};

use self::files::LoadedFile;
use self::paths::BagPaths;

/// Number of ledger rows requested at a time.
const ROWS_AT_ONCE: usize = 1000;

/// Bytes copied at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Why there is no bag.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// The archive did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// There is no file for the bag.
    #[error("{of} has no file that can be put into a bag{}", why(.left_out))]
    Nothing {
        /// The requested collection.
        of: String,
        /// The files left out, and why.
        left_out: Vec<NamedFile>,
    },
    /// A file of the bag cannot be written.
    #[error("write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Something in a file was taken down while the bag was made.
    #[error("{0} was taken down, in whole or in part, while the bag was made; make the bag again")]
    TakenDown(String),
    /// The caller stopped the export.
    #[error("stopped; no bag was made")]
    Stopped,
}

/// Returns why the first file was left out, for messages.
fn why(left_out: &[NamedFile]) -> String {
    left_out
        .first()
        .map(|first| format!(": {}: {}", first.name, first.why))
        .unwrap_or_default()
}

/// The content of a bag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BagReport {
    /// Number of files below `data/`.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// Files in the bag that were not loaded to their end, and why.
    pub unread: Vec<NamedFile>,
    /// Files left out, and why.
    pub left_out: Vec<NamedFile>,
}

/// A file with a reason why it is special.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NamedFile {
    /// Name of the file in the ledger.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// A file that was put into a bag.
struct Payload {
    /// Path in the bag, from `data/` on.
    path: String,
    sha256: String,
    sha512: String,
    /// The input, or the package with its inputs.
    file: LoadedFile,
}

/// Makes a bag of the files of a collection, or of all, in `folder`, which must not exist.
/// `progress` gets the number of bytes copied and the total, and returns whether to continue.
///
/// # Errors
/// [`BagError`]. The caller must remove the incomplete folder.
pub fn write_bag(
    archive: &Archive,
    collection: Option<&str>,
    folder: &Path,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<BagReport, BagError> {
    let mut bagged = BagReport::default();
    let rules_text = archive.ask(TakedownRulesQuestion {})?.body.rules;
    let rules: TakedownRules = serde_json::from_str(&rules_text).map_err(AskError::internal)?;
    let files = selected(archive, collection, &mut bagged.left_out)?;
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(failed(&data))?;
    let all_bytes = files.iter().map(LoadedFile::bytes_loaded).sum::<u64>();
    let (mut paths, mut payload) = (BagPaths::default(), Vec::new());
    for file in files {
        let path = paths.path_of(&file.name, file.digest());
        let copy = folder.join(&path);
        let before = bagged.bytes;
        let copied = copy_into_bag(archive, &file, &copy, &mut |bytes| {
            let done = before + bytes;
            progress(done, all_bytes.max(done))
        })?;
        let checked = copied.and_then(|copied| file.check(&copied, &copy, &rules).map(|()| copied));
        match checked {
            Ok(copied) => {
                bagged.files += 1;
                bagged.bytes += copied.bytes;
                if let Some(why) = file.unread() {
                    let name = file.name.clone();
                    bagged.unread.push(NamedFile { name, why });
                }
                payload.push(Payload {
                    path,
                    sha256: copied.sha256,
                    sha512: copied.sha512,
                    file,
                });
            }
            Err(error) => {
                // Every file below `data/` must be in the manifests (RFC 8493, section 3), so none
                // may stay in part.
                paths::remove(folder, &copy).map_err(failed(&copy))?;
                bagged.left_out.push(NamedFile {
                    name: file.name,
                    why: error.to_string(),
                });
            }
        }
    }
    if payload.is_empty() {
        return Err(BagError::Nothing {
            of: tags::described(collection),
            left_out: bagged.left_out,
        });
    }
    // Last before the manifests, because the ledger may change while files are copied.
    check_none_taken_down(archive, &payload)?;
    if archive.ask(TakedownRulesQuestion {})?.body.rules != rules_text {
        return Err(BagError::TakenDown("something".to_owned()));
    }
    tags::write(folder, collection, &mut payload, &bagged)?;
    Ok(bagged)
}

/// Returns the files for a bag of a collection, and adds those that are left out to `left_out`.
fn selected(
    archive: &Archive,
    collection: Option<&str>,
    left_out: &mut Vec<NamedFile>,
) -> Result<Vec<LoadedFile>, AskError> {
    let mut files = Vec::new();
    for file in files_of(archive, collection)? {
        match file.left_out() {
            None => files.push(file),
            Some(why) => left_out.push(NamedFile { name: file.name, why }),
        }
    }
    Ok(files)
}

/// Returns the files that contain inputs of a collection, or all files.
fn files_of(archive: &Archive, collection: Option<&str>) -> Result<Vec<LoadedFile>, AskError> {
    let mut files = LoadedFile::of_rows(ledger_rows(archive)?);
    if let Some(collection) = collection {
        files.retain(|file| file.rows.iter().any(|row| row.collection == collection));
    }
    Ok(files)
}

fn ledger_rows(archive: &Archive) -> Result<Vec<LedgerRow>, AskError> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let question = Ledger {
            after,
            limit: ROWS_AT_ONCE,
            ..Ledger::default()
        };
        let mut body = archive.ask(question)?.body;
        rows.append(&mut body.rows);
        match body.next {
            Some(next) => after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// Why a file cannot be put into a bag. The others can.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("it cannot be read: {0}")]
    Read(io::Error),
    #[error("its content has changed since it was loaded")]
    Changed,
    #[error("something of it is taken down; {REDACT}")]
    TakenDown,
    #[error("it is unknown whether something of it is taken down: {0}")]
    Unknown(String),
}

/// What to do with a file of which something is taken down.
const REDACT: &str = "weft redact writes a copy without that";

/// A copied file.
struct Copied {
    bytes: u64,
    sha256: String,
    sha512: String,
}

/// Copies a file. The inner error says why it cannot be read.
fn copy_into_bag(
    archive: &Archive,
    file: &LoadedFile,
    path: &Path,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<Result<Copied, InputError>, BagError> {
    let input = match archive.sources().open(&file.location) {
        Ok(input) => input,
        Err(error) => return Ok(Err(InputError::Read(error))),
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed(parent))?;
    }
    // Two inputs must never share a file.
    let mut copy = File::create_new(path).map_err(failed(path))?;
    let mut content = InputReader::of(input);
    let (mut sha256, mut sha512) = (Sha256::new(), Sha512::new());
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = match content.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Err(InputError::Read(error))),
        };
        sha256.update(&piece[..count]);
        sha512.update(&piece[..count]);
        copy.write_all(&piece[..count]).map_err(failed(path))?;
        if !should_continue(content.position) {
            return Err(BagError::Stopped);
        }
    }
    // After a power failure the manifests must not name content that is lost.
    copy.sync_all().map_err(failed(path))?;
    Ok(Ok(Copied {
        bytes: content.position,
        sha256: HEXLOWER.encode(&sha256.finalize()),
        sha512: HEXLOWER.encode(&sha512.finalize()),
    }))
}

/// Content taken down since the ledger was read must not leave with the bag.
fn check_none_taken_down(archive: &Archive, payload: &[Payload]) -> Result<(), BagError> {
    let now = files_of(archive, None)?;
    for Payload { file, .. } in payload {
        let now = now.iter().find(|now| now.is_same(file));
        if now.is_none_or(|now| now.left_out().is_some()) {
            return Err(BagError::TakenDown(file.name.clone()));
        }
    }
    Ok(())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BagError + '_ {
    |source| BagError::Write {
        path: path.to_owned(),
        source,
    }
}
