//! Errors of the catalogue.

use std::path::PathBuf;

use crate::varint::Corrupt;

/// Why the catalogue cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// Another process has it open.
    #[error("the catalogue of files in {} is in use by another process: wait until it exits", dir.display())]
    InUse {
        /// Directory of the catalogue.
        dir: PathBuf,
    },
    /// There is no catalogue.
    #[error("there is no catalogue of files in {}: run `weft files scan DIR` to create one", dir.display())]
    Missing {
        /// The directory that was searched.
        dir: PathBuf,
    },
    /// It has another format version.
    #[error(
        "the catalogue of files in {} has format {found}, expected {expected}: remove it and scan again",
        dir.display()
    )]
    Format {
        /// Directory of the catalogue.
        dir: PathBuf,
        /// Format version of the catalogue.
        found: u64,
        /// Format version that this program supports.
        expected: u64,
    },
    /// It was opened read-only.
    #[error("the catalogue of files in {} is open read-only: changing it requires write permission there", dir.display())]
    ReadOnly {
        /// Directory of the catalogue.
        dir: PathBuf,
    },
    /// A file system did not answer in time.
    #[error(
        "{} has not answered for {seconds} s: the file system mounted there is unreachable or slow \
         (some commands accept a longer time with --answer-within)",
        path.display()
    )]
    NoAnswer {
        /// Path that was accessed.
        path: PathBuf,
        /// How long the caller waited.
        seconds: u64,
    },
    /// The database engine failed.
    // Not a `#[source]`: printing the chain of causes would repeat the engine's message.
    #[error("the catalogue of files: {}", engine_message(.0))]
    Engine(fjall::Error),
    /// A row is not in the expected format.
    #[error("the catalogue of files is damaged: {0}: remove it and scan again")]
    Corrupt(#[from] Corrupt),
    /// An invariant is violated.
    #[error(transparent)]
    Broken(#[from] system::Broken),
    /// A system call failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted operation.
        action: &'static str,
        /// Path of the operation.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// Returns the message of the engine. If the cause is a system error, returns that message with
/// advice.
fn engine_message(error: &fjall::Error) -> String {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(source) = at.downcast_ref::<std::io::Error>() {
            return what_to_do(source);
        }
        cause = at.source();
    }
    let words = engine::diagnosis::ErrorMessage(error);
    match error {
        fjall::Error::Locked => words.to_string(),
        fjall::Error::Poisoned => format!("{words}: run the command again"),
        // A scan restores everything in it except the log of policies.
        _ => format!(
            "{words}: restore a backup of it, or remove it and scan again \
             (this also removes the log of policies)"
        ),
    }
}

fn what_to_do(source: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("{source}: make room and run the command again")
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            format!("{source}: changing the catalogue requires write permission there")
        }
        _ => source.to_string(),
    }
}

impl From<fjall::Error> for CatalogueError {
    fn from(error: fjall::Error) -> CatalogueError {
        CatalogueError::Engine(error)
    }
}

impl CatalogueError {
    pub(crate) fn no_answer(path: impl Into<PathBuf>, limit: std::time::Duration) -> CatalogueError {
        CatalogueError::NoAnswer {
            path: path.into(),
            seconds: limit.as_secs(),
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<std::io::Error>,
    ) -> CatalogueError {
        CatalogueError::Io {
            action,
            path: path.into(),
            source: source.into(),
        }
    }
}

/// Why a scan failed.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The catalogue failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The directory to scan cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Root {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The path is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A watched tree has another directory at its path, for example because its file system is no
    /// longer mounted.
    #[error(
        "{} is not the directory that was catalogued: mount it again, \
         or run `weft files scan` to catalogue what is there now",
        path.display()
    )]
    Away {
        /// The path.
        path: PathBuf,
    },
    /// The path is in no catalogued tree.
    #[error("{} is not catalogued: run `weft files scan` first", path.display())]
    Unknown {
        /// The path.
        path: PathBuf,
    },
    /// The path is inside a catalogued tree, and is not a tree itself.
    #[error("{} is part of the catalogued tree {}: forget that tree instead", path.display(), root.display())]
    Within {
        /// The path.
        path: PathBuf,
        /// The tree.
        root: PathBuf,
    },
    /// A store did not list its objects.
    #[error("cannot list {}{after}: {source}", path.display())]
    Listing {
        /// The address.
        path: PathBuf,
        /// How far the listing came, with its consequence; empty at the start.
        after: String,
        /// Error of the store.
        source: std::io::Error,
    },
    /// The store does not list objects in bytewise order of key.
    #[error(
        "the store lists {key:?} after {before:?} in {}: only a store that lists keys below the prefix in bytewise order can be scanned",
        path.display()
    )]
    Order {
        /// The address.
        path: PathBuf,
        /// The key.
        key: String,
        /// The previous key.
        before: String,
    },
    /// There is no object below an address that is not catalogued.
    #[error("there is no object below {}/, and none is catalogued: check the address", path.display())]
    NoObjects {
        /// The address.
        path: PathBuf,
    },
    /// The tree was catalogued from another store.
    #[error(
        "{} was catalogued from another store: set AWS_ENDPOINT_URL to that store, \
         or catalogue this one instead: \
         `weft files scan {}`",
        path.display(), root.display()
    )]
    OtherStore {
        /// The address.
        path: PathBuf,
        /// The tree.
        root: PathBuf,
    },
    /// A watch keeps the path up to date and would add it again.
    #[error("{} is being watched: stop the watch first", path.display())]
    Watched {
        /// The path.
        path: PathBuf,
    },
    /// The scan was stopped. Its progress is kept; the next scan of the same directory resumes it.
    #[error("stopped")]
    Stopped,
    /// A pipeline stage failed.
    #[error(transparent)]
    Flow(pipeline::FlowError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_with_what_to_do() {
        for (errno, wanted) in [
            (28, "make room"),
            (30, "requires write permission"),
            (13, "requires write permission"),
        ] {
            let error = CatalogueError::from(fjall::Error::Io(std::io::Error::from_raw_os_error(errno)));
            let said = error.to_string();
            assert!(said.contains(wanted) && !said.contains("Os {"), "{said}");
        }
    }
}
