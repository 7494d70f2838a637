//! File name patterns: `*`, `?`, `[a-z]`, `[!a-z]` within a name, and `**` for any number of folders.
//!
//! Names that begin with a dot match only patterns that do.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// Existing paths that match the absolute pattern `path`, sorted; each with its name as the pattern
/// `given` (the same one, as the user wrote it) would have it.
pub(super) fn expand(given: &str, path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let (root, pattern) = split(path);
    let (given_root, _) = split(Path::new(given));
    let mut found = Vec::new();
    walk(&root, Path::new(""), &pattern, &mut found);
    found.sort();
    found.dedup();
    found
        .into_iter()
        .map(|below| (given_root.join(&below), root.join(&below)))
        .collect()
}

/// The part without wildcards, and the components from the first one with a wildcard.
fn split(path: &Path) -> (PathBuf, Vec<OsString>) {
    let mut components = path.components().peekable();
    let mut root = PathBuf::new();
    while let Some(component) = components.next_if(|c| !is_pattern(&c.as_os_str().to_string_lossy())) {
        root.push(component);
    }
    (root, components.map(|c| c.as_os_str().to_owned()).collect())
}

fn walk(root: &Path, below: &Path, pattern: &[OsString], found: &mut Vec<PathBuf>) {
    let Some((first, rest)) = pattern.split_first() else {
        found.push(below.to_owned());
        return;
    };
    let any_depth = first == "**";
    if any_depth {
        walk(root, below, rest, found);
    }
    let folder = root.join(below);
    let Ok(entries) = fs::read_dir(if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        &folder
    }) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let shown = name.to_string_lossy();
        if any_depth {
            if is_folder && !shown.starts_with('.') {
                walk(root, &below.join(&name), pattern, found);
            }
        } else if (rest.is_empty() || folder.join(&name).is_dir())
            && matches(&first.to_string_lossy(), &shown)
        {
            walk(root, &below.join(&name), rest, found);
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
        (Some((first, rest)), Some((name, below))) => matches(first, name) && matches_parts(rest, below),
        (Some(_), None) => false,
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    matches_chars(&pattern, &name)
}

/// Goes back to the last `*` only, so the time is at most the product of the lengths.
fn matches_chars(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
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
    pattern[p..].iter().all(|c| *c == '*')
}

/// Length of the pattern's first element if it matches `c`.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match Set::parse(pattern) {
            Some(set) => set.contains(c).then_some(set.length),
            None => (c == '[').then_some(1),
        },
        literal => (*literal == c).then_some(1),
    }
}

/// A `[...]` in a pattern.
struct Set {
    /// Characters of the pattern.
    length: usize,
    negated: bool,
    /// First and last character of each range.
    members: Vec<(char, char)>,
}

impl Set {
    /// `None` if it is not closed and so stands for itself.
    fn parse(pattern: &[char]) -> Option<Set> {
        let negated = matches!(pattern.get(1), Some('!' | '^'));
        let start = if negated { 2 } else { 1 };
        // A bracket right at the start is a member.
        let end = start + 1 + pattern.get(start + 1..)?.iter().position(|c| *c == ']')?;
        let mut members = Vec::new();
        let mut at = start;
        while at < end {
            if at + 2 < end && pattern[at + 1] == '-' {
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

    fn contains(&self, c: char) -> bool {
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
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in no {
            assert!(!matches(pattern, name), "{pattern} {name}");
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
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
    }
}
