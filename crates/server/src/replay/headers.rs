//! Status and headers of a response: those of the capture, as far as they apply in the archive.

use archive::question::{CaptureKind, CdxRow};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use replay::{Modifier, Role, Scope};

/// Prefix for captured headers that do not apply to the response itself.
const ORIGINAL: &str = "x-archive-orig-";

/// Captured headers that are copied unchanged.
const KEPT: [&str; 2] = ["content-language", "content-disposition"];

/// Returns the status of the capture. A revisit with a status uses its own.
pub(super) fn status_of(capture: &CdxRow, of_content: u16) -> StatusCode {
    let status = match (capture.kind, capture.status) {
        (CaptureKind::Revisit, 0) | (_, 0) => of_content,
        (_, status) => status,
    };
    let known = StatusCode::from_u16(status).ok();
    // Responses without content, partial responses and protocol switches cannot be sent again.
    known
        .filter(|known| !known.is_informational() && !matches!(status, 204 | 205 | 206 | 304 | 416))
        .unwrap_or(StatusCode::OK)
}

/// Returns the unresolved target of a redirect.
pub(super) fn redirect(status: StatusCode, fields: &[(String, String)]) -> Option<&str> {
    let location = field(fields, "location")?;
    status.is_redirection().then_some(location)
}

/// Returns a header of the capture, unless it is empty.
pub(super) fn field<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty())
}

/// Returns the declared media type.
pub(super) fn media(fields: &[(String, String)], capture: &CdxRow) -> HeaderValue {
    let declared = field(fields, "content-type").unwrap_or(&capture.mime);
    let declared = if declared == "unk" { "" } else { declared };
    HeaderValue::from_str(declared)
        .ok()
        .filter(|value| !value.is_empty())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// Copies the headers of the capture: some unchanged, `Location` and `Refresh` with an address of
/// the archive, all others with a prefix that makes browsers ignore them.
pub(super) fn take_over(
    headers: &mut HeaderMap,
    fields: &[(String, String)],
    scope: &Scope,
    modifier: Modifier,
) {
    for (name, value) in fields {
        let name = name.to_ascii_lowercase();
        let (name, value) = match name.as_str() {
            "location" => match scope.refer(value, modifier, Role::Link) {
                Some(address) => (name, address),
                None => (format!("{ORIGINAL}{name}"), value.clone()),
            },
            "refresh" => match scope.refresh(value, modifier) {
                Some(refresh) => (name, refresh),
                None => (format!("{ORIGINAL}{name}"), value.clone()),
            },
            known if KEPT.contains(&known) => (name, value.clone()),
            _ => (format!("{ORIGINAL}{name}"), value.clone()),
        };
        let name = HeaderName::try_from(name);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
}

/// Sets a header, if the value is valid in one.
pub(super) fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
