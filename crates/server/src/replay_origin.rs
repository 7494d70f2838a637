//! The replay origin: the second port, which shows archived pages.

use std::net::SocketAddr;

use axum::http::{HeaderMap, header};
use replay::Scripts;

use crate::settings::ReplaySettings;

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
