//! All sources of inputs: local files, members of packages, and objects that an [`InputSource`] of
//! the program reaches.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use system::FileStore;
use warc::Input;

use super::file::open_file;
use super::package::{Packages, without_secrets};
use super::path::{address_of, address_text, is_address, path_of};
use super::secret_source::SecretSource;
use super::source::InputSource;

/// All sources of inputs: local files, and another source if one is given.
#[derive(Clone, Default)]
pub struct Sources {
    beyond: Option<Arc<SecretSource>>,
    packages: Packages,
    /// Inputs inside the archive itself, once the archive is known.
    own: Option<Arc<dyn InputSource>>,
}

impl Sources {
    /// Returns sources for local files and the objects that `source` reaches.
    pub fn new(source: Arc<dyn InputSource>) -> Sources {
        let source = Arc::new(SecretSource::of(source));
        Sources {
            packages: Packages::with(source.clone()),
            beyond: Some(source),
            own: None,
        }
    }

    /// Returns an address without its secrets, which are remembered. These sources accept the
    /// result in place of the full address.
    pub fn without_secrets(&self, address: &str) -> String {
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
    pub fn with_secrets(&self, location: &str) -> String {
        let address = address_of(location).filter(|address| is_address(address));
        match (&self.beyond, address) {
            (Some(beyond), Some(address)) => address_text(&beyond.as_given(&address)),
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

    /// Returns the size of the input at an address, such as a member of a package: 0 if it is known
    /// only after reading, `None` if there is no such input.
    ///
    /// # Errors
    /// The error of the source, also if no source serves the location.
    pub fn address_size(&self, location: &str) -> io::Result<Option<u64>> {
        let address = address_of(location).ok_or(ErrorKind::InvalidInput)?;
        let mut found = self.source_of(&address)?.stat(&[address.as_str()]);
        let stat = found.pop().unwrap_or(Ok(None))?;
        Ok(stat.map(|stat| stat.size))
    }

    /// Drops cached data of the input at a location.
    pub fn drop_cached(&self, location: &str) {
        if is_address(location)
            && let Some(address) = address_of(location)
            && let Ok(source) = self.source_of(&address)
        {
            source.drop_cached(&address);
        }
    }

    /// Opens the input at an address.
    pub(super) fn open_address(&self, address: &str) -> io::Result<Arc<dyn Input>> {
        self.source_of(address)?.open(address, None)
    }

    /// Returns the input at an address, or all inputs below it if it is a folder, whatever they
    /// contain.
    ///
    /// # Errors
    /// The error of the source; [`ErrorKind::NotFound`] if there is nothing.
    pub fn expand(&self, address: &str) -> io::Result<Vec<String>> {
        let source = self.source_of(address)?;
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
    pub fn source_of(&self, address: &str) -> io::Result<&dyn InputSource> {
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
