//! The HTTP client for inputs, which follows redirects by itself.
//!
//! Invariants:
//! - no redirect leads to an address that is not public, but from one that is not public to the same host: of names, every
//!   address is compared that a connection is made to, so that a name that resolves anew is no way around it;
//! - what signs a request, or says who sends it, goes to the server of the request alone.

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

/// Most redirects that are followed for one request.
const REDIRECTS_MAX: usize = 10;

/// How long a connection may take to be established.
pub(crate) const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// What the names of headers begin with that belong to a signed request of S3.
const OF_S3: &str = "x-amz-";

/// Makes clients.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    /// Longest time for a whole answer.
    pub(crate) answer_time_max: Option<Duration>,
    /// Whether servers without TLS may be asked.
    pub(crate) allows_plain: bool,
    /// Where connections are made; the caller's own runtime without it.
    pub(crate) runtime: Option<Handle>,
    pub(crate) network: Network,
}

impl Connector {
    /// For requests of any length, made in the caller's runtime.
    pub(crate) fn new(allows_plain: bool) -> Connector {
        Connector {
            answer_time_max: None,
            allows_plain,
            runtime: None,
            network: Network::default(),
        }
    }

    /// A client.
    ///
    /// # Errors
    /// TLS cannot be set up.
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
    /// Connects to names that resolve to public addresses. Made when it is first needed.
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
        // What changes something is answered by the server that it was sent to, and by no other.
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

/// An error that is not retried.
fn refused(error: RedirectError) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, error)
}

/// A connection that was refused here is refused at each try.
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

/// The address that an answer came from.
fn peer_of(response: &HttpResponse) -> Option<IpAddr> {
    let info = response.extensions().get::<HttpInfo>()?;
    Some(info.remote_addr().ip())
}

/// Where an answer leads on to.
fn target(at: &Uri, response: &HttpResponse) -> Option<Url> {
    // 304 and 300 lead nowhere.
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308).then_some(())?;
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let mut next = Url::parse(&at.to_string()).ok()?.join(location).ok()?;
    let is_web = matches!(next.scheme(), "http" | "https") && next.host().is_some();
    next.set_fragment(None);
    // Who a server thinks that we are is no matter of its redirects.
    let is_plain = next.set_username("").is_ok() && next.set_password(None).is_ok();
    (is_web && is_plain).then_some(next)
}

fn is_one_server(at: &Uri, next: &Url) -> bool {
    Url::parse(&at.to_string()).is_ok_and(|at| at.origin() == next.origin())
}

/// Whether a redirect stays with the server that answered, or leads on to the same host with TLS.
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

/// Which addresses are public, and how names are resolved.
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
    /// Whether an answer came from an address that is not public. The connection may be one to a proxy, whose address says
    /// nothing: so the address by which the server was named counts as well.
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

    /// The host of an address, if it is an IP address that is not public: such a one is never resolved.
    fn inside_literal(&self, url: &Url) -> Option<String> {
        let ip = match url.host()? {
            Host::Ipv4(ip) => IpAddr::V4(ip),
            Host::Ipv6(ip) => IpAddr::V6(ip),
            Host::Domain(_) => return None,
        };
        (!(self.is_public)(ip)).then(|| ip.to_string())
    }
}

/// Resolves names to their public addresses.
struct PublicNames(Network);

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.0;
        Box::pin(async move {
            let mut found = (network.lookup)(name.as_str().to_owned()).await?;
            found.retain(|found| (network.is_public)(found.ip()));
            match found.is_empty() {
                false => Ok(Box::new(found.into_iter()) as Addrs),
                true => {
                    let host = name.as_str().to_owned();
                    Err(RedirectError::NotPublic { host }.into())
                }
            }
        })
    }
}

/// Whether an address belongs to the public network: not to this machine, a local network, a provider's own network, or
/// services of it that give keys to its machines.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_local = ip.is_loopback() || ip.is_private() || ip.is_link_local() || a == 0;
    // RFC 6598, RFC 6890, RFC 2544; 168.63.129.16 is the host of machines at Azure.
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
        // `::`, `::1`, and IPv4 addresses in several disguises: mapped, compatible, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => v4_at(6),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4_at(6),
        [0x2002, ..] => v4_at(1),
        // Teredo; NAT64 of one's own network.
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
