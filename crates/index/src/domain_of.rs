//! Registered domains of URL keys, looked up once per host.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Hosts remembered before the cache is cleared: bounds memory to some tens of mebibytes.
const HOSTS_MAX: usize = 200_000;

/// A cache of the domains of recent hosts.
#[derive(Default)]
pub(crate) struct DomainOf {
    last_host: Vec<u8>,
    last_domain: Option<Arc<str>>,
    known: FxHashMap<Box<[u8]>, Arc<str>>,
}

impl DomainOf {
    /// Returns the registered domain of `url_key`'s host. Sorted keys are fastest, because the last
    /// host is tried first.
    pub(crate) fn get(&mut self, url_key: &str) -> Arc<str> {
        let host = host_part(url_key);
        if let Some(domain) = &self.last_domain
            && self.last_host == host
        {
            return domain.clone();
        }
        let domain = match self.known.get(host) {
            Some(domain) => domain.clone(),
            None => {
                let domain: Arc<str> = urlkey::domain_of_key(url_key).into();
                if self.known.len() >= HOSTS_MAX {
                    self.known.clear();
                }
                self.known.insert(host.into(), domain.clone());
                domain
            }
        };
        self.last_host.clear();
        self.last_host.extend_from_slice(host);
        self.last_domain = Some(domain.clone());
        domain
    }
}

/// The host part of a key with its port: everything before the first `)`.
fn host_part(url_key: &str) -> &[u8] {
    let bytes = url_key.as_bytes();
    let end = bytes.iter().position(|&b| b == b')').unwrap_or(bytes.len());
    &bytes[..end]
}

/// Returns key ranges (start inclusive, end exclusive) that hold all keys of a domain. They may
/// also hold keys of other domains (`co.uk` and `example.co.uk` are different domains).
pub(crate) fn key_ranges(domain: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    match urlkey::domain_ranges(domain) {
        Ok(ranges) => ranges
            .into_iter()
            .map(|range| (range.start.into_bytes(), range.end.into_bytes()))
            .collect(),
        // Keys without a host (of other schemes) share the empty domain and may be anywhere.
        Err(_) => vec![(Vec::new(), vec![u8::MAX])],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_the_keys_of_the_domain() {
        let ranges = key_ranges("example.com");
        let within = |key: &str| {
            ranges
                .iter()
                .any(|(from, to)| from.as_slice() <= key.as_bytes() && key.as_bytes() < to.as_slice())
        };
        for key in [
            "com,example)/",
            "com,example,www2)/x",
            "com,example:8080)/",
            "com,example,a:81)/",
        ] {
            assert!(within(key), "{key}");
        }
        for key in ["com,example-two)/", "com,examples)/", "com)/", "com,exampl)/"] {
            assert!(!within(key), "{key}");
        }
    }
}
