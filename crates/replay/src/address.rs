//! Addresses of captures: `/replay/20140126200624im_/http://example.com/a.png`, as pywb and the Wayback Machines have them.

use std::fmt;

/// What all addresses begin with.
pub const PREFIX: &str = "/replay/";

/// What a key begins with, between the prefix and the time.
const KEY_MARK: char = '~';

/// Most digits of a time: to the millisecond.
const DIGITS_MAX: usize = 17;

/// What a capture is shown as. The words are those of pywb's rewriting modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// No modifier: the capture, for a reader.
    None,
    /// `mp_`: a page in its frame.
    Page,
    /// `id_`: the payload as it was captured, nothing rewritten.
    Raw,
    /// `im_`: a picture, or something else that is not rewritten unless it is a page or a style.
    Image,
    /// `js_`: a script.
    Script,
    /// `cs_`: a style.
    Style,
}

impl Modifier {
    const ALL: [Modifier; 6] = [
        Modifier::None,
        Modifier::Page,
        Modifier::Raw,
        Modifier::Image,
        Modifier::Script,
        Modifier::Style,
    ];

    /// How it is written in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Modifier::None => "",
            Modifier::Page => "mp_",
            Modifier::Raw => "id_",
            Modifier::Image => "im_",
            Modifier::Script => "js_",
            Modifier::Style => "cs_",
        }
    }

    /// Reads a modifier. Those of other programs (`if_`, `oe_`, ...) are pages and things in pages.
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// A word that the server gives to its own documents, so that what they ask for is known to come from them; empty without.
    pub key: String,
    /// The time: 1 to 17 digits, or none for the newest capture.
    pub time: String,
    /// What it is shown as.
    pub modifier: Modifier,
    /// The URL that was captured.
    pub url: String,
}

/// Why an address leads to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is no address of a capture: {PREFIX}<14 digits>/<URL> is expected, as in {PREFIX}20140126200624/http://example.com/"
)]
pub struct AddressError {
    found: String,
}

impl Address {
    /// Reads an address from the path and the query of a request.
    ///
    /// # Errors
    /// [`AddressError`] if it does not begin with [`PREFIX`], or has no URL of http or https.
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

/// What all addresses of a key and a time begin with.
pub(crate) fn beginning(key: &str, time: &str) -> String {
    match key {
        "" => format!("{PREFIX}{time}"),
        _ => format!("{PREFIX}{KEY_MARK}{key}/{time}"),
    }
}

/// Adds the rest of an address to its [`beginning`].
pub(crate) fn push_rest(address: &mut String, time: &str, modifier: Modifier, url: &str) {
    address.push_str(modifier.as_str());
    if !time.is_empty() || modifier != Modifier::None {
        address.push('/');
    }
    address.push_str(url);
}

/// `text` as a URL of the web. Proxies and browsers on the way may have made one slash of two.
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
