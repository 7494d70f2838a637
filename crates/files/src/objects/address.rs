//! Addresses of objects, and of what is below a prefix: `s3://bucket/prefix`, `store://bucket/prefix`.

use super::key::{is_dir_path, split};

/// What addresses begin with.
const SCHEMES: [&str; 2] = ["s3://", "store://"];

/// Whether a path is an address of objects. Paths in file systems are absolute, and begin with a slash.
pub fn is_address(path: &[u8]) -> bool {
    SCHEMES.iter().any(|scheme| path.starts_with(scheme.as_bytes()))
}

/// The directory and the name of an object or a directory, by its address; a bucket is in none.
pub(crate) fn path_parts(address: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let scheme = SCHEMES
        .iter()
        .find(|scheme| address.starts_with(scheme.as_bytes()));
    let bucket = scheme.map_or(0, |scheme| scheme.len());
    let Some(end) = address[bucket..].iter().position(|&byte| byte == b'/') else {
        return (None, &address[bucket..]);
    };
    let name = split(&address[bucket + end + 1..]).1;
    // Behind the bucket there is a slash in front of every name.
    let directory = &address[..address.len() - name.len() - 1];
    (Some(directory), name)
}

/// A bucket, or the objects below a prefix of it: a tree of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// All of it, without a slash at the end.
    text: Vec<u8>,
    /// Where the bucket ends in it.
    bucket_end: usize,
    /// What tells the bucket from others of the same name.
    volume: String,
}

/// Why a text is no address of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It begins otherwise, or names no bucket.
    #[error("{0} is no address of objects: expected s3://bucket/prefix or store://bucket/prefix")]
    Form(String),
    /// No key is directly below it.
    #[error(
        "{0} ends in more than one slash: a prefix is the path of a directory, with one slash behind it or none"
    )]
    Slashes(String),
}

impl Address {
    /// Reads an address. `store` says which store has the bucket, such as the URL of an endpoint: a bucket of the same name in
    /// another store is another one.
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
        match text.last() != Some(&b'/') && is_dir_path(address.below()) {
            true => Ok(address),
            false => Err(AddressError::Slashes(said())),
        }
    }

    /// The address as the catalogue has it: without a slash at the end.
    pub fn path(&self) -> &[u8] {
        &self.text
    }

    /// The path of the directory in the bucket, empty for all of it.
    pub(crate) fn below(&self) -> &[u8] {
        self.text.get(self.bucket_end + 1..).unwrap_or_default()
    }

    /// What the catalogue numbers the bucket by.
    pub(crate) fn volume(&self) -> &str {
        &self.volume
    }

    /// The same bucket with another directory, by the path of that in the catalogue.
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
