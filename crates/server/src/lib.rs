//! The HTTP server: JSON API, HTML pages, CDX, Memento, tools for language models, archived content in a sandbox, replay of
//! archived pages, and metrics.
//!
//! The server reaches an archive only through the questions it can ask ([`Answers`]), and a store
//! only through its reports ([`storage::Storage`]). Invariants:
//!
//! - The archive is called on blocking threads only, and their number is limited. Every request
//!   ends within a time limit.
//! - Every answer names its epoch.
//! - Archived text is escaped wherever it is shown. Archived content is sent only under `/sandbox`,
//!   as a download, and on the replay origin (a separate port), with headers that confine it.
//! - Pages load nothing from other servers. Styles and scripts are part of the program.
//!
//! The server does not know how an archive is stored. It changes one only through loads
//! and uploads by administrators, and posts of captures, if the settings allow them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use axum::Router;

mod admit;
mod answers;
mod api;
mod archive_client;
mod arguments;
mod catalogue;
mod cdx_pages;
mod counters;
mod entity_tags;
mod failure;
mod health;
mod history;
mod identity;
mod limits;
mod link;
mod local_owner;
mod mcp_http;
mod memento;
mod metrics;
mod pages;
mod peer;
mod present;
mod query;
mod ranges;
mod record;
mod record_failure;
mod redact_paths;
mod replay;
mod replay_origin;
mod routes;
mod sandbox;
mod serve;
mod settings;
mod site_digests;
mod sites;
mod sql;
mod sql_server;
mod state;
pub mod storage;
mod stored;
mod stream;
mod takedown_scans;
mod upload_folder;

pub use crate::replay::{CheckedPage, CheckedPart, FoundPart, check_page};
pub use answers::Answers;
pub use catalogue::CatalogueLocation;
pub use local_owner::OwnerRequest;
pub use pages::report_document;
pub use serve::{ServeError, Server, serve};
pub use settings::{
    GroupsHeader, Posts, REPLAY_DOMAIN, ReplaySettings, ServerSettings, UPLOAD_BYTES_MAX, UploadSettings,
};
pub use sql_server::SqlServer;
pub use state::ServerParts;

/// Returns the whole server as one service, for callers that do not use [`serve`]. Its charts stay
/// empty because no samples are taken. Requests count as anonymous unless they have the extension
/// [`OwnerRequest`].
pub fn router(served: impl Into<ServerParts>, settings: ServerSettings) -> Router {
    routes::router(state::Common::new(served.into(), settings))
}
