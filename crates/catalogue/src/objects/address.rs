//! Addresses of buckets and prefixes: `s3://bucket/prefix`, `store://bucket/prefix`.

use super::key::{is_dir_path, split};

/// Schemes of addresses.
const SCHEMES: [&str; 2] = ["s3://", "store://"];

/// Returns whether a path is an address of objects. Paths of file systems are absolute and start
/// with a slash.
pub fn is_address(path: &[u8]) -> bool {
    SCHEMES.iter().any(|scheme| path.starts_with(scheme.as_bytes()))
}

/// Splits the address of an object or directory into its parent directory and its name. A bucket
/// has no parent.
pub(crate) fn path_parts(address: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let scheme = SCHEMES
        .iter()
        .find(|scheme| address.starts_with(scheme.as_bytes()));
    let bucket = scheme.map_or(0, |scheme| scheme.len());
    let Some(end) = address[bucket..].iter().position(|&byte| byte == b'/') else {
        return (None, &address[bucket..]);
    };
    let name = split(&address[bucket + end + 1..]).1;
    // A slash separates the bucket from the name.
    let directory = &address[..address.len() - name.len() - 1];
    (Some(directory), name)
}

/// A bucket, or the objects below a prefix: a tree of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The whole address, without a trailing slash.
    text: Vec<u8>,
    /// Offset of the end of the bucket name.
    bucket_end: usize,
    /// Distinguishes the bucket from others of the same name.
    volume: String,
}

/// Why a text is not an address of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The scheme or the bucket is missing.
    #[error(
        "{0} is not the address of an object store: expected s3://bucket/prefix or store://bucket/prefix"
    )]
    Form(String),
    /// No key can be directly below it.
    #[error("{0} ends in more than one slash: a prefix is a directory path with at most one trailing slash")]
    Slashes(String),
}

impl Address {
    /// Parses an address. `store` identifies the store, for example by the URL of its endpoint:
    /// buckets of the same name in different stores are different.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn new(text: &[u8], store: &str) -> Result<Address, AddressError> {
        let said = || String::from_utf8_lossy(text).into_owned();
        let text = text.strip_suffix(b"/").unwrap_or(text);
        let scheme = SCHEMES.iter().find(|scheme| text.starts_with(scheme.as_bytes()));
        let begin = scheme.ok_or_else(|| AddressError::Form(said()))?.len();
        let bucket_end = text[begin..]
            .iter()
            .position(|&byte| byte == b'/')
            .map_or(text.len(), |at| begin + at);
        if bucket_end == begin {
            return Err(AddressError::Form(said()));
        }
        let address = Address {
            text: text.to_vec(),
            bucket_end,
            volume: format!("objects {store} {}", String::from_utf8_lossy(&text[..bucket_end])),
        };
        if text.last() != Some(&b'/') && is_dir_path(address.below()) {
            Ok(address)
        } else {
            Err(AddressError::Slashes(said()))
        }
    }

    /// Returns the address without a trailing slash, as the catalogue stores it.
    pub fn path(&self) -> &[u8] {
        &self.text
    }

    /// Returns the path of the directory in the bucket; empty for the whole bucket.
    pub(crate) fn below(&self) -> &[u8] {
        self.text.get(self.bucket_end + 1..).unwrap_or_default()
    }

    /// Returns the name under which the catalogue numbers the bucket.
    pub(crate) fn volume(&self) -> &str {
        &self.volume
    }

    /// Returns the address of another directory in the same bucket; `path` is its path in the
    /// catalogue.
    pub(crate) fn at(&self, path: &[u8]) -> Address {
        Address {
            text: path.to_vec(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_directories() {
        for (text, below) in [
            ("s3://b", Ok("")),
            ("s3://b/", Ok("")),
            ("store://b/c/d", Ok("c/d")),
            ("store://b/c/d/", Ok("c/d")),
            ("s3://b//x", Ok("/x")),
            ("s3://b/a//x/", Ok("a//x")),
            ("s3://b//", Err("slash")),
            ("s3://b/a//", Err("slash")),
            ("s3://", Err("expected")),
            ("s3:///x", Err("expected")),
            ("https://b/x", Err("expected")),
            ("/s3://b", Err("expected")),
        ] {
            let found = Address::new(text.as_bytes(), "here");
            match (&found, below) {
                (Ok(address), Ok(below)) => assert_eq!(address.below(), below.as_bytes(), "{text}"),
                (Err(error), Err(word)) => assert!(error.to_string().contains(word), "{text}: {error}"),
                _ => panic!("{text}: {found:?}"),
            }
        }
        let volume = |text: &str, store: &str| Address::new(text.as_bytes(), store).unwrap().volume;
        assert_eq!(volume("s3://b/x", "h"), volume("s3://b", "h"));
        assert_ne!(volume("s3://b", "h"), volume("s3://b", "i"));
        assert_ne!(volume("s3://b", "h"), volume("store://b", "h"));
    }
}
