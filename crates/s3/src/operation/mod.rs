//! Determines which S3 operation a request is, before it is dispatched. The S3 interface and the
//! gateway share one table.
//!
//! Invariants:
//!  - a request that may change something is exactly one operation of the tables, and every
//!    parameter of its query belongs to that operation. S3 adds sub-resources and headers over
//!    time, and a server that does not know `?renameObject` would write an empty object instead;
//!  - an operation that is not implemented is refused with status 501 and its name;
//!  - a read may have unknown parameters, as in S3; [`Named::is_sure`] is false then.
//!
//! Permissions are checked elsewhere.

use http::{HeaderMap, Method, StatusCode};

use crate::query::Query;
use crate::refusal::Refusal;

use self::tables::{
    HEADERS, HEADERS_BEGIN, NOT_HERE, OF_BUCKETS, OF_OBJECTS, PARAMETERS, Resource, VERSIONED,
};

mod tables;

/// The kind of a request's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// A bucket.
    Bucket,
    /// An object.
    Object,
}

/// The parts of a request that determine its operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a Method,
    pub(crate) about: About,
    pub(crate) query: &'a Query,
    pub(crate) headers: &'a HeaderMap,
    /// Whether it is a browser's form.
    pub(crate) is_form: bool,
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its name in S3.
    pub(crate) name: &'static str,
    /// Whether all parameters are known. Always true for requests that may change something.
    pub(crate) is_sure: bool,
}

/// Headers that select a different operation, with that operation. Any other S3 header that is not
/// in [`HEADERS`] is also assumed to select a different operation.
const OF_HEADERS: [(&str, &str); 4] = [
    ("x-amz-rename-source", "RenameObject"),
    ("x-amz-request-route", "WriteGetObjectResponse"),
    ("x-amz-request-token", "WriteGetObjectResponse"),
    ("x-amz-write-offset-bytes", "PutObject with an offset"),
];

/// Header with the source of a copy.
pub(crate) const COPY_SOURCE: &str = "x-amz-copy-source";

/// Determines the operation of a request about a bucket or an object.
///
/// # Errors
/// If the operation is not implemented, or the request is ambiguous.
pub(crate) fn named(request: &Request<'_>) -> Result<Named, Refusal> {
    let Request { method, query, .. } = *request;
    let verb = verb(method);
    let changes = !matches!(*method, Method::GET | Method::HEAD);
    refuse_not_here(request, verb, changes)?;
    let of_about = table(request.about).iter().filter(|(name, _)| query.has(name));
    let resources: Vec<&Resource> = of_about.collect();
    let resource = match resources[..] {
        [] => None,
        [resource] => Some(resource),
        _ => {
            return Err(Refusal::bad(
                "InvalidRequest",
                "a request has at most one sub-resource",
            ));
        }
    };
    let name = match resource {
        // Sub-resources have no HEAD.
        Some(_) if *method == Method::HEAD => "",
        Some((resource, names)) => listed(resource, verb.map_or("", |verb| names[verb]), query),
        None => plain(request),
    };
    if name.is_empty() {
        return Err(
            if changes && resource.is_none() && query.names().any(|name| !is_free(name)) {
                unknown(query, name)
            } else {
                Refusal::new(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "MethodNotAllowed",
                    "the resource does not allow the method",
                )
            },
        );
    }
    let name = copying(name, request, changes)?;
    let is_sure = if changes {
        check_parameters(name, request, resource)?;
        true
    } else {
        let known = |name: &str| is_free(name) || PARAMETERS.contains(&name) || is_of(name, resource);
        query.names().all(known)
    };
    Ok(Named { name, is_sure })
}

/// Refuses sub-resources and headers of operations that are not implemented.
fn refuse_not_here(request: &Request<'_>, verb: Option<usize>, changes: bool) -> Result<(), Refusal> {
    let Request {
        about,
        query,
        headers,
        ..
    } = *request;
    for (of, resource, names) in &NOT_HERE {
        let name = verb.map_or("", |verb| names[verb]);
        if *of == about && query.has(resource) && !name.is_empty() {
            return Err(not_implemented(name));
        }
    }
    if !changes {
        return Ok(());
    }
    let in_query: Vec<String> = query.names().map(str::to_ascii_lowercase).collect();
    let names = headers.keys().map(http::HeaderName::as_str);
    for name in names.chain(in_query.iter().map(String::as_str)) {
        if let Some((_, operation)) = OF_HEADERS.iter().find(|(header, _)| *header == name) {
            return Err(not_implemented(operation));
        }
        let is_known =
            || HEADERS.contains(&name) || HEADERS_BEGIN.iter().any(|begin| name.starts_with(begin));
        if name.starts_with("x-amz-") && !is_known() {
            return Err(not_implemented(&format!("the header {name}")));
        }
    }
    if headers.contains_key(http::header::CONTENT_RANGE) {
        return Err(not_implemented("a write of a part of an object (Content-Range)"));
    }
    if in_query.iter().any(|name| name == COPY_SOURCE) {
        // In a URL it is ignored, so an empty object would be written.
        Err(not_implemented("x-amz-copy-source in the query"))
    } else {
        Ok(())
    }
}

