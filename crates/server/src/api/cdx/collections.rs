//! `/collinfo.json`: the list of collections, in the format of Common Crawl's index server.

use archive::question::Status;
use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ALL, INDEX};
use crate::failure::Failure;
use crate::memento;
use crate::state::State;

/// A collection.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct Collection {
    /// Id of the collection; `all` for everything.
    id: String,
    /// Display name.
    name: String,
    /// Address of the TimeGate.
    timegate: String,
    /// Address of the CDX index.
    #[serde(rename = "cdx-api")]
    cdx_api: String,
}

/// Handles a request for the list of collections. `all` comes first, because clients without a
/// configured collection use the first. Clients from whom something is hidden get only `all`.
pub(in crate::api) async fn list(state: &State, asked: &HeaderMap) -> Result<Response, Failure> {
    let mut names = vec![ALL.to_owned()];
    if state.sees_everything() {
        let status = state.archive.ask(Status {}).await?.body;
        names.extend(status.collections.into_iter().filter(|name| name != ALL));
    }
    let origin = memento::origin(asked);
    let collection = |id: String| {
        let escaped: String = id.split('/').map(segment).collect::<Vec<_>>().join("%2F");
        Collection {
            name: match id.as_str() {
                ALL => "Everything in the archive".to_owned(),
                name => name.to_owned(),
            },
            timegate: format!("{origin}/timegate/"),
            cdx_api: format!("{origin}/{escaped}{INDEX}"),
            id,
        }
    };
    Ok(Json(names.into_iter().map(collection).collect::<Vec<_>>()).into_response())
}

/// Returns a name as a path segment.
fn segment(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes())
        .map(|part| part.replace('+', "%20"))
        .collect()
}
