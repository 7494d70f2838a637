//! The HTTP client for inputs, with its own handling of redirects.
//!
//! Invariants:
//! - A redirect to a non-public address is refused, except from a non-public server to the same
//!   host. For names, the address of every connection is checked, so a name that resolves
//!   differently later cannot bypass the check.
//! - Credentials and signatures are sent only to the server of the original request.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use hyper_util::client::legacy::connect::HttpInfo;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpService, SpawnService,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use tokio::runtime::Handle;
use url::{Host, Url};

/// Maximum number of redirects per request.
const REDIRECTS_MAX: usize = 10;

/// Timeout for establishing a connection.
pub(crate) const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// Prefix of the headers of a signed S3 request.
const OF_S3: &str = "x-amz-";

/// Creates clients.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    /// Timeout for a whole response.
    pub(crate) answer_time_max: Option<Duration>,
    /// Whether servers without TLS are allowed.
    pub(crate) allows_plain: bool,
    /// Runtime for connections; `None` uses the caller's runtime.
    pub(crate) runtime: Option<Handle>,
    pub(crate) network: Network,
}

impl Connector {
    /// Returns a connector without a timeout for responses, which uses the caller's runtime.
    pub(crate) fn new(allows_plain: bool) -> Connector {
        Connector {
            answer_time_max: None,
            allows_plain,
            runtime: None,
            network: Network::default(),
        }
    }

    /// Creates a client.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up.
    pub(crate) fn client(&self) -> io::Result<HttpClient> {
        let made = RedirectClient {
            any: self.built(|builder| builder)?,
            public: Arc::default(),
            connector: self.clone(),
        };
        Ok(match &self.runtime {
            Some(runtime) => HttpClient::new(SpawnService::new(made, runtime.clone())),
            None => HttpClient::new(made),
        })
    }

    fn built(
        &self,
        with: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> io::Result<reqwest::Client> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIME_MAX)
            .https_only(!self.allows_plain);
        if let Some(time_max) = self.answer_time_max {
            builder = builder.timeout(time_max);
        }
        with(builder).build().map_err(io::Error::other)
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        self.client().map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: Box::new(error),
        })
    }
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, thiserror::Error)]
enum RedirectError {
    #[error(
        "the server redirects to {host}, which is no address of the public network; name it yourself if it is meant"
    )]
    NotPublic { host: String },
    #[error("the server redirects more than {REDIRECTS_MAX} times")]
    TooMany,
}

/// Follows redirects.
#[derive(Debug, Clone)]
struct RedirectClient {
    /// Connects to every address.
    any: reqwest::Client,
    /// Connects only to public addresses. Created on first use.
    public: Arc<OnceLock<reqwest::Client>>,
    connector: Connector,
}

impl RedirectClient {
    fn public(&self) -> Result<&reqwest::Client, HttpError> {
        if let Some(client) = self.public.get() {
            return Ok(client);
        }
        let names = Arc::new(PublicNames(self.connector.network));
        let made = self.connector.built(|builder| builder.dns_resolver(names));
        let made = made.map_err(|error| HttpError::new(HttpErrorKind::Decode, error))?;
        Ok(self.public.get_or_init(|| made))
    }
}

#[async_trait]
impl HttpService for RedirectClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let network = self.connector.network;
        // A request that changes something is answered only by the server it was sent to.
        let follows = matches!(*request.method(), Method::GET | Method::HEAD);
        let (method, mut headers) = (request.method().clone(), request.headers().clone());
        let (mut at, mut request, mut is_public) = (request.uri().clone(), request, false);
        for _ in 0..=REDIRECTS_MAX {
            let client = if is_public { self.public()? } else { &self.any };
            let response = HttpService::call(client, request)
                .await
                .map_err(final_if_refused)?;
            let next = follows.then(|| target(&at, &response)).flatten();
            let Some(next) = next else {
                return Ok(response);
            };
            let peer = peer_of(&response);
            is_public = is_public || !is_one_place(&at, &next) || !network.is_inside(&at, peer).await;
            if is_public && let Some(host) = network.inside_literal(&next) {
                return Err(refused(RedirectError::NotPublic { host }));
            }
            if !is_one_server(&at, &next) {
                without_credentials(&mut headers);
            }
            let mut further = Request::new(HttpRequestBody::empty());
            *further.method_mut() = method.clone();
            *further.headers_mut() = headers.clone();
            *further.uri_mut() = next
                .as_str()
                .parse::<Uri>()
                .map_err(|error| HttpError::new(HttpErrorKind::Decode, error))?;
            (at, request) = (further.uri().clone(), further);
        }
        Err(refused(RedirectError::TooMany))
    }
}

/// Returns an error that is not retried.
fn refused(error: RedirectError) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, error)
}

/// Marks a connection refused by this module as final, because a retry would be refused too.
fn final_if_refused(error: HttpError) -> HttpError {
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<RedirectError>() {
            return refused(cause.clone());
        }
        source = cause.source();
    }
    error
}

