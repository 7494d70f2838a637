//! Exports the files of a collection as a bag (BagIt 1.0, RFC 8493): byte for byte as loaded, with
//! manifests.
//!
//! Invariants:
//! - a file is in the bag only if it has the digest in the ledger, computed from the very bytes
//!   that were written;
//! - a file with anything taken down is not in the bag; a takedown during the export makes it fail;
//! - a bag is complete or absent: the caller makes it in a folder with another name, and renames
//!   that at the end.

mod paths;
mod tags;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use archive::question::{InputState, Ledger, LedgerRow};
use archive::{Archive, AskError};
use data_encoding::HEXLOWER;
use inputs::InputReader;
use serde::Serialize;
use sha2::{Digest, Sha256, Sha512};

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
        left_out: Vec<OmittedFile>,
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
fn why(left_out: &[OmittedFile]) -> String {
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
    /// Files left out, and why.
    pub left_out: Vec<OmittedFile>,
}

/// A file left out of a bag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OmittedFile {
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
    /// Name and digest, with which its row in the ledger is found again.
    name: String,
    digest: String,
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
    let mut rows = Vec::new();
    for row in files_of(archive, collection)? {
        match left_out(&row) {
            None => rows.push(row),
            Some(why) => bagged.left_out.push(OmittedFile { name: row.input, why }),
        }
    }
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(failed(&data))?;
    let all_bytes = rows.iter().map(|row| row.size).sum();
    let (mut paths, mut payload) = (BagPaths::default(), Vec::new());
    for row in rows {
        let path = paths.path_of(&row);
        let file = folder.join(&path);
        let before = bagged.bytes;
        let copied = copy_into_bag(archive, &row, &file, &mut |bytes| {
            progress(before + bytes, all_bytes)
        })?;
        match copied {
            Ok((sha256, sha512)) => {
                bagged.files += 1;
                bagged.bytes += row.size;
                payload.push(Payload {
                    path,
                    sha256,
                    sha512,
                    name: row.input,
                    digest: row.digest,
                });
            }
            Err(error) => {
                // Every file below `data/` must be in the manifests (RFC 8493, section 3), so none
                // may stay in part.
                paths::remove(folder, &file).map_err(failed(&file))?;
                bagged.left_out.push(OmittedFile {
                    name: row.input,
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
    check_none_taken_down(archive, collection, &payload)?;
    tags::write(folder, collection, &mut payload, &bagged)?;
    Ok(bagged)
}

/// Returns the ledger rows of a collection, or all rows.
fn files_of(archive: &Archive, collection: Option<&str>) -> Result<Vec<LedgerRow>, AskError> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let question = Ledger {
            after,
            limit: ROWS_AT_ONCE,
            ..Ledger::default()
        };
        let body = archive.ask(question)?.body;
        let of_collection = |row: &LedgerRow| collection.is_none_or(|wanted| row.collection == wanted);
        rows.extend(body.rows.into_iter().filter(of_collection));
        match body.next {
            Some(next) => after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// Why an input cannot be put into a bag. The others can.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("it cannot be read: {0}")]
    Read(io::Error),
    #[error("its content has changed since it was loaded")]
    Changed,
}

/// Copies an input. Returns its SHA-256 and SHA-512, or why it differs from the loaded input.
fn copy_into_bag(
    archive: &Archive,
    row: &LedgerRow,
    path: &Path,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<Result<(String, String), InputError>, BagError> {
    let input = match archive.sources().open(&row.location) {
        Ok(input) => input,
        Err(error) => return Ok(Err(InputError::Read(error))),
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed(parent))?;
    }
    // Two inputs must never share a file.
    let mut file = File::create_new(path).map_err(failed(path))?;
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
        file.write_all(&piece[..count]).map_err(failed(path))?;
        if !should_continue(content.position) {
            return Err(BagError::Stopped);
        }
    }
    // After a power failure the manifests must not name content that is lost.
    file.sync_all().map_err(failed(path))?;
    let (sha256, sha512) = (
        HEXLOWER.encode(&sha256.finalize()),
        HEXLOWER.encode(&sha512.finalize()),
    );
    let is_same = content.position == row.size && row.digest == format!("sha256:{sha256}");
    Ok(if is_same {
        Ok((sha256, sha512))
    } else {
        Err(InputError::Changed)
    })
}

/// Content taken down since the ledger was read must not leave with the bag.
fn check_none_taken_down(
    archive: &Archive,
    collection: Option<&str>,
    payload: &[Payload],
) -> Result<(), BagError> {
    let rows = files_of(archive, collection)?;
    for file in payload {
        let now = rows
            .iter()
            .find(|row| (&row.input, &row.digest) == (&file.name, &file.digest));
        if now.is_none_or(|row| left_out(row).is_some()) {
            return Err(BagError::TakenDown(file.name.clone()));
        }
    }
    Ok(())
}

/// Returns why an input is left out of a bag, if it is.
fn left_out(row: &LedgerRow) -> Option<String> {
    const REDACT: &str = "weft redact writes a copy without that";
    match &row.state {
        InputState::TakenDown => Some("it is taken down".to_owned()),
        _ if row.taken_down > 0 => Some(format!("something of it is taken down; {REDACT}")),
        InputState::Done => None,
        state => Some(format!("it was not loaded to its end ({state})")),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BagError + '_ {
    |source| BagError::Write {
        path: path.to_owned(),
        source,
    }
}
