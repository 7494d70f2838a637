//! Keeps the secrets of addresses (user names, passwords and signatures), only in memory.
//!
//! Invariant: outside this module addresses contain no secrets, so secrets are never stored, shown
//! or logged.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use system::FileStore;
use warc::Input;

use super::package::{member_parts, of_member, outermost_package, without_secrets};
use super::source::{InputSource, InputStat};

/// A source that accepts addresses without secrets, and passes them with secrets to another source.
pub(super) struct SecretSource {
    source: Arc<dyn InputSource>,
    /// Full addresses, by the address without secrets.
    given: Mutex<HashMap<String, String>>,
}

impl SecretSource {
    pub(super) fn of(source: Arc<dyn InputSource>) -> SecretSource {
        SecretSource {
            source,
            given: Mutex::default(),
        }
    }

    /// Remembers the secrets of an address. The latest ones count, because signatures expire.
    pub(super) fn remember(&self, address: &str) {
        let address = outermost_package(address);
        let plain = without_secrets(&address);
        if plain != address {
            self.given.lock().insert(plain, address);
        }
    }

    /// Returns an address with its secrets. For a member these are the secrets of its package.
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

impl InputSource for SecretSource {
    fn serves(&self, address: &str) -> bool {
        self.source.serves(address)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>> {
        let full: Vec<String> = addresses.iter().map(|address| self.full(address)).collect();
        self.source
            .stat(&full.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, InputStat)>> {
        self.source.list(folder)
    }

    fn open(&self, address: &str, seen: Option<&InputStat>) -> io::Result<Arc<dyn Input>> {
        self.source.open(&self.full(address), seen)
    }

    fn drop_cached(&self, address: &str) {
        self.source.drop_cached(address);
    }

    fn tables(&self, address: &str) -> io::Result<Arc<dyn FileStore>> {
        self.source.tables(address)
    }
}
