//! Lists of packages: a JSON file of the profile `multi-wacz-package`, or a package whose
//! description has that profile and names others by address.

use std::fs;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::address::{is_package_list_name, without_secrets};
use super::manifest::MANIFEST_BYTES_MAX;
use super::package_description::{PackageDescription, Resource};
use crate::byte_order_mark::without_bom;
use crate::declared::DeclaredContent;
use crate::digest::text as digest_text;
use crate::discovered::{DiscoveredInput, InputLocation};
use crate::discovery::Discovery;
use crate::file::open_file;
use crate::list::resolve;
use crate::path::{address_text, is_address, path_of, path_text};
use crate::source::{InputReader, InputStat};

/// Limit of the nesting of lists.
const DEPTH_MAX: usize = 4;

/// Why a file cannot be used as a list of packages.
#[derive(Debug, thiserror::Error)]
enum PackageListError {
    #[error("cannot be read as a list of packages: {0}")]
    Read(#[from] io::Error),
    #[error("cannot be read as a list of packages: it is longer than {MANIFEST_BYTES_MAX} bytes")]
    Length,
    #[error("cannot be read as a list of packages: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "its profile is {0:?}, expected \"multi-wacz-package\": it lists no packages (of a package itself, load the \
         file x.wacz)"
    )]
    Profile(String),
    #[error("it lists no package")]
    Empty,
}

/// A listed package and its place.
enum ListedPackage {
    File { name: String, path: PathBuf },
    Address(String),
}

