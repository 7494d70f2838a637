//! The program as its users meet it.

mod beside_weft;
mod cli;
mod flight;
mod http;
mod place;
mod server;
