//! Segments: the files in which posted lines are stored.
//!
//! | line | content |
//! |---|---|
//! | first | `!weft-posted 1 COLLECTION NUMBER`, so that no two have the same content |
//! | other | CDXJ, or `!` and blanks for a deleted line |
//!
//! The folder of a collection has its name, in which bytes other than letters, digits, `-`, `_` and
//! `.` are written as `%XX`. The folder for posts without a label is `all`, which cannot be the
//! name of a collection.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use inputs::Digesting;

use super::error::PostError;
use crate::AskError;
use crate::crash;
use crate::own_inputs::POSTED;

/// A segment is not extended beyond this size, because each post reads and rewrites it. A longer
/// post has its own segment.
const SEGMENT_BYTES_MAX: u64 = 1 << 20;

/// Limit of a folder's name, in bytes. Most file systems allow 255.
const NAME_BYTES_MAX: usize = 200;

const ALL: &str = "all";

const EXTENSION: &str = "cdx";

/// Name of the temporary file before its rename.
const ASIDE: &str = ".new";

/// The segments of one collection.
#[derive(Debug)]
pub(super) struct Segments {
    dir: PathBuf,
    collection: String,
}

impl Segments {
    /// Returns the segments of a collection; those without a label if its name is empty or `all`.
    pub(super) fn of(root: PathBuf, collection: &str) -> Result<Segments, AskError> {
        let collection = if collection == ALL { "" } else { collection };
        let name = folder_name(collection);
        if name.len() > NAME_BYTES_MAX {
            return Err(AskError::bad_request(format!(
                "the name of the collection takes {} bytes as the name of a folder, the limit is {NAME_BYTES_MAX}",
                name.len()
            )));
        }
        Ok(Segments {
            dir: root.join(name),
            collection: collection.to_owned(),
        })
    }

    /// Returns the segments of the collection of the segment at a location, as made by
    /// [`Segments::location`].
    pub(super) fn at(root: PathBuf, location: &str) -> Option<Segments> {
        let (folder, _) = location.strip_prefix(POSTED)?.split_once('/')?;
        Some(Segments {
            collection: collection_of(folder)?,
            dir: root.join(folder),
        })
    }

    /// Returns the segments of all collections.
    pub(super) fn all(root: &Path) -> Result<Vec<Segments>, PostError> {
        let mut all = Vec::new();
        for entry in fs::read_dir(root).map_err(|error| PostError::io("list", root, error))? {
            let entry = entry.map_err(|error| PostError::io("list", root, error))?;
            let name = entry.file_name();
            let Some(collection) = name.to_str().and_then(collection_of) else {
                continue;
            };
            if entry.path().is_dir() {
                all.push(Segments {
                    dir: entry.path(),
                    collection,
                });
            }
        }
        all.sort_by(|a, b| a.dir.cmp(&b.dir));
        Ok(all)
    }

    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    /// Returns whether they have no label, so that they are found only by questions about all
    /// collections.
    pub(super) fn is_of_all(&self) -> bool {
        self.collection.is_empty()
    }

    /// Returns the name and location of a segment in the ledger, which do not depend on where the
    /// archive is.
    pub(super) fn location(&self, path: &Path) -> String {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        format!("{POSTED}{}/{file}", folder_name(&self.collection))
    }

    /// Returns the path of the segment at a location.
    pub(super) fn path(&self, location: &str) -> PathBuf {
        self.dir.join(location.rsplit('/').next().unwrap_or_default())
    }

    /// Returns the paths of the segments, oldest first.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, PostError> {
        let error = |error| PostError::io("list", &self.dir, error);
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(found) if found.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(found) => return Err(error(found)),
        };
        let mut numbered = Vec::new();
        for entry in entries {
            let path = entry.map_err(error)?.path();
            numbered.extend(number_of(&path).map(|number| (number, path)));
        }
        numbered.sort();
        Ok(numbered.into_iter().map(|(_, path)| path).collect())
    }

    /// Appends lines to the newest segment, or to a new one if that is full or closed
    /// (`is_closed`). Returns the path of the segment when the lines are durable.
    pub(super) fn append(&self, text: &str, is_closed: impl Fn(&Path) -> bool) -> Result<PathBuf, PostError> {
        make_dir(&self.dir)?;
        let last = self.paths()?.pop();
        let number = last.as_deref().and_then(number_of).unwrap_or(0);
        if let Some(path) = last
            && !is_closed(&path)
        {
            let before = fs::read(&path).map_err(|error| PostError::io("read", &path, error))?;
            if (before.len() + text.len()) as u64 <= SEGMENT_BYTES_MAX {
                put(&path, &[&before, text.as_bytes()])?;
                return Ok(path);
            }
        }
        let number = number + 1;
        let path = self.dir.join(format!("{number:06}.{EXTENSION}"));
        let head = format!("!weft-posted 1 {} {number}\n", folder_name(&self.collection));
        put(&path, &[head.as_bytes(), text.as_bytes()])?;
        Ok(path)
    }
}

