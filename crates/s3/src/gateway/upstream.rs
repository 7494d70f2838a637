//! The upstream: requests over pooled connections, signed with the gateway's own key.
//!
//! Invariant: a path is sent exactly as it is signed. Dots and slashes in a key are never
//! normalized.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use s3s::StdError;
use time::OffsetDateTime;
use tokio_rustls::rustls;

use super::settings::{GatewayError, GatewaySettings};
use super::sign::{Credential, Signed, sign};
use crate::query::{Query, encode_path};

/// How long establishing a connection may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// How long an idle connection is kept. Shorter than stores keep theirs (Amazon about 20 s), so
/// that few requests use a connection that is being closed.
const CONNECTION_IDLE_MAX: Duration = Duration::from_secs(15);

/// Most idle connections to keep. More would be useful only after a burst.
const CONNECTIONS_IDLE_MAX: usize = 64;

/// Interval of TCP keepalive. A write may wait minutes for its response, but must not wait forever.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// How long the response to a read may take to begin.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// The SHA-256 digest of empty content.
pub(crate) const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The content of a request to the upstream.
pub(crate) type Content = BoxBody<Bytes, StdError>;

/// A request to the upstream.
pub(crate) struct UpstreamRequest {
    pub(crate) method: Method,
    /// Bucket and key, not encoded. An empty bucket means all buckets, an empty key means the
    /// bucket.
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// Value of `x-amz-content-sha256`.
    pub(crate) payload: String,
    pub(crate) content: Content,
}

/// Why there is no response.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// The upstream sent nothing for [`ANSWER_TIME_MAX`].
    #[error("the upstream did not answer for {} s", ANSWER_TIME_MAX.as_secs())]
    Silent,
    /// The connection could not be established, or broke.
    #[error("the upstream cannot be reached: {0}")]
    Connection(String),
    /// The request cannot be encoded.
    #[error("the request to the upstream cannot be built: {0}")]
    Request(String),
}

/// A client of the upstream store.
pub(crate) struct Upstream {
    http: Client<HttpsConnector<HttpConnector>, Content>,
    scheme: Scheme,
    authority: Authority,
    /// The path of the endpoint, without a trailing slash.
    path: String,
    region: String,
    credential: Option<Credential>,
    /// The endpoint in the settings; empty for Amazon's.
    endpoint: String,
}

