//! Changing what protects an object: a retention, a legal hold. The decider of the key says whether it may be
//! changed ([`Protection::after`]).

use ambient::wall_ms;
use contract::{Condition, Key, Meta, Protect, Protection};

use super::error::StoreError;
use super::put::Put;
use super::read::Object;
use super::store::Store;
use crate::bucket::MADE;

/// How often it is tried again when somebody else writes the object meanwhile.
const TRIES: u32 = 5;

impl Store {
    /// Changes the protection of an object. A version's description never changes, so its content is read and
    /// written again, with the same entity tag; nothing is written if that changes nothing.
    ///
    /// # Errors
    /// [`StoreError`]; `Protected` if what is in force forbids it, `NotFound` if there is no object.
    pub async fn protect(&self, key: &Key, protect: Protect) -> Result<Meta, StoreError> {
        let mut tries = 1;
        loop {
            let object = self.get(key, None).await?;
            let before = Protection::of(&object.meta.attributes);
            // The decider's clock counts. This only saves writing the content for nothing.
            match before.changed(&protect, wall_ms()) {
                Ok(after) if after == before => return Ok(object.meta),
                Ok(_) => {}
                Err(protection) => {
                    let key = key.to_string();
                    return Err(StoreError::Protected { key, protection });
                }
            }
            match self.put_again(key, object, protect).await {
                Err(StoreError::Condition { .. }) if tries < TRIES => tries += 1,
                written => return written,
            }
        }
    }

    /// Writes an object's content again with a change of its protection, unless it was replaced meanwhile.
    async fn put_again(&self, key: &Key, object: Object, protect: Protect) -> Result<Meta, StoreError> {
        let Object { meta, body, .. } = object;
        let mut attributes = meta.attributes;
        // What clients see as its time stays that of the content, whose version is about to get newer.
        let made = attributes.entry(MADE.to_owned());
        made.or_insert_with(|| meta.version.millis.to_string());
        let put = Put {
            size: Some(meta.size),
            sha256: Some(meta.digests.sha256),
            attributes,
            condition: Condition::Etag(meta.etag.clone()),
            etag: Some(meta.etag),
            protect,
            ..Put::default()
        };
        self.put(key, body, put).await
    }
}
