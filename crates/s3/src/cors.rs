//! Cross-origin requests (CORS): the rules stored with a bucket, and the response headers for
//! browsers.
//!
//! The first rule that allows a request's origin and method (for a preflight also all its headers)
//! applies. Rules grant no permissions: a page needs a key or a public bucket like any client. They
//! are applied before signatures are checked, because browsers send preflights unsigned. A page
//! that no rule allows learns nothing, not even whether the bucket exists.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use s3s::Body;
use serde::{Deserialize, Serialize};
use store::Store;
use store::bucket::Bucket;

use crate::refusal::Refusal;

/// Attribute of a bucket: its CORS rules as JSON.
pub(crate) const CORS: &str = "weft-cors";

/// Methods that a rule may allow.
pub(crate) const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "HEAD"];

/// Request headers that the response depends on, for caches.
const VARY: &str = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method";

/// A CORS rule. Origins and headers may contain one `*`, which matches any text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rule {
    /// A label for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Origins that the rule allows.
    pub(crate) origins: Vec<String>,
    /// Methods that the rule allows, out of [`METHODS`].
    pub(crate) methods: Vec<String>,
    /// Request headers that the rule allows, in addition to those that browsers always allow.
    pub(crate) headers: Vec<String>,
    /// Response headers that the page may read.
    pub(crate) exposed: Vec<String>,
    /// How long a browser may cache the preflight, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_age_seconds: Option<i32>,
}

/// What a browser requests.
struct CorsRequest {
    bucket: String,
    origin: String,
    method: String,
    /// In lower case.
    headers: Vec<String>,
}

/// Returns the rules of a bucket; empty if they cannot be parsed.
pub(crate) fn rules(bucket: &Bucket) -> Vec<Rule> {
    let text = bucket.attributes.get(CORS);
    let rules = text.map(|text| serde_json::from_str(text));
    rules.and_then(Result::ok).unwrap_or_default()
}

/// Returns the response to a preflight (`OPTIONS`); `None` if the request is not one.
pub(crate) async fn preflight<B>(store: &Store, request: &Request<B>) -> Option<Response<Body>> {
    if request.method() != Method::OPTIONS {
        return None;
    }
    let has = |name| request.headers().contains_key(name);
    let Some(request) = CorsRequest::of(request).filter(|_| has(header::ACCESS_CONTROL_REQUEST_METHOD))
    else {
        let detail = "a preflight request requires Origin and Access-Control-Request-Method";
        return Some(Refusal::bad("BadRequest", detail).response());
    };
    let Some(rule) = request.rule(store).await else {
        let detail = "CORSResponse: no rule allows this origin, method and headers";
        return Some(Refusal::new(StatusCode::FORBIDDEN, "AccessForbidden", detail).response());
    };
    let mut response = Response::new(Body::empty());
    *response.headers_mut() = request.response_headers(&rule);
    Some(response)
}

/// Returns the headers to add to the response to a web page's request.
pub(crate) async fn response_headers<B>(store: &Store, request: &Request<B>) -> HeaderMap {
    match CorsRequest::of(request) {
        None => HeaderMap::new(),
        Some(request) => {
            let rule = request.rule(store).await;
            rule.map(|rule| request.response_headers(&rule))
                .unwrap_or_default()
        }
    }
}

