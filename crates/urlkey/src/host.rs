//! Hosts: to their form in a key, and back.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use crate::{KeyError, escape, ip};

/// Appends `com,example` for `www.example.com`.
pub(crate) fn append_host_key(host: &[u8], bracketed: bool, out: &mut Vec<u8>) -> Result<(), KeyError> {
    if bracketed {
        let text = String::from_utf8_lossy(host);
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

/// Labels in reverse order, joined by commas.
pub(crate) fn append_reversed(name: &[u8], out: &mut Vec<u8>) {
    for (i, label) in name.rsplit(|&b| b == b'.').enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(label);
    }
}

/// Lower case, punycode, dotted decimal; what cannot stand in a host name is escaped.
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

/// Punycode by UTS 46 as browsers do it; bytes that are no UTF-8 are left out of a name that holds
/// letters, and a name that is no domain stays as it is.
fn to_ascii(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let text: String = name.utf8_chunks().map(|chunk| chunk.valid()).collect();
    if text.bytes().all(|b| b == b'.') {
        return Cow::Borrowed(name);
    }
    match idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::EMPTY) {
        Ok(ascii) => Cow::Owned(ascii.into_owned().into_bytes()),
        Err(_) => Cow::Borrowed(name),
    }
}

/// Each pair of dots made one, once.
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

/// `www.`, `www2.` and so on dropped, where a name with a dot is left: `www3288.com` keeps its name.
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

/// The host of a URL key, in its usual order: `org,archive)/x` gives `archive.org`; an IP address is
/// given as it is written in URLs, so IPv6 in brackets. No port. Empty for keys of other schemes.
///
/// An abbreviated IPv6 address with a port cannot always be told from a longer address; it is then
/// taken for the address.
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

/// Host part of a key as it stands there, without port; empty for keys of other schemes.
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

/// The host of an absolute http or https URL as written there, without userinfo and port (IPv6 in
/// brackets); `None` for anything else. Nothing is decoded and no case changed.
pub fn host_of_url(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.bytes().position(|b| matches!(b, b'/' | b'?' | b'#'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let end = match authority.strip_prefix('[') {
        Some(inner) => inner.find(']').map_or(authority.len(), |at| at + 2),
        None => authority.find(':').unwrap_or(authority.len()),
    };
    Some(&authority[..end]).filter(|host| !host.is_empty())
}
