//! Signatures and rights: what s3s asks before an operation begins.
//!
//! **The rule.** A request is allowed if
//!
//! 1. the keys file gives its key the right; or
//! 2. the list (ACL) of the bucket or object gives it - to the user by name, to everybody with a key, or to everybody -
//!    and the keys file lets the *owner* of that bucket or object `own` there; or
//! 3. it comes from that owner itself, with a key that has `own` there.
//!
//! So whoever administers a store can rely on the keys file: without `own` in it nothing but the file counts, and taking `own`
//! away from a user takes back everything that this user's lists gave to others. `block_public` in it makes grants to
//! everybody void. Buckets and objects are private until their owner says otherwise.

use std::sync::Arc;

use async_trait::async_trait;
use http::Extensions;
use s3s::S3Result;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::CopySource;
use s3s::path::S3Path;
use store::meta::Meta;
use store::store::{Store, StoreError};

use crate::error::{fault, from_store};
use crate::exchange::Exchange;
use crate::keys::{Keys, Right};
use crate::names;
use crate::settings::BucketSettings;

mod admission;
mod needs;

pub(crate) use admission::block;
use admission::{Admission, Asking, SourceAdmission, Who};

/// Gives s3s the secrets.
pub(crate) struct Secrets(pub(crate) Arc<Keys>);

#[async_trait]
impl S3Auth for Secrets {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        let secret = self.0.secret(access_key);
        secret
            .map(SecretKey::from)
            .ok_or_else(|| fault("InvalidAccessKeyId", "there is no such access key"))
    }
}

/// Compares every operation with the rights of its key.
pub(crate) struct Access {
    pub(crate) keys: Arc<Keys>,
    pub(crate) store: Store,
}

#[async_trait]
impl S3Access for Access {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let operation = cx.s3_op().name().to_owned();
        if let Some(exchange) = cx.extensions_mut().get::<Arc<Exchange>>() {
            exchange.name(&operation);
        }
        let id = cx.credentials().map(|credentials| credentials.access_key.clone());
        let who = Who::of(id.as_deref(), &self.keys);
        let (bucket, key) = match cx.s3_path() {
            // Who has no key sees no bucket.
            S3Path::Root => return Ok(()),
            S3Path::Bucket { bucket } => (bucket.to_string(), None),
            S3Path::Object { bucket, key } => (bucket.to_string(), Some(key.to_string())),
        };
        if let Some(admission) = self.admit(&who, &operation, bucket, key).await? {
            cx.extensions_mut().insert(admission);
        }
        if let Some((bucket, key)) = copy_source(cx, &operation)? {
            let source = self.admit(&who, "GetObject", bucket, Some(key)).await?;
            if let Some(source) = source {
                cx.extensions_mut().insert(SourceAdmission(source));
            }
        }
        Ok(())
    }
}

impl Access {
    /// Admits a request or refuses it; `None` if the keys file alone decides.
    async fn admit(
        &self,
        who: &Who,
        operation: &str,
        bucket: String,
        key: Option<String>,
    ) -> S3Result<Option<Admission>> {
        let may = |right| self.keys.may(who.id.as_deref(), &bucket, right);
        if operation == "CreateBucket" {
            let may = may(Right::Write) || may(Right::Own);
            return may.then_some(None).ok_or_else(denied);
        }
        if !self.keys.anybody_owns() {
            let may = may(needs::plain_right(operation));
            return may.then_some(None).ok_or_else(denied);
        }
        let record = match self.store.head(&names::bucket(&bucket)?).await {
            Err(StoreError::NotFound(_)) => return Err(fault("NoSuchBucket", "there is no such bucket")),
            other => other.map_err(from_store)?,
        };
        let asking = Asking {
            who: who.clone(),
            operation: operation.to_owned(),
            need: needs::need(operation),
            bucket,
            key,
        };
        let mut admission = Admission::new(self.keys.clone(), asking, BucketSettings::of(&record)?);
        admission.settle(&self.store).await?;
        Ok(Some(admission))
    }
}

/// Decides again about an object that was opened, if that is not the version that the request was admitted for.
///
/// # Errors
/// `AccessDenied`.
pub(crate) fn confirm(extensions: &Extensions, opened: &Meta) -> S3Result<()> {
    let admission = extensions.get::<Admission>();
    admission.map_or(Ok(()), |admission| admission.confirm(opened))
}

/// The same for what a copy reads from.
///
/// # Errors
/// `AccessDenied`.
pub(crate) fn confirm_source(extensions: &Extensions, opened: &Meta) -> S3Result<()> {
    let admission = extensions.get::<SourceAdmission>();
    admission.map_or(Ok(()), |SourceAdmission(admission)| admission.confirm(opened))
}

fn denied() -> s3s::S3Error {
    fault("AccessDenied", "access denied")
}

/// The bucket and object that a copy reads from.
fn copy_source(cx: &S3AccessContext<'_>, operation: &str) -> S3Result<Option<(String, String)>> {
    if !matches!(operation, "CopyObject" | "UploadPartCopy") {
        return Ok(None);
    }
    let wrong = || fault("InvalidArgument", "x-amz-copy-source is not bucket/key");
    let header = cx.headers().get("x-amz-copy-source").ok_or_else(wrong)?;
    let header = header.to_str().map_err(|_| wrong())?;
    match CopySource::parse(header).map_err(|_| wrong())? {
        CopySource::Bucket { bucket, key, .. } => Ok(Some((bucket.into(), key.into()))),
        CopySource::AccessPoint { .. } | CopySource::Outpost { .. } => Err(wrong()),
    }
}
