//! Names of actions. Names unknown to S3 are refused: a `Deny` of a misspelt action would deny
//! nothing.

use super::error::PolicyError;
use crate::glob;

/// S3's actions on buckets and objects. Actions of unimplemented operations have no effect, because
/// those operations are refused.
const ACTIONS: [&str; 77] = [
    "AbortMultipartUpload",
    "BypassGovernanceRetention",
    "CreateBucket",
    "DeleteBucket",
    "DeleteBucketCORS",
    "DeleteBucketOwnershipControls",
    "DeleteBucketPolicy",
    "DeleteBucketTagging",
    "DeleteBucketWebsite",
    "DeleteObject",
    "DeleteObjectTagging",
    "DeleteObjectVersion",
    "DeleteObjectVersionTagging",
    "DeletePublicAccessBlock",
    "GetAccelerateConfiguration",
    "GetAnalyticsConfiguration",
    "GetBucketAcl",
    "GetBucketCORS",
    "GetBucketLocation",
    "GetBucketLogging",
    "GetBucketNotification",
    "GetBucketObjectLockConfiguration",
    "GetBucketOwnershipControls",
    "GetBucketPolicy",
    "GetBucketPolicyStatus",
    "GetBucketPublicAccessBlock",
    "GetBucketRequestPayment",
    "GetBucketTagging",
    "GetBucketVersioning",
    "GetBucketWebsite",
    "GetEncryptionConfiguration",
    "GetIntelligentTieringConfiguration",
    "GetInventoryConfiguration",
    "GetLifecycleConfiguration",
    "GetMetricsConfiguration",
    "GetObject",
    "GetObjectAcl",
    "GetObjectAttributes",
    "GetObjectLegalHold",
    "GetObjectRetention",
    "GetObjectTagging",
    "GetObjectTorrent",
    "GetObjectVersion",
    "GetObjectVersionAcl",
    "GetObjectVersionAttributes",
    "GetObjectVersionTagging",
    "GetReplicationConfiguration",
    "ListAllMyBuckets",
    "ListBucket",
    "ListBucketMultipartUploads",
    "ListBucketVersions",
    "ListMultipartUploadParts",
    "PutAccelerateConfiguration",
    "PutBucketAcl",
    "PutBucketCORS",
    "PutBucketLogging",
    "PutBucketNotification",
    "PutBucketObjectLockConfiguration",
    "PutBucketOwnershipControls",
    "PutBucketPolicy",
    "PutBucketPublicAccessBlock",
    "PutBucketRequestPayment",
    "PutBucketTagging",
    "PutBucketVersioning",
    "PutBucketWebsite",
    "PutEncryptionConfiguration",
    "PutLifecycleConfiguration",
    "PutObject",
    "PutObjectAcl",
    "PutObjectLegalHold",
    "PutObjectRetention",
    "PutObjectTagging",
    "PutObjectVersionAcl",
    "PutObjectVersionTagging",
    "PutReplicationConfiguration",
    "ReplicateObject",
    "RestoreObject",
];

/// Refuses a pattern that matches no action of S3.
pub(super) fn check(pattern: &str) -> Result<(), PolicyError> {
    let known = ACTIONS
        .iter()
        .any(|action| fits(pattern, &format!("s3:{action}")));
    if known {
        Ok(())
    } else {
        Err(PolicyError(format!("S3 has no action {pattern:?}")))
    }
}

/// Reports whether an action matches a pattern, ignoring case.
pub(super) fn fits(pattern: &str, action: &str) -> bool {
    glob::fits(&pattern.to_lowercase(), &action.to_lowercase())
}
