//! `/collinfo.json`: the collections, as the clients of Common Crawl's index server ask for them.

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
    /// Its name; `all` for everything.
    id: String,
    /// What it is called.
    name: String,
    /// Address of its captures, nearest to a time.
    timegate: String,
    /// Address of its index.
    #[serde(rename = "cdx-api")]
    cdx_api: String,
}

/// All collections, the one of everything first: clients that are told of none use the first. To those who may not see the state of
/// the archive the names of the others are not told.
pub(in crate::api) async fn list(state: &State, asked: &HeaderMap) -> Result<Response, Failure> {
    let mut names = vec![ALL.to_owned()];
    if state.sees_everything() {
        let status = state.asker.ask(Status {}).await?.body;
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

/// A name as a part of a path.
fn segment(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes())
        .map(|part| part.replace('+', "%20"))
        .collect()
}
