//! The HTTP server: JSON API, pages, CDX, Memento, archived content in a sandbox and as it was, and metrics.
//!
//! The server knows archives only through the questions it can ask ([`Ask`]), and stores only through their
//! reports ([`storage::Storage`]). Its invariants:
//!
//! - the archive is called on blocking threads only, within a cap; every request ends within a time limit;
//! - every answer names its epoch;
//! - archived text is escaped wherever it is shown; archived content is sent only under `/sandbox`, as a
//!   download, and on the replay origin, a port of its own, with headers that keep it from reaching anything else;
//! - pages load nothing from other servers: styles and script are part of the program.
//!
//! It does not know how an archive is stored, and it changes none, with one exception: a load requested from
//! this machine, if the settings allow it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use axum::Router;

mod admit;
mod api;
mod arguments;
mod ask;
mod cache_metrics;
mod catalogue;
mod cdx_pages;
mod counters;
mod failure;
mod fresh;
mod history;
mod link;
mod local_owner;
mod memento;
mod metrics;
mod pages;
mod present;
mod query;
mod record;
mod replay;
mod routes;
mod sandbox;
mod serve;
mod settings;
mod sites;
mod sql;
mod state;
pub mod storage;
mod stored;
mod stream;
mod who_asks;
mod without_paths;

pub use crate::replay::{CheckedPage, CheckedPart, FoundPart, ReplaySettings, check_page};
pub use ask::Answers;
pub use catalogue::FilesPlace;
pub use local_owner::OwnerRequest;
pub use pages::report_document;
pub use serve::{ServeError, Server, serve};
pub use settings::{Posts, ServerSettings};
pub use sql::SqlServer;
pub use state::Served;
pub use who_asks::GroupsHeader;

/// The whole server as one service, for callers that do not use [`serve`]. Its charts stay empty because
/// nothing takes samples. Requests are strangers', unless they have the extension [`OwnerRequest`].
pub fn router(served: impl Into<Served>, settings: ServerSettings) -> Router {
    routes::router(state::Common::new(served.into(), settings))
}
