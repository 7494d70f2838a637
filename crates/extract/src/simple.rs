//! Properties of a reference that are visible in its bytes, without parsing it.
//!
//! Each function gives a result only if it is certain; otherwise the caller uses the `url` crate.

use std::borrow::Cow;

/// `scheme://host` and the rest of an absolute reference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Absolute<'a> {
    /// `http` or `https`.
    pub(crate) scheme: &'a str,
    /// The text up to the first `/`, `?` or `#`; it may be anything.
    pub(crate) host: &'a str,
    /// The text from there on.
    pub(crate) rest: &'a str,
}

/// Splits a reference that begins with `http://` or `https://` in lower case.
pub(crate) fn split_absolute(reference: &str) -> Option<Absolute<'_>> {
    let (scheme, after) = match reference.strip_prefix("http")? {
        rest if rest.starts_with("://") => ("http", &rest[3..]),
        rest => ("https", rest.strip_prefix("s://")?),
    };
    let end = after
        .bytes()
        .position(|b| matches!(b, b'/' | b'?' | b'#'))
        .unwrap_or(after.len());
    let (host, rest) = after.split_at(end);
    Some(Absolute { scheme, host, rest })
}

/// Returns whether `host` is a domain name that needs no change in URLs: lower-case letters, digits
/// and hyphens, no empty label, no label in Punycode, and a last label of letters (otherwise it
/// might be an IP address).
pub(crate) fn is_canonical_host(host: &str) -> bool {
    if host.len() > 253 {
        return false;
    }
    let mut label_length = 0;
    let mut label_is_alphabetic = true;
    for byte in host.bytes() {
        match byte {
            b'a'..=b'z' => label_length += 1,
            b'0'..=b'9' => {
                label_length += 1;
                label_is_alphabetic = false;
            }
            // Labels with hyphens in third and fourth place (`xn--`) have a meaning in IDNA.
            b'-' if label_length > 0 && label_length != 2 && label_length != 3 => {
                label_length += 1;
                label_is_alphabetic = false;
            }
            b'.' if label_length > 0 => {
                label_length = 0;
                label_is_alphabetic = true;
            }
            _ => return false,
        }
    }
    label_length > 0 && label_is_alphabetic
}

/// Bytes that need no change in paths and queries.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = b'0';
    while byte <= b'z' {
        plain[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-_~/?%!$&()*+,;=:@.";
    let mut i = 0;
    while i < others.len() {
        plain[others[i] as usize] = true;
        i += 1;
    }
    plain
};

/// Returns path and query of `rest` without the fragment, if they are already canonical. `rest`
/// must be empty or begin with `/`, `?` or `#`.
pub(crate) fn canonical_path(rest: &str) -> Option<&str> {
    let path = match memchr::memchr(b'#', rest.as_bytes()) {
        // Blanks at the end would be trimmed, but they are part of the fragment, which is dropped.
        Some(end) => &rest[..end],
        None => rest,
    };
    let mut before = 0;
    for byte in path.bytes() {
        // A segment that begins with a dot may be a dot segment, which is rare. An escaped dot
        // (`%2e`) is checked below.
        if !PLAIN[usize::from(byte)] || (byte == b'.' && before == b'/') {
            return None;
        }
        before = byte;
    }
    if memchr::memchr(b'%', path.as_bytes()).is_some() && has_escaped_dot(path.as_bytes()) {
        return None;
    }
    Some(path)
}

fn has_escaped_dot(path: &[u8]) -> bool {
    path.windows(3)
        .any(|w| w[0] == b'%' && w[1] == b'2' && w[2] | 0x20 == b'e')
}

/// Returns true only if `reference` certainly stays on the host of the base: it has neither a
/// scheme nor a host. It may still be an invalid URL.
pub(crate) fn is_relative(reference: &str) -> bool {
    // The URL parser removes tabs and line ends anywhere, and blanks at the beginning, so such
    // references are left to it.
    for (at, byte) in reference.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b'#' | b'?' => return true,
            b'/' if at > 0 => return true,
            b'/' => {
                return !matches!(
                    reference.as_bytes().get(1),
                    Some(b'/' | b'\\' | b'\t' | b'\n' | b'\r')
                );
            }
            // A digit, dot or other plain character at the beginning cannot start a scheme.
            b'0'..=b'9' | b'.' | b'-' | b'_' | b'%' | b'~' | b'=' | b'&' => return true,
            _ => return false,
        }
    }
    true
}

