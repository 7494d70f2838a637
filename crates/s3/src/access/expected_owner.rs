//! `x-amz-expected-bucket-owner`: a client names the bucket owner that it expects. This prevents
//! access to a bucket that another user created after the expected one was removed.

use s3s::S3Result;
use s3s::access::S3AccessContext;
use store::Store;
use url::form_urlencoded;

use crate::error::{fault, from_store};
use crate::settings::BucketSettings;

/// Header with the expected owner of the bucket.
pub(super) const HEADER: &str = "x-amz-expected-bucket-owner";

/// Header with the expected owner of the source bucket of a copy.
pub(super) const SOURCE_HEADER: &str = "x-amz-source-expected-bucket-owner";

/// Refuses a request if the bucket's owner differs from the expected one.
pub(super) async fn check(store: &Store, cx: &S3AccessContext<'_>, name: &str, bucket: &str) -> S3Result<()> {
    let header = cx.headers().get(name);
    let header = header.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    // Presigned URLs carry it as a query parameter.
    let mut query = form_urlencoded::parse(cx.uri().query().unwrap_or_default().as_bytes());
    let in_address = query.find(|(found, _)| found.eq_ignore_ascii_case(name));
    let Some(expected) = header.or_else(|| Some(in_address?.1.into_owned())) else {
        return Ok(());
    };
    let record = store.bucket(bucket).await.map_err(from_store)?;
    let record = record.ok_or_else(|| fault("NoSuchBucket", "there is no such bucket"))?;
    if BucketSettings::of(&record)?.owner == expected {
        Ok(())
    } else {
        Err(fault(
            "AccessDenied",
            format!("the bucket's owner is not the one given in {name}"),
        ))
    }
}
