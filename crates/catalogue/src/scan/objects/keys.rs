//! Listing of the keys below an address, page by page, with a check of their order.

use std::time::Duration;

use pipeline::StageRow;

use crate::error::ScanError;
use crate::objects::{Address, Objects, ObjectsPage};
use crate::path::path_buf;

/// Sorts after every continuation of a prefix that does not start with this character. Keys are
/// text.
const LAST_CHAR: &str = "\u{10ffff}";

/// Maximum length of a key in stores, and so of `after` in a request.
const KEY_BYTES_MAX: usize = 1024;

/// The keys below an address, as the store lists them.
pub(super) struct Keys<'a> {
    address: &'a Address,
    objects: &'a dyn Objects,
    /// Path of the directory with a slash; empty for the bucket.
    pub(super) prefix: Vec<u8>,
    /// The last key listed.
    last: Vec<u8>,
    listed: u64,
    pages: u64,
    busy: Duration,
}

impl<'a> Keys<'a> {
    pub(super) fn new(address: &'a Address, objects: &'a dyn Objects) -> Keys<'a> {
        Keys {
            address,
            objects,
            prefix: with_slash(address.below()),
            last: Vec::new(),
            listed: 0,
            pages: 0,
            busy: Duration::ZERO,
        }
    }

    /// Returns the page of keys after `after`, in order.
    pub(super) fn page(&mut self, after: Option<&[u8]>) -> Result<ObjectsPage, ScanError> {
        let begun = system::now();
        let page = self
            .objects
            .page(&self.prefix, after)
            .map_err(|source| ScanError::Listing {
                path: path_buf(self.address.path()),
                after: match &*self.last {
                    [] => String::new(),
                    last => format!(
                        " after key {}: the objects read so far are kept, and the next scan continues from there",
                        String::from_utf8_lossy(last)
                    ),
                },
                source,
            })?;
        self.busy += system::since(begun);
        self.pages += 1;
        self.listed += page.objects.len() as u64;
        let mut before = after;
        for object in &page.objects {
            let is_in_order = before.is_none_or(|before| *object.key > *before);
            if !is_in_order || object.key.is_empty() || !object.key.starts_with(&self.prefix) {
                return Err(ScanError::Order {
                    path: path_buf(self.address.path()),
                    key: String::from_utf8_lossy(&object.key).into_owned(),
                    before: String::from_utf8_lossy(before.unwrap_or_default()).into_owned(),
                });
            }
            before = Some(&object.key);
        }
        if !page.is_last && page.objects.is_empty() {
            return Err(ScanError::Order {
                path: path_buf(self.address.path()),
                key: "no key".to_owned(),
                before: String::from_utf8_lossy(&self.last).into_owned(),
            });
        }
        if let Some(object) = page.objects.last() {
            self.last.clone_from(&object.key);
        }
        Ok(page)
    }

    /// Returns the key after which the listing continues: the last key, or a bound behind all keys
    /// of a directory that is skipped.
    pub(super) fn after(&self, passing: Option<&[u8]>) -> Vec<u8> {
        let past = passing.map(|path| [path, LAST_CHAR.as_bytes()].concat());
        match past {
            Some(past) if past > self.last && past.len() <= KEY_BYTES_MAX => past,
            _ => self.last.clone(),
        }
    }

    pub(super) fn report(&self) -> StageRow {
        let ratio = |a: f64, b: u64| if b == 0 { 0.0 } else { a / b as f64 };
        StageRow {
            stage: "READ_DIR".to_owned(),
            threads: 1,
            waiting: 0,
            running: 0,
            done: self.listed,
            total: self.listed,
            ms_per_item: ratio(self.busy.as_secs_f64() * 1e3, self.listed),
            batched_share: if self.listed == 0 { 0.0 } else { 1.0 },
            batch_mean: ratio(self.listed as f64, self.pages),
        }
    }
}

pub(super) fn with_slash(path: &[u8]) -> Vec<u8> {
    match path {
        [] => Vec::new(),
        path => [path, b"/"].concat(),
    }
}
