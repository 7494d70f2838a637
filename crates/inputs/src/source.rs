//! Sources of inputs: local files, and objects that an [`InputSource`] of the program reaches.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use system::FileStore;
use warc::Input;

use super::file::open_file;
use super::package::{Packages, without_secrets};
use super::path::{address_of, path_of};
use super::secrets::KeptSecrets;

/// Inputs other than local files, named by addresses (`scheme://...`).
///
/// An error has a kind and a text that says what to do next; the caller adds the address. Calls
/// block.
pub trait InputSource: Send + Sync + 'static {
    /// Returns whether this source serves addresses of this form. Sends no request.
    fn serves(&self, address: &str) -> bool;

    /// Returns the status of the object at each address, in the order of `addresses`; `None` if
    /// there is no object. A source queries many at once if it can.
    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<Stat>>>;

    /// Returns every input whose address begins with `folder`, which ends with a slash, sorted by
    /// address. Fails with [`ErrorKind::Unsupported`] if the source cannot list.
    fn list(&self, folder: &str) -> io::Result<Vec<(String, Stat)>>;

    /// Opens an input for reading at any position. All bytes belong to one version: the version
    /// `seen` if given, otherwise the version found first. Reading fails if another version has
    /// replaced it.
    fn open(&self, address: &str, seen: Option<&Stat>) -> io::Result<Arc<dyn Input>>;

    /// Drops cached data of an input, because something in it was taken down.
    fn drop_cached(&self, _address: &str) {}

    /// Returns the folder at an address as a place for tables of facts. Sends no request. Fails for
    /// a source that cannot write.
    fn tables(&self, address: &str) -> io::Result<Arc<dyn FileStore>> {
        let what = format!("cannot write to {address}: its source is read-only");
        Err(io::Error::new(ErrorKind::Unsupported, what))
    }
}

/// The status of an input before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// Size in bytes; 0 if it is not known before reading.
    pub size: u64,
    /// A value that changes whenever the content does (a strong entity tag); `None` if there is
    /// none.
    pub validator: Option<String>,
    /// SHA-256 of the content, if it is stored with it.
    pub sha256: Option<[u8; 32]>,
}

/// All sources of inputs: local files, and another source if one is given.
#[derive(Clone, Default)]
pub struct Sources {
    beyond: Option<Arc<KeptSecrets>>,
    packages: Packages,
    /// Inputs inside the archive itself, once the archive is known.
    own: Option<Arc<dyn InputSource>>,
}

impl Sources {
    /// Returns sources for local files and the objects that `source` reaches.
    pub fn with(source: Arc<dyn InputSource>) -> Sources {
        let source = Arc::new(KeptSecrets::of(source));
        Sources {
            packages: Packages::with(source.clone()),
            beyond: Some(source),
            own: None,
        }
    }

    /// Returns an address without its secrets, which are remembered. These sources accept the
    /// result in place of the full address.
    pub fn plain(&self, address: &str) -> String {
        self.remember(address);
        without_secrets(address)
    }

    /// Remembers the secrets of an address as long as these sources exist. From then on the address
    /// without secrets, which may be stored and shown, is sufficient.
    pub fn remember(&self, address: &str) {
        if let Some(beyond) = &self.beyond {
            beyond.remember(address);
        }
    }

    /// Adds the inputs inside the archive at `dir`, unless an archive is already set: a
    /// verification loads the inputs of one archive into another.
    #[must_use]
    pub fn with_own(self, own: Arc<dyn InputSource>) -> Sources {
        Sources {
            own: self.own.or(Some(own)),
            ..self
        }
    }

    /// Returns the address at a location with its remembered secrets.
    pub fn as_given(&self, location: &str) -> String {
        let address = address_of(location).filter(|address| is_address(address));
        match (&self.beyond, address) {
            (Some(beyond), Some(address)) => super::path::address_text(&beyond.as_given(&address)),
            _ => location.to_owned(),
        }
    }

    /// Opens the input at a location: the text of an absolute path or an address (see
    /// [`path_text`](crate::path_text)).
    ///
    /// # Errors
    /// The error of the file system or the source. A file that is not regular is refused at once.
    pub fn open(&self, location: &str) -> io::Result<Arc<dyn Input>> {
        if is_address(location)
            && let Some(address) = address_of(location)
        {
            return self.open_address(&address);
        }
        Ok(Arc::new(open_file(&path_of(location))?))
    }

