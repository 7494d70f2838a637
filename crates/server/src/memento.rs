//! Memento (RFC 7089) on the main port: a TimeGate redirects to the capture nearest to a time, and
//! TimeMaps list all captures of a URL. The captures themselves are on the replay origin
//! (`replay`).

use archive::question::{CdxQuestion, CdxRow};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use cdx::MatchType;
use replay::{Address, Modifier};
use serde_json::json;

use crate::failure::Failure;
use crate::replay::{can_replay, nearest};
use crate::sites;
use crate::state::{Context, State};

/// Path prefix of TimeGates.
const TIMEGATE: &str = "/timegate/";

/// Path prefix of TimeMaps.
const TIMEMAP: &str = "/timemap/";

/// Maximum number of captures in one TimeMap. A longer TimeMap links to the next one.
const MEMENTOS_MAX: usize = 10_000;

/// Number of captures requested from the archive at a time.
const ROWS_AT_ONCE: usize = 1000;

const ACCEPT_DATETIME: &str = "accept-datetime";

/// Redirects to the capture nearest to `Accept-Datetime`, or to the newest one.
pub(crate) async fn timegate(Context(state): Context, request: Request) -> Result<Response, Failure> {
    let addresses = MementoAddresses::of(&state, request.headers())?;
    let url = web_url(after(&request, TIMEGATE))?;
    let time = match request.headers().get(ACCEPT_DATETIME) {
        Some(asked) => time_of(asked)?,
        None => String::new(),
    };
    let capture = nearest(&state.archive, &url, &time).await?.capture;
    let memento = addresses.memento(&capture.timestamp, &url);
    let links = format!(
        "<{url}>; rel=\"original\", <{}>; rel=\"timemap\"; type=\"{LINK_FORMAT}\", <{memento}>; rel=\"memento\"; datetime=\"{}\"",
        addresses.timemap("link", None, &url),
        date(&capture),
    );
    let value = |text: &str| HeaderValue::try_from(text).map_err(|_| no_url(&url));
    let headers = [
        (header::LOCATION, value(&memento)?),
        (header::VARY, HeaderValue::from_static(ACCEPT_DATETIME)),
        (header::LINK, value(&links)?),
    ];
    Ok((StatusCode::FOUND, headers).into_response())
}

const LINK_FORMAT: &str = "application/link-format";

/// Lists the captures of a URL: `/timemap/<link|json|cdxj>/[<14 digits from>/]<URL>`.
pub(crate) async fn timemap(Context(state): Context, request: Request) -> Result<Response, Failure> {
    let addresses = MementoAddresses::of(&state, request.headers())?;
    let (format, rest) = after(&request, TIMEMAP).split_once('/').unwrap_or_default();
    let (from, url) = match rest.split_once('/') {
        Some((from, url)) if from.len() == 14 && from.bytes().all(|b| b.is_ascii_digit()) => {
            (Some(from), url)
        }
        _ => (None, rest),
    };
    let url = web_url(url)?;
    let (rows, next) = captures(&state, &url, from).await?;
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Err(Failure::not_found(format!("no capture of {url} can be shown")));
    };
    let map = Map {
        addresses: &addresses,
        url: &url,
        from,
        next: next.as_deref(),
        span: (first, last),
        rows: &rows,
    };
    let (media, body) = match format {
        "link" => (LINK_FORMAT, map.link()),
        "json" => ("application/json", map.json().to_string()),
        "cdxj" => ("text/x-cdxj", map.cdxj()),
        _ => {
            return Err(Failure::not_found(format!(
                "{format:?} is not a TimeMap format: expected {TIMEMAP}link/, {TIMEMAP}json/ or \
                 {TIMEMAP}cdxj/, then the URL"
            )));
        }
    };
    Ok(([(header::CONTENT_TYPE, media)], body).into_response())
}

