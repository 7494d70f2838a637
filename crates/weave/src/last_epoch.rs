//! The last epoch that was committed, in a small file beside the index.
//!
//! The engine takes a damaged byte of its journal for the end of what was written: the epochs behind it are gone, and nothing in the
//! index says that they were there. So who opens it looks here.
//!
//! Invariant: the number is written after the epoch is durable, so that a process that is killed in between leaves a smaller one. It
//! is not synced: after a loss of power it may be an older one, too, and never a greater one.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::ids::Epoch;

/// Digits of the number; it is written in place, in one piece.
const DIGITS: usize = 20;

/// The file beside an index.
#[derive(Debug)]
pub(crate) struct LastEpoch {
    path: PathBuf,
}

impl LastEpoch {
    pub(crate) fn beside(dir: &Path) -> LastEpoch {
        let mut name = dir.file_name().unwrap_or_default().to_owned();
        name.push(".epoch");
        LastEpoch {
            path: dir.with_file_name(name),
        }
    }

    /// The epoch; none where it is not known.
    fn read(&self) -> Option<u64> {
        std::fs::read_to_string(&self.path).ok()?.trim_end().parse().ok()
    }

    /// The epochs that were committed and are not in an index which ends with `newest`.
    pub(crate) fn lost(&self, newest: Epoch) -> Option<RangeInclusive<u64>> {
        let last = self.read().filter(|last| *last > newest.0)?;
        Some(newest.0 + 1..=last)
    }

    /// Says that an epoch was committed. While epochs are lost, their numbers stay known until as many were committed again.
    pub(crate) fn committed(&self, epoch: Epoch) {
        if self.read().is_some_and(|last| last >= epoch.0) {
            return;
        }
        if let Err(error) = self.write(epoch) {
            tracing::debug!(%error, path = %self.path.display(), "the last epoch is not noted");
        }
    }

    fn write(&self, epoch: Epoch) -> io::Result<()> {
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)?;
        file.write_all(format!("{:0DIGITS$}\n", epoch.0).as_bytes())
    }
}
