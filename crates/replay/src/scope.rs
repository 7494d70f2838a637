//! The context of references: the page that contains them, and the addresses that they become.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use crate::address::{self, Modifier};
use crate::elements;
use crate::origin::{Origins, Site};
use crate::plain::PlainBase;
use crate::references::{Reference, References, Role};

/// Maximum number of bytes of a reference that are read. No request has a longer address, so a
/// truncated one finds nothing. Without the limit a few bytes of a page could refer repeatedly to a
/// very long URL.
const REFERENCE_BYTES_MAX: usize = 64 << 10;

/// The page that contains references. All of them lead to the captures nearest to its own time.
#[derive(Clone)]
pub struct Scope {
    key: String,
    time: String,
    /// Prefix of all addresses here ([`address::beginning`]).
    beginning: String,
    url: Url,
    base: Url,
    plain: PlainBase,
    encoding: &'static Encoding,
    /// Whether the references are alternatives: none is certain to be loaded.
    is_alternative: bool,
    seen: Option<References>,
    /// Only for documents in their own origin.
    origins: Option<Origins>,
}

impl Scope {
    /// Returns the scope of a page that was captured at `time` (digits) from `url`.
    pub fn new(time: &str, url: Url) -> Scope {
        Scope {
            key: String::new(),
            time: time.to_owned(),
            beginning: address::beginning("", time),
            plain: PlainBase::of(&url),
            base: url.clone(),
            url,
            encoding: UTF_8,
            is_alternative: false,
            seen: None,
            origins: None,
        }
    }

    /// Adds a key to the addresses of its references ([`Address::key`]).
    #[must_use]
    pub fn with_key(self, key: &str) -> Scope {
        Scope {
            key: key.to_owned(),
            beginning: address::beginning(key, &self.time),
            ..self
        }
    }

    /// Sets the character set. Queries of references are encoded in it (WHATWG URL, section 4.4).
    #[must_use]
    pub fn in_encoding(self, encoding: &'static Encoding) -> Scope {
        Scope { encoding, ..self }
    }

    /// Lists each reference in `seen`.
    #[must_use]
    pub fn seen_in(self, seen: References) -> Scope {
        Scope {
            seen: Some(seen),
            ..self
        }
    }

    /// Makes the page one in its own origin: only its frames are led to the archive.
    #[must_use]
    pub fn in_origin(self, origins: Origins) -> Scope {
        Scope {
            origins: Some(origins),
            ..self
        }
    }

    /// Marks content that is shown only if other content cannot be: its parts become
    /// [`Role::Alternative`].
    #[must_use]
    pub(crate) fn alternative(self) -> Scope {
        Scope {
            is_alternative: true,
            ..self
        }
    }

    /// Returns the key in the addresses of its references, or an empty string.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the addresses of sites, if the page has its own origin.
    pub(crate) fn origins(&self) -> Option<&Origins> {
        self.origins.as_ref()
    }

    /// Returns the address of a reference to another site, for a page in its own origin.
    /// Returns `None` if the reference may stay: it leads to the page's own origin.
    pub(crate) fn lead(&self, reference: &str) -> Option<String> {
        let (url, fragment) = self.resolve(reference)?;
        let url = Url::parse(&format!("{url}{fragment}")).ok()?;
        let reference = reference.trim_ascii();
        let names_a_host = reference.starts_with("//") || Url::parse(reference).is_ok();
        let is_relative = !names_a_host && Site::of(&url) == Site::of(&self.url);
        let origins = self.origins().filter(|_| !is_relative)?;
        origins.reference(&url)
    }

    /// Returns the character set of the page.
    pub fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Returns the URL of the page.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the time of the page, in digits.
    pub fn time(&self) -> &str {
        &self.time
    }

    /// Sets the `base` of a page. References after it are relative to it.
    pub(crate) fn set_base(&mut self, base: &str) {
        if let Ok(base) = self.url.join(cut(base.trim_ascii()))
            && is_web(&base)
        {
            self.plain = PlainBase::of(&base);
            self.base = base;
        }
    }

    /// Returns the address of `target`, which may be the prefix of a URL: absolute, or relative to
    /// a scheme (`//host`) or to the root of the site (`/path`). It is not normalised.
    pub(crate) fn rewrite_prefix(&self, target: &str, modifier: Modifier) -> String {
        let scheme = self.base.scheme();
        let url = match target {
            _ if target.starts_with("//") => format!("{scheme}:{target}"),
            _ if target.starts_with('/') => format!("{}{target}", self.base.origin().ascii_serialization()),
            _ => target.to_owned(),
        };
        self.address(modifier, &url, "")
    }

