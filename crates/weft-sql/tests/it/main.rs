//! Tests of the program through its interfaces.

mod beside_weft;
mod cli;
mod facts_in_store;
mod flight;
mod http;
mod place;
mod server;
