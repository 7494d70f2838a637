//! Writes a version again with other attributes or another protection: tags, lists, retentions,
//! holds.
//!
//! The metadata of a stored version never changes, so its content is read and written once more to
//! the same key, unless it was replaced meanwhile. For clients it stays the same version: id,
//! entity tag and time are preserved.

use std::collections::BTreeMap;

use store_protocol::{Condition, Key, Meta, Protect, Protection};
use system::wall_ms;

use crate::bucket::MADE;
use crate::client::{Object, Put, Store, StoreError};
use crate::version_id::{VERSION_ID, VersionId};
use crate::versioning::Versioning;

/// How often it is retried when another client writes the object meanwhile.
const TRIES: u32 = 5;

impl Store {
    /// Writes a version again, the current one if `id` is `None`, with the attributes that `change`
    /// derives from the present ones, and a change of its protection. Nothing is written if both
    /// stay the same. `change` may refuse; it is called again if another client has written the
    /// object in between.
    ///
    /// # Errors
    /// [`StoreError`]: `NotFound` if there is no such version, `Protected` if its protection
    /// forbids `protect`. The inner error is that of `change`.
    pub async fn rewrite<E>(
        &self,
        key: &Key,
        id: Option<VersionId>,
        versioning: Versioning,
        protect: Protect,
        mut change: impl FnMut(&Meta, &mut BTreeMap<String, String>) -> Result<(), E> + Send,
    ) -> Result<Result<Meta, E>, StoreError> {
        let mut tries = 1;
        loop {
            let at = match id {
                Some(id) => self.locate(key, id).await?,
                None => key.clone(),
            };
            let object = match self.get(&at, None).await {
                Err(StoreError::NotFound(_)) if id.is_some() && tries < TRIES => {
                    tries += 1;
                    continue;
                }
                opened => opened?,
            };
            if id.is_some_and(|id| VersionId::of(&object.meta) != id) && tries < TRIES {
                // A newer version has taken its key since.
                tries += 1;
                continue;
            }
            let mut attributes = object.meta.attributes.clone();
            if let Err(refused) = change(&object.meta, &mut attributes) {
                return Ok(Err(refused));
            }
            let before = Protection::of(&object.meta.attributes);
            // The decider's clock counts. This check only avoids writing the content needlessly.
            match before.changed(&protect, wall_ms()) {
                Ok(after) if after == before && attributes == object.meta.attributes => {
                    return Ok(Ok(object.meta));
                }
                Ok(_) => {}
                Err(protection) => {
                    let key = key.to_string();
                    return Err(StoreError::Protected { key, protection });
                }
            }
            let written = self.put_again(&at, object, attributes, protect, versioning).await;
            match written {
                Err(StoreError::Condition { .. }) if tries < TRIES => tries += 1,
                written => return written.map(Ok),
            }
        }
    }

    /// Writes an object's content again, unless it was replaced meanwhile.
    async fn put_again(
        &self,
        at: &Key,
        object: Object,
        mut attributes: BTreeMap<String, String>,
        protect: Protect,
        versioning: Versioning,
    ) -> Result<Meta, StoreError> {
        let Object { meta, body, .. } = object;
        // Clients keep seeing the time of the content, although the stored version gets a newer
        // number.
        let made = attributes.entry(MADE.to_owned());
        made.or_insert_with(|| meta.version.millis.to_string());
        let condition = match versioning {
            Versioning::Unversioned => Condition::Etag(meta.etag.clone()),
            // Here a newer version may have the same content.
            Versioning::Enabled | Versioning::Suspended => Condition::still(Some(&meta)),
        };
        if attributes.contains_key(VERSION_ID) {
            attributes.insert(VERSION_ID.to_owned(), VersionId::of(&meta).to_string());
        }
        let put = Put {
            size: Some(meta.size),
            sha256: Some(meta.digests.sha256),
            attributes,
            condition,
            etag: Some(meta.etag),
            protect,
            ..Put::default()
        };
        self.put(at, body, put).await
    }
}
