//! A request to the replay origin.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use replay::origin::Origins;
use replay::{Address, Modifier, Scope, Scripts};

/// A request for a capture.
pub(super) struct CaptureRequest<'r> {
    pub(super) address: &'r Address,
    /// Key of this origin's documents.
    pub(super) key: &'r str,
    pub(super) headers: &'r HeaderMap,
    pub(super) peer: IpAddr,
    pub(super) scripts: Scripts,
    /// Only for requests to the origin of an archived site.
    pub(super) origins: Option<&'r Origins>,
}

impl CaptureRequest<'_> {
    /// Returns the scope of a response to this request.
    pub(super) fn scope(&self, scope: Scope) -> Scope {
        match self.origins {
            Some(origins) => scope.in_origin(origins.clone()),
            None => scope.with_key(self.key),
        }
    }

    /// Returns the requested range. A request for several ranges gets everything.
    pub(super) fn range(&self) -> Option<&str> {
        let range = self.headers.get(header::RANGE)?.to_str().ok()?;
        (!range.contains(',')).then_some(range)
    }

    /// Returns the form in which the capture is sent. The destination that a browser states comes
    /// before the modifier of the address: scripts request any address, and servers declare their
    /// data as HTML.
    pub(super) fn modifier(&self) -> Modifier {
        let destination = self.headers.get("sec-fetch-dest");
        let destination = destination.and_then(|value| value.to_str().ok());
        match (destination, self.address.modifier) {
            (_, Modifier::Raw) => Modifier::Raw,
            (Some("empty"), _) => Modifier::Data,
            (Some("script" | "worker" | "sharedworker"), _) => Modifier::Script,
            (Some("document" | "iframe" | "frame" | "embed" | "object"), Modifier::Data) => Modifier::Page,
            (_, modifier) => modifier,
        }
    }
}
