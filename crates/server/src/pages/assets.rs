//! Serves the styles, the script and the icon of the pages.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ui::Asset;

use crate::state::Common;

pub(super) fn routes() -> Router<Arc<Common>> {
    ui::ASSETS.iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(|| async { kept(asset) }))
    })
}

fn kept(asset: &Asset) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media)),
        (header::CACHE_CONTROL, HeaderValue::from_static(ui::CACHE_CONTROL)),
    ];
    (headers, asset.content).into_response()
}
