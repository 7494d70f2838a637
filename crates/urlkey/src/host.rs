//! Converts hosts to their form in a key, and back.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use crate::{KeyError, escape, ip};

/// Limit of a label in bytes, in punycode (RFC 1035, 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// Limit of a label in characters before it is converted to punycode. The conversion takes time in
/// proportion to the square of the length. It drops or joins some characters, so this limit is above
/// [`LABEL_BYTES_MAX`].
const LABEL_CHARS_MAX: usize = 4 * LABEL_BYTES_MAX;

/// The full stop and the characters that IDNA reads as one.
const DOTS: [char; 4] = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];

/// Appends the form of a host in keys: `com,example` for `www.example.com`.
pub(crate) fn append_host_key(host: &[u8], bracketed: bool, out: &mut Vec<u8>) -> Result<(), KeyError> {
    if bracketed {
        let text = String::from_utf8_lossy(host);
        // Text in brackets that is not an address is kept, so that the URL has a key.
        let address = ip::ipv6(&text).unwrap_or_else(|| text.into_owned());
        escape::append_escaped_lower(address.as_bytes(), out);
        return Ok(());
    }
    let name = canonical_name(host);
    if name.is_empty() {
        return Err(KeyError::NoHost);
    }
    append_reversed(without_www(&name), out);
    Ok(())
}

/// Appends the labels in reverse order, joined by commas.
pub(crate) fn append_reversed(name: &[u8], out: &mut Vec<u8>) {
    for (i, label) in name.rsplit(|&b| b == b'.').enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(label);
    }
}

/// Returns the name in lower case and punycode, or the address in dotted decimal. Bytes that are
/// invalid in a host name are escaped.
fn canonical_name(host: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(host.len());
    escape::append_unescaped(host, &mut plain);
    let name = to_ascii(&plain);
    let name = without_double_dots(&name);
    let name = trim_dots(&name);
    match ip::ipv4(name) {
        Some(address) => address.to_string().into_bytes(),
        None => {
            let mut escaped = Vec::with_capacity(name.len());
            escape::append_escaped_lower(name, &mut escaped);
            escaped
        }
    }
}

/// Converts a name to punycode by UTS 46, as browsers do. Invalid UTF-8 is removed from a name that
/// has letters. A name that is not a valid domain, or has a label that is too long for one, is
/// returned unchanged.
fn to_ascii(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let text: String = name.utf8_chunks().map(|chunk| chunk.valid()).collect();
    if text.bytes().all(|b| b == b'.') || !has_possible_labels(&text) {
        return Cow::Borrowed(name);
    }
    match idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::EMPTY) {
        Ok(ascii) => Cow::Owned(ascii.into_owned().into_bytes()),
        Err(_) => Cow::Borrowed(name),
    }
}

/// Returns whether a host, as written in a URL, may exist: no label that IDNA decodes or encodes is
/// certainly too long for a domain. Other labels are not checked.
///
/// The conversion of such labels is slow, and libraries for URLs do it.
pub fn may_be_host(host: &str) -> bool {
    if host.len() <= LABEL_BYTES_MAX {
        return true;
    }
    let mut plain = Vec::with_capacity(host.len());
    escape::append_unescaped(host.as_bytes(), &mut plain);
    has_possible_labels(&String::from_utf8_lossy(&plain))
}

fn has_possible_labels(name: &str) -> bool {
    name.split(DOTS).all(is_possible_label)
}

fn is_possible_label(label: &str) -> bool {
    if !label.is_ascii() {
        return label.len() <= LABEL_BYTES_MAX || label.chars().count() <= LABEL_CHARS_MAX;
    }
    let is_punycode = label
        .get(..4)
        .is_some_and(|begin| begin.eq_ignore_ascii_case("xn--"));
    !is_punycode || label.len() <= LABEL_BYTES_MAX
}

/// Replaces each pair of dots by one, in one pass: four dots become two.
fn without_double_dots(name: &[u8]) -> Cow<'_, [u8]> {
    if !name.windows(2).any(|pair| pair == b"..") {
        return Cow::Borrowed(name);
    }
    let mut single = Vec::with_capacity(name.len());
    let mut bytes = name.iter().peekable();
    while let Some(&byte) = bytes.next() {
        single.push(byte);
        if byte == b'.' && bytes.peek() == Some(&&b'.') {
            bytes.next();
        }
    }
    Cow::Owned(single)
}

