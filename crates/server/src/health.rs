//! Routes that both ports have and that reveal nothing about the archive.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// Path of the health check.
pub(crate) const HEALTH_PATH: &str = "/healthz";

/// Reports that the server runs, and nothing about the archive.
pub(crate) async fn health() -> Response {
    plain("ok\n", "no-store")
}

/// Asks crawlers to stay away: the pages link to each other without end, and archived pages belong
/// to others.
pub(crate) async fn robots() -> Response {
    plain("User-agent: *\nDisallow: /\n", "max-age=86400")
}

fn plain(text: &'static str, keep: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, keep),
    ];
    (headers, text).into_response()
}
