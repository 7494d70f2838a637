//! HTTP: JSON API, pages, CDX, archived content in a sandbox, metrics.
//!
//! The server knows archives only by the questions it can put to them ([`Ask`]), and stores by their reports
//! ([`storage::Storage`]). Its invariants:
//!
//! - the archive is called on blocking threads only, within a cap; every request ends within a time limit;
//! - every answer names its epoch;
//! - archived text is escaped wherever it is shown, and archived content is only ever sent under `/sandbox`
//!   and as download, with headers that keep it from running or reaching anything;
//! - nothing is loaded from anywhere else: styles and script are part of the program.
//!
//! It does not know how an archive is stored, and it changes none, but for a load begun from this machine
//! where the settings allow it.

use axum::Router;

mod api;
mod arguments;
mod ask;
mod counters;
mod failure;
mod fresh;
mod history;
mod link;
mod metrics;
mod pages;
mod present;
mod record;
mod routes;
pub mod sample;
mod sandbox;
mod serve;
mod settings;
mod state;
pub mod storage;
mod stream;

pub use ask::Answers;
pub use serve::{ServeError, Server, serve};
pub use settings::ServerSettings;
pub use state::Served;

/// The whole server as one service, to be served by other means than [`serve`]. Charts stay empty, because
/// nobody takes samples, and loads are refused, because nobody says where a request comes from.
pub fn router(served: impl Into<Served>, settings: ServerSettings) -> Router {
    routes::router(state::State::new(served.into(), settings))
}
