//! Which operation of S3 a request is. This is decided before the request is dispatched, in one table for the face and
//! the gateway.
//!
//! Invariants:
//!  - a request that may change something is one operation of the tables below, and every parameter of its query is one
//!    of that operation: S3 grows by sub-resources and headers, and a server that does not know `?renameObject` would
//!    otherwise write an empty object;
//!  - an operation that is not known here is refused by status 501, with its name;
//!  - a request that only reads may have parameters that nobody knows, as in S3; [`Named::is_sure`] tells.
//!
//! Who may do what is decided elsewhere.

use http::{HeaderMap, Method, StatusCode};

use crate::query::Query;
use crate::refusal::Refusal;

use self::tables::{
    HEADERS, HEADERS_BEGIN, NOT_HERE, OF_BUCKETS, OF_OBJECTS, PARAMETERS, Resource, VERSIONED,
};

mod tables;

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// A bucket.
    Bucket,
    /// An object.
    Object,
}

/// A request, as far as it names an operation.
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
    /// S3's name of it.
    pub(crate) name: &'static str,
    /// Whether all parameters are known. It is always true of a request that may change something.
    pub(crate) is_sure: bool,
}

/// Headers that make another operation of a request, and the operation. All other headers of S3 that are not in [`HEADERS`] are
/// taken for such, too.
const OF_HEADERS: [(&str, &str); 4] = [
    ("x-amz-rename-source", "RenameObject"),
    ("x-amz-request-route", "WriteGetObjectResponse"),
    ("x-amz-request-token", "WriteGetObjectResponse"),
    ("x-amz-write-offset-bytes", "PutObject with an offset"),
];

/// Header with the source of a copy.
pub(crate) const COPY_SOURCE: &str = "x-amz-copy-source";

/// The operation of a request about a bucket or an object.
///
/// # Errors
/// If there is no such operation here, or more than one can be meant.
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
                "a request has one sub-resource at most",
            ));
        }
    };
    let name = match resource {
        // A sub-resource has no HEAD.
        Some(_) if *method == Method::HEAD => "",
        Some((resource, names)) => listed(resource, verb.map_or("", |verb| names[verb]), query),
        None => plain(request),
    };
    if name.is_empty() {
        return Err(
            match changes && resource.is_none() && query.names().any(|name| !is_free(name)) {
                true => unknown(query, name),
                false => Refusal::new(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "MethodNotAllowed",
                    "the method is not one of this resource",
                ),
            },
        );
    }
    let name = copying(name, request, changes)?;
    let is_sure = match changes {
        true => {
            check_parameters(name, request, resource)?;
            true
        }
        false => {
            let known = |name: &str| is_free(name) || PARAMETERS.contains(&name) || is_of(name, resource);
            query.names().all(known)
        }
    };
    Ok(Named { name, is_sure })
}

/// Refuses sub-resources and headers of operations that are not here.
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
    match in_query.iter().any(|name| name == COPY_SOURCE) {
        // Nobody reads it there: an empty object would be written.
        true => Err(not_implemented("x-amz-copy-source in the address")),
        false => Ok(()),
    }
}

/// The name of a write, which is another one if it has a source.
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
            format!("{name} has no x-amz-copy-source"),
        )),
        _ => Ok(name),
    }
}

/// Refuses parameters that are not ones of an operation that may change something.
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
        return Err(Refusal::bad("InvalidArgument", "a part needs partNumber"));
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
    match known {
        true => Err(Refusal::bad(
            "InvalidArgument",
            format!("{operation} has no parameter {other}"),
        )),
        false => Err(unknown(query, operation)),
    }
}

/// The refusal of the first parameter that nobody knows.
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

/// Whether a parameter belongs to a sub-resource.
fn is_of(name: &str, resource: Option<&Resource>) -> bool {
    resource.is_some_and(|(resource, _)| *resource == name || name == "id" && has_id(resource))
}

/// Whether the configurations of a sub-resource are told apart by an `id`.
fn has_id(resource: &str) -> bool {
    matches!(
        resource,
        "analytics" | "inventory" | "metrics" | "intelligent-tiering"
    )
}

/// Whether a parameter may stand in any request: `x-id` and headers in an address, a client's notes for the log, and
/// headers of the answer.
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

/// The place of a method in the tables.
fn verb(method: &Method) -> Option<usize> {
    let verbs = [Method::GET, Method::PUT, Method::POST, Method::DELETE];
    verbs.iter().position(|verb| verb == method)
}

/// The name of a read of one configuration, or of all if it names none.
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

/// The operation of a request without a sub-resource; empty if there is none.
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
