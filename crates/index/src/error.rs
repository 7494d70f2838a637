//! Errors, by operation.
//!
//! Errors of the engine never leave this crate. They become text, except in the two cases that a
//! caller can handle: a full disk and an index that refuses writes.

use std::path::Path;

use engine::diagnosis::ErrorMessage;
use system::Broken;

use crate::ids::InputId;

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory is not empty and holds no index of Weft.
    #[error("{dir} contains no Weft index ({detail})")]
    Foreign {
        /// The directory.
        dir: String,
        /// What was found instead.
        detail: String,
    },
    /// The index has another format.
    #[error(
        "index in {dir} has format {found}, this program reads format {supported}: load its inputs again into \
         a new archive"
    )]
    Format {
        /// The directory.
        dir: String,
        /// Format found.
        found: u64,
        /// Supported format.
        supported: u64,
    },
    /// The link scope differs. It is fixed when an archive is created.
    #[error("index in {dir} was created with links `{stored}`, but `{wanted}` was requested")]
    LinkScope {
        /// The directory.
        dir: String,
        /// Scope that the index was created with.
        stored: String,
        /// Scope that was asked for.
        wanted: String,
    },
    /// Another process has the index open.
    #[error("index in {dir} is open in another process")]
    Locked {
        /// The directory.
        dir: String,
    },
    /// No space left.
    #[error("no space left for the index in {dir}")]
    DiskFull {
        /// The directory.
        dir: String,
    },
    /// A file differs from its written state.
    #[error(
        "{what} in {dir} is damaged: {detail}; restore a copy of the archive, or load its inputs into a new one"
    )]
    Damaged {
        /// What is damaged.
        what: &'static str,
        /// The directory.
        dir: String,
        /// Report of the engine.
        detail: String,
    },
    /// Any other error of the file system or the engine.
    #[error("{doing} the index in {dir}: {detail}")]
    Engine {
        /// The failed operation.
        doing: &'static str,
        /// The directory.
        dir: String,
        /// Report of the engine.
        detail: String,
    },
    /// A row could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The error of a function that the caller provides, for example one that reads a capture again.
pub type CallerError = Box<dyn std::error::Error + Send + Sync>;

/// Advice for a damaged index. Most tables cannot be rebuilt from the others.
const WHAT_TO_DO: &str =
    "`weft verify` lists all damage; restore a copy of the archive, or load its inputs into a new one";

/// Why a read failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The engine could not read.
    #[error("read table {table} of the index: {detail}")]
    Engine {
        /// Table read.
        table: &'static str,
        /// Report of the engine.
        detail: String,
    },
    /// A file differs from its written state.
    #[error("table {table} of the index is damaged: {detail}; {}", WHAT_TO_DO)]
    Damaged {
        /// Table read.
        table: &'static str,
        /// Report of the engine.
        detail: String,
    },
    /// A row differs from its written state.
    #[error(
        "row of table {table} of the index with key {key} is damaged: {detail}; {}",
        WHAT_TO_DO
    )]
    Corrupt {
        /// Table read.
        table: &'static str,
        /// Key of the row, escaped.
        key: String,
        /// What was found.
        detail: &'static str,
    },
    /// The index could not be opened again after a failure. Nothing can be read until it can.
    #[error("the index is closed: {since}")]
    Closed {
        /// The failure.
        since: String,
    },
    /// The rows to write contradict existing rows. Nothing is written until the index is opened
    /// again.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// A serving table, which answers in place of an index, cannot be read.
    #[error("read serving table {table}: {detail}")]
    Serving {
        /// Table read.
        table: &'static str,
        /// What failed.
        detail: String,
    },
    /// Serving tables do not have what was asked for.
    #[error("serving tables do not have {0}; ask an archive")]
    NotServed(&'static str),
}

/// Why an epoch or a registration was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// An earlier commit failed. Nothing is written until the index is opened again.
    #[error("index in {dir} refuses writes until it is reopened (the next load tries to): {since}")]
    Poisoned {
        /// The directory.
        dir: String,
        /// The first failure.
        since: String,
    },
    /// No space left. The epoch is not part of the index, unless opening it again shows it.
    #[error("no space left for the index in {dir}")]
    DiskFull {
        /// The directory.
        dir: String,
    },
    /// The index cannot be opened again, because a long read of it has not ended.
    #[error(
        "index in {dir} cannot be reopened while it is being read, for example by a long dump; try again \
         later"
    )]
    Read {
        /// The directory.
        dir: String,
    },
    /// The batch names an input that was never registered.
    #[error("input {} is not registered", .0.0)]
    UnknownInput(InputId),
    /// Reading existing rows failed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The external files of the epoch could not be written, so there is no epoch.
    #[error("{0}")]
    External(CallerError),
    /// Any other error of the file system or the engine.
    #[error("{doing} the index in {dir}: {detail}")]
    Engine {
        /// The failed operation.
        doing: &'static str,
        /// The directory.
        dir: String,
        /// Report of the engine.
        detail: String,
    },
}

