//! Where references stand: the page that they are of, and what they lead to.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use crate::address::{self, Modifier};
use crate::plain::PlainBase;
use crate::references::{Reference, References, Role};

/// Most bytes of a reference that are read. No request has a longer address, so nothing is found at one that is cut here; a page could
/// refer to all of it with a few bytes, again and again.
const REFERENCE_BYTES_MAX: usize = 64 << 10;

/// The page that references stand in. All of them lead to the captures nearest to its own time.
#[derive(Clone)]
pub struct Scope {
    key: String,
    time: String,
    /// Of all addresses here ([`address::beginning`]).
    beginning: String,
    url: Url,
    base: Url,
    plain: PlainBase,
    encoding: &'static Encoding,
    /// Nothing here is loaded for sure.
    is_alternative: bool,
    seen: Option<References>,
}

impl Scope {
    /// A page that was captured at `time` (digits) from `url`.
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
        }
    }

    /// The same with a key in the addresses of its references ([`Address::key`]).
    #[must_use]
    pub fn with_key(self, key: &str) -> Scope {
        Scope {
            key: key.to_owned(),
            beginning: address::beginning(key, &self.time),
            ..self
        }
    }

    /// The same in another character set: queries of its references are written in it (WHATWG URL, section 4.4).
    #[must_use]
    pub fn in_encoding(self, encoding: &'static Encoding) -> Scope {
        Scope { encoding, ..self }
    }

    /// The same, listing each reference.
    #[must_use]
    pub fn seen_in(self, seen: References) -> Scope {
        Scope {
            seen: Some(seen),
            ..self
        }
    }

    /// The same for a part of the page that is shown only where the rest of it cannot be: its parts are [`Role::Alternative`].
    #[must_use]
    pub(crate) fn into_alternative(self) -> Scope {
        Scope {
            is_alternative: true,
            ..self
        }
    }

    /// Key in the addresses of its references; empty without.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Character set of the page.
    pub fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// URL of the page.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Time of the page, in digits.
    pub fn time(&self) -> &str {
        &self.time
    }

    /// Takes the `base` of a page; references after it are relative to it.
    pub(crate) fn take_base(&mut self, base: &str) {
        if let Ok(base) = self.url.join(cut(base.trim_ascii()))
            && is_web(&base)
        {
            self.plain = PlainBase::of(&base);
            self.base = base;
        }
    }

    /// The address of what `target` is the beginning of: an absolute URL, or one relative to a scheme (`//host`) or to the root of
    /// the site (`/path`). It is taken as it is written.
    pub(crate) fn lead(&self, target: &str, modifier: Modifier) -> String {
        let scheme = self.base.scheme();
        let url = match target {
            _ if target.starts_with("//") => format!("{scheme}:{target}"),
            _ if target.starts_with('/') => format!("{}{target}", self.base.origin().ascii_serialization()),
            _ => target.to_owned(),
        };
        self.address(modifier, &url, "")
    }

    /// The address of a URL, and what follows it.
    fn address(&self, modifier: Modifier, url: &str, fragment: &str) -> String {
        let length = self.beginning.len() + 4 + url.len() + fragment.len();
        let mut address = String::with_capacity(length);
        address.push_str(&self.beginning);
        address::push_rest(&mut address, &self.time, modifier, url);
        address.push_str(fragment);
        address
    }

    /// The address that `reference` leads to; `None` if it does not lead to the web, or stays in the page.
    pub fn refer(&self, reference: &str, modifier: Modifier, role: Role) -> Option<String> {
        let (url, fragment) = self.resolve(reference)?;
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

    /// The address of the place that references are relative to.
    pub(crate) fn base_address(&self) -> Option<String> {
        let (url, _) = self.resolve(".")?;
        Some(self.address(Modifier::Page, &url, ""))
    }

    /// The URL that `reference` leads to, and its fragment with the mark before it.
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

/// The beginning of a reference, as much of it as is read.
fn cut(reference: &str) -> &str {
    &reference[..reference.floor_char_boundary(REFERENCE_BYTES_MAX)]
}

/// Writes queries in a character set.
fn encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |text| encoding.encode(text).0
}

fn is_web(url: &Url) -> bool {
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
