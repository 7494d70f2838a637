//! Inputs over the network, from a web server and from stores, with everything that goes wrong on the way.

mod reading;
mod stores;
mod troubles;
mod web;
