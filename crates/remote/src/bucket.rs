//! Objects of a bucket, through [`ObjectStore`].

use std::io::{self, ErrorKind};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, UploadPart,
};

use crate::failure::{Failure, with_causes};
use crate::range_source::{Body, RangeSource};
use crate::retry::Retries;
use crate::s3_error::in_a_sentence;
use crate::stat::Stat;

/// Part size of a multipart upload: above the minimum of S3, and small enough to be answered in
/// time.
const PART_BYTES: usize = 8 << 20;

/// Number of parts uploaded concurrently.
const PARTS_AT_ONCE: usize = 2;

/// Advice for a store without conditional puts.
const CONDITIONS_UNKNOWN: &str = "this store does not support conditional puts (If-None-Match: *), which commits of tables require: \
     keep facts in another store, or in a folder (--facts DIR)";

/// Advice if the bucket is in another region.
pub(crate) const WRONG_REGION: &str = "the bucket is in another region: set AWS_REGION to it";

/// A store of objects, or one bucket of it.
pub(crate) struct Bucket {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Prefix of addresses in this bucket: `s3://bucket/`.
    pub(crate) root: String,
    /// Advice for the error when access is refused.
    pub(crate) refused: String,
    /// Whether the underlying client retries failed requests.
    pub(crate) retries: bool,
}

impl Bucket {
    /// Returns size and validator of an object; `None` if it does not exist.
    pub(crate) async fn stat(&self, path: &Path) -> Result<Option<Stat>, Failure> {
        match self.objects.head(path).await {
            Ok(meta) => Ok(Some(stat(&meta))),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Returns all objects whose name starts with `folder`, which is empty or ends in a slash,
    /// sorted by name.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<(Path, Stat)>, Failure> {
        let prefix = Path::parse(folder.trim_end_matches('/'))
            .map_err(|error| Failure::lasting(ErrorKind::InvalidInput, error.to_string()))?;
        let listing = self.objects.list((!folder.is_empty()).then_some(&prefix));
        let mut found: Vec<(Path, Stat)> = listing
            .map_ok(|meta| (meta.location.clone(), stat(&meta)))
            .try_collect()
            .await
            .map_err(|error| self.failure(&error))?;
        // Stores list in different orders; the caller relies on the order of names.
        found.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        Ok(found)
    }

    /// Reads an object, with the timeout of `retries` for each piece; `None` if it does not exist.
    pub(crate) async fn read(&self, path: &Path, retries: &Retries) -> Result<Option<Bytes>, Failure> {
        let asked = async {
            match self.objects.get(path).await {
                Ok(answer) => Ok(Some(answer)),
                Err(Error::NotFound { source, .. }) if !is_no_bucket(&with_causes(&*source)) => Ok(None),
                Err(error) => Err(self.failure(&error)),
            }
        };
        let Some(answer) = retries.with_timeout(asked).await? else {
            return Ok(None);
        };
        let (size, mut bytes) = (answer.meta.size, BytesMut::new());
        let mut pieces = answer.into_stream();
        let broken = |error: Error| Failure::passing(with_causes(&error));
        while let Some(piece) = retries
            .with_timeout(async { pieces.try_next().await.map_err(broken) })
            .await?
        {
            bytes.extend_from_slice(&piece);
        }
        if bytes.len() as u64 == size {
            Ok(Some(bytes.freeze()))
        } else {
            Err(Failure::passing(format!(
                "the answer ended after {} of {size} bytes",
                bytes.len()
            )))
        }
    }

    /// Returns the names of the objects directly in a folder, in any order.
    pub(crate) async fn names(&self, folder: &Path) -> Result<Vec<String>, Failure> {
        let listed = self.objects.list_with_delimiter(Some(folder)).await;
        let objects = listed.map_err(|error| self.failure(&error))?.objects.into_iter();
        let name = |meta: ObjectMeta| meta.location.filename().map(str::to_owned);
        Ok(objects.filter_map(name).collect())
    }

    /// Writes an object, in parts if it is large, with the timeout of `retries` for each response.
    pub(crate) async fn write(&self, path: &Path, bytes: &Bytes, retries: &Retries) -> Result<(), Failure> {
        let to_result = |result: Result<_, Error>| result.map_err(|error| self.failure(&error));
        if bytes.len() <= PART_BYTES {
            let put = self.objects.put(path, bytes.clone().into());
            retries
                .with_timeout(async { to_result(put.await.map(drop)) })
                .await?;
            return Ok(());
        }
        let begun = async {
            let upload = self.objects.put_multipart(path).await;
            upload.map_err(|error| self.failure(&error))
        };
        let mut upload = retries.with_timeout(begun).await?;
        let sent = async {
            let mut under_way = FuturesUnordered::new();
            for begin in (0..bytes.len()).step_by(PART_BYTES) {
                let part = bytes.slice(begin..bytes.len().min(begin + PART_BYTES));
                // Started in order, because the store numbers the parts in this order.
                under_way.push(self.send_part(upload.put_part(part.into()), retries));
                if under_way.len() >= PARTS_AT_ONCE {
                    under_way.try_next().await?;
                }
            }
            while under_way.try_next().await?.is_some() {}
            drop(under_way);
            let completed = async { to_result(upload.complete().await.map(drop)) };
            retries.with_timeout(completed).await
        };
        let outcome = sent.await;
        if outcome.is_err() {
            // If this also fails, the store keeps the parts until it clears abandoned uploads.
            let _ = retries
                .with_timeout(async { to_result(upload.abort().await) })
                .await;
        }
        outcome
    }

    async fn send_part(&self, part: UploadPart, retries: &Retries) -> Result<(), Failure> {
        retries
            .with_timeout(async { part.await.map_err(|error| self.failure(&error)) })
            .await
    }

    /// Creates an object if it does not exist. Returns whether it was created.
    pub(crate) async fn create(&self, path: &Path, bytes: &Bytes) -> Result<bool, Failure> {
        let put = self
            .objects
            .put_opts(path, bytes.clone().into(), PutMode::Create.into());
        match put.await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => {
                let is_unknown = matches!(error, Error::NotImplemented { .. })
                    || with_causes(&error).contains("status code: 501");
                if is_unknown {
                    Err(Failure::lasting(ErrorKind::Unsupported, CONDITIONS_UNKNOWN))
                } else {
                    Err(self.failure(&error))
                }
            }
        }
    }

