//! A compact encoding of a URL relative to its key.
//!
//! For most URLs the key and three bits are enough: the scheme, `www.` and a closing slash. Others
//! differ from their key somewhere (upper case, order of the query, port, user) and store the
//! position and the rest.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | bit 0 `https`, bit 1 `www.`, bit 2 closing slash, bit 3 tail; bits 4-7 for the caller |
//! | varint | with bit 3: length of the kept part of the derived URL |
//! | varint, n | with bit 3: length and bytes of the tail |

use crate::codec::{self, Corrupt, Reader};

const HTTPS: u8 = 1;
const WWW: u8 = 2;
const SLASH: u8 = 4;
const TAIL: u8 = 8;

/// Appends `url`, whose key is `key`; `flags` are the caller's bits (4 to 7).
pub(crate) fn put(out: &mut Vec<u8>, key: &str, url: &str, flags: u8) {
    debug_assert_eq!(flags & 0x0f, 0);
    let mut code = flags;
    let rest = match url.strip_prefix("https://") {
        Some(rest) => {
            code |= HTTPS;
            rest
        }
        None => url.strip_prefix("http://").unwrap_or(url),
    };
    if rest.starts_with("www.") {
        code |= WWW;
    }
    let mut derived = String::with_capacity(url.len() + 16);
    derive(&mut derived, key, code);
    if derived != url {
        let plain = codec::common_prefix(derived.as_bytes(), url.as_bytes());
        let mut slashed = String::with_capacity(url.len() + 16);
        derive(&mut slashed, key, code | SLASH);
        if slashed == url {
            out.push(code | SLASH);
            return;
        }
        let shared = codec::common_prefix(slashed.as_bytes(), url.as_bytes());
        let (code, shared) = if shared > plain {
            (code | SLASH, shared)
        } else {
            (code, plain)
        };
        out.push(code | TAIL);
        codec::put_varint(out, shared as u64);
        codec::put_bytes(out, &url.as_bytes()[shared..]);
        return;
    }
    out.push(code);
}

/// Reads a URL and the caller's bits.
pub(crate) fn get(reader: &mut Reader<'_>, key: &str) -> Result<(String, u8), Corrupt> {
    let code = reader.u8()?;
    let mut url = String::with_capacity(key.len() + 16);
    derive(&mut url, key, code);
    if code & TAIL != 0 {
        let shared = usize::try_from(reader.varint()?).map_err(|_| Corrupt("length is too large"))?;
        let tail = reader.bytes()?;
        let mut bytes = url.into_bytes();
        if shared > bytes.len() {
            return Err(Corrupt("URL shares more bytes with its key than the key has"));
        }
        bytes.truncate(shared);
        bytes.extend_from_slice(tail);
        url = String::from_utf8(bytes).map_err(|_| Corrupt("text is not UTF-8"))?;
    }
    Ok((url, code & 0xf0))
}

/// Skips a URL and returns the caller's bits.
pub(crate) fn skip(reader: &mut Reader<'_>) -> Result<u8, Corrupt> {
    let code = reader.u8()?;
    if code & TAIL != 0 {
        reader.varint()?;
        reader.bytes()?;
    }
    Ok(code & 0xf0)
}

/// Appends the URL derived from `key` and the bits of `code`.
fn derive(out: &mut String, key: &str, code: u8) {
    out.push_str(if code & HTTPS != 0 { "https://" } else { "http://" });
    if code & WWW != 0 {
        out.push_str("www.");
    }
    let (host, path) = key.split_once(')').unwrap_or((key, ""));
    let (host, port) = match host.split_once(':') {
        Some((host, port)) if !host.is_empty() => (host, Some(port)),
        _ => (host, None),
    };
    for (i, label) in host.rsplit(',').enumerate() {
        if i > 0 {
            out.push('.');
        }
        out.push_str(label);
    }
    if let Some(port) = port {
        out.push(':');
        out.push_str(port);
    }
    match path.find('?') {
        Some(query) if code & SLASH != 0 => {
            out.push_str(&path[..query]);
            out.push('/');
            out.push_str(&path[query..]);
        }
        _ => {
            out.push_str(path);
            if code & SLASH != 0 {
                out.push('/');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(key: &str, url: &str) -> usize {
        let mut out = Vec::new();
        put(&mut out, key, url, 0x30);
        assert_eq!(get(&mut Reader::new(&out), key), Ok((url.to_owned(), 0x30)));
        let mut reader = Reader::new(&out);
        assert_eq!(skip(&mut reader), Ok(0x30));
        assert!(reader.is_empty());
        out.len()
    }

    #[test]
    fn usual_urls_take_one_byte() {
        assert_eq!(check("org,archive)/", "http://www.archive.org/"), 1);
        assert_eq!(check("org,archive)/a/b?x=1", "https://archive.org/a/b/?x=1"), 1);
        assert_eq!(
            check("ch,xn--bcher-kva:8080)/x", "http://xn--bcher-kva.ch:8080/x"),
            1
        );
        assert_eq!(check("254,1,168,192)/info", "http://192.168.1.254/info/"), 1);
    }

    #[test]
    fn odd_urls_say_where_they_differ() {
        assert!(check("com,example)/a/readme.md", "https://www.example.com/a/README.md") < 14);
        check("::1:8080)/x", "http://[::1]:8080/x");
        check("com,example)/", "ftp://example.com");
        check("", "");
        check("x", "é");
    }

    proptest! {
        #[test]
        fn any_url_comes_back(key: String, url: String) {
            check(&key, &url);
        }
    }
}