/// Why an input was not taken back; nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum TakeBackError {
    /// As for [`crate::Index::apply`].
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A capture that would become current could not be read again.
    #[error("the capture of {url} at offset {offset} of {input} cannot be read again: {why}")]
    Reread {
        /// URL of the capture.
        url: String,
        /// Input of the capture.
        input: String,
        /// Offset in the input.
        offset: u64,
        /// The reason.
        why: RereadError,
    },
}

/// Why a capture cannot be read again.
#[derive(Debug, thiserror::Error)]
pub enum RereadError {
    /// The caller cannot read its record.
    #[error(transparent)]
    Caller(#[from] CallerError),
    /// The record at its place is of another capture.
    #[error("another capture is now at its place")]
    OtherCapture,
}

/// Why a dump stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// Reading failed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Writing the rows failed.
    #[error("write the dump: {0}")]
    Output(std::io::Error),
    /// Sorting rows in temporary files failed.
    #[error("sort rows in {dir}: {source}")]
    Scratch {
        /// The directory.
        dir: String,
        /// Cause.
        source: std::io::Error,
    },
}

/// Returns whether an engine error reports a damaged file.
pub(crate) fn is_damage(error: &fjall::Error) -> bool {
    use fjall::LsmError;
    match error {
        fjall::Error::Storage(error) => matches!(
            error,
            LsmError::Unrecoverable
                | LsmError::Decompress(_)
                | LsmError::ChecksumMismatch { .. }
                | LsmError::InvalidTag(_)
                | LsmError::InvalidTrailer
                | LsmError::InvalidHeader(_)
                | LsmError::Utf8(_)
        ),
        _ => false,
    }
}

/// Returns whether an engine error says that the disk or a quota is full.
fn is_disk_full(error: &fjall::Error) -> bool {
    match error {
        fjall::Error::Io(e) => is_full(e),
        fjall::Error::Storage(fjall::LsmError::Io(e)) => is_full(e),
        _ => false,
    }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge
    )
}

/// Returns whether an operation failed for lack of space. After a failure of one of its threads,
/// the engine reports only "poisoned"; the usual cause is a full disk.
pub(crate) fn is_caused_by_full_disk(error: &fjall::Error, dir: &Path) -> bool {
    is_disk_full(error) || (matches!(error, fjall::Error::Poisoned) && probe_disk_full(dir))
}

/// Returns whether a file of one mebibyte cannot be written in `dir` for lack of space. The
/// engine's background threads report a failed write only as "poisoned"; this finds the cause.
pub(crate) fn probe_disk_full(dir: &Path) -> bool {
    let probe = || -> std::io::Result<()> {
        use std::io::Write;
        let mut file = tempfile::tempfile_in(dir)?;
        file.write_all(&vec![0x55; 1 << 20])?;
        file.sync_data()
    };
    probe().is_err_and(|e| is_full(&e))
}

impl From<Broken> for ApplyError {
    fn from(broken: Broken) -> ApplyError {
        ApplyError::Snapshot(broken.into())
    }
}

impl From<Broken> for TakeBackError {
    fn from(broken: Broken) -> TakeBackError {
        TakeBackError::Apply(broken.into())
    }
}

impl From<SnapshotError> for TakeBackError {
    fn from(error: SnapshotError) -> TakeBackError {
        TakeBackError::Apply(error.into())
    }
}

impl ApplyError {
    /// Returns whether an invariant of the index does not hold.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, ApplyError::Snapshot(SnapshotError::Broken(_)))
    }
}

impl OpenError {
    pub(crate) fn engine(doing: &'static str, path: &Path, error: &fjall::Error) -> OpenError {
        let dir = path.display().to_string();
        match error {
            fjall::Error::Locked => OpenError::Locked { dir },
            fjall::Error::InvalidVersion(_) => OpenError::Foreign {
                dir,
                detail: ErrorMessage(error).to_string(),
            },
            e if is_caused_by_full_disk(e, path) => OpenError::DiskFull { dir },
            fjall::Error::JournalRecovery(_) => OpenError::Damaged {
                what: "the journal of the index (the .jnl files)",
                dir,
                detail: ErrorMessage(error).to_string(),
            },
            e if is_damage(e) => OpenError::Damaged {
                what: "the index",
                dir,
                detail: ErrorMessage(error).to_string(),
            },
            e => OpenError::Engine {
                doing,
                dir,
                detail: ErrorMessage(e).to_string(),
            },
        }
    }

    pub(crate) fn io(doing: &'static str, dir: &Path, error: &std::io::Error) -> OpenError {
        let dir = dir.display().to_string();
        if is_full(error) {
            return OpenError::DiskFull { dir };
        }
        OpenError::Engine {
            doing,
            dir,
            detail: error.to_string(),
        }
    }
}
