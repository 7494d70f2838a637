//! Computes a key in two ways: a fast path for URLs that are nearly canonical, and a full path for
//! all others.
//!
//! Invariant: if the fast path returns a key, the full path returns the same one.

use crate::split::Target;
use crate::{KeyError, canonical, fast, split};

/// Returns the URL key (SURT) of `url`. Text without a scheme is treated as http. URLs of other
/// schemes than http and https (`dns:`, `mailto:`, `ftp:`, ...) are their own key. From these, only
/// white space at the ends, and line ends and tabs within, are removed.
///
/// ```
/// let url_key = urlkey::url_key("https://WWW.Example.org:443/a/../b?y=2&x=1#top")?;
/// assert_eq!(url_key, "org,example)/b?x=1&y=2");
/// assert_eq!(urlkey::url_key("example.org/b?x=1&y=2")?, url_key);
/// # Ok::<(), urlkey::KeyError>(())
/// ```
///
/// # Errors
/// [`KeyError`] if `url` cannot have a key.
pub fn url_key(url: &str) -> Result<String, KeyError> {
    let mut url_key = String::new();
    url_key_into(url, &mut url_key)?;
    Ok(url_key)
}

/// Like [`url_key`], but writes into a buffer. The old content is dropped, and the memory is
/// reused.
///
/// # Errors
/// [`KeyError`] if `url` cannot have a key; the buffer is then empty.
pub fn url_key_into(url: &str, url_key: &mut String) -> Result<(), KeyError> {
    let mut bytes = std::mem::take(url_key).into_bytes();
    bytes.clear();
    bytes.reserve(url.len());
    let outcome = if fast::append_key(url.as_bytes(), &mut bytes) {
        Ok(())
    } else {
        // The fast path may have written a part of the key before it gave up.
        bytes.clear();
        append_key(url, &mut bytes)
    };
    if outcome.is_err() {
        bytes.clear();
    }
    // This never replaces anything: both paths write ASCII, or copy a whole `str`.
    *url_key =
        String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    outcome
}

/// The full path. It accepts any input.
pub(crate) fn append_key(url: &str, out: &mut Vec<u8>) -> Result<(), KeyError> {
    let clean = split::clean(url);
    match split::split(&clean)? {
        Target::Http(parts) => canonical::append_key(&parts, out),
        Target::Other(url) => {
            out.extend_from_slice(url.as_bytes());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
