//! Styles, script and icon, which are part of the program. Their addresses contain the version and a digest
//! of the content, so that browsers may cache them for good.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::state::State;

const STYLES: &str = include_str!("../../assets/weft.css");
const SCRIPT: &str = include_str!("../../assets/weft.js");
const ICON: &str = include_str!("../../assets/weft.svg");

/// Addresses of the three files, with a digest of all of them.
pub(super) struct Addresses {
    pub(super) styles: String,
    pub(super) script: String,
    pub(super) icon: String,
}

pub(super) static ADDRESSES: LazyLock<Addresses> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    (STYLES, SCRIPT, ICON).hash(&mut hasher);
    let digest = hasher.finish();
    Addresses {
        styles: format!("/static/weft.css?{digest:016x}"),
        script: format!("/static/weft.js?{digest:016x}"),
        icon: format!("/static/weft.svg?{digest:016x}"),
    }
});

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route(
            "/static/weft.css",
            get(|| async { kept("text/css; charset=utf-8", STYLES) }),
        )
        .route(
            "/static/weft.js",
            get(|| async { kept("text/javascript; charset=utf-8", SCRIPT) }),
        )
        .route("/static/weft.svg", get(|| async { kept("image/svg+xml", ICON) }))
        .route("/favicon.ico", get(|| async { kept("image/svg+xml", ICON) }))
}

fn kept(media: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("public, max-age=31536000, immutable"),
        ),
    ];
    (headers, content).into_response()
}
