//! Computes the key from the parts of a URL. The order matters: escapes are decoded before paths
//! are split into segments and queries into arguments, so `%2e%2e` is a dot segment and `%26` a
//! separator.

use crate::split::Parts;
use crate::{KeyError, escape, host, query, session};

/// Appends the key of an http or https URL.
pub(crate) fn append_key(parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), KeyError> {
    append_site(parts, out)?;
    append_path(parts.path, out);
    if !parts.query.is_empty() {
        append_query(parts.query, out);
    }
    Ok(())
}

/// Appends host and port, and the closing `)`.
pub(crate) fn append_site(parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), KeyError> {
    host::append_host_key(parts.host, parts.bracketed, out)?;
    append_port(parts.port, parts.port_default, out);
    out.push(b')');
    Ok(())
}

/// Appends `:port`, or nothing for the default port and for 0. Text that is not a port number is
/// kept, because it still distinguishes URLs.
fn append_port(port: &[u8], port_default: u16, out: &mut Vec<u8>) {
    if port.is_empty() {
        return;
    }
    match port_number(port) {
        Some(number) if number == port_default || number == 0 => {}
        Some(number) => out.extend_from_slice(format!(":{number}").as_bytes()),
        None => {
            out.push(b':');
            append_minimal(port, out);
        }
    }
}

fn port_number(port: &[u8]) -> Option<u16> {
    if !port.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(port).ok()?.parse().ok()
}

fn append_path(path: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    escape::append_escaped_lower(&plain_path(path), out);
    session::strip_from_path(out, start, &mut |_| ());
    // A trailing slash is dropped, except that the root path stays `/`.
    if out.len() > start + 1 && out.ends_with(b"/") {
        out.pop();
    }
}

/// Decodes the escapes of a path and removes its dot segments.
pub(crate) fn plain_path(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    escape::append_unescaped(path, &mut plain);
    without_dot_segments(&plain)
}

/// Resolves `.` and `..` and merges runs of slashes. A `..` with nothing before it stays.
fn without_dot_segments(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&b| b == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if kept.pop().is_none() => kept.push(segment),
            b".." => {}
            _ => kept.push(segment),
        }
    }
    let mut clean = Vec::with_capacity(path.len().max(1));
    clean.push(b'/');
    let last = kept.len().saturating_sub(1);
    for (i, segment) in kept.iter().enumerate() {
        clean.extend_from_slice(segment);
        if i < last && !segment.is_empty() {
            clean.push(b'/');
        }
    }
    clean
}

fn append_query(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'?');
    let start = out.len();
    append_minimal(text, out);
    query::finish(out, start);
}

/// Appends the bytes unescaped as often as possible, then escaped once, in lower case.
pub(crate) fn append_minimal(bytes: &[u8], out: &mut Vec<u8>) {
    let mut plain = Vec::with_capacity(bytes.len());
    escape::append_unescaped(bytes, &mut plain);
    escape::append_escaped_lower(&plain, out);
}
