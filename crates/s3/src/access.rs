//! Signatures and rights: what s3s asks before an operation begins.

use std::sync::Arc;

use async_trait::async_trait;
use s3s::S3Result;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::CopySource;

use crate::error::fault;
use crate::exchange::Exchange;
use crate::keys::{Keys, Right};

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
pub(crate) struct Access(pub(crate) Arc<Keys>);

#[async_trait]
impl S3Access for Access {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let operation = cx.s3_op().name().to_owned();
        if let Some(exchange) = cx.extensions_mut().get::<Arc<Exchange>>() {
            exchange.name(&operation);
        }
        let id = cx
            .credentials()
            .map(|credentials| credentials.access_key.as_str());
        let allowed = match cx.s3_path().get_bucket_name() {
            None => id.is_some(),
            Some(bucket) => self.0.may(id, bucket, right(&operation)),
        };
        if !allowed {
            return Err(denied());
        }
        match copy_source(cx, &operation)? {
            Some(bucket) if !self.0.may(id, &bucket, Right::Read) => Err(denied()),
            _ => Ok(()),
        }
    }
}

fn denied() -> s3s::S3Error {
    fault("AccessDenied", "access denied")
}

/// The bucket that a copy reads from.
fn copy_source(cx: &S3AccessContext<'_>, operation: &str) -> S3Result<Option<String>> {
    if !matches!(operation, "CopyObject" | "UploadPartCopy") {
        return Ok(None);
    }
    let wrong = || fault("InvalidArgument", "x-amz-copy-source is not bucket/key");
    let header = cx.headers().get("x-amz-copy-source").ok_or_else(wrong)?;
    let header = header.to_str().map_err(|_| wrong())?;
    match CopySource::parse(header).map_err(|_| wrong())? {
        CopySource::Bucket { bucket, .. } => Ok(Some(bucket.into())),
        CopySource::AccessPoint { .. } | CopySource::Outpost { .. } => Err(wrong()),
    }
}

/// The right that an operation needs, by S3's name of it. Operations not named here are given by their verb, so that a
/// client without any right does not even learn what is not implemented.
fn right(operation: &str) -> Right {
    match operation {
        "HeadBucket" | "ListObjects" | "ListObjectsV2" | "ListObjectVersions" | "ListMultipartUploads" => {
            Right::List
        }
        "DeleteObject" | "DeleteObjects" | "DeleteBucket" => Right::Delete,
        // Whoever uploads may see and give up the own parts.
        "ListParts" | "AbortMultipartUpload" => Right::Write,
        _ if operation.starts_with("GetBucket") || operation.starts_with("GetPublic") => Right::List,
        _ if operation.starts_with("Get") || operation.starts_with("Head") => Right::Read,
        _ if operation.starts_with("List") => Right::List,
        _ => Right::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_needs_a_right() {
        for (operation, expected) in [
            ("GetObject", Right::Read),
            ("HeadObject", Right::Read),
            ("GetObjectTagging", Right::Read),
            ("PutObject", Right::Write),
            ("PostObject", Right::Write),
            ("CopyObject", Right::Write),
            ("CreateBucket", Right::Write),
            ("CompleteMultipartUpload", Right::Write),
            ("AbortMultipartUpload", Right::Write),
            ("DeleteObjectTagging", Right::Write),
            ("PutBucketPolicy", Right::Write),
            ("ListObjectsV2", Right::List),
            ("HeadBucket", Right::List),
            ("GetBucketLocation", Right::List),
            ("ListMultipartUploads", Right::List),
            ("DeleteObject", Right::Delete),
            ("DeleteObjects", Right::Delete),
            ("DeleteBucket", Right::Delete),
        ] {
            assert_eq!(right(operation), expected, "{operation}");
        }
    }
}
