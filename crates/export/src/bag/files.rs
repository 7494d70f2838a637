//! Files that contain inputs: an input itself, or the package whose members are inputs.

use std::collections::BTreeMap;
use std::path::Path;

use archive::question::{InputState, LedgerRow};
use archive::{Interrupt, OneInput, TakedownRules};
use inputs::{InputReader, Sources, member_location, package_of, path_text};

use super::{Copied, InputError, REDACT};
use crate::stored::has_taken_down_capture;
use crate::{MemberRules, PackageRedaction};

/// A file that was loaded.
#[derive(Debug)]
pub(super) struct LoadedFile {
    /// Name of the file, without folders that only this machine has.
    pub(super) name: String,
    /// Path or address.
    pub(super) location: String,
    /// Its inputs, at least one.
    pub(super) rows: Vec<LedgerRow>,
    is_package: bool,
}

impl LoadedFile {
    /// Returns the files that contain inputs, in the order of the first of them.
    pub(super) fn of_rows(rows: Vec<LedgerRow>) -> Vec<LoadedFile> {
        let mut files: Vec<LoadedFile> = Vec::new();
        let mut packages: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows {
            let (location, members) = package_and_members(&row.location);
            let is_package = !members.is_empty();
            // A file that was replaced has a row for each content, so only members share a file.
            if is_package && let Some(at) = packages.get(&location) {
                let file: &mut LoadedFile = &mut files[*at];
                file.rows.push(row);
                continue;
            }
            if is_package {
                packages.insert(location.clone(), files.len());
            }
            files.push(LoadedFile {
                name: name_of(&row.input, &location, &members),
                location,
                rows: vec![row],
                is_package,
            });
        }
        files
    }

    /// Returns the digest of the first input.
    pub(super) fn digest(&self) -> &str {
        self.rows.first().map_or("", |row| &row.digest)
    }

    /// Returns the size of its inputs in bytes. A package is larger, or smaller if it is compressed.
    pub(super) fn bytes_loaded(&self) -> u64 {
        self.rows.iter().map(|row| row.size).sum()
    }

    /// Returns whether both are the same file with the same content.
    pub(super) fn is_same(&self, other: &LoadedFile) -> bool {
        let digests =
            |file: &LoadedFile| -> Vec<String> { file.rows.iter().map(|row| row.digest.clone()).collect() };
        self.location == other.location && digests(self) == digests(other)
    }

    /// Returns why the file is left out of a bag, if the ledger says so.
    pub(super) fn left_out(&self) -> Option<String> {
        self.rows.iter().find_map(left_out)
    }

    /// Returns why the file was not loaded to its end, if it was not.
    pub(super) fn unread(&self) -> Option<String> {
        // A part of a package that failed, such as a list of pages, is copied with it.
        let is_used = |row: &&LedgerRow| !matches!(row.state, InputState::Failed { .. });
        let mut used = self.rows.iter().filter(is_used).peekable();
        if used.peek().is_none() {
            return self.rows.first().and_then(unread);
        }
        used.find_map(unread)
    }

    /// Checks that a copy has the content that was loaded, and nothing that is taken down.
    pub(super) fn check(
        &self,
        copied: &Copied,
        copy: &Path,
        rules: &TakedownRules,
    ) -> Result<(), InputError> {
        let copy = copy.canonicalize().map_err(InputError::Read)?;
        if let Some(why) = self.unread() {
            return self.check_unread(&copy, rules, why);
        }
        if self.is_package {
            for row in self.rows.iter().filter(|row| row.state == InputState::Done) {
                check_member(row, &path_text(&copy))?;
            }
        } else {
            let digest = format!("sha256:{}", copied.sha256);
            let is_same = |row: &LedgerRow| (row.size, &row.digest) == (copied.bytes, &digest);
            if !self.rows.iter().all(is_same) {
                return Err(InputError::Changed);
            }
        }
        self.check_rules(&copy, rules)
    }

    /// Checks a copy of a file that was not loaded to its end: up to where its digest is known.
    fn check_unread(&self, copy: &Path, rules: &TakedownRules, why: String) -> Result<(), InputError> {
        if !rules.is_empty() {
            return Err(InputError::Unknown(why));
        }
        let copy = path_text(copy);
        let is_done = |row: &&LedgerRow| row.state == InputState::Done;
        if self.is_package {
            return self
                .rows
                .iter()
                .filter(is_done)
                .try_for_each(|row| check_member(row, &copy));
        }
        self.rows.iter().try_for_each(|row| check_beginning(row, &copy))
    }

    /// Data derived from a page, and lists of pages, may name it in a file without its capture.
    fn check_rules(&self, copy: &Path, rules: &TakedownRules) -> Result<(), InputError> {
        if rules.is_empty() {
            return Ok(());
        }
        let collection = self.rows.first().map(|row| row.collection.clone());
        let collection = collection.unwrap_or_default();
        let found = if self.is_package {
            names_taken_down(copy, rules, collection)
        } else {
            let location = path_text(copy);
            let rules = (rules, &*collection);
            has_taken_down_capture(&Sources::default(), &location, rules, &Interrupt::new())
                .map_err(|error| InputError::Unknown(error.to_string()))
        };
        if found? {
            Err(InputError::TakenDown)
        } else {
            Ok(())
        }
    }
}

