//! Recounts loaded captures instead of keeping them, for `weft verify`, which compares the outcome
//! with another archive.

use std::io;
use std::path::{Path, PathBuf};

use index::{Fingerprints, Recount, ReferenceHashes, Snapshot, SnapshotError, TakedownRules};
use parking_lot::Mutex;

use crate::load::ExtractedChunk;

/// Why captures cannot be recounted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecountError {
    #[error("recount captures in {}: {source}", dir.display())]
    Scratch { dir: PathBuf, source: io::Error },
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// Leaves out the captures that another archive keeps out. The snapshot must contain their inputs.
pub(crate) fn keep_out(
    rules: &TakedownRules,
    snapshot: &Snapshot,
    extracts: &mut [ExtractedChunk],
) -> Result<(), SnapshotError> {
    for extract in extracts {
        let entry = snapshot.input(extract.progress.input)?;
        extract.captures.retain(|capture| {
            let url_key = capture.url_key.as_bytes();
            let takedown = rules.takes_down(url_key, capture.fetch_time_ms, &entry.collection);
            takedown.is_none() && !rules.is_returning(&entry.input, capture.offset)
        });
        extract.lines.retain(|line| {
            let takedown = rules.takes_down(line.url_key.as_bytes(), line.fetch_time_ms, &entry.collection);
            takedown.is_none() && !rules.is_returning(&entry.input, line.offset)
        });
    }
    Ok(())
}

/// The recount of an archive.
pub(crate) struct Recounting {
    dir: PathBuf,
    /// `None` once it is finished, or if it can no longer be correct.
    recount: Mutex<Option<Recount>>,
}

impl Recounting {
    /// Puts temporary files into `dir`. Of captures that revisits may refer to, only those that the
    /// other archive's revisits refer to are held.
    pub(crate) fn new(dir: &Path, referred: Option<&ReferenceHashes>) -> Recounting {
        let recount = Recount::new(dir);
        let recount = match referred {
            Some(referred) => recount.with_referred(referred.clone()),
            None => recount,
        };
        Recounting {
            dir: dir.to_owned(),
            recount: Mutex::new(Some(recount)),
        }
    }

    /// Removes the captures from `extracts`, and leaves their number. The snapshot must contain
    /// their inputs.
    pub(crate) fn take(
        &self,
        snapshot: &Snapshot,
        extracts: &mut [ExtractedChunk],
    ) -> Result<(), RecountError> {
        let mut recount = self.recount.lock();
        for extract in extracts {
            let entry = snapshot.input(extract.progress.input)?;
            let captures = std::mem::take(&mut extract.captures);
            let lines = std::mem::take(&mut extract.lines);
            extract.progress.captures_recounted = captures.len() as u64;
            // The input changed while it was read, and its counts cannot be taken back.
            if extract.taken_back.take().is_some() {
                *recount = None;
            }
            let Some(recount) = recount.as_mut() else { continue };
            for line in &lines {
                recount.add_line(&entry.input, &entry.collection, line);
            }
            for capture in captures {
                recount
                    .add(&entry.input, &entry.collection, capture)
                    .map_err(|source| self.failed(source))?;
            }
        }
        Ok(())
    }

    /// Returns the fingerprints of everything loaded; `None` if they are unknown.
    pub(crate) fn finish(&self) -> Result<Option<Fingerprints>, RecountError> {
        let recount = self.recount.lock().take();
        recount
            .map(Recount::finish)
            .transpose()
            .map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> RecountError {
        RecountError::Scratch {
            dir: self.dir.clone(),
            source,
        }
    }
}
