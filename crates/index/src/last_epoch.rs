//! The last committed epoch, in a small file next to the index.
//!
//! The engine takes a damaged byte of its journal for the end of the journal. The epochs after it
//! are lost, and the index itself does not show that they existed. Opening the index therefore
//! compares it with this file.
//!
//! Invariant: the number is written after the epoch is durable, so a process that is killed in
//! between leaves a smaller one. The file is not synced: after a loss of power it may also hold an
//! older number, but never a greater one.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::ids::Epoch;

/// Digits of the number. It is overwritten in place with one write.
const DIGITS: usize = 20;

/// The file next to an index.
#[derive(Debug)]
pub(crate) struct LastEpoch {
    path: PathBuf,
}

impl LastEpoch {
    pub(crate) fn next_to(dir: &Path) -> LastEpoch {
        let mut name = dir.file_name().unwrap_or_default().to_owned();
        name.push(".epoch");
        LastEpoch {
            path: dir.with_file_name(name),
        }
    }

    /// Returns the epoch, or `None` if it is unknown.
    fn read(&self) -> Option<u64> {
        std::fs::read_to_string(&self.path).ok()?.trim_end().parse().ok()
    }

    /// Returns the committed epochs that are missing from an index whose newest epoch is `newest`.
    pub(crate) fn lost(&self, newest: Epoch) -> Option<RangeInclusive<u64>> {
        let last = self.read().filter(|last| *last > newest.0)?;
        Some(newest.0 + 1..=last)
    }

    /// Records a committed epoch. After a loss, the greater number stays until as many epochs have
    /// been committed again.
    pub(crate) fn committed(&self, epoch: Epoch) {
        if self.read().is_some_and(|last| last >= epoch.0) {
            return;
        }
        if let Err(error) = self.write(epoch) {
            tracing::debug!(%error, path = %self.path.display(), "cannot record the last epoch");
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
