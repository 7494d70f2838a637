//! Errors with S3's names.

use http::StatusCode;
use s3s::{S3Error, S3ErrorCode};
use store::StoreError;
use store::bucket::BucketError;

/// Returns an S3 error by its code. The status is that of the code, or 400 if S3 has no such code.
pub(crate) fn fault(code: &str, message: impl Into<String>) -> S3Error {
    let code = S3ErrorCode::from_bytes(code.as_bytes()).unwrap_or(S3ErrorCode::InvalidRequest);
    let mut error = S3Error::with_message(code, message.into());
    if error.status_code().is_none() {
        error.set_status_code(StatusCode::BAD_REQUEST);
    }
    error
}

/// Returns the error for an operation that the bucket's state does not allow.
pub(crate) fn invalid_state(detail: &str) -> S3Error {
    let mut error = fault("InvalidBucketState", detail);
    error.set_status_code(StatusCode::CONFLICT);
    error
}

/// Returns the error for an operation, or a part of one, that is not implemented.
pub(crate) fn not_implemented(what: &str) -> S3Error {
    fault("NotImplemented", format!("{what} is not implemented"))
}

/// Converts an error of the store.
pub(crate) fn from_store(error: StoreError) -> S3Error {
    let text = error.to_string();
    match error {
        StoreError::NotFound(_) => fault("NoSuchKey", "there is no such key"),
        StoreError::Condition { .. } => {
            fault("PreconditionFailed", "the condition does not hold for the object")
        }
        StoreError::Protected { .. } => fault("AccessDenied", text),
        StoreError::Declared { what, .. } if what == "length" => fault("IncompleteBody", text),
        StoreError::Declared { .. } | StoreError::Refused { .. } => fault("BadDigest", text),
        StoreError::Body { .. } => fault("IncompleteBody", text),
        StoreError::Range { .. } => fault("InvalidRange", text),
        StoreError::Unavailable { .. } => {
            tracing::warn!("{text}");
            fault("ServiceUnavailable", text)
        }
        StoreError::Full { .. } => {
            tracing::warn!("{text}");
            let mut error = fault("InsufficientStorage", text);
            error.set_status_code(StatusCode::INSUFFICIENT_STORAGE);
            error
        }
        StoreError::Lost { .. } => {
            tracing::error!("{text}");
            fault("InternalError", text)
        }
        StoreError::NoMultipart { .. } => fault("NoSuchUpload", text),
        StoreError::Part { .. } => fault("InvalidPart", text),
        StoreError::Key(_) => fault("InvalidArgument", text),
    }
}

/// Converts an error from creating, changing or removing a bucket.
pub(crate) fn from_bucket(error: BucketError) -> S3Error {
    match error {
        BucketError::Name(_) => fault("InvalidBucketName", error.to_string()),
        BucketError::Missing(_) => fault("NoSuchBucket", error.to_string()),
        BucketError::NotEmpty(_) => fault("BucketNotEmpty", error.to_string()),
        BucketError::Store(error) => from_store(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_of_the_store_has_a_status() {
        let key = || "b/k".to_owned();
        let detail = || "why".to_owned();
        let cases = [
            (StoreError::NotFound(key()), "NoSuchKey", 404),
            (
                StoreError::Condition {
                    key: key(),
                    current: None,
                },
                "PreconditionFailed",
                412,
            ),
            (
                StoreError::Protected {
                    key: key(),
                    protection: store::Protection::default(),
                },
                "AccessDenied",
                403,
            ),
            (
                StoreError::Body {
                    key: key(),
                    detail: detail(),
                },
                "IncompleteBody",
                400,
            ),
            (
                StoreError::Unavailable {
                    key: key(),
                    detail: detail(),
                },
                "ServiceUnavailable",
                503,
            ),
            (
                StoreError::Full {
                    key: key(),
                    detail: detail(),
                },
                "InsufficientStorage",
                507,
            ),
            (
                StoreError::Lost {
                    key: key(),
                    detail: detail(),
                },
                "InternalError",
                500,
            ),
        ];
        for (error, code, status) in cases {
            let error = from_store(error);
            assert_eq!(error.code().as_str(), code);
            assert_eq!(error.status_code().unwrap().as_u16(), status);
        }
    }
}
