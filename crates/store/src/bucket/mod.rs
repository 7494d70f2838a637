//! Buckets: valid names, and the record that makes a bucket exist.
//!
//! A bucket exists if its record exists: the empty object `.s3/buckets/NAME`, whose attributes are
//! the bucket's properties. A writer makes the bucket before its first object, so that all users of
//! the store see the same buckets. Stores written by older versions may hold objects without a
//! bucket; [`Store::all_buckets`] reports those.
//!
//! A process remembers the records that it has read or written. Requests that only read objects use
//! them while a record cannot be read: [`Store::bucket_as_known`].
//!
//! Objects are not tied to their bucket: a put that runs while its bucket is being removed may
//! leave an object, which reappears if the bucket is made again.

use std::collections::BTreeMap;
use std::net::IpAddr;

use futures_util::stream;
use store_protocol::{BUCKET_BYTES_MAX, Condition, Key, Meta};

use crate::client::{List, Put, Store, StoreError};
use crate::versioning::Versioning;

/// Shortest bucket name in bytes, as in S3.
const NAME_BYTES_MIN: usize = 3;

/// Prefix of the keys of all records. It names a hidden bucket: it begins with a dot, so no client
/// can name it.
const RECORDS: &str = ".s3/buckets/";

/// Attribute: when the bucket was made, in milliseconds since 1970. It is set when the record is
/// changed, because the record's own time changes then.
pub(crate) const MADE: &str = "weft-made";

/// How often a change is retried after another process changed the bucket in between. Fewer would
/// refuse some of many simultaneous changes. Each try is a write, and without a limit a request
/// could try forever.
const CHANGES_MAX: usize = 32;

/// Records read from the store per request.
const PAGE: usize = 1000;

/// A bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its properties, such as owner, region and access rules; names in lower case.
    pub attributes: BTreeMap<String, String>,
}

/// A page of buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buckets {
    /// In order of their names.
    pub buckets: Vec<Bucket>,
    /// Where the next page starts, to be passed as `after`. `None` on the last page.
    pub next: Option<String>,
}