    /// Drops cached data of the input at a location.
    pub fn drop_cached(&self, location: &str) {
        if is_address(location)
            && let Some(address) = address_of(location)
            && let Ok(source) = self.of(&address)
        {
            source.drop_cached(&address);
        }
    }

    /// Opens the input at an address.
    pub(super) fn open_address(&self, address: &str) -> io::Result<Arc<dyn Input>> {
        self.of(address)?.open(address, None)
    }

    /// Returns the input at an address, or all inputs below it if it is a folder, whatever they
    /// contain.
    ///
    /// # Errors
    /// The error of the source; [`ErrorKind::NotFound`] if there is nothing.
    pub fn expand(&self, address: &str) -> io::Result<Vec<String>> {
        let source = self.of(address)?;
        if let Some(Some(_)) = source.stat(&[address]).pop().transpose()? {
            return Ok(vec![address.to_owned()]);
        }
        let listed = match source.list(&format!("{}/", address.trim_end_matches('/'))) {
            Err(error) if error.kind() == ErrorKind::Unsupported => Vec::new(),
            listed => listed?,
        };
        if listed.is_empty() {
            return Err(io::Error::new(
                ErrorKind::NotFound,
                "no such input, and none below it",
            ));
        }
        Ok(listed.into_iter().map(|(address, _)| address).collect())
    }

    /// Returns the folder at an address as a place for tables of facts.
    ///
    /// # Errors
    /// The error of the source.
    pub fn tables(&self, address: &str) -> io::Result<Arc<dyn FileStore>> {
        match &self.beyond {
            Some(source) if source.serves(address) => source.tables(address),
            _ => Err(io::Error::new(
                ErrorKind::Unsupported,
                "this program has no access to stores; use the program weft",
            )),
        }
    }

    /// Returns the source of members of packages.
    pub fn packages(&self) -> &Packages {
        &self.packages
    }

    /// Returns the source that serves an address.
    pub fn of(&self, address: &str) -> io::Result<&dyn InputSource> {
        if self.packages.serves(address) {
            return Ok(&self.packages);
        }
        if let Some(source) = &self.own
            && source.serves(address)
        {
            return Ok(&**source);
        }
        match &self.beyond {
            Some(source) if source.serves(address) => Ok(&**source as &dyn InputSource),
            _ => Err(io::Error::new(
                ErrorKind::Unsupported,
                "inputs of this kind cannot be read here",
            )),
        }
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.beyond.is_some() {
            "Sources(files and addresses)"
        } else {
            "Sources(files)"
        })
    }
}

/// Returns whether a location is an address (`scheme://...`) instead of a path.
pub fn is_address(location: &str) -> bool {
    let Some((scheme, _)) = location.split_once("://") else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Splits an address into `scheme://authority` and the rest without its leading slash.
pub(super) fn split(address: &str) -> (&str, &str) {
    let start = address.find("://").map_or(0, |at| at + 3);
    match address[start..].find('/') {
        Some(slash) => (&address[..start + slash], &address[start + slash + 1..]),
        None => (address, ""),
    }
}

/// Reads an input from front to back.
pub struct FromStart {
    /// The input.
    pub input: Arc<dyn Input>,
    /// Number of bytes read so far.
    pub position: u64,
}

impl FromStart {
    /// Reads an input from its beginning.
    pub fn of(input: Arc<dyn Input>) -> FromStart {
        FromStart { input, position: 0 }
    }
}

impl io::Read for FromStart {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read_at(into, self.position)?;
        self.position += bytes as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for address in ["s3://bucket/x", "https://h/x?y", "store://b", "HTTP://h"] {
            assert!(is_address(address), "{address}");
        }
        for path in [
            "/a/b",
            "a://b/c".trim_start_matches("a"),
            "a/b://c",
            "C:\\x",
            "x.warc",
            "1a://b",
        ] {
            assert!(!is_address(path), "{path}");
        }
        assert_eq!(split("s3://b/c/d"), ("s3://b", "c/d"));
        assert_eq!(split("s3://b"), ("s3://b", ""));
    }
}
