//! The headers that keep archived documents in the archive.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use replay::Scripts;

/// Put into an answer without the shim: as a document of its own it runs no scripts, because nothing would stand before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unscripted;

/// What a frame may do that shows an archived document.
pub(super) fn sandbox(scripts: Scripts) -> &'static str {
    match scripts {
        Scripts::On => "allow-scripts allow-forms",
        Scripts::Off => "allow-forms",
    }
}

/// Sets the headers of every answer that is archived content. `host` is what the request names this origin.
///
/// The policy names this origin in full beside `'self'`, because the document has no origin that `'self'` could stand for in all
/// browsers. It says `sandbox` itself, so that a document is confined where no frame confines it.
pub(super) fn confine(headers: &mut HeaderMap, host: &str, scripts: Scripts) {
    let own = match is_plain(host) {
        true => format!("'self' http://{host} https://{host}"),
        false => "'self'".to_owned(),
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

/// Headers of every archived content.
const HEADERS: [(HeaderName, &str); 5] = [
    // A content security policy says nothing of WebRTC in Chromium, nor of connections that are opened ahead of a request. This header
    // does, and frames made by `srcdoc`, `javascript:` or a script inherit it. Redirects lead to captures, as the policy has it.
    (
        HeaderName::from_static("connection-allowlist"),
        "(response-origin);redirects=allow;webrtc=block",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Without this, browsers look up host names in links before a click.
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (header::REFERRER_POLICY, "no-referrer"),
    // A document has no origin, so what it loads here comes from elsewhere to the browser.
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "cross-origin",
    ),
];

/// Whether a host can stand in a policy.
pub(super) fn is_plain(host: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']' | b'_');
    !host.is_empty() && host.bytes().all(plain)
}

/// Lets a document of this origin read what it fetches, and use fonts and modules. It has no origin of its own (`null`), as documents
/// that other sites put into a sandbox; what tells them apart is the key in the addresses that it asks for, which nobody can know who
/// could not read such a document.
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