/// Returns whether a package has a record or lists a page that is taken down.
fn names_taken_down(copy: &Path, rules: &TakedownRules, collection: String) -> Result<bool, InputError> {
    let of_member = MemberRules {
        collection,
        whole: false,
    };
    let mut known = |_: &OneInput, _: &str| of_member.clone();
    let package = PackageRedaction::plan(copy, rules, &std::env::temp_dir(), &mut known);
    let package = package.map_err(|error| InputError::Unknown(error.to_string()))?;
    let records = package.counts();
    let pages = package.package_counts().pages_left_out;
    Ok(records.records_selected + records.records_concerned + pages > 0)
}

/// Checks that a member of a copied package has the content that was loaded.
fn check_member(row: &LedgerRow, copy: &str) -> Result<(), InputError> {
    let (_, members) = package_and_members(&row.location);
    let location = members.iter().fold(copy.to_owned(), |package, member| {
        member_location(&package, member)
    });
    let input = Sources::default().open(&location).map_err(InputError::Read)?;
    let found = inputs::digest(InputReader::of(input), &[], |_| {}).map_err(InputError::Read)?;
    if found.digest == row.digest {
        Ok(())
    } else {
        Err(InputError::Changed)
    }
}

/// Checks that a copied file begins with the bytes whose digest the ledger has.
fn check_beginning(row: &LedgerRow, copy: &str) -> Result<(), InputError> {
    if !row.has_content() {
        return Ok(());
    }
    let (bytes, digest) = row.beginning();
    let input = Sources::default().open(copy).map_err(InputError::Read)?;
    let found = inputs::digest(InputReader::of(input), &[bytes], |_| {}).map_err(InputError::Read)?;
    let is_whole = found.size == bytes && found.digest == digest;
    let begins_so = found.prefixes.get(&bytes).is_some_and(|found| found == digest);
    if is_whole || begins_so {
        Ok(())
    } else {
        Err(InputError::Changed)
    }
}

/// Returns why an input is left out of a bag, if it is.
fn left_out(row: &LedgerRow) -> Option<String> {
    match &row.state {
        InputState::TakenDown => Some("it is taken down".to_owned()),
        _ if row.taken_down > 0 => Some(format!("something of it is taken down; {REDACT}")),
        _ => None,
    }
}

/// Returns why an input was not loaded to its end, if it was not.
fn unread(row: &LedgerRow) -> Option<String> {
    match &row.state {
        InputState::Done | InputState::TakenDown => None,
        state => Some(format!("it was not loaded to its end ({state})")),
    }
}

/// Returns the file that contains the input at a location, and the names of the members that lead
/// from it to the input.
fn package_and_members(location: &str) -> (String, Vec<String>) {
    let (mut file, mut members) = (location.to_owned(), Vec::new());
    while let Some((package, member)) = package_of(&file) {
        file = package;
        members.push(member);
    }
    members.reverse();
    (file, members)
}

/// Returns the name of a file from that of an input in it. A name that is a path of this machine
/// loses its folders: a bag is made to be given away.
fn name_of(input: &str, location: &str, members: &[String]) -> String {
    let base_name = |path: &str| format::file_name::base_name(path).to_owned();
    let mut name = input;
    for member in members.iter().rev() {
        let member = format!("#{}", format::file_name::name_text(member.as_bytes()));
        match name.strip_suffix(&*member) {
            Some(package) => name = package,
            None => return base_name(location),
        }
    }
    if name.starts_with('/') {
        base_name(name)
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_without_folders_of_this_machine() {
        for (input, location, expected) in [
            ("a/x.warc.gz", "/srv/a/x.warc.gz", "a/x.warc.gz"),
            ("/srv/a/x.warc.gz", "/srv/a/x.warc.gz", "x.warc.gz"),
            (
                "a/x.wacz#archive/d.warc",
                "wacz:///srv/a/x.wacz#archive/d.warc",
                "a/x.wacz",
            ),
            (
                "/srv/x.wacz#archive/d#1.warc",
                "wacz:///srv/x.wacz#archive/d%231.warc",
                "x.wacz",
            ),
            (
                "o.wacz#i.wacz#d.warc",
                "wacz:///srv/o.wacz#i.wacz#d.warc",
                "o.wacz",
            ),
            (
                "https://h.example/x.wacz#d.warc",
                "wacz+https://h.example/x.wacz#d.warc",
                "https://h.example/x.wacz",
            ),
        ] {
            let row = LedgerRow {
                input: input.to_owned(),
                location: location.to_owned(),
                ..LedgerRow::default()
            };
            let files = LoadedFile::of_rows(vec![row.clone(), row]);
            assert_eq!(files[0].name, expected, "{input}");
            assert_eq!(
                files.len(),
                2 - usize::from(location.starts_with("wacz")),
                "{input}"
            );
        }
    }
}
