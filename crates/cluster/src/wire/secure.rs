//! Connections with or without TLS: how they are made, and how a process finds out which the other
//! side expects.
//!
//! If both are allowed, TLS is tried first. A plain connection is used only with a process that
//! does not speak TLS at all. An attacker in between could fake that, so allow both only while a
//! cluster changes over.

use std::io;
use std::net::Ipv4Addr;

use http::Request;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;

use super::body::Body;
use super::buffered::BufferedConnector;
use super::link_error::LinkError;
use super::{CLIENT_KEEPS, CONNECT_MAX, IDLE_CONNECTIONS_MAX};
use crate::trust::{Tls, Trust};

/// Connections of this process, pooled by address.
pub(crate) type Http = Client<HttpsConnector<BufferedConnector>, Body>;

const SECURE: &str = "https";
const PLAIN: &str = "http";

/// How long plain connections are used to a node that did not speak TLS. Shorter would begin more
/// requests with a handshake that fails. A node that has learned TLS still gets plain requests for
/// up to this long.
const PLAIN_FOR: Duration = Duration::from_secs(30);

/// Returns a client with pooled connections.
pub(crate) fn http(trust: &Trust) -> Http {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_MAX));
    connector.set_nodelay(true);
    connector.enforce_http(false);
    // The library requires a name; only the key is checked.
    let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(trust.keys.client.clone())
        .https_or_http()
        .with_server_name_resolver(FixedServerNameResolver::new(name))
        .enable_http1()
        .wrap_connector(BufferedConnector(connector));
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(CLIENT_KEEPS)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .build(connector)
}

/// How connections to one address are made: with TLS or without.
pub(crate) struct Wire {
    tls: Tls,
    pub(crate) http: Http,
    /// The scheme that was found, and when.
    found: Mutex<Option<(&'static str, Instant)>>,
}

impl Wire {
    pub(crate) fn new(tls: Tls, http: Http) -> Self {
        Self {
            tls,
            http,
            found: Mutex::default(),
        }
    }

    /// Returns the scheme to use. `ping` makes the request that determines it.
    pub(crate) async fn scheme(
        &self,
        ping: impl Fn(&'static str) -> Result<Request<Body>, LinkError>,
    ) -> &'static str {
        match self.tls {
            Tls::On => return SECURE,
            Tls::Off => return PLAIN,
            Tls::Both => {}
        }
        let known = *self.found.lock();
        match known {
            Some((SECURE, _)) => return SECURE,
            Some((PLAIN, since)) if since.elapsed() < PLAIN_FOR => return PLAIN,
            _ => {}
        }
        let Ok(request) = ping(SECURE) else {
            return SECURE;
        };
        let found = match self.http.request(request).await {
            Ok(_) => SECURE,
            Err(error) if speaks_no_tls(&error) => PLAIN,
            // The node is away or refuses us. The request itself returns that error.
            Err(_) => return SECURE,
        };
        *self.found.lock() = Some((found, Instant::now()));
        found
    }

    /// Forgets the scheme that was found.
    pub(crate) fn forget(&self) {
        *self.found.lock() = None;
    }
}

/// Returns whether a connection failed because the other side did not send TLS.
fn speaks_no_tls(error: &Error) -> bool {
    matches!(tls_error(error), Some(rustls::Error::InvalidMessage(_)))
}

/// Explains a failed handshake to an operator.
pub(super) fn advice(error: &Error) -> Option<&'static str> {
    match tls_error(error)? {
        rustls::Error::InvalidMessage(_) => {
            Some("the other side does not use TLS: its cluster file may have another `tls`")
        }
        rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_) => {
            Some("it does not have the same secret: the secret files differ")
        }
        _ => None,
    }
}

fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    // `source` of an I/O error skips the error that it carries, so that error is taken with
    // `get_ref`.
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(carried) => tls_error(carried),
        None => tls_error(error.source()?),
    }
}
