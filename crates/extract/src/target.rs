//! Reads the target of a record: converts the text in the header to a URL with a key.

use crate::reason;
use std::borrow::Cow;
use std::fmt::Write;

/// The outcome of reading a target.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An http or https URL, with its key.
    Web {
        /// The URL as archived, without brackets and line ends, with blanks and control characters
        /// escaped.
        url: String,
        /// The SURT form of the URL.
        url_key: String,
    },
    /// Another scheme (dns, ftp, metadata, ...): not a capture.
    Other,
    /// An unusable web address.
    Unusable(warc::Defect),
}

/// Reads the value of WARC-Target-URI, or the first field of an ARC header line.
pub(crate) fn read(raw: Option<&str>) -> Target {
    let Some(raw) = raw.map(strip).filter(|raw| !raw.is_empty()) else {
        return Target::Unusable(defect(
            reason::MISSING_TARGET_URI,
            "no target in the record's header",
        ));
    };
    let url = match scheme_of(raw) {
        Some(scheme) if is_web(scheme) => escape(raw),
        Some(_) => return Target::Other,
        None => format!("http://{}", escape(raw)),
    };
    match urlkey::url_key(&url) {
        Ok(url_key) => Target::Web { url, url_key },
        Err(error) => Target::Unusable(defect(reason::BAD_TARGET_URI, &format!("{error}: {raw}"))),
    }
}

/// Returns the address if its scheme is neither http nor https, in the form of [`Target::Web::url`].
pub(crate) fn of_other_scheme(raw: &str) -> Option<String> {
    let raw = strip(raw);
    has_other_scheme(raw).then(|| escape(raw))
}

/// Returns whether an address has a scheme, and it is neither http nor https.
pub(crate) fn has_other_scheme(url: &str) -> bool {
    scheme_of(url).is_some_and(|scheme| !is_web(scheme))
}

/// Removes blanks, and the angle brackets that wget writes around the target.
fn strip(raw: &str) -> &str {
    let raw = raw.trim();
    match raw.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => inner.trim(),
        None => raw,
    }
}

/// Returns the scheme, or `None` if the target is only `host/path` or `host:port/path`.
fn scheme_of(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once(':')?;
    let is_word = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_port = scheme.contains('.') && rest.starts_with(|c: char| c.is_ascii_digit());
    (is_word && !is_port).then_some(scheme)
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Removes carriage returns, line feeds and tabs, as browsers do, and escapes blanks and other
/// control characters, because the URL must fit in a line of blank-separated fields.
fn escape(target: &str) -> String {
    if target.bytes().all(|b| b > b' ' && b != 0x7f) {
        return target.to_owned();
    }
    let mut url = String::with_capacity(target.len() + 16);
    for c in target.chars() {
        match c {
            '\r' | '\n' | '\t' => {}
            '\0'..=' ' | '\x7f' => {
                // Writing to a string cannot fail.
                let _ = write!(url, "%{:02X}", c as u32);
            }
            c => url.push(c),
        }
    }
    url
}

pub(crate) fn defect(reason: &'static str, detail: &str) -> warc::Defect {
    let detail = match detail.char_indices().nth(500) {
        Some((end, _)) => Cow::Borrowed(&detail[..end]),
        None => Cow::Borrowed(detail),
    };
    warc::Defect {
        reason,
        detail: detail.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_url(raw: &str, expected: &str) {
        match read(Some(raw)) {
            Target::Web { url, .. } => assert_eq!(url, expected),
            other => panic!("{raw}: {other:?}"),
        }
    }

    #[test]
    fn odd_targets_that_can_be_used() {
        check_url("http://example.com/a", "http://example.com/a");
        check_url("<https://archive.org/>", "https://archive.org/");
        check_url(" http://example.com/a b ", "http://example.com/a%20b");
        check_url("http://example.com/a\rb\x0cc", "http://example.com/ab%0Cc");
        check_url("HTTP://Example.com/", "HTTP://Example.com/");
        check_url("www.example.com/x", "http://www.example.com/x");
        check_url("www.example.com:8080/x", "http://www.example.com:8080/x");
    }

    #[test]
    fn other_schemes_are_not_captures() {
        for raw in [
            "dns:example.com",
            "ftp://ftp.mayn.de/x",
            "metadata://gnu.org/x",
            "filedesc://x.arc",
            "urn:x",
        ] {
            assert_eq!(read(Some(raw)), Target::Other, "{raw}");
        }
    }

    #[test]
    fn targets_without_a_key_are_unusable() {
        for (raw, reason) in [
            (None, reason::MISSING_TARGET_URI),
            (Some(""), reason::MISSING_TARGET_URI),
            (Some("<>"), reason::MISSING_TARGET_URI),
            (Some("http://"), reason::BAD_TARGET_URI),
        ] {
            match read(raw) {
                Target::Unusable(defect) => assert_eq!(defect.reason, reason),
                other => panic!("{raw:?}: {other:?}"),
            }
        }
    }
}
