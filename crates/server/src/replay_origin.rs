//! The replay origin: the second port, which shows archived pages.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use replay::Scripts;
use replay::origin::{Label, Origins, Site};
use url::Url;

use crate::settings::{REPLAY_DOMAIN, ReplaySettings};
use crate::site_digests::SiteDigests;

/// Location of the replay origin.
#[derive(Debug, Clone)]
pub(crate) struct ReplayOrigin {
    pub(crate) settings: ReplaySettings,
    /// The bound address.
    pub(crate) address: SocketAddr,
    /// Main port, with the archive's pages.
    pub(crate) main_port: u16,
    /// A key that identifies requests of this origin's documents. Generated when the server starts.
    pub(crate) key: String,
    /// Sites whose origins are named by a digest.
    pub(crate) digests: Arc<SiteDigests>,
}

/// Number of digits of the time in the name of an origin.
const TIME_DIGITS: usize = 14;

/// Address of a page in the origin of its site.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SiteAddress {
    pub(crate) address: String,
    /// All origins of archived sites, as a source of a policy.
    pub(crate) origins: String,
}

impl ReplayOrigin {
    pub(crate) fn scripts(&self) -> Scripts {
        if self.settings.scripts {
            Scripts::On
        } else {
            Scripts::Off
        }
    }

    /// Returns the origin of the main port for a client that reached this port with `headers`.
    /// `None` if a proxy gave it another name.
    pub(crate) fn main_origin(&self, headers: &HeaderMap) -> Option<String> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let is_direct = self.settings.url.is_none();
        is_direct.then(|| format!("http://{}:{}", without_port(host), self.main_port))
    }

    /// Returns the name below which archived sites have origins, if scripts run.
    pub(crate) fn domain(&self) -> Option<&str> {
        self.settings.domain.as_deref().filter(|_| self.settings.scripts)
    }

    /// Returns how browsers reach the origins of archived sites: the scheme, and the name with a
    /// port.
    pub(crate) fn sites(&self) -> Option<(&str, String)> {
        let domain = self.domain()?;
        let Some(url) = &self.settings.url else {
            return Some(("http", format!("{domain}:{}", self.address.port())));
        };
        let (scheme, host) = url.trim_end_matches('/').split_once("://")?;
        let port = host.strip_prefix(without_port(host)).unwrap_or("");
        Some((scheme, format!("{domain}{port}")))
    }

    /// Returns the address of a capture in the origin of its site, for a browser that reached the
    /// main port with `headers`. Returns `None` if that browser would look for the origin on another
    /// machine.
    pub(crate) fn site_address(&self, headers: &HeaderMap, url: &str, time: &str) -> Option<SiteAddress> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let is_reached = match self.domain()? {
            REPLAY_DOMAIN => self.settings.url.is_none() && host.is_some_and(is_this_machine),
            _ => self.settings.url.is_some() || host.is_some_and(is_this_machine),
        };
        let (scheme, authority) = self.sites().filter(|_| is_reached)?;
        let url = Url::parse(url).ok()?;
        let time = time.get(..TIME_DIGITS)?;
        let address = Origins::new(scheme, &Label::Others, time, &authority).address(&url)?;
        self.digests.learn(&Site::of(&url)?);
        Some(SiteAddress {
            address,
            origins: format!("{scheme}://*.{authority}"),
        })
    }

    /// Returns the replay origin for a browser that reached the main port with `headers`.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.settings.url {
            return url.trim_end_matches('/').to_owned();
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let name = host.map_or("localhost", without_port);
        format!("http://{name}:{}", self.address.port())
    }
}

/// Returns a key for the addresses of one server: 128 random bits.
pub(crate) fn new_key() -> String {
    format!("{:032x}", system::random::<u128>())
}

/// Returns whether a browser that uses this host is on the same machine. These are the names that
/// may show origins in frames. A policy cannot name an IPv6 address.
fn is_this_machine(host: &str) -> bool {
    let name = without_port(host);
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1"
}

/// Returns a host without its port. An IPv6 address keeps its brackets.
pub(crate) fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_that_of_the_reader() {
        assert_eq!(without_port("localhost:8080"), "localhost");
        assert_eq!(without_port("[::1]:8080"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
        assert_eq!(without_port("a.example"), "a.example");
    }

    fn place(domain: &str, url: Option<&str>, scripts: bool) -> ReplayOrigin {
        ReplayOrigin {
            settings: ReplaySettings {
                listen: ([127, 0, 0, 1], 0).into(),
                any_port: true,
                url: url.map(str::to_owned),
                scripts,
                embed_on: Vec::new(),
                domain: Some(domain.to_owned()),
            },
            address: ([127, 0, 0, 1], 8081).into(),
            main_port: 8080,
            key: String::new(),
            digests: Arc::default(),
        }
    }

    #[test]
    fn sites_have_origins_where_a_browser_finds_them() {
        let direct = place(REPLAY_DOMAIN, None, true);
        let proxied = |domain| place(domain, Some("https://replay.example.org:8443"), true);
        for (place, host, expected) in [
            (
                &direct,
                "localhost:8080",
                Some("http://http--a-example.20140126200624.replay.localhost:8081/b?c#d"),
            ),
            (
                &direct,
                "127.0.0.1:8080",
                Some("http://http--a-example.20140126200624.replay.localhost:8081/b?c#d"),
            ),
            (&direct, "archive.example", None),
            (&place(REPLAY_DOMAIN, None, false), "localhost", None),
            (&proxied(REPLAY_DOMAIN), "localhost", None),
            (
                &proxied("r.example.org"),
                "archive.example",
                Some("https://http--a-example.20140126200624.r.example.org:8443/b?c#d"),
            ),
        ] {
            let headers = HeaderMap::from_iter([(header::HOST, host.parse().expect("a value"))]);
            let found = place.site_address(&headers, "http://a.example/b?c#d", "20140126200624123");
            assert_eq!(found.map(|found| found.address).as_deref(), expected, "{host}");
        }
        let found = direct.site_address(
            &HeaderMap::from_iter([(header::HOST, "localhost".parse().expect("a value"))]),
            "http://a_b.example/",
            "20140126200624",
        );
        let found = found.expect("an address");
        assert_eq!(found.origins, "http://*.replay.localhost:8081");
        let label = found
            .address
            .trim_start_matches("http://")
            .split('.')
            .next()
            .and_then(Label::parse);
        let site = direct.digests.site(&label.expect("a label"));
        assert_eq!(site.as_ref().map(Site::as_str), Some("http://a_b.example"));
    }
}
