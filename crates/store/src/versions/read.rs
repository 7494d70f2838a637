//! Reads a version of an object.

use std::ops::Range;

use store_protocol::{Key, Meta};

use crate::client::{Object, Store, StoreError};
use crate::version_id::{VersionId, is_delete_marker};

/// A version of an object, or a delete marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Its id.
    pub id: VersionId,
    /// Whether it is the newest version of its object.
    pub is_latest: bool,
    /// Its metadata, with the object's own key. For an older version the version number is that of
    /// its copy.
    pub meta: Meta,
}

impl ObjectVersion {
    /// Returns whether it is a delete marker.
    pub fn is_delete_marker(&self) -> bool {
        is_delete_marker(&self.meta.attributes)
    }
}

impl Store {
    /// Returns the metadata of a version, which may be a delete marker ([`is_delete_marker`]).
    ///
    /// # Errors
    /// [`StoreError`]; `NotFound` if there is no such version.
    pub async fn head_version(&self, key: &Key, id: VersionId) -> Result<Meta, StoreError> {
        loop {
            let at = self.locate(key, id).await?;
            match self.current(&at).await? {
                Some(meta) if VersionId::of(&meta) == id => {
                    let key = key.clone();
                    return Ok(Meta { key, ..meta });
                }
                // It has moved since it was found. If it no longer exists, the next lookup fails.
                _ => {}
            }
        }
    }

    /// Opens a version for reading, whole or a range of it. It may be a delete marker, which is
    /// empty.
    ///
    /// # Errors
    /// As [`Store::get`]; `NotFound` if there is no such version.
    pub async fn get_version(
        &self,
        key: &Key,
        id: VersionId,
        range: Option<Range<u64>>,
    ) -> Result<Object, StoreError> {
        loop {
            let at = self.locate(key, id).await?;
            let mut object = match self.get(&at, range.clone()).await {
                // It has moved since it was found. If it no longer exists, the next lookup fails.
                Err(StoreError::NotFound(_)) => continue,
                opened => opened?,
            };
            if VersionId::of(&object.meta) == id {
                object.meta.key = key.clone();
                return Ok(object);
            }
        }
    }

    /// Returns the delete marker that hides an object, if the object's newest entry is one.
    ///
    /// # Errors
    /// [`StoreError`] if the versions cannot be listed.
    pub async fn hiding_marker(&self, key: &Key) -> Result<Option<ObjectVersion>, StoreError> {
        let newest = self.newest_entry(key, None).await?;
        Ok(newest
            .filter(super::entry::Entry::is_marker)
            .map(|entry| ObjectVersion {
                id: entry.id(),
                is_latest: true,
                meta: Meta {
                    key: key.clone(),
                    ..entry.meta
                },
            }))
    }

    /// Returns the key under which a version is now stored.
    pub(super) async fn locate(&self, key: &Key, id: VersionId) -> Result<Key, StoreError> {
        let is_current = |current: Option<Meta>| current.is_some_and(|current| VersionId::of(&current) == id);
        if is_current(self.current(key).await?) {
            return Ok(key.clone());
        }
        if let Some(entry) = self.entry(key, id).await? {
            return Ok(entry.meta.key);
        }
        // It may have become the current one in between.
        if is_current(self.current(key).await?) {
            Ok(key.clone())
        } else {
            Err(StoreError::NotFound(format!("{key}, version {id}")))
        }
    }
}
