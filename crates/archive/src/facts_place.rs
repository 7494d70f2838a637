//! The place of an archive's facts: its directory, another one, or a store.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use facts::{LocalFileStore, Table};
use inputs::{Sources, is_address};
use system::FileStore;

use crate::OpenError;
use crate::facts_writer::FactsSettings;

/// Returns the place named in the settings, or else `dir`.
pub(crate) fn place_of(settings: &FactsSettings, dir: &Path, sources: &Sources) -> Arc<dyn FileStore> {
    let Some(elsewhere) = settings.place.as_deref() else {
        return Arc::new(LocalFileStore::new(dir));
    };
    if !is_address(elsewhere) {
        return Arc::new(LocalFileStore::new(&inputs::path_of(elsewhere)));
    }
    sources.tables(elsewhere).unwrap_or_else(|error| {
        Arc::new(OutOfReach {
            address: elsewhere.to_owned(),
            why: error.to_string(),
        })
    })
}

/// Refuses the address of a new archive's facts if they could not be kept there. The setting is
/// permanent, so a mistake would be noticed too late.
pub(crate) fn check_new(settings: &FactsSettings, sources: &Sources) -> Result<(), OpenError> {
    let Some(address) = settings.place.as_deref().filter(|place| is_address(place)) else {
        return Ok(());
    };
    let failed = |message: String| OpenError::Facts {
        address: address.to_owned(),
        message,
    };
    let place = sources
        .tables(address)
        .map_err(|error| failed(error.to_string()))?;
    for table in Table::ALL {
        let log = format!("{}/_delta_log", table.name());
        let found = place.list(&log).map_err(|error| failed(error.to_string()))?;
        if !found.is_empty() {
            return Err(failed(format!(
                "there is a table {} already; give each archive its own address",
                table.name()
            )));
        }
    }
    Ok(())
}

/// A place of facts that this process cannot reach. Questions that do not need facts are still
/// answered.
#[derive(Debug)]
struct OutOfReach {
    address: String,
    why: String,
}

impl OutOfReach {
    fn error(&self) -> io::Error {
        io::Error::new(ErrorKind::Unsupported, self.why.clone())
    }
}

impl FileStore for OutOfReach {
    fn put(&self, _: &str, _: Bytes) -> io::Result<()> {
        Err(self.error())
    }

    fn put_if_absent(&self, _: &str, _: Bytes) -> io::Result<bool> {
        Err(self.error())
    }

    fn get(&self, _: &str) -> io::Result<Option<Bytes>> {
        Err(self.error())
    }

    fn exists(&self, _: &str) -> io::Result<bool> {
        Err(self.error())
    }

    fn list(&self, _: &str) -> io::Result<Vec<String>> {
        Err(self.error())
    }

    fn locate(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }
}
