//! Changing what protects an object: a retention, a legal hold. The decider of the key says whether it may be
//! changed ([`Protection::after`](contract::Protection::after)).

use std::convert::Infallible;

use contract::{Key, Meta, Protect};

use super::error::StoreError;
use super::store::Store;

impl Store {
    /// Changes the protection of an object, of its current version where versions are kept. The content is read
    /// and written again ([`Store::rewrite`]); nothing is written if that changes nothing.
    ///
    /// # Errors
    /// [`StoreError`]; `Protected` if what is in force forbids it, `NotFound` if there is no object.
    pub async fn protect(&self, key: &Key, protect: Protect) -> Result<Meta, StoreError> {
        let versioning = self.versioning(key.bucket()).await?;
        let written = self.rewrite(key, None, versioning, protect, |_, _| Ok::<_, Infallible>(()));
        match written.await? {
            Ok(meta) => Ok(meta),
            Err(never) => match never {},
        }
    }
}
