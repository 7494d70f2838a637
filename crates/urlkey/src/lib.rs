//! URL keys: the sort key of everything in Weft.
//!
//! A URL key is the SURT form of a URL (`org,archive)/path?q`): host labels reversed, `www.` and the
//! scheme dropped, path and query canonicalised, so that all captures of one page, and all pages of one
//! site, stand together when keys are sorted bytewise.
//!
//! This crate knows nothing but URLs: no archives, no records.

/// The URL key (SURT) of `url`.
///
/// # Errors
/// [`KeyError`] where `url` cannot have a key.
pub fn url_key(url: &str) -> Result<String, KeyError> {
    let _ = url;
    Err(KeyError::Empty)
}

/// The host of a URL key, in its usual order: `org,archive)/x` gives `archive.org`; an IP address is
/// given as it is written in URLs. No port.
pub fn host_of_key(url_key: &str) -> String {
    let _ = url_key;
    String::new()
}

/// The registered domain of a host by the Public Suffix List; an IP address, a public suffix itself
/// and a single label are their own domain.
pub fn domain_of_host(host: &str) -> &str {
    host
}

/// The registered domain of a URL key's host.
pub fn domain_of_key(url_key: &str) -> String {
    domain_of_host(&host_of_key(url_key)).to_owned()
}

/// Why a string has no URL key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Nothing but white space.
    #[error("empty URL")]
    Empty,
}
