//! The lock file. The process that holds its lock owns the archive.
//!
//! The lock belongs to the open file, so it ends with the process, however the process ends. The
//! owner writes its process number into the file for people; no code relies on it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::OpenError;

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub(crate) struct Lock {
    /// `None` if a read-only archive has no lock file.
    file: Option<File>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that another thread has forked holds a copy of it
        // until it runs its program.
        if let Some(Err(error)) = self.file.as_ref().map(File::unlock) {
            tracing::debug!(%error, "cannot unlock the archive");
        }
    }
}

impl Lock {
    /// Takes the lock. Returns `None` while another process holds it.
    pub(crate) fn try_acquire(path: &Path) -> Result<Option<Lock>, OpenError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|source| OpenError::io("open", path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(OpenError::io("lock", path, source)),
        }
        // The number is only for people, so a failure is ignored: a full disk must not keep an
        // archive from being opened.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Some(Lock { file: Some(file) }))
    }

    /// Takes a lock that readers share. Returns `None` while a process owns the archive. Writes
    /// nothing.
    pub(crate) fn try_share(path: &Path) -> Result<Option<Lock>, OpenError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(Lock { file: None })),
            Err(source) => return Err(OpenError::io("open", path, source)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Lock { file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(OpenError::io("lock", path, source)),
        }
    }

    /// Returns a phrase for the processes that share the lock for reading; `None` if there are
    /// none.
    pub(crate) fn readers(path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        // The first attempt succeeds if the lock is free; the second fails if an owner holds it.
        if file.try_lock().is_ok() || file.try_lock_shared().is_err() {
            return None;
        }
        let inode = file.metadata().ok()?.ino();
        drop(file);
        // Readers write nothing into the file, but the system may report their process numbers.
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let readers: Vec<&str> = locks.lines().filter_map(|line| reader_of(line, inode)).collect();
        Some(match readers[..] {
            [] => "other processes".to_owned(),
            [reader] => format!("process {reader}"),
            _ => format!("processes {}", readers.join(", ")),
        })
    }

    /// Returns a phrase for the process that holds the lock.
    pub(crate) fn owner(path: &Path) -> String {
        let mut text = String::new();
        let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
        match (read, text.trim()) {
            (Ok(_), pid) if !pid.is_empty() => format!("process {pid}"),
            _ => "another process".to_owned(),
        }
    }
}

/// Returns the process in a line of `/proc/locks`, if the line is a shared lock on the file with
/// this inode: `1: FLOCK ADVISORY READ 4711 fe:00:1234 0 EOF`. Devices are not compared, because
/// some file systems report other ones here.
fn reader_of(line: &str, inode: u64) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let ["FLOCK", _, "READ", process, file, ..] = fields.get(1..)? else {
        return None;
    };
    (file.rsplit(':').next()?.parse() == Ok(inode)).then_some(*process)
}

#[cfg(test)]
mod tests {
    use super::{Lock, reader_of};

    #[test]
    fn a_copy_of_the_lock_in_a_child_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::try_acquire(&path).unwrap().unwrap();
        let copy = lock.file.as_ref().unwrap().try_clone().unwrap();
        drop(lock);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
        drop(copy);
    }

    #[test]
    fn readers_are_told_from_owners_and_from_those_who_wait() {
        for (line, reader) in [
            ("1: FLOCK  ADVISORY  READ 4711 fe:00:1234 0 EOF", Some("4711")),
            ("1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF", None),
            ("1: -> FLOCK  ADVISORY  READ 4711 fe:00:1234 0 EOF", None),
            ("1: POSIX  ADVISORY  READ 4711 fe:00:1234 0 EOF", None),
            ("1: FLOCK  ADVISORY  READ 4711 fe:00:1235 0 EOF", None),
            ("1: FLOCK", None),
            ("", None),
        ] {
            assert_eq!(reader_of(line, 1234), reader, "{line}");
        }
    }
}
