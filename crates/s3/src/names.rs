//! Names: what S3 lets a client call a bucket or an object, and where the face keeps its own records.
//!
//! Everything of the face's own lies in the hidden bucket [`HIDDEN`], which no client can name: a client's bucket
//! begins with a letter or a digit. A bucket is the empty object `.s3/buckets/NAME`, with its owner in the attributes.

use s3s::S3Result;
use store::key::Key;

use crate::error::fault;

/// The bucket of the face's own records.
pub(crate) const HIDDEN: &str = ".s3";

/// Longest name of an object in bytes that a client may use, as in S3.
pub(crate) const NAME_BYTES_MAX: usize = 1024;

/// The key of a client's object.
pub(crate) fn object(bucket: &str, name: &str) -> S3Result<Key> {
    if !s3s::path::check_bucket_name(bucket) {
        return Err(fault(
            "InvalidBucketName",
            format!("{bucket:?} is not a bucket name"),
        ));
    }
    if name.len() > NAME_BYTES_MAX {
        let detail = format!(
            "the key has {} bytes, at most {NAME_BYTES_MAX} are possible",
            name.len()
        );
        return Err(fault("KeyTooLongError", detail));
    }
    key(bucket, name)
}

/// The key of a bucket's record.
pub(crate) fn bucket(bucket: &str) -> S3Result<Key> {
    key(HIDDEN, &format!("buckets/{bucket}"))
}

/// What the keys of all buckets begin with.
pub(crate) fn buckets_prefix() -> String {
    format!("{HIDDEN}/buckets/")
}

/// The last segment of a key.
pub(crate) fn last_segment(key: &Key) -> &str {
    key.as_str().rsplit('/').next().unwrap_or_default()
}

fn key(bucket: &str, name: &str) -> S3Result<Key> {
    Key::new(bucket, name).map_err(|error| fault("InvalidArgument", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_buckets_have_no_name() {
        for bucket in [".s3", ".uploads", "a..b", "A", "ab", "10.0.0.1", "xn--a", ""] {
            assert!(object(bucket, "x").is_err(), "{bucket:?}");
        }
        assert!(object("abc", "..//\u{0} ä").is_ok());
        assert!(object("abc", &"x".repeat(1025)).is_err());
    }
}
