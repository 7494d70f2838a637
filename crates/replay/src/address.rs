//! Addresses of captures, such as `/replay/20140126200624im_/http://example.com/a.png`, in the
//! format of pywb and the Wayback Machine.

use std::fmt;

/// Prefix of all addresses.
pub const PREFIX: &str = "/replay/";

/// Prefix of a key, which is between [`PREFIX`] and the time.
const KEY_MARK: char = '~';

/// Maximum number of digits of a time, which includes milliseconds.
const DIGITS_MAX: usize = 17;

/// Form in which a capture is shown. The names in addresses are those of pywb's rewriting
/// modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// No modifier: the capture, for a reader.
    None,
    /// `mp_`: a page in its frame.
    Page,
    /// `id_`: the unchanged payload.
    Raw,
    /// `im_`: a picture, or other content that is not rewritten unless it is a page or a style
    /// sheet.
    Image,
    /// `js_`: a script.
    Script,
    /// `cs_`: a style sheet.
    Style,
    /// `xr_`: data that a script requests (`fetch`, `XMLHttpRequest`). It is not rewritten.
    Data,
}

impl Modifier {
    const ALL: [Modifier; 7] = [
        Modifier::None,
        Modifier::Page,
        Modifier::Raw,
        Modifier::Image,
        Modifier::Script,
        Modifier::Style,
        Modifier::Data,
    ];

    /// Returns its name in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Modifier::None => "",
            Modifier::Page => "mp_",
            Modifier::Raw => "id_",
            Modifier::Image => "im_",
            Modifier::Script => "js_",
            Modifier::Style => "cs_",
            Modifier::Data => "xr_",
        }
    }

    /// Parses a modifier. Modifiers of other programs (`if_`, `oe_`, ...) mean pages and parts of
    /// pages.
    fn parse(text: &str) -> Option<Modifier> {
        let known = Modifier::ALL.into_iter().find(|known| known.as_str() == text);
        known.or(match text {
            "if_" | "fr_" | "tf_" | "bn_" => Some(Modifier::Page),
            _ if text.len() == 3 && text.ends_with('_') => Some(Modifier::Image),
            _ => None,
        })
    }
}

/// The address of a capture.
///
/// ```
/// use replay::{Address, Modifier};
///
/// let address = Address::parse("/replay/20140126200624im_/http://example.com/a.png")?;
/// assert_eq!((address.modifier, address.url.as_str()), (Modifier::Image, "http://example.com/a.png"));
/// assert_eq!(address.to_string(), "/replay/20140126200624im_/http://example.com/a.png");
/// # Ok::<(), replay::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// A key that the server puts into addresses in its own documents, so that it recognises their
    /// requests. Empty if there is no key.
    pub key: String,
    /// The time: 1 to 17 digits, or empty for the newest capture.
    pub time: String,
    /// Form in which it is shown.
    pub modifier: Modifier,
    /// The captured URL.
    pub url: String,
}

/// An address that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is not the address of a capture: expected {PREFIX}<14 digits>/<URL>, such as {PREFIX}20140126200624/http://example.com/"
)]
pub struct AddressError {
    found: String,
}

impl Address {
    /// Parses an address from the path and the query of a request.
    ///
    /// # Errors
    /// [`AddressError`] if it does not begin with [`PREFIX`], or has no http or https URL.
    pub fn parse(path_and_query: &str) -> Result<Address, AddressError> {
        let failed = || AddressError {
            found: path_and_query.chars().take(200).collect(),
        };
        let rest = path_and_query.strip_prefix(PREFIX).ok_or_else(failed)?;
        let (key, rest) = match rest.strip_prefix(KEY_MARK) {
            Some(keyed) => keyed.split_once('/').ok_or_else(failed)?,
            None => ("", rest),
        };
        let key = key.to_owned();
        if let Some(url) = web_url(rest) {
            return Ok(Address {
                key,
                time: String::new(),
                modifier: Modifier::None,
                url,
            });
        }
        let (stamp, url) = rest.split_once('/').ok_or_else(failed)?;
        let digits = stamp.bytes().take_while(u8::is_ascii_digit).count();
        let (time, modifier) = stamp.split_at(digits);
        if time.len() > DIGITS_MAX {
            return Err(failed());
        }
        let modifier = Modifier::parse(modifier).ok_or_else(failed)?;
        // An address typed by hand often has no scheme.
        let url = match web_url(url) {
            Some(url) => url,
            None if url.contains("://") || url.is_empty() => return Err(failed()),
            None => format!("http://{url}"),
        };
        Ok(Address {
            key,
            time: time.to_owned(),
            modifier,
            url,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut address = beginning(&self.key, &self.time);
        push_rest(&mut address, &self.time, self.modifier, &self.url);
        f.write_str(&address)
    }
}

/// Returns the prefix of all addresses with a key and a time.
pub(crate) fn beginning(key: &str, time: &str) -> String {
    match key {
        "" => format!("{PREFIX}{time}"),
        _ => format!("{PREFIX}{KEY_MARK}{key}/{time}"),
    }
}

/// Appends the rest of an address to its [`beginning`].
pub(crate) fn push_rest(address: &mut String, time: &str, modifier: Modifier, url: &str) {
    address.push_str(modifier.as_str());
    if !time.is_empty() || modifier != Modifier::None {
        address.push('/');
    }
    address.push_str(url);
}

/// Parses `text` as an http or https URL. Proxies and browsers may have merged its two slashes into
/// one.
fn web_url(text: &str) -> Option<String> {
    for scheme in ["http:/", "https:/"] {
        let head = text.get(..scheme.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(scheme)) {
            let rest = text[scheme.len()..].trim_start_matches('/');
            return (!rest.is_empty()).then(|| format!("{scheme}/{rest}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, time: &str, modifier: Modifier, url: &str) {
        let expected = Address {
            key: String::new(),
            time: time.to_owned(),
            modifier,
            url: url.to_owned(),
        };
        assert_eq!(Address::parse(text), Ok(expected.clone()), "{text}");
        assert_eq!(Address::parse(&expected.to_string()), Ok(expected));
    }

    #[test]
    fn addresses_are_those_of_other_programs() {
        let page = "http://a.example/b?c=d";
        check(
            &format!("/replay/20140126200624/{page}"),
            "20140126200624",
            Modifier::None,
            page,
        );
        check(&format!("/replay/2014im_/{page}"), "2014", Modifier::Image, page);
        check(&format!("/replay/2014if_/{page}"), "2014", Modifier::Page, page);
        check(&format!("/replay/mp_/{page}"), "", Modifier::Page, page);
        check(&format!("/replay/{page}"), "", Modifier::None, page);
        check("/replay/2014/http:/a.example/b?c=d", "2014", Modifier::None, page);
        check(
            "/replay/2014id_/HTTPS://a.example",
            "2014",
            Modifier::Raw,
            "https://a.example",
        );
        check("/replay/2014/a.example/b?c=d", "2014", Modifier::None, page);
    }

    #[test]
    fn a_key_is_no_part_of_the_capture() {
        let text = "/replay/~k3y/2014im_/http://a.example/~b";
        let address = Address::parse(text).expect("an address");
        assert_eq!((address.key.as_str(), address.time.as_str()), ("k3y", "2014"));
        assert_eq!(address.url, "http://a.example/~b");
        assert_eq!(address.to_string(), text);
        assert!(Address::parse("/replay/~k3y").is_err());
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "/replay/",
            "/replay/2014",
            "/replay/2014/",
            "/replay/2014/ftp://a",
            "/replay/x/http://a",
            "/replay/http://",
            "/other/2014/http://a",
            "/replay/201401262006241234/http://a",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
