//! Decodes the chunked transfer coding (RFC 9112, 7.1).
//!
//! A payload that is wrongly declared as chunked (by crawlers that decode it and keep the header)
//! is returned unchanged. If a chunked payload becomes invalid, the chunks before are kept and the
//! rest follows unchanged, so nothing is lost.

use std::borrow::Cow;

/// Returns the payload without its chunk lines; borrowed if it is one range of `body`.
pub(crate) fn decode(body: &[u8]) -> Cow<'_, [u8]> {
    let Some((first, rest)) = split_chunk(body) else {
        return Cow::Borrowed(body);
    };
    let mut payload = Cow::Borrowed(first);
    let mut rest = rest;
    loop {
        match split_chunk(rest) {
            // The last chunk (trailers follow it), or the end of a truncated payload.
            Some(([], _)) => return payload,
            Some((chunk, tail)) => {
                append(&mut payload, chunk);
                rest = tail;
            }
            None => {
                append(&mut payload, rest);
                return payload;
            }
        }
    }
}

fn append<'a>(payload: &mut Cow<'a, [u8]>, more: &'a [u8]) {
    if payload.is_empty() {
        *payload = Cow::Borrowed(more);
    } else if !more.is_empty() {
        payload.to_mut().extend_from_slice(more);
    }
}

/// Splits off one chunk. A chunk truncated by the end of the body is shorter than its declared
/// size. Returns `None` if there is no chunk line.
fn split_chunk(body: &[u8]) -> Option<(&[u8], &[u8])> {
    if body.is_empty() {
        return Some((body, body));
    }
    let (size, rest) = split_size_line(body)?;
    let (chunk, rest) = rest.split_at(rest.len().min(size));
    let rest = rest
        .strip_prefix(b"\r\n")
        .or_else(|| rest.strip_prefix(b"\n"))
        .unwrap_or(rest);
    Some((chunk, rest))
}

/// Reads a line such as `1a3f` or `1A3F ; name=value`, with at most 16 hexadecimal digits. Returns
/// the size and the rest.
fn split_size_line(body: &[u8]) -> Option<(usize, &[u8])> {
    const LINE_BYTES_MAX: usize = 4096;
    let end = memchr::memchr(b'\n', &body[..body.len().min(LINE_BYTES_MAX)])?;
    let size = body[..end].split(|b| *b == b';').next()?.trim_ascii();
    if size.is_empty() || size.len() > 16 {
        return None;
    }
    let size = std::str::from_utf8(size).ok()?;
    if !size.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let size = u64::from_str_radix(size, 16).ok()?;
    Some((usize::try_from(size).unwrap_or(usize::MAX), &body[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(body: &str, expected: &str) {
        assert_eq!(
            String::from_utf8_lossy(&decode(body.as_bytes())),
            expected,
            "{body:?}"
        );
    }

    fn encode(chunks: &[Vec<u8>]) -> Vec<u8> {
        let mut body = Vec::new();
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            body.extend(format!("{:x}\r\n", chunk.len()).bytes());
            body.extend(chunk);
            body.extend(b"\r\n");
        }
        body.extend(b"0\r\n\r\n");
        body
    }

    #[test]
    fn chunks() {
        check("4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n", "abcdefg");
        check("0004 ; a=b\r\nabcd\r\n0\r\nTrailer: x\r\n\r\n", "abcd");
        check("4\nabcd\n0\n\n", "abcd");
        check("0\r\n\r\n", "");
    }

    #[test]
    fn falsely_declared() {
        check("<html>\r\n</html>", "<html>\r\n</html>");
        check("", "");
        check("not hex\r\nx", "not hex\r\nx");
    }

    #[test]
    fn cut_or_wrong() {
        check("4\r\nabcd\r\n", "abcd");
        check("ff\r\nabcd", "abcd");
        check("4\r\nabcd\r\nwrong\r\nrest", "abcdwrong\r\nrest");
        check("ffffffffffffffff\r\nabcd", "abcd");
        check("fffffffffffffffff\r\nabcd", "fffffffffffffffff\r\nabcd");
    }

    proptest! {
        #[test]
        fn what_is_chunked_comes_back(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6)) {
            prop_assert_eq!(decode(&encode(&chunks)).into_owned(), chunks.concat());
        }

        #[test]
        fn mutated_bodies_do_no_harm(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
            at in any::<proptest::sample::Index>(), with in any::<u8>(), cut in any::<proptest::sample::Index>(),
        ) {
            let mut body = encode(&chunks);
            let at = at.index(body.len());
            body[at] = with;
            body.truncate(cut.index(body.len() + 1));
            prop_assert!(decode(&body).len() <= body.len());
        }
    }
}
