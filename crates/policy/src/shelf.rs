//! Where copies are kept: what policies need of a store.

use std::fs::File;

/// An object as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shelved {
    /// SHA-256 of its content.
    pub sha256: [u8; 32],
    /// Replicas of it that were read whole now, and are right.
    pub replicas: u32,
}

/// A store of copies. Errors are said in words; they end up in the log.
pub trait Shelf: Sync {
    /// The digest that an object was written with; `None` if there is no such object.
    ///
    /// # Errors
    /// The store does not answer, or refuses.
    fn find(&self, address: &str) -> Result<Option<[u8; 32]>, String>;

    /// Writes an object where there is none; returns when it is safe, with the digest of what was read from the file.
    ///
    /// # Errors
    /// The file cannot be read, the store refuses, or there is an object by now. Also if the file has changed between its first
    /// and its last byte: then there must be no object, because what was read never was in the file at one time.
    fn put(&self, address: &str, file: File) -> Result<[u8; 32], String>;

    /// Reads every replica of an object whole; `None` if there is no such object.
    ///
    /// # Errors
    /// The store does not answer.
    fn verify(&self, address: &str) -> Result<Option<Shelved>, String>;

    /// Writes an object into a file.
    ///
    /// # Errors
    /// There is none, it cannot be read whole, or the file cannot be written.
    fn get(&self, address: &str, into: File) -> Result<(), String>;
}
