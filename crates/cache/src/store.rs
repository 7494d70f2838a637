//! An [`ObjectStore`] read through a tier.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, Result, UploadPart,
};
use serde::{Deserialize, Serialize};

use crate::cached::{CachedOrigin, ObjectRead};
use crate::counts::User;
use crate::origin::{Answer, Cause, Description, Origin, OriginError, Validator};
use crate::tier::Cache;

/// Name of the tier in errors.
const NAME: &str = "cache";

/// Ranges of one object at most this far apart are read together. A link of 100 MB/s transfers
/// these bytes in a quarter of a round trip.
const NEAR_BYTES: u64 = 256 << 10;

/// A store whose reads go through a tier; writes and listings bypass it. Writes through this value
/// are visible to its readers at once, other writes within the bound of the settings.
#[derive(Clone)]
pub struct CachedStore {
    reads: CachedOrigin,
    store: Arc<dyn ObjectStore>,
}

impl CachedStore {
    /// Creates a store that a user reads through the tier.
    pub fn new(cache: &Cache, origin: StoreOrigin, user: User) -> CachedStore {
        let store = origin.store.clone();
        CachedStore {
            reads: cache.origin_reader(Arc::new(origin), user),
            store,
        }
    }

    fn forget(&self, path: &Path) {
        self.reads.forget(path.as_ref());
    }
}

/// A store as an origin.
pub struct StoreOrigin {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// Its address, such as `s3://bucket`.
    pub root: String,
    /// See [`Origin::endpoint`].
    pub endpoint: String,
}

/// Additional data of a description.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectExtras {
    modified_ms: i64,
    /// The tag as the store writes it, including weak ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<(String, String)>,
}

/// Names of attributes in [`ObjectExtras`]. Those of user metadata start with `meta:`.
const ATTRIBUTES: [(&str, Attribute); 6] = [
    ("cache-control", Attribute::CacheControl),
    ("content-disposition", Attribute::ContentDisposition),
    ("content-encoding", Attribute::ContentEncoding),
    ("content-language", Attribute::ContentLanguage),
    ("content-type", Attribute::ContentType),
    ("storage-class", Attribute::StorageClass),
];
const META: &str = "meta:";

fn description(meta: &ObjectMeta, attributes: &Attributes) -> Description {
    let modified_ms = meta.last_modified.timestamp_millis();
    let name = |attribute: &Attribute| match attribute {
        Attribute::Metadata(name) => Some(format!("{META}{name}")),
        other => ATTRIBUTES
            .iter()
            .find(|(_, known)| known == other)
            .map(|(name, _)| (*name).to_owned()),
    };
    let beside = ObjectExtras {
        modified_ms,
        tag: meta.e_tag.clone(),
        version: meta.version.clone(),
        attributes: attributes
            .iter()
            .filter_map(|(attribute, value)| Some((name(attribute)?, value.to_string())))
            .collect(),
    };
    // A weak tag promises equivalent content, not equal bytes.
    let strong = meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
    Description {
        size_bytes: meta.size,
        validator: strong.map_or(Validator::Modified(modified_ms), Validator::Tag),
        // Strings and numbers always serialize.
        beside: serde_json::to_vec(&beside).unwrap_or_default().into(),
    }
}

fn meta(path: &Path, description: &Description) -> (ObjectMeta, Attributes) {
    let beside: ObjectExtras = serde_json::from_slice(&description.beside).unwrap_or_default();
    let attribute = |name: &str| match name.strip_prefix(META) {
        Some(name) => Some(Attribute::Metadata(name.to_owned().into())),
        None => ATTRIBUTES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, attribute)| attribute.clone()),
    };
    let attributes = beside
        .attributes
        .into_iter()
        .filter_map(|(name, value)| Some((attribute(&name)?, value)))
        .collect();
    let modified = std::time::UNIX_EPOCH
        + std::time::Duration::from_millis(u64::try_from(beside.modified_ms).unwrap_or(0));
    let meta = ObjectMeta {
        location: path.clone(),
        last_modified: modified.into(),
        size: description.size_bytes,
        e_tag: beside.tag,
        version: beside.version,
    };
    (meta, attributes)
}

/// Converts an error for readers of origins.
fn failed(error: Error) -> OriginError {
    match error {
        Error::NotFound { .. } => OriginError::Missing(Arc::new(error)),
        Error::Precondition { .. } => OriginError::Changed,
        other => OriginError::Lasting(Arc::new(other)),
    }
}

/// Converts an error for users of stores.
fn to_store_error(path: &str, error: OriginError) -> Error {
    #[derive(Debug, thiserror::Error)]
    #[error(transparent)]
    struct SharedCause(Cause);
    let path = path.to_owned();
    match error {
        OriginError::Missing(cause) => Error::NotFound {
            path,
            source: Box::new(SharedCause(cause)),
        },
        OriginError::Changed => Error::Precondition {
            path,
            source: Box::new(OriginError::Changed),
        },
        // Callers distinguish errors by their kind.
        OriginError::Passing(cause) | OriginError::Lasting(cause) => match cause.downcast_ref::<Error>() {
            Some(Error::PermissionDenied { .. }) => Error::PermissionDenied {
                path,
                source: Box::new(SharedCause(cause)),
            },
            Some(Error::Unauthenticated { .. }) => Error::Unauthenticated {
                path,
                source: Box::new(SharedCause(cause)),
            },
            _ => Error::Generic {
                store: NAME,
                source: Box::new(SharedCause(cause)),
            },
        },
        range @ OriginError::Range { .. } => Error::Generic {
            store: NAME,
            source: Box::new(range),
        },
    }
}

