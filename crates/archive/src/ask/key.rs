//! Turns user input into a URL key.

use std::cell::RefCell;

use urlkey::Spelling;

use crate::AskError;

/// Adds a missing scheme: `iana.org/about` becomes `http://iana.org/about`.
pub(super) fn with_scheme(url: &str) -> String {
    let url = url.trim();
    if url.contains("://") || url.starts_with("dns:") {
        url.to_owned()
    } else {
        format!("http://{url}")
    }
}

/// Returns the key of a URL. A key (`org,iana)/about`) is returned unchanged.
pub(super) fn url_key(url: &str) -> Result<String, AskError> {
    if is_key(url.trim()) {
        return Ok(url.trim().to_owned());
    }
    urlkey::url_key(&with_scheme(url))
        .map_err(|error| AskError::bad_request(format!("{url:?} has no URL key: {error}")))
}

/// Tests whether captures of a key are of exactly the URL asked for. URLs that differ only in case
/// have one key, and may be different pages.
pub(super) struct UrlSpelling {
    /// `None` if a key was asked for, which determines no spelling.
    spelling: Option<Spelling>,
    /// The URL tested last, with the result: consecutive captures mostly have the same URL.
    last: RefCell<(String, bool)>,
}

impl UrlSpelling {
    pub(super) fn of(url: &str) -> UrlSpelling {
        let mut asked = UrlSpelling::any();
        if !is_key(url.trim()) {
            asked.spelling = Spelling::new(&with_scheme(url)).ok();
        }
        asked
    }

    /// Returns a test that accepts every capture.
    pub(super) fn any() -> UrlSpelling {
        UrlSpelling {
            spelling: None,
            last: RefCell::default(),
        }
    }

    /// Returns whether a capture of the key, with this URL, is of the URL asked for.
    pub(super) fn is(&self, url: &str) -> bool {
        let Some(spelling) = &self.spelling else {
            return true;
        };
        let mut last = self.last.borrow_mut();
        if last.0 != url {
            last.0.clear();
            last.0.push_str(url);
            last.1 = spelling.matches(url);
        }
        last.1
    }
}

/// Returns the error for every question about a URL that is not in the archive.
pub(super) fn unknown(url: &str, url_key: &str) -> AskError {
    let star = if urlkey::host_of_key(url_key).contains('*') {
        "; a star in the host is an ordinary character here, not a pattern"
    } else {
        ""
    };
    AskError::not_found(format!(
        "no capture of {url} and no link to it (key {url_key}){star}"
    ))
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
    fn the_very_url_and_others_of_its_key() {
        let asked = UrlSpelling::of("imgur.com/a/pcL4f");
        assert!(asked.is("https://www.imgur.com/a/pcL4f/"));
        assert!(!asked.is("http://imgur.com/a/pCL4f"));
        let key = UrlSpelling::of("com,imgur)/a/pcl4f");
        assert!(key.is("http://imgur.com/a/pcL4f") && key.is("http://imgur.com/a/pCL4f"));
    }

    #[test]
    fn a_star_is_said_to_be_no_pattern() {
        let message = |url: &str| unknown(url, &url_key(url).unwrap()).message;
        assert!(message("*.iana.org").contains("an ordinary character here"));
        assert!(!message("iana.org/*").contains("an ordinary character"));
    }

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
