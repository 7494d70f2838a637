//! File name patterns: `*`, `?`, `[a-z]`, `[!a-z]` within a name, and `**` for any number of folders.
//!
//! Names that begin with a dot match only patterns that begin with one. Names are bytes: a byte that is not
//! part of valid UTF-8 counts as a character of its own.
//!
//! These are the shell's rules, because the same pattern may reach us unexpanded. `globset` 0.4 has others: there
//! `*` matches `.a`, `?` does not match `é` (it is one byte), an unclosed `[` is an error instead of itself, and
//! braces are alternatives. Half of this file is the walk, which it does not have.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub(super) fn is_pattern(path: impl AsRef<[u8]>) -> bool {
    path.as_ref().iter().any(|byte| b"*?[".contains(byte))
}

/// The paths that match a pattern, each with the name that it has if the pattern is written as `given` by the
/// user.
#[derive(Default)]
pub(super) struct Expanded {
    /// Existing paths that match, sorted.
    pub(super) matches: Vec<(PathBuf, PathBuf)>,
    /// Folders that may contain more matches but cannot be listed.
    pub(super) unlisted: Vec<(PathBuf, PathBuf, io::Error)>,
}

/// Finds the paths that match the absolute pattern `path`.
pub(super) fn expand(given: &Path, path: &Path) -> Expanded {
    let (root, pattern) = split(path);
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
    Expanded {
        unlisted: unlisted.collect(),
        matches: found.into_iter().map(both).collect(),
    }
}

/// The part without wildcards, and the components from the first one with a wildcard.
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
    fn below(&mut self, below: &Path, pattern: &[OsString]) {
        let Some((first, rest)) = pattern.split_first() else {
            self.found.push(below.to_owned());
            return;
        };
        let any_depth = first == "**";
        if any_depth {
            self.below(below, rest);
        }
        let folder = self.root.join(below);
        for name in self.names(below, &folder) {
            let path = folder.join(&name);
            if any_depth {
                // Links are not followed here, because they may lead in a circle.
                let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
                if is_folder && !name.as_bytes().starts_with(b".") {
                    self.below(&below.join(&name), pattern);
                }
            } else if (rest.is_empty() || path.is_dir()) && matches(first.as_bytes(), name.as_bytes()) {
                self.below(&below.join(&name), rest);
            }
        }
    }

    /// The names in a folder. A folder that does not exist has none.
    fn names(&mut self, below: &Path, folder: &Path) -> Vec<OsString> {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
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

/// Whether the parts of a name between slashes match those of a pattern.
pub(super) fn matches_parts(pattern: &[&str], parts: &[&str]) -> bool {
    match (pattern.split_first(), parts.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((&"**", rest)), first) => {
            matches_parts(rest, parts)
                || first.is_some_and(|(name, below)| !name.starts_with('.') && matches_parts(pattern, below))
        }
        (Some((first, rest)), Some((name, below))) => {
            matches(first.as_bytes(), name.as_bytes()) && matches_parts(rest, below)
        }
        (Some(_), None) => false,
    }
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    matches_units(&units(pattern), &units(name))
}

/// A character, or a byte that is not part of valid UTF-8. Such bytes are numbered above all characters.
type Unit = u32;

fn units(name: &[u8]) -> Vec<Unit> {
    let mut units = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        units.extend(chunk.valid().chars().map(Unit::from));
        let bytes = chunk.invalid().iter();
        units.extend(bytes.map(|byte| Unit::from(char::MAX) + 1 + Unit::from(*byte)));
    }
    units
}

const fn unit(c: char) -> Unit {
    c as Unit
}

/// Matches with backtracking to the last `*` only, so the time is at most the product of both lengths.
fn matches_units(pattern: &[Unit], name: &[Unit]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&unit('*')) {
            retry = Some((p, n));
            p += 1;
        } else if let Some(length) = one(&pattern[p..], name[n]) {
            p += length;
            n += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            p = star + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == unit('*'))
}

/// Length of the pattern's first element if it matches `c`.
fn one(pattern: &[Unit], c: Unit) -> Option<usize> {
    match *pattern.first()? {
        first if first == unit('?') => Some(1),
        first if first == unit('[') => match Set::parse(pattern) {
            Some(set) => set.contains(c).then_some(set.length),
            None => (c == first).then_some(1),
        },
        literal => (literal == c).then_some(1),
    }
}

/// A `[...]` in a pattern.
struct Set {
    /// Its length in characters of the pattern.
    length: usize,
    negated: bool,
    /// First and last character of each range.
    members: Vec<(Unit, Unit)>,
}

impl Set {
    /// Returns `None` if the bracket is not closed; it then means itself.
    fn parse(pattern: &[Unit]) -> Option<Set> {
        let negated = pattern.get(1).is_some_and(|c| [unit('!'), unit('^')].contains(c));
        let start = if negated { 2 } else { 1 };
        // A closing bracket right at the start is a member.
        let end = start + 1 + pattern.get(start + 1..)?.iter().position(|c| *c == unit(']'))?;
        let mut members = Vec::new();
        let mut at = start;
        while at < end {
            if at + 2 < end && pattern[at + 1] == unit('-') {
                members.push((pattern[at], pattern[at + 2]));
                at += 3;
            } else {
                members.push((pattern[at], pattern[at]));
                at += 1;
            }
        }
        Some(Set {
            length: end + 1,
            negated,
            members,
        })
    }

    fn contains(&self, c: Unit) -> bool {
        let inside = self.members.iter().any(|(low, high)| (*low..=*high).contains(&c));
        inside != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_parts};

    #[test]
    fn patterns() {
        let yes = [
            ("*.gz", "a.gz"),
            ("*", "a"),
            ("a?c", "abc"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[]]x", "]x"),
            ("[", "["),
            ("a*b*c", "aXbbYc"),
            ("*.warc*", "x.warc.gz"),
            (".*", ".hidden"),
            ("é*", "éa"),
        ];
        let no = [
            ("*.gz", "a.gz.open"),
            ("a?c", "ac"),
            ("[a-c]x", "dx"),
            ("*", ".hidden"),
            ("", "a"),
            ("a", ""),
        ];
        for (pattern, name) in yes {
            assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in no {
            assert!(!matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }

    #[test]
    fn a_byte_that_is_no_character_matches_itself_alone() {
        for (pattern, fits) in [
            (&b"caf?"[..], true),
            (b"caf\xe9", true),
            (b"caf[!a-z]", true),
            (b"caf\xea", false),
        ] {
            assert_eq!(matches(pattern, b"caf\xe9"), fits, "{pattern:?}");
        }
    }

    #[test]
    fn patterns_of_parts() {
        let check = |pattern: &str, name: &str| {
            let (pattern, name): (Vec<&str>, Vec<&str>) =
                (pattern.split('/').collect(), name.split('/').collect());
            matches_parts(&pattern, &name)
        };
        for (pattern, name) in [
            ("a*/x", "ab/x"),
            ("**/x", "x"),
            ("**/x", "a/b/x"),
            ("a/**/*.gz", "a/b/c.gz"),
        ] {
            assert!(check(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a*", "ab/x"), ("*/x", "x"), ("**/x", ".a/x"), ("a/**/x", "b/x")] {
            assert!(!check(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_end_in_time() {
        assert!(!matches("*a".repeat(50).as_bytes(), "a".repeat(49).as_bytes()));
    }
}
