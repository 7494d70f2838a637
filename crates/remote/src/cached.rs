//! Inputs read through the cache tier.

use std::io::ErrorKind;
use std::sync::Arc;

use async_trait::async_trait;
use cache::{Cache, CachedOrigin, Description, Origin, OriginError, StoreOrigin, User, Validator};
use futures_util::{StreamExt, TryStreamExt};
use object_store::{Error, GetRange};
use url::Url;

use crate::bucket::Bucket;
use crate::failure::Failure;
use crate::range_source::{Body, RangeSource};
use crate::stat::Stat;
use crate::web::{WebFile, WebRanges, WebStat};

/// One version of an object, read through the tier.
pub(crate) struct CachedRanges {
    through: CachedOrigin,
    path: String,
    description: Arc<Description>,
    /// The bucket, for errors of its store; `None` for a web server, whose errors are
    /// self-contained.
    bucket: Option<Arc<Bucket>>,
}

impl CachedRanges {
    /// Opens an object of a bucket: the version `seen`, or the current one.
    pub(crate) async fn of_bucket(
        cache: &Cache,
        bucket: Arc<Bucket>,
        endpoint: &str,
        path: String,
        seen: Option<&Stat>,
    ) -> Result<CachedRanges, Failure> {
        let origin = StoreOrigin {
            store: bucket.objects.clone(),
            // `s3://bucket/` and `store://`: without the slash before the path.
            root: bucket.root.strip_suffix('/').unwrap_or(&bucket.root).to_owned(),
            endpoint: endpoint.to_owned(),
        };
        CachedRanges::new(cache, Arc::new(origin), Some(bucket), path, seen).await
    }

    /// Opens a file of a web server; `None` if the tier cannot cache it, so that it is read
    /// directly.
    pub(crate) async fn of_web(
        cache: &Cache,
        file: WebFile,
        seen: Option<&Stat>,
    ) -> Result<Option<CachedRanges>, Failure> {
        let Some((origin, path)) = WebOrigin::of(file) else {
            return Ok(None);
        };
        match CachedRanges::new(cache, Arc::new(origin), None, path, seen).await {
            Err(Failure::Final(error)) if error.kind() == ErrorKind::Unsupported => Ok(None),
            other => other.map(Some),
        }
    }

    async fn new(
        cache: &Cache,
        origin: Arc<dyn Origin>,
        bucket: Option<Arc<Bucket>>,
        path: String,
        seen: Option<&Stat>,
    ) -> Result<CachedRanges, Failure> {
        // Inputs that were examined before they are opened are loads, which read from start to end.
        let user = if seen.is_some() {
            User::Inputs
        } else {
            User::Records
        };
        let through = cache.origin_reader(origin, user);
        let to_failure = |error: OriginError| failure(bucket.as_deref(), error);
        // An object of a bucket needs no request if its version is known. A web server must be
        // asked whether it supports ranges.
        let of_seen = seen.filter(|_| bucket.is_some()).and_then(described);
        let description = match of_seen {
            Some(description) => Arc::new(description),
            None => {
                let description = through.describe(&path).await.map_err(&to_failure)?;
                if seen.is_none_or(|seen| is_of(&description, seen)) {
                    description
                } else {
                    // The seen version is newer than the cached one, or has been replaced
                    // since.
                    through.forget(&path);
                    through.describe(&path).await.map_err(&to_failure)?
                }
            }
        };
        if seen.is_some_and(|seen| !is_of(&description, seen)) {
            return Err(Failure::changed("another one is there"));
        }
        Ok(CachedRanges {
            through,
            path,
            description,
            bucket,
        })
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.description.size_bytes
    }
}

/// Returns whether a version may be the one that was seen.
fn is_of(description: &Description, seen: &Stat) -> bool {
    let tag = match &description.validator {
        Validator::Tag(tag) if !tag.starts_with(MODIFIED) => Some(tag),
        _ => None,
    };
    let same_tag = tag.is_none() || seen.validator.is_none() || seen.validator.as_ref() == tag;
    // A size of 0 means that the server did not report one.
    same_tag && (seen.size == description.size_bytes || seen.size == 0)
}

/// Returns the description of the version that was seen, if it has a tag.
fn described(seen: &Stat) -> Option<Description> {
    let tag = seen.validator.clone()?;
    Some(Description {
        size_bytes: seen.size,
        validator: Validator::Tag(tag),
        beside: Default::default(),
    })
}

#[async_trait]
impl RangeSource for CachedRanges {
    async fn get(&self, start: u64, end: u64) -> Result<Body, Failure> {
        let wanted = Some(GetRange::Bounded(start..end));
        let got = self
            .through
            .get_version(&self.path, &self.description, wanted)
            .await;
        let bucket = self.bucket.clone();
        let to_failure = move |error| failure(bucket.as_deref(), error);
        let got = got.map_err(&to_failure)?;
        Ok(got.body.map_err(to_failure).boxed())
    }
}

