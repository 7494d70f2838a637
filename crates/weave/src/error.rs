//! What can go wrong, by operation.
//!
//! The engine's own errors never leave this crate: they become words, except for the two cases where the
//! caller can do something: a full disk and an index that refuses writes.

use std::path::Path;

use diagnosis::Words;
use system::Broken;

use crate::ids::InputId;

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is something in the directory, but no index of ours.
    #[error("{dir} holds no index of Weft ({detail})")]
    Foreign {
        /// The directory.
        dir: String,
        /// What was found instead.
        detail: String,
    },
    /// The index was written by a newer program.
    #[error("index in {dir} has format {found}, this program reads formats up to {supported}")]
    Newer {
        /// The directory.
        dir: String,
        /// Format found.
        found: u64,
        /// Newest format known here.
        supported: u64,
    },
    /// The link scope is fixed when an archive is created.
    #[error("index in {dir} was created with links `{stored}`, asked for `{wanted}`")]
    LinkScope {
        /// The directory.
        dir: String,
        /// Scope it was created with.
        stored: String,
        /// Scope asked for.
        wanted: String,
    },
    /// Another process has it open.
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
    /// A file is not as it was written.
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
    /// Anything else the file system or the engine reports.
    #[error("{doing} the index in {dir}: {detail}")]
    Engine {
        /// What was being done.
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

/// What is to be done about an index that is damaged: nothing in it can be made anew alone.
const WHAT_TO_DO: &str =
    "`weft verify` says what else is; restore a copy of the archive, or load its inputs into a new one";

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
    /// A file is not as it was written.
    #[error("table {table} of the index is damaged: {detail}; {}", WHAT_TO_DO)]
    Damaged {
        /// Table read.
        table: &'static str,
        /// Report of the engine.
        detail: String,
    },
    /// A row is not as it was written.
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
    /// The index could not be opened again after a failure: nothing can be read until it can.
    #[error("the index is closed since: {since}")]
    Closed {
        /// What happened.
        since: String,
    },
    /// What was about to be written contradicts what is there: nothing is written until the index is opened again.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Why an epoch or a registration was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// An earlier commit failed: nothing is written until the index is opened again.
    #[error("index in {dir} refuses writes until it is opened again (the next load tries), since: {since}")]
    Poisoned {
        /// The directory.
        dir: String,
        /// What happened first.
        since: String,
    },
    /// No space left; the epoch is not part of the index, unless opening again says otherwise.
    #[error("no space left for the index in {dir}")]
    DiskFull {
        /// The directory.
        dir: String,
    },
    /// Somebody has been reading from the index for so long that it cannot be opened again.
    #[error(
        "index in {dir} cannot be opened again while it is read from, as by a long dump; try again later"
    )]
    Read {
        /// The directory.
        dir: String,
    },
    /// The batch names an input that was never registered.
    #[error("input {} is not registered", .0.0)]
    UnknownInput(InputId),
    /// Reading what is there failed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// What is kept beside the epoch could not be written, so that there is no epoch.
    #[error("{0}")]
    Beside(String),
    /// Anything else the file system or the engine reports.
    #[error("{doing} the index in {dir}: {detail}")]
    Engine {
        /// What was being done.
        doing: &'static str,
        /// The directory.
        dir: String,
        /// Report of the engine.
        detail: String,
    },
}

/// Why a dump stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// Reading failed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The receiver of the rows failed.
    #[error("write the dump: {0}")]
    Output(std::io::Error),
    /// Sorting needs temporary files beside the index.
    #[error("sort rows in {dir}: {source}")]
    Scratch {
        /// The directory.
        dir: String,
        /// Cause.
        source: std::io::Error,
    },
}

/// Whether an engine error says that a file is not as it was written.
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

/// Whether an engine error says that the disk or a quota is full.
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

/// Whether an operation failed for want of room. The engine says no more than "poisoned" where one of its
/// threads has failed, mostly for that.
pub(crate) fn is_for_want_of_room(error: &fjall::Error, dir: &Path) -> bool {
    is_disk_full(error) || (matches!(error, fjall::Error::Poisoned) && probe_disk_full(dir))
}

/// Whether a file of one mebibyte cannot be written in `dir` for lack of space. The engine's background
/// threads report a failed write as "poisoned" only; this finds the cause.
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

impl ApplyError {
    /// Whether an invariant of the index does not hold.
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
                detail: Words(error).to_string(),
            },
            e if is_for_want_of_room(e, path) => OpenError::DiskFull { dir },
            fjall::Error::JournalRecovery(_) => OpenError::Damaged {
                what: "the journal of the index (the .jnl files)",
                dir,
                detail: Words(error).to_string(),
            },
            e if is_damage(e) => OpenError::Damaged {
                what: "the index",
                dir,
                detail: Words(error).to_string(),
            },
            e => OpenError::Engine {
                doing,
                dir,
                detail: Words(e).to_string(),
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
