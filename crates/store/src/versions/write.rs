//! Writes and deletes in a bucket that keeps versions: the current version is first copied to its
//! place.

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream;
use store_protocol::{Condition, Key, Meta, Protect, Protection, Version};
use system::wall_ms;

use super::TRIES;
use crate::bucket::{Bucket, MADE, is_hidden};
use crate::client::{Put, Store, StoreError};
use crate::version_id::{Position, VERSION_ID, VersionId, marker};
use crate::versioning::Versioning;

/// The result of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deletion {
    /// The version that was current until now; `None` if there was none.
    pub deleted: Option<Meta>,
    /// The delete marker that hides it. `None` in a bucket that keeps no versions.
    pub marker: Option<VersionId>,
}

/// A copy of the current version, at its place among the older ones.
pub(crate) struct VersionCopy {
    at: Key,
    place: Position,
    /// The number of the copy, if it was made now. `None` if it was already there.
    made: Option<Version>,
    is_protected: bool,
}

impl VersionCopy {
    /// Returns the condition for replacing the version that was kept.
    pub(crate) fn condition(&self, current: &Meta) -> Condition {
        Condition::Version {
            version: current.version,
            kept: self.is_protected.then(|| self.at.clone()),
        }
    }
}

impl Store {
    /// Returns how a bucket treats objects that are overwritten. A bucket without a record keeps no
    /// versions.
    ///
    /// # Errors
    /// [`StoreError`] if the bucket's record cannot be read.
    pub async fn versioning(&self, bucket: &str) -> Result<Versioning, StoreError> {
        if is_hidden(bucket) {
            return Ok(Versioning::Unversioned);
        }
        Ok(self
            .bucket(bucket)
            .await?
            .as_ref()
            .map(Bucket::versioning)
            .unwrap_or_default())
    }

    /// Deletes an object according to its bucket's `versioning`: a delete marker takes its place,
    /// and the old version stays. In a bucket that keeps no versions this is [`Store::delete`].
    ///
    /// # Errors
    /// As [`Store::delete`].
    pub async fn delete_versioned(
        &self,
        key: &Key,
        condition: Condition,
        versioning: Versioning,
    ) -> Result<Deletion, StoreError> {
        if versioning == Versioning::Unversioned {
            let deleted = self.delete(key, condition).await?;
            return Ok(Deletion {
                deleted,
                marker: None,
            });
        }
        let _alone = self.versions_locks().lock(key).await;
        let mut tries = 1;
        loop {
            let current = self.current(key).await?;
            if !condition.holds(current.as_ref()) {
                return Err(refused(key, current.as_ref()));
            }
            match self.hide(key, current, versioning).await {
                Err(StoreError::Condition { .. }) if tries < TRIES => tries += 1,
                hidden => return hidden,
            }
        }
    }

    /// Puts a delete marker above the current version, and removes that version from its key.
    async fn hide(
        &self,
        key: &Key,
        current: Option<Meta>,
        versioning: Versioning,
    ) -> Result<Deletion, StoreError> {
        let kept = match current.as_ref().filter(|current| versioning.keeps(current)) {
            Some(current) => Some(self.copy_aside(key, current).await?),
            None => None,
        };
        let replaced = self.null_entries(key, versioning).await?;
        let place = match &current {
            Some(current) => Position::of(current.version).above(system::random()),
            None => match self.newest_entry(key, None).await? {
                Some(newest) => newest.place.above(system::random()),
                None => Position::of_marker_alone(self.cluster().clock.now()),
            },
        };
        let id = match versioning {
            Versioning::Enabled => VersionId::at(place),
            _ => VersionId::NULL,
        };
        let marker = self.put_marker(key, place, id).await?;
        if let Some(current) = &current {
            let condition = match &kept {
                Some(kept) => kept.condition(current),
                None => Condition::still(Some(current)),
            };
            match self.delete(key, condition).await {
                Err(error @ StoreError::Condition { .. }) => {
                    // This call made the marker, and no other request relies on it.
                    self.delete(&marker.key, Condition::still(Some(&marker))).await?;
                    self.remove_unneeded_copy(key, kept).await?;
                    return Err(error);
                }
                deleted => deleted?,
            };
        }
        self.remove_replaced(&replaced).await?;
        Ok(Deletion {
            deleted: current,
            marker: Some(id),
        })
    }

    async fn put_marker(&self, key: &Key, place: Position, id: VersionId) -> Result<Meta, StoreError> {
        let attributes = [
            marker(),
            (VERSION_ID.to_owned(), id.to_string()),
            (MADE.to_owned(), wall_ms().to_string()),
        ];
        let put = Put {
            size: Some(0),
            attributes: attributes.into(),
            // If another request has taken this place at the same moment, another place is tried.
            condition: Condition::Absent,
            ..Put::default()
        };
        self.put(&place.key(key)?, Box::pin(stream::empty()), put).await
    }