impl Discovery<'_> {
    /// Takes the packages that a JSON file lists. Returns `false` if the file contains records
    /// despite its name.
    pub(crate) fn package_list(&mut self, name: &str, place: &InputLocation) -> bool {
        let described = match self.read_package_list(place) {
            Ok(Some(described)) => described,
            Ok(None) => return false,
            Err(error) => {
                self.wrong(name, place.clone(), error.to_string());
                return true;
            }
        };
        let sibling = |path: &Path, entry: &str| path.parent().unwrap_or(Path::new("")).join(entry);
        self.wrong_resources(name, &described.wrong);
        self.listed_packages(
            (name, &place.location()),
            described.resources,
            |entry| match place {
                _ if is_address(entry) => Some(ListedPackage::Address(entry.to_owned())),
                InputLocation::File(path) => Some(ListedPackage::File {
                    name: path_text(&sibling(&path_of(name), entry)),
                    path: sibling(path, entry),
                }),
                InputLocation::Address(list, _) => joined(list, entry).map(ListedPackage::Address),
            },
        );
        true
    }

    fn read_package_list(
        &self,
        place: &InputLocation,
    ) -> Result<Option<PackageDescription>, PackageListError> {
        let opened = match place {
            InputLocation::File(path) => open_file(path).map(|file| Box::new(file) as Box<dyn Read>),
            InputLocation::Address(address, stat) => {
                let source = self.sources.source_of(address);
                let input = source.and_then(|source| source.open(address, Some(stat)));
                input.map(|input| Box::new(InputReader::of(input)) as Box<dyn Read>)
            }
        };
        let mut bytes = Vec::new();
        opened.and_then(|file| {
            BufReader::new(file)
                .take(MANIFEST_BYTES_MAX + 1)
                .read_to_end(&mut bytes)
        })?;
        if warc::begins_like_records(without_bom(&bytes)).unwrap_or(false) {
            return Ok(None);
        }
        if bytes.len() as u64 > MANIFEST_BYTES_MAX {
            return Err(PackageListError::Length);
        }
        let described = PackageDescription::read(&bytes)?;
        match &described.profile {
            Some(profile) if !described.is_of_packages() => Err(PackageListError::Profile(profile.clone())),
            _ if described.resources.is_empty() && described.wrong.is_empty() => Err(PackageListError::Empty),
            _ => Ok(Some(described)),
        }
    }

    /// Reports the entries of a list that cannot be used.
    fn wrong_resources(&mut self, list: &str, wrong: &[(usize, String)]) {
        for (number, why) in wrong {
            self.not_followed(list, *number, format!("it cannot be used: {why}"));
        }
    }

    /// Takes packages at addresses listed in the description of a package.
    pub(super) fn remote_packages(&mut self, (name, package): (&str, &str), resources: Vec<Resource>) {
        if !resources.is_empty() {
            self.listed_packages((name, package), resources, |entry| {
                Some(ListedPackage::Address(entry.to_owned()))
            });
        }
    }

    /// Takes the packages of a list, which has a name and a location. `place` returns the place of
    /// an entry.
    fn listed_packages(
        &mut self,
        (list, location): (&str, &str),
        resources: Vec<Resource>,
        place: impl Fn(&str) -> Option<ListedPackage>,
    ) {
        let mut listed: Vec<(ListedPackage, Resource)> = Vec::with_capacity(resources.len());
        for resource in resources {
            let (entry, number) = (resource.place(), resource.number);
            if entry.is_empty() {
                self.not_followed(list, number, "it has no path and no url".to_owned());
                continue;
            }
            let Some(place) = place(entry) else {
                self.not_followed(list, number, format!("{entry} is no path and no address"));
                continue;
            };
            if self.lists_deep >= DEPTH_MAX {
                let why = format!(
                    "more than {DEPTH_MAX} lists of packages name one another; {list} is not followed"
                );
                self.not_followed(list, number, why);
                continue;
            }
            // Check before sending any request: a stranger's list must not even cause a request to
            // a server.
            if let Some(place) = self.allowed((list, location), number, place) {
                listed.push((place, resource));
            }
        }
        let addresses = listed.iter().filter_map(|(place, _)| match place {
            ListedPackage::Address(address) => Some(address.as_str()),
            ListedPackage::File { .. } => None,
        });
        let mut stats = self.stat_all(addresses);
        self.lists_deep += 1;
        for (place, resource) in &listed {
            match place {
                ListedPackage::File { name, path } => self.listed_file(list, name, path, resource),
                // A second line with the same address is skipped, because the first one has removed
                // the status.
                ListedPackage::Address(address) => match stats.remove(address.as_str()) {
                    Some(Ok(Some(stat))) => self.listed_object(list, address, &stat, resource),
                    Some(Ok(None)) => self.no_object(address, format!("no such package; {list} lists it")),
                    Some(Err(error)) => self.no_object(address, error.to_string()),
                    None => {}
                },
            }
        }
        self.lists_deep -= 1;
    }

    /// Returns the place of a listed package without secrets. If the list must not lead there,
    /// reports it and returns `None`.
    fn allowed(
        &mut self,
        (list, location): (&str, &str),
        number: usize,
        place: ListedPackage,
    ) -> Option<ListedPackage> {
        let to = match &place {
            ListedPackage::File { path, .. } => path_text(path),
            ListedPackage::Address(address) => without_secrets(address),
        };
        if let Some(refusal) = self.allowed_origins.refusal(location, &to) {
            let why = format!("it leads to {}, {refusal}", address_text(&to));
            self.not_followed(list, number, why);
            return None;
        }
        match place {
            ListedPackage::Address(address) => self.plain(&address).map(ListedPackage::Address),
            file => Some(file),
        }
    }

    /// Reports why an entry of a list is not followed. The row's location cannot be mistaken for an
    /// input by a later load.
    fn not_followed(&mut self, list: &str, number: usize, why: String) {
        self.no_object(&format!("{list} (resource {number})"), why);
    }

    fn listed_file(&mut self, list: &str, name: &str, path: &Path, resource: &Resource) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let size = match fs::metadata(path).map(|metadata| metadata.len()) {
            Ok(size) => size,
            Err(error) => {
                let what = match error.kind() {
                    ErrorKind::NotFound => "no such file".to_owned(),
                    _ => format!("cannot be read: {error}"),
                };
                return self.wrong(
                    name,
                    InputLocation::File(path.to_owned()),
                    format!("{what}; {list} lists it"),
                );
            }
        };
        let found = (Some(size), None);
        let place = InputLocation::File(path.to_owned());
        self.compare_package(list, name, place.clone(), resource, found);
        let is_list = is_package_list_name(name.as_bytes()) && self.package_list(name, &place);
        if !is_list {
            self.package(name, &path_text(path));
        }
    }

    fn listed_object(&mut self, list: &str, address: &str, stat: &InputStat, resource: &Resource) {
        if !self.seen.insert(address.into()) {
            return;
        }
        let name = address_text(address);
        let found = (
            Some(stat.size).filter(|size| *size > 0),
            stat.sha256.map(|sha256| digest_text(&sha256)),
        );
        let place = InputLocation::Address(address.to_owned(), InputStat::default());
        self.compare_package(list, &name, place, resource, found);
        let place = InputLocation::Address(address.to_owned(), stat.clone());
        let is_list = is_package_list_name(address.as_bytes()) && self.package_list(&name, &place);
        if !is_list {
            self.package(&name, address);
        }
    }

    /// Compares a package with the declarations of its list, as far as possible without reading it.
    pub(super) fn compare_package(
        &mut self,
        list: &str,
        name: &str,
        place: InputLocation,
        declared: &Resource,
        (size_bytes, digest): (Option<u64>, Option<String>),
    ) {
        if let (Some(found), Some(declared)) = (digest, declared.hash())
            && declared.starts_with("sha256:")
            && !declared.eq_ignore_ascii_case(&found)
        {
            let what = format!("it is {found}, expected {declared} as {list} declares");
            self.warn(name.to_owned(), what);
        }
        if let (Some(found), Some(declared)) = (size_bytes, declared.size_bytes())
            && found != declared
        {
            let what = format!(
                "it has {found} bytes, expected {declared} as {list} declares; its members are loaded"
            );
            self.wrong(name, place, what);
        }
    }

    /// Reports a problem with a file or an address.
    pub(super) fn wrong(&mut self, name: &str, place: InputLocation, problem: String) {
        self.found.push(DiscoveredInput {
            name: name.to_owned(),
            place,
            size: 0,
            problem: Some(problem),
            declared: DeclaredContent::default(),
        });
    }
}

/// Returns the address of an entry of a list at an address.
fn joined(list: &str, entry: &str) -> Option<String> {
    if !list.starts_with("http") {
        return Some(resolve(list, entry));
    }
    let joined = url::Url::parse(list).and_then(|list| list.join(entry)).ok()?;
    Some(joined.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_beside_their_list() {
        let list = "https://h.example/crawls/list.json?token=a/b";
        for (entry, expected) in [
            ("x.wacz", "https://h.example/crawls/x.wacz"),
            ("../x.wacz?sig=1", "https://h.example/x.wacz?sig=1"),
            ("/api/x.wacz", "https://h.example/api/x.wacz"),
            ("//cdn.example/x.wacz", "https://cdn.example/x.wacz"),
            ("https://o.example/x", "https://o.example/x"),
        ] {
            assert_eq!(joined(list, entry).as_deref(), Some(expected));
        }
        assert_eq!(
            joined("s3://b/crawls/list.json", "x y.wacz").as_deref(),
            Some("s3://b/crawls/x y.wacz")
        );
    }

    #[test]
    fn lists_are_known_by_their_names() {
        assert!(is_package_list_name(b"x.JSON") && is_package_list_name(b"replay.json?token=x.y"));
        assert!(
            !is_package_list_name(b"json")
                && !is_package_list_name(b"x.jsonl")
                && !is_package_list_name(b"x.warc?.json")
        );
    }
}
