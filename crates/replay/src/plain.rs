//! Resolves plain references without parsing a URL. Most references are plain: no part of them is
//! escaped, removed or lowercased.
//!
//! Invariant: the result is the same as that of [`Url::join`]. All other references are left to
//! that function.

use url::Url;

/// Base of plain references.
#[derive(Debug, Clone)]
pub(crate) struct PlainBase {
    /// Such as `http:`.
    scheme: String,
    /// Such as `http://a.example`.
    origin: String,
    /// Such as `http://a.example/b/`.
    folder: String,
}

impl PlainBase {
    pub(crate) fn of(base: &Url) -> PlainBase {
        let origin = base.origin().ascii_serialization();
        let path = base.path();
        let end = path.rfind('/').map_or(0, |slash| slash + 1);
        PlainBase {
            scheme: format!("{}:", base.scheme()),
            folder: format!("{origin}{}", &path[..end]),
            origin,
        }
    }

    /// Returns the URL of `reference`, or `None` if it is not plain.
    pub(crate) fn join(&self, reference: &str) -> Option<String> {
        if !is_plain(reference) {
            return None;
        }
        let joined = |start: &str| [start, reference].concat();
        for scheme in ["http://", "https://"] {
            if let Some(rest) = reference.strip_prefix(scheme) {
                return has_plain_host(rest).then(|| reference.to_owned());
            }
        }
        match reference.as_bytes() {
            [b'/', b'/', ..] => has_plain_host(&reference[2..]).then(|| joined(&self.scheme)),
            [b'/', ..] => Some(joined(&self.origin)),
            // Text before a colon may be a scheme.
            [b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9', ..] if !reference.contains(':') => {
                Some(joined(&self.folder))
            }
            _ => None,
        }
    }
}

/// Returns whether a reference is the same in a URL: it has no character that is escaped, and no
/// path segment that begins with a dot, as those that lead up do (WHATWG URL, section 4.4).
fn is_plain(reference: &str) -> bool {
    let mut before = b'/';
    reference.bytes().all(|byte| {
        let is_step = byte == b'.' && before == b'/';
        before = byte;
        !is_step && PLAIN[usize::from(byte)]
    })
}

/// Bytes that are unchanged in paths and queries. A table, because each reference is checked byte
/// by byte.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < plain.len() {
        plain[byte] = matches!(
            byte as u8,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&'
                | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/' | b'?'
        );
        byte += 1;
    }
    plain
};

/// Returns whether the text before the first slash is a host in normal form: in lower case, without
/// a port, not a number, and not an encoded name with letters of other scripts.
fn has_plain_host(rest: &str) -> bool {
    let Some((host, _)) = rest.split_once('/') else {
        return false;
    };
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(plain) && !label.starts_with("xn--")
    };
    let ends_in_letters = host
        .rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_lowercase()));
    ends_in_letters && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASES: [&str; 4] = [
        "http://a.example/b/c?d/e#f",
        "https://a.example",
        "http://a.example:8080/b/",
        "https://[::1]/b//c",
    ];

    #[track_caller]
    fn check(reference: &str) -> bool {
        let mut is_plain = false;
        for base in BASES {
            let base = Url::parse(base).expect("a URL");
            if let Some(url) = PlainBase::of(&base).join(reference) {
                is_plain = true;
                assert_eq!(
                    Ok(url),
                    base.join(reference).map(String::from),
                    "{reference} in {base}"
                );
            }
        }
        is_plain
    }

    #[test]
    fn plain_references_are_resolved_and_others_left() {
        for reference in [
            "x.png",
            "x/y.html?z=/a&b=c",
            "/x//y/",
            "//b.example/x@y:z",
            "http://www.b.example/",
            "https://b-1.example/x?y",
        ] {
            assert!(check(reference), "{reference}");
        }
        for reference in [
            "",
            "?x",
            "../x",
            "x/./y",
            "x/..",
            "/.",
            "x:y",
            "mailto:a@b.example",
            "javascript:x",
            "http:x",
            "http://b.example",
            "http://b.example:80/x",
            "http://a@b.example/",
            "http://B.example/",
            "http://127.0.0.1/",
            "http://1.0x7f/",
            "http://xn--a/",
            "http:///x",
            "///x/y",
            "/x y",
            "/\u{e4}",
            "/x%2e",
            "/x\\y",
        ] {
            assert!(!check(reference), "{reference}");
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_is_what_a_parser_of_urls_makes_of_it(
            reference in "(http://|https://|//|/|HTTP://|)([a-z0-9.-]{1,6}|xn--a|B|[::1]|1)?(:80)?[-a-zB0-9._~!$&()*+,;=:@/?%2e'#\\\\]{0,12}"
        ) {
            check(&reference);
        }
    }
}
