//! Makes paths of files in a bag. Names of inputs are names, paths or addresses chosen by users, so
//! they must not lead out of `data/`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Longest part of a path, in bytes. File systems allow 255.
const PART_BYTES_MAX: usize = 200;

/// Paths in use.
#[derive(Default)]
pub(super) struct BagPaths {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl BagPaths {
    /// Returns the path of a file in the bag, from `data/` on. A second file with the same name is
    /// put into a folder named by the digest of its first input.
    pub(super) fn path_of(&mut self, name: &str, digest: &str) -> String {
        let name = safe(name);
        let digest = digest.trim_start_matches("sha256:");
        let mut path = format!("data/{name}");
        // Each round makes the path longer, so this ends.
        while !self.is_free(&path) {
            path = path.replacen("data/", &format!("data/sha256-{digest}/"), 1);
        }
        let mut folder = path.as_str();
        while let Some((parent, _)) = folder.rsplit_once('/') {
            self.folders.insert(parent.to_lowercase());
            folder = parent;
        }
        self.files.insert(path.to_lowercase());
        path
    }

    /// Returns whether a path is free: no such file or folder exists, and each of its folders can
    /// be a folder. Upper and lower case are considered equal, as on some file systems to which a
    /// bag may be copied.
    fn is_free(&self, path: &str) -> bool {
        // A bag may be copied to a file system that ignores case.
        let path = path.to_lowercase();
        let mut above = path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            if self.files.contains(parent) {
                return false;
            }
            above = parent;
        }
        !self.files.contains(&path) && !self.folders.contains(&path)
    }
}

/// Converts a name to a relative path that every file system accepts.
fn safe(name: &str) -> String {
    let parts = name
        // A backslash separates folders on Windows.
        .split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "." | ".."));
    let parts: Vec<String> = parts.map(safe_part).collect();
    if parts.is_empty() {
        "file".to_owned()
    } else {
        parts.join("/")
    }
}

fn safe_part(part: &str) -> String {
    // File names on Windows cannot contain these.
    let is_odd = |c: char| c.is_control() || matches!(c, ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let mut safe = part.replace(is_odd, "_");
    // The end is kept, because it contains the extension.
    while safe.len() > PART_BYTES_MAX {
        safe.remove(0);
    }
    safe
}

/// Removes a file that must not stay in the bag, and folders that contain nothing else.
pub(super) fn remove(folder: &Path, file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let data = folder.join("data");
    let mut parent = file.parent();
    while let Some(empty) = parent.filter(|parent| *parent != data && parent.starts_with(&data)) {
        // Stops at the first folder that is not empty.
        if fs::remove_dir(empty).is_err() {
            break;
        }
        parent = empty.parent();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_data_and_apart() {
        let mut names = BagPaths::default();
        let mut path = |name: &str, digest: &str| names.path_of(name, &format!("sha256:{digest}"));
        assert_eq!(path("a/x.warc.gz", "1"), "data/a/x.warc.gz");
        assert_eq!(path("a/x.warc.gz", "2"), "data/sha256-2/a/x.warc.gz");
        assert_eq!(path("A/X.warc.gz", "3"), "data/sha256-3/A/X.warc.gz");
        assert_eq!(
            path("a", "4"),
            "data/sha256-4/a",
            "there is a folder of that name"
        );
        assert_eq!(path("a/x.warc.gz/y", "5"), "data/sha256-5/a/x.warc.gz/y");
        assert_eq!(path("/../../etc/./passwd", "6"), "data/etc/passwd");
        assert_eq!(path("s3://bucket/b?c", "7"), "data/s3_/bucket/b_c");
        assert_eq!(path("..", "8"), "data/file");
        assert_eq!(
            path("x.wacz#archive/data.warc.gz", "9"),
            "data/x.wacz#archive/data.warc.gz"
        );
        assert_eq!(path("new\r\nline", "10"), "data/new__line");
        assert!(path(&"\u{e9}".repeat(300), "11").len() < 255);
    }
}
