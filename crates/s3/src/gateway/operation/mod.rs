//! InvalidatedObjects S3 operation a request is, and the right that it needs.
//!
//! The upstream parses the same request with a different parser, so a request must not seem
//! harmless here and be something else there. Requests that [`crate::operation`] does not know are
//! refused, and a read with an unknown parameter needs the right `own`. So do requests that grant
//! permissions or change a bucket's settings, because the upstream checks the gateway's key and not
//! the client's.

use http::{HeaderMap, Method};
use s3s::S3Result;

use crate::access::needs;
use crate::keys::Right;
use crate::operation::{self, About};
use crate::query::Query;
use crate::refusal::Refusal;

/// An operation and the right that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Its name in S3, or [`OTHER`].
    pub(crate) name: &'static str,
    /// The required right in the bucket.
    pub(crate) right: Right,
    /// Whether it may change objects.
    pub(crate) changes: bool,
}

/// Name of unknown operations.
pub(crate) const OTHER: &str = "Other";

/// Name of a browser's preflight, which needs no right.
pub(crate) const PREFLIGHT: &str = "Preflight";

impl Operation {
    /// Determines the operation of a request about a bucket or an object.
    ///
    /// # Errors
    /// If there is no such operation, or the request is ambiguous.
    pub(crate) fn of(method: &Method, is_object: bool, query: &Query, headers: &HeaderMap) -> S3Result<Self> {
        if *method == Method::OPTIONS {
            return Ok(Self::named(PREFLIGHT, Right::Read));
        }
        let about = if is_object { About::Object } else { About::Bucket };
        let request = operation::Request {
            method,
            about,
            query,
            headers,
            // The gateway refuses forms.
            is_form: false,
        };
        let named = operation::named(&request).map_err(Refusal::into_error)?;
        let name = if named.is_sure { named.name } else { OTHER };
        let mut right = needs::need(name).right.unwrap_or(Right::Own);
        let sets_bucket = about == About::Bucket && right == Right::Write && name != "CreateBucket";
        if name == "SelectObjectContent" {
            right = Right::Read;
        }
        if name == OTHER || sets_bucket || grants_access(query, headers) {
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

/// Canned ACLs that grant nothing to anybody except the owners of the bucket and the object.
const PRIVATE: [&str; 3] = ["private", "bucket-owner-read", "bucket-owner-full-control"];

/// Reports whether a request grants permissions or bypasses a lock.
fn grants_access(query: &Query, headers: &HeaderMap) -> bool {
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
