//! Layout of a directory of the disk tier.
//!
//! ```text
//! CACHE                        marks a cache; without it, a directory with other files is refused
//! lock                         held by the owner, which evicts blocks; other processes are guests
//! pins                         prefixes pinned by command, one per line
//! drops                        prefixes dropped by command, one per line; every process follows it
//! changes                      blocks written by guests, one per line, to be added by the owner
//! stats.weft.json              counters of a program, written from time to time
//! objects/ab/<30 digits>/about the object: a line of JSON, then further data of its origin
//! objects/ab/<30 digits>/12    its block 12; 12m if that is metadata
//! ```
//!
//! Invariants:
//!  - Nothing outside `objects`, and nothing in it with another kind of name, is ever removed.
//!  - Everything here is a copy: the directory can be deleted at any time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::block::{BlockKey, Class, ObjectId};
use crate::origin::{Description, Validator};

const MARK: &str = "CACHE";
const MARK_TEXT: &str =
    "weft cache 1\nEverything here is kept elsewhere: this directory can be deleted at any time.\n";
const LOCK: &str = "lock";
const PINS: &str = "pins";
const DROPS: &str = "drops";
const CHANGES: &str = "changes";
const CHANGES_TAKEN: &str = "changes.taken";
const OBJECTS: &str = "objects";
const ABOUT: &str = "about";

/// A version of an object, with its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectInfo {
    pub(crate) endpoint: String,
    pub(crate) root: String,
    pub(crate) path: String,
    pub(crate) description: Description,
}

impl ObjectInfo {
    pub(crate) fn id(&self) -> ObjectId {
        let Description {
            size_bytes,
            validator,
            ..
        } = &self.description;
        ObjectId::new(&self.endpoint, &self.root, &self.path, *size_bytes, validator)
    }

    pub(crate) fn address(&self) -> String {
        format!("{}/{}", self.root, self.path)
    }
}

#[derive(Serialize, Deserialize)]
struct About {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    endpoint: String,
    root: String,
    path: String,
    size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_ms: Option<i64>,
    /// Length of the data after the line.
    beside_bytes: usize,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It has files that do not belong to a cache.
    #[error("{} is not empty and is not a cache of weft: choose another directory, so that no file in it is lost", .0.display())]
    NotOurs(PathBuf),
    /// I/O error.
    #[error("cache directory {}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Layout {
    root: PathBuf,
    /// `None` if another process owns the directory.
    lock: Option<File>,
}

/// A block found on disk.
pub(crate) struct FoundBlock {
    pub(crate) key: BlockKey,
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) space_bytes: u64,
    pub(crate) written_ms: u64,
}

