//! Expands the arguments of a load: files, folders, patterns and path lists. Addresses are in
//! `address`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::declared::DeclaredContent;
use super::discovered::{DiscoveredInput, InputLocation};
use super::package::{AllowedOrigins, is_member, is_package_list_name, is_package_name, without_secrets};
use super::path::{address_of, address_text, is_address, path_of, path_text};
use super::required_package::RequiredPackage;
use super::skipped_file::{PATH_LIST, SkippedFile};
use super::sources::Sources;
use super::{file, glob, list};
use crate::load_input::LoadInput;

/// The file of a ZipNum cluster with the positions of the blocks in its parts.
const CLUSTER: &str = "cluster.idx";

/// Reason for refusing a second address that differs only in its secrets.
const SAME_WITHOUT_SECRETS: &str = "another address of this load differs from it only in its password, signature, token or key, none of \
     which is stored: load files that only these tell apart one at a time, under other names";

/// A declaration that does not match the content found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryWarning {
    /// Name of the file concerned.
    pub name: String,
    /// The defect, such as [`crate::PACKAGE_DIGEST`].
    pub reason: &'static str,
    /// What was found and what was expected.
    pub detail: String,
}

/// What a package says about itself, and whether that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryNote {
    /// Name of the file that says it.
    pub name: String,
    /// What it says.
    pub detail: String,
}

/// The result of expanding the arguments of a load.
#[derive(Debug)]
pub struct Discovery<'a> {
    /// The inputs found. Members of packages are inputs of their own.
    pub found: Vec<DiscoveredInput>,
    /// Files in folders, or matching patterns, that are not archive files.
    pub skipped: Vec<SkippedFile>,
    /// Wrong declarations in packages and lists whose content can be used nevertheless.
    pub warnings: Vec<DiscoveryWarning>,
    /// Signatures of packages that are correct or cannot be verified.
    pub notes: Vec<DiscoveryNote>,
    /// Packages that the packages found need.
    pub required: Vec<RequiredPackage>,
    /// Paths given as arguments that do not exist, as text. `found` has them with their problems,
    /// unless they are patterns with matches.
    pub absent: HashSet<String>,
    /// Whether path lists are expanded without a mark. This is so if all arguments are lists,
    /// because nothing else can be meant.
    pub(super) expands_lists: bool,
    pub(super) sources: &'a Sources,
    /// Resolved paths and addresses that have already been taken.
    pub(super) seen: HashSet<PathBuf>,
    /// Full addresses with secrets, by the address without them.
    given: HashMap<String, String>,
    /// Where lists of packages may lead besides their own origin.
    pub(super) allowed_origins: AllowedOrigins,
    /// Number of nested package lists at this point.
    pub(super) lists_deep: usize,
}

/// Expands folders, globs and path lists.
pub fn discover<'a>(inputs: &[LoadInput], allow_elsewhere: &[String], sources: &'a Sources) -> Discovery<'a> {
    let mut discovery = Discovery {
        found: Vec::new(),
        skipped: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        required: Vec::new(),
        absent: HashSet::new(),
        expands_lists: inputs.iter().all(is_list),
        sources,
        seen: HashSet::new(),
        given: HashMap::new(),
        allowed_origins: AllowedOrigins::new(allow_elsewhere),
        lists_deep: 0,
    };
    for input in inputs {
        discovery.argument(input);
    }
    discovery
}

/// Returns whether an argument is a path list, by its mark or its name.
fn is_list(input: &LoadInput) -> bool {
    input.name.starts_with('@') || list::is_path_list(Path::new(&input.path))
}

