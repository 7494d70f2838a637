//! The server from outside: over its router, over a real port, over real archives, and in a real browser.

mod api;
mod atom;
mod browser;
mod cdx;
mod clients;
mod driver;
mod escaping;
mod export;
mod fake;
mod field;
mod files;
mod loaded;
mod metrics;
mod pages;
mod port;
mod real;
mod replay;
mod rights;
mod sample;
mod schema;
mod screenshots;
mod sign_in;
mod sql;
mod store;
mod stored;
mod web;