    /// Returns the address of a URL, with its fragment.
    fn address(&self, modifier: Modifier, url: &str, fragment: &str) -> String {
        let length = self.beginning.len() + 4 + url.len() + fragment.len();
        let mut address = String::with_capacity(length);
        address.push_str(&self.beginning);
        address::push_rest(&mut address, &self.time, modifier, url);
        address.push_str(fragment);
        address
    }

    /// Returns a refresh (of a `meta`, or of the HTTP header) with the address that it leads to, or
    /// `None` if it leads to no http or https URL.
    pub fn refresh(&self, value: &str, modifier: Modifier) -> Option<String> {
        let (before, url) = elements::refresh(value)?;
        let address = self.refer(url, modifier, Role::Link)?;
        Some(format!("{}{address}", before.trim_end_matches(['"', '\''])))
    }

    /// Returns the address that `reference` leads to, or `None` if it is not an http or https URL,
    /// or stays in the page. For a page in its own origin, that is the target of a redirect.
    pub fn refer(&self, reference: &str, modifier: Modifier, role: Role) -> Option<String> {
        let (url, fragment) = self.resolve(reference)?;
        if let Some(origins) = &self.origins {
            return origins.redirected(&Url::parse(&format!("{url}{fragment}")).ok()?);
        }
        let address = self.address(modifier, &url, &fragment);
        if let Some(seen) = &self.seen {
            let role = match role {
                Role::Part if self.is_alternative => Role::Alternative,
                role => role,
            };
            seen.push(Reference { url, modifier, role });
        }
        Some(address)
    }

    /// Returns the address of the base of references.
    pub(crate) fn base_address(&self) -> Option<String> {
        let (url, _) = self.resolve(".")?;
        Some(self.address(Modifier::Page, &url, ""))
    }

    /// Returns the URL of `reference`, and its fragment including the `#`.
    fn resolve(&self, reference: &str) -> Option<(String, String)> {
        let reference = cut(reference.trim_matches(|c: char| c <= ' '));
        if reference.is_empty() || reference.starts_with('#') {
            return None;
        }
        if let Some(url) = self.plain.join(reference) {
            return Some((url, String::new()));
        }
        let encode = encoder(self.encoding);
        let mut options = Url::options().base_url(Some(&self.base));
        if self.encoding != UTF_8 {
            options = options.encoding_override(Some(&encode));
        }
        let mut url = options.parse(reference).ok()?;
        if !is_web(&url) {
            return None;
        }
        let fragment = url.fragment().map(|fragment| format!("#{fragment}"));
        if fragment.is_some() {
            url.set_fragment(None);
        }
        Some((String::from(url), fragment.unwrap_or_default()))
    }
}

/// Truncates a reference to the maximum length.
fn cut(reference: &str) -> &str {
    &reference[..reference.floor_char_boundary(REFERENCE_BYTES_MAX)]
}

/// Encodes queries in a character set.
fn encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |text| encoding.encode(text).0
}

/// Returns whether a URL is one of the web: http or https, with a host.
pub(crate) fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope::new("2014", Url::parse("http://a.example/b/c?d#e").expect("a URL"))
    }

    #[test]
    fn references_lead_to_captures_near_the_page() {
        for (reference, expected) in [
            ("x.png", Some("/replay/2014im_/http://a.example/b/x.png")),
            ("//b.example", Some("/replay/2014im_/http://b.example/")),
            (" /x?y#z ", Some("/replay/2014im_/http://a.example/x?y#z")),
            ("?\u{e4}", Some("/replay/2014im_/http://a.example/b/c?%C3%A4")),
            ("#f", None),
            ("", None),
            ("data:image/gif;base64,x", None),
            ("javascript:x", None),
            ("mailto:a@b.example", None),
            ("http://[x", None),
        ] {
            assert_eq!(
                scope().refer(reference, Modifier::Image, Role::Part).as_deref(),
                expected,
                "{reference}"
            );
        }
    }

    #[test]
    fn queries_are_in_the_character_set_of_the_page() {
        let scope = scope().in_encoding(encoding_rs::WINDOWS_1251);
        assert_eq!(
            scope
                .refer("/\u{434}?\u{434}", Modifier::Page, Role::Link)
                .as_deref(),
            Some("/replay/2014mp_/http://a.example/%D0%B4?%E4")
        );
    }
}
