//! Matches files and addresses against patterns. Each name of a path is a [`Pattern`], and `**`
//! matches any number of folders.
//!
//! Names that begin with a dot match only patterns that begin with one. These are the shell's
//! rules, because the same pattern may arrive here unexpanded.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use pattern::{Pattern, TooManyAlternatives};

pub(super) use pattern::has_wildcard as is_pattern;

/// The part of a pattern that matches one name of a path.
pub(super) enum Part {
    /// `**`: any number of folders.
    AnyDepth,
    Name(Pattern),
}

/// Parses the names of a pattern.
///
/// # Errors
/// If one has too many alternatives.
pub(super) fn parts_of(names: &[impl AsRef<[u8]>]) -> Result<Vec<Part>, TooManyAlternatives> {
    let part = |name: &[u8]| match name {
        b"**" => Ok(Part::AnyDepth),
        name => Pattern::new(name).map(Part::Name),
    };
    names.iter().map(|name| part(name.as_ref())).collect()
}

/// The paths that match a pattern, each with the name it has if the pattern is written as `given`
/// by the user.
#[derive(Default)]
pub(super) struct GlobMatches {
    /// Existing paths that match, sorted.
    pub(super) matches: Vec<(PathBuf, PathBuf)>,
    /// Folders that may contain more matches but cannot be listed.
    pub(super) unlisted: Vec<(PathBuf, PathBuf, io::Error)>,
}

/// Finds the paths that match the absolute pattern `path`.
///
/// # Errors
/// If it has too many alternatives.
pub(super) fn expand(given: &Path, path: &Path) -> Result<GlobMatches, TooManyAlternatives> {
    let (root, pattern) = split(path);
    let names: Vec<&[u8]> = pattern.iter().map(|name| name.as_bytes()).collect();
    let pattern = parts_of(&names)?;
    let (given_root, _) = split(given);
    let mut walk = Walk {
        root: &root,
        found: Vec::new(),
        unlisted: Vec::new(),
    };
    walk.below(Path::new(""), &pattern);
    let Walk {
        mut found, unlisted, ..
    } = walk;
    found.sort();
    found.dedup();
    let both = |below: PathBuf| (given_root.join(&below), root.join(&below));
    let unlisted = unlisted.into_iter().map(|(below, error)| {
        let (name, path) = both(below);
        (name, path, error)
    });
    Ok(GlobMatches {
        unlisted: unlisted.collect(),
        matches: found.into_iter().map(both).collect(),
    })
}

/// Splits a path into the part without wildcards and the components from the first with a wildcard.
fn split(path: &Path) -> (PathBuf, Vec<OsString>) {
    let mut components = path.components().peekable();
    let mut root = PathBuf::new();
    while let Some(component) = components.next_if(|c| !is_pattern(c.as_os_str().as_bytes())) {
        root.push(component);
    }
    (root, components.map(|c| c.as_os_str().to_owned()).collect())
}

struct Walk<'a> {
    root: &'a Path,
    found: Vec<PathBuf>,
    unlisted: Vec<(PathBuf, io::Error)>,
}

impl Walk<'_> {
    fn below(&mut self, below: &Path, pattern: &[Part]) {
        let Some((first, rest)) = pattern.split_first() else {
            self.found.push(below.to_owned());
            return;
        };
        if let Part::AnyDepth = first {
            self.below(below, rest);
        }
        let folder = self.root.join(below);
        for name in self.names(below, &folder) {
            let path = folder.join(&name);
            match first {
                Part::AnyDepth => {
                    // Links are not followed here, because they may form a cycle.
                    let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
                    if is_folder && !name.as_bytes().starts_with(b".") {
                        self.below(&below.join(&name), pattern);
                    }
                }
                Part::Name(one) => {
                    if one.matches_file(name.as_bytes()) && (rest.is_empty() || path.is_dir()) {
                        self.below(&below.join(&name), rest);
                    }
                }
            }
        }
    }

    /// Returns the names in a folder. A folder that does not exist has none.
    fn names(&mut self, below: &Path, folder: &Path) -> Vec<OsString> {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let listed = fs::read_dir(folder).and_then(|entries| {
            entries
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect()
        });
        match listed {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // `**` visits a folder twice; report it once.
            Err(_) if self.unlisted.iter().any(|(known, _)| known == below) => Vec::new(),
            Err(error) => {
                self.unlisted.push((below.to_owned(), error));
                Vec::new()
            }
        }
    }
}

/// Returns whether the parts of a name between slashes match those of a pattern.
pub(super) fn matches_parts(pattern: &[Part], parts: &[&str]) -> bool {
    match (pattern.split_first(), parts.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((Part::AnyDepth, rest)), first) => {
            matches_parts(rest, parts)
                || first.is_some_and(|(name, below)| !name.starts_with('.') && matches_parts(pattern, below))
        }
        (Some((Part::Name(first), rest)), Some((name, below))) => {
            first.matches_file(name) && matches_parts(rest, below)
        }
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_parts() {
        let check = |pattern: &str, name: &str| {
            let parts: Vec<&str> = pattern.split('/').collect();
            let names: Vec<&str> = name.split('/').collect();
            matches_parts(&parts_of(&parts).unwrap(), &names)
        };
        for (pattern, name) in [
            ("a*/x", "ab/x"),
            ("**/x", "x"),
            ("**/x", "a/b/x"),
            ("a/**/*.gz", "a/b/c.gz"),
            ("*.{warc,arc}.gz", "é.arc.gz"),
        ] {
            assert!(check(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a*", "ab/x"),
            ("*/x", "x"),
            ("**/x", ".a/x"),
            ("a/**/x", "b/x"),
            ("*", ".hidden"),
        ] {
            assert!(!check(pattern, name), "{pattern} {name}");
        }
    }
}
