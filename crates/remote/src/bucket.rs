//! Objects of a bucket, through [`ObjectStore`].

use std::io::{self, ErrorKind};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::failure::{Failure, with_causes};
use crate::range_source::{Body, RangeSource};
use crate::s3_error::in_a_sentence;
use crate::stat::Stat;

/// A store of objects, or one bucket of it.
pub(crate) struct Bucket {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Prefix of addresses in this bucket: `s3://bucket/`.
    pub(crate) root: String,
    /// Advice for the error when access is refused.
    pub(crate) refused: String,
    /// Whether the client below retries failed requests itself.
    pub(crate) retries: bool,
}

impl Bucket {
    /// Size and validator of an object; `None` if it does not exist.
    pub(crate) async fn stat(&self, path: &Path) -> Result<Option<Stat>, Failure> {
        match self.objects.head(path).await {
            Ok(meta) => Ok(Some(stat(&meta))),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Everything whose name begins with `folder`, which is empty or ends in a slash, sorted by name.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<(Path, Stat)>, Failure> {
        let prefix = Path::parse(folder.trim_end_matches('/'))
            .map_err(|error| Failure::lasting(ErrorKind::InvalidInput, error.to_string()))?;
        let listing = self.objects.list((!folder.is_empty()).then_some(&prefix));
        let mut found: Vec<(Path, Stat)> = listing
            .map_ok(|meta| (meta.location.clone(), stat(&meta)))
            .try_collect()
            .await
            .map_err(|error| self.failure(error))?;
        // Stores list in an order of their own; the caller relies on the order of names.
        found.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        Ok(found)
    }

    /// Converts an error: whether it may pass, and its text.
    fn failure(&self, error: Error) -> Failure {
        match error {
            Error::NotFound { .. } => Failure::lasting(ErrorKind::NotFound, "no such object (404)"),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Failure::lasting(
                ErrorKind::PermissionDenied,
                format!("refused (403): {}", self.refused),
            ),
            Error::Precondition { .. } => Failure::changed("412"),
            Error::Generic { source, .. } => {
                let text = with_causes(&*source);
                // A listing has no error of its own for this.
                if is_refused(&text) {
                    let told = format!("refused (403): {}; {}", self.refused, self.sentence(&text));
                    Failure::lasting(ErrorKind::PermissionDenied, told)
                } else if is_wrong_region(&text) {
                    let advice = "the bucket is in another region: set AWS_REGION to it";
                    Failure::lasting(ErrorKind::Other, format!("{}; {advice}", self.sentence(&text)))
                // The client below has retried as often as the settings allow: retrying here would multiply
                // that.
                } else if self.retries {
                    Failure::lasting(ErrorKind::Other, self.sentence(&text))
                } else {
                    Failure::passing(text)
                }
            }
            other => Failure::lasting(ErrorKind::Other, self.sentence(&with_causes(&other))),
        }
    }

    fn sentence(&self, text: &str) -> String {
        let bucket = self.root.split('/').nth(2).unwrap_or_default();
        in_a_sentence(text, bucket)
    }
}

/// Whether an error of the client is an answer that refuses access.
pub(crate) fn is_refused(text: &str) -> bool {
    ["status code: 403", "status code: 401"]
        .iter()
        .any(|sign| text.contains(sign))
}

fn is_wrong_region(text: &str) -> bool {
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
        // A weak tag (`W/`) promises equal meaning, not equal bytes: ranges of two such versions must not be
        // mixed.
        validator: meta.e_tag.clone().filter(|tag| !tag.starts_with("W/")),
        sha256: None,
    }
}

/// An object of a bucket, in the version that was seen when it was opened.
pub(crate) struct BucketObject {
    pub(crate) bucket: Arc<Bucket>,
    pub(crate) path: Path,
    pub(crate) seen: Stat,
}

#[async_trait]
impl RangeSource for BucketObject {
    async fn get(&self, start: u64, end: u64) -> Result<Body, Failure> {
        let options = GetOptions {
            // With it the store refuses another version; the comparisons below are for stores that ignore the
            // header.
            if_match: self.seen.validator.clone(),
            range: Some(GetRange::Bounded(start..end)),
            ..GetOptions::default()
        };
        let asked = self.bucket.objects.get_opts(&self.path, options).await;
        let answer = asked.map_err(|error| self.bucket.failure(error))?;
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
