//! Splits a URL into its parts, before any of them is decoded.

use std::borrow::Cow;

use crate::KeyError;

/// The kind of a URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// http, https, or no scheme.
    Http(Parts<'a>),
    /// Any other scheme, with the whole URL.
    Other(&'a str),
}

/// The parts of an http or https URL as written, without userinfo and fragment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// The host without brackets; not empty.
    pub host: &'a [u8],
    /// Whether the host was in brackets (an IPv6 address).
    pub bracketed: bool,
    /// The text after the colon; may be empty.
    pub port: &'a [u8],
    /// The default port of the scheme, which keys leave out: 80 or 443.
    pub port_default: u16,
    /// The path: empty, or with a leading slash.
    pub path: &'a [u8],
    /// The text after the question mark; may be empty.
    pub query: &'a [u8],
}

/// Removes white space at the ends, and line ends and tabs everywhere, as the WHATWG URL parser
/// does.
pub(crate) fn clean(url: &str) -> Cow<'_, str> {
    let url = url.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    if url.bytes().any(|b| matches!(b, b'\t' | b'\n' | b'\r')) {
        Cow::Owned(url.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(url)
    }
}

/// Splits a [`clean`] URL.
pub(crate) fn split(url: &str) -> Result<Target<'_>, KeyError> {
    if url.is_empty() {
        return Err(KeyError::Empty);
    }
    let (port_default, rest) = match scheme(url) {
        None => (80, url),
        Some((scheme, rest)) => match default_port(scheme) {
            Some(port) => innermost(port, rest),
            None if is_host_with_port(scheme, rest) => (80, url),
            None => return Ok(Target::Other(url)),
        },
    };
    parts(rest.trim_start_matches('/'), port_default).map(Target::Http)
}

/// Returns the scheme and the text after its colon.
fn scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let legal = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'));
    legal.then_some((scheme, rest))
}

fn default_port(scheme: &str) -> Option<u16> {
    if scheme.eq_ignore_ascii_case("http") {
        Some(80)
    } else if scheme.eq_ignore_ascii_case("https") {
        Some(443)
    } else {
        None
    }
}

/// Skips repeated schemes: `http://https://host/` means the inner URL.
fn innermost(mut port: u16, mut rest: &str) -> (u16, &str) {
    while let Some(inner) = rest.strip_prefix("//") {
        let Some((inner_port, inner_rest)) = scheme(inner)
            .and_then(|(scheme, rest)| Some((default_port(scheme)?, rest)))
            .filter(|(_, rest)| rest.starts_with("//"))
        else {
            break;
        };
        (port, rest) = (inner_port, inner_rest);
    }
    (port, rest)
}

/// Returns whether the text is a host and a port instead of a scheme, as in `example.com:8080/x`.
fn is_host_with_port(scheme: &str, rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let ends = matches!(rest.as_bytes().get(digits), None | Some(b'/' | b'?' | b'#'));
    (scheme.contains('.') || scheme == "localhost") && (1..=5).contains(&digits) && ends
}

fn parts(rest: &str, port_default: u16) -> Result<Parts<'_>, KeyError> {
    let rest = rest.split('#').next().unwrap_or_default().as_bytes();
    let (before, query) = cut(rest, b'?');
    let slash = before.iter().position(|&b| b == b'/').unwrap_or(before.len());
    let (authority, path) = before.split_at(slash);
    let (host, bracketed, port) = host_and_port(authority);
    if host.is_empty() {
        return Err(KeyError::NoHost);
    }
    Ok(Parts {
        host,
        bracketed,
        port,
        port_default,
        path,
        query,
    })
}

/// Returns the host, whether it was in brackets, and the text of the port.
fn host_and_port(authority: &[u8]) -> (&[u8], bool, &[u8]) {
    let authority = authority
        .iter()
        .rposition(|&b| b == b'@')
        .map_or(authority, |at| &authority[at + 1..]);
    // Colons without a port (`example.com:`) mean the default port.
    let colons = authority.iter().rev().take_while(|&&b| b == b':').count();
    let authority = &authority[..authority.len() - colons];
    if let Some(inner) = authority.strip_prefix(b"[") {
        let (host, after) = cut(inner, b']');
        (host, true, after.strip_prefix(b":").unwrap_or_default())
    } else {
        let (host, port) = cut(authority, b':');
        (host, false, port)
    }
}

/// Returns the bytes before and after the first `mark`. Without a `mark`, the second part is empty.
fn cut(bytes: &[u8], mark: u8) -> (&[u8], &[u8]) {
    match bytes.iter().position(|&b| b == mark) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}