impl Layout {
    /// Opens or creates a directory.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn open(root: &Path) -> Result<Layout, OpenError> {
        let failed = |source| OpenError::Io {
            path: root.to_owned(),
            source,
        };
        // Cached objects may be confidential.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(failed)?;
        let mark = root.join(MARK);
        match fs::read_to_string(&mark) {
            Ok(text) if text.starts_with("weft cache 1\n") => {}
            Ok(_) => return Err(OpenError::NotOurs(root.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let entries = fs::read_dir(root).map_err(failed)?.flatten();
                if entries.into_iter().any(|entry| !is_ours(&entry.file_name())) {
                    return Err(OpenError::NotOurs(root.to_owned()));
                }
                fs::write(&mark, MARK_TEXT).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        fs::create_dir_all(root.join(OBJECTS)).map_err(failed)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join(LOCK))
            .map_err(failed)?;
        let lock = match file.try_lock() {
            Ok(()) => Some(file),
            Err(fs::TryLockError::WouldBlock) => None,
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        };
        Ok(Layout {
            root: root.to_owned(),
            lock,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether another process owns the directory.
    pub(crate) fn is_guest(&self) -> bool {
        self.lock.is_none()
    }

    fn object(&self, id: ObjectId) -> PathBuf {
        let digits = format!("{:032x}", id.0);
        let (first, rest) = digits.split_at(2);
        self.root.join(OBJECTS).join(first).join(rest)
    }

    pub(crate) fn block(&self, key: &BlockKey) -> PathBuf {
        let class = match key.class {
            Class::Data => "",
            Class::Metadata => "m",
        };
        self.object(key.object).join(format!("{}{class}", key.block))
    }

    /// Creates the folder of an object with its description file.
    pub(crate) fn make_object(&self, info: &ObjectInfo) -> io::Result<()> {
        let folder = self.object(info.id());
        let about = folder.join(ABOUT);
        if about.exists() {
            return Ok(());
        }
        fs::create_dir_all(&folder)?;
        let Description {
            size_bytes,
            validator,
            beside,
        } = &info.description;
        let line = About {
            endpoint: info.endpoint.clone(),
            root: info.root.clone(),
            path: info.path.clone(),
            size_bytes: *size_bytes,
            tag: match validator {
                Validator::Tag(tag) => Some(tag.clone()),
                Validator::Modified(_) => None,
            },
            modified_ms: match validator {
                Validator::Tag(_) => None,
                Validator::Modified(ms) => Some(*ms),
            },
            beside_bytes: beside.len(),
        };
        let mut text = serde_json::to_vec(&line).map_err(io::Error::other)?;
        text.push(b'\n');
        text.extend_from_slice(beside);
        // Not atomic: a truncated file is detected when it is read.
        File::create(about)?.write_all(&text)
    }

    /// Removes the file of a block and, if asked, the folder of its object if it is empty. Missing
    /// files are ignored.
    pub(crate) fn remove(&self, key: &BlockKey, with_object: bool) -> io::Result<()> {
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        };
        gone(fs::remove_file(self.block(key)))?;
        if with_object {
            let folder = self.object(key.object);
            gone(fs::remove_file(folder.join(ABOUT)))?;
            // Fails if it still has other files.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Returns all blocks, oldest first. Removes objects without a valid description.
    pub(crate) fn scan(&self) -> io::Result<Vec<FoundBlock>> {
        let mut found = Vec::new();
        for first in fs::read_dir(self.root.join(OBJECTS))?.flatten() {
            let name = first.file_name();
            let Some(first_digits) = name.to_str().filter(|name| name.len() == 2 && is_hex(name)) else {
                continue;
            };
            for object in fs::read_dir(first.path())?.flatten() {
                let name = object.file_name();
                let Some(rest) = name.to_str().filter(|name| name.len() == 30 && is_hex(name)) else {
                    continue;
                };
                if let Ok(id) = u128::from_str_radix(&format!("{first_digits}{rest}"), 16) {
                    self.scan_object(ObjectId(id), &object.path(), &mut found)?;
                }
            }
        }
        found.sort_by_key(|block| (block.written_ms, block.key));
        Ok(found)
    }

    fn scan_object(&self, id: ObjectId, folder: &Path, found: &mut Vec<FoundBlock>) -> io::Result<()> {
        let info = read_about(&folder.join(ABOUT))
            .filter(|info| info.id() == id)
            .map(Arc::new);
        let before = found.len();
        for entry in fs::read_dir(folder)?.flatten() {
            let name = entry.file_name();
            let Some((block, class)) = name.to_str().and_then(parse_block) else {
                continue;
            };
            let Some(info) = &info else {
                // To a guest this may be an object that is just being written.
                if !self.is_guest() {
                    fs::remove_file(entry.path())?;
                }
                continue;
            };
            let Ok(meta) = entry.metadata() else { continue };
            found.push(FoundBlock {
                key: BlockKey {
                    object: id,
                    block,
                    class,
                },
                info: info.clone(),
                space_bytes: meta.blocks().saturating_mul(512),
                written_ms: u64::try_from(meta.mtime().saturating_mul(1000) + meta.mtime_nsec() / 1_000_000)
                    .unwrap_or(0),
            });
        }
        if found.len() == before && !self.is_guest() {
            // The last block was removed, or the first was never written.
            let _ = fs::remove_file(folder.join(ABOUT));
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Returns the prefixes pinned by command.
    pub(crate) fn pins(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join(PINS)).unwrap_or_default();
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Stores the prefixes pinned by command.
    pub(crate) fn keep_pins(&self, pins: &[String]) -> io::Result<()> {
        let mut text = pins.join("\n");
        text.push('\n');
        self.replace(PINS, text.as_bytes())
    }

    /// Replaces a file atomically.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let beside = self.root.join(format!("{name}.{}", std::process::id()));
        fs::write(&beside, bytes)?;
        fs::rename(beside, self.root.join(name))
    }

    /// Returns the statistics that programs have written.
    pub(crate) fn stats_files(&self) -> Vec<Vec<u8>> {
        let is_stats = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_str()
                .is_some_and(|name| name.starts_with("stats.") && name.ends_with(".json"))
        };
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries
            .filter(is_stats)
            .filter_map(|entry| fs::read(entry.path()).ok())
            .collect()
    }

    /// Notifies all processes that a prefix is dropped.
    pub(crate) fn record_drop(&self, prefix: &str) -> io::Result<()> {
        self.append(DROPS, prefix)
    }

    /// Returns the prefixes dropped since position `from`, and the next position.
    pub(crate) fn drops(&self, from: u64) -> (Vec<String>, u64) {
        let bytes = fs::read(self.root.join(DROPS)).unwrap_or_default();
        // If the file is shorter, an owner has truncated it.
        let from = usize::try_from(from)
            .ok()
            .filter(|from| *from <= bytes.len())
            .unwrap_or(0);
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let lines = String::from_utf8_lossy(bytes.get(from..whole).unwrap_or_default()).into_owned();
        (lines.lines().map(str::to_owned).collect(), whole.max(from) as u64)
    }

    /// Reports a block written by this guest to the owner.
    pub(crate) fn record_change(&self, key: &BlockKey) -> io::Result<()> {
        let class = match key.class {
            Class::Data => "",
            Class::Metadata => "m",
        };
        self.append(CHANGES, &format!("{:032x} {}{class}", key.object.0, key.block))
    }

    /// Returns whether the owner has added all blocks written by guests.
    pub(crate) fn has_no_changes(&self) -> bool {
        !self.root.join(CHANGES).exists()
    }

    /// Removes and returns the list of blocks written by guests.
    pub(crate) fn take_changes(&self) -> Vec<FoundBlock> {
        let taken = self.root.join(CHANGES_TAKEN);
        if fs::rename(self.root.join(CHANGES), &taken).is_err() {
            return Vec::new();
        }
        let text = fs::read_to_string(&taken).unwrap_or_default();
        let mut found = Vec::new();
        for line in text.lines() {
            let Some((object, block)) = line.split_once(' ') else {
                continue;
            };
            let (Ok(id), Some((block, class))) = (u128::from_str_radix(object, 16), parse_block(block))
            else {
                continue;
            };
            let key = BlockKey {
                object: ObjectId(id),
                block,
                class,
            };
            let info =
                read_about(&self.object(key.object).join(ABOUT)).filter(|info| info.id() == key.object);
            if let (Some(info), Ok(meta)) = (info, fs::metadata(self.block(&key))) {
                found.push(found_block(key, &Arc::new(info), &meta));
            }
        }
        found
    }

    /// Clears the lists of drops and changes. A process that scans the directory sees their effects
    /// anyway.
    pub(crate) fn begin_lists(&self) {
        for list in [DROPS, CHANGES, CHANGES_TAKEN] {
            let _ = fs::remove_file(self.root.join(list));
        }
    }

    fn append(&self, list: &str, line: &str) -> io::Result<()> {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(self.root.join(list))?;
        // A single write, so that lines of several processes do not mix.
        file.write_all(format!("{line}\n").as_bytes())
    }

    /// Returns the free bytes on the disk for unprivileged users.
    pub(crate) fn free_bytes(&self) -> io::Result<u64> {
        let state = rustix::fs::statvfs(&self.root)?;
        Ok(state.f_bavail.saturating_mul(state.f_frsize))
    }
}

/// Returns whether a file of this name may be left from a cache whose mark was removed, or from one
/// being created.
fn is_ours(name: &OsStr) -> bool {
    let names = [
        MARK,
        LOCK,
        PINS,
        DROPS,
        CHANGES,
        CHANGES_TAKEN,
        OBJECTS,
        "lost+found",
    ];
    let is_stats = name
        .to_str()
        .is_some_and(|name| name.starts_with("stats.") && name.ends_with(".json"));
    is_stats || names.iter().any(|ours| name == *ours)
}

fn found_block(key: BlockKey, info: &Arc<ObjectInfo>, meta: &fs::Metadata) -> FoundBlock {
    let written_ms = meta
        .mtime()
        .saturating_mul(1000)
        .saturating_add(meta.mtime_nsec() / 1_000_000);
    FoundBlock {
        key,
        info: info.clone(),
        space_bytes: meta.blocks().saturating_mul(512),
        written_ms: u64::try_from(written_ms).unwrap_or(0),
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}

fn parse_block(name: &str) -> Option<(u32, Class)> {
    let (digits, class) = match name.strip_suffix('m') {
        Some(digits) => (digits, Class::Metadata),
        None => (name, Class::Data),
    };
    Some((digits.parse().ok()?, class))
}

fn read_about(path: &Path) -> Option<ObjectInfo> {
    let bytes = fs::read(path).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let about: About = serde_json::from_slice(&bytes[..end]).ok()?;
    let beside = bytes
        .get(end + 1..)
        .filter(|beside| beside.len() == about.beside_bytes)?;
    let validator = match (about.tag, about.modified_ms) {
        (Some(tag), None) => Validator::Tag(tag),
        (None, Some(ms)) => Validator::Modified(ms),
        _ => return None,
    };
    Some(ObjectInfo {
        endpoint: about.endpoint,
        root: about.root,
        path: about.path,
        description: Description {
            size_bytes: about.size_bytes,
            validator,
            beside: Bytes::copy_from_slice(beside),
        },
    })
}
