//! Requests that a browser makes on behalf of a page of another site.
//!
//! Archived pages in the sandbox count as another site, because they have no origin. A cross-site
//! request that would change something is refused ([`is_cross_site`]). A user who follows a link
//! from another site arrives without the session cookie, because the cookie is `SameSite=Strict`.
//! They are redirected to the same address from one of our own pages ([`arrival`]).

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, html};

/// Site that caused a request. Browsers send it over TLS and to this machine. Scripts cannot set
/// it.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Returns whether a browser sent this request for a page of another site. Other programs do not
/// send these headers, and act only for their own user.
pub(crate) fn is_cross_site(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(&SITE) {
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().unwrap_or_default();
    let authority = origin
        .split_once("://")
        .map(|(_, authority)| authority.as_bytes());
    authority.is_none() || authority != headers.get(header::HOST).map(HeaderValue::as_bytes)
}

/// Returns whether the browser connected over TLS, according to the origin of the page or to a
/// proxy.
pub(crate) fn is_over_tls(headers: &HeaderMap) -> bool {
    let begins = |name: &HeaderName, begin: &[u8]| {
        let value = headers.get(name).map(HeaderValue::as_bytes).unwrap_or_default();
        value
            .get(..begin.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(begin))
    };
    begins(&header::ORIGIN, b"https://") || begins(&HeaderName::from_static("x-forwarded-proto"), b"https")
}

/// Returns whether a user follows a link from another site to a page here.
pub(crate) fn is_arrival(request: &Request) -> bool {
    let says = |name: &HeaderName, value: &[u8]| {
        let said = request.headers().get(name);
        said.is_some_and(|said| said.as_bytes() == value)
    };
    request.method() == Method::GET
        && says(&SITE, b"cross-site")
        && says(&MODE, b"navigate")
        && says(&DEST, b"document")
}

/// Returns a page that redirects to `uri` on this server. The browser then requests it from one of
/// our pages, so it sends its cookies.
pub(crate) fn arrival(uri: &Uri) -> Response {
    let address = uri.path_and_query().map_or("/", |address| address.as_str());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content=(format!("0;url={address}"));
                title { "Weft" }
            }
            body { p { a href=(address) { "Continue" } } }
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, ui::PAGE_POLICY),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, page.into_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn what_browsers_say_of_where_a_request_comes_from() {
        let check = |pairs: &[_], expected| assert_eq!(is_cross_site(&headers(pairs)), expected, "{pairs:?}");
        check(&[("host", "a")], false);
        check(&[("host", "a"), ("sec-fetch-site", "same-origin")], false);
        check(&[("host", "a"), ("sec-fetch-site", "none")], false);
        check(&[("host", "a"), ("sec-fetch-site", "cross-site")], true);
        // Another host of the same domain is another site.
        check(&[("host", "a"), ("sec-fetch-site", "same-site")], true);
        check(&[("host", "a:80"), ("origin", "http://a:80")], false);
        check(&[("host", "a"), ("origin", "https://a")], false);
        check(&[("host", "a"), ("origin", "http://b")], true);
        check(&[("host", "a"), ("origin", "http://a.b")], true);
        // The origin of a sandboxed page.
        check(&[("host", "a"), ("origin", "null")], true);
        check(&[("origin", "http://a")], true);
    }

    #[test]
    fn tls_is_in_front_where_the_page_or_the_proxy_says_so() {
        assert!(is_over_tls(&headers(&[("origin", "https://a")])));
        assert!(is_over_tls(&headers(&[("x-forwarded-proto", "HTTPS, http")])));
        assert!(!is_over_tls(&headers(&[
            ("origin", "http://a"),
            ("x-forwarded-proto", "http")
        ])));
        assert!(!is_over_tls(&headers(&[])));
    }
}
