//! The tables of S3's operations.

use super::About;

/// A sub-resource, and its operations by GET, PUT, POST and DELETE; empty where there is none.
pub(super) type Resource = (&'static str, [&'static str; 4]);

/// Sub-resources of buckets.
pub(super) const OF_BUCKETS: [Resource; 25] = [
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
pub(super) const OF_OBJECTS: [Resource; 10] = [
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

/// Sub-resources of S3 whose operations neither the face has nor the gateway passes on.
pub(super) const NOT_HERE: [(About, &str, [&str; 4]); 10] = [
    // Its answer would be a key of the upstream.
    (About::Bucket, "session", ["CreateSession", "", "", ""]),
    (About::Bucket, "abac", ["GetBucketAbac", "PutBucketAbac", "", ""]),
    (
        About::Bucket,
        "metadataConfiguration",
        [
            "GetBucketMetadataConfiguration",
            "",
            "CreateBucketMetadataConfiguration",
            "DeleteBucketMetadataConfiguration",
        ],
    ),
    (
        About::Bucket,
        "metadataTable",
        [
            "GetBucketMetadataTableConfiguration",
            "",
            "CreateBucketMetadataTableConfiguration",
            "DeleteBucketMetadataTableConfiguration",
        ],
    ),
    (
        About::Bucket,
        "metadataInventoryTable",
        ["", "UpdateBucketMetadataInventoryTableConfiguration", "", ""],
    ),
    (
        About::Bucket,
        "metadataJournalTable",
        ["", "UpdateBucketMetadataJournalTableConfiguration", "", ""],
    ),
    (
        About::Bucket,
        "metadataAnnotationTable",
        ["", "UpdateBucketMetadataAnnotationTableConfiguration", "", ""],
    ),
    (
        About::Object,
        "annotation",
        [
            "GetObjectAnnotation",
            "PutObjectAnnotation",
            "",
            "DeleteObjectAnnotation",
        ],
    ),
    (About::Object, "renameObject", ["", "RenameObject", "", ""]),
    (
        About::Object,
        "encryption",
        ["", "UpdateObjectEncryption", "", ""],
    ),
];

/// Operations that may change something and take a `versionId`.
pub(super) const VERSIONED: [&str; 8] = [
    "DeleteObject",
    "DeleteObjectTagging",
    "PutObjectAcl",
    "PutObjectLegalHold",
    "PutObjectRetention",
    "PutObjectTagging",
    "RestoreObject",
    "SelectObjectContent",
];

/// Parameters of reads, besides sub-resources and those that may stand anywhere.
pub(super) const PARAMETERS: [&str; 18] = [
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
