//! Files of an archive directory, and its settings file. The byte-level description is
//! `docs/format-archive.md`.
//!
//! Invariants:
//! - a directory is an archive if and only if it contains `weft.json`;
//! - `weft.json` appears complete (it is written under another name, synced and renamed) and only
//!   under the lock;
//! - only the lock file is created before it.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Overlay, make_readable};
use extract::{DocumentScope, LinkScope};
use serde::{Deserialize, Serialize};

use crate::OpenError;
use crate::crash;
use crate::facts_writer::FactsSettings;

/// Format of archive directories that is written and read. The index has its own.
pub(crate) const FORMAT: u32 = 1;

/// Posted lines of indexes.
const POSTED: &str = "posted";
/// Files that administrators uploaded. The server writes them, and they are inputs.
const UPLOADS: &str = "uploads";
/// Files that exist while the archive is open: the owner's socket.
const RUNNING: &str = "run";
const INDEX: &str = "index";
const SEARCH: &str = "search";
/// The search index of images.
const IMAGES: &str = "images";
/// Small copies of images.
const THUMBNAILS: &str = "thumbnails";
const FACTS: &str = "facts";
/// The catalogue of files, which may exist before anything is loaded (`weft files scan`).
const CATALOGUE: &str = "files";
const CATALOGUE_MAKING: &str = "files.making";
/// Rules of policies for these files, written by users (`weft files policy`).
const POLICIES: &str = "policies.toml";
/// Access rules, written by users (`weft rights`).
const RIGHTS: &str = "rights.toml";
const RIGHTS_LOCK: &str = "rights.toml.lock";
/// Settings of the cache for remote inputs. This crate leaves them to the program.
const CACHE: &str = "cache.toml";

/// Paths within an archive directory.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    dir: PathBuf,
    /// Contains index and search index instead, if the archive is open read-only.
    overlay: Option<Arc<Overlay>>,
}

/// Content of `weft.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchiveSettings {
    pub(crate) format: u32,
    /// Version of the program that created the archive, for people.
    pub(crate) created_by: String,
    /// Which links the archive keeps. Fixed at creation.
    pub(crate) links: LinkScope,
    /// Which captures other than pages are searchable. Fixed at creation.
    #[serde(default)]
    pub(crate) documents: DocumentScope,
    /// Where facts are kept; absent if they are not. Fixed at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) facts: Option<FactsSettings>,
}

impl Files {
    /// Makes `dir` absolute, so that a later change of the working directory has no effect.
    pub(crate) fn new(dir: &Path) -> Result<Files, OpenError> {
        let dir = std::path::absolute(dir).map_err(|source| OpenError::io("resolve", dir, source))?;
        Ok(Files { dir, overlay: None })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the same archive with an overlay, so that opening it changes nothing. The caller
    /// holds the lock.
    pub(crate) fn read_only(&self) -> Result<Files, OpenError> {
        let overlay = Overlay::over(&self.dir, &[INDEX, SEARCH, IMAGES])
            .map_err(|source| OpenError::io("open read-only", &self.dir, source))?;
        Ok(Files {
            dir: self.dir.clone(),
            overlay: Some(Arc::new(overlay)),
        })
    }

    /// Makes the files in the archive's folders readable by all users who may read these folders.
    /// The caller holds the lock, and has closed index and search index.
    pub(crate) fn make_readable(&self) {
        if self.is_read_only() {
            return;
        }
        for dir in [self.index(), self.search(), self.images()] {
            match make_readable(&dir) {
                // Files of other users keep their permissions.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    tracing::debug!(dir = %dir.display(), %error, "cannot make all files readable for other users");
                }
                _ => {}
            }
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.overlay.is_some()
    }

    fn engines(&self) -> &Path {
        self.overlay.as_ref().map_or(&self.dir, |overlay| overlay.path())
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.engines().join(INDEX)
    }

    pub(crate) fn search(&self) -> PathBuf {
        self.engines().join(SEARCH)
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.engines().join(IMAGES)
    }

    /// Returns the folder of small copies of images. Read-only archives use it too, but do not
    /// write.
    pub(crate) fn thumbnails(&self) -> PathBuf {
        self.dir.join(THUMBNAILS)
    }

    /// Returns the folder of the tables of facts, unless the settings name another place. Read-only
    /// archives use it too.
    pub(crate) fn facts(&self) -> PathBuf {
        self.dir.join(FACTS)
    }

    /// Returns the folder of the posted lines. Read-only archives use it too.
    pub(crate) fn posted(&self) -> PathBuf {
        Files::posted_in(&self.dir)
    }

    /// Returns the folder of the posted lines in the archive at `dir`.
    pub(crate) fn posted_in(dir: &Path) -> PathBuf {
        dir.join(POSTED)
    }

    /// Returns the folder of uploaded files.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.dir.join(UPLOADS)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join(RUNNING).join("socket")
    }

