//! Resolves references to absolute URLs (WHATWG), with a fast path for canonical ones.
//!
//! Invariant: the fast path returns exactly what `url::Url::join` returns, or nothing; a property
//! test compares the two.

use crate::simple;
use url::Url;

/// Resolves the references of one document.
#[derive(Debug)]
pub(crate) struct Resolver {
    /// The URL that relative references are resolved against.
    base: Url,
    /// The host of the page itself, in the form of URLs.
    page_host: String,
    /// `scheme://host[:port]` of the base. Empty if the base has a user name, because references
    /// inherit it.
    origin: String,
}

impl Resolver {
    /// Creates a resolver. `base_href` is the document's first `<base href>`, which is resolved
    /// against `page_url`; it is ignored if it is no http or https URL. Returns `None` if the URL
    /// of the page cannot be parsed.
    pub(crate) fn new(page_url: &str, base_href: Option<&str>) -> Option<Resolver> {
        if !simple::may_have_host(page_url) {
            return None;
        }
        let page = Url::parse(page_url).ok()?;
        let page_host = page.host_str().unwrap_or("").to_owned();
        let base = base_href
            .filter(|href| simple::may_have_host(href))
            .and_then(|href| page.join(href).ok())
            .filter(is_web)
            .unwrap_or(page);
        let origin = if base.username().is_empty() && base.password().is_none() {
            base[..url::Position::AfterPort].to_owned()
        } else {
            String::new()
        };
        Some(Resolver {
            base,
            page_host,
            origin,
        })
    }

    /// Returns the host of the page, in the form of URLs.
    pub(crate) fn page_host(&self) -> &str {
        &self.page_host
    }

    /// Returns the host of the base, in the form of URLs.
    pub(crate) fn base_host(&self) -> &str {
        self.base.host_str().unwrap_or("")
    }

    /// Returns the absolute URL without fragment, or `None` if it is no http or https URL, or if no
    /// host can have such a name ([`urlkey::may_be_host`]).
    pub(crate) fn resolve(&self, reference: &str) -> Option<String> {
        if simple::has_other_scheme(reference) {
            return None;
        }
        if let Some(url) = self.resolve_fast(reference) {
            return Some(url);
        }
        if !simple::may_have_host(reference) {
            return None;
        }
        self.resolve_slowly(reference)
    }

    /// Returns how many bytes of the base are read to resolve `reference`: even if the result is
    /// short, the last segment of the base's path may be long.
    pub(crate) fn base_bytes_read(&self, reference: &str) -> usize {
        if reference.starts_with('/') || simple::split_absolute(reference).is_some() {
            0
        } else {
            self.base.as_str().len()
        }
    }

    fn resolve_fast(&self, reference: &str) -> Option<String> {
        if reference.starts_with('/') {
            if self.origin.is_empty() || reference.starts_with("//") {
                return None;
            }
            let path = simple::canonical_path(reference)?;
            return Some([self.origin.as_str(), path].concat());
        }
        let absolute = simple::split_absolute(reference)?;
        if !simple::is_canonical_host(absolute.host) {
            return None;
        }
        let path = simple::canonical_path(absolute.rest)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        Some([absolute.scheme, "://", absolute.host, slash, path].concat())
    }