#[async_trait]
impl Origin for StoreOrigin {
    fn root(&self) -> &str {
        &self.root
    }

    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn understands(&self, beside: &[u8]) -> bool {
        serde_json::from_slice::<ObjectExtras>(beside).is_ok()
    }

    async fn describe(&self, path: &str) -> std::result::Result<Description, OriginError> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        let path = Path::parse(path).map_err(|error| failed(error.into()))?;
        let answer = self.store.get_opts(&path, options).await.map_err(failed)?;
        Ok(description(&answer.meta, &answer.attributes))
    }

    async fn get(
        &self,
        path: &str,
        expected: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> std::result::Result<Answer, OriginError> {
        let path = Path::parse(path).map_err(|error| failed(error.into()))?;
        let mut options = GetOptions {
            range: wanted.clone(),
            ..GetOptions::default()
        };
        if let Some(expected) = expected {
            match &expected.validator {
                Validator::Tag(tag) => options.if_match = Some(tag.clone()),
                Validator::Modified(_) => {
                    options.if_unmodified_since = Some(meta(&path, expected).0.last_modified)
                }
            }
        }
        let answer = match self.store.get_opts(&path, options).await {
            Ok(answer) => answer,
            // Stores have no separate error for a range beyond the end.
            Err(error @ Error::Generic { .. }) if wanted.is_some() => {
                return Err(self.beyond(&path, wanted, error).await);
            }
            Err(error) => return Err(failed(error)),
        };
        let description = description(&answer.meta, &answer.attributes);
        let range = answer.range.clone();
        let body = answer
            .into_stream()
            .map_err(|error| OriginError::Passing(Arc::new(error)))
            .boxed();
        Ok(Answer {
            description,
            range,
            body,
        })
    }
}

impl StoreOrigin {
    /// Determines whether a request failed because of its range.
    async fn beyond(&self, path: &Path, wanted: Option<GetRange>, error: Error) -> OriginError {
        let Ok(described) = self.describe(path.as_ref()).await else {
            return failed(error);
        };
        let size_bytes = described.size_bytes;
        let is_beyond = match wanted {
            Some(GetRange::Bounded(range)) => range.start >= size_bytes,
            Some(GetRange::Offset(start)) => start >= size_bytes,
            Some(GetRange::Suffix(bytes)) => bytes == 0 || size_bytes == 0,
            None => false,
        };
        if is_beyond {
            OriginError::Range { size_bytes }
        } else {
            failed(error)
        }
    }
}

impl CachedStore {
    fn result(&self, path: &Path, got: ObjectRead) -> GetResult {
        let (meta, attributes) = meta(path, &got.description);
        let location = path.to_string();
        let body = got.body.map_err(move |error| to_store_error(&location, error));
        GetResult {
            payload: GetResultPayload::Stream(body.boxed()),
            meta,
            range: got.range,
            attributes,
        }
    }
}

#[async_trait]
impl ObjectStore for CachedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let put = self.store.put_opts(location, payload, opts).await;
        self.forget(location);
        put
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Upload {
            upload: self.store.put_multipart_opts(location, opts).await?,
            store: self.clone(),
            location: location.clone(),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        // Older versions are rarely read, and rarely twice.
        if options.version.is_some() {
            return self.store.get_opts(location, options).await;
        }
        let to_error = |error| to_store_error(location.as_ref(), error);
        let is_conditional = options.if_match.is_some()
            || options.if_none_match.is_some()
            || options.if_modified_since.is_some()
            || options.if_unmodified_since.is_some();
        if !options.head && !is_conditional {
            let got = self
                .reads
                .get(location.as_ref(), options.range)
                .await
                .map_err(to_error)?;
            return Ok(self.result(location, got));
        }
        let described = self.reads.describe(location.as_ref()).await.map_err(to_error)?;
        options.check_preconditions(&meta(location, &described).0)?;
        let got = if options.head {
            ObjectRead {
                range: 0..described.size_bytes,
                description: described,
                body: futures_util::stream::empty().boxed(),
            }
        } else {
            let got = self
                .reads
                .get_version(location.as_ref(), &described, options.range)
                .await;
            got.map_err(to_error)?
        };
        Ok(self.result(location, got))
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let fetch = |range: Range<u64>| async move {
            let got = self
                .reads
                .get(location.as_ref(), Some(GetRange::Bounded(range.clone())))
                .await;
            let got = got.map_err(|error| to_store_error(location.as_ref(), error))?;
            self.result(location, got).bytes().await
        };
        object_store::coalesce_ranges(ranges, fetch, NEAR_BYTES).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        let deleted = self.store.delete_stream(locations);
        deleted.inspect_ok(move |path| this.forget(path)).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let copied = self.store.copy_opts(from, to, options).await;
        self.forget(to);
        copied
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let renamed = self.store.rename_opts(from, to, options).await;
        self.forget(from);
        self.forget(to);
        renamed
    }
}

/// A multipart upload. Its object becomes visible on completion.
struct Upload {
    upload: Box<dyn MultipartUpload>,
    store: CachedStore,
    location: Path,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let part: BoxFuture<'static, Result<()>> = self.upload.put_part(data);
        part.boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let completed = self.upload.complete().await;
        self.store.forget(&self.location);
        completed
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({})", self.location)
    }
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachedStore({:?})", self.store)
    }
}

impl fmt::Display for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} through a cache", self.store)
    }
}
