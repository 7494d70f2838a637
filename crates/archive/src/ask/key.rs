//! Turns what a user types into a URL key.

use crate::AskError;

/// Adds a scheme if there is none: `iana.org/about` becomes `http://iana.org/about`.
pub(super) fn with_scheme(url: &str) -> String {
    let url = url.trim();
    if url.contains("://") || url.starts_with("dns:") {
        url.to_owned()
    } else {
        format!("http://{url}")
    }
}

/// The key of a URL. A key itself (`org,iana)/about`) is returned unchanged.
pub(super) fn url_key(url: &str) -> Result<String, AskError> {
    if is_key(url.trim()) {
        return Ok(url.trim().to_owned());
    }
    urlkey::url_key(&with_scheme(url))
        .map_err(|error| AskError::bad_request(format!("{url:?} has no URL key: {error}")))
}

/// The error for every question about a URL that is not in the archive.
pub(super) fn unknown(url: &str, url_key: &str) -> AskError {
    AskError::not_found(format!("no capture of {url} and no link to it (key {url_key})"))
}

/// A key has a closing bracket after its host, before any slash; a URL has none there.
fn is_key(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or_default();
    host.ends_with(')') && !host.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn what_readers_type() {
        for typed in [
            "iana.org",
            "http://www.iana.org/",
            " https://iana.org ",
            "org,iana)/",
            "WWW.IANA.ORG",
        ] {
            assert_eq!(url_key(typed).unwrap(), "org,iana)/", "{typed}");
        }
        assert_eq!(url_key("").unwrap_err().code, ErrorCode::BadRequest);
    }
}