    pub(crate) fn known_digests(&self) -> PathBuf {
        self.dir.join("known-digests.jsonl")
    }

    pub(crate) fn rights(&self) -> PathBuf {
        self.dir.join(RIGHTS)
    }

    fn settings(&self) -> PathBuf {
        self.dir.join("weft.json")
    }

    fn settings_aside(&self) -> PathBuf {
        self.dir.join("weft.json.new")
    }

    /// Reads the settings. Returns `None` if there is no archive.
    pub(crate) fn read_settings(&self) -> Result<Option<ArchiveSettings>, OpenError> {
        let path = self.settings();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(OpenError::io("read", &path, source)),
        };
        let settings: ArchiveSettings =
            serde_json::from_slice(&text).map_err(|error| OpenError::Settings {
                path: path.display().to_string(),
                message: error.to_string(),
            })?;
        if settings.format != FORMAT {
            return Err(OpenError::Format {
                dir: self.dir.display().to_string(),
                found: settings.format,
                expected: FORMAT,
            });
        }
        Ok(Some(settings))
    }

    pub(crate) fn version_error(&self, found: String) -> OpenError {
        OpenError::Version {
            dir: self.dir.display().to_string(),
            found,
            expected: crate::version::VERSION.to_owned(),
        }
    }

    /// Creates the directory, or checks that an existing one contains only files of an archive.
    pub(crate) fn prepare(&self) -> Result<(), OpenError> {
        fs::create_dir_all(&self.dir).map_err(|source| OpenError::io("create", &self.dir, source))?;
        match self.other_file()? {
            Some(found) => Err(self.not_empty(found)),
            None => Ok(()),
        }
    }

    /// Returns the error for a directory that is not an archive. A user who names a folder with
    /// other files does not want to turn it into an archive.
    pub(crate) fn missing(&self) -> OpenError {
        match self.other_file() {
            Ok(Some(found)) => self.not_empty(found),
            _ => OpenError::Missing {
                dir: self.dir.display().to_string(),
            },
        }
    }

    fn not_empty(&self, found: String) -> OpenError {
        OpenError::NotEmpty {
            dir: self.dir.display().to_string(),
            found,
        }
    }

    /// Returns a file in the directory that does not belong to an archive, if any.
    fn other_file(&self) -> Result<Option<String>, OpenError> {
        let ours = [
            "lock",
            RUNNING,
            "weft.json",
            "weft.json.new",
            INDEX,
            SEARCH,
            FACTS,
            CATALOGUE,
            CATALOGUE_MAKING,
            POLICIES,
            RIGHTS,
            RIGHTS_LOCK,
            CACHE,
        ];
        let entries = fs::read_dir(&self.dir).map_err(|source| OpenError::io("list", &self.dir, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| OpenError::io("list", &self.dir, source))?;
            let name = entry.file_name();
            // Another process may have created an archive in it meanwhile, which has more files.
            if !ours.iter().any(|known| name == *known) && self.read_settings()?.is_none() {
                return Ok(Some(name.to_string_lossy().into_owned()));
            }
        }
        Ok(None)
    }

    /// Writes `weft.json`, which makes the directory an archive. The caller holds the lock.
    pub(crate) fn write_settings(&self, settings: &ArchiveSettings) -> Result<(), OpenError> {
        let aside = self.settings_aside();
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&aside)?;
            serde_json::to_writer_pretty(&mut file, settings)?;
            file.write_all(b"\n")?;
            // The content must be on disk before the rename, and the rename before anything else:
            // after a crash the file is either missing or complete.
            file.sync_all()?;
            crash::point("settings.before_rename");
            fs::rename(&aside, self.settings())?;
            crash::point("settings.after_rename");
            fs::File::open(&self.dir)?.sync_all()
        };
        write().map_err(|source| OpenError::io("write", &self.settings(), source))
    }
}

/// Returns the size of all files below `dir` in bytes. Files that vanish meanwhile are not counted.
pub(crate) fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| allocated(&metadata)),
            _ => 0,
        })
        .sum()
}

/// Returns the bytes that a file occupies: its length, or less if it is sparse, like the index's
/// journal before it is written.
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    // `st_blocks` counts units of 512 bytes, independent of the block size of the file system.
    metadata.len().min(metadata.blocks().saturating_mul(512))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sparse_file_does_not_take_is_not_counted() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("small"), b"12345").unwrap();
        let sparse = fs::File::create(dir.path().join("0.jnl")).unwrap();
        sparse.set_len(64 << 20).unwrap();
        assert!(bytes_below(dir.path()) < 1 << 20);
    }
}
