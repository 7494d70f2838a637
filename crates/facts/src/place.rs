//! Where the tables lie.

use std::fmt::Debug;
use std::io;

/// A folder of files, or what can be named like one. Paths are relative, with `/`.
///
/// What [`put`](Place::put) and [`put_if_absent`](Place::put_if_absent) have written is durable when they return.
pub trait Place: Debug + Send + Sync {
    /// Writes a file whole, in place of one that is there.
    ///
    /// # Errors
    /// As the place fails. The file then has its content from before, or all of `bytes`.
    fn put(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Writes a file whole if there is none, and says whether there was none. Of several callers at once, one succeeds.
    ///
    /// # Errors
    /// As the place fails.
    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> io::Result<bool>;

    /// The content of a file; `None` if there is none.
    ///
    /// # Errors
    /// As the place fails.
    fn get(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Whether there is a file.
    ///
    /// # Errors
    /// As the place fails.
    fn exists(&self, path: &str) -> io::Result<bool>;

    /// Names of the files in a folder, in any order; none if there is no folder.
    ///
    /// # Errors
    /// As the place fails.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Path of a file as messages say it.
    fn locate(&self, path: &str) -> String;
}
