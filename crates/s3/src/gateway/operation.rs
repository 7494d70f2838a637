//! Which operation of S3 a request is, and the right that it needs.
//!
//! The upstream reads the same request with a reader of its own, so nothing may be taken here for something harmless
//! that is something else there: a request with two sub-resources is refused, and one with a parameter that is not
//! known needs the right `own`. So do requests that give rights away or change a bucket's settings: the upstream
//! obeys the gateway's key, not the client's.

use http::{HeaderMap, Method};
use s3s::S3Result;

use super::query::Query;
use crate::access::needs;
use crate::error::{fault, not_implemented};
use crate::keys::Right;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// S3's name of it, or [`OTHER`].
    pub(crate) name: &'static str,
    /// The right in the bucket that it needs.
    pub(crate) right: Right,
    /// Whether it may change objects.
    pub(crate) changes: bool,
}

/// Name of operations that are not known.
pub(crate) const OTHER: &str = "Other";

/// Name of the question of a browser before its request, which needs no right.
pub(crate) const PREFLIGHT: &str = "Preflight";

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Bucket,
    Object,
}

/// Sub-resources of buckets, and the operations by GET, PUT, POST and DELETE; empty where there is none.
const OF_BUCKETS: [(&str, [&str; 4]); 25] = [
    ("delete", ["", "", "DeleteObjects", ""]),
    ("uploads", ["ListMultipartUploads", "", "", ""]),
    ("versions", ["ListObjectVersions", "", "", ""]),
    ("location", ["GetBucketLocation", "", "", ""]),
    ("acl", ["GetBucketAcl", "PutBucketAcl", "", ""]),
    (
        "policy",
        ["GetBucketPolicy", "PutBucketPolicy", "", "DeleteBucketPolicy"],
    ),
    ("policyStatus", ["GetBucketPolicyStatus", "", "", ""]),
    (
        "publicAccessBlock",
        [
            "GetPublicAccessBlock",
            "PutPublicAccessBlock",
            "",
            "DeletePublicAccessBlock",
        ],
    ),
    (
        "ownershipControls",
        [
            "GetBucketOwnershipControls",
            "PutBucketOwnershipControls",
            "",
            "DeleteBucketOwnershipControls",
        ],
    ),
    ("cors", ["GetBucketCors", "PutBucketCors", "", "DeleteBucketCors"]),
    (
        "lifecycle",
        [
            "GetBucketLifecycleConfiguration",
            "PutBucketLifecycleConfiguration",
            "",
            "DeleteBucketLifecycle",
        ],
    ),
    (
        "versioning",
        ["GetBucketVersioning", "PutBucketVersioning", "", ""],
    ),
    (
        "tagging",
        ["GetBucketTagging", "PutBucketTagging", "", "DeleteBucketTagging"],
    ),
    (
        "website",
        ["GetBucketWebsite", "PutBucketWebsite", "", "DeleteBucketWebsite"],
    ),
    ("logging", ["GetBucketLogging", "PutBucketLogging", "", ""]),
    (
        "notification",
        [
            "GetBucketNotificationConfiguration",
            "PutBucketNotificationConfiguration",
            "",
            "",
        ],
    ),
    (
        "replication",
        [
            "GetBucketReplication",
            "PutBucketReplication",
            "",
            "DeleteBucketReplication",
        ],
    ),
    (
        "requestPayment",
        ["GetBucketRequestPayment", "PutBucketRequestPayment", "", ""],
    ),
    (
        "encryption",
        [
            "GetBucketEncryption",
            "PutBucketEncryption",
            "",
            "DeleteBucketEncryption",
        ],
    ),
    (
        "accelerate",
        [
            "GetBucketAccelerateConfiguration",
            "PutBucketAccelerateConfiguration",
            "",
            "",
        ],
    ),
    (
        "object-lock",
        ["GetObjectLockConfiguration", "PutObjectLockConfiguration", "", ""],
    ),
    (
        "analytics",
        [
            "GetBucketAnalyticsConfiguration",
            "PutBucketAnalyticsConfiguration",
            "",
            "DeleteBucketAnalyticsConfiguration",
        ],
    ),
    (
        "inventory",
        [
            "GetBucketInventoryConfiguration",
            "PutBucketInventoryConfiguration",
            "",
            "DeleteBucketInventoryConfiguration",
        ],
    ),
    (
        "metrics",
        [
            "GetBucketMetricsConfiguration",
            "PutBucketMetricsConfiguration",
            "",
            "DeleteBucketMetricsConfiguration",
        ],
    ),
    (
        "intelligent-tiering",
        [
            "GetBucketIntelligentTieringConfiguration",
            "PutBucketIntelligentTieringConfiguration",
            "",
            "DeleteBucketIntelligentTieringConfiguration",
        ],
    ),
];

/// The same of objects.
const OF_OBJECTS: [(&str, [&str; 4]); 10] = [
    ("uploads", ["", "", "CreateMultipartUpload", ""]),
    (
        "uploadId",
        [
            "ListParts",
            "UploadPart",
            "CompleteMultipartUpload",
            "AbortMultipartUpload",
        ],
    ),
    ("acl", ["GetObjectAcl", "PutObjectAcl", "", ""]),
    (
        "tagging",
        ["GetObjectTagging", "PutObjectTagging", "", "DeleteObjectTagging"],
    ),
    ("attributes", ["GetObjectAttributes", "", "", ""]),
    ("legal-hold", ["GetObjectLegalHold", "PutObjectLegalHold", "", ""]),
    ("retention", ["GetObjectRetention", "PutObjectRetention", "", ""]),
    ("torrent", ["GetObjectTorrent", "", "", ""]),
    ("restore", ["", "", "RestoreObject", ""]),
    ("select", ["", "", "SelectObjectContent", ""]),
];

