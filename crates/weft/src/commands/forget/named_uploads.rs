//! Uploaded files of an archive that inputs of the ledger name.
//!
//! An uploaded file belongs to the archive. If its only inputs are forgotten, nothing names it any
//! more, and it would come back with the next load of the folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use archive::Archive;
use inputs::{is_address, package_of, path_of};

use crate::commands::status::ledger_rows;
use crate::outcome::Outcome;
use crate::style::clean;

/// Uploaded files that are named by at least one input.
pub(super) struct NamedUploads(BTreeSet<PathBuf>);

impl NamedUploads {
    /// Reads the ledger.
    pub(super) fn of(archive: &Archive) -> anyhow::Result<NamedUploads> {
        // Without the folder nothing was uploaded. The ledger has paths after links are resolved.
        let Ok(folder) = archive.uploads_path().canonicalize() else {
            return Ok(NamedUploads(BTreeSet::new()));
        };
        let rows = ledger_rows(archive, None)?;
        let mut files: BTreeSet<PathBuf> = rows.iter().filter_map(|row| file_of(&row.location)).collect();
        files.retain(|file| file.parent() == Some(folder.as_path()));
        Ok(NamedUploads(files))
    }

    /// Removes the files that no input names now, and says so on standard error.
    pub(super) fn remove_unnamed(self, archive: &Archive) -> anyhow::Result<Outcome> {
        if self.0.is_empty() {
            return Ok(Outcome::Done);
        }
        let named = NamedUploads::of(archive)?;
        let mut outcome = Outcome::Done;
        for file in self.0.difference(&named.0) {
            let name = clean(&file.display().to_string());
            match fs::remove_file(file) {
                Ok(()) => eprintln!("removed the uploaded file {name}"),
                Err(error) => {
                    eprintln!("cannot remove the uploaded file {name}: {error}");
                    outcome = Outcome::Losses;
                }
            }
        }
        Ok(outcome)
    }
}

/// Returns the file that contains the input at a location: the input itself, or its package.
pub(super) fn file_of(location: &str) -> Option<PathBuf> {
    let mut file = location.to_owned();
    while let Some((package, _)) = package_of(&file) {
        file = package;
    }
    (!is_address(&file)).then(|| path_of(&file))
}
