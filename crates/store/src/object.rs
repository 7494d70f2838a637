//! The store as an [`ObjectStore`]. The rest of Weft uses this interface for this store, a folder
//! and S3 alike.
//!
//! A path is a name in one bucket, or, for all buckets, the bucket and then the name. Buckets that
//! begin with a dot are hidden. A write makes its bucket if it does not exist. Entity tags are
//! those of the store, without quotes. Only current versions are read, so results name no version;
//! in a bucket that keeps versions, an overwritten or deleted object stays as an older one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::FutureExt;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyMode, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload,
    ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result, UploadPart,
};
use parking_lot::Mutex;
use store_protocol::{ByteStream, Condition, Key, KeyError, Meta};

use crate::bucket::is_hidden;
use crate::client::{Complete, List, Multipart, Object, Put, Store, StoreError};
use crate::versioning::Versioning;

/// The store's name in errors.
const STORE: &str = "weft";

/// Objects per request when everything is listed. Fewer would ask every volume more often; more
/// would hold the metadata of more objects in memory.
const PAGE: usize = 1000;

/// Deletions running in parallel. Each waits for disks to sync: one at a time would leave the disks
/// idle, many would slow down other writes.
const DELETIONS: usize = 8;

/// Header names of attributes; user metadata follows the prefix.
const HEADERS: [(&str, Attribute); 6] = [
    ("cache-control", Attribute::CacheControl),
    ("content-disposition", Attribute::ContentDisposition),
    ("content-encoding", Attribute::ContentEncoding),
    ("content-language", Attribute::ContentLanguage),
    ("content-type", Attribute::ContentType),
    ("x-amz-storage-class", Attribute::StorageClass),
];
const USER_HEADER: &str = "x-amz-meta-";

/// The objects of a bucket, or of all buckets. Cheap to clone.
#[derive(Clone)]
pub struct StoreObjects {
    store: Store,
    /// `None` for all buckets.
    bucket: Option<Arc<str>>,
}

impl Store {
    /// Returns the objects of a bucket.
    ///
    /// # Errors
    /// [`KeyError`] if `bucket` cannot be a bucket's name.
    pub fn object_store(&self, bucket: &str) -> std::result::Result<StoreObjects, KeyError> {
        Key::new(bucket, "any")?;
        Ok(StoreObjects {
            store: self.clone(),
            bucket: Some(bucket.into()),
        })
    }

    /// Returns the objects of all buckets: the first segment of a path is the bucket.
    pub fn object_store_of_all(&self) -> StoreObjects {
        StoreObjects {
            store: self.clone(),
            bucket: None,
        }
    }
}

impl StoreObjects {
    fn key(&self, path: &Path) -> Result<Key> {
        let key = match &self.bucket {
            Some(bucket) => Key::new(bucket, path.as_ref()),
            None => Key::parse(path.as_ref()),
        };
        key.map_err(|error| Error::Generic {
            store: STORE,
            source: Box::new(error),
        })
    }

    /// Returns the key for a write. Makes its bucket if it does not exist.
    async fn key_to_write(&self, path: &Path) -> Result<Key> {
        let key = self.key(path)?;
        let made = self.store.ensure_bucket(key.bucket()).await;
        made.map(|_| key).map_err(|error| Error::Generic {
            store: STORE,
            source: Box::new(error),
        })
    }

    /// Returns how the bucket of a key treats objects that are replaced.
    async fn versioning(&self, key: &Key) -> Result<Versioning> {
        let versioning = self.store.versioning(key.bucket()).await;
        versioning.map_err(|error| failed(error, false))
    }

    /// Returns the path of a key or a rolled-up prefix.
    fn path(&self, text: &str) -> Result<Path> {
        let text = match &self.bucket {
            Some(bucket) => text.strip_prefix(bucket.as_ref()).unwrap_or(text),
            None => text,
        };
        // A path has no slash at either end.
        Ok(Path::parse(text.strip_prefix('/').unwrap_or(text))?)
    }

