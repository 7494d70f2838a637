//! Whole files in a directory or in a store elsewhere.

use std::fmt::Debug;
use std::io;

use bytes::Bytes;

/// A directory of files, or a store with similar names. Paths are relative, with `/`.
///
/// Files written with [`put`](FileStore::put) and [`put_if_absent`](FileStore::put_if_absent) are durable
/// when they return.
pub trait FileStore: Debug + Send + Sync {
    /// Writes a whole file, and replaces an existing one.
    ///
    /// # Errors
    /// Errors of the store. The file then has its old content, or all of `bytes`.
    fn put(&self, path: &str, bytes: Bytes) -> io::Result<()>;

    /// Writes a whole file if it does not exist, and returns whether it did not. Of several
    /// concurrent callers, one succeeds. If a request was repeated because the connection broke
    /// before the response, the call may take its own file for an existing one. The caller must
    /// then read it, to recognise it as its own.
    ///
    /// # Errors
    /// Errors of the store. The file may have been written nevertheless.
    fn put_if_absent(&self, path: &str, bytes: Bytes) -> io::Result<bool>;

    /// Returns the content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the store.
    fn get(&self, path: &str) -> io::Result<Option<Bytes>>;

    /// Returns the contents of several small files, in the order of `paths`. A remote store reads
    /// many at once.
    ///
    /// # Errors
    /// Errors of the store.
    fn get_all(&self, paths: &[String]) -> io::Result<Vec<Option<Bytes>>> {
        paths.iter().map(|path| self.get(path)).collect()
    }

    /// Returns whether a file exists.
    ///
    /// # Errors
    /// Errors of the store.
    fn exists(&self, path: &str) -> io::Result<bool>;

    /// Removes a file; does nothing if it does not exist.
    ///
    /// # Errors
    /// Errors of the store; [`io::ErrorKind::Unsupported`] if the store never removes files.
    fn remove(&self, path: &str) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "{} is kept: files there are removed by other programs",
                self.locate(path)
            ),
        ))
    }

    /// Returns the names of the files in a directory, in any order; empty if the directory does not
    /// exist.
    ///
    /// # Errors
    /// Errors of the store.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Returns whether a file that a killed process was writing may still appear later, like a
    /// request on its way to a store. Then names of data files are never used twice, because a late
    /// file must not replace a live one.
    fn may_arrive_late(&self) -> bool {
        false
    }

    /// Path of a file for messages.
    fn locate(&self, path: &str) -> String;
}