impl CorsRequest {
    fn of<B>(request: &Request<B>) -> Option<Self> {
        let text = |name| {
            request
                .headers()
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let bucket = request.uri().path().split('/').nth(1)?;
        let method = text(header::ACCESS_CONTROL_REQUEST_METHOD);
        let headers = text(header::ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or_default();
        let headers = headers.split(',').map(|name| name.trim().to_ascii_lowercase());
        Some(Self {
            bucket: bucket.to_owned(),
            origin: text(header::ORIGIN)?.to_owned(),
            method: method.unwrap_or(request.method().as_str()).to_owned(),
            headers: headers.filter(|name| !name.is_empty()).collect(),
        })
    }

    /// Returns the bucket's first rule that allows the request.
    async fn rule(&self, store: &Store) -> Option<Rule> {
        store::bucket::check_name(&self.bucket).ok()?;
        let bucket = store.bucket_as_known(&self.bucket).await.ok()??;
        rules(&bucket).into_iter().find(|rule| rule.allows(self))
    }

    /// Returns the response headers under `rule`.
    fn response_headers(&self, rule: &Rule) -> HeaderMap {
        let anybody = rule.origins.iter().any(|origin| origin == "*");
        let age = rule.max_age_seconds.map(|seconds| seconds.to_string());
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
        let headers: [(HeaderName, Option<String>); 7] = [
            (
                header::ACCESS_CONTROL_ALLOW_ORIGIN,
                Some(if anybody {
                    "*".to_owned()
                } else {
                    self.origin.clone()
                }),
            ),
            (
                header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
                // The Fetch standard rejects credentials together with the origin `*`.
                (!anybody).then(|| "true".to_owned()),
            ),
            (header::ACCESS_CONTROL_ALLOW_METHODS, list(&rule.methods)),
            // Returns the requested headers, not the rule's patterns: in a response with
            // credentials, browsers take `*` for a literal name.
            (header::ACCESS_CONTROL_ALLOW_HEADERS, list(&self.headers)),
            (header::ACCESS_CONTROL_EXPOSE_HEADERS, list(&rule.exposed)),
            (header::ACCESS_CONTROL_MAX_AGE, age),
            (header::VARY, Some(VARY.to_owned())),
        ];
        let values = headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, HeaderValue::try_from(value?).ok()?)));
        values.collect()
    }
}

impl Rule {
    fn allows(&self, request: &CorsRequest) -> bool {
        let header = |name: &String| {
            let mut allowed = self.headers.iter();
            allowed.any(|pattern| fits(&pattern.to_ascii_lowercase(), name))
        };
        self.origins.iter().any(|pattern| fits(pattern, &request.origin))
            && self.methods.contains(&request.method)
            && request.headers.iter().all(header)
    }
}

/// Reports whether a text matches a pattern, in which one `*` matches any text.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(origin: &str, method: &str, headers: &str) -> CorsRequest {
        let request = Request::builder()
            .uri("/crawls/a?b")
            .header("origin", origin)
            .header("access-control-request-method", method)
            .header("access-control-request-headers", headers);
        CorsRequest::of(&request.body(()).unwrap()).unwrap()
    }

    #[test]
    fn patterns_have_one_star() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("https://*.example.org", "https://a.example.org", true),
            ("https://*.example.org", "https://example.org", false),
            ("start*end", "startend", true),
            ("start*end", "start-end-", false),
            ("aba*aba", "aba", false),
            ("null", "null", true),
            ("a", "A", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn origin_method_and_headers_must_all_fit() {
        let rule = Rule {
            origins: vec!["https://replay.example.org".to_owned()],
            methods: vec!["GET".to_owned(), "HEAD".to_owned()],
            headers: vec!["Range".to_owned(), "x-amz-*".to_owned()],
            exposed: vec!["ETag".to_owned()],
            max_age_seconds: Some(600),
            ..Rule::default()
        };
        let ours = "https://replay.example.org";
        let fitting = request(ours, "GET", "range, X-Amz-Date");
        assert!(rule.allows(&fitting) && rule.allows(&request(ours, "HEAD", "")));
        assert!(!rule.allows(&request("https://example.org", "GET", "")));
        assert!(!rule.allows(&request(ours, "PUT", "")));
        assert!(!rule.allows(&request(ours, "GET", "range, authorization")));
        let headers = fitting.response_headers(&rule);
        for (name, value) in [
            ("access-control-allow-origin", ours),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", "GET, HEAD"),
            ("access-control-allow-headers", "range, x-amz-date"),
            ("access-control-expose-headers", "ETag"),
            ("access-control-max-age", "600"),
            ("vary", VARY),
        ] {
            assert_eq!(headers[name], value);
        }
        let anybody = Rule {
            origins: vec!["*".to_owned()],
            ..rule
        };
        let headers = request("null", "GET", "").response_headers(&anybody);
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert!(!headers.contains_key("access-control-allow-credentials"));
    }
}
