//! Finds the inputs in a folder, and lists by name what it skips.
//!
//! A file with the name of an archive file is an input, even if it is empty, damaged or a broken
//! link: it then fails visibly. For all other files the first bytes decide. Links to folders are
//! not followed, so that a cycle of links cannot trap the search.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use format::file_name::is_index_name;

use super::discovery::Discovery;
use super::file::{irregular, open_file};
use super::package::is_package_name;
use super::skipped_file::{LINK_TO_FOLDER, LINK_TO_NOTHING, NOT_AN_ARCHIVE, PATH_LIST};
use super::{list, path_text};

impl Discovery<'_> {
    /// Takes everything below a folder.
    pub(super) fn folder(&mut self, name: &Path, path: &Path) {
        let entries = match sorted_entries(path) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(path_text(name), path, format!("cannot be listed: {error}"));
            }
        };
        for entry in entries {
            let (name, path) = (name.join(&entry), path.join(&entry));
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.folder(&name, &path),
                Ok(metadata) => self.folder_entry(&name, &path, &metadata),
                Err(error) => self.problem(path_text(&name), &path, format!("cannot be read: {error}")),
            }
        }
    }

    /// Takes the parts of a ZipNum cluster. They are indexes, which are skipped in any other
    /// folder.
    pub(super) fn cluster(&mut self, name: &Path, path: &Path) {
        let entries = match sorted_entries(path) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(path_text(name), path, format!("cannot be listed: {error}"));
            }
        };
        let parts: Vec<_> = entries
            .into_iter()
            .filter(|entry| is_index_name(&path_text(Path::new(entry))))
            .collect();
        if parts.is_empty() {
            let problem = "a cluster without parts; their names are expected to be cdx-00000.gz and so on";
            return self.problem(path_text(name), path, problem.to_owned());
        }
        for entry in parts {
            self.file(path_text(&name.join(&entry)), &path.join(&entry));
        }
    }

    fn folder_entry(&mut self, name: &Path, path: &Path, metadata: &Metadata) {
        let target = fs::metadata(path);
        if target.as_ref().is_ok_and(Metadata::is_dir) {
            return self.skip(path_text(name), LINK_TO_FOLDER);
        }
        // Check the name before opening the file: a file with such a name is reported even if it
        // cannot be opened.
        let file_name = path.file_name().unwrap_or_default().as_bytes();
        if warc::is_record_file_name(file_name) || is_package_name(file_name) {
            return self.file(path_text(name), path);
        }
        match target {
            Err(_) if metadata.is_symlink() => self.skip(path_text(name), LINK_TO_NOTHING),
            Ok(target) if irregular(target.file_type()).is_some() => {
                self.skip(path_text(name), irregular(target.file_type()).unwrap_or_default());
            }
            _ if list::is_path_list(path) => self.skip(path_text(name), PATH_LIST),
            _ => match holds_records(path) {
                Ok(true) => self.file(path_text(name), path),
                Ok(false) => self.skip(path_text(name), NOT_AN_ARCHIVE),
                Err(error) => self.problem(path_text(name), path, format!("cannot be read: {error}")),
            },
        }
    }
}

fn holds_records(path: &Path) -> io::Result<bool> {
    warc::begins_like_records(open_file(path)?)
}

fn sorted_entries(path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut entries = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    Ok(entries)
}