fn trim_dots(mut name: &[u8]) -> &[u8] {
    while let [b'.', rest @ ..] | [rest @ .., b'.'] = name {
        name = rest;
    }
    name
}

/// Drops `www.`, `www2.` and so on if the rest still has a dot: `www3288.com` keeps its name.
pub(crate) fn without_www(name: &[u8]) -> &[u8] {
    let Some((head, rest)) = name.split_at_checked(3) else {
        return name;
    };
    if !head.eq_ignore_ascii_case(b"www") {
        return name;
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    match rest[digits..].strip_prefix(b".") {
        Some(rest) if rest.contains(&b'.') => rest,
        _ => name,
    }
}

/// Returns a host as in URL keys: without a leading `www.`, `www2.` and so on, if the rest still
/// has a dot.
pub fn host_without_www(host: &str) -> &str {
    let rest = without_www(host.as_bytes());
    host.get(host.len() - rest.len()..).unwrap_or(host)
}

/// Returns the host of a URL key in its usual order: `org,archive)/x` gives `archive.org`. An IP
/// address is written as in URLs, so IPv6 is in brackets. The port is left out. Empty for keys of
/// other schemes.
///
/// An abbreviated IPv6 address with a port cannot always be distinguished from a longer address.
/// The whole text is then treated as the address.
pub fn host_of_key(url_key: &str) -> String {
    let host = host_part(url_key);
    if is_ipv6(host) {
        return format!("[{host}]");
    }
    let mut name = String::with_capacity(host.len());
    for (i, label) in host.rsplit(',').enumerate() {
        if i > 0 {
            name.push('.');
        }
        name.push_str(label);
    }
    name
}

/// Returns the host part of a key in the form of the key, without the port; empty for keys of other
/// schemes.
pub(crate) fn host_part(url_key: &str) -> &str {
    let Some((host, _)) = url_key.split_once(')') else {
        return "";
    };
    match host.split_once(':') {
        None => host,
        Some(_) if is_ipv6(host) => host,
        Some((name, _)) => match host.rsplit_once(':') {
            Some((address, _)) if is_ipv6(address) => address,
            _ => name,
        },
    }
}

pub(crate) fn is_ipv6(host: &str) -> bool {
    host.contains(':') && host.parse::<Ipv6Addr>().is_ok()
}

/// Returns the host of an absolute http or https URL as written in the URL, without userinfo and
/// port (IPv6 in brackets), or `None` for any other URL. Nothing is decoded, and the case is kept.
pub fn host_of_url(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.bytes().position(|b| matches!(b, b'/' | b'?' | b'#'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    // The last `@` ends the userinfo: browsers accept further ones within it.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let end = match authority.strip_prefix('[') {
        Some(inner) => inner.find(']').map_or(authority.len(), |at| at + 2),
        None => authority.find(':').unwrap_or(authority.len()),
    };
    Some(&authority[..end]).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_too_long_to_be_converted_are_no_hosts() {
        let (letters, escapes) = ("\u{e9}".repeat(252), "%C3%A9".repeat(252));
        let longest = format!("xn--{}", "a".repeat(59));
        for label in [
            letters.as_str(),
            &escapes,
            &longest,
            &"a".repeat(5000),
            "b\u{fc}cher",
        ] {
            assert!(may_be_host(&format!("www.{label}.example")), "{label}");
        }
        for label in [
            format!("{letters}a"),
            format!("{escapes}a"),
            format!("{longest}a"),
            format!("X%6E--{}", "a".repeat(1900)),
        ] {
            assert!(!may_be_host(&format!("www.{label}.example")), "{label}");
        }
        let joined = [letters.as_str(); 3].join("\u{3002}");
        assert!(may_be_host(&joined));
    }

    #[test]
    fn a_name_with_a_label_that_is_too_long_stays_as_it_is() {
        let short = format!("{}.example", "\u{e9}".repeat(252));
        assert!(to_ascii(short.as_bytes()).starts_with(b"xn--"));
        let long = format!("{}.example", "\u{e9}".repeat(253));
        assert_eq!(to_ascii(long.as_bytes()), long.as_bytes());
    }
}