impl Upstream {
    /// Creates a client.
    ///
    /// # Errors
    /// If the endpoint is invalid, or the certificates of this machine cannot be read.
    pub(crate) fn new(settings: &GatewaySettings) -> Result<Self, GatewayError> {
        let endpoint = settings
            .endpoint
            .clone()
            .unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", settings.region));
        let wrong = |detail: &str| GatewayError::Endpoint {
            endpoint: endpoint.clone(),
            detail: detail.to_owned(),
        };
        let uri: Uri = endpoint
            .parse()
            .map_err(|error: http::uri::InvalidUri| wrong(&error.to_string()))?;
        let parts = uri.into_parts();
        let scheme = parts.scheme.ok_or_else(|| wrong("it has no scheme"))?;
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(wrong("its scheme is not http or https"));
        }
        let path = parts.path_and_query.map(|path| path.path().to_owned());
        Ok(Self {
            http: client(scheme == Scheme::HTTPS)?,
            scheme,
            authority: parts.authority.ok_or_else(|| wrong("it has no host"))?,
            path: path.unwrap_or_default().trim_end_matches('/').to_owned(),
            region: settings.region.clone(),
            credential: settings.credential.clone(),
            endpoint: settings.endpoint.clone().unwrap_or_default(),
        })
    }

    /// Returns the endpoint, which identifies the store in the cache tier.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Sends a request and returns the response once its head has arrived.
    ///
    /// # Errors
    /// If there is no response. A refusal is a response.
    pub(crate) async fn ask(&self, ask: UpstreamRequest) -> Result<Response<Incoming>, UpstreamError> {
        let reads = matches!(ask.method, Method::GET | Method::HEAD);
        let request = self
            .request(ask)
            .map_err(|error| UpstreamError::Request(error.to_string()))?;
        let answer = self.http.request(request);
        let answer = if reads {
            tokio::time::timeout(ANSWER_TIME_MAX, answer)
                .await
                .map_err(|_| UpstreamError::Silent)?
        } else {
            answer.await
        };
        answer.map_err(|error| UpstreamError::Connection(with_causes(&error)))
    }

    fn request(&self, ask: UpstreamRequest) -> Result<Request<Content>, http::Error> {
        let path = match (ask.bucket.as_str(), ask.key.as_str()) {
            ("", _) => format!("{}/", self.path),
            (bucket, "") => encode_path(&format!("{}/{bucket}", self.path)),
            (bucket, key) => encode_path(&format!("{}/{bucket}/{key}", self.path)),
        };
        let mut headers = ask.headers;
        headers.insert(HOST, HeaderValue::try_from(self.authority.as_str())?);
        if let Some(credential) = &self.credential {
            let signed = Signed {
                method: &ask.method,
                path: &path,
                query: &ask.query,
                payload: &ask.payload,
            };
            let now = OffsetDateTime::from(system::wall());
            sign(credential, &self.region, &signed, &mut headers, now)?;
        }
        let target = match ask.query.encoded() {
            query if query.is_empty() => path,
            query => format!("{path}?{query}"),
        };
        let uri = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(target)
            .build()?;
        let mut request = Request::builder().method(ask.method).uri(uri).body(ask.content)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Returns empty content.
pub(crate) fn nothing() -> Content {
    BoxBody::new(Empty::new().map_err(|never| match never {}))
}

/// Returns content that is held in memory.
pub(crate) fn whole(bytes: Bytes) -> Content {
    BoxBody::new(Full::new(bytes).map_err(|never| match never {}))
}

fn client(secure: bool) -> Result<Client<HttpsConnector<HttpConnector>, Content>, GatewayError> {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_TIME_MAX));
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_nodelay(true);
    connector.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls(secure)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(CONNECTION_IDLE_MAX)
        .pool_max_idle_per_host(CONNECTIONS_IDLE_MAX)
        .build(connector))
}

/// Trusts the system's certificates; `SSL_CERT_FILE` names different ones.
fn tls(secure: bool) -> Result<rustls::ClientConfig, GatewayError> {
    let wrong = |error: String| GatewayError::Tls(error);
    let mut roots = rustls::RootCertStore::empty();
    if secure {
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let errors: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
            let detail = format!(
                "this machine has no trusted certificates: set SSL_CERT_FILE to a file of certificates ({})",
                errors.join("; ")
            );
            return Err(wrong(detail));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Returns an error's message followed by those of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Scope;

    fn settings(endpoint: &str) -> GatewaySettings {
        GatewaySettings {
            scope: Scope::Everything,
            maps: Vec::new(),
            endpoint: Some(endpoint.to_owned()),
            region: "us-east-1".to_owned(),
            credential: None,
        }
    }

    fn target(endpoint: &str, bucket: &str, key: &str, query: &str) -> String {
        let ask = UpstreamRequest {
            method: Method::GET,
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            query: Query::of(&format!("/?{query}").parse().unwrap()),
            headers: HeaderMap::new(),
            payload: EMPTY_SHA256.to_owned(),
            content: nothing(),
        };
        let upstream = Upstream::new(&settings(endpoint)).unwrap();
        upstream.request(ask).unwrap().uri().to_string()
    }

    #[test]
    fn keys_are_sent_as_they_are() {
        let at = "http://h:1";
        assert_eq!(target(at, "b", "a/../b//c d", ""), "http://h:1/b/a/../b//c%20d");
        assert_eq!(target(at, "", "", ""), "http://h:1/");
        assert_eq!(target("http://h/s3/", "b", "", "acl"), "http://h/s3/b?acl");
    }

    #[test]
    fn wrong_endpoints_are_told() {
        for wrong in ["", "h:1", "ftp://h", "http://", "/x"] {
            assert!(Upstream::new(&settings(wrong)).is_err(), "{wrong}");
        }
    }
}
