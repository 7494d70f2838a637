//! Registered domains by the Public Suffix List, with its ICANN and its private section.
//! `example.co.uk` is a domain. So is `someone.github.io`, because GitHub registered `github.io` as
//! a suffix under which each name has a different owner.
//!
//! The list is the one in the `psl` crate at build time. For a name without a known suffix, the
//! default rule of the list (`*`) applies: its domain is its last two labels.

use public_suffix::suffix_length;

use crate::host::{host_part, is_ipv6};

/// Returns the registered domain of a host by the Public Suffix List. An IP address, a name that is
/// itself a public suffix, and a single label are their own domain. `host` must be lower case and
/// in punycode, as in keys.
///
/// ```
/// use urlkey::domain_of_host;
///
/// assert_eq!(domain_of_host("www.example.co.uk"), "example.co.uk");
/// assert_eq!(domain_of_host("a.someone.github.io"), "someone.github.io");
/// assert_eq!(domain_of_host("192.0.2.1"), "192.0.2.1");
/// ```
pub fn domain_of_host(host: &str) -> &str {
    let host = host.strip_suffix('.').unwrap_or(host);
    if is_address(host.rsplit('.').next(), host) {
        return host;
    }
    let length = domain_length(host.rsplit('.'));
    // The labels were counted from the end; with the dots between them they are a suffix of `host`.
    host.get(host.len().saturating_sub(length)..).unwrap_or(host)
}

/// Returns the public suffix of a host (`co.uk` of `www.example.co.uk`). That is the part above its
/// registered domain, or the host itself if it is a suffix. An IP address has no suffix. `host`
/// must be lower case and in punycode, as in keys.
pub fn suffix_of_host(host: &str) -> Option<&str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() || is_address(host.rsplit('.').next(), host) {
        return None;
    }
    let length = suffix_length(&mut host.rsplit('.').map(str::as_bytes));
    Some(host.get(host.len().saturating_sub(length)..).unwrap_or(host))
}

/// Returns the registered domain of the host of a URL key, or an empty string for keys of other
/// schemes.
pub fn domain_of_key(url_key: &str) -> String {
    let domain = domain_key_of_key(url_key);
    if is_ipv6(domain) {
        return format!("[{domain}]");
    }
    let mut name = String::with_capacity(domain.len());
    for (i, label) in domain.rsplit(',').enumerate() {
        if i > 0 {
            name.push('.');
        }
        name.push_str(label);
    }
    name
}

/// Returns the registered domain in the form it has in the key: `uk,co,example` of
/// `uk,co,example,shop)/x`. Borrows from the key. Two keys belong to the same domain if and only if
/// these are equal.
pub fn domain_key_of_key(url_key: &str) -> &str {
    let host = host_part(url_key);
    if is_address(host.split(',').next(), host) {
        return host;
    }
    let length = domain_length(host.split(','));
    host.get(..length).unwrap_or(host)
}

/// Returns whether two URL keys belong to the same registered domain.
pub fn same_domain(url_key: &str, other_key: &str) -> bool {
    domain_key_of_key(url_key) == domain_key_of_key(other_key)
}

/// Returns whether a host is an IP address. If the top label is a number, the host cannot be a
/// name: the WHATWG URL standard parses it as an IPv4 address.
fn is_address(top_label: Option<&str>, host: &str) -> bool {
    top_label.is_some_and(|label| !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit()))
        || host.starts_with('[')
        || is_ipv6(host)
}

/// Returns the length of the registered domain in bytes, separators included. `labels` begin at the
/// top: `uk`, `co`, `example`.
fn domain_length<'a>(labels: impl Iterator<Item = &'a str> + Clone) -> usize {
    let known = suffix_length(&mut labels.clone().map(str::as_bytes));
    let mut length = 0;
    for (i, label) in labels.enumerate() {
        // The domain is one label longer than the suffix; an unknown suffix is one label long.
        let beyond_suffix = i > 0 && length >= known;
        length += usize::from(i > 0) + label.len();
        if beyond_suffix {
            break;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::suffix_of_host;

    #[test]
    fn a_suffix_is_above_the_registered_domain() {
        let check = |host: &str, suffix: Option<&str>| assert_eq!(suffix_of_host(host), suffix, "{host}");
        check("www.example.co.uk", Some("co.uk"));
        check("someone.github.io", Some("github.io"));
        check("co.uk", Some("co.uk"));
        check("localhost", Some("localhost"));
        check("a.unheard-of.", Some("unheard-of"));
        check("192.168.1.1", None);
        check("[::1]", None);
        check("::1", None);
        check("", None);
    }
}
