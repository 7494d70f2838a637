//! Tables of S3's operations.

use super::About;

/// A sub-resource, and its operations for GET, PUT, POST and DELETE; empty if it has no such
/// operation.
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

/// Sub-resources of objects.
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

/// Sub-resources of S3 whose operations are neither implemented by the S3 interface nor forwarded
/// by the gateway.
pub(super) const NOT_HERE: [(About, &str, [&str; 4]); 10] = [
    // Its response would contain a key of the upstream.
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

/// Operations that may change something and accept a `versionId`.
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

/// Parameters of reads, in addition to sub-resources and parameters that any request may have.
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

/// S3's headers and signing parameters that a request that may change something may have, in
/// addition to those with a prefix in [`HEADERS_BEGIN`]. Any other may select a different
/// operation.
pub(super) const HEADERS: [&str; 44] = [
    "x-amz-acl",
    "x-amz-algorithm",
    // The C++ SDK, which pyarrow uses for writes, sends it with every request.
    "x-amz-api-version",
    "x-amz-bucket-object-lock-enabled",
    "x-amz-bucket-region",
    "x-amz-bypass-governance-retention",
    "x-amz-cf-id",
    "x-amz-confirm-remove-self-bucket-access",
    "x-amz-content-sha256",
    "x-amz-copy-source",
    "x-amz-copy-source-if-match",
    "x-amz-copy-source-if-modified-since",
    "x-amz-copy-source-if-none-match",
    "x-amz-copy-source-if-unmodified-since",
    "x-amz-copy-source-range",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-decoded-content-length",
    "x-amz-expected-bucket-owner",
    "x-amz-expires",
    "x-amz-if-match-last-modified-time",
    "x-amz-if-match-size",
    "x-amz-metadata-directive",
    "x-amz-mfa",
    "x-amz-mp-object-size",
    "x-amz-object-lock-legal-hold",
    "x-amz-object-lock-mode",
    "x-amz-object-lock-retain-until-date",
    "x-amz-object-ownership",
    "x-amz-request-payer",
    "x-amz-sdk-checksum-algorithm",
    "x-amz-security-token",
    "x-amz-signature",
    "x-amz-signedheaders",
    "x-amz-skip-destination-validation",
    "x-amz-source-expected-bucket-owner",
    "x-amz-storage-class",
    "x-amz-tagging",
    "x-amz-tagging-directive",
    "x-amz-te",
    "x-amz-trailer",
    "x-amz-transition-default-minimum-object-size",
    "x-amz-user-agent",
    "x-amz-website-redirect-location",
];

/// Prefixes of further allowed headers.
pub(super) const HEADERS_BEGIN: [&str; 5] = [
    "x-amz-checksum-",
    "x-amz-copy-source-server-side-encryption-customer-",
    "x-amz-grant-",
    "x-amz-meta-",
    "x-amz-server-side-encryption",
];
