//! Whether a request comes from this machine, and from the owner of the server.
//!
//! The owner needs no token on their own machine. All of these must hold:
//! - the server listens on loopback alone, and the connection comes over it;
//! - the process at its other end is of the user that the server runs as, or of root: other users of the machine, and proxies that
//!   run as another user, are not the owner. Where the system does not tell whose process it is, nobody is;
//! - nothing says that a proxy stands in front: no header of one, no `--groups-header`, no `--host` but names of this machine;
//! - `Host` is a name of this machine (a page of another site whose name resolves to this machine has another), and a browser does
//!   not ask for a page of another site.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use listen::Connection;

use crate::settings::ServerSettings;
use crate::sites;
use crate::state::Peer;

/// Headers with which a proxy says that it passes on another client's request.
const PROXY_HEADERS: [&str; 6] = [
    "forwarded",
    "x-real-ip",
    "via",
    "cf-connecting-ip",
    "true-client-ip",
    "x-client-ip",
];

/// The beginning of others.
const PROXY_HEADERS_BEGIN: &str = "x-forwarded-";

/// The connection that a request came over, for those ports where the owner may ask.
#[derive(Clone)]
pub(crate) struct OwnersPort(pub(crate) Arc<Connection>);

/// An extension of requests that a program makes of its own router ([`crate::router`]) for the owner of the archive. A request that comes over
/// a connection never has it.
#[derive(Debug, Clone, Copy)]
pub struct OwnerRequest;

/// Whether the settings let the owner of the server go without a token.
pub(crate) fn is_known_without_token(settings: &ServerSettings) -> bool {
    settings.listen.ip().to_canonical().is_loopback() && !has_proxy(settings)
}

/// Whether the settings say that a proxy stands in front.
fn has_proxy(settings: &ServerSettings) -> bool {
    let is_elsewhere = |name: &String| !is_here(host_without_port(name));
    settings.groups_header.is_some() || settings.hosts.iter().any(is_elsewhere)
}

/// Whether the owner of the server sent a request, where the settings let them go without a token.
pub(crate) fn is_of_owner(request: &Request) -> bool {
    if request.extensions().get::<OwnerRequest>().is_some() {
        return !request.headers().keys().any(is_of_proxy);
    }
    let Some(OwnersPort(connection)) = request.extensions().get::<OwnersPort>() else {
        return false;
    };
    let is_of_us = |user| user == 0 || user == rustix::process::geteuid().as_raw();
    is_from_here(request)
        && (sites::is_arrival(request) || !sites::is_cross_site(request.headers()))
        && connection.peer_user().is_some_and(is_of_us)
}

/// Whether a request comes from this machine, as far as can be told.
pub(crate) fn is_from_here(request: &Request) -> bool {
    let peer = request
        .extensions()
        .get::<Peer>()
        .map(|peer| peer.0.ip().to_canonical());
    let headers = request.headers();
    peer.is_some_and(|ip| ip.is_loopback())
        && !headers.keys().any(is_of_proxy)
        && host_is_here(headers)
        && origin_is_here(headers)
}

fn is_of_proxy(name: &HeaderName) -> bool {
    PROXY_HEADERS.contains(&name.as_str()) || name.as_str().starts_with(PROXY_HEADERS_BEGIN)
}

fn host_is_here(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    host.is_some_and(|host| is_here(host_without_port(host)))
}

fn origin_is_here(headers: &HeaderMap) -> bool {
    // Browsers send `Origin` with every POST, other clients do not.
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let host = headers.get(header::HOST).map(|value| value.as_bytes());
    origin.as_bytes().strip_prefix(b"http://") == host
}

fn host_without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_here(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_here() {
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "[::1]",
            "LOCALHOST:1",
        ] {
            assert!(is_here(host_without_port(host)), "{host}");
        }
        for host in [
            "example.com:8080",
            "",
            "localhost.example.com",
            "10.0.0.1:8080",
            "[::2]:1",
            "127.0.0.1.example.com",
        ] {
            assert!(!is_here(host_without_port(host)), "{host}");
        }
    }
}
