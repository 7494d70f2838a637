//! Multipart uploads: content in parts, received in any order, joined into one object at the end.
//!
//! An open upload is an object `.uploads/u/BUCKET/NAME/ID` without content, described in one
//! attribute. Its parts are objects `.uploads/p/ID/NNNNN`. All of them are as safe as any object,
//! and no process keeps state for an upload.
//!
//! Completion writes the object first, like any object (all or nothing), then removes the upload,
//! then its parts. A crash in between leaves parts without an upload, which
//! [`Store::expire_multiparts`] removes. A part that arrives while its upload ends is removed by
//! the request that brought it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use digests::Md5;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use store_protocol::{ByteStream, Condition, Key, Meta, Protect};

use super::error::StoreError;
use super::list::List;
use super::put::{Finisher, Put};
use super::store::Store;
use crate::versioning::Versioning;

/// The bucket that holds multipart uploads.
const BUCKET: &str = ".uploads";

/// The attribute that describes an upload, as JSON.
const ATTRIBUTE: &str = "upload";

/// Highest number of a part, as in S3.
pub const PART_NUMBER_MAX: u32 = 10_000;

/// Default age at which an unfinished upload is aborted.
pub const MULTIPART_AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Parts removed in parallel. Each waits for disks to sync: one at a time would leave the disks
/// idle, many would slow down other writes.
const REMOVALS: usize = 8;

/// Entries per page when a whole listing is read.
const PAGE: usize = 1000;

/// A multipart upload that was begun and neither completed nor aborted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Multipart {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// The object that it will become.
    pub key: Key,
    /// Headers to keep with the object, names in lower case.
    pub attributes: BTreeMap<String, String>,
    /// When it was begun, milliseconds since 1970.
    pub created_ms: u64,
}

/// A page of multipart uploads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Multiparts {
    /// In order of `key/id`.
    pub open: Vec<Multipart>,
    /// Where the next page starts, to be passed as `after`. `None` on the last page.
    pub next: Option<String>,
}

/// A part received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its number, 1 to 10,000.
    pub number: u32,
    /// Its content: size, entity tag (MD5 in hexadecimal), digests, attributes given to
    /// [`Store::put_part`], and the time it was received (`version.millis`).
    pub meta: Meta,
}

/// A page of parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// In ascending order of part number.
    pub parts: Vec<Part>,
    /// Whether parts with higher numbers follow.
    pub more: bool,
}

/// Parameters of the completion of an upload.
#[derive(Default)]
pub struct Complete {
    /// Part numbers in rising order, with entity tags without quotes, of the parts that make up the
    /// object.
    pub parts: Vec<(u32, String)>,
    /// Attributes to add to those given when the upload was created.
    pub attributes: BTreeMap<String, String>,
    /// Condition on the current version.
    pub condition: Condition,
    /// How the bucket treats the version that is replaced.
    pub versioning: Versioning,
    /// How the object's protection changes.
    pub protect: Protect,
    /// Checks the digests of the whole content before it becomes visible.
    pub finisher: Option<Finisher>,
}

