//! Tables in a local directory.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parking_lot::Mutex;
use tempfile::NamedTempFile;

use crate::crash;
use system::FileStore;

/// Prefix of the names of files that are being written.
const TEMPORARY_PREFIX: &str = ".new-";

/// A directory with the tables.
#[derive(Debug)]
pub struct LocalFileStore {
    dir: PathBuf,
    /// Directories that are known to exist durably.
    created_folders: Mutex<HashSet<PathBuf>>,
}

impl LocalFileStore {
    /// Returns a place in `dir`, which is created on the first write.
    pub fn new(dir: &Path) -> LocalFileStore {
        LocalFileStore {
            // Each directory above is synced, and a relative path ends in one without a name.
            dir: std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()),
            created_folders: Mutex::default(),
        }
    }

    /// Returns the directory of a file, and creates it if necessary.
    fn folder_of(&self, path: &Path) -> io::Result<PathBuf> {
        let folder = path.parent().unwrap_or(&self.dir).to_owned();
        // Locked until the end, so that another thread's new temporary file is not taken for a
        // remnant of a killed process.
        let mut created_folders = self.created_folders.lock();
        if created_folders.contains(&folder) {
            return Ok(folder);
        }
        fs::create_dir_all(&folder)?;
        // The name of each directory is in its parent, which must be synced.
        for above in folder.ancestors().skip(1) {
            File::open(above)?.sync_all()?;
            if above == self.dir.parent().unwrap_or(&self.dir) {
                break;
            }
        }
        // Left by a killed process: only the owner of the archive writes files with such names.
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(TEMPORARY_PREFIX.as_bytes())
            {
                fs::remove_file(entry.path())?;
            }
        }
        created_folders.insert(folder.clone());
        Ok(folder)
    }

    /// Writes and syncs a file under a temporary name, which readers of a table ignore.
    fn write_temporary(&self, folder: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let written = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .tempfile_in(folder);
        if written.is_err() {
            // The directory may have been removed since.
            self.created_folders.lock().remove(folder);
        }
        let mut file = written?;
        file.write_all(bytes)?;
        // Readable like any other file, because other programs read the tables.
        set_readable(file.as_file())?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

#[cfg(unix)]
fn set_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

impl FileStore for LocalFileStore {
    fn put(&self, path: &str, bytes: Bytes) -> io::Result<()> {
        let path = self.dir.join(path);
        let folder = self.folder_of(&path)?;
        self.write_temporary(&folder, &bytes)?.persist(&path)?;
        File::open(folder)?.sync_all()
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> io::Result<bool> {
        let path = self.dir.join(path);
        let folder = self.folder_of(&path)?;
        let file = self.write_temporary(&folder, &bytes)?;
        crash::point("publish.before_rename");
        match file.persist_noclobber(&path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error.error),
        }
        crash::point("publish.before_sync");
        File::open(folder)?.sync_all()?;
        Ok(true)
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        match fs::read(self.dir.join(path)) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.dir.join(path).try_exists()
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.dir.join(path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.dir.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        // Names of other programs' files need not be text; this program's are.
        entries
            .filter_map(|entry| {
                entry
                    .map(|entry| entry.file_name().into_string().ok())
                    .transpose()
            })
            .collect()
    }

    fn locate(&self, path: &str) -> String {
        self.dir.join(path).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_folder_has_a_parent_to_sync() {
        let store = LocalFileStore::new(Path::new("tables"));
        assert!(store.dir.is_absolute() && store.dir.ends_with("tables"));
    }

    /// Regression: a large first epoch writes several files into a new directory, each on a
    /// separate thread. A thread that was still cleaning the directory removed a file that another
    /// had started.
    #[test]
    fn threads_that_make_a_folder_together_all_write_into_it() {
        for _ in 0..200 {
            let root = tempfile::tempdir().unwrap();
            let place = LocalFileStore::new(&root.path().join("facts"));
            std::thread::scope(|scope| {
                for number in 0..4 {
                    let place = &place;
                    scope.spawn(move || {
                        place
                            .put(&format!("links/{number}"), Bytes::from_static(b"rows"))
                            .unwrap()
                    });
                }
            });
            assert_eq!(place.list("links").unwrap().len(), 4);
        }
    }
}
