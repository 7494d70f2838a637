//! Mapping of object keys to paths: directories, and a name in the last one.
//!
//! Invariants:
//!  - A slash ends a directory name if it is the first one after a byte other than a slash and more
//!    bytes follow. So `a//b` is `/b` in `a`, `/x/y` is `y` in `/x`, and `a/` and `///` are names.
//!  - Joining the names with slashes gives the key again. The keys in a directory are those that
//!    start with its path and a slash and have more bytes, so they are adjacent in a listing.
//!  - An object `a` may exist next to objects below `a/`. Because a pack has each name once, it
//!    stores the directory as `a//`, which is never the name of an object and sorts like the keys
//!    below it.

/// Suffix of directory names in packs.
const DIRECTORY: &[u8] = b"//";

/// Returns the name of a directory in packs.
pub(crate) fn dir_name(segment: &[u8]) -> Box<[u8]> {
    [segment, DIRECTORY].concat().into()
}

/// Converts a name from a pack to a path component. Names in file systems have no slash and are
/// unchanged.
pub(crate) fn shown_name(name: &[u8]) -> &[u8] {
    match name.strip_suffix(DIRECTORY) {
        // A name of only slashes belongs to an object.
        Some(segment) if segment.iter().any(|&byte| byte != b'/') => segment,
        _ => name,
    }
}

/// Splits the first directory off a key or the rest of one; `None` if only a name is left.
fn first_dir(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let begin = rest.iter().position(|&byte| byte != b'/')?;
    let end = begin + rest[begin..].iter().position(|&byte| byte == b'/')?;
    match &rest[end + 1..] {
        [] => None,
        name => Some((&rest[..end], name)),
    }
}

/// Splits a key into its directories and its name in the last one.
pub(crate) fn split(key: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut dirs = Vec::new();
    let mut rest = key;
    while let Some((dir, name)) = first_dir(rest) {
        dirs.push(dir);
        rest = name;
    }
    (dirs, rest)
}

/// Splits the path of a directory into its components; `None` if it is not such a path.
pub(crate) fn dirs_of(path: &[u8]) -> Option<Vec<&[u8]>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    let (mut dirs, name) = split(path);
    dirs.push(name);
    is_segment(name).then_some(dirs)
}

/// Returns whether keys below this path are in a directory with this path.
pub(crate) fn is_dir_path(path: &[u8]) -> bool {
    dirs_of(path).is_some()
}

/// Returns whether a name ends in a byte other than a slash.
fn is_segment(name: &[u8]) -> bool {
    name.last().is_some_and(|&byte| byte != b'/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_keys_have_names() {
        for (key, dirs, name) in [
            ("a", &[][..], "a"),
            ("a/b/c", &["a", "b"], "c"),
            ("a//b", &["a"], "/b"),
            ("a//b/c", &["a", "/b"], "c"),
            ("/x", &[], "/x"),
            ("/x/y", &["/x"], "y"),
            ("a/", &[], "a/"),
            ("a//", &["a"], "/"),
            ("a///b", &["a"], "//b"),
            ("///", &[], "///"),
            ("a/../b", &["a", ".."], "b"),
        ] {
            let (found, rest) = split(key.as_bytes());
            let expected: Vec<&[u8]> = dirs.iter().map(|dir| dir.as_bytes()).collect();
            assert_eq!((found, rest), (expected, name.as_bytes()), "{key}");
        }
        for (path, is_dir) in [
            ("", true),
            ("a", true),
            ("/a/b", true),
            ("a//b", true),
            ("a/", false),
            ("/", false),
        ] {
            assert_eq!(is_dir_path(path.as_bytes()), is_dir, "{path}");
        }
        assert_eq!(shown_name(&dir_name(b"a")), b"a");
        assert_eq!(
            (shown_name(b"//"), shown_name(b"a/"), shown_name(b"a")),
            (&b"//"[..], &b"a/"[..], &b"a"[..])
        );
    }

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(b"//a!0\xff".to_vec()), 1..9)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn names_are_the_key_again_and_no_two_are_alike(key in key(), other in key()) {
            let (dirs, name) = split(&key);
            prop_assert_eq!([&dirs[..], &[name]].concat().join(&b'/'), key.clone());
            prop_assert!(!name.is_empty() && dirs.iter().all(|dir| is_segment(dir)));
            // In packs no object has the name of a directory, and the shown name is the original
            // one.
            prop_assert_eq!(shown_name(name), name);
            for dir in &dirs {
                let packed = dir_name(dir);
                prop_assert_eq!(shown_name(&packed), *dir);
            }
            // A directory holds exactly the longer keys with its path as a prefix.
            for length in 1..=dirs.len() {
                let path = dirs[..length].join(&b'/');
                prop_assert_eq!(dirs_of(&path), Some(dirs[..length].to_vec()));
                let is_below = other.strip_prefix(&*path).is_some_and(|rest| rest.len() > 1 && rest[0] == b'/');
                prop_assert_eq!(is_below, split(&other).0.starts_with(&dirs[..length]));
            }
            // Names in packs have the order of the keys.
            let packed = |key: &[u8]| -> Vec<Box<[u8]>> {
                let (dirs, name) = split(key);
                dirs.into_iter().map(dir_name).chain([name.into()]).collect()
            };
            prop_assert_eq!(packed(&key).cmp(&packed(&other)), key.cmp(&other));
        }
    }
}
