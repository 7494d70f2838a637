//! Where the tables lie.

use std::fmt::Debug;
use std::io;

use bytes::Bytes;

/// A folder of files, or what can be named like one. Paths are relative, with `/`.
///
/// What [`put`](Place::put) and [`put_if_absent`](Place::put_if_absent) have written is durable when they return.
pub trait Place: Debug + Send + Sync {
    /// Writes a file whole, in place of one that is there.
    ///
    /// # Errors
    /// As the place fails. The file then has its content from before, or all of `bytes`.
    fn put(&self, path: &str, bytes: Bytes) -> io::Result<()>;

    /// Writes a file whole if there is none, and says whether there was none. Of several callers at once, one succeeds. Where an
    /// attempt was repeated, because a connection broke before its answer came, a file of this very call may count as
    /// one that was there: the caller reads it then, and finds its own.
    ///
    /// # Errors
    /// As the place fails. The file may be there all the same.
    fn put_if_absent(&self, path: &str, bytes: Bytes) -> io::Result<bool>;

    /// The content of a file; `None` if there is none.
    ///
    /// # Errors
    /// As the place fails.
    fn get(&self, path: &str) -> io::Result<Option<Bytes>>;

    /// The contents of several small files, in the order of `paths`; a place that is far away reads many at once.
    ///
    /// # Errors
    /// As the place fails.
    fn get_all(&self, paths: &[String]) -> io::Result<Vec<Option<Bytes>>> {
        paths.iter().map(|path| self.get(path)).collect()
    }

    /// Whether there is a file.
    ///
    /// # Errors
    /// As the place fails.
    fn exists(&self, path: &str) -> io::Result<bool>;

    /// Removes a file; does nothing where there is none.
    ///
    /// # Errors
    /// As the place fails; [`io::ErrorKind::Unsupported`] where files are never removed.
    fn remove(&self, path: &str) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "{} stays: files there are removed by other programs",
                self.locate(path)
            ),
        ))
    }

    /// Names of the files in a folder, in any order; none if there is no folder.
    ///
    /// # Errors
    /// As the place fails.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Whether a file that a process was writing when it was killed may still come to be afterwards, as a request on its way to a
    /// store may. Names of data files are then never used twice: what arrives late must not replace what counts by now.
    fn may_arrive_late(&self) -> bool {
        false
    }

    /// Path of a file as messages say it.
    fn locate(&self, path: &str) -> String;
}
