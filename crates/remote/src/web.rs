//! Files of web servers, read with `Range` requests.

use std::io::{self, ErrorKind};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt};
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_MATCH, LAST_MODIFIED, RANGE,
    RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use object_store::client::{HttpClient, HttpErrorKind, HttpRequestBody, HttpResponse};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::failure::{Failure, with_causes};
use crate::range_source::{Body, RangeSource};
use crate::stat::Stat;

/// Advice if a server refuses access. Signatures and passwords are kept only in memory, so a
/// program started after the load does not have them.
const NOT_OPEN: &str = "is it public? A signature in an address may have expired, and neither signatures nor passwords are kept: \
     load the address with it once more";

/// Upper bound on an obeyed `Retry-After`.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// A server's description of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebStat {
    /// Size in bytes; `None` if the server does not report it.
    pub(crate) size: Option<u64>,
    pub(crate) tag: Option<String>,
    modified: Option<String>,
    /// Whether the server supports ranges.
    pub(crate) ranges: bool,
}

impl WebStat {
    pub(crate) fn stat(&self) -> Stat {
        Stat {
            size: self.size.unwrap_or(0),
            validator: self.strong_tag().map(str::to_owned),
            sha256: None,
        }
    }

    /// Returns the entity tag if it is strong, that is, if it promises equal bytes.
    fn strong_tag(&self) -> Option<&str> {
        self.tag.as_deref().filter(|tag| !tag.starts_with("W/"))
    }

    /// Returns the description expected from a server for a known version.
    pub(crate) fn expected(size_bytes: u64, tag: Option<String>, modified: Option<String>) -> WebStat {
        WebStat {
            size: Some(size_bytes),
            tag,
            modified,
            ranges: true,
        }
    }

    /// Returns the modification time as the server wrote it.
    pub(crate) fn modified(&self) -> Option<&str> {
        self.modified.as_deref()
    }

    /// Compares with the description in another response for the same file.
    fn check(&self, other: &WebStat) -> Result<(), Failure> {
        let pairs = [
            ("entity tag", &self.tag, &other.tag),
            ("time of change", &self.modified, &other.modified),
        ];
        for (what, seen, found) in pairs {
            if seen.is_some() && found.is_some() && seen != found {
                return Err(Failure::changed(format!("its {what} is another one")));
            }
        }
        match (self.size, other.size) {
            (Some(seen), Some(found)) if seen != found => {
                Err(Failure::changed(format!("{seen} bytes, now {found}")))
            }
            _ => Ok(()),
        }
    }

    fn of(headers: &HeaderMap, size: Option<u64>, ranges: bool) -> WebStat {
        WebStat {
            size,
            tag: text(headers, &ETAG),
            modified: text(headers, &LAST_MODIFIED),
            ranges,
        }
    }
}

/// A file of a web server.
#[derive(Clone)]
pub(crate) struct WebFile {
    client: HttpClient,
    /// URL without user name and password. It may be signed, so it must not be logged.
    address: String,
    /// User name and password, sent only to this server.
    authorization: Option<HeaderValue>,
}

impl WebFile {
    /// Returns the file at an address.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if a password would be sent in plain text.
    pub(crate) fn new(client: HttpClient, mut url: Url) -> io::Result<WebFile> {
        let authorization = if url.username().is_empty() && url.password().is_none() {
            None
        } else {
            Some(basic(&url)?)
        };
        // A web address has a host, so neither call can fail.
        let _ = (url.set_username(""), url.set_password(None));
        Ok(WebFile {
            client,
            address: url.into(),
            authorization,
        })
    }

    /// Returns another file of the same server, with the same credentials.
    pub(crate) fn on_same_server(&self, address: String) -> WebFile {
        WebFile {
            address,
            ..self.clone()
        }
    }

    /// Returns the address if it may be stored; `None` if it grants access by itself.
    pub(crate) fn plain_address(&self) -> Option<&str> {
        let is_plain = self.authorization.is_none() && !self.address.contains('?');
        is_plain.then_some(&*self.address)
    }

