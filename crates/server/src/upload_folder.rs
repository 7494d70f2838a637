//! The folder of the files that administrators upload. It belongs to the archive, which reads
//! records from it.
//!
//! Invariants:
//! - A file gets its name when it is complete and synced. Until then the name ends in [`PART`].
//! - A file is replaced only if the caller says so: nothing was loaded of it. An upload with the content
//!   of an existing file of its name uses that file.
//! - An upload that fails or is interrupted removes its file. The first upload of a process removes
//!   the files of uploads that ended with an earlier process: one process at a time owns the archive.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use ::catalogue::Format;
use axum::body::Bytes;
use tokio::sync::Semaphore;

use crate::settings::UploadSettings;

/// End of the name of an incomplete file. No upload is accepted under such a name.
const PART: &str = ".part";

/// Maximum length of a name in bytes. File systems allow 255, and [`PART`] follows with a number.
const NAME_BYTES_MAX: usize = 200;

/// Maximum number of uploads at a time. Each has a thread that writes.
const UPLOADS_MAX: usize = 4;

/// Number of bytes that are compared at a time.
const COMPARED_BYTES: usize = 64 * 1024;

/// The names that [`safe_name`] accepts, for people.
pub(crate) const ACCEPTED: &str = ".warc, .arc, .wat and .wet, also with .gz; .warc.zst; .warc.lz4; .wacz";

/// The folder of uploaded files.
pub(crate) struct UploadFolder {
    pub(crate) settings: UploadSettings,
    /// Permits for uploads in progress.
    pub(crate) permits: Semaphore,
    sweep: Once,
    /// Held from the check for an existing file until the rename.
    publishing: Mutex<()>,
}

/// A stored file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredFile {
    pub(crate) path: PathBuf,
    /// Whether this upload created it.
    pub(crate) is_new: bool,
}

/// Why an upload was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the body is incomplete")]
    Interrupted,
    #[error("a file of this name with other content exists")]
    Exists,
    #[error("no space left on the disk of the archive")]
    NoSpace,
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> StoreError {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::NoSpace,
            _ => StoreError::Io(error),
        }
    }
}

