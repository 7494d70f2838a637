//! A file that is read again when it has changed, and replaced atomically.
//!
//! Invariants:
//! - it is checked at each access, so a change applies to the next question;
//! - changes are serialised by a lock file next to it, and appear by a rename: none is lost or read
//!   in part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// A file that changed this recently is read again at the next access: within one tick of the file
/// system's clock it could change again with the same stamp.
const SETTLED_AFTER_MS: i64 = 2000;

/// Mode of a new file that others may read.
const FILE_MODE: u32 = 0o644;

/// The identity of a file when it was read. A change alters one of these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size_bytes: u64,
    modified_ns: (i64, i64),
    changed_ns: (i64, i64),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified_ns: (metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns whether any later change will alter the stamp.
    fn is_settled(&self) -> bool {
        let now_ms = system::time_ms();
        let changed_ms = self.changed_ns.0.saturating_mul(1000);
        changed_ms.saturating_add(SETTLED_AFTER_MS) < now_ms
    }
}

/// Why a file could not be read or changed.
pub(crate) enum WatchedFileError<E> {
    /// The disk failed.
    Io { action: &'static str, source: io::Error },
    /// The text is invalid, or the edit was refused.
    Text(E),
}

impl<E> WatchedFileError<E> {
    fn io(action: &'static str) -> impl FnOnce(io::Error) -> WatchedFileError<E> {
        move |source| WatchedFileError::Io { action, source }
    }
}

/// The file, and its content when last read.
#[derive(Debug)]
pub(crate) struct WatchedFile<T> {
    path: PathBuf,
    /// Whether only the owner of the file may read it.
    is_private: bool,
    read: Mutex<Option<CachedContent<T>>>,
}

#[derive(Debug)]
struct CachedContent<T> {
    /// Absent if the file could change again with the same stamp.
    stamp: Option<Stamp>,
    text: String,
    value: Arc<T>,
}

impl<T> WatchedFile<T> {
    pub(crate) fn at(path: PathBuf) -> WatchedFile<T> {
        WatchedFile {
            path,
            is_private: false,
            read: Mutex::new(None),
        }
    }

    /// Like [`WatchedFile::at`], for a file that only its owner may read.
    pub(crate) fn private_at(path: PathBuf) -> WatchedFile<T> {
        WatchedFile {
            is_private: true,
            ..WatchedFile::at(path)
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content of the file, parsed by `parse`; `None` if the file does not exist.
    /// Returns the same value while the text is unchanged.
    pub(crate) fn read<E>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<Arc<T>>, WatchedFileError<E>> {
        // Opening a pipe would wait for a writer.
        if self.path.metadata().is_ok_and(|found| !found.is_file()) {
            let source = io::Error::new(ErrorKind::InvalidInput, "not a regular file");
            return Err(WatchedFileError::io("read")(source));
        }
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            // A broken link is an error, not a missing file: it was meant to lead to one.
            Err(error) if error.kind() == ErrorKind::NotFound && self.path.symlink_metadata().is_err() => {
                return Ok(None);
            }
            Err(error) => return Err(WatchedFileError::io("read")(error)),
        };
        let stamp = Stamp::of(&file.metadata().map_err(WatchedFileError::io("read"))?);
        let mut read = self.read.lock();
        if let Some(known) = &*read
            && known.stamp == Some(stamp)
        {
            return Ok(Some(Arc::clone(&known.value)));
        }
        let text = io::read_to_string(&mut file).map_err(WatchedFileError::io("read"))?;
        let value = match &*read {
            // Parsing costs more than reading, and callers rely on the value being the same.
            Some(known) if known.text == text => Arc::clone(&known.value),
            _ => Arc::new(parse(&text).map_err(WatchedFileError::Text)?),
        };
        *read = Some(CachedContent {
            stamp: stamp.is_settled().then_some(stamp),
            text,
            value: Arc::clone(&value),
        });
        Ok(Some(value))
    }

    /// Replaces the text, or creates the file. `edit` gets the present text. Concurrent changes
    /// wait, and readers never see a part of one.
    pub(crate) fn change<E>(
        &self,
        edit: impl FnOnce(&str) -> Result<String, E>,
    ) -> Result<(), WatchedFileError<E>> {
        let lock = self.options().truncate(false).open(sibling(&self.path, ".lock"));
        let lock = lock.map_err(WatchedFileError::io("lock"))?;
        lock.lock().map_err(WatchedFileError::io("lock"))?;
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(WatchedFileError::io("read")(error)),
        };
        let edited = edit(&text).map_err(WatchedFileError::Text)?;
        self.replace(&edited).map_err(WatchedFileError::io("write"))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        // Replace the target of a link instead of the link.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let aside = sibling(&path, ".new");
        let mut file = self.options().truncate(true).open(&aside)?;
        if let (false, Ok(known)) = (self.is_private, path.metadata()) {
            file.set_permissions(known.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        // Content before name: after a crash the file has the old text or the new one.
        file.sync_all()?;
        fs::rename(&aside, &path)?;
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }

    fn options(&self) -> OpenOptions {
        let mut options = if self.is_private {
            system::private::file()
        } else {
            OpenOptions::new()
        };
        // Only the owner may write a new file, whatever the umask of the process is.
        if !self.is_private {
            options.mode(FILE_MODE);
        }
        options.create(true).write(true);
        options
    }
}

/// Returns the path with `ending` appended to its name.
fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}
