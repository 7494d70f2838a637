//! Checks whether a request comes from this machine and from the owner of the server.
//!
//! The owner needs no token on their own machine. All of these must hold:
//! - The server listens on loopback only, and the connection uses it.
//! - The process at the other end has the same user as the server, or is root. Other users of the
//!   machine, and proxies of another user, are not the owner. If the system does not report the
//!   user, the request is not the owner's.
//! - Nothing indicates a proxy: neither a proxy header, nor `--groups-header`, nor a `--host` other
//!   than names of this machine.
//! - `Host` is a name of this machine (a page of another site whose name resolves to this machine
//!   sends its own name), and the request is not a cross-site request of a browser, unless it is a
//!   navigation to a page.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use listen::Connection;

use crate::peer::Peer;
use crate::settings::ServerSettings;
use crate::sites;

/// Headers that a proxy adds to a forwarded request.
const PROXY_HEADERS: [&str; 6] = [
    "forwarded",
    "x-real-ip",
    "via",
    "cf-connecting-ip",
    "true-client-ip",
    "x-client-ip",
];

/// Prefix of further proxy headers.
const PROXY_HEADERS_BEGIN: &str = "x-forwarded-";

/// The connection of a request, on ports where the owner may send requests.
#[derive(Clone)]
pub(crate) struct OwnersPort(pub(crate) Arc<Connection>);

/// A request extension that a program sets on requests to its own router ([`crate::router`]) that
/// come from the owner of the archive. A request that arrives over a connection never has it.
#[derive(Debug, Clone, Copy)]
pub struct OwnerRequest;

/// Returns whether the settings allow the owner of the server to go without a token.
pub(crate) fn is_known_without_token(settings: &ServerSettings) -> bool {
    settings.listen.ip().to_canonical().is_loopback() && !has_proxy(settings)
}

/// Returns whether the settings imply a proxy.
fn has_proxy(settings: &ServerSettings) -> bool {
    let is_elsewhere = |name: &String| !is_here(host_without_port(name));
    settings.groups_header.is_some() || settings.hosts.iter().any(is_elsewhere)
}

/// Returns whether the owner of the server sent a request, if the settings allow the owner to go
/// without a token.
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

/// Returns whether a request comes from this machine, as far as can be determined.
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
