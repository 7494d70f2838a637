//! The program as users see it: output, streams and exit codes.
//!
//! Every test runs the real program. Golden texts are updated with `UPDATE_EXPECT=1 cargo test -p
//! weft`.

mod addresses;
mod ask;
mod ask_links;
mod ask_lists;
mod bag;
#[cfg(target_os = "linux")]
mod bombs;
mod cache;
mod common_crawl;
mod decoded;
mod demo;
mod doctor;
mod documents;
mod export;
mod facts;
mod files;
mod files_objects;
mod fixture;
mod gateway;
mod generators;
mod graph;
mod inspect;
mod install;
mod load;
mod mcp;
#[cfg(target_os = "linux")]
mod new_files;
mod odd_inputs;
mod package_lists;
mod packages;
mod pages;
mod policies;
mod real;
mod rebuild;
mod redact;
mod replay;
mod report;
mod requests;
mod rights;
mod s3_inputs;
mod search;
mod serve;
mod serve_policies;
mod serving;
mod sql;
mod store;
mod support;
mod takedown;
mod tasks;
mod usage;
mod verify;
mod warc;
#[expect(dead_code, reason = "shared with the tests of `remote`, which use all of it")]
#[path = "../../../remote/tests/it/web.rs"]
mod web;
