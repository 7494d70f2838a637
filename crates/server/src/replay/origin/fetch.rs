//! What a browser says about a request (Fetch Metadata Request Headers). Pages cannot set these
//! headers. Browsers send them over TLS and to this machine.

use axum::http::HeaderMap;
use replay::origin::Label;

use super::Visit;

/// The destination, mode and site of a request. A missing header is an empty text.
pub(super) struct Fetch<'h> {
    destination: &'h str,
    mode: &'h str,
    site: &'h str,
}

impl Fetch<'_> {
    pub(super) fn of(headers: &HeaderMap) -> Fetch<'_> {
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Fetch {
            destination: value("sec-fetch-dest").unwrap_or(""),
            mode: value("sec-fetch-mode").unwrap_or(""),
            site: value("sec-fetch-site").unwrap_or(""),
        }
    }

    /// Returns whether it is a frame.
    pub(super) fn is_frame(&self) -> bool {
        self.mode == "navigate" && matches!(self.destination, "iframe" | "frame")
    }

    /// Returns whether it is a separate window.
    pub(super) fn is_window(&self) -> bool {
        self.mode == "navigate" && self.destination == "document"
    }

    /// Returns whether a frame or a window goes there. Images of other sites do not.
    pub(super) fn is_navigation(&self) -> bool {
        self.mode == "navigate"
    }

    /// Returns whether it is the script of a service worker.
    pub(super) fn is_for_a_worker(&self) -> bool {
        self.destination == "serviceworker" && self.site == "same-origin"
    }

    /// Returns whether its response is data for a script that may ask: the worker of this origin,
    /// or of any archived site for the host that answers for others.
    pub(super) fn is_data(&self, visit: &Visit) -> bool {
        let is_near = match visit.label {
            Label::Others => matches!(self.site, "same-origin" | "same-site"),
            Label::Site(_) | Label::Digest(_) => self.site == "same-origin",
        };
        is_near && self.destination == "empty" && self.mode != "navigate"
    }
}
