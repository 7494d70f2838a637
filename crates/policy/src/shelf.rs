//! The interface of a store to policies: where copies are kept.

use std::fs::File;

/// The state of an object in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectState {
    /// SHA-256 of its content.
    pub sha256: [u8; 32],
    /// Number of replicas that were just read completely and found intact.
    pub replicas: u32,
}

/// The error of a store that did not do what a policy asked of it: one of the store's own, or one of
/// the file. Its message is logged.
pub type CopyStoreError = Box<dyn std::error::Error + Send + Sync>;

/// A store of copies.
pub trait CopyStore: Sync {
    /// Returns the digest that an object was written with; `None` if it does not exist.
    ///
    /// # Errors
    /// The store does not answer, or refuses.
    fn find(&self, address: &str) -> Result<Option<[u8; 32]>, CopyStoreError>;

    /// Writes a new object. Returns the digest of the bytes read from the file, once the object is
    /// durable.
    ///
    /// # Errors
    /// The file cannot be read, the store refuses, or the object exists. Also if the file changed
    /// while it was read: no object must be created then, because the bytes read were never the
    /// content of the file at any one time.
    fn put(&self, address: &str, file: File) -> Result<[u8; 32], CopyStoreError>;

    /// Reads every replica of an object completely; `None` if there is no such object.
    ///
    /// # Errors
    /// The store does not answer.
    fn verify(&self, address: &str) -> Result<Option<ObjectState>, CopyStoreError>;

    /// Writes an object into a file.
    ///
    /// # Errors
    /// The object does not exist or cannot be read completely, or the file cannot be written.
    fn get(&self, address: &str, into: File) -> Result<(), CopyStoreError>;
}