/// Returns the address that a response came from.
fn peer_of(response: &HttpResponse) -> Option<IpAddr> {
    let info = response.extensions().get::<HttpInfo>()?;
    Some(info.remote_addr().ip())
}

/// Returns the target of a redirect.
fn target(at: &Uri, response: &HttpResponse) -> Option<Url> {
    // 304 and 300 are not followed.
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308).then_some(())?;
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let mut next = Url::parse(&at.to_string()).ok()?.join(location).ok()?;
    let is_web = matches!(next.scheme(), "http" | "https") && next.host().is_some();
    next.set_fragment(None);
    // Credentials in the target of a redirect are ignored.
    let is_plain = next.set_username("").is_ok() && next.set_password(None).is_ok();
    (is_web && is_plain).then_some(next)
}

fn is_one_server(at: &Uri, next: &Url) -> bool {
    Url::parse(&at.to_string()).is_ok_and(|at| at.origin() == next.origin())
}

/// Returns whether a redirect stays on the same server, or leads to the same host with both on
/// default ports, for example from HTTP to HTTPS.
fn is_one_place(at: &Uri, next: &Url) -> bool {
    let Ok(at) = Url::parse(&at.to_string()) else {
        return false;
    };
    let has_own_port = |url: &Url| url.port().is_none();
    at.origin() == next.origin() || at.host() == next.host() && has_own_port(&at) && has_own_port(next)
}

fn without_credentials(headers: &mut HeaderMap<HeaderValue>) {
    let secret: Vec<_> = headers
        .keys()
        .filter(|name| {
            [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION].contains(name) || name.as_str().starts_with(OF_S3)
        })
        .cloned()
        .collect();
    for name in secret {
        headers.remove(name);
    }
}

/// Decides which addresses are public, and resolves names.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    is_public: fn(IpAddr) -> bool,
    lookup: fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            is_public,
            lookup: |name| Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) }),
        }
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Network")
    }
}

impl Network {
    /// Returns whether a response came from a non-public address. The connection may go through a
    /// proxy, whose address is not significant, so the address in the URL must be non-public too.
    async fn is_inside(&self, at: &Uri, peer: Option<IpAddr>) -> bool {
        if peer.is_none_or(self.is_public) {
            return false;
        }
        let Ok(url) = Url::parse(&at.to_string()) else {
            return false;
        };
        if self.inside_literal(&url).is_some() {
            return true;
        }
        let Some(Host::Domain(name)) = url.host() else {
            return false;
        };
        let found = (self.lookup)(name.to_owned()).await.unwrap_or_default();
        !found.is_empty() && !found.iter().any(|found| (self.is_public)(found.ip()))
    }

    /// Returns the host of an address if it is a literal non-public IP address. Such a host is
    /// never resolved.
    fn inside_literal(&self, url: &Url) -> Option<String> {
        let ip = match url.host()? {
            Host::Ipv4(ip) => IpAddr::V4(ip),
            Host::Ipv6(ip) => IpAddr::V6(ip),
            Host::Domain(_) => return None,
        };
        (!(self.is_public)(ip)).then(|| ip.to_string())
    }
}

/// Resolves names to their public addresses only.
struct PublicNames(Network);

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.0;
        Box::pin(async move {
            let mut found = (network.lookup)(name.as_str().to_owned()).await?;
            found.retain(|found| (network.is_public)(found.ip()));
            if found.is_empty() {
                let host = name.as_str().to_owned();
                Err(RedirectError::NotPublic { host }.into())
            } else {
                Ok(Box::new(found.into_iter()) as Addrs)
            }
        })
    }
}

/// Returns whether an address belongs to the public network: not to this machine, a local network,
/// a provider's internal network, or its metadata services, which hand out credentials.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_local = ip.is_loopback() || ip.is_private() || ip.is_link_local() || a == 0;
    // RFC 6598, RFC 6890, RFC 2544; 168.63.129.16 is Azure's virtual host address.
    let is_of_providers = a == 100 && b & 0xc0 == 64
        || (a, b, c) == (192, 0, 0)
        || a == 198 && b & 0xfe == 18
        || ip == Ipv4Addr::new(168, 63, 129, 16);
    // Multicast, reserved, broadcast.
    !(is_local || is_of_providers || a >= 224)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let parts = ip.segments();
    let v4_at = |at: usize| {
        let [a, b] = parts[at].to_be_bytes();
        let [c, d] = parts[at + 1].to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // `::`, `::1`, and embedded IPv4 addresses: mapped, compatible, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => v4_at(6),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4_at(6),
        [0x2002, ..] => v4_at(1),
        // Teredo; local-use NAT64.
        [0x2001, 0, ..] | [0x64, 0xff9b, ..] => false,
        // Unique local, link-local, the former site-local, multicast.
        [first, ..] => {
            !(first & 0xfe00 == 0xfc00
                || first & 0xffc0 == 0xfe80
                || first & 0xffc0 == 0xfec0
                || first >= 0xff00)
        }
    }
}

#[cfg(test)]
mod tests;