/// Returns the name of a write, which differs for a copy.
fn copying(name: &'static str, request: &Request<'_>, changes: bool) -> Result<&'static str, Refusal> {
    let has_range = request.headers.contains_key("x-amz-copy-source-range");
    match (name, request.headers.contains_key(COPY_SOURCE)) {
        ("PutObject", true) if has_range => {
            Err(not_implemented("a copy of a part (x-amz-copy-source-range)"))
        }
        ("PutObject", true) => Ok("CopyObject"),
        ("UploadPart", true) => Ok("UploadPartCopy"),
        (_, true) if changes => Err(Refusal::bad(
            "InvalidRequest",
            format!("{name} does not take x-amz-copy-source"),
        )),
        _ => Ok(name),
    }
}

/// Refuses parameters that do not belong to an operation that may change something.
fn check_parameters(
    operation: &'static str,
    request: &Request<'_>,
    resource: Option<&Resource>,
) -> Result<(), Refusal> {
    let query = request.query;
    if let Some(id) = query.get("x-id")
        && id != operation
    {
        return Err(not_implemented(id));
    }
    let is_part = matches!(operation, "UploadPart" | "UploadPartCopy");
    if is_part && !query.has("partNumber") {
        return Err(Refusal::bad("InvalidArgument", "a part requires partNumber"));
    }
    let takes = |name: &str| {
        is_free(name)
            || is_of(name, resource)
            || name == "versionId" && VERSIONED.contains(&operation)
            || name == "partNumber" && is_part
            || name == "select-type" && operation == "SelectObjectContent"
    };
    let Some(other) = query.names().find(|name| !takes(name)) else {
        return Ok(());
    };
    let known = PARAMETERS.contains(&other)
        || OF_BUCKETS
            .iter()
            .chain(&OF_OBJECTS)
            .any(|(name, _)| *name == other);
    if known {
        Err(Refusal::bad(
            "InvalidArgument",
            format!("{operation} has no parameter {other}"),
        ))
    } else {
        Err(unknown(query, operation))
    }
}

/// Returns the refusal of the first unknown parameter.
fn unknown(query: &Query, operation: &str) -> Refusal {
    let name = query
        .names()
        .find(|name| !is_free(name) && !PARAMETERS.contains(name));
    let name: String = name.unwrap_or_default().chars().take(64).collect();
    not_implemented(&match operation {
        "" => format!("the query parameter {name:?}"),
        operation => format!("the query parameter {name:?} of {operation}"),
    })
}

fn not_implemented(what: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_IMPLEMENTED,
        "NotImplemented",
        format!("{what} is not implemented"),
    )
}

/// Reports whether a parameter belongs to a sub-resource.
fn is_of(name: &str, resource: Option<&Resource>) -> bool {
    resource.is_some_and(|(resource, _)| *resource == name || name == "id" && has_id(resource))
}

/// Reports whether the configurations of a sub-resource are identified by an `id`.
fn has_id(resource: &str) -> bool {
    matches!(
        resource,
        "analytics" | "inventory" | "metrics" | "intelligent-tiering"
    )
}

/// Reports whether a parameter is allowed in any request: `x-id` and headers in a URL, a client's
/// notes for the log, and headers of the response.
fn is_free(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.starts_with("x-") || lower.starts_with("response-")
}

fn table(about: About) -> &'static [Resource] {
    match about {
        About::Bucket => &OF_BUCKETS,
        About::Object => &OF_OBJECTS,
    }
}

/// Returns the index of a method in the tables.
fn verb(method: &Method) -> Option<usize> {
    let verbs = [Method::GET, Method::PUT, Method::POST, Method::DELETE];
    verbs.iter().position(|verb| verb == method)
}

/// Returns the name of reading one configuration, or of listing all if the query has no `id`.
fn listed(resource: &str, name: &'static str, query: &Query) -> &'static str {
    match name {
        _ if query.has("id") => name,
        "GetBucketAnalyticsConfiguration" => "ListBucketAnalyticsConfigurations",
        "GetBucketIntelligentTieringConfiguration" => "ListBucketIntelligentTieringConfigurations",
        "GetBucketInventoryConfiguration" => "ListBucketInventoryConfigurations",
        "GetBucketMetricsConfiguration" => "ListBucketMetricsConfigurations",
        _ => {
            debug_assert!(!name.starts_with("Get") || !has_id(resource));
            name
        }
    }
}

/// Returns the operation of a request without a sub-resource; empty if there is no such operation.
fn plain(request: &Request<'_>) -> &'static str {
    let list_type = request.query.get("list-type");
    match (request.method.as_str(), request.about) {
        ("GET", About::Object) => "GetObject",
        ("HEAD", About::Object) => "HeadObject",
        ("PUT", About::Object) => "PutObject",
        ("DELETE", About::Object) => "DeleteObject",
        ("GET", About::Bucket) if list_type == Some("2") => "ListObjectsV2",
        ("GET", About::Bucket) => "ListObjects",
        ("HEAD", About::Bucket) => "HeadBucket",
        ("PUT", About::Bucket) => "CreateBucket",
        ("POST", About::Bucket) if request.is_form => "PostObject",
        ("DELETE", About::Bucket) => "DeleteBucket",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
