//! Changes what protects an object: its retention or legal hold. The key's decider checks whether
//! the change is allowed ([`Protection::after`](store_protocol::Protection::after)).

use std::convert::Infallible;

use store_protocol::{Key, Meta, Protect};

use super::error::StoreError;
use super::store::Store;

impl Store {
    /// Changes the protection of an object, or of its current version in a bucket that keeps
    /// versions. The content is read and written again ([`Store::rewrite`]). Nothing is written if
    /// the protection stays the same.
    ///
    /// # Errors
    /// [`StoreError`]; `Protected` if the protection in force forbids the change, `NotFound` if
    /// there is no object.
    pub async fn protect(&self, key: &Key, protect: Protect) -> Result<Meta, StoreError> {
        let versioning = self.versioning(key.bucket()).await?;
        let written = self.rewrite(key, None, versioning, protect, |_, _| Ok::<_, Infallible>(()));
        match written.await? {
            Ok(meta) => Ok(meta),
            Err(never) => match never {},
        }
    }
}
