//! Remembers digests of inputs at addresses, so that an input is read only once to compute its
//! digest.
//!
//! They are stored in a file of JSON lines in the archive's directory, which is only appended to.
//! The file is optional: if it is missing, or some of its lines are missing or torn, inputs are
//! read again. A line is valid for one validator and size only.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::InputStat;

/// The remembered digests. The file is read at the first lookup.
pub struct DigestCache {
    path: PathBuf,
    known: Mutex<Option<HashMap<String, Line>>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    address: String,
    validator: String,
    size: u64,
    digest: String,
}

impl DigestCache {
    /// Uses the file at `path`, which need not exist.
    pub fn at(path: PathBuf) -> DigestCache {
        DigestCache {
            path,
            known: Mutex::default(),
        }
    }

    /// Returns the digest of the object at an address, if it was read before and has not changed.
    pub fn get(&self, address: &str, stat: &InputStat) -> Option<String> {
        let mut known = self.known.lock();
        let known = known.get_or_insert_with(|| self.read());
        let line = known.get(address)?;
        let same = Some(&line.validator) == stat.validator.as_ref() && line.size == stat.size;
        same.then(|| line.digest.clone())
    }

    /// Remembers a digest. Without a validator the content cannot be recognised, so the digest is
    /// not stored.
    pub fn put(&self, address: &str, stat: &InputStat, digest: &str) {
        let Some(validator) = stat.validator.clone() else {
            return;
        };
        let line = Line {
            address: address.to_owned(),
            validator,
            size: stat.size,
            digest: digest.to_owned(),
        };
        let mut known = self.known.lock();
        // A failure only means that a later load reads the input again.
        if let Err(error) = self.append(&line) {
            tracing::warn!(%error, path = %self.path.display(), "cannot store the digest of an input");
        }
        let known = known.get_or_insert_with(|| self.read());
        known.insert(line.address.clone(), line);
    }

    fn read(&self) -> HashMap<String, Line> {
        let content = std::fs::read(&self.path).unwrap_or_default();
        let lines = content.split(|byte| *byte == b'\n');
        lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .map(|line: Line| (line.address.clone(), line))
            .collect()
    }

    /// Appends a line. The line end comes first, so that a torn line before it stays a separate
    /// line.
    fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = vec![b'\n'];
        serde_json::to_writer(&mut text, line)?;
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        file.write_all(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_remembered_for_one_version() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("known");
        std::fs::write(&path, "{\"address\":\"s3://torn").unwrap();
        let stat = |tag: Option<&str>, size| InputStat {
            size,
            validator: tag.map(str::to_owned),
            sha256: None,
        };
        let known = DigestCache::at(path.clone());
        assert_eq!(known.get("s3://b/x", &stat(Some("1"), 5)), None);
        known.put("s3://b/x", &stat(Some("1"), 5), "sha256:00");
        known.put("s3://b/y", &stat(None, 5), "sha256:01");
        for known in [known, DigestCache::at(path)] {
            assert_eq!(
                known.get("s3://b/x", &stat(Some("1"), 5)).as_deref(),
                Some("sha256:00")
            );
            for other in [stat(Some("2"), 5), stat(Some("1"), 6), stat(None, 5)] {
                assert_eq!(known.get("s3://b/x", &other), None);
            }
            assert_eq!(known.get("s3://b/y", &stat(None, 5)), None);
        }
    }
}
