//! What each operation needs: a right of the keys file, or a permission of a list, or actions that a policy allows.
//!
//! Operations not named here are given by their verb and are the bucket owner's, so that a client without any right does
//! not even learn what is not implemented.

use http::HeaderMap;

use crate::acl::Permission;
use crate::keys::Right;

/// What a list must grant for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// This, in the bucket's list.
    Bucket(Permission),
    /// This, in the object's list.
    Object(Permission),
    /// Nothing that a list can grant: it is for the bucket's owner.
    Owner,
}

/// What an operation needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The right in the keys file that is enough, if one is.
    pub(crate) right: Option<Right>,
    /// The permission in a list that is enough.
    pub(crate) listed: Listed,
    /// The action that a policy must allow.
    pub(crate) action: String,
    /// Further actions that a policy must not deny.
    pub(crate) also: Vec<&'static str>,
}

/// By S3's name of the operation and the headers of a request: whoever writes an object with a list or tags must not be
/// denied to set those.
pub(crate) fn need_of(operation: &str, headers: &HeaderMap) -> Need {
    let mut need = need(operation);
    if need.action == "s3:PutObject" {
        let mut names = headers.keys().map(http::HeaderName::as_str);
        if names.any(|name| name == "x-amz-acl" || name.starts_with("x-amz-grant-")) {
            need.also.push("s3:PutObjectAcl");
        }
        if headers.contains_key("x-amz-tagging") {
            need.also.push("s3:PutObjectTagging");
        }
    }
    need
}

/// By S3's name of the operation.
pub(crate) fn need(operation: &str) -> Need {
    use Listed::{Bucket, Object, Owner};
    use Permission::{FullControl, Read, ReadAcp, Write, WriteAcp};
    let (listed, action) = match operation {
        "GetObject" | "HeadObject" => (Object(Read), "GetObject"),
        "GetObjectAttributes" => (Object(Read), "GetObjectAttributes"),
        "GetObjectAcl" => (Object(ReadAcp), "GetObjectAcl"),
        "PutObjectAcl" => (Object(WriteAcp), "PutObjectAcl"),
        "GetObjectTagging" | "PutObjectTagging" | "DeleteObjectTagging" => (Object(FullControl), operation),
        "PutObject"
        | "PostObject"
        | "CopyObject"
        | "CreateMultipartUpload"
        | "UploadPart"
        | "UploadPartCopy"
        | "CompleteMultipartUpload" => (Bucket(Write), "PutObject"),
        "AbortMultipartUpload" => (Bucket(Write), "AbortMultipartUpload"),
        "ListParts" => (Bucket(Write), "ListMultipartUploadParts"),
        "DeleteObject" | "DeleteObjects" => (Bucket(Write), "DeleteObject"),
        "HeadBucket" | "ListObjects" | "ListObjectsV2" => (Bucket(Read), "ListBucket"),
        "ListObjectVersions" => (Bucket(Read), "ListBucketVersions"),
        "ListMultipartUploads" => (Bucket(Read), "ListBucketMultipartUploads"),
        "GetBucketLocation" => (Bucket(Read), "GetBucketLocation"),
        "GetBucketAcl" => (Bucket(ReadAcp), "GetBucketAcl"),
        "PutBucketAcl" => (Bucket(WriteAcp), "PutBucketAcl"),
        "GetPublicAccessBlock" => (Owner, "GetBucketPublicAccessBlock"),
        "PutPublicAccessBlock" | "DeletePublicAccessBlock" => (Owner, "PutBucketPublicAccessBlock"),
        "DeleteBucketOwnershipControls" => (Owner, "PutBucketOwnershipControls"),
        "GetBucketCors" => (Owner, "GetBucketCORS"),
        "PutBucketCors" | "DeleteBucketCors" => (Owner, "PutBucketCORS"),
        "DeleteBucketTagging" => (Owner, "PutBucketTagging"),
        "GetBucketAccelerateConfiguration" => (Owner, "GetAccelerateConfiguration"),
        "GetBucketEncryption" => (Owner, "GetEncryptionConfiguration"),
        "GetBucketLifecycleConfiguration" => (Owner, "GetLifecycleConfiguration"),
        "GetBucketNotificationConfiguration" => (Owner, "GetBucketNotification"),
        "GetBucketReplication" => (Owner, "GetReplicationConfiguration"),
        "GetObjectLockConfiguration" => (Owner, "GetBucketObjectLockConfiguration"),
        "PutObjectLockConfiguration" => (Owner, "PutBucketObjectLockConfiguration"),
        "ListBucketAnalyticsConfigurations" => (Owner, "GetAnalyticsConfiguration"),
        "ListBucketIntelligentTieringConfigurations" => (Owner, "GetIntelligentTieringConfiguration"),
        "ListBucketInventoryConfigurations" => (Owner, "GetInventoryConfiguration"),
        "ListBucketMetricsConfigurations" => (Owner, "GetMetricsConfiguration"),
        other => (Owner, other),
    };
    let also = match operation {
        "GetObjectAttributes" => vec!["s3:GetObject"],
        _ => Vec::new(),
    };
    Need {
        right: right(operation),
        listed,
        action: format!("s3:{action}"),
        also,
    }
}

/// Operations that say who may do what: no right of the keys file but `own` is enough for them.
fn is_about_rights(operation: &str) -> bool {
    matches!(
        operation,
        "PutBucketAcl"
            | "PutObjectAcl"
            | "GetBucketPolicy"
            | "PutBucketPolicy"
            | "DeleteBucketPolicy"
            | "PutPublicAccessBlock"
            | "DeletePublicAccessBlock"
            | "PutBucketOwnershipControls"
            | "DeleteBucketOwnershipControls"
    )
}

fn right(operation: &str) -> Option<Right> {
    (!is_about_rights(operation)).then(|| plain_right(operation))
}

/// The right that an operation needs where nobody owns.
pub(crate) fn plain_right(operation: &str) -> Right {
    match operation {
        "HeadBucket" | "ListObjects" | "ListObjectsV2" | "ListObjectVersions" | "ListMultipartUploads" => {
            Right::List
        }
        "DeleteObject" | "DeleteObjects" | "DeleteBucket" => Right::Delete,
        // Whoever uploads may see and give up the own parts.
        "ListParts" | "AbortMultipartUpload" => Right::Write,
        "GetObjectLockConfiguration" => Right::List,
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
            ("PutBucketCors", Right::Write),
            ("ListObjectsV2", Right::List),
            ("HeadBucket", Right::List),
            ("GetBucketLocation", Right::List),
            ("ListMultipartUploads", Right::List),
            ("DeleteObject", Right::Delete),
            ("DeleteObjects", Right::Delete),
            ("DeleteBucket", Right::Delete),
        ] {
            assert_eq!(need(operation).right, Some(expected), "{operation}");
        }
    }

    #[test]
    fn rights_are_given_by_owners_only() {
        for operation in [
            "PutBucketPolicy",
            "PutPublicAccessBlock",
            "PutBucketOwnershipControls",
        ] {
            let need = need(operation);
            assert_eq!((need.right, need.listed), (None, Listed::Owner), "{operation}");
        }
        assert_eq!(need("PutBucketAcl").right, None);
        assert_eq!(need("GetObjectAttributes").also, ["s3:GetObject"]);
        assert_eq!(need("PutBucketWebsite").action, "s3:PutBucketWebsite");
    }
}