/// Parameters that make no other operation of a request, besides those that begin with `x-amz-` (headers in an
/// address) or `response-`.
const PARAMETERS: [&str; 19] = [
    "x-id",
    "versionId",
    "partNumber",
    "part-number-marker",
    "max-parts",
    "list-type",
    "prefix",
    "delimiter",
    "marker",
    "max-keys",
    "encoding-type",
    "continuation-token",
    "start-after",
    "fetch-owner",
    "key-marker",
    "version-id-marker",
    "upload-id-marker",
    "max-uploads",
    "select-type",
];

impl Operation {
    /// The operation of a request for a bucket, or an object in one.
    ///
    /// # Errors
    /// If it has two sub-resources, or there is no such operation.
    pub(crate) fn of(method: &Method, is_object: bool, query: &Query, headers: &HeaderMap) -> S3Result<Self> {
        if *method == Method::OPTIONS {
            return Ok(Self::named(PREFLIGHT, Right::Read));
        }
        let about = if is_object { About::Object } else { About::Bucket };
        let name = name(method, about, query, headers)?;
        let mut right = needs::need(name).right.unwrap_or(Right::Own);
        let sets_bucket = about == About::Bucket && right == Right::Write && name != "CreateBucket";
        if name == "SelectObjectContent" {
            right = Right::Read;
        }
        if name == OTHER || sets_bucket || gives_away(query, headers) {
            right = Right::Own;
        }
        Ok(Self::named(name, right))
    }

    fn named(name: &'static str, right: Right) -> Self {
        let reads = name.starts_with("Get") || name.starts_with("Head") || name.starts_with("List");
        Self {
            name,
            right,
            changes: !reads && !matches!(name, PREFLIGHT | "SelectObjectContent"),
        }
    }
}

fn name(method: &Method, about: About, query: &Query, headers: &HeaderMap) -> S3Result<&'static str> {
    let table: &[(&str, [&'static str; 4])] = match about {
        About::Bucket => &OF_BUCKETS,
        About::Object => &OF_OBJECTS,
    };
    let mut found = table.iter().filter(|(resource, _)| query.has(resource));
    let resource = found.next();
    if found.next().is_some() {
        let detail = "a request has one sub-resource at most";
        return Err(fault("InvalidRequest", detail));
    }
    if query.has("session") {
        // Its answer would be a key of the upstream.
        return Err(not_implemented("CreateSession"));
    }
    let is_known = |name: &str| {
        let lower = name.to_ascii_lowercase();
        PARAMETERS.contains(&name)
            || lower.starts_with("x-amz-")
            || lower.starts_with("response-")
            || resource.is_some_and(|(resource, _)| *resource == name)
            // The configurations of these are told apart by it.
            || name == "id" && about == About::Bucket && resource.is_some()
    };
    if !query.names().all(is_known) {
        return Ok(OTHER);
    }
    let name = match resource {
        Some((_, names)) => verb(method).map_or("", |verb| names[verb]),
        None => plain(method, about, query),
    };
    match name {
        "" => {
            let detail = "the method is not one of this resource";
            Err(fault("MethodNotAllowed", detail))
        }
        "PutObject" if headers.contains_key("x-amz-copy-source") => Ok("CopyObject"),
        "UploadPart" if headers.contains_key("x-amz-copy-source") => Ok("UploadPartCopy"),
        name => Ok(name),
    }
}

/// The place of a method in the tables.
fn verb(method: &Method) -> Option<usize> {
    // The upstream may answer to HEAD where it answers to GET.
    let verbs = [
        &[Method::GET, Method::HEAD][..],
        &[Method::PUT],
        &[Method::POST],
        &[Method::DELETE],
    ];
    verbs.iter().position(|methods| methods.contains(method))
}

/// The operation of a request without a sub-resource; empty if there is none.
fn plain(method: &Method, about: About, query: &Query) -> &'static str {
    match (method.as_str(), about) {
        ("GET", About::Object) => "GetObject",
        ("HEAD", About::Object) => "HeadObject",
        ("PUT", About::Object) => "PutObject",
        ("DELETE", About::Object) => "DeleteObject",
        ("GET", About::Bucket) if query.has("list-type") => "ListObjectsV2",
        ("GET", About::Bucket) => "ListObjects",
        ("HEAD", About::Bucket) => "HeadBucket",
        ("PUT", About::Bucket) => "CreateBucket",
        ("DELETE", About::Bucket) => "DeleteBucket",
        _ => "",
    }
}

/// Access lists that give rights to nobody but the owners of the bucket and the object.
const PRIVATE: [&str; 3] = ["private", "bucket-owner-read", "bucket-owner-full-control"];

/// Whether a request gives rights away, or overrules a lock.
fn gives_away(query: &Query, headers: &HeaderMap) -> bool {
    let named = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "x-amz-acl" || name.starts_with("x-amz-grant-") || name == "x-amz-bypass-governance-retention"
    };
    let is_private = |name: &str| {
        let mut values = headers.get_all(name).iter();
        name == "x-amz-acl" && values.all(|value| PRIVATE.iter().any(|list| value == list))
    };
    let mut in_headers = headers.keys().map(http::HeaderName::as_str);
    in_headers.any(|name| named(name) && !is_private(name)) || query.names().any(named)
}

#[cfg(test)]
mod tests;
