//! Access control: the check that s3s calls before each operation. A request is allowed if
//!
//! 1. the keys file gives its key the right; or
//! 2. the ACL of the bucket or object grants it (to the user, to all signed requests, or to
//!    everybody), and the keys file gives `own` to the *owner* of that bucket or object; or
//! 3. the bucket's policy allows it, and the keys file gives `own` to the bucket's owner. A policy
//!    covers the bucket and those objects that belong to the bucket's owner; or
//! 4. it comes from the owner, with a key that has `own`.
//!
//! A `Deny` in such a policy overrides all four, but never keeps the owner from the policy itself.
//!
//! The keys file has the last word: without `own` only rule 1 applies, and removing `own` from a
//! user voids that user's ACLs and policies. `block_public` voids grants to everybody. Buckets and
//! objects are private by default.

use std::sync::Arc;

use async_trait::async_trait;
use http::{Extensions, Uri};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::{CopySource, PostObjectInput, PutObjectTaggingInput};
use s3s::path::S3Path;
use s3s::{S3Request, S3Result};
use store::{Meta, Store, StoreError, VersionId};
use url::form_urlencoded;

use crate::digests::Digests;
use crate::error::{fault, from_store};
use crate::exchange::Exchange;
use crate::keys::{Keys, Right};
use crate::policy::Facts;
use crate::refusal::Refusal;
use crate::settings::BucketSettings;
use crate::signature_checks;

mod admission;
mod expected_owner;
mod facts;
pub(crate) mod needs;

pub(crate) use admission::block;
use admission::{Admission, Asking, EachAdmission, PendingAdmission, Requester, SourceAdmission, denied};
pub(crate) use facts::Peer;
use facts::{of_form, of_request, of_tags};

/// Longest validity of a presigned URL in seconds: a week, as in S3.
const LIFETIME_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

/// Provides the secrets of access keys to s3s.
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

/// Checks every operation against the rights of its key.
pub(crate) struct Access {
    pub(crate) keys: Arc<Keys>,
    pub(crate) store: Store,
    /// Whether forms may have version 2 signatures. `gate` has checked all other requests already.
    pub(crate) version_2: bool,
}

#[async_trait]
impl S3Access for Access {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let operation = cx.s3_op().name().to_owned();
        let id = cx.credentials().map(|credentials| credentials.access_key.clone());
        let who = Requester::of(id.as_deref(), &self.keys);
        let path = match cx.s3_path() {
            S3Path::Root => None,
            S3Path::Bucket { bucket } => Some((bucket.to_string(), None)),
            S3Path::Object { bucket, key } => Some((bucket.to_string(), Some(key.to_string()))),
        };
        let exchange = cx.extensions_mut().get::<Arc<Exchange>>().cloned();
        if let Some(exchange) = &exchange {
            take_note(exchange, &operation, &who, path.as_ref());
        }
        check_lifetime(cx.uri())?;
        check_operation(cx)?;
        let Some((bucket, key)) = path else {
            // Listing the buckets concerns no single bucket: every signed client may do it, and
            // sees only its buckets.
            return id.map(drop).ok_or_else(denied);
        };
        let peer = cx.extensions_mut().get::<Peer>().copied();
        let named = bucket.clone();
        let asked = (bucket, key, named_version(cx.uri()));
        if let Some(mut admission) = self.begin(cx, peer, &who, &operation, asked).await? {
            if let Some(exchange) = &exchange {
                exchange.note(|entry| entry.bucket_owner = Some(admission.owner().to_owned()));
            }
            if is_decided_later(&operation) {
                cx.extensions_mut().insert(PendingAdmission(admission));
            } else if operation == "DeleteObjects" && admission.has_policy() {
                cx.extensions_mut().insert(EachAdmission(admission));
            } else {
                admission.settle(&self.store).await?;
                cx.extensions_mut().insert(admission);
            }
        }
        // A bucket that is about to be created has no owner to compare with.
        if operation != "CreateBucket" {
            expected_owner::check(&self.store, cx, expected_owner::HEADER, &named).await?;
        }
        if let Some((bucket, key, version)) = copy_source(cx, &operation)? {
            let named = bucket.clone();
            let asked = (bucket, Some(key), version);
            if let Some(mut source) = self.begin(cx, peer, &who, "GetObject", asked).await? {
                source.settle(&self.store).await?;
                cx.extensions_mut().insert(SourceAdmission(source));
            }
            expected_owner::check(&self.store, cx, expected_owner::SOURCE_HEADER, &named).await?;
        }
        // This comes last, so that an unauthorized client learns nothing and costs no computation.
        if let Some(exchange) = exchange
            && let Some(digests) = Digests::of(&operation, cx.headers())?
        {
            exchange.body.expect(digests);
        }
        Ok(())
    }

    /// Decides about a form: its fields hold the object's key and the signature.
    async fn post_object(&self, request: &mut S3Request<PostObjectInput>) -> S3Result<()> {
        // Only version 4 signatures contain a region.
        if request.credentials.is_some() && request.region.is_none() && !self.version_2 {
            let refusal = signature_checks::version_2_refused();
            return Err(fault(refusal.code, refusal.message));
        }
        let facts = of_form(&request.input);
        let key = Some(request.input.key.clone());
        self.decide_now(&mut request.extensions, key, facts).await
    }

    /// Decides about tagging: the tags are in the body.
    async fn put_object_tagging(&self, request: &mut S3Request<PutObjectTaggingInput>) -> S3Result<()> {
        let facts = of_tags(&request.input.tagging.tag_set);
        self.decide_now(&mut request.extensions, None, facts).await
    }
}

