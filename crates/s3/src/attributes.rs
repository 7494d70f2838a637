//! HTTP headers stored with an object as attributes, under lower-case names.

use std::collections::BTreeMap;

use s3s::S3Result;
use s3s::dto::{Metadata, Timestamp, TimestampFormat};
use store::Meta;

use crate::error::{fault, not_implemented};

/// Prefix of user metadata.
const USER_PREFIX: &str = "x-amz-meta-";

/// Limit on the total bytes of names and values of user metadata, as in S3.
const USER_BYTES_MAX: usize = 2 * 1024;

/// Default content type of an object, as in S3.
pub(crate) const TYPE_DEFAULT: &str = "binary/octet-stream";

/// Tags of an object, as a query string.
pub(crate) const TAGGING: &str = "x-amz-tagging";

/// Id of the multipart upload that created the object.
pub(crate) const UPLOAD: &str = "weft-upload";

/// Sizes of the object's uploaded parts; see [`crate::part_sizes`].
pub(crate) const PARTS: &str = "weft-parts";

/// Base64 checksums of the object's uploaded parts, separated by commas. Absent if there are too
/// many parts.
pub(crate) const PART_SUMS: &str = "weft-part-sums";

/// Owner of a bucket, an object or an upload. Without it, the owner of the bucket owns the object.
pub(crate) const OWNER: &str = "weft-owner";

/// When the content was written, in milliseconds since 1970. Set if a newer version differs only in
/// its attributes.
pub(crate) const MADE: &str = "weft-made";

/// Version id, written by the store.
pub(crate) const VERSION: &str = "weft-version-id";

/// Headers stored with an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headers {
    pub(crate) content_type: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) content_disposition: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_language: Option<String>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) website_redirect_location: Option<String>,
    pub(crate) tagging: Option<String>,
    pub(crate) metadata: Option<Metadata>,
}

/// Collects the stored headers from any s3s input that has them. Refuses encryption and storage
/// classes that the store lacks, so that no client relies on them.
macro_rules! headers_of {
    ($input:expr) => {{
        let input = &$input;
        let encrypted = input.server_side_encryption.is_some()
            || input.ssekms_key_id.is_some()
            || input.sse_customer_algorithm.is_some()
            || input.sse_customer_key.is_some()
            || input.sse_customer_key_md5.is_some();
        let class = input.storage_class.as_ref().map(|class| class.as_str());
        $crate::attributes::refuse(encrypted, class).map(|()| $crate::attributes::Headers {
            content_type: input.content_type.clone(),
            cache_control: input.cache_control.clone(),
            content_disposition: input.content_disposition.clone(),
            content_encoding: input.content_encoding.clone(),
            content_language: input.content_language.clone(),
            expires: input.expires.clone(),
            website_redirect_location: input.website_redirect_location.clone(),
            tagging: input.tagging.clone(),
            metadata: input.metadata.clone(),
        })
    }};
}

pub(crate) use headers_of;

/// Refuses encryption and storage classes that the store does not support.
pub(crate) fn refuse(encrypted: bool, class: Option<&str>) -> S3Result<()> {
    if encrypted {
        return Err(not_implemented("server-side encryption"));
    }
    match class {
        None | Some("" | "STANDARD") => Ok(()),
        Some(class) => Err(fault(
            "InvalidStorageClass",
            format!("there is no storage class {class:?}"),
        )),
    }
}

impl Headers {
    /// Converts the headers to attributes.
    pub(crate) fn into_attributes(self) -> S3Result<BTreeMap<String, String>> {
        let expires = self.expires.as_ref().map(http_date).transpose()?;
        let content_encoding = self.content_encoding.as_deref().and_then(without_chunked);
        let standard = [
            ("content-type", self.content_type),
            ("cache-control", self.cache_control),
            ("content-disposition", self.content_disposition),
            ("content-encoding", content_encoding),
            ("content-language", self.content_language),
            ("expires", expires),
            ("x-amz-website-redirect-location", self.website_redirect_location),
            (TAGGING, self.tagging),
        ];
        let given = standard
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let mut attributes: BTreeMap<_, _> = given.collect();
        let metadata = self.metadata.unwrap_or_default();
        let bytes: usize = metadata
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if bytes > USER_BYTES_MAX {
            let detail = format!("the metadata has {bytes} bytes, at most {USER_BYTES_MAX} are allowed");
            return Err(fault("MetadataTooLarge", detail));
        }
        for (name, value) in metadata {
            let name = format!("{USER_PREFIX}{}", name.to_lowercase());
            // A field of a browser's form can have a name that is not a valid header name.
            let wrong = |_| fault("InvalidArgument", format!("{name:?} is not a valid header name"));
            http::HeaderName::from_bytes(name.as_bytes()).map_err(wrong)?;
            attributes.insert(name, value);
        }
        Ok(attributes)
    }

