//! The files of a folder, and their paths in URLs.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;

/// A file that is not in the WARC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// The I/O error.
    pub reason: String,
}

/// A file to pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub path: PathBuf,
    /// Path below the URL of the folder, percent-encoded. An index file has the path of its folder.
    pub url_path: String,
    /// Modification time in milliseconds since 1970, truncated to seconds.
    pub changed_ms: i64,
}

/// Names of index files, whose URL is that of their folder.
const INDEX_NAMES: [&str; 3] = ["index.html", "index.htm", "index.md"];

/// Returns all files below `folder` that are not hidden, sorted by URL. Links to files are
/// followed; links to folders are not, because they may lead in circles.
///
/// # Errors
/// The error of `folder` itself if it cannot be read. Unreadable files and folders below it are
/// added to `skipped`.
pub(super) fn files(folder: &Path, skipped: &mut Vec<Skipped>) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_path_buf(), String::new())];
    while let Some((folder, url_path)) = open.pop() {
        let entries = match fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            // The first folder is the given one: only its failure is an error.
            Err(error) if url_path.is_empty() => return Err(error),
            Err(error) => {
                skipped.push(Skipped {
                    path: folder,
                    reason: error.to_string(),
                });
                continue;
            }
        };
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            if is_hidden(&name) {
                continue;
            }
            match kind(&path) {
                Ok(Kind::Folder) => open.push((path, format!("{url_path}{}/", escaped(&name)))),
                Ok(Kind::File(metadata)) => files.push(file(path, &name, &url_path, &metadata)),
                Ok(Kind::Neither) => {}
                Err(error) => skipped.push(Skipped {
                    path,
                    reason: error.to_string(),
                }),
            }
        }
    }
    // The system lists folders in any order, but the same folder must give the same bytes.
    files.sort_by(|a, b| (&a.url_path, &a.path).cmp(&(&b.url_path, &b.path)));
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

enum Kind {
    File(Metadata),
    Folder,
    /// A link to a folder, a socket, or a device.
    Neither,
}

fn kind(path: &Path) -> io::Result<Kind> {
    // Links are not followed here: a link to a folder may lead in circles.
    if fs::symlink_metadata(path)?.is_dir() {
        return Ok(Kind::Folder);
    }
    let metadata = fs::metadata(path)?;
    Ok(if metadata.is_file() {
        Kind::File(metadata)
    } else {
        Kind::Neither
    })
}

fn file(path: PathBuf, name: &OsStr, url_path: &str, metadata: &Metadata) -> File {
    let is_index = INDEX_NAMES.iter().any(|index| name.eq_ignore_ascii_case(index));
    let url_path = if is_index {
        url_path.to_owned()
    } else {
        format!("{url_path}{}", escaped(name))
    };
    let changed = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed_s = changed.map_or(0, |since| since.as_secs());
    File {
        path,
        url_path,
        changed_ms: i64::try_from(changed_s).map_or(0, |s| s.saturating_mul(1000)),
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns a name as a path segment. Percent-encodes characters that are special or not allowed in
/// URLs.
fn escaped(name: &OsStr) -> String {
    let mut segment = String::with_capacity(name.len());
    for &byte in name.as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}
