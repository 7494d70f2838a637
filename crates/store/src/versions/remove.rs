//! Removes a version permanently. The newest version below it becomes the current one.

use store_protocol::{Condition, Key, Meta, Protect, Protection};

use super::TRIES;
use super::entry::Entry;
use crate::client::{Put, Store, StoreError};
use crate::version_id::{Position, VersionId};
use crate::versioning::Versioning;

/// A version to be removed, and where it was found.
enum VersionLocation {
    /// The current one.
    Current(Meta),
    /// An older version or a marker, and whether nothing is above it.
    Entry { entry: Entry, is_newest: bool },
}

impl Store {
    /// Removes a version or a delete marker permanently. If it was the newest, the one below
    /// becomes the current version, unless that is a marker. `condition` may refuse the version
    /// found. Returns the removed version, `None` if there is no such version.
    ///
    /// Changes of one name wait for each other only within a process. If two clients write the
    /// object through other nodes meanwhile, the removed version may stay as an older version. It
    /// can then be removed again.
    ///
    /// # Errors
    /// [`StoreError`]; `Protected` if the version is protected, `Condition` if `condition` returns
    /// false.
    pub async fn remove_version(
        &self,
        key: &Key,
        id: VersionId,
        condition: impl Fn(&Meta) -> bool + Send,
    ) -> Result<Option<Meta>, StoreError> {
        let _alone = self.versions_locks().lock(key).await;
        let mut tries = 1;
        loop {
            let Some(found) = self.find(key, id).await? else {
                return Ok(None);
            };
            let meta = match &found {
                VersionLocation::Current(meta)
                | VersionLocation::Entry {
                    entry: Entry { meta, .. },
                    ..
                } => meta.clone(),
            };
            if !condition(&meta) {
                return Err(super::write::refused(key, Some(&meta)));
            }
            let removed = match found {
                VersionLocation::Current(current) => self.remove_current(key, &current).await,
                VersionLocation::Entry {
                    entry,
                    is_newest: true,
                } => self.remove_newest(key, &entry).await,
                VersionLocation::Entry { entry, .. } => self.remove_entry(&entry, None).await,
            };
            match removed {
                Err(StoreError::Condition { .. }) if tries < TRIES => tries += 1,
                Err(error) => return Err(error),
                Ok(()) => {
                    if id == VersionId::NULL {
                        // An interrupted write may have left versions that it replaced.
                        let left = self.null_entries(key, Versioning::Suspended).await?;
                        self.remove_replaced(&left).await?;
                    }
                    return Ok(Some(meta));
                }
            }
        }
    }

    async fn find(&self, key: &Key, id: VersionId) -> Result<Option<VersionLocation>, StoreError> {
        let current = self.current(key).await?;
        if let Some(current) = current.as_ref().filter(|current| VersionId::of(current) == id) {
            return Ok(Some(VersionLocation::Current(current.clone())));
        }
        let Some(entry) = self.entry(key, id).await? else {
            // It may have become the current one in between.
            let current = self.current(key).await?;
            return Ok(current
                .filter(|current| VersionId::of(current) == id)
                .map(VersionLocation::Current));
        };
        let newest = match current {
            Some(_) => None,
            None => self.newest_entry(key, None).await?,
        };
        let is_newest = newest.is_some_and(|newest| newest.place == entry.place);
        Ok(Some(VersionLocation::Entry { entry, is_newest }))
    }

    /// Removes the current version.
    async fn remove_current(&self, key: &Key, current: &Meta) -> Result<(), StoreError> {
        refuse_protected(key, current)?;
        let place = Position::of_current(current);
        match self.version_below(key, place, VersionId::of(current)).await? {
            Some(below) => self.restore_version(key, &below, Some(current)).await?,
            None => {
                self.delete(key, Condition::still(Some(current))).await?;
            }
        }
        // A write that was interrupted, or is in progress, may have copied it.
        self.delete(&place.key(key)?, Condition::Always).await?;
        Ok(())
    }

    /// Removes the newest entry, which hides the versions below it.
    async fn remove_newest(&self, key: &Key, newest: &Entry) -> Result<(), StoreError> {
        // It must not be replaced by an older one before the refusal.
        refuse_protected(key, &newest.meta)?;
        if let Some(below) = self.version_below(key, newest.place, newest.id()).await? {
            self.restore_version(key, &below, None).await?;
        }
        self.remove_entry(newest, None).await
    }

    /// Returns the newest version below a place, unless that is a marker. An entry with the same id
    /// as the version above it was replaced by that version, and is skipped.
    async fn version_below(
        &self,
        key: &Key,
        place: Position,
        above: VersionId,
    ) -> Result<Option<Entry>, StoreError> {
        let mut below = self.newest_entry(key, Some(place)).await?;
        while let Some(entry) = below.take_if(|entry| entry.id() == above) {
            below = self.newest_entry(key, Some(entry.place)).await?;
        }
        Ok(below.filter(|entry| !entry.is_marker()))
    }

    /// Makes an older version the current one, in place of `current`.
    async fn restore_version(
        &self,
        key: &Key,
        older: &Entry,
        current: Option<&Meta>,
    ) -> Result<(), StoreError> {
        let object = self
            .get(&older.meta.key, None)
            .await
            .map_err(|error| match error {
                // It was removed meanwhile, and another one is the newest.
                StoreError::NotFound(_) => super::write::refused(key, current),
                error => error,
            })?;
        let mut attributes = object.meta.attributes.clone();
        older.id().write_to(&mut attributes);
        let protection = Protection::of(&attributes);
        let put = Put {
            size: Some(object.meta.size),
            sha256: Some(object.meta.digests.sha256),
            etag: Some(object.meta.etag.clone()),
            attributes,
            condition: Condition::still(current),
            protect: Protect::exactly(protection),
            ..Put::default()
        };
        self.put(key, object.body, put).await?;
        let is_protected = protection != Protection::default();
        match self.remove_entry(older, is_protected.then(|| key.clone())).await {
            // Another client has changed or removed the copy, which must now be done to the current
            // version.
            Err(StoreError::Condition { current: None, .. }) => {
                let current = self.current(key).await?;
                match current.filter(|current| VersionId::of(current) == older.id()) {
                    Some(current) => Box::pin(self.remove_current(key, &current)).await,
                    None => Ok(()),
                }
            }
            Err(StoreError::Condition { .. }) => Ok(()),
            removed => removed,
        }
    }

    /// Removes an entry. It may be protected if `kept` names a copy of it.
    async fn remove_entry(&self, entry: &Entry, kept: Option<Key>) -> Result<(), StoreError> {
        let version = entry.meta.version;
        let condition = Condition::Version { version, kept };
        self.delete(&entry.meta.key, condition).await.map(drop)
    }
}

/// Refuses to remove a version that is protected. The decider also refuses it, except in one case:
/// if the version below has the same content, the decider would take it for the same object with
/// another protection.
fn refuse_protected(key: &Key, meta: &Meta) -> Result<(), StoreError> {
    let protection = Protection::of(&meta.attributes).in_force(system::wall_ms());
    protection.map_or(Ok(()), |protection| {
        let key = key.to_string();
        Err(StoreError::Protected { key, protection })
    })
}