    /// Returns the address without secrets, for logs.
    pub(crate) fn shown_address(&self) -> std::borrow::Cow<'_, str> {
        urlkey::without_secrets(&self.address)
    }

    /// Describes the file; `None` if it does not exist. Requests the first byte instead of using
    /// HEAD, which returns less and is refused for presigned addresses.
    pub(crate) async fn stat(&self) -> Result<Option<WebStat>, Failure> {
        let response = self.request(&[(RANGE, "bytes=0-0")]).await?;
        let headers = response.headers();
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            StatusCode::OK => Ok(Some(WebStat::of(headers, content_length(headers), false))),
            StatusCode::PARTIAL_CONTENT => {
                let (_, size) = content_range(headers)?;
                Ok(Some(WebStat::of(headers, Some(size), true)))
            }
            // An empty file has no first byte.
            StatusCode::RANGE_NOT_SATISFIABLE
                if text(headers, &CONTENT_RANGE).as_deref() == Some("bytes */0") =>
            {
                Ok(Some(WebStat::of(headers, Some(0), true)))
            }
            status => Err(self.refusal(status, headers)),
        }
    }

    /// Requests the whole file, and returns it with its description.
    pub(crate) async fn whole(&self) -> Result<(WebStat, Body), Failure> {
        let response = self.request(&[]).await?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response.status(), response.headers()));
        }
        let size = content_length(response.headers());
        Ok((WebStat::of(response.headers(), size, false), body(response)))
    }

    async fn request(&self, headers: &[(HeaderName, &str)]) -> Result<HttpResponse, Failure> {
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(&self.address)
            // Offsets refer to the stored file; in a compressed response they would differ.
            .header(ACCEPT_ENCODING, "identity");
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request
            .body(HttpRequestBody::empty())
            .map_err(|error| Failure::lasting(ErrorKind::InvalidInput, error.to_string()))?;
        let answered = self.client.execute(request).await;
        answered.map_err(|error| {
            let text = with_causes(&error);
            match error.kind() {
                // A response that is not HTTP will not be HTTP on a retry either.
                HttpErrorKind::Decode => Failure::lasting(ErrorKind::InvalidData, text),
                _ => Failure::passing(text),
            }
        })
    }

    /// Converts an unexpected status to a failure.
    fn refusal(&self, status: StatusCode, headers: &HeaderMap) -> Failure {
        let text = format!("the server says {status}");
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Failure::lasting(ErrorKind::NotFound, text),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Failure::lasting(ErrorKind::PermissionDenied, format!("{text}; {NOT_OPEN}"))
            }
            StatusCode::PRECONDITION_FAILED => Failure::changed("412"),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Failure::Passing(text, retry_after(headers))
            }
            status if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {
                Failure::Passing(text, retry_after(headers))
            }
            _ => Failure::lasting(ErrorKind::Other, text),
        }
    }
}

/// A file of a server that supports ranges, in the version seen when it was opened.
pub(crate) struct WebRanges {
    pub(crate) file: WebFile,
    pub(crate) seen: WebStat,
}

#[async_trait]
impl RangeSource for WebRanges {
    async fn get(&self, start: u64, end: u64) -> Result<Body, Failure> {
        let range = format!("bytes={start}-{}", end.saturating_sub(1));
        let mut headers = vec![(RANGE, range.as_str())];
        // RFC 9110, 13.1.1: `If-Match` uses strong comparison, so a weak tag would always be
        // refused.
        if let Some(tag) = self.seen.strong_tag() {
            headers.push((IF_MATCH, tag));
        }
        let response = self.file.request(&headers).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let (first, size) = content_range(response.headers())?;
                self.seen
                    .check(&WebStat::of(response.headers(), Some(size), true))?;
                // Some caches round ranges to their own blocks. The reader would take these bytes
                // for those at `start`.
                if first != start {
                    let what = format!("asked for bytes from {start}, got them from {first}");
                    return Err(Failure::lasting(ErrorKind::InvalidData, what));
                }
                Ok(body(response))
            }
            // It supported ranges before: this is another version, or another server behind the
            // same name.
            StatusCode::OK => {
                let size = content_length(response.headers());
                self.seen.check(&WebStat::of(response.headers(), size, false))?;
                Err(Failure::passing("a range was answered with the whole"))
            }
            // The range was within the size seen when the input was opened.
            StatusCode::RANGE_NOT_SATISFIABLE => Err(Failure::changed("it has become shorter")),
            status => Err(self.file.refusal(status, response.headers())),
        }
    }
}

impl WebRanges {
    /// Compares with the version that the archive has seen.
    pub(crate) fn check_seen(&self, seen: &Stat) -> Result<(), Failure> {
        let earlier = WebStat {
            size: (seen.size > 0).then_some(seen.size),
            tag: seen.validator.clone(),
            modified: None,
            ranges: true,
        };
        earlier.check(&self.seen)
    }
}

/// Returns user name and password of an address as a header (RFC 7617).
fn basic(url: &Url) -> io::Result<HeaderValue> {
    let is_here = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() != "https" && !is_here {
        let what =
            "the address has a user name or a password, and http:// would send it as it is: use https://";
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    let plain = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let mut pair = plain(url.username());
    pair.push(b':');
    pair.extend(plain(url.password().unwrap_or_default()));
    let mut value = HeaderValue::try_from(format!("Basic {}", data_encoding::BASE64.encode(&pair)))
        .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the offset of the first byte of a partial response, and the size of the whole file.
fn content_range(headers: &HeaderMap) -> Result<(u64, u64), Failure> {
    let value = text(headers, &CONTENT_RANGE).unwrap_or_default();
    parse_content_range(&value).ok_or_else(|| {
        let what = format!("a partial answer with Content-Range {value:?}");
        Failure::lasting(ErrorKind::InvalidData, what)
    })
}

fn body(response: HttpResponse) -> Body {
    let pieces = response.into_body().bytes_stream();
    pieces
        .map_err(|error| Failure::passing(with_causes(&error)))
        .boxed()
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    text(headers, &CONTENT_LENGTH)?.parse().ok()
}

/// Parses the form in seconds; a date is ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = text(headers, &RETRY_AFTER)?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// Parses `bytes 0-9/100`.
fn parse_content_range(value: &str) -> Option<(u64, u64)> {
    let (range, size) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    Some((first.parse().ok()?, size.parse().ok()?))
}