/// Returns true only if `reference` has a scheme that is neither http nor https.
pub(crate) fn has_other_scheme(reference: &str) -> bool {
    let Some(end) = reference
        .bytes()
        .position(|b| !(b.is_ascii_alphanumeric() || b"+-.".contains(&b)))
    else {
        return false;
    };
    let scheme = &reference[..end];
    reference.as_bytes()[end] == b':'
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && !scheme.eq_ignore_ascii_case("http")
        && !scheme.eq_ignore_ascii_case("https")
}

/// Returns whether the host of a reference may exist ([`urlkey::may_be_host`]). A reference without
/// a host returns true.
pub(crate) fn may_have_host(reference: &str) -> bool {
    // The URL parser removes these anywhere.
    const SKIPPED: [char; 3] = ['\t', '\n', '\r'];
    let reference = if reference.contains(SKIPPED) {
        Cow::Owned(reference.replace(SKIPPED, ""))
    } else {
        Cow::Borrowed(reference)
    };
    let Some(authority) = authority_of(reference.trim_start_matches(|c: char| c <= ' ')) else {
        return true;
    };
    let end = authority.find(['/', '\\', '?', '#']).unwrap_or(authority.len());
    let authority = &authority[..end];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.split(':').all(urlkey::may_be_host)
}

/// Returns the text from the authority on, as the URL parser finds it in a reference of http or
/// https. Returns `None` without an authority.
fn authority_of(reference: &str) -> Option<&str> {
    let is_slash = |c: char| c == '/' || c == '\\';
    let without = |scheme: &str| {
        let begin = reference.get(..scheme.len())?;
        let is_it = begin.eq_ignore_ascii_case(scheme);
        is_it.then(|| &reference[scheme.len()..])
    };
    let rest = match without("http:").or_else(|| without("https:")) {
        Some(rest) => rest,
        None => reference.strip_prefix(is_slash)?.strip_prefix(is_slash)?,
    };
    Some(rest.trim_start_matches(is_slash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn other_schemes() {
        for reference in ["javascript:x", "mailto:a@b", "TEL:1", "a.b:80/x", "data:,", "h:"] {
            assert!(has_other_scheme(reference), "{reference}");
        }
        for reference in [
            "http:x",
            "HTTPS://x",
            "/a:b",
            "1:2",
            ":x",
            "java\tscript:x",
            "",
            "x",
        ] {
            assert!(!has_other_scheme(reference), "{reference}");
        }
    }

    #[test]
    fn relative_references() {
        for reference in [
            "",
            "#top",
            "/x",
            "x/y",
            "index.html",
            "?a=b",
            "../x",
            "a_b:c",
            "1:2",
            "/",
            "a#b:c",
        ] {
            assert!(is_relative(reference), "{reference}");
        }
        for reference in [
            "//x", "/\\x", "\\\\x", "http:x", "a:b", " /x", "/\t/x", "\t//x", "é",
        ] {
            assert!(!is_relative(reference), "{reference}");
        }
    }

    #[test]
    fn canonical_hosts() {
        for host in ["a.b", "example.com", "x-1.example", "localhost"] {
            assert!(is_canonical_host(host), "{host}");
        }
        for host in [
            "", ".", "a.", ".a", "a..b", "A.b", "1.2.3.4", "a.0x1", "xn--a.b", "a_b.c", "a:80", "u@h", "é.b",
            "a.b-c",
        ] {
            assert!(!is_canonical_host(host), "{host}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn relative_references_stay_on_the_host(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                "/", "\\", ":", "http", "a", ".", "..", "#", "?", "1", " ", "\t", "é", "%", "-", "_", "@", "x.org",
            ]), 0..6),
        ) {
            let reference = pieces.concat();
            let base = url::Url::parse("http://host.example/dir/page").unwrap();
            if is_relative(&reference) && let Ok(url) = base.join(&reference) {
                prop_assert_eq!(url.host_str(), Some("host.example"), "{}", reference);
                prop_assert_eq!(url.scheme(), "http");
            }
            if has_other_scheme(&reference) && let Ok(url) = base.join(&reference) {
                prop_assert!(!matches!(url.scheme(), "http" | "https"), "{}", reference);
            }
        }
    }
}