/// Refuses a request that s3s parses as a different operation than [`crate::operation`] does.
fn check_operation(cx: &S3AccessContext<'_>) -> S3Result<()> {
    let head = signature_checks::Head {
        method: cx.method(),
        uri: cx.uri(),
        headers: cx.headers(),
    };
    match head.operation() {
        None => Ok(()),
        Some(named) => match named.map_err(Refusal::into_error)?.name {
            name if name == cx.s3_op().name() => Ok(()),
            name => Err(fault(
                "InvalidRequest",
                format!(
                    "the request is ambiguous: it can be {name} or {}",
                    cx.s3_op().name()
                ),
            )),
        },
    }
}

/// Reports whether an operation can be decided only after its body was read.
fn is_decided_later(operation: &str) -> bool {
    matches!(operation, "PostObject" | "PutObjectTagging")
}

/// Reports whether an operation reads one object. Such reads use the latest known state of the
/// bucket's record if the current one cannot be read. A change that is stored only on unreachable
/// nodes therefore takes no effect until they are back.
fn is_read(operation: &str) -> bool {
    matches!(operation, "GetObject" | "HeadObject" | "GetObjectAttributes")
}

impl Access {
    /// Decides an admission that waited for the body.
    async fn decide_now(
        &self,
        extensions: &mut Extensions,
        key: Option<String>,
        facts: Facts,
    ) -> S3Result<()> {
        let Some(PendingAdmission(mut admission)) = extensions.remove() else {
            return Ok(());
        };
        admission.learn(key, facts);
        admission.settle(&self.store).await?;
        extensions.insert(admission);
        Ok(())
    }

    /// Collects everything that the decision depends on; `None` if the keys file alone decides and
    /// allows the request.
    async fn begin(
        &self,
        cx: &S3AccessContext<'_>,
        peer: Option<Peer>,
        who: &Requester,
        operation: &str,
        (bucket, key, version): (String, Option<String>, Option<VersionId>),
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
        let record = if is_read(operation) {
            self.store.bucket_as_known(&bucket).await
        } else {
            self.store.bucket(&bucket).await
        };
        if matches!(record, Err(StoreError::Unavailable { .. }))
            && is_read(operation)
            && !self.keys.anybody_owns_in(&bucket)
        {
            // The record does not matter here: without `own` it can neither grant nor deny
            // anything.
            let may = may(needs::plain_right(operation));
            return may.then_some(None).ok_or_else(denied);
        }
        let record = record.map_err(from_store)?;
        let record = record.ok_or_else(|| fault("NoSuchBucket", "there is no such bucket"))?;
        let asking = Asking {
            who: who.clone(),
            operation: operation.to_owned(),
            need: needs::need_of(operation, cx.headers(), version.is_some()),
            bucket,
            key,
            version,
        };
        let admission = Admission::new(self.keys.clone(), asking, BucketSettings::of(&record)?, || {
            of_request(cx.headers(), cx.uri(), who.user.as_deref(), peer)
        })?;
        Ok(Some(admission))
    }
}

/// Returns the version named in a URL. Invalid ids give `None`; the operation refuses them.
fn named_version(uri: &Uri) -> Option<VersionId> {
    let mut query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let (_, text) = query.find(|(name, _)| name == "versionId")?;
    VersionId::parse(&text)
}

