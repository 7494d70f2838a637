//! What each operation needs: a right in the keys file, a permission in an ACL, or an action that a
//! policy allows.
//!
//! An operation that is not listed here needs a right derived from its verb, and only the bucket's
//! owner may call it otherwise. A client without rights therefore does not learn which operations
//! are unimplemented.

use http::HeaderMap;

use crate::acl::Permission;
use crate::keys::Right;

/// The ACL permission that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// This permission in the bucket's ACL.
    Bucket(Permission),
    /// This permission in the object's ACL.
    Object(Permission),
    /// No ACL can grant it: only the bucket's owner may call it.
    Owner,
}

/// What an operation needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The right in the keys file that is sufficient, if any.
    pub(crate) right: Option<Right>,
    /// The permission in an ACL that is sufficient.
    pub(crate) listed: Listed,
    /// The action that a policy must allow.
    pub(crate) action: String,
    /// Further actions that a policy must not deny.
    pub(crate) also: Vec<&'static str>,
}

/// Returns the need of an operation with these headers. A write that also sets an ACL, a lock or
/// tags needs those actions not to be denied.
pub(crate) fn need_of(operation: &str, headers: &HeaderMap, names_version: bool) -> Need {
    let mut need = need(operation);
    if names_version {
        need.of_version();
    }
    if need.action == "s3:PutObject" {
        let mut names = headers.keys().map(http::HeaderName::as_str);
        if names.any(|name| name == "x-amz-acl" || name.starts_with("x-amz-grant-")) {
            need.also.push("s3:PutObjectAcl");
        }
        for (header, action) in [
            ("x-amz-object-lock-mode", "s3:PutObjectRetention"),
            ("x-amz-object-lock-legal-hold", "s3:PutObjectLegalHold"),
        ] {
            if headers.contains_key(header) {
                need.also.push(action);
            }
        }
        if headers.contains_key("x-amz-tagging") {
            need.also.push("s3:PutObjectTagging");
        }
    }
    need
}

impl Need {
    /// Replaces the actions by those on versions, for requests that name a version.
    pub(crate) fn of_version(&mut self) {
        let of_version = |action: &str| match action {
            "s3:GetObject" => Some("s3:GetObjectVersion"),
            "s3:GetObjectAcl" => Some("s3:GetObjectVersionAcl"),
            "s3:GetObjectAttributes" => Some("s3:GetObjectVersionAttributes"),
            "s3:GetObjectTagging" => Some("s3:GetObjectVersionTagging"),
            "s3:PutObjectAcl" => Some("s3:PutObjectVersionAcl"),
            "s3:PutObjectTagging" => Some("s3:PutObjectVersionTagging"),
            "s3:DeleteObject" => Some("s3:DeleteObjectVersion"),
            "s3:DeleteObjectTagging" => Some("s3:DeleteObjectVersionTagging"),
            _ => None,
        };
        if let Some(action) = of_version(&self.action) {
            action.clone_into(&mut self.action);
        }
        for action in &mut self.also {
            *action = of_version(action).unwrap_or(action);
        }
    }
}

/// Returns the need of an operation by its S3 name.
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

/// Reports whether an operation changes the protection of objects.
fn is_about_locks(operation: &str) -> bool {
    matches!(
        operation,
        "PutObjectRetention" | "PutObjectLegalHold" | "PutObjectLockConfiguration" | BYPASS
    )
}

/// Not an operation but an action, requested by a header: it ends retentions of mode `governance`
/// early.
pub(crate) const BYPASS: &str = "BypassGovernanceRetention";

/// Reports whether an operation changes permissions or the protection of objects. No right in the
/// keys file except `own` is sufficient for these.
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
    ) || is_about_locks(operation)
}

fn right(operation: &str) -> Option<Right> {
    (!is_about_rights(operation)).then(|| plain_right(operation))
}

/// Returns the right that an operation needs in buckets where no user has `own`.
pub(crate) fn plain_right(operation: &str) -> Right {
    match operation {
        "HeadBucket" | "ListObjects" | "ListObjectsV2" | "ListObjectVersions" | "ListMultipartUploads" => {
            Right::List
        }
        "DeleteObject" | "DeleteObjects" | "DeleteBucket" => Right::Delete,
        _ if is_about_locks(operation) => Right::Own,
        // An uploader may list its own parts and abort its own uploads.
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
    fn versions_have_actions_of_their_own() {
        let headers = HeaderMap::new();
        for (operation, expected) in [
            ("HeadObject", "s3:GetObjectVersion"),
            ("DeleteObject", "s3:DeleteObjectVersion"),
            ("PutObjectTagging", "s3:PutObjectVersionTagging"),
            ("GetObjectRetention", "s3:GetObjectRetention"),
        ] {
            assert_eq!(need_of(operation, &headers, true).action, expected);
            assert_eq!(need_of(operation, &headers, true).right, need(operation).right);
        }
        let attributes = need_of("GetObjectAttributes", &headers, true);
        assert_eq!(attributes.also, ["s3:GetObjectVersion"]);
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
        for operation in [
            "PutObjectRetention",
            "PutObjectLegalHold",
            "PutObjectLockConfiguration",
            BYPASS,
        ] {
            let need = need(operation);
            assert_eq!((need.right, need.listed), (None, Listed::Owner), "{operation}");
            assert_eq!(plain_right(operation), Right::Own, "{operation}");
        }
        assert_eq!(need("PutBucketAcl").right, None);
        assert_eq!(need("GetObjectAttributes").also, ["s3:GetObject"]);
        assert_eq!(need("PutBucketWebsite").action, "s3:PutBucketWebsite");
    }
}
