//! Pages for readers. They are rendered on the server and readable without scripts.
//!
//! Queries are read leniently: a reader who shortens or mistypes an address gets the best possible
//! page and not an error. Archived text passes only through `parts` or the escaping of `maud`.

mod about;
mod archived;
mod archived_frame;
mod assets;
mod attachments;
mod cache;
pub(crate) mod calendar;
mod captures;
mod collections;
mod dated;
mod diff;
mod domain;
mod download;
mod embed;
mod events;
pub(crate) mod failure;
mod files;
mod graph;
pub(crate) mod hidden;
mod home;
mod html;
mod images;
mod linking;
mod links;
mod listed;
mod loads;
mod page;
pub(crate) mod parts;
mod quarantine;
mod ranking;
mod report;
mod results;
mod rights;
mod sign_in;
mod statistics;
mod store;
mod takedowns;
mod text;
mod trends;
mod upload;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

pub(crate) use self::html::{Html, PageFailure};
pub use self::report::report_document;
use crate::state::Common;

/// Returns the routes of all pages and their styles and script.
pub(crate) fn routes() -> Router<Arc<Common>> {
    Router::new()
        .route("/", get(home::show))
        .route("/search", get(results::show))
        .route("/trends", get(trends::show))
        .route("/images", get(images::show))
        .route("/images/thumbnail", get(images::thumbnail))
        .route("/events", get(events::show))
        .route("/page", get(page::show))
        .route("/page/diff", get(diff::show))
        .route("/page/inlinks", get(links::inlinks))
        .route("/page/outlinks", get(links::outlinks))
        .route("/domain", get(domain::show))
        .route("/domains", get(domain::list))
        .route("/graph", get(graph::show))
        .route("/ranking", get(ranking::show))
        .route("/captures", get(captures::show))
        .route("/collections", get(collections::show))
        .route("/pages", get(listed::show))
        .route("/report", get(report::show))
        .route("/loads", get(loads::show))
        .route("/loads/live", get(loads::live))
        .route("/cache", get(cache::show))
        .route("/cache/live", get(cache::live))
        .route("/quarantine", get(quarantine::show))
        .route("/statistics", get(statistics::show))
        .route("/statistics/live", get(statistics::live))
        .route("/store", get(store::show))
        .route("/store/live", get(store::live))
        .route("/files", get(files::show))
        .route("/files/tree", get(files::tree::show))
        .route("/rights", get(rights::show))
        .route("/takedowns", get(takedowns::show))
        .route("/sign-in", get(sign_in::show).post(sign_in::enter))
        .route("/sign-out", post(sign_in::leave))
        .route("/about", get(about::show))
        .merge(assets::routes())
}
