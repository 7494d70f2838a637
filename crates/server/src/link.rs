//! Addresses within this server. Every value in them is escaped.

use archive::question::CdxRow;
use url::form_urlencoded::byte_serialize;

/// The capture of a URL that an address refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At {
    time: String,
    /// Set if other captures have the same second.
    capture: Option<String>,
}

impl At {
    /// Returns an address of the capture nearest to a time.
    pub(crate) fn time(time: &str) -> At {
        At {
            time: time.to_owned(),
            capture: None,
        }
    }

    /// Returns an address of exactly this capture, even if others were made in the same second.
    pub(crate) fn exactly(row: &CdxRow) -> At {
        At {
            time: row.timestamp.clone(),
            capture: Some(row.name()),
        }
    }

    /// Returns an address of the capture `rows[index]`, by its time alone if that is unambiguous.
    /// Captures of one second are adjacent in `rows`. If `rows` is only `part` of a list, the
    /// captures before and after it are not known, so the first and the last row are named exactly.
    pub(crate) fn among(rows: &[CdxRow], index: usize, part: bool) -> At {
        let row = &rows[index];
        let shares = |other: Option<&CdxRow>| match other {
            Some(other) => (&other.url_key, &other.timestamp) == (&row.url_key, &row.timestamp),
            None => part,
        };
        let before = index.checked_sub(1).and_then(|before| rows.get(before));
        if shares(before) || shares(rows.get(index + 1)) {
            At::exactly(row)
        } else {
            At::time(&row.timestamp)
        }
    }
}

/// Maximum length of an address in a request, in bytes. The HTTP library refuses longer ones
/// without an explanation.
const BYTES_MAX: usize = 65_000;

/// Returns the address, unless it is too long for a request. An escaped URL of 20,000 bytes can be
/// too long.
pub(crate) fn if_short(address: String) -> Option<String> {
    (address.len() <= BYTES_MAX).then_some(address)
}

/// Returns `/page?url=...`.
pub(crate) fn page(url: &str) -> String {
    format!("/page?url={}", escaped(url))
}

/// Returns `/page?url=...&at=...`.
pub(crate) fn page_at(url: &str, at: &At) -> String {
    at_capture("/page", url, Some(at))
}

/// Returns `/domain?name=...`.
pub(crate) fn domain(name: &str) -> String {
    format!("/domain?name={}", escaped(name))
}

/// Returns `/search?q=...`.
pub(crate) fn search(query: &str) -> String {
    format!("/search?q={}", escaped(query))
}

/// Returns `/search?q=collection:...`.
pub(crate) fn search_collection(name: &str) -> String {
    if name.contains(char::is_whitespace) {
        search(&format!("collection:\"{}\"", name.replace('"', "")))
    } else {
        search(&format!("collection:{name}"))
    }
}

/// Returns `/trends?q=...`.
pub(crate) fn trends(query: &str) -> String {
    with("/trends", &[("q", Some(query))])
}

/// Returns `/events?q=...`.
pub(crate) fn events(query: &str) -> String {
    with("/events", &[("q", Some(query))])
}

/// Returns `/record?url=...&at=...`.
pub(crate) fn record(url: &str, at: Option<&At>) -> String {
    at_capture("/record", url, at)
}

/// Returns `/replay?url=...&at=...`.
pub(crate) fn replay(url: &str, time: &str) -> String {
    with("/replay", &[("url", Some(url)), ("at", Some(time))])
}

/// Returns `/replay-check?url=...&at=...`.
pub(crate) fn replay_check(url: &str, time: &str) -> String {
    with("/replay-check", &[("url", Some(url)), ("at", Some(time))])
}

/// Returns `/sandbox/content?url=...&at=...`.
pub(crate) fn sandbox(url: &str, at: Option<&At>) -> String {
    at_capture("/sandbox/content", url, at)
}

fn at_capture(path: &str, url: &str, at: Option<&At>) -> String {
    let time = at.map(|at| at.time.as_str());
    let capture = at.and_then(|at| at.capture.as_deref());
    with(path, &[("url", Some(url)), ("at", time), ("capture", capture)])
}

/// Returns `path` with those parameters that have a value.
pub(crate) fn with(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut link = path.to_owned();
    let mut mark = '?';
    for (name, value) in parameters {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            link.push(mark);
            link.push_str(name);
            link.push('=');
            link.push_str(&escaped(value));
            mark = '&';
        }
    }
    link
}

/// Returns `url` if a browser may follow it. Only http and https are allowed, never `javascript:`
/// or similar schemes.
pub(crate) fn outside(url: &str) -> Option<&str> {
    // An http URL may be shorter than 8 bytes. `get` also returns `None` where a character would be
    // split.
    let head = url
        .get(..8)
        .or_else(|| url.get(..7))
        .unwrap_or("")
        .to_ascii_lowercase();
    let web = head.starts_with("http://") || head.starts_with("https://");
    // Browsers remove line ends and tabs before they read the scheme (WHATWG URL, section 4.4).
    (web && !url.chars().any(char::is_control)).then_some(url)
}

fn escaped(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_followed() {
        for url in ["http://a", "HTTPS://a/b", "https://\u{e4}.example/"] {
            assert_eq!(outside(url), Some(url));
        }
        let bad = [
            "javascript:alert(1)",
            "data:text/html,x",
            "",
            "http:",
            "//a",
            " http://a",
            "http://a/\nb",
            "\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}",
        ];
        for url in bad {
            assert_eq!(outside(url), None, "{url:?}");
        }
    }

    #[test]
    fn addresses_that_no_request_can_carry_are_no_links() {
        assert!(if_short(page(&"x".repeat(59_000))).is_some());
        assert_eq!(if_short(page(&"\u{e4}".repeat(11_000))), None);
    }

    #[test]
    fn values_are_escaped_and_empty_ones_left_out() {
        assert_eq!(
            with(
                "/p",
                &[
                    ("a", Some("x y&z")),
                    ("b", None),
                    ("c", Some("")),
                    ("d", Some("\"<>"))
                ]
            ),
            "/p?a=x+y%26z&d=%22%3C%3E"
        );
        assert_eq!(search_collection("a&b"), "/search?q=collection%3Aa%26b");
        assert_eq!(search_collection("a b"), "/search?q=collection%3A%22a+b%22");
        assert_eq!(page("http://a/?b=c#d"), "/page?url=http%3A%2F%2Fa%2F%3Fb%3Dc%23d");
    }
}