    /// Reads the headers from attributes.
    pub(crate) fn from_attributes(attributes: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| attributes.get(name).cloned();
        let user = attributes.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix(USER_PREFIX)?;
            Some((name.to_owned(), value.clone()))
        });
        let metadata: Metadata = user.collect();
        Self {
            content_type: get("content-type").or_else(|| Some(TYPE_DEFAULT.to_owned())),
            cache_control: get("cache-control"),
            content_disposition: get("content-disposition"),
            content_encoding: get("content-encoding"),
            content_language: get("content-language"),
            expires: get("expires").and_then(|date| Timestamp::parse(TimestampFormat::HttpDate, &date).ok()),
            website_redirect_location: get("x-amz-website-redirect-location"),
            tagging: get(TAGGING),
            metadata: (!metadata.is_empty()).then_some(metadata),
        }
    }
}

/// Returns when an object's content was written.
pub(crate) fn modified(meta: &Meta) -> Timestamp {
    let written = meta.attributes.get(MADE).and_then(|text| text.parse().ok());
    at(written.unwrap_or(meta.version.millis))
}

/// Converts milliseconds since 1970.
pub(crate) fn at(millis: u64) -> Timestamp {
    let nanos = i128::from(millis) * 1_000_000;
    time::OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
        .into()
}

/// Formats a time for HTTP headers.
pub(crate) fn http_date(time: &Timestamp) -> S3Result<String> {
    let mut text = Vec::new();
    time.format(TimestampFormat::HttpDate, &mut text)
        .map_err(|_| fault("InvalidArgument", "the date is out of range"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the encodings without `aws-chunked`, which describes the transfer and not the object.
/// `None` if no other encoding is left.
fn without_chunked(encodings: &str) -> Option<String> {
    let kept: Vec<_> = encodings
        .split(',')
        .map(str::trim)
        .filter(|encoding| !encoding.is_empty() && !encoding.eq_ignore_ascii_case("aws-chunked"))
        .collect();
    (!kept.is_empty()).then(|| kept.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let headers = Headers {
            content_type: Some("text/plain".to_owned()),
            content_encoding: Some("aws-chunked, gzip".to_owned()),
            expires: Some(
                Timestamp::parse(TimestampFormat::HttpDate, "Wed, 21 Oct 2026 07:28:00 GMT").unwrap(),
            ),
            metadata: Some([("City".to_owned(), "köln".to_owned())].into_iter().collect()),
            ..Headers::default()
        };
        let attributes = headers.into_attributes().unwrap();
        assert_eq!(attributes["x-amz-meta-city"], "köln");
        assert_eq!(attributes["content-encoding"], "gzip");
        assert_eq!(attributes["expires"], "Wed, 21 Oct 2026 07:28:00 GMT");
        let again = Headers::from_attributes(&attributes);
        assert_eq!(again.content_type.as_deref(), Some("text/plain"));
        assert_eq!(again.into_attributes().unwrap(), attributes);
        assert_eq!(without_chunked("aws-chunked"), None);
    }

    #[test]
    fn what_is_not_done_is_refused() {
        assert!(refuse(false, Some("STANDARD")).is_ok());
        for (encrypted, class) in [(true, None), (false, Some("GLACIER"))] {
            assert!(refuse(encrypted, class).is_err());
        }
        let metadata = [("a".to_owned(), "b".repeat(USER_BYTES_MAX))]
            .into_iter()
            .collect();
        let headers = Headers {
            metadata: Some(metadata),
            ..Headers::default()
        };
        assert_eq!(
            headers.into_attributes().unwrap_err().code().as_str(),
            "MetadataTooLarge"
        );
    }
}
