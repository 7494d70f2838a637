//! A request to the replay origin.

use std::net::IpAddr;

use axum::http::HeaderMap;
use replay::{Address, Scripts};

/// A request for a capture.
pub(super) struct CaptureRequest<'r> {
    pub(super) address: &'r Address,
    /// Key of this origin's documents.
    pub(super) key: &'r str,
    pub(super) headers: &'r HeaderMap,
    pub(super) peer: IpAddr,
    pub(super) scripts: Scripts,
}
