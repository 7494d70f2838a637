//! The fast path to a key. It reads each byte once and allocates only the key.
//!
//! It gives up (returns `false`, with any content in `out`) if a rule may apply that it does not
//! implement: escapes, non-ASCII letters, dot segments, userinfo, numeric hosts, unusual ports. If
//! it returns a key, the full path returns the same one; a property test compares the two.

use crate::{host, query};

const HOST: u8 = 1;
const PATH: u8 = 2;
const QUERY: u8 = 4;

/// The parts of a URL in which each byte is allowed. At any other byte the fast path gives up.
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        let mut class = 0;
        if byte.is_ascii_graphic() && byte != b'%' && byte != b'#' {
            class |= QUERY;
            if byte != b'?' {
                class |= PATH;
            }
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            class |= HOST;
        }
        classes[byte as usize] = class;
        byte += 1;
    }
    classes
}

/// Appends the key of `url` and returns true if it is a plain absolute http or https URL.
pub(crate) fn append_key(url: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((rest, port_default)) = without_scheme(url) else {
        return false;
    };
    let (name, rest) = run_of(HOST, rest);
    if !is_plain_name(name) {
        return false;
    }
    append_name(name, out);
    let Some(rest) = append_port(rest, port_default, out) else {
        return false;
    };
    out.push(b')');
    let (path, rest) = run_of(PATH, rest);
    append_path(path, out) && append_query(rest, out)
}

fn without_scheme(url: &[u8]) -> Option<(&[u8], u16)> {
    if let Some(rest) = url.strip_prefix(b"http://") {
        Some((rest, 80))
    } else {
        url.strip_prefix(b"https://").map(|rest| (rest, 443))
    }
}

/// Splits `bytes` after its leading bytes of `class`.
fn run_of(class: u8, bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&b| CLASS[usize::from(b)] & class == 0);
    bytes.split_at(end.unwrap_or(bytes.len()))
}

/// Returns whether no label is empty and the last one does not begin with a digit, as in an IP
/// address.
fn is_plain_name(name: &[u8]) -> bool {
    let mut after_dot = true;
    let mut last_begins = 0;
    for &byte in name {
        if after_dot {
            if byte == b'.' {
                return false;
            }
            last_begins = byte;
        }
        after_dot = byte == b'.';
    }
    !after_dot && !last_begins.is_ascii_digit()
}

fn append_name(name: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    // Test the first three bytes for `www`, in any case.
    let www = name
        .get(..3)
        .is_some_and(|head| head.eq_ignore_ascii_case(b"www"));
    let name = if www { after_www(name) } else { name };
    host::append_reversed(name, out);
    out[start..].make_ascii_lowercase();
}

fn after_www(name: &[u8]) -> &[u8] {
    let digits = name[3..].iter().take_while(|b| b.is_ascii_digit()).count();
    match name[3 + digits..].strip_prefix(b".") {
        Some(rest) if rest.contains(&b'.') => rest,
        _ => name,
    }
}

/// Appends `:port` unless it is the default. Returns the text after it, or `None` if the port is
/// unusual.
fn append_port<'a>(rest: &'a [u8], port_default: u16, out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let rest = match rest {
        [b':', rest @ ..] => rest,
        [] | [b'/' | b'?' | b'#', ..] => return Some(rest),
        _ => return None,
    };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (port, rest) = rest.split_at(digits);
    // Leave leading zeros, port 0 and a missing number to the full path.
    let plain = matches!(port, [b'1'..=b'9', ..]) && port.len() <= 5;
    if !plain || !matches!(rest.first(), None | Some(b'/' | b'?' | b'#')) {
        return None;
    }
    let number = port.iter().fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
    if number > u32::from(u16::MAX) {
        return None;
    }
    if number != u32::from(port_default) {
        out.push(b':');
        out.extend_from_slice(port);
    }
    Some(rest)
}

/// Returns `false` if a segment may be a dot segment, empty or a session id.
fn append_path(path: &[u8], out: &mut Vec<u8>) -> bool {
    let odd = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.' | b'(');
    if path.windows(2).any(odd) {
        return false;
    }
    let path = match path {
        [] | [b'/'] => b"/",
        [path @ .., b'/'] => path,
        path => path,
    };
    append_lower(path, out);
    true
}

/// Returns `false` if the query ends at anything but a fragment or the end of the text.
fn append_query(rest: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(rest) = rest.strip_prefix(b"?") else {
        return matches!(rest, [] | [b'#', ..]);
    };
    let (text, rest) = run_of(QUERY, rest);
    if !matches!(rest, [] | [b'#', ..]) {
        return false;
    }
    if !text.is_empty() {
        out.push(b'?');
        let start = out.len();
        append_lower(text, out);
        query::finish(out, start);
    }
    true
}

fn append_lower(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(bytes);
    out[start..].make_ascii_lowercase();
}
