//! Expands an address to an input, a folder, a pattern or a path list, as is done for paths.
//!
//! An address of an existing input means that input, even if it contains wildcard characters. A
//! folder is everything below `address/`, and every object in it that contains records is taken.
//! The name decides where possible, because reading the first bytes costs a request per object.

use std::collections::HashMap;
use std::io::{self, ErrorKind};

use super::declared::DeclaredContent;
use super::discovered::{DiscoveredInput, InputLocation};
use super::discovery::Discovery;
use super::package::{is_package_list_name, is_package_name};
use super::path::{address_text, split};
use super::skipped_file::{FOLDER_MARK, NOT_AN_ARCHIVE, PATH_LIST};
use super::source::{InputReader, InputStat};
use super::{glob, list};

type StatResult = io::Result<Option<InputStat>>;

/// Why the inputs below an address cannot be listed.
#[derive(Debug, thiserror::Error)]
enum ListingError {
    #[error(transparent)]
    Source(io::Error),
    #[error("no such input")]
    Unsupported,
    #[error("cannot be listed: {0}")]
    List(io::Error),
}

impl Discovery<'_> {
    /// Takes an argument of a load.
    pub(super) fn address(&mut self, address: &str) {
        match self.stat(address) {
            Ok(Some(stat)) => self.object_or_list(address, stat),
            Ok(None) if glob::is_pattern(address) => self.address_glob(address),
            other => self.object_or_folder(address, other),
        }
    }

    /// Takes an entry of a path list, or an argument that is not a pattern.
    pub(super) fn object_or_folder(&mut self, address: &str, stat: StatResult) {
        match stat {
            Ok(Some(stat)) => self.object(address, stat),
            Ok(None) => self.address_folder(address),
            Err(error) => self.no_object(address, error.to_string()),
        }
    }

    fn stat(&self, address: &str) -> StatResult {
        let source = self.sources.source_of(address)?;
        source.stat(&[address]).pop().unwrap_or(Ok(None))
    }

    fn object_or_list(&mut self, address: &str, stat: InputStat) {
        if !list::is_path_list(last_part(address).as_ref()) {
            self.object(address, stat);
        } else if self.expands_lists {
            self.address_list(address);
        } else {
            self.skip(address_text(address), PATH_LIST);
        }
    }

    fn object(&mut self, address: &str, stat: InputStat) {
        if !self.seen.insert(address.into()) {
            return;
        }
        let (name, size) = (address_text(address), stat.size);
        if is_package_name(last_part(address).as_bytes()) {
            return self.package(&name, address);
        }
        let place = InputLocation::Address(address.to_owned(), stat);
        if is_package_list_name(last_part(address).as_bytes()) && self.package_list(&name, &place) {
            return;
        }
        self.found.push(DiscoveredInput {
            name,
            size,
            place,
            problem: None,
            declared: DeclaredContent::default(),
        });
    }

    pub(super) fn no_object(&mut self, address: &str, problem: String) {
        if self.seen.insert(address.into()) {
            self.found.push(DiscoveredInput {
                name: address_text(address),
                size: 0,
                place: InputLocation::Address(address.to_owned(), InputStat::default()),
                problem: Some(problem),
                declared: DeclaredContent::default(),
            });
        }
    }

    /// Lists everything below `folder`.
    fn listing(&self, folder: &str) -> Result<Vec<(String, InputStat)>, ListingError> {
        let source = self.sources.source_of(folder).map_err(ListingError::Source)?;
        source.list(folder).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => ListingError::Unsupported,
            _ => ListingError::List(error),
        })
    }

    fn address_folder(&mut self, address: &str) {
        let folder = format!("{}/", address.trim_end_matches('/'));
        match self.listing(&folder) {
            Err(error) => self.no_object(address, error.to_string()),
            Ok(below) if below.is_empty() => {
                let hint =
                    format!("no such input, and none below it; for all names that begin so: {address}*");
                self.no_object(address, hint);
            }
            Ok(below) => {
                for (address, stat) in below {
                    self.member(&address, stat);
                }
            }
        }
    }

    /// Takes an object in a folder if it contains records.
    fn member(&mut self, address: &str, stat: InputStat) {
        let name = last_part(address);
        if warc::is_record_file_name(name.as_bytes()) || is_package_name(name.as_bytes()) {
            self.object(address, stat);
        } else if address.ends_with('/') {
            self.skip(address_text(address), FOLDER_MARK);
        } else if list::is_path_list(name.as_ref()) {
            self.skip(address_text(address), PATH_LIST);
        } else if stat.size == 0 {
            self.skip(address_text(address), NOT_AN_ARCHIVE);
        } else {
            match self.holds_records(address, &stat) {
                Ok(true) => self.object(address, stat),
                Ok(false) => self.skip(address_text(address), NOT_AN_ARCHIVE),
                Err(error) => self.no_object(address, format!("cannot be read: {error}")),
            }
        }
    }

    fn holds_records(&self, address: &str, stat: &InputStat) -> io::Result<bool> {
        let input = self.sources.source_of(address)?.open(address, Some(stat))?;
        warc::begins_like_records(InputReader::of(input))
    }

    /// Takes the inputs whose path matches the pattern, and the inputs below matching folders.
    fn address_glob(&mut self, address: &str) {
        let (root, path) = split(address);
        let parts: Vec<&str> = path.split('/').collect();
        let literal = parts.iter().take_while(|part| !glob::is_pattern(part)).count();
        let mut folder = format!("{root}/");
        for part in &parts[..literal] {
            folder.push_str(part);
            folder.push('/');
        }
        let below = match self.listing(&folder) {
            Ok(below) => below,
            Err(error) => return self.no_object(address, error.to_string()),
        };
        let pattern = match glob::parts_of(&parts[literal..]) {
            Ok(pattern) => pattern,
            Err(error) => return self.no_object(address, error.to_string()),
        };
        let before = (self.found.len(), self.skipped.len(), self.seen.len());
        for (object, stat) in below {
            let names: Vec<&str> = object[folder.len()..].split('/').collect();
            if glob::matches_parts(&pattern, &names) {
                self.object_or_list(&object, stat);
            } else if (0..names.len()).any(|depth| glob::matches_parts(&pattern, &names[..depth])) {
                self.member(&object, stat);
            }
        }
        if before == (self.found.len(), self.skipped.len(), self.seen.len()) {
            self.no_object(address, "no input matches".to_owned());
        }
    }

    /// Takes the entries of a path list at an address.
    pub(super) fn address_list(&mut self, address: &str) {
        let opened = self.sources.open_address(address);
        let entries = match opened.and_then(|input| list::read(InputReader::of(input))) {
            Ok(entries) => entries,
            Err(error) => return self.no_object(address, format!("cannot be read as a path list: {error}")),
        };
        let mut addresses = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry {
                list::Entry::Address(entry) => addresses.push(entry),
                list::Entry::Path(entry) => match entry.to_str() {
                    Some(entry) => addresses.push(list::resolve(address, entry)),
                    None => self.no_object(
                        &list::resolve(address, &super::path_text(&entry)),
                        "an address is UTF-8".into(),
                    ),
                },
            }
        }
        let entries: Vec<String> = addresses.iter().filter_map(|entry| self.plain(entry)).collect();
        let mut stats = self.stat_all(entries.iter().map(String::as_str));
        for entry in &entries {
            if let Some(stat) = stats.remove(entry.as_str()) {
                self.object_or_folder(entry, stat);
            }
        }
    }

    /// Gets the status of all these addresses at once.
    pub(super) fn stat_all<'a>(
        &self,
        addresses: impl Iterator<Item = &'a str>,
    ) -> HashMap<&'a str, StatResult> {
        let mut addresses: Vec<&str> = addresses.collect();
        addresses.sort_unstable();
        addresses.dedup();
        let (served, foreign): (Vec<&str>, Vec<&str>) = addresses
            .into_iter()
            .partition(|a| self.sources.source_of(a).is_ok());
        let foreign = foreign.into_iter().map(|a| (a, self.stat(a)));
        let mut stats: HashMap<&str, StatResult> = foreign.collect();
        // There is only one source, so it serves all of them.
        if let Some(source) = served
            .first()
            .and_then(|first| self.sources.source_of(first).ok())
        {
            let of_served = source.stat(&served);
            stats.extend(served.into_iter().zip(of_served));
        }
        stats
    }
}

fn last_part(address: &str) -> &str {
    let path = split(address).1;
    path.rsplit('/').next().unwrap_or(path)
}
