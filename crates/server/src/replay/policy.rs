//! The headers that keep archived documents in the archive.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use replay::Scripts;

use crate::replay_origin::ReplayOrigin;

/// Marks a response without the shim. Opened as a document it runs no scripts, because the shim
/// would not run before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct WithoutShim;

/// Returns the permissions of a frame that shows an archived document.
pub(super) fn sandbox(scripts: Scripts) -> &'static str {
    match scripts {
        Scripts::On => "allow-scripts allow-forms",
        Scripts::Off => "allow-forms",
    }
}

/// Sets the headers of every response with archived content. `host` is the name of this origin in
/// the request.
///
/// The policy names this origin explicitly in addition to `'self'`, because the document has no
/// origin that `'self'` matches in all browsers. It contains `sandbox`, so that a document is also
/// confined outside a frame.
pub(super) fn confine(headers: &mut HeaderMap, host: &str, scripts: Scripts) {
    let own = if is_plain(host) {
        format!("'self' http://{host} https://{host}")
    } else {
        "'self'".to_owned()
    };
    let policy = format!(
        "sandbox {}; default-src {own} data: blob: 'unsafe-inline' 'unsafe-eval'; frame-src {own}; form-action {own}; base-uri {own}; \
         worker-src {own} blob:; object-src {own}; manifest-src 'none'; webrtc 'block'",
        sandbox(scripts)
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Returns the directive that names the sites which may show responses to `asked` in a frame: this
/// origin, the archive's pages, and the sites of the settings.
pub(super) fn ancestors(place: &ReplayOrigin, asked: &HeaderMap) -> String {
    let mut ancestors = "frame-ancestors 'self'".to_owned();
    let main = place.main_origin(asked);
    let main = main.filter(|origin| origin.strip_prefix("http://").is_some_and(is_plain));
    for origin in main.iter().chain(&place.settings.embed_on) {
        ancestors.push(' ');
        ancestors.push_str(origin);
    }
    ancestors
}

/// Adds a directive to the policy of a response.
pub(super) fn add_directive(headers: &mut HeaderMap, directive: &str) {
    let policy = headers.get(header::CONTENT_SECURITY_POLICY);
    let policy = match policy.and_then(|policy| policy.to_str().ok()) {
        Some(policy) => format!("{policy}; {directive}"),
        None => directive.to_owned(),
    };
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// Headers of every response with archived content.
const HEADERS: [(HeaderName, &str); 5] = [
    // In Chromium a content security policy does not cover connections that are opened before a
    // request. This header does, and frames made by `srcdoc`, `javascript:` or a script inherit it.
    // Redirects are allowed because they lead to captures, which the policy enforces. Chromium 156
    // reads `webrtc` neither here nor in the policy: the shim blocks WebRTC.
    (
        HeaderName::from_static("connection-allowlist"),
        "(response-origin);redirects=allow;webrtc=block",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Without this, browsers look up host names in links before a click.
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (header::REFERRER_POLICY, "no-referrer"),
    // A document has no origin, so the browser treats all its requests to this origin as
    // cross-origin.
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "cross-origin",
    ),
];

/// Returns whether a host is safe in a policy.
pub(super) fn is_plain(host: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']' | b'_');
    !host.is_empty() && host.bytes().all(plain)
}

/// Lets a document of this origin read its responses, and use fonts and modules. Its origin is
/// `null`, as for documents that other sites put into a sandbox. The key in the requested address
/// tells them apart: only a client that could read such a document knows the key.
pub(super) fn share(asked: &HeaderMap, is_keyed: bool, headers: &mut HeaderMap) {
    let is_null = asked.get(header::ORIGIN).is_some_and(|origin| origin == "null");
    if is_null && is_keyed {
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("null"),
        );
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("*"),
        );
    }
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}