    /// Returns the prefix of the keys below a path.
    fn prefix(&self, path: Option<&Path>) -> String {
        let below = path
            .filter(|path| !path.as_ref().is_empty())
            .map(|path| format!("{path}/"));
        let bucket = self.bucket.as_ref().map(|bucket| format!("{bucket}/"));
        bucket.unwrap_or_default() + &below.unwrap_or_default()
    }

    fn meta(&self, meta: &Meta) -> Result<ObjectMeta> {
        Ok(ObjectMeta {
            location: self.path(meta.key.as_str())?,
            last_modified: (UNIX_EPOCH + Duration::from_millis(meta.version.millis)).into(),
            size: meta.size,
            e_tag: Some(meta.etag.clone()),
            version: None,
        })
    }

    /// Returns whether clients may see a key or prefix.
    fn is_visible(&self, text: &str) -> bool {
        self.bucket.is_some() || !is_hidden(text)
    }

    /// Returns all buckets as prefixes, including empty ones.
    async fn buckets(&self) -> Result<ListResult> {
        let all = self.store.all_buckets().await;
        let names = all.map_err(|error| failed(error, false))?.into_keys();
        Ok(ListResult {
            common_prefixes: names.map(Path::from).collect(),
            objects: Vec::new(),
        })
    }

    fn pages(&self, list: List) -> BoxStream<'static, Result<ObjectMeta>> {
        let objects = self.clone();
        let pages = stream::try_unfold(Some(list), move |list| {
            let objects = objects.clone();
            async move {
                let Some(mut list) = list else { return Ok(None) };
                let page = objects
                    .store
                    .list(&list)
                    .await
                    .map_err(|error| failed(error, false))?;
                let shown = page
                    .objects
                    .iter()
                    .filter(|meta| objects.is_visible(meta.key.as_str()));
                let metas: Vec<_> = shown.map(|meta| objects.meta(meta)).collect();
                let next = page.next.map(|next| {
                    list.after = Some(next);
                    list
                });
                Ok::<_, Error>(Some((stream::iter(metas), next)))
            }
        });
        pages.try_flatten().boxed()
    }

    /// Opens the object or range that the options ask for.
    async fn open(&self, key: &Key, range: Option<&GetRange>) -> std::result::Result<Object, StoreError> {
        let length = match range {
            None => return self.store.get(key, None).await,
            Some(GetRange::Bounded(range)) => return self.store.get(key, Some(range.clone())).await,
            Some(GetRange::Offset(start)) => return self.store.get(key, Some(*start..u64::MAX)).await,
            Some(GetRange::Suffix(length)) => *length,
        };
        loop {
            let meta = self.store.head(key).await?;
            let range = meta.size.saturating_sub(length)..meta.size;
            let object = self.store.get(key, (!range.is_empty()).then_some(range)).await?;
            // The version changed in between: compute the suffix range again.
            if object.meta.version == meta.version {
                return Ok(object);
            }
        }
    }
}

