//! Actions that read a file and leave it in place: comparing its digest, and copying it into a
//! store.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use catalogue::{Copy, Digest, FileVersion, LogBatch};
use sha2::{Digest as _, Sha256};

use super::Runner;
use super::outcome::{ActError, CheckedFile, Outcome};
use crate::crash::CRASH_POINTS;
use crate::shelf::{CopyStore, CopyStoreError};

impl Runner<'_> {
    /// Reads a whole file and returns its digest. Skips a file that changed meanwhile, because it
    /// was being written and its digest has no meaning.
    pub(super) fn read(&self, ready: &CheckedFile<'_>, stop: &AtomicBool) -> Result<[u8; 32], ActError> {
        let file = ready
            .place
            .read()
            .map_err(|error| ActError::failed("it cannot be opened", error))?;
        let sha256 = digest(file, stop).map_err(|error| ActError::failed("it cannot be read", error))?;
        let sha256 = sha256.ok_or_else(|| ActError::Skipped("stopped before it was done".to_owned()))?;
        self.check_unchanged(ready)?;
        Ok(sha256)
    }

    fn check_unchanged(&self, ready: &CheckedFile<'_>) -> Result<(), ActError> {
        let after = ready
            .place
            .stat(self.catalogue)
            .map_err(|error| ActError::failed("it cannot be read", error))?;
        if after.as_ref().map(FileVersion::of) == Some(FileVersion::of(&ready.file)) {
            Ok(())
        } else {
            Err(ActError::Skipped("it changed while it was being read".to_owned()))
        }
    }

    pub(super) fn verify(&self, ready: &CheckedFile<'_>, stop: &AtomicBool) -> Result<Outcome, ActError> {
        // Also of an earlier version, because a write that left an older time is suspicious.
        let known = self.catalogue.digest(ready.file.id)?;
        let sha256 = self.read(ready, stop)?;
        let version = FileVersion::of(&ready.file);
        let mut digest = Digest {
            version,
            sha256,
            verified_ms: system::time_ms(),
            damaged_ms: None,
            copy: None,
        };
        let is_equal = known.as_ref().is_some_and(|known| known.sha256 == sha256);
        let why = match known {
            None => "read for the first time as it is",
            Some(known) if is_equal => {
                digest.copy = known.copy;
                "its digest is what it was"
            }
            Some(known) if is_written_since(&known.version, &version) => {
                "it was written since it was last read, and has another digest"
            }
            Some(known) => return self.damaged(known, version),
        };
        Ok(Outcome {
            why: why.to_owned(),
            digest: Some(digest),
        })
    }

    /// Records that a file is damaged. Keeps the correct digest and the record of its copy, from
    /// which the file can be restored.
    fn damaged(&self, known: Digest, version: FileVersion) -> Result<Outcome, ActError> {
        let why = if known.version == version {
            "nothing says that it was written"
        } else {
            "its time of change is not newer"
        };
        let damaged = Digest {
            version,
            damaged_ms: Some(system::time_ms()),
            ..known
        };
        self.catalogue.write_log(&LogBatch {
            digests: vec![damaged],
            ..LogBatch::default()
        })?;
        Err(ActError::Failed(format!(
            "DAMAGED: its digest is not what it was, though {why}"
        )))
    }

    pub(super) fn copy(
        &self,
        ready: &CheckedFile<'_>,
        replicas: u32,
        stop: &AtomicBool,
    ) -> Result<Outcome, ActError> {
        let shelf = self
            .shelf
            .ok_or_else(|| ActError::Failed("there is no store".to_owned()))?;
        let address = String::from_utf8(ready.row.to.clone())
            .map_err(|_| ActError::Failed("its path is no text, and keys of objects are".to_owned()))?;
        let known = self.catalogue.current_digest(&ready.file)?;
        if known.as_ref().is_some_and(|digest| digest.damaged_ms.is_some()) {
            return Err(ActError::Failed(
                "it is damaged: its copy is not replaced".to_owned(),
            ));
        }
        let sha256 = self.put_or_compare(ready, shelf, &address, stop)?;
        let found = shelf.verify(&address).map_err(store_failed)?;
        let found = found.ok_or_else(|| ActError::Failed(format!("{address} is gone again")))?;
        system::failpoint::pass(&CRASH_POINTS, "policy.verified");
        if found.sha256 != sha256 {
            return Err(ActError::Failed(format!(
                "{address} is another object than the one that was written"
            )));
        }
        let verified_ms = system::time_ms();
        let digest = Digest {
            version: FileVersion::of(&ready.file),
            sha256,
            verified_ms,
            damaged_ms: None,
            copy: Some(Copy {
                address: address.clone(),
                replicas: found.replicas,
                verified_ms,
            }),
        };
        if found.replicas < replicas {
            // Record the intact replicas even though there are too few.
            self.catalogue.write_log(&LogBatch {
                digests: vec![digest],
                ..LogBatch::default()
            })?;
            let message = format!("{address} has {} right replicas of {replicas}", found.replicas);
            return Err(ActError::Failed(message));
        }
        Ok(Outcome {
            why: format!("{} replicas were read and are right", found.replicas),
            digest: Some(digest),
        })
    }

    /// Puts a file into the store, or compares it with the object already there. Returns its
    /// digest.
    fn put_or_compare(
        &self,
        ready: &CheckedFile<'_>,
        shelf: &dyn CopyStore,
        address: &str,
        stop: &AtomicBool,
    ) -> Result<[u8; 32], ActError> {
        if let Some(theirs) = shelf.find(address).map_err(store_failed)? {
            let ours = self.read(ready, stop)?;
            if ours != theirs {
                let message =
                    format!("{address} is another object: it is left as it is; copy with another prefix");
                return Err(ActError::Failed(message));
            }
            return Ok(ours);
        }
        let file = ready
            .place
            .read()
            .map_err(|error| ActError::failed("it cannot be opened", error))?;
        let put = shelf.put(address, file);
        system::failpoint::pass(&CRASH_POINTS, "policy.put");
        // If the file was changed in the meantime, that is not an error of the store.
        self.check_unchanged(ready)?;
        put.map_err(store_failed)
    }
}

/// Returns whether a version is explained by a write after the one before it. On a file system
/// without times of birth, it may also be another file with the same inode.
fn is_written_since(before: &FileVersion, now: &FileVersion) -> bool {
    now.modified_ns > before.modified_ns || before != now && now.id.born_ns == 0
}

fn store_failed(error: CopyStoreError) -> ActError {
    ActError::failed("the store", error)
}

/// Returns the SHA-256 of a file; `None` if it was stopped.
pub(super) fn digest(mut file: File, stop: &AtomicBool) -> std::io::Result<Option<[u8; 32]>> {
    let mut buffer = vec![0; 1 << 20];
    let mut sha256 = Sha256::new();
    loop {
        if stop.load(Relaxed) {
            return Ok(None);
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(sha256.finalize().into())),
            Ok(length) => sha256.update(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
