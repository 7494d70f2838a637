//! Percent escapes: decoded repeatedly, then added again only where they are needed.

/// Decodes escapes until none is left (`%2525` becomes `%`), in one pass.
///
/// No two escapes overlap, so the result does not depend on the order of decoding. The output
/// serves as a stack: an escape is decoded as soon as its last byte is appended.
pub(crate) fn append_unescaped(bytes: &[u8], out: &mut Vec<u8>) {
    let floor = out.len();
    for &byte in bytes {
        out.push(byte);
        while let Some(value) = escape_at_end(&out[floor..]) {
            out.truncate(out.len() - 3);
            out.push(value);
        }
    }
}

fn escape_at_end(bytes: &[u8]) -> Option<u8> {
    let &[.., b'%', high, low] = bytes else {
        return None;
    };
    Some(hex(high)? << 4 | hex(low)?)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Appends the bytes in lower case. Everything is escaped except printable ASCII other than `%`,
/// `#` and space.
pub(crate) fn append_escaped_lower(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    append_escaped(bytes, out);
    out[start..].make_ascii_lowercase();
}

/// Like [`append_escaped_lower`], but keeps the case of letters.
pub(crate) fn append_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'%' && byte != b'#' {
            out.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', HEX[high], HEX[low]]);
        }
    }
}
