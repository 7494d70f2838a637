//! Archived pages as they were: a second port, the replay origin, shows captures whose references lead to captures; the first port
//! shows them in a frame, below a bar.
//!
//! Invariants:
//! - archived code never shares an origin with the archive's pages and API, nor with other archived pages: it runs on a port of its
//!   own, and every document there has an origin of its own (`sandbox`, without `allow-same-origin`), so neither cookies nor storage
//!   nor service workers outlive it;
//! - nothing that an archived document asks for leaves the archive: its policy ([`policy`]) names this origin alone, and it is
//!   always in a frame whose own policy keeps it there;
//! - the replay origin answers nothing but captures: no API, no pages of the archive. It takes no cookies and no tokens, so it shows
//!   what everybody may see, or the groups that a proxy names.

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
    /// If `listen` is taken, any free port will do.
    pub any_port: bool,
    /// Where browsers reach the replay origin, as in `https://replay.example.org`; `None` if it is where it listens.
    pub url: Option<String>,
    /// Whether archived scripts run.
    pub scripts: bool,
}

/// Where the replay origin is.
#[derive(Debug, Clone)]
pub(crate) struct ReplayPlace {
    pub(crate) settings: ReplaySettings,
    /// The bound address.
    pub(crate) address: SocketAddr,
    /// Port of the archive's pages.
    pub(crate) first_port: u16,
    /// A word by which requests of this origin's documents are known. Made when the server starts.
    pub(crate) key: String,
}

impl ReplayPlace {
    pub(crate) fn scripts(&self) -> Scripts {
        match self.settings.scripts {
            true => Scripts::On,
            false => Scripts::Off,
        }
    }

    /// The origin of the first port for who reached this one with `headers`; `None` where a proxy gave it another name.
    pub(crate) fn first_origin(&self, headers: &HeaderMap) -> Option<String> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let is_direct = self.settings.url.is_none();
        is_direct.then(|| format!("http://{}:{}", without_port(host), self.first_port))
    }

    /// The origin for a browser that reached the first port with `headers`.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.settings.url {
            return url.trim_end_matches('/').to_owned();
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let name = host.map_or("localhost", without_port);
        format!("http://{name}:{}", self.address.port())
    }
}

/// A key for the addresses of one server: 128 random bits.
pub(crate) fn new_key() -> String {
    format!("{:032x}", system::random::<u128>())
}

/// A host without its port; an IPv6 address keeps its brackets.
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
