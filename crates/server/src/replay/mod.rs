//! Replay of archived pages. A second port, the replay origin, serves captures whose references
//! lead to captures. The main port shows them in a frame, below a bar.
//!
//! Invariants:
//! - Archived code never shares an origin with the archive's pages and API, nor with other archived
//!   pages. It runs on a separate port, and every document there has a unique origin (`sandbox`,
//!   without `allow-same-origin`), so no cookies, storage or service workers outlive it.
//! - No request of an archived document leaves the archive. Its policy ([`policy`]) names only this
//!   origin, and it is always in a frame whose own policy keeps it there.
//! - The replay origin serves only captures: no API and no pages of the archive. It accepts no
//!   cookies and no tokens, so it shows what the public may see, or what the groups named by a
//!   proxy may see.

mod answer;
mod bar;
mod body;
mod check;
mod content;
mod find;
mod frame;
mod headers;
mod policy;
mod port;
mod posted;
mod whole;

pub(crate) use answer::FUZZY;
pub(crate) use bar::{address, lead_on, show as bar};
pub use check::{CheckedPage, CheckedPart, FoundPart, check_page};
pub(crate) use find::{can_replay, content_of, nearest};
pub(crate) use port::router;
pub(crate) use whole::show as check;

use std::net::SocketAddr;

use axum::http::{HeaderMap, header};
use replay::Scripts;

/// Settings of the replay origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySettings {
    /// Address to bind. Port 0 takes any free port.
    pub listen: SocketAddr,
    /// Whether to use any free port if `listen` is in use.
    pub any_port: bool,
    /// Address at which browsers reach the replay origin, such as `https://replay.example.org`.
    /// `None` if it is the address of the port.
    pub url: Option<String>,
    /// Whether archived scripts run.
    pub scripts: bool,
}

/// Location of the replay origin.
#[derive(Debug, Clone)]
pub(crate) struct ReplayPlace {
    pub(crate) settings: ReplaySettings,
    /// The bound address.
    pub(crate) address: SocketAddr,
    /// Main port, with the archive's pages.
    pub(crate) first_port: u16,
    /// A key that identifies requests of this origin's documents. Generated when the server starts.
    pub(crate) key: String,
}

impl ReplayPlace {
    pub(crate) fn scripts(&self) -> Scripts {
        if self.settings.scripts {
            Scripts::On
        } else {
            Scripts::Off
        }
    }

    /// Returns the origin of the main port for a client that reached this port with `headers`.
    /// `None` if a proxy gave it another name.
    pub(crate) fn first_origin(&self, headers: &HeaderMap) -> Option<String> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let is_direct = self.settings.url.is_none();
        is_direct.then(|| format!("http://{}:{}", without_port(host), self.first_port))
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

/// Returns a host without its port. An IPv6 address keeps its brackets.
fn without_port(host: &str) -> &str {
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
}
