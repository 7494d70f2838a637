//! What can go wrong with the catalogue.

use std::path::PathBuf;

use crate::varint::Corrupt;

/// Why the catalogue could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// Another process has it open.
    #[error("the catalogue of files in {} is in use by another process: wait until it has ended", dir.display())]
    InUse {
        /// Where it is.
        dir: PathBuf,
    },
    /// There is none.
    #[error("there is no catalogue of files in {}: `weft files scan DIR` makes one", dir.display())]
    Missing {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// It was made by a program of another format.
    #[error(
        "the catalogue of files in {} has format {found}, and this program reads format {expected}: remove it, and scan anew",
        dir.display()
    )]
    Format {
        /// Where it is.
        dir: PathBuf,
        /// Its format.
        found: u64,
        /// The format of this program.
        expected: u64,
    },
    /// It was opened by somebody who may only read it.
    #[error("the catalogue of files in {} is open to be read alone: only who may write there can change it", dir.display())]
    ReadOnly {
        /// Where it is.
        dir: PathBuf,
    },
    /// A file system has not answered.
    #[error(
        "{} has not answered for {seconds} s: what is mounted there is gone, or is slow (some commands wait as long as --answer-within says)",
        path.display()
    )]
    NoAnswer {
        /// What it was asked about.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The engine failed.
    // No source: whoever shows the causes of an error would show the engine's own text behind ours.
    #[error("the catalogue of files: {}", said(.0))]
    Engine(fjall::Error),
    /// A row is not as this program writes it.
    #[error("the catalogue of files is damaged: {0}: remove it, and scan anew")]
    Corrupt(#[from] Corrupt),
    /// The state contradicts itself.
    #[error(transparent)]
    Broken(#[from] system::Broken),
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What the engine says; of the system's errors below it, what the system says and what to do.
fn said(error: &fjall::Error) -> String {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(source) = at.downcast_ref::<std::io::Error>() {
            return what_to_do(source);
        }
        cause = at.source();
    }
    let words = diagnosis::Words(error);
    match error {
        fjall::Error::Locked => words.to_string(),
        fjall::Error::Poisoned => format!("{words}: run the command again"),
        // Nothing in it cannot be read in again, but the log of policies.
        _ => format!(
            "{words}: restore a copy of it, or remove it and scan anew (the log of policies goes with it)"
        ),
    }
}

fn what_to_do(source: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("{source}: make room, and run the command again")
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            format!("{source}: only who may write there can change it")
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

/// Why a scan did not end.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A tree that is watched has another directory in its place: what was mounted there is not any more, perhaps.
    #[error(
        "{} is not the directory that was catalogued: mount it again, or let `weft files scan` read in what is there now",
        path.display()
    )]
    Away {
        /// The path.
        path: PathBuf,
    },
    /// It is in no tree that is catalogued.
    #[error("{} is not catalogued: `weft files scan` reads it in", path.display())]
    Unknown {
        /// The path.
        path: PathBuf,
    },
    /// It is a part of a tree, and no tree itself.
    #[error("{} is a part of {}, which is catalogued whole: forget that", path.display(), root.display())]
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
        /// How far the listing had come, and what follows from that; empty at its beginning.
        after: String,
        /// What the store said.
        source: std::io::Error,
    },
    /// A store lists its objects otherwise than in bytewise order of key.
    #[error(
        "the store lists {key:?} after {before:?} in {}: only a store that lists keys below the prefix in bytewise order can be scanned",
        path.display()
    )]
    Order {
        /// The address.
        path: PathBuf,
        /// The key.
        key: String,
        /// The one before it.
        before: String,
    },
    /// There is nothing below an address that is not catalogued.
    #[error("there is no object below {}/, and nothing of it is catalogued: is the address right?", path.display())]
    NoObjects {
        /// The address.
        path: PathBuf,
    },
    /// The tree is of another store than is asked now.
    #[error(
        "{} was catalogued from another store: name that one again (AWS_ENDPOINT_URL), or read in all that is there now: \
         `weft files scan {}`",
        path.display(), root.display()
    )]
    OtherStore {
        /// The address.
        path: PathBuf,
        /// The tree.
        root: PathBuf,
    },
    /// A watch keeps it current, and would read it in again.
    #[error("{} is being watched: end the watch first", path.display())]
    Watched {
        /// The path.
        path: PathBuf,
    },
    /// It was stopped. What it has read so far is kept; the next scan of the same directory goes on.
    #[error("stopped")]
    Stopped,
    /// A stage failed.
    #[error(transparent)]
    Flow(flow::FlowError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_with_what_to_do() {
        for (errno, wanted) in [
            (28, "make room"),
            (30, "only who may write"),
            (13, "only who may write"),
        ] {
            let error = CatalogueError::from(fjall::Error::Io(std::io::Error::from_raw_os_error(errno)));
            let said = error.to_string();
            assert!(said.contains(wanted) && !said.contains("Os {"), "{said}");
        }
    }
}