    fn resolve_slowly(&self, reference: &str) -> Option<String> {
        let mut url = self.base.join(reference).ok().filter(is_web)?;
        url.set_fragment(None);
        Some(url.into())
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(base: Option<&str>, reference: &str, expected: Option<&str>) {
        let resolver = Resolver::new("http://www.example.com/a/b.html?q", base).unwrap();
        assert_eq!(resolver.resolve(reference).as_deref(), expected, "{reference}");
        assert_eq!(
            resolver.resolve_slowly(reference).as_deref(),
            expected,
            "{reference}"
        );
    }

    #[test]
    fn references_of_every_shape() {
        check(None, "c", Some("http://www.example.com/a/c"));
        check(None, "/c#x", Some("http://www.example.com/c"));
        check(None, "//other.org", Some("http://other.org/"));
        check(None, "https://other.org", Some("https://other.org/"));
        check(None, "https://other.org?q=1#f", Some("https://other.org/?q=1"));
        check(None, "http://other.org/a b", Some("http://other.org/a%20b"));
        check(None, "HTTP://Other.org/é", Some("http://other.org/%C3%A9"));
        check(None, "  ?x ", Some("http://www.example.com/a/b.html?x"));
        check(None, "", Some("http://www.example.com/a/b.html?q"));
        check(None, "http://bücher.ch/", Some("http://xn--bcher-kva.ch/"));
        check(None, "http://0x7f.1/", Some("http://127.0.0.1/"));
        check(None, "http:\\\\other.org\\x", Some("http://other.org/x"));
        check(None, "http://other.org/a/../b", Some("http://other.org/b"));
        check(None, "http://other.org:80/", Some("http://other.org/"));
    }

    #[test]
    fn what_is_not_of_the_web() {
        for reference in [
            "javascript:void(0)",
            "mailto:a@b.c",
            "ftp://x.y/",
            "http://",
            "http://a b/",
            "data:,x",
            "tel:1",
        ] {
            check(None, reference, None);
        }
    }

    #[test]
    fn names_that_no_host_can_have_lead_nowhere() {
        let resolver = Resolver::new("http://www.example.com/", None).unwrap();
        let name = format!("xn--{}.example", "a".repeat(1900));
        for reference in [
            format!("http://{name}/"),
            format!("HTTPS:\\\\{name}"),
            format!(" //user@{name}:80/x"),
            format!("http://x\tn--{}.example/", "a".repeat(1900)),
            format!("http://{}/", "\u{e9}".repeat(900)),
        ] {
            assert_eq!(resolver.resolve(&reference), None, "{reference}");
            assert!(Resolver::new(&reference, None).is_none(), "{reference}");
        }
        let path = format!("/{name}/x");
        let expected = format!("http://www.example.com{path}");
        assert_eq!(resolver.resolve(&path), Some(expected.clone()));
        assert_eq!(resolver.resolve(&expected), Some(expected));
    }

    #[test]
    fn base_elements() {
        check(Some("/dir/"), "c", Some("http://www.example.com/dir/c"));
        check(Some("https://cdn.org/x/y"), "/c", Some("https://cdn.org/c"));
        check(
            Some("https://cdn.org:8443/x/y"),
            "/c",
            Some("https://cdn.org:8443/c"),
        );
        check(
            Some("http://user:pw@cdn.org/"),
            "/c",
            Some("http://user:pw@cdn.org/c"),
        );
        check(Some("javascript:x"), "c", Some("http://www.example.com/a/c"));
        check(Some("http://"), "c", Some("http://www.example.com/a/c"));
    }

    /// Pieces that form nearly canonical references.
    fn piece() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec![
            "http://",
            "https://",
            "//",
            "/",
            ".",
            "..",
            "www.",
            "example",
            ".com",
            "A",
            "xn--",
            "_",
            "-",
            ":80",
            ":8080",
            "?",
            "#",
            "%20",
            "%2e",
            "%zz",
            " ",
            "\t",
            "é",
            "a=b&c",
            "'",
            "\"",
            "<",
            "[",
            "]",
            "|",
            "^",
            "`",
            "{",
            "~",
            "!",
            "$",
            "*",
            ",",
            ";",
            "@",
            "\\",
            "1",
            "0x1",
            "1.2.3.4",
            "index.html",
            "\u{7f}",
            "\0",
            "+",
            "(",
            ")",
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn the_short_way_agrees_with_the_long(
            head in proptest::sample::select(vec!["", "http://", "https://", "/", "http://a.b-c.example.org", "https://x.co/"]),
            pieces in proptest::collection::vec(piece(), 0..8),
        ) {
            let reference = format!("{head}{}", pieces.concat());
            let resolver = Resolver::new("https://Host.example.com:444/p/q?r", None).unwrap();
            if let Some(fast) = resolver.resolve_fast(&reference) {
                prop_assert_eq!(Some(fast), resolver.resolve_slowly(&reference));
            }
        }

        #[test]
        fn any_text_resolves_or_not(reference in any::<String>()) {
            let resolver = Resolver::new("http://example.com/", None).unwrap();
            if let Some(fast) = resolver.resolve_fast(&reference) {
                prop_assert_eq!(Some(fast), resolver.resolve_slowly(&reference));
            }
            let _ = resolver.resolve(&reference);
        }
    }
}