impl Store {
    /// Begins a multipart upload.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub async fn create_multipart(
        &self,
        key: &Key,
        attributes: BTreeMap<String, String>,
    ) -> Result<Multipart, StoreError> {
        let multipart = Multipart {
            id: format!("{:032x}", system::random::<u128>()),
            key: key.clone(),
            attributes,
            created_ms: system::wall_ms(),
        };
        let text = serde_json::to_string(&multipart).map_err(|error| lost(key, error))?;
        let put = Put {
            attributes: [(ATTRIBUTE.to_owned(), text)].into(),
            ..Put::default()
        };
        let control = control(key, &multipart.id)?;
        self.put(&control, Box::pin(stream::empty()), put).await?;
        Ok(multipart)
    }

    /// Returns an open multipart upload.
    ///
    /// # Errors
    /// `NoMultipart` if it is not open; otherwise as [`Store::head`].
    pub async fn multipart(&self, key: &Key, id: &str) -> Result<Multipart, StoreError> {
        let control = control(key, id)?;
        match self.head(&control).await {
            Ok(meta) => described(&meta),
            Err(StoreError::NotFound(_)) => Err(no_multipart(key, id)),
            Err(error) => Err(error),
        }
    }

    /// Receives a part and replaces an earlier one with that number. Returns once the part is as
    /// safe as an object. Ignores a condition and versioning in `put`.
    ///
    /// # Errors
    /// `NoMultipart` if the upload is not open, `Part` for a number out of range; otherwise as
    /// [`Store::put`].
    pub async fn put_part(
        &self,
        key: &Key,
        id: &str,
        number: u32,
        body: ByteStream,
        mut put: Put,
    ) -> Result<Meta, StoreError> {
        if !(1..=PART_NUMBER_MAX).contains(&number) {
            return Err(part_error(
                key,
                format!("part number {number}: expected 1 to {PART_NUMBER_MAX}"),
            ));
        }
        self.multipart(key, id).await?;
        (put.condition, put.versioning) = (Condition::Always, Versioning::Unversioned);
        let part = part_key(id, number)?;
        let meta = self.put(&part, body, put).await?;
        // The upload ended in the meantime, so no other request will remove this part.
        if let Err(error @ StoreError::NoMultipart { .. }) = self.multipart(key, id).await {
            self.delete(&part, Condition::Always).await?;
            return Err(error);
        }
        Ok(meta)
    }

    /// Returns the parts received with numbers above `after`.
    ///
    /// # Errors
    /// `NoMultipart` if the upload is not open; otherwise as [`Store::list`].
    pub async fn list_parts(
        &self,
        key: &Key,
        id: &str,
        after: u32,
        limit: usize,
    ) -> Result<Parts, StoreError> {
        self.multipart(key, id).await?;
        self.parts(id, after, limit).await
    }

    /// Returns the open uploads of objects whose key begins with `prefix` (`bucket/` and the
    /// beginning of a name).
    ///
    /// # Errors
    /// As [`Store::list`].
    pub async fn list_multiparts(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Multiparts, StoreError> {
        let root = format!("{BUCKET}/u/");
        let list = List {
            prefix: format!("{root}{prefix}"),
            delimiter: None,
            after: after.map(|after| format!("{root}{after}")),
            limit,
        };
        let page = self.list(&list).await?;
        let mut open = Vec::new();
        for meta in &page.objects {
            let multipart = described(meta)?;
            // The listed text ends with the upload's id, which the prefix may have matched.
            if multipart.key.as_str().starts_with(prefix) {
                open.push(multipart);
            }
        }
        let next = page
            .next
            .and_then(|next| next.strip_prefix(&root).map(str::to_owned));
        Ok(Multiparts { open, next })
    }

    /// Aborts an upload and removes its parts.
    ///
    /// # Errors
    /// `NoMultipart` if the upload is not open; otherwise as [`Store::delete`].
    pub async fn abort_multipart(&self, key: &Key, id: &str) -> Result<(), StoreError> {
        self.multipart(key, id).await?;
        self.delete(&control(key, id)?, Condition::Always).await?;
        self.remove_parts(id).await
    }

    /// Joins parts into the object, in one pass over their verified bytes, and then removes them.
    /// The object's entity tag is the MD5 of the parts' MD5s, `-`, and the number of parts.
    ///
    /// # Errors
    /// `NoMultipart` if the upload is not open, `Part` if the named parts are wrong; otherwise as
    /// [`Store::put`]. After any error the upload stays open.
    pub async fn complete_multipart(
        &self,
        key: &Key,
        id: &str,
        complete: Complete,
    ) -> Result<Meta, StoreError> {
        let multipart = self.multipart(key, id).await?;
        let parts = self.chosen(key, id, &complete.parts).await?;
        let mut attributes = multipart.attributes;
        attributes.extend(complete.attributes);
        let put = Put {
            size: Some(parts.iter().map(|meta| meta.size).sum()),
            attributes,
            etag: Some(joined_etag(&parts)),
            condition: complete.condition,
            versioning: complete.versioning,
            protect: complete.protect,
            finisher: complete.finisher,
            ..Put::default()
        };
        let meta = self.put(key, self.joined(parts), put).await?;
        // The object is safe. Whatever cannot be removed now expires later.
        let cleared = match self.delete(&control(key, id)?, Condition::Always).await {
            Ok(_) => self.remove_parts(id).await,
            Err(error) => Err(error),
        };
        if let Err(error) = cleared {
            tracing::warn!(%key, upload = id, %error, "parts of a completed upload stay until they expire");
        }
        Ok(meta)
    }

    /// Aborts all uploads begun longer than `age` ago, and removes parts of that age without an
    /// open upload. Returns the number of aborted uploads.
    ///
    /// # Errors
    /// As [`Store::list`] and [`Store::delete`].
    pub async fn expire_multiparts(&self, age: Duration) -> Result<u64, StoreError> {
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let before_ms = system::wall_ms().saturating_sub(age_ms);
        let (mut expired, mut open, mut after) = (0, BTreeSet::new(), None);
        loop {
            let page = self.list_multiparts("", after.as_deref(), PAGE).await?;
            for multipart in page.open {
                if multipart.created_ms > before_ms {
                    open.insert(multipart.id);
                    continue;
                }
                match self.abort_multipart(&multipart.key, &multipart.id).await {
                    Ok(()) => expired += 1,
                    // The client completed or aborted it in the meantime.
                    Err(StoreError::NoMultipart { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        self.expire_parts(before_ms, &open).await?;
        Ok(expired)
    }

    /// Removes parts received before a time that belong to no open upload.
    async fn expire_parts(&self, before_ms: u64, open: &BTreeSet<String>) -> Result<(), StoreError> {
        let mut list = List {
            prefix: format!("{BUCKET}/p/"),
            limit: PAGE,
            ..List::default()
        };
        loop {
            let page = self.list(&list).await?;
            for meta in page
                .objects
                .iter()
                .filter(|meta| meta.version.millis <= before_ms)
            {
                let id = meta.key.name().split('/').nth(1).unwrap_or_default();
                if !open.contains(id) {
                    self.delete(&meta.key, Condition::Always).await?;
                }
            }
            match page.next {
                Some(next) => list.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn parts(&self, id: &str, after: u32, limit: usize) -> Result<Parts, StoreError> {
        let list = List {
            prefix: format!("{BUCKET}/p/{id}/"),
            delimiter: None,
            after: Some(format!("{BUCKET}/p/{id}/{after:05}")),
            limit,
        };
        let page = self.list(&list).await?;
        let number = |meta: &Meta| {
            meta.key
                .name()
                .rsplit('/')
                .next()
                .and_then(|text| text.parse().ok())
        };
        let part = |meta: Meta| number(&meta).map(|number| Part { number, meta });
        Ok(Parts {
            parts: page.objects.into_iter().filter_map(part).collect(),
            more: page.next.is_some(),
        })
    }

    /// Returns the parts that a client names, as received.
    async fn chosen(&self, key: &Key, id: &str, named: &[(u32, String)]) -> Result<Vec<Meta>, StoreError> {
        if named.is_empty() || !named.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(part_error(
                key,
                "expected at least one part, in rising order".to_owned(),
            ));
        }
        let received = self.parts(id, 0, PART_NUMBER_MAX as usize).await?.parts;
        let mut received: BTreeMap<_, _> = received
            .into_iter()
            .map(|part| (part.number, part.meta))
            .collect();
        let mut chosen = Vec::with_capacity(named.len());
        for (number, etag) in named {
            let Some(meta) = received.remove(number) else {
                return Err(part_error(key, format!("part {number} was not received")));
            };
            if meta.etag != *etag {
                let detail = format!("part {number} has the entity tag {}, expected {etag}", meta.etag);
                return Err(part_error(key, detail));
            }
            chosen.push(meta);
        }
        Ok(chosen)
    }

    /// Returns the bytes of the parts, one after the other.
    fn joined(&self, parts: Vec<Meta>) -> ByteStream {
        let store = self.clone();
        let bodies = stream::iter(parts).then(move |part| {
            let store = store.clone();
            async move {
                let object = store.get(&part.key, None).await.map_err(io::Error::other)?;
                if object.meta.version != part.version {
                    let detail = format!("{} was replaced in the meantime", part.key.name());
                    return Err(io::Error::other(part_error(&part.key, detail)));
                }
                Ok::<_, io::Error>(object.body)
            }
        });
        Box::pin(bodies.try_flatten())
    }

    async fn remove_parts(&self, id: &str) -> Result<(), StoreError> {
        let parts = self.parts(id, 0, PART_NUMBER_MAX as usize).await?.parts;
        let removals = parts
            .into_iter()
            .map(|part| async move { self.delete(&part.meta.key, Condition::Always).await });
        stream::iter(removals)
            .buffer_unordered(REMOVALS)
            .try_for_each(|_| async { Ok(()) })
            .await
    }
}

/// Returns the key of the object that describes an upload.
fn control(key: &Key, id: &str) -> Result<Key, StoreError> {
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(no_multipart(key, id));
    }
    Ok(Key::new(BUCKET, &format!("u/{key}/{id}"))?)
}

fn part_key(id: &str, number: u32) -> Result<Key, StoreError> {
    Ok(Key::new(BUCKET, &format!("p/{id}/{number:05}"))?)
}

fn described(meta: &Meta) -> Result<Multipart, StoreError> {
    let text = meta.attributes.get(ATTRIBUTE).map_or("", String::as_str);
    serde_json::from_str(text).map_err(|error| lost(&meta.key, error))
}

/// Returns the MD5 of the parts' MD5s, `-`, and the number of parts.
fn joined_etag(parts: &[Meta]) -> String {
    let mut md5 = Md5::default();
    parts.iter().for_each(|part| md5.update(&part.digests.md5));
    format!(
        "{}-{}",
        data_encoding::HEXLOWER.encode(&md5.finish()),
        parts.len()
    )
}

fn no_multipart(key: &Key, id: &str) -> StoreError {
    StoreError::NoMultipart {
        key: key.to_string(),
        id: id.to_owned(),
    }
}

fn part_error(key: &Key, detail: String) -> StoreError {
    StoreError::Part {
        key: key.to_string(),
        detail,
    }
}

/// Returns the error for an upload whose description cannot be parsed.
fn lost(key: &Key, error: serde_json::Error) -> StoreError {
    StoreError::Lost {
        key: key.to_string(),
        detail: format!("attribute {ATTRIBUTE:?}: {error}"),
    }
}