/// Returns the captures of a URL that can be shown, oldest first, and the time at which the next
/// TimeMap begins.
async fn captures(
    state: &State,
    url: &str,
    from: Option<&str>,
) -> Result<(Vec<CdxRow>, Option<String>), Failure> {
    let mut rows: Vec<CdxRow> = Vec::new();
    let mut after = None;
    loop {
        let question = CdxQuestion {
            url: url.to_owned(),
            match_type: MatchType::Exact,
            from: from.map(str::to_owned),
            limit: ROWS_AT_ONCE,
            after,
            ..CdxQuestion::default()
        };
        let answer = state.archive.ask(question).await?.body;
        for row in answer.rows.into_iter().filter(|row| can_replay(row.kind)) {
            let is_another = rows.last().is_none_or(|last| last.timestamp != row.timestamp);
            // All captures of one second share an address, so a map never ends between them.
            if rows.len() >= MEMENTOS_MAX && is_another {
                return Ok((rows, Some(row.timestamp)));
            }
            if is_another {
                rows.push(row);
            }
        }
        after = answer.next;
        if after.is_none() {
            return Ok((rows, None));
        }
    }
}

/// One TimeMap.
struct Map<'m> {
    addresses: &'m MementoAddresses,
    url: &'m str,
    from: Option<&'m str>,
    next: Option<&'m str>,
    /// First and last capture.
    span: (&'m CdxRow, &'m CdxRow),
    rows: &'m [CdxRow],
}

impl Map<'_> {
    /// Formats the map as links (RFC 7089, section 5).
    fn link(&self) -> String {
        let (first, last) = self.span;
        let url = self.url;
        let mut lines = vec![
            format!("<{url}>; rel=\"original\""),
            format!("<{}>; rel=\"timegate\"", self.addresses.timegate(url)),
            format!(
                "<{}>; rel=\"self\"; type=\"{LINK_FORMAT}\"; from=\"{}\"; until=\"{}\"",
                self.addresses.timemap("link", self.from, url),
                date(first),
                date(last)
            ),
        ];
        if let Some(next) = self.next {
            let address = self.addresses.timemap("link", Some(next), url);
            let from = format::date::http_date(format::date::ms_of_digits(next));
            lines.push(format!(
                "<{address}>; rel=\"timemap\"; type=\"{LINK_FORMAT}\"; from=\"{from}\""
            ));
        }
        for (index, row) in self.rows.iter().enumerate() {
            let mut rel = String::new();
            if index == 0 && self.from.is_none() {
                rel.push_str("first ");
            }
            if index + 1 == self.rows.len() && self.next.is_none() {
                rel.push_str("last ");
            }
            let memento = self.addresses.memento(&row.timestamp, url);
            lines.push(format!(
                "<{memento}>; rel=\"{rel}memento\"; datetime=\"{}\"",
                date(row)
            ));
        }
        lines.join(",\n") + "\n"
    }

    /// Formats the map as JSON, in the format of the aggregator MemGator.
    fn json(&self) -> serde_json::Value {
        let memento = |row: &CdxRow| {
            json!({
                "datetime": format::date::iso_short(format::date::ms_of_digits(&row.timestamp)),
                "uri": self.addresses.memento(&row.timestamp, self.url),
            })
        };
        let forms = ["link", "json", "cdxj"].map(|form| {
            let key = format!("{form}_format");
            (key, json!(self.addresses.timemap(form, self.from, self.url)))
        });
        let mut map = json!({
            "original_uri": self.url,
            "self": self.addresses.timemap("json", self.from, self.url),
            "timegate_uri": self.addresses.timegate(self.url),
            "timemap_uri": serde_json::Map::from_iter(forms),
            "mementos": {
                "list": self.rows.iter().map(memento).collect::<Vec<_>>(),
                "first": memento(self.span.0),
                "last": memento(self.span.1),
            },
        });
        if let Some(next) = self.next {
            map["next"] = json!(self.addresses.timemap("json", Some(next), self.url));
        }
        map
    }

    /// Formats the map as CDXJ, in the format of the aggregator MemGator.
    fn cdxj(&self) -> String {
        let mut lines = vec![
            "!context [\"http://tools.ietf.org/html/rfc7089\"]".to_owned(),
            format!(
                "!id {}",
                json!({"uri": self.addresses.timemap("cdxj", self.from, self.url)})
            ),
            "!keys [\"memento_datetime_YYYYMMDDhhmmss\"]".to_owned(),
            format!("!meta {}", json!({"original_uri": self.url})),
            format!(
                "!meta {}",
                json!({"timegate_uri": self.addresses.timegate(self.url)})
            ),
        ];
        if let Some(next) = self.next {
            let next = self.addresses.timemap("cdxj", Some(next), self.url);
            lines.push(format!("!meta {}", json!({"next_timemap_uri": next})));
        }
        for row in self.rows {
            let memento = json!({
                "uri": self.addresses.memento(&row.timestamp, self.url),
                "rel": "memento",
                "datetime": date(row),
            });
            lines.push(format!("{} {memento}", row.timestamp));
        }
        lines.join("\n") + "\n"
    }
}

