//! Runs each of the tools on generated and real files.

mod check;
mod dedup;
mod extract;
mod recompress;
mod repair;
mod split;
mod support;
