//! Small copies of images, kept on disk.
//!
//! Invariants:
//! - A copy is found by the identity of its record, not by a digest that the record declares, so no
//!   record can make another one's copy appear under its own URL.
//! - Each of the 256 folders, named by the first byte of the identity, has at most [`FILES_MAX`]
//!   files.
//! - Callers check the rights to the record before each use.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use extract::Thumbnail;
use sha2::{Digest, Sha256};

use crate::question::RecordBody;

/// Largest number of files in a folder. The oldest is removed for a new one.
const FILES_MAX: usize = 64;

/// The first bytes of a PNG file. All other copies are JPEG.
const PNG: &[u8] = b"\x89PNG";

/// The folder of an archive's thumbnails.
pub(crate) struct Thumbnails {
    dir: PathBuf,
}

impl Thumbnails {
    /// Uses this folder, which may be missing.
    pub(crate) fn at(dir: PathBuf) -> Thumbnails {
        Thumbnails { dir }
    }

    /// Returns the copy of a record's image. `Some(None)` if the image is known to have
    /// no copy.
    pub(crate) fn get(&self, record: &RecordBody) -> Option<Option<Thumbnail>> {
        let data = fs::read(self.path_of(record)).ok()?;
        if data.is_empty() {
            return Some(None);
        }
        let mime = if data.starts_with(PNG) {
            "image/png"
        } else {
            "image/jpeg"
        };
        Some(Some(Thumbnail {
            mime: mime.to_owned(),
            data,
        }))
    }

    /// Keeps the copy of a record's image, or records that it has no copy.
    ///
    /// # Errors
    /// The copy was not written. It can be made again.
    pub(crate) fn put(&self, record: &RecordBody, copy: Option<&Thumbnail>) -> io::Result<()> {
        let path = self.path_of(record);
        let folder = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(folder)?;
        make_room(folder)?;
        let aside = path.with_extension("new");
        fs::write(&aside, copy.map_or(&[][..], |copy| copy.data.as_slice()))?;
        fs::rename(aside, path)
    }

    /// Removes all copies.
    ///
    /// # Errors
    /// Some files may remain.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn path_of(&self, record: &RecordBody) -> PathBuf {
        let capture = &record.capture;
        let mut hash = Sha256::new();
        for part in [
            &record.location,
            &capture.url_key,
            &capture.fetch_time,
            &capture.digest,
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(capture.offset.to_le_bytes());
        hash.update(capture.length.to_le_bytes());
        let name = data_encoding::HEXLOWER.encode(&hash.finalize());
        let (folder, file) = name.split_at(2);
        self.dir.join(folder).join(file)
    }
}

/// Removes the oldest files of a folder until there is room for another one.
fn make_room(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(FILES_MAX);
    for (_, path) in files.into_iter().take(surplus) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> RecordBody {
        let mut record = RecordBody {
            location: "/a.warc.gz".to_owned(),
            ..RecordBody::default()
        };
        record.capture.offset = number;
        record
    }

    fn jpeg() -> Thumbnail {
        Thumbnail {
            mime: "image/jpeg".to_owned(),
            data: b"\xff\xd8 small".to_vec(),
        }
    }

    #[test]
    fn copies_come_back_until_they_are_cleared() {
        let home = tempfile::tempdir().unwrap();
        let thumbnails = Thumbnails::at(home.path().join("thumbnails"));
        assert!(thumbnails.get(&record(1)).is_none());
        thumbnails.put(&record(1), Some(&jpeg())).unwrap();
        thumbnails.put(&record(2), None).unwrap();
        assert_eq!(thumbnails.get(&record(1)), Some(Some(jpeg())));
        assert_eq!(thumbnails.get(&record(2)), Some(None));
        let mut other = record(1);
        other.capture.digest = "D".to_owned();
        assert_eq!(thumbnails.get(&other), None);
        thumbnails.clear().unwrap();
        thumbnails.clear().unwrap();
        assert_eq!(thumbnails.get(&record(1)), None);
    }

    #[test]
    fn a_folder_keeps_a_bounded_number() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..FILES_MAX + 5 {
            make_room(home.path()).unwrap();
            fs::write(home.path().join(number.to_string()), "x").unwrap();
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), FILES_MAX);
    }
}
