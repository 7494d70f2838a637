//! Tests of the server from outside: over its router, over a real port, with real archives, and in
//! a real browser.

mod admin;
mod api;
mod atom;
mod browser;
mod cdx;
mod clients;
mod dialects;
mod driver;
mod escaping;
mod export;
mod fake;
mod field;
mod files;
mod loaded;
mod mcp;
mod metrics;
mod opens;
mod pages;
mod paths;
mod port;
mod posts;
mod real;
mod replay;
mod rights;
mod rights_hosts;
mod sample;
mod schema;
mod screenshots;
mod serving;
mod sign_in;
mod sql;
mod store;
mod stored;
mod upload;
mod web;