impl Discovery<'_> {
    pub(super) fn skip(&mut self, name: String, why: &'static str) {
        self.skipped.push(SkippedFile { name, why });
    }

    /// Returns an address without its secrets, which are remembered. Reports a problem and returns
    /// `None` if another address of this load differs only in secrets, because the two could not be
    /// distinguished later.
    pub(super) fn plain(&mut self, address: &str) -> Option<String> {
        let plain = without_secrets(address);
        if plain == address {
            return Some(plain);
        }
        let given = self
            .given
            .entry(plain.clone())
            .or_insert_with(|| address.to_owned());
        if given.as_str() != address {
            // The address itself belongs to the other input, so the problem is reported under
            // another name.
            let name = format!("{} (once more)", address_text(&plain));
            self.no_object(&name, SAME_WITHOUT_SECRETS.to_owned());
            return None;
        }
        self.sources.remember(address);
        Some(plain)
    }

    fn argument(&mut self, input: &LoadInput) {
        let marked = input.name.strip_prefix('@');
        let path = match marked {
            Some(_) => input.path.strip_prefix('@').unwrap_or(&input.path),
            None => &input.path,
        };
        if is_address(path) {
            let Some(address) = address_of(path) else {
                return self.no_object(path, "an address is UTF-8".to_owned());
            };
            let Some(address) = self.plain(&address) else {
                return;
            };
            return match is_member(&address) {
                _ if marked.is_some() => self.address_list(&address),
                true => self.member_address(&without_secrets(&input.name), &address),
                false => self.address(&address),
            };
        }
        let path = path_of(path);
        if fs::metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            self.absent.insert(path_text(&path));
        }
        if let Some(name) = marked {
            return self.list(&path_of(name), &path);
        }
        let name = path_of(&input.name);
        if !path.exists() && glob::is_pattern(path.as_os_str().as_bytes()) {
            return self.glob(&name, &path);
        }
        self.named(&name, &path);
    }

    /// Takes the file, folder or list that an argument or a glob names. A path list among other
    /// files was most likely matched by a pattern, of the shell or ours, so its entries are not
    /// loaded.
    fn named(&mut self, name: &Path, path: &Path) {
        if !(list::is_path_list(path) && path.is_file()) {
            self.listed(name, path);
        } else if self.expands_lists {
            self.list(name, path);
        } else {
            self.skip(path_text(name), PATH_LIST);
        }
    }

    /// Takes an entry of a path list. A list in a list is treated as a plain file.
    fn listed(&mut self, name: &Path, path: &Path) {
        if path.is_dir() && path.join(CLUSTER).is_file() {
            self.cluster(name, path);
        } else if path.is_dir() {
            self.folder(name, path);
        } else if path.file_name().is_some_and(|file| file == CLUSTER) {
            let parent = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
            self.cluster(&parent(name), &parent(path));
        } else {
            self.file(path_text(name), path);
        }
    }

    /// Takes a file named explicitly or by a glob or list. It gets an entry even if it cannot be
    /// read.
    pub(super) fn file(&mut self, name: String, path: &Path) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let (size, problem) = match fs::metadata(path) {
            Ok(metadata) => match file::irregular(metadata.file_type()) {
                None => (metadata.len(), None),
                Some(what) => (0, Some(file::not_regular(what))),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => (0, Some("no such file".to_owned())),
            Err(error) => (0, Some(format!("cannot be read: {error}"))),
        };
        if problem.is_none() && is_package_name(path.as_os_str().as_bytes()) {
            return self.package(&name, &path_text(path));
        }
        let place = InputLocation::File(path.to_owned());
        if problem.is_none()
            && is_package_list_name(path.as_os_str().as_bytes())
            && self.package_list(&name, &place)
        {
            return;
        }
        self.found.push(DiscoveredInput {
            name,
            place,
            size,
            problem,
            declared: DeclaredContent::default(),
        });
    }

    pub(super) fn problem(&mut self, name: String, path: &Path, problem: String) {
        self.found.push(DiscoveredInput {
            name,
            place: InputLocation::File(path.to_owned()),
            size: 0,
            problem: Some(problem),
            declared: DeclaredContent::default(),
        });
    }

    fn glob(&mut self, name: &Path, path: &Path) {
        let expanded = match glob::expand(name, path) {
            Ok(expanded) => expanded,
            Err(error) => return self.problem(path_text(name), path, error.to_string()),
        };
        if expanded.matches.is_empty() && expanded.unlisted.is_empty() {
            self.problem(path_text(name), path, "no file matches".to_owned());
        }
        for (name, path, error) in expanded.unlisted {
            self.problem(path_text(&name), &path, format!("cannot be listed: {error}"));
        }
        for (name, path) in expanded.matches {
            self.named(&name, &path);
        }
    }

    /// Takes the entries of a path list, which are relative to the list's folder, absolute, or
    /// addresses.
    fn list(&mut self, name: &Path, path: &Path) {
        let entries = match file::open_stream(path).and_then(list::read) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(
                    path_text(name),
                    path,
                    format!("cannot be read as a path list: {error}"),
                );
            }
        };
        let sibling = |path: &Path, entry: &Path| path.parent().unwrap_or(Path::new("")).join(entry);
        let entries: Vec<list::Entry> = entries
            .into_iter()
            .filter_map(|entry| match entry {
                list::Entry::Address(address) => self.plain(&address).map(list::Entry::Address),
                path => Some(path),
            })
            .collect();
        let addresses = entries.iter().filter_map(|entry| match entry {
            list::Entry::Address(address) => Some(address.as_str()),
            list::Entry::Path(_) => None,
        });
        let mut stats = self.stat_all(addresses);
        for entry in &entries {
            match entry {
                list::Entry::Path(entry) => self.listed(&sibling(name, entry), &sibling(path, entry)),
                // A second line with the same address is skipped, because the first one has removed
                // the status.
                list::Entry::Address(address) => {
                    if let Some(stat) = stats.remove(address.as_str()) {
                        self.object_or_folder(address, stat);
                    }
                }
            }
        }
    }
}
