//! Uploads in parts: received in any order, joined into one object at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Condition, Finisher, Put, Store, StoreError};
use crate::key::Key;
use crate::meta::Meta;
use crate::volume::ByteStream;

/// A multipart upload that was begun and neither finished nor given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Its name: 32 hexadecimal digits.
    pub id: String,
    /// The object that it is to become.
    pub key: Key,
    /// Headers to keep with the object, names in lower case.
    pub attributes: BTreeMap<String, String>,
    /// When it was begun, milliseconds since 1970.
    pub created_ms: u64,
}

/// A page of uploads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uploads {
    /// In order of `key/id`.
    pub uploads: Vec<Upload>,
    /// Where the next page starts: give it as `after`. `None` when there is no more.
    pub next: Option<String>,
}

/// A part received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its number, 1 to 10,000.
    pub number: u32,
    /// Its content: size, entity tag (MD5 in hexadecimal), digests, attributes given to [`Store::put_part`], and
    /// the time it was received (`version.millis`).
    pub meta: Meta,
}

/// A page of parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// In order of their numbers.
    pub parts: Vec<Part>,
    /// Whether parts of higher numbers follow.
    pub more: bool,
}

/// How an upload ends.
#[derive(Default)]
pub struct Complete {
    /// Numbers, rising, and entity tags without quotes of the parts that make up the object.
    pub parts: Vec<(u32, String)>,
    /// Attributes kept besides those given at the beginning.
    pub attributes: BTreeMap<String, String>,
    /// What must hold of the current version.
    pub condition: Condition,
    /// A last look at the digests of the whole content.
    pub finisher: Option<Finisher>,
}

impl Store {
    /// Begins an upload.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub async fn create_upload(
        &self,
        key: &Key,
        attributes: BTreeMap<String, String>,
    ) -> Result<Upload, StoreError> {
        let _ = (key, attributes);
        todo!()
    }

    /// An upload that stands open.
    ///
    /// # Errors
    /// `NoUpload`, and as [`Store::head`].
    pub async fn upload(&self, key: &Key, id: &str) -> Result<Upload, StoreError> {
        let _ = (key, id);
        todo!()
    }

    /// Receives a part, in place of an earlier one of that number. Answered when it is as safe as an object.
    ///
    /// # Errors
    /// `NoUpload`, `Part` for a number out of range, and as [`Store::put`].
    pub async fn put_part(
        &self,
        key: &Key,
        id: &str,
        number: u32,
        body: ByteStream,
        put: Put,
    ) -> Result<Meta, StoreError> {
        let _ = (key, id, number, body, put);
        todo!()
    }

    /// Parts received, of numbers above `after`.
    ///
    /// # Errors
    /// `NoUpload`, and as [`Store::list`].
    pub async fn list_parts(
        &self,
        key: &Key,
        id: &str,
        after: u32,
        limit: usize,
    ) -> Result<Parts, StoreError> {
        let _ = (key, id, after, limit);
        todo!()
    }

    /// Open uploads of objects whose key begins with `prefix` (`bucket/` and the beginning of a name).
    ///
    /// # Errors
    /// As [`Store::list`].
    pub async fn list_uploads(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Uploads, StoreError> {
        let _ = (prefix, after, limit);
        todo!()
    }

    /// Gives an upload up and removes its parts.
    ///
    /// # Errors
    /// `NoUpload`, and as [`Store::delete`].
    pub async fn abort_upload(&self, key: &Key, id: &str) -> Result<(), StoreError> {
        let _ = (key, id);
        todo!()
    }

    /// Joins parts into the object, in one pass over their verified bytes, and removes them. The object's entity tag is the
    /// MD5 over the parts' MD5s, `-`, and their number.
    ///
    /// # Errors
    /// `NoUpload`, `Part`, and as [`Store::put`]; the upload stays open then.
    pub async fn complete_upload(&self, key: &Key, id: &str, complete: Complete) -> Result<Meta, StoreError> {
        let _ = (key, id, complete);
        todo!()
    }

    /// Gives up all uploads begun longer than `age` ago. Answers how many.
    ///
    /// # Errors
    /// As [`Store::list`] and [`Store::delete`].
    pub async fn expire_uploads(&self, age: Duration) -> Result<u64, StoreError> {
        let _ = age;
        todo!()
    }
}
