//! Object names as S3 allows them.

use s3s::S3Result;
use store::{Key, bucket};

use crate::error::fault;

/// Longest object name in bytes, as in S3.
pub(crate) const NAME_BYTES_MAX: usize = 1024;

/// Returns the key of a client's object. Clients cannot name the store's hidden buckets.
pub(crate) fn object(bucket: &str, name: &str) -> S3Result<Key> {
    bucket::check_name(bucket).map_err(|error| fault("InvalidBucketName", error.to_string()))?;
    if name.len() > NAME_BYTES_MAX {
        let detail = format!(
            "the key has {} bytes, at most {NAME_BYTES_MAX} are allowed",
            name.len()
        );
        return Err(fault("KeyTooLongError", detail));
    }
    Key::new(bucket, name).map_err(|error| fault("InvalidArgument", error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_buckets_have_no_name() {
        for bucket in [".s3", ".uploads", "a..b", "A", "ab", "10.0.0.1", "xn--a", ""] {
            assert!(object(bucket, "x").is_err(), "{bucket:?}");
        }
        assert!(object("abc", "..//\u{0} ä").is_ok());
        assert!(object("abc", &"x".repeat(1025)).is_err());
    }

    proptest! {
        /// The store accepts the same bucket names as s3s's request parser.
        #[test]
        fn buckets_are_called_as_s3s_allows(
            name in prop_oneof![
                "[a-c0-1.-]{0,8}",
                "[a-z0-9]([a-z0-9.-]{1,66})[a-z0-9]",
                "(xn--)?[a-z0-9]{1,4}",
                "[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}",
                "\\PC{0,6}",
                any::<std::net::IpAddr>().prop_map(|address| address.to_string()),
            ]
        ) {
            prop_assert_eq!(bucket::check_name(&name).is_ok(), s3s::path::check_bucket_name(&name));
        }
    }
}