/// Why a bucket could not be made, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The name does not follow S3's rules.
    #[error(
        "{0:?} is not a bucket name: expected 3 to 63 of a-z, 0-9, dot and hyphen, a letter or digit at both ends, \
         no two dots in a row, not an IP address, no xn-- prefix"
    )]
    Name(String),
    /// The bucket does not exist.
    #[error("there is no bucket {0}")]
    Missing(String),
    /// The bucket contains objects, older versions of some, or delete markers.
    #[error(
        "bucket {0} is not empty: delete its contents first, including older versions and delete markers"
    )]
    NotEmpty(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Bucket {
    /// Returns how the bucket treats objects that are overwritten or deleted.
    pub fn versioning(&self) -> Versioning {
        Versioning::of(&self.attributes)
    }
}

/// Checks a bucket name against S3's rules. [`Key::new`] allows more: it must accept the store's
/// own hidden buckets and names written when any short name was allowed.
///
/// # Errors
/// [`BucketError::Name`] if `name` breaks a rule.
pub fn check_name(name: &str) -> Result<(), BucketError> {
    let word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let is_name = (NAME_BYTES_MIN..=BUCKET_BYTES_MAX).contains(&bytes.len())
        && bytes.iter().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
        && bytes.first().is_some_and(word)
        && bytes.last().is_some_and(word)
        && !name.contains("..")
        && !name.starts_with("xn--")
        && name.parse::<IpAddr>().is_err();
    if is_name {
        Ok(())
    } else {
        Err(BucketError::Name(name.to_owned()))
    }
}

/// Returns whether a key or prefix belongs to the store itself or to the layers above it. Such keys
/// are never listed to clients.
pub fn is_hidden(key: &str) -> bool {
    key.starts_with('.')
}

impl Store {
    /// Makes a bucket. Returns `None`, and changes nothing, if a bucket with that name exists.
    ///
    /// # Errors
    /// [`BucketError::Name`] for an invalid name, [`BucketError::Store`] if the record cannot be
    /// read or written.
    pub async fn make_bucket(
        &self,
        name: &str,
        attributes: BTreeMap<String, String>,
    ) -> Result<Option<Bucket>, BucketError> {
        check_name(name)?;
        let put = Put {
            size: Some(0),
            attributes,
            condition: Condition::Absent,
            ..Put::default()
        };
        match self.put(&record(name)?, Box::pin(stream::empty()), put).await {
            Ok(meta) => {
                self.bucket_records().note(name, &meta);
                Ok(Some(bucket(meta)))
            }
            Err(StoreError::Condition { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a bucket if it does not exist. Returns whether this call made it.
    ///
    /// # Errors
    /// As [`Store::make_bucket`].
    pub async fn ensure_bucket(&self, name: &str) -> Result<bool, BucketError> {
        check_name(name)?;
        // Reading is cheap; a conditional write is not.
        if self.bucket(name).await?.is_some() {
            return Ok(false);
        }
        Ok(self.make_bucket(name, BTreeMap::new()).await?.is_some())
    }

    /// Returns a bucket, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`] if the record cannot be read, but never `NotFound`.
    pub async fn bucket(&self, name: &str) -> Result<Option<Bucket>, StoreError> {
        match self.head(&record(name)?).await {
            Ok(meta) => {
                self.bucket_records().note(name, &meta);
                Ok(Some(bucket(meta)))
            }
            Err(StoreError::NotFound(_)) => {
                self.bucket_records().forget(name);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a bucket as far as it can be known now: like [`Store::bucket`] if that succeeds,
    /// otherwise the newest state of its record that can be reached or that this process has read
    /// before. It may lack recent changes by other processes, so use it only to read objects.
    ///
    /// # Errors
    /// As [`Store::bucket`]; `Unavailable` if the record is unknown, or if the last known event is
    /// its removal.
    pub async fn bucket_as_known(&self, name: &str) -> Result<Option<Bucket>, StoreError> {
        let unavailable = match self.bucket(name).await {
            Err(error @ StoreError::Unavailable { .. }) => error,
            told => return told,
        };
        let reached = self.newest_reachable(&record(name)?).await;
        let known = self.bucket_records().get(name);
        let newest = reached.into_iter().chain(known).max_by_key(|meta| meta.version);
        match newest.filter(|meta| !meta.deleted) {
            Some(meta) => Ok(Some(bucket(meta))),
            None => Err(unavailable),
        }
    }

    /// Changes a bucket's properties. `change` receives the bucket and returns the new attributes,
    /// or refuses. It is called again with a fresh bucket if another process changed it in between,
    /// so that changes take effect one after the other.
    ///
    /// # Errors
    /// [`BucketError::Missing`] and [`BucketError::Store`]; the inner error is the refusal of
    /// `change`.
    pub async fn change_bucket<E>(
        &self,
        name: &str,
        mut change: impl FnMut(&Bucket) -> Result<BTreeMap<String, String>, E> + Send,
    ) -> Result<Result<Bucket, E>, BucketError> {
        let key = record(name)?;
        let mut tries = 0;
        loop {
            let meta = match self.head(&key).await {
                Err(StoreError::NotFound(_)) => return Err(BucketError::Missing(name.to_owned())),
                other => other?,
            };
            let condition = Condition::Etag(meta.etag.clone());
            // All records are empty, so their MD5s are equal. Only an entity tag that no earlier
            // version had tells two states apart.
            let etag = meta.version.to_string();
            let mut changed = bucket(meta);
            changed.attributes = match change(&changed) {
                Ok(attributes) => attributes,
                Err(refused) => return Ok(Err(refused)),
            };
            let mut attributes = changed.attributes.clone();
            attributes.insert(MADE.to_owned(), changed.created_ms.to_string());
            let put = Put {
                size: Some(0),
                etag: Some(etag),
                attributes,
                condition,
                ..Put::default()
            };
            match self.put(&key, Box::pin(stream::empty()), put).await {
                Ok(meta) => {
                    self.bucket_records().note(name, &meta);
                    return Ok(Ok(changed));
                }
                Err(StoreError::Condition { .. }) if tries < CHANGES_MAX => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns a page of buckets whose names begin with `prefix`.
    ///
    /// # Errors
    /// [`StoreError`] if the records cannot be listed.
    pub async fn buckets(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Buckets, StoreError> {
        let list = List {
            prefix: format!("{RECORDS}{prefix}"),
            after: after.map(|after| format!("{RECORDS}{after}")),
            limit,
            ..List::default()
        };
        let page = self.list(&list).await?;
        for meta in &page.objects {
            let name = meta.key.as_str().strip_prefix(RECORDS).unwrap_or_default();
            self.bucket_records().note(name, meta);
        }
        let name = |key: String| key.strip_prefix(RECORDS).unwrap_or_default().to_owned();
        Ok(Buckets {
            buckets: page.objects.into_iter().map(bucket).collect(),
            next: page.next.map(name),
        })
    }

    /// Returns all buckets by name. The value is `None` for a name that has objects but no bucket.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be listed.
    pub async fn all_buckets(&self) -> Result<BTreeMap<String, Option<Bucket>>, StoreError> {
        let mut all = BTreeMap::new();
        let mut objects = List {
            delimiter: Some("/".to_owned()),
            limit: PAGE,
            ..List::default()
        };
        loop {
            let page = self.list(&objects).await?;
            let shown = page.prefixes.iter().filter(|prefix| !is_hidden(prefix));
            all.extend(shown.map(|prefix| (prefix.trim_end_matches('/').to_owned(), None)));
            objects.after = page.next;
            if objects.after.is_none() {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = self.buckets("", after.as_deref(), PAGE).await?;
            let known = page.buckets.into_iter();
            all.extend(known.map(|bucket| (bucket.name.clone(), Some(bucket))));
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Removes an empty bucket and aborts its unfinished uploads.
    ///
    /// # Errors
    /// [`BucketError`], `NotEmpty` if the bucket contains objects.
    pub async fn remove_bucket(&self, name: &str) -> Result<(), BucketError> {
        let missing = || BucketError::Missing(name.to_owned());
        self.bucket(name).await?.ok_or_else(missing)?;
        let inside = List {
            prefix: format!("{name}/"),
            limit: 1,
            ..List::default()
        };
        if !self.list(&inside).await?.objects.is_empty() || self.has_older_versions(name).await? {
            return Err(BucketError::NotEmpty(name.to_owned()));
        }
        self.abort_multiparts(&inside.prefix).await?;
        let removed = self.delete(&record(name)?, Condition::Always).await?;
        self.bucket_records().forget(name);
        removed.map(drop).ok_or_else(missing)
    }

    /// Aborts all open uploads of objects whose keys begin with `prefix`.
    async fn abort_multiparts(&self, prefix: &str) -> Result<(), StoreError> {
        loop {
            let page = self.list_multiparts(prefix, None, PAGE).await?;
            for upload in &page.open {
                match self.abort_multipart(&upload.key, &upload.id).await {
                    Ok(()) | Err(StoreError::NoMultipart { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if page.next.is_none() {
                return Ok(());
            }
        }
    }
}

/// Returns the key of a bucket's record.
fn record(name: &str) -> Result<Key, StoreError> {
    Ok(Key::parse(&format!("{RECORDS}{name}"))?)
}

/// Reads a bucket from its record.
fn bucket(meta: Meta) -> Bucket {
    let mut attributes = meta.attributes;
    let created_ms = attributes.remove(MADE).and_then(|ms| ms.parse().ok());
    Bucket {
        name: meta
            .key
            .as_str()
            .strip_prefix(RECORDS)
            .unwrap_or_default()
            .to_owned(),
        created_ms: created_ms.unwrap_or(meta.version.millis),
        attributes,
    }
}