/// Replaces a file as a whole, and returns when it is durable.
pub(super) fn put(path: &Path, content: &[&[u8]]) -> Result<(), PostError> {
    let dir = path.parent().unwrap_or(path);
    let aside = dir.join(ASIDE);
    let write = || -> io::Result<()> {
        let mut file = File::create(&aside)?;
        for piece in content {
            file.write_all(piece)?;
        }
        file.sync_all()?;
        crash::posting_point("post.before_rename");
        fs::rename(&aside, path)?;
        File::open(dir)?.sync_all()
    };
    write().map_err(|error| PostError::io("write", path, error))
}

/// Makes a folder and its parent, and returns when they are durable.
fn make_dir(dir: &Path) -> Result<(), PostError> {
    if dir.exists() {
        return Ok(());
    }
    let make = || -> io::Result<()> {
        fs::create_dir_all(dir)?;
        for parent in dir.ancestors().skip(1).take(2) {
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    };
    make().map_err(|error| PostError::io("create", dir, error))
}

/// Blanks lines, given by offset and length, so that they are read as comments. Returns when this
/// is durable.
pub(super) fn blank(path: &Path, lines: impl Iterator<Item = (u64, u64)>) -> Result<(), PostError> {
    let blank = || -> io::Result<()> {
        let file = File::options().write(true).open(path)?;
        for (offset, length) in lines {
            let mut blank = vec![b' '; usize::try_from(length).unwrap_or_default()];
            if let [first, .., last] = &mut blank[..] {
                (*first, *last) = (b'!', b'\n');
            }
            file.write_all_at(&blank, offset)?;
        }
        file.sync_all()
    };
    blank().map_err(|error| PostError::io("write", path, error))
}

/// Returns the digest of a segment, as in the ledger.
pub(super) fn digest(path: &Path) -> Result<String, PostError> {
    let read = || -> io::Result<String> {
        let mut content = Vec::new();
        File::open(path)?.read_to_end(&mut content)?;
        let mut digesting = Digesting::default();
        digesting.take(&content);
        Ok(digesting.digest())
    };
    read().map_err(|error| PostError::io("read", path, error))
}

/// Returns the number in a segment's name.
fn number_of(path: &Path) -> Option<u64> {
    let is_segment = path.extension().is_some_and(|extension| extension == EXTENSION);
    let stem = path.file_stem().filter(|_| is_segment)?.to_str()?;
    stem.parse().ok()
}

fn folder_name(collection: &str) -> String {
    if collection.is_empty() {
        return ALL.to_owned();
    }
    let mut name = String::new();
    for (place, byte) in collection.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || byte == b'.' && place > 0;
        if is_plain {
            name.push(byte.into())
        } else {
            name.push_str(&format!("%{byte:02X}"))
        }
    }
    name
}

/// Returns the collection whose folder has this name, if it is a valid name.
fn collection_of(name: &str) -> Option<String> {
    if name == ALL {
        return Some(String::new());
    }
    let mut bytes = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let collection = String::from_utf8(bytes).ok()?;
    (folder_name(&collection) == name).then_some(collection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_the_names_of_collections() {
        for collection in ["", "news", "a/b", "..", ".x", "ä b", "100%", "x.y-z_1"] {
            let name = folder_name(collection);
            assert!(!name.contains('/') && !name.starts_with('.'), "{name}");
            assert_eq!(collection_of(&name).as_deref(), Some(collection));
        }
        for name in ["a%2", "a%zz", "%61", ".new", "pending json"] {
            assert_eq!(collection_of(name), None, "{name}");
        }
    }

    #[test]
    fn small_posts_share_a_segment_and_a_closed_one_gets_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let segments = Segments::of(dir.path().to_owned(), "x").unwrap();
        let first = segments.append("a\n", |_| false).unwrap();
        assert_eq!(segments.append("b\n", |_| false).unwrap(), first);
        assert_eq!(fs::read_to_string(&first).unwrap(), "!weft-posted 1 x 1\na\nb\n");
        let second = segments.append("c\n", |_| true).unwrap();
        assert_ne!(second, first);
        let long = "d".repeat(SEGMENT_BYTES_MAX as usize);
        let third = segments.append(&long, |_| false).unwrap();
        assert_eq!(segments.paths().unwrap(), [first.clone(), second, third]);
        blank(&first, [(19, 2)].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&first).unwrap(), "!weft-posted 1 x 1\n!\nb\n");
    }
}