/// Returns the name that an uploaded file gets: the last part of the client's path, with `_` for
/// each character other than `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`. `None` if Weft does not load
/// files of that name.
pub(crate) fn safe_name(given: &str) -> Option<String> {
    let base = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |c: char| match c {
        '.' | '_' | '-' => c,
        _ if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    let name: String = base.chars().map(safe).collect();
    // The end of a long name is kept, because it says the format. The name is ASCII, so every
    // index is a boundary.
    let name = &name[name.len().saturating_sub(NAME_BYTES_MAX)..];
    // A dot would hide the file, and a dash would make it a flag of commands.
    let name = name.trim_start_matches(['.', '-']);
    let format = Format::of_name(name.as_bytes()).name();
    matches!(format, "warc" | "arc" | "wat" | "wet" | "wacz").then(|| name.to_owned())
}

impl UploadFolder {
    pub(crate) fn new(settings: UploadSettings) -> UploadFolder {
        UploadFolder {
            settings,
            permits: Semaphore::new(UPLOADS_MAX),
            sweep: Once::new(),
            publishing: Mutex::new(()),
        }
    }

    /// Stores the pieces as the file `name`, which [`safe_name`] returned. Blocks until the file is
    /// on disk. `bytes_declared` is the size of all pieces, if the client has sent it. An existing
    /// file with other content is replaced if `replaces` is set.
    pub(crate) fn store(
        &self,
        name: &str,
        bytes_declared: Option<u64>,
        replaces: bool,
        pieces: impl Iterator<Item = Result<Bytes, StoreError>>,
    ) -> Result<StoredFile, StoreError> {
        let dir = &self.settings.dir;
        fs::create_dir_all(dir)?;
        self.sweep.call_once(|| remove_parts(dir));
        if bytes_declared
            .zip(free_bytes(dir))
            .is_some_and(|(needed, free)| needed > free)
        {
            return Err(StoreError::NoSpace);
        }
        let number = system::random::<u64>();
        let mut part = PartFile::create(dir.join(format!("{name}.{number:016x}{PART}")))?;
        for piece in pieces {
            part.file.write_all(&piece?)?;
        }
        part.file.sync_all()?;
        self.publish(part, dir.join(name), replaces)
    }

    /// Gives a complete file its name. A file of that name is replaced if `replaces` is set.
    fn publish(&self, mut part: PartFile, path: PathBuf, replaces: bool) -> Result<StoredFile, StoreError> {
        let _turn = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::symlink_metadata(&path) {
            Ok(_) if has_same_content(&part.path, &path)? => {
                return Ok(StoredFile { path, is_new: false });
            }
            Ok(_) if !replaces => return Err(StoreError::Exists),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        fs::rename(&part.path, &path)?;
        part.is_published = true;
        // The entry of the file, and that of the folder, which may be new.
        let dir = &self.settings.dir;
        for dir in [Some(dir.as_path()), dir.parent()].into_iter().flatten() {
            File::open(dir)?.sync_all()?;
        }
        Ok(StoredFile { path, is_new: true })
    }
}

/// A file that is removed when dropped, unless it was published.
struct PartFile {
    path: PathBuf,
    file: File,
    is_published: bool,
}

impl PartFile {
    fn create(path: PathBuf) -> io::Result<PartFile> {
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok(PartFile {
            path,
            file,
            is_published: false,
        })
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_published {
            // If this fails, the next process removes the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the files of interrupted uploads. One that cannot be removed harms nothing.
fn remove_parts(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_part = |path: &PathBuf| path.as_os_str().as_encoded_bytes().ends_with(PART.as_bytes());
    for path in entries.map(|entry| entry.path()).filter(is_part) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "cannot remove an interrupted upload");
        }
    }
}

/// Returns the free bytes of the disk, if the system reports them.
fn free_bytes(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn has_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut one = BufReader::with_capacity(COMPARED_BYTES, one);
    let mut other = BufReader::with_capacity(COMPARED_BYTES, other);
    loop {
        let (ours, theirs) = (one.fill_buf()?, other.fill_buf()?);
        let both = ours.len().min(theirs.len());
        if both == 0 {
            return Ok(ours.is_empty() && theirs.is_empty());
        }
        if ours[..both] != theirs[..both] {
            return Ok(false);
        }
        one.consume(both);
        other.consume(both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_or_refused() {
        for (given, expected) in [
            ("crawl.wacz", Some("crawl.wacz")),
            ("Crawl 1 (a).WARC.GZ", Some("Crawl_1__a_.WARC.GZ")),
            ("/etc/../x.warc", Some("x.warc")),
            ("C:\\crawls\\x.arc.gz", Some("x.arc.gz")),
            ("\u{e9}\0\n.warc.zst", Some("___.warc.zst")),
            ("..hidden.wat.gz", Some("hidden.wat.gz")),
            ("-rf.wet", Some("rf.wet")),
            ("x.warc/", None),
            (".warc", None),
            ("..", None),
            ("", None),
            ("x.cdx", None),
            ("x.warc.gz.md5", None),
            ("x.warc.part", None),
            ("rights.toml", None),
        ] {
            assert_eq!(safe_name(given).as_deref(), expected, "{given:?}");
        }
        let long = safe_name(&format!("{}.warc.gz", "a".repeat(5000))).unwrap();
        assert!(
            long.len() == NAME_BYTES_MAX && long.ends_with("a.warc.gz"),
            "{long}"
        );
    }

    fn folder(dir: &Path) -> UploadFolder {
        UploadFolder::new(UploadSettings::at(dir.join("uploads")))
    }

    fn piece(text: &'static str) -> Result<Bytes, StoreError> {
        Ok(Bytes::from_static(text.as_bytes()))
    }

    /// Returns the names of all files of the folder.
    fn names(folder: &UploadFolder) -> Vec<String> {
        let entries = fs::read_dir(&folder.settings.dir).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        entries.map(name).collect()
    }

    #[test]
    fn a_file_is_stored_once_and_not_replaced_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        let store =
            |pieces: [Result<Bytes, StoreError>; 2]| folder.store("x.warc", None, false, pieces.into_iter());
        let path = folder.settings.dir.join("x.warc");
        let first = store([piece("WARC"), piece("/1.0")]).unwrap();
        assert!(first.is_new && first.path == path, "{first:?}");
        let again = store([piece("WA"), piece("RC/1.0")]).unwrap();
        assert!(!again.is_new && again.path == path, "{again:?}");
        for other in ["/1.1", "/1.0 and more"] {
            let refused = store([piece("WARC"), piece(other)]);
            assert!(matches!(refused, Err(StoreError::Exists)), "{refused:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), b"WARC/1.0");
        assert_eq!(names(&folder), ["x.warc"]);
        // Unless the caller knows that nothing was loaded of it.
        let replaced = folder.store("x.warc", None, true, [piece("WARC/1.1")].into_iter());
        assert!(replaced.unwrap().is_new);
        assert_eq!(fs::read(&path).unwrap(), b"WARC/1.1");
        assert_eq!(names(&folder), ["x.warc"]);
    }

    #[test]
    fn what_is_interrupted_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        fs::create_dir(&folder.settings.dir).unwrap();
        // Left by a process that was killed.
        fs::write(folder.settings.dir.join("old.warc.0123.part"), "half").unwrap();
        let pieces = [piece("half"), Err(StoreError::Interrupted)];
        let stored = folder.store("x.warc", None, false, pieces.into_iter());
        assert!(matches!(stored, Err(StoreError::Interrupted)), "{stored:?}");
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_before_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        let unread =
            std::iter::from_fn(|| -> Option<Result<Bytes, StoreError>> { panic!("the body is read") });
        let stored = folder.store("x.warc", Some(u64::MAX), false, unread);
        assert!(matches!(stored, Err(StoreError::NoSpace)), "{stored:?}");
        let full = StoreError::from(io::Error::from(ErrorKind::StorageFull));
        assert!(matches!(full, StoreError::NoSpace));
    }
}