#[async_trait]
impl ObjectStore for StoreObjects {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let creates = matches!(opts.mode, PutMode::Create);
        let put = Put {
            size: Some(payload.content_length() as u64),
            attributes: headers(&opts.attributes),
            condition: condition(opts.mode)?,
            ..Put::default()
        };
        let key = self.key_to_write(location).await?;
        let versioning = self.versioning(&key).await?;
        let meta = self
            .store
            .put(&key, body(payload), Put { versioning, ..put })
            .await;
        meta.map(|meta| put_result(&meta))
            .map_err(|error| failed(error, creates))
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let key = self.key_to_write(location).await?;
        let upload = self.store.create_multipart(&key, headers(&opts.attributes)).await;
        Ok(Box::new(PartsUpload {
            store: self.store.clone(),
            upload: upload.map_err(|error| failed(error, false))?,
            parts: 0,
            received: Arc::default(),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let key = self.key(location)?;
        let object = if options.head {
            let meta = self.store.head(&key).await;
            meta.map(|meta| Object {
                range: 0..meta.size,
                meta,
                body: Box::pin(stream::empty()),
            })
        } else {
            self.open(&key, options.range.as_ref()).await
        };
        let object = object.map_err(|error| failed(error, false))?;
        if let Some(wanted) = options
            .version
            .as_ref()
            .filter(|wanted| **wanted != object.meta.version.to_string())
        {
            return Err(Error::NotFound {
                path: location.to_string(),
                source: format!(
                    "version {wanted} is not the current version, and older versions cannot be read here"
                )
                .into(),
            });
        }
        let meta = self.meta(&object.meta)?;
        options.check_preconditions(&meta)?;
        let key = object.meta.key.to_string();
        let bytes = object.body.map_err(move |error| Error::Generic {
            store: STORE,
            source: format!("{key}: {error}").into(),
        });
        Ok(GetResult {
            payload: GetResultPayload::Stream(bytes.boxed()),
            meta,
            range: object.range,
            attributes: attributes(&object.meta.attributes),
        })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        object_store::coalesce_ranges(
            ranges,
            |range| async move {
                let options = GetOptions::new().with_range(Some(range));
                self.get_opts(location, options).await?.bytes().await
            },
            store_protocol::BLOCK_BYTES,
        )
        .await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let objects = self.clone();
        let deletions = locations.map(move |location| {
            let objects = objects.clone();
            async move {
                let location = location?;
                let key = objects.key(&location)?;
                let versioning = objects.versioning(&key).await?;
                let deleted = objects
                    .store
                    .delete_versioned(&key, Condition::Always, versioning)
                    .await;
                deleted.map_err(|error| failed(error, false))?;
                Ok(location)
            }
        });
        deletions.buffered(DELETIONS).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.pages(List {
            prefix: self.prefix(prefix),
            limit: PAGE,
            ..List::default()
        })
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let bucket = self.prefix(None);
        self.pages(List {
            prefix: self.prefix(prefix),
            after: Some(format!("{bucket}{offset}")),
            limit: PAGE,
            ..List::default()
        })
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = self.prefix(prefix);
        if prefix.is_empty() {
            return self.buckets().await;
        }
        let mut list = List {
            prefix,
            delimiter: Some("/".to_owned()),
            after: None,
            limit: PAGE,
        };
        let mut all = ListResult {
            common_prefixes: Vec::new(),
            objects: Vec::new(),
        };
        loop {
            let page = self
                .store
                .list(&list)
                .await
                .map_err(|error| failed(error, false))?;
            // A key may equal the prefix; as a path it would be the prefix itself.
            for meta in page
                .objects
                .iter()
                .filter(|meta| meta.key.as_str() != list.prefix)
            {
                all.objects.push(self.meta(meta)?);
            }
            for prefix in &page.prefixes {
                all.common_prefixes
                    .push(self.path(prefix.strip_suffix('/').unwrap_or(prefix))?);
            }
            match page.next {
                Some(next) => list.after = Some(next),
                None => return Ok(all),
            }
        }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let creates = matches!(options.mode, CopyMode::Create);
        let condition = if creates {
            Condition::Absent
        } else {
            Condition::Always
        };
        let to = self.key_to_write(to).await?;
        let versioning = self.versioning(&to).await?;
        let copied = self
            .store
            .copy_versioned(&self.key(from)?, &to, condition, versioning)
            .await;
        copied.map(|_| ()).map_err(|error| failed(error, creates))
    }
}

/// An upload in parts.
struct PartsUpload {
    store: Store,
    upload: Multipart,
    /// Number of parts begun.
    parts: u32,
    received: Arc<Mutex<BTreeMap<u32, String>>>,
}

#[async_trait]
impl MultipartUpload for PartsUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.parts += 1;
        let (store, upload, number) = (self.store.clone(), self.upload.clone(), self.parts);
        let received = self.received.clone();
        async move {
            let part = store
                .put_part(&upload.key, &upload.id, number, body(data), Put::default())
                .await;
            let meta = part.map_err(|error| failed(error, false))?;
            received.lock().insert(number, meta.etag);
            Ok(())
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        if self.parts == 0 {
            self.put_part(PutPayload::new()).await?;
        }
        let received = self.received.lock().clone();
        if received.len() != self.parts as usize {
            return Err(Error::Generic {
                store: STORE,
                source: format!("{} of {} parts were received", received.len(), self.parts).into(),
            });
        }
        let versioning = self.store.versioning(self.upload.key.bucket()).await;
        let complete = Complete {
            parts: received.into_iter().collect(),
            versioning: versioning.map_err(|error| failed(error, false))?,
            ..Complete::default()
        };
        let meta = self
            .store
            .complete_multipart(&self.upload.key, &self.upload.id, complete)
            .await;
        meta.map(|meta| put_result(&meta))
            .map_err(|error| failed(error, false))
    }

    async fn abort(&mut self) -> Result<()> {
        let aborted = self
            .store
            .abort_multipart(&self.upload.key, &self.upload.id)
            .await;
        aborted.map_err(|error| failed(error, false))
    }
}

fn body(payload: PutPayload) -> ByteStream {
    Box::pin(stream::iter(payload.into_iter().map(Ok)))
}

fn put_result(meta: &Meta) -> PutResult {
    PutResult {
        e_tag: Some(meta.etag.clone()),
        version: None,
    }
}

fn condition(mode: PutMode) -> Result<Condition> {
    match mode {
        PutMode::Overwrite => Ok(Condition::Always),
        PutMode::Create => Ok(Condition::Absent),
        PutMode::Update(version) => {
            let etag = version.e_tag.ok_or_else(|| Error::Generic {
                store: STORE,
                source: "an update requires the entity tag of the object it replaces".into(),
            })?;
            Ok(Condition::Etag(etag.trim_matches('"').to_owned()))
        }
    }
}

/// Converts attributes to headers.
fn headers(attributes: &Attributes) -> BTreeMap<String, String> {
    let header = |attribute: &Attribute| match attribute {
        Attribute::Metadata(name) => Some(format!("{USER_HEADER}{}", name.to_lowercase())),
        attribute => {
            let known = HEADERS.iter().find(|(_, known)| known == attribute);
            known.map(|(header, _)| (*header).to_owned())
        }
    };
    attributes
        .iter()
        .filter_map(|(attribute, value)| Some((header(attribute)?, value.as_ref().to_owned())))
        .collect()
}

/// Converts headers to attributes. A header without a matching attribute is dropped.
fn attributes(headers: &BTreeMap<String, String>) -> Attributes {
    let attribute = |header: &str| match header.strip_prefix(USER_HEADER) {
        Some(name) => Some(Attribute::Metadata(name.to_owned().into())),
        None => HEADERS
            .iter()
            .find(|(known, _)| *known == header)
            .map(|(_, attribute)| attribute.clone()),
    };
    headers
        .iter()
        .filter_map(|(header, value)| Some((attribute(header)?, value.clone())))
        .collect()
}

/// Converts an error. A condition that does not hold is `AlreadyExists` for a caller that creates.
fn failed(error: StoreError, creates: bool) -> Error {
    let source = |error: StoreError| Box::new(error) as Box<dyn std::error::Error + Send + Sync>;
    match error {
        StoreError::NotFound(ref path) => Error::NotFound {
            path: path.clone(),
            source: source(error),
        },
        StoreError::Condition { ref key, .. } if creates => Error::AlreadyExists {
            path: key.clone(),
            source: source(error),
        },
        StoreError::Condition { ref key, .. } => Error::Precondition {
            path: key.clone(),
            source: source(error),
        },
        StoreError::Protected { ref key, .. } => Error::PermissionDenied {
            path: key.clone(),
            source: source(error),
        },
        error => Error::Generic {
            store: STORE,
            source: source(error),
        },
    }
}

impl fmt::Debug for PartsUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartsUpload")
            .field("upload", &self.upload)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for StoreObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreObjects")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for StoreObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store://{}", self.bucket.as_deref().unwrap_or_default())
    }
}
