//! The headers that keep documents of archived sites in the archive.
//!
//! A policy is checked before the worker gets a request. So the policy of a document allows every
//! web URL for requests that the worker answers, and none for others.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

use super::super::policy::WithoutShim;
use super::Visit;

/// Marks a response that is not content of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page of the archive, or a failure.
    Small,
    /// The script of the service worker.
    Worker,
}

/// Sets the headers of a response.
pub(super) fn confine(response: &mut Response, visit: &Visit) {
    let kind = response.extensions().get::<Kind>().copied();
    let has_scripts = response.extensions().get::<WithoutShim>().is_none();
    let policy = match kind {
        Some(Kind::Small) => SMALL.to_owned(),
        Some(Kind::Worker) => format!(
            "default-src 'none'; connect-src 'self' {}",
            visit.origins.others()
        ),
        None => document(visit, has_scripts),
    };
    let policy = format!("{policy}; frame-ancestors {}", visit.ancestors);
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_SECURITY_POLICY, &policy);
    insert(headers, CONNECTION_ALLOWLIST, &connections(visit, kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("private, no-store"));
}

/// Returns the policy of a document. Frames of `data:` and `blob:` are refused, because the worker
/// does not see their requests. `object` and `embed` do not use a worker. A document without scripts
/// (XML, a drawing) has no script at its head that prepares its frames, so it loads nothing of other
/// hosts.
fn document(visit: &Visit, has_scripts: bool) -> String {
    let all = &visit.all;
    let loads = if has_scripts {
        "default-src http: https: data: blob: 'unsafe-inline' 'unsafe-eval'".to_owned()
    } else {
        format!("default-src {all} data: blob: 'unsafe-inline'; script-src 'none'")
    };
    format!(
        "{loads}; frame-src {all}; form-action {all}; object-src 'none'; worker-src 'self' blob:; manifest-src 'none'; \
         base-uri http: https:"
    )
}

/// The policy of a page that installs the worker. An empty frame tests the browser.
const SMALL: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; frame-src 'self'; \
    style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Returns the connections that a document or a worker may open. Browsers check a document's before
/// the worker gets the request, so the list must allow what the worker answers. It refuses the root
/// of other hosts, which is the address of a connection without a request. In Chromium 156 a query
/// does not count. `webrtc=block` is for browsers that read it: Chromium 156 does not.
fn connections(visit: &Visit, kind: Option<Kind>) -> String {
    let own = format!("response-origin \"{}/*\"", visit.all);
    let others = match kind {
        Some(_) => "",
        None => " \"*://*:*/:path\" \"*://*:*/:path/*\"",
    };
    format!("({own}{others});redirects=allow;webrtc=block")
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

const CONNECTION_ALLOWLIST: HeaderName = HeaderName::from_static("connection-allowlist");

const HEADERS: [(HeaderName, &str); 5] = [
    // Sites of one registrable domain cannot join their origins with `document.domain`.
    (HeaderName::from_static("origin-agent-cluster"), "?1"),
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (header::REFERRER_POLICY, "strict-origin-when-cross-origin"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "cross-origin",
    ),
    // Requests that the browser itself makes.
    (
        HeaderName::from_static("permissions-policy"),
        "browsing-topics=(), identity-credentials-get=(), payment=()",
    ),
];