/// Converts an error of the tier for the readers of inputs.
pub(crate) fn failure(bucket: Option<&Bucket>, error: OriginError) -> Failure {
    match error {
        OriginError::Changed => Failure::changed("another one is there"),
        OriginError::Range { size_bytes } => Failure::changed(format!("it has {size_bytes} bytes now")),
        OriginError::Missing(cause) | OriginError::Lasting(cause) | OriginError::Passing(cause) => {
            let of_store = cause.downcast_ref::<Error>();
            if let (Some(bucket), Some(error)) = (bucket, of_store) {
                return bucket.failure(error);
            }
            match cause.downcast_ref::<WebFailure>() {
                Some(web_failure) if web_failure.passes => Failure::passing(&web_failure.text),
                Some(web_failure) => Failure::lasting(web_failure.kind, web_failure.text.clone()),
                None => Failure::passing(cause),
            }
        }
    }
}

/// A failure of a web server, passed through the tier.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct WebFailure {
    kind: ErrorKind,
    text: String,
    passes: bool,
}

fn to_origin_error(failure: Failure) -> OriginError {
    let (web_failure, wrap): (WebFailure, fn(cache::Cause) -> OriginError) = match failure {
        Failure::Passing(text, _) => (
            WebFailure {
                kind: ErrorKind::Other,
                text,
                passes: true,
            },
            OriginError::Passing,
        ),
        Failure::Final(error) if error.kind() == ErrorKind::InvalidData => return OriginError::Changed,
        Failure::Final(error) => (
            WebFailure {
                kind: error.kind(),
                text: error.to_string(),
                passes: false,
            },
            match error.kind() {
                ErrorKind::NotFound => OriginError::Missing,
                _ => OriginError::Lasting,
            },
        ),
    };
    wrap(Arc::new(web_failure))
}

/// The files of one web server. A path is the part of the URL after the host and the slash.
struct WebOrigin {
    file: WebFile,
    root: String,
}

/// Prefix of a validator that is the server's modification time.
const MODIFIED: &str = "Last-Modified: ";

impl WebOrigin {
    /// Returns `None` for an address that must not be stored: one with a query may be signed and so
    /// is a secret.
    fn of(file: WebFile) -> Option<(WebOrigin, String)> {
        let url = Url::parse(file.plain_address()?).ok()?;
        let root = url.origin().ascii_serialization();
        let path = url.path().trim_start_matches('/').to_owned();
        Some((WebOrigin { file, root }, path))
    }

    fn at(&self, path: &str) -> WebFile {
        self.file.on_same_server(format!("{}/{path}", self.root))
    }

    async fn stat(&self, path: &str) -> Result<(WebStat, Description), OriginError> {
        let stat = self.at(path).stat().await.map_err(to_origin_error)?;
        let gone = || Failure::lasting(ErrorKind::NotFound, "no such input (404)");
        let stat = stat.ok_or_else(gone).map_err(to_origin_error)?;
        let description = version(&stat).ok_or_else(|| {
            let what = "this server gives no ranges, or nothing that tells versions";
            to_origin_error(Failure::lasting(ErrorKind::Unsupported, what))
        })?;
        Ok((stat, description))
    }
}

fn version(stat: &WebStat) -> Option<Description> {
    let tag = stat.stat().validator;
    let modified = || Some(format!("{MODIFIED}{}", stat.modified()?));
    Some(Description {
        size_bytes: stat.size.filter(|_| stat.ranges)?,
        validator: Validator::Tag(tag.or_else(modified)?),
        beside: Default::default(),
    })
}

/// Returns the expected description in a server's response for a version.
fn expected_of(description: &Description) -> WebStat {
    let Description {
        size_bytes,
        validator,
        ..
    } = description;
    let tag = match validator {
        Validator::Tag(tag) => tag.as_str(),
        Validator::Modified(_) => "",
    };
    match tag.strip_prefix(MODIFIED) {
        Some(modified) => WebStat::expected(*size_bytes, None, Some(modified.to_owned())),
        None => WebStat::expected(*size_bytes, Some(tag.to_owned()), None),
    }
}

#[async_trait]
impl Origin for WebOrigin {
    fn root(&self) -> &str {
        &self.root
    }

    async fn describe(&self, path: &str) -> Result<Description, OriginError> {
        Ok(self.stat(path).await?.1)
    }

    async fn get(
        &self,
        path: &str,
        expected: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<cache::Answer, OriginError> {
        let (seen, description) = match expected {
            Some(expected) => (expected_of(expected), expected.clone()),
            // The version must be known before a range of it is requested.
            None => self.stat(path).await?,
        };
        let range = cache::resolve(wanted.as_ref(), description.size_bytes)?;
        let ranges = WebRanges {
            file: self.at(path),
            seen,
        };
        let body = ranges
            .get(range.start, range.end)
            .await
            .map_err(to_origin_error)?;
        Ok(cache::Answer {
            description,
            range,
            body: body.map_err(to_origin_error).boxed(),
        })
    }
}
