//! A file that is read again when it has changed.
//!
//! Invariant: it is looked at each time it is asked for, so that what was changed holds for the next question.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// A file that changed this recently is read again at the next question: within one tick of the file system's clock it could
/// change once more and look the same.
const SETTLED_AFTER_MS: i64 = 2000;

/// What a file was when it was read. A file that is changed differs in one of these.
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

    /// Whether a later change certainly shows in the stamp.
    fn is_settled(&self) -> bool {
        let now_ms = i64::try_from(ambient::wall_ms()).unwrap_or(i64::MAX);
        let changed_ms = self.changed_ns.0.saturating_mul(1000);
        changed_ms.saturating_add(SETTLED_AFTER_MS) < now_ms
    }
}

/// The file, and what was read of it last.
#[derive(Debug)]
pub(crate) struct Stamped<T> {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<T>)>>,
}

impl<T> Stamped<T> {
    pub(crate) fn at(path: PathBuf) -> Stamped<T> {
        Stamped {
            path,
            read: Mutex::new(None),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in the file now, as `parse` makes it of its text; `None` where there is no file.
    pub(crate) fn read<E: From<io::Error>>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<Arc<T>>, E> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            // A link that leads nowhere was meant to lead to a file: that is no archive without rules.
            Err(error) if error.kind() == ErrorKind::NotFound && self.path.symlink_metadata().is_err() => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let stamp = Stamp::of(&file.metadata()?);
        let mut read = self.read.lock();
        if let Some((known, value)) = &*read
            && *known == stamp
        {
            return Ok(Some(Arc::clone(value)));
        }
        let value = Arc::new(parse(&io::read_to_string(&mut file)?)?);
        *read = stamp.is_settled().then(|| (stamp, Arc::clone(&value)));
        Ok(Some(value))
    }
}
