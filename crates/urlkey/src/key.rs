//! The two ways to a key: the fast one for URLs that are nearly canonical, the full one for the rest.
//!
//! Invariant: where the fast way answers, it answers what the full way would.

use crate::split::Target;
use crate::{canonical, fast, split};

/// Why a string has no URL key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Nothing but white space.
    #[error("empty URL")]
    Empty,
    /// An http or https URL that names no host.
    #[error("no host in an http or https URL")]
    NoHost,
}

/// The URL key (SURT) of `url`. Text without a scheme is taken for http; other schemes than http and
/// https (`dns:`, `mailto:`, `ftp:`, ...) are their own key, unchanged but for white space at the ends
/// and line ends and tabs within.
///
/// # Errors
/// [`KeyError`] where `url` cannot have a key.
pub fn url_key(url: &str) -> Result<String, KeyError> {
    let mut url_key = String::new();
    url_key_into(url, &mut url_key)?;
    Ok(url_key)
}

/// As [`url_key`], into a buffer whose former content is dropped and whose memory is used again.
///
/// # Errors
/// [`KeyError`] where `url` cannot have a key; the buffer is then empty.
pub fn url_key_into(url: &str, url_key: &mut String) -> Result<(), KeyError> {
    let mut bytes = std::mem::take(url_key).into_bytes();
    bytes.clear();
    bytes.reserve(url.len());
    let outcome = if fast::append_key(url.as_bytes(), &mut bytes) {
        Ok(())
    } else {
        bytes.clear();
        append_key(url, &mut bytes)
    };
    if outcome.is_err() {
        bytes.clear();
    }
    // Never replaces anything: both ways write ASCII, or copy a `str` whole.
    *url_key =
        String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    outcome
}

/// The full way, for any input.
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