/// Addresses of this server and of its replay origin, as the client reaches them.
pub(crate) struct MementoAddresses {
    first: String,
    replay: String,
}

impl MementoAddresses {
    pub(crate) fn of(state: &State, headers: &HeaderMap) -> Result<MementoAddresses, Failure> {
        let replay = state.bound_replay()?;
        Ok(MementoAddresses {
            first: origin(headers),
            replay: replay.origin(headers),
        })
    }

    pub(crate) fn timegate(&self, url: &str) -> String {
        format!("{}{TIMEGATE}{url}", self.first)
    }

    fn timemap(&self, format: &str, from: Option<&str>, url: &str) -> String {
        let from = from.map(|from| format!("{from}/")).unwrap_or_default();
        format!("{}{TIMEMAP}{format}/{from}{url}", self.first)
    }

    pub(crate) fn memento(&self, time: &str, url: &str) -> String {
        let address = Address {
            key: String::new(),
            time: time.to_owned(),
            modifier: Modifier::None,
            url: url.to_owned(),
        };
        format!("{}{address}", self.replay)
    }
}

/// Returns the origin of this server, by the host name in the request.
pub(crate) fn origin(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let scheme = if sites::is_over_tls(headers) {
        "https"
    } else {
        "http"
    };
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

/// Returns the time of a capture as an HTTP date.
pub(crate) fn date(row: &CdxRow) -> String {
    format::date::http_date(format::date::ms_of_digits(&row.timestamp))
}

/// Returns the rest of the request's path and query after `prefix`.
fn after<'r>(request: &'r Request, prefix: &str) -> &'r str {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    path.strip_prefix(prefix).unwrap_or("")
}

/// Returns the URL in the form that browsers write. It is safe in a header.
pub(crate) fn web_url(text: &str) -> Result<String, Failure> {
    let address = Address::parse(&format!("{}{text}", replay::PREFIX)).map_err(|_| no_url(text))?;
    let url = url::Url::parse(&address.url).map_err(|_| no_url(text))?;
    Ok(url.into())
}

fn no_url(text: &str) -> Failure {
    Failure::bad_request(format!(
        "{text:?} is not a web URL: expected one such as http://example.com/"
    ))
}

/// Returns the time of `Accept-Datetime` as digits.
fn time_of(asked: &HeaderValue) -> Result<String, Failure> {
    let parsed = asked
        .to_str()
        .ok()
        .and_then(|asked| httpdate::parse_http_date(asked).ok());
    let since = parsed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let ms = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    ms.map(format::date::digits).ok_or_else(|| {
        Failure::bad_request(format!(
            "Accept-Datetime: {asked:?} is not an HTTP date: expected one such as Sun, 26 Jan 2014 20:06:24 GMT"
        ))
    })
}