/// Records the operation and the sender for the metrics, the log and the connection.
fn take_note(exchange: &Exchange, operation: &str, who: &Requester, path: Option<&(String, Option<String>)>) {
    exchange.name(operation);
    if who.id.is_some() {
        exchange.trust();
    }
    exchange.note(|entry| {
        entry.requester.clone_from(&who.user);
        entry.access_key.clone_from(&who.id);
        if let Some((bucket, key)) = path {
            entry.bucket = Some(bucket.clone());
            entry.key.clone_from(key);
        }
    });
}

/// Refuses a request whose admission is still pending, so that an operation that forgets to decide
/// fails closed.
pub(crate) fn refuse_pending(extensions: &Extensions) -> S3Result<()> {
    match extensions.get::<PendingAdmission>() {
        None => Ok(()),
        Some(_) => Err(denied()),
    }
}

/// Admits or refuses the deletion of one object out of many.
///
/// # Errors
/// `AccessDenied`, or the store's error if the object cannot be read.
pub(crate) async fn admit_deletion(
    extensions: &Extensions,
    store: &Store,
    key: &str,
    version: Option<&str>,
) -> S3Result<()> {
    match extensions.get::<EachAdmission>() {
        None => Ok(()),
        Some(EachAdmission(admission)) => {
            let mut admission = admission.clone();
            admission.learn(Some(key.to_owned()), Facts::new());
            if let Some(id) = version.and_then(VersionId::parse) {
                admission.name_version(id);
            }
            admission.settle(store).await
        }
    }
}

/// Reports whether the sender may end retentions of mode `governance` early. If the keys file alone
/// decides, nobody may do this over S3.
pub(crate) fn may_bypass(extensions: &Extensions) -> bool {
    let one = extensions.get::<Admission>();
    let each = extensions
        .get::<EachAdmission>()
        .map(|EachAdmission(admission)| admission);
    one.or(each).is_some_and(Admission::may_bypass)
}

/// Decides again about an opened object if its version differs from the one that was admitted.
///
/// # Errors
/// `AccessDenied` if a concurrent write replaced the object with one that the sender may not read.
pub(crate) fn confirm(extensions: &Extensions, opened: &Meta) -> S3Result<()> {
    let admission = extensions.get::<Admission>();
    admission.map_or(Ok(()), |admission| admission.confirm(opened))
}

/// Like [`confirm`], for the source of a copy.
pub(crate) fn confirm_source(extensions: &Extensions, opened: &Meta) -> S3Result<()> {
    let admission = extensions.get::<SourceAdmission>();
    admission.map_or(Ok(()), |SourceAdmission(admission)| admission.confirm(opened))
}

/// Refuses a presigned URL whose validity exceeds a week, as in S3.
pub(crate) fn check_lifetime(uri: &Uri) -> S3Result<()> {
    let mut query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let lifetime = query.find(|(name, _)| name == "X-Amz-Expires");
    let seconds = lifetime.and_then(|(_, seconds)| seconds.parse::<u64>().ok());
    match seconds {
        Some(seconds) if seconds > LIFETIME_SECONDS_MAX => {
            let detail = format!("a presigned URL is valid for at most {LIFETIME_SECONDS_MAX} seconds");
            Err(fault("AccessDenied", detail))
        }
        _ => Ok(()),
    }
}

/// Returns the bucket, object and version that a copy reads from.
fn copy_source(
    cx: &S3AccessContext<'_>,
    operation: &str,
) -> S3Result<Option<(String, String, Option<VersionId>)>> {
    if !matches!(operation, "CopyObject" | "UploadPartCopy") {
        return Ok(None);
    }
    let wrong = || fault("InvalidArgument", "x-amz-copy-source must be bucket/key");
    let header = cx.headers().get("x-amz-copy-source").ok_or_else(wrong)?;
    let header = header.to_str().map_err(|_| wrong())?;
    match CopySource::parse(header).map_err(|_| wrong())? {
        CopySource::Bucket {
            bucket,
            key,
            version_id,
        } => {
            let version = version_id.as_deref().and_then(VersionId::parse);
            Ok(Some((bucket.into(), key.into(), version)))
        }
        CopySource::AccessPoint { .. } | CopySource::Outpost { .. } => Err(wrong()),
    }
}