    /// Converts an error to a failure: temporary or final, with a text.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        match error {
            Error::NotFound { source, .. } => {
                let text = with_causes(&**source);
                if is_no_bucket(&text) {
                    Failure::lasting(ErrorKind::NotFound, self.error_text(&text))
                } else {
                    Failure::lasting(ErrorKind::NotFound, "no such object (404)")
                }
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Failure::lasting(
                ErrorKind::PermissionDenied,
                format!("refused (403): {}", self.refused),
            ),
            Error::Precondition { .. } => Failure::changed("412"),
            Error::Generic { source, .. } => {
                let text = with_causes(&**source);
                // Listings report a refusal as a generic error.
                if is_refused(&text) {
                    let told = format!("refused (403): {}; {}", self.refused, self.error_text(&text));
                    Failure::lasting(ErrorKind::PermissionDenied, told)
                } else if is_wrong_region(&text) {
                    Failure::lasting(
                        ErrorKind::Other,
                        format!("{}; {WRONG_REGION}", self.error_text(&text)),
                    )
                // The underlying client has already retried according to the settings; retrying
                // here would multiply the attempts.
                } else if self.retries {
                    Failure::lasting(ErrorKind::Other, self.error_text(&text))
                } else {
                    Failure::passing(text)
                }
            }
            other => Failure::lasting(ErrorKind::Other, self.error_text(&with_causes(other))),
        }
    }

    fn error_text(&self, text: &str) -> String {
        let bucket = self.root.split('/').nth(2).unwrap_or_default();
        in_a_sentence(text, bucket)
    }
}

/// Returns whether a 404 means that the bucket does not exist.
pub(crate) fn is_no_bucket(text: &str) -> bool {
    text.contains("<Code>NoSuchBucket</Code>")
}

/// Returns whether an error of the client is a refused access.
pub(crate) fn is_refused(text: &str) -> bool {
    ["status code: 403", "status code: 401"]
        .iter()
        .any(|sign| text.contains(sign))
}

pub(crate) fn is_wrong_region(text: &str) -> bool {
    [
        "redirect without LOCATION",
        "PermanentRedirect",
        "AuthorizationHeaderMalformed",
    ]
    .iter()
    .any(|sign| text.contains(sign))
}

fn stat(meta: &ObjectMeta) -> Stat {
    Stat {
        size: meta.size,
        // A weak tag (`W/`) promises equivalent content, not equal bytes: ranges of two such
        // versions must not be mixed.
        validator: meta.e_tag.clone().filter(|tag| !tag.starts_with("W/")),
        sha256: None,
    }
}

/// An object of a bucket, in the version seen when it was opened.
pub(crate) struct BucketObject {
    pub(crate) bucket: Arc<Bucket>,
    pub(crate) path: Path,
    pub(crate) seen: Stat,
}

#[async_trait]
impl RangeSource for BucketObject {
    async fn get(&self, start: u64, end: u64) -> Result<Body, Failure> {
        let options = GetOptions {
            // The header makes the store refuse another version; the comparisons below are for
            // stores that ignore it.
            if_match: self.seen.validator.clone(),
            range: Some(GetRange::Bounded(start..end)),
            ..GetOptions::default()
        };
        let asked = self.bucket.objects.get_opts(&self.path, options).await;
        let answer = asked.map_err(|error| self.bucket.failure(&error))?;
        let found = stat(&answer.meta);
        if found.size != self.seen.size {
            return Err(Failure::changed(format!(
                "{} bytes, now {}",
                self.seen.size, found.size
            )));
        }
        if self.seen.validator.is_some() && found.validator != self.seen.validator {
            return Err(Failure::changed("its entity tag is another one"));
        }
        if answer.range != (start..end) {
            let what = format!("asked for bytes {start}..{end}, got {:?}", answer.range);
            return Err(Failure::Final(io::Error::new(ErrorKind::InvalidData, what)));
        }
        let pieces = answer
            .into_stream()
            .map_err(|error| Failure::passing(with_causes(&error)));
        Ok(pieces.boxed())
    }
}