    /// Copies the current version to its place among the older ones, under the same protection.
    ///
    /// # Errors
    /// [`StoreError`]; `Condition` if it is no longer the current version, or if another client
    /// writes the copy.
    pub(crate) fn copy_aside<'a>(
        &'a self,
        key: &'a Key,
        current: &'a Meta,
    ) -> BoxFuture<'a, Result<VersionCopy, StoreError>> {
        // Boxed because puts call this function, and the copy is itself a put, into a hidden bucket
        // that keeps no versions.
        self.copy_to_place(key, current).boxed()
    }

    async fn copy_to_place(&self, key: &Key, current: &Meta) -> Result<VersionCopy, StoreError> {
        let place = Position::of_current(current);
        let (id, protection) = (VersionId::of(current), Protection::of(&current.attributes));
        let mut kept = VersionCopy {
            at: place.key(key)?,
            place,
            made: None,
            is_protected: protection != Protection::default(),
        };
        let mut attributes = current.attributes.clone();
        attributes.insert(VERSION_ID.to_owned(), id.to_string());
        let made = attributes.entry(MADE.to_owned());
        made.or_insert_with(|| current.version.millis.to_string());
        let there = self.current(&kept.at).await?;
        if let Some(there) = &there
            && there.digests == current.digests
            && there.attributes == attributes
        {
            return Ok(kept);
        }
        let object = self.get(key, None).await?;
        if object.meta.version != current.version {
            return Err(refused(key, Some(&object.meta)));
        }
        let put = Put {
            size: Some(current.size),
            sha256: Some(current.digests.sha256),
            etag: Some(current.etag.clone()),
            attributes,
            condition: Condition::still(there.as_ref()),
            protect: if kept.is_protected {
                Protect::exactly(protection)
            } else {
                Protect::default()
            },
            ..Put::default()
        };
        let copy = self.put(&kept.at, object.body, put).await?;
        kept.made = there.is_none().then_some(copy.version);
        Ok(kept)
    }

    /// Removes a copy that was made for a refused write, if its version has been removed
    /// permanently meanwhile. If another client has replaced the version, that copy is needed and
    /// stays.
    pub(crate) async fn remove_unneeded_copy(
        &self,
        key: &Key,
        kept: Option<VersionCopy>,
    ) -> Result<(), StoreError> {
        let Some((kept, version)) = kept.and_then(|kept| kept.made.map(|version| (kept, version))) else {
            return Ok(());
        };
        let is_left_over = match self.current(key).await? {
            // The current version has become older, which only a removal does.
            Some(current) => kept.place < Position::of_current(&current),
            // A deletion would have put a marker above it.
            None => self
                .newest_entry(key, None)
                .await?
                .is_some_and(|newest| newest.place == kept.place),
        };
        if !is_left_over {
            return Ok(());
        }
        let condition = Condition::Version { version, kept: None };
        match self.delete(&kept.at, condition).await {
            Ok(_) | Err(StoreError::Condition { .. } | StoreError::Protected { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns what a version with the id `null` is about to replace: the older version or marker
    /// with that id. Called before the write, so that the result contains nothing newer.
    pub(crate) async fn null_entries(
        &self,
        key: &Key,
        versioning: Versioning,
    ) -> Result<Vec<Meta>, StoreError> {
        if versioning != Versioning::Suspended {
            return Ok(Vec::new());
        }
        let entries = self.entries(key, None, usize::MAX).await?.into_iter();
        let null = entries.filter(|entry| entry.id() == VersionId::NULL);
        Ok(null.map(|entry| entry.meta).collect())
    }

    /// Removes the versions that were replaced.
    pub(crate) async fn remove_replaced(&self, replaced: &[Meta]) -> Result<(), StoreError> {
        for meta in replaced {
            match self.delete(&meta.key, Condition::still(Some(meta))).await {
                Ok(_) | Err(StoreError::Condition { .. }) => {}
                // It no longer counts: only the newest version with this id is listed.
                Err(error @ StoreError::Protected { .. }) => {
                    tracing::warn!(%error, "a replaced version is protected and stays");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns the error for a write whose condition does not hold.
pub(crate) fn refused(key: &Key, current: Option<&Meta>) -> StoreError {
    StoreError::Condition {
        key: key.to_string(),
        current: current.map(|meta| meta.etag.clone()),
    }
}
