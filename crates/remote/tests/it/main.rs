//! Inputs over the network, from a web server and from stores, with failures of all kinds.

mod folder;
mod reading;
mod stores;
mod troubles;
mod web;
