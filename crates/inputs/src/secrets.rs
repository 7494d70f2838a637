//! What opens addresses: user names, passwords and signatures, in memory alone.
//!
//! Invariant: beyond this module an address has no secret in it, so that none is stored, shown or logged.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use facts::Place;
use parking_lot::Mutex;
use warc::Input;

use super::package::{member_parts, of_member, outermost_package, without_secrets};
use super::source::{InputSource, Stat};

/// A source that is asked by addresses without secrets, and asks another one with them.
pub(super) struct KeptSecrets {
    source: Arc<dyn InputSource>,
    /// Addresses as they were given, by what is left of them without secrets.
    given: Mutex<HashMap<String, String>>,
}

impl KeptSecrets {
    pub(super) fn of(source: Arc<dyn InputSource>) -> KeptSecrets {
        KeptSecrets {
            source,
            given: Mutex::default(),
        }
    }

    /// Remembers what opens an address. The last one counts: signatures expire.
    pub(super) fn remember(&self, address: &str) {
        let address = outermost_package(address);
        let plain = without_secrets(&address);
        if plain != address {
            self.given.lock().insert(plain, address);
        }
    }

    /// An address with what opens it; that of a member with what opens its package.
    pub(super) fn as_given(&self, address: &str) -> String {
        match member_parts(address) {
            Some((package, member)) => of_member(&self.as_given(&package), &member),
            None => self.full(address),
        }
    }

    fn full(&self, address: &str) -> String {
        let given = self.given.lock().get(address).cloned();
        given.unwrap_or_else(|| address.to_owned())
    }
}

impl InputSource for KeptSecrets {
    fn serves(&self, address: &str) -> bool {
        self.source.serves(address)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<Stat>>> {
        let full: Vec<String> = addresses.iter().map(|address| self.full(address)).collect();
        self.source
            .stat(&full.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, Stat)>> {
        self.source.list(folder)
    }

    fn open(&self, address: &str, seen: Option<&Stat>) -> io::Result<Arc<dyn Input>> {
        self.source.open(&self.full(address), seen)
    }

    fn drop_cached(&self, address: &str) {
        self.source.drop_cached(address);
    }

    fn tables(&self, address: &str) -> io::Result<Arc<dyn Place>> {
        self.source.tables(address)
    }
}
