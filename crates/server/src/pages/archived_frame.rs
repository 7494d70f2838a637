//! The frame that shows a capture on the page of its URL: the replayed page if the server has
//! replay, otherwise the record alone in the sandbox.

use archive::question::{CdxRow, PageBody};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use replay::{Address, Modifier, Scripts};
use url::Url;

use super::archived::ArchivedView;
use super::html::Html;
use super::{attachments, parts};
use crate::failure::Failure;
use crate::link::{self, At};
use crate::replay::{HIDDEN_IN_REPLAY, is_shown, preview};
use crate::replay_origin::ReplayOrigin;
use crate::state::State;

/// How the page of a URL shows a capture.
pub(super) enum ArchivedFrame {
    /// As replay does, without the bar.
    Replayed {
        /// The replay origin, as the browser reaches it.
        origin: String,
        address: Address,
        scripts: Scripts,
    },
    /// The record alone, in the sandbox.
    RecordAlone,
    /// The same, because rules hide the capture at the replay origin, which ignores tokens.
    HiddenInReplay,
}

impl ArchivedFrame {
    /// Returns the frame of a capture for a browser that sent the headers `asked`.
    pub(super) async fn of(
        state: &State,
        asked: &HeaderMap,
        capture: Option<&CdxRow>,
    ) -> Result<ArchivedFrame, Failure> {
        let capture = capture.filter(|capture| ArchivedView::of(state).replays(capture));
        let Some((replay, capture)) = state.replay_origin().zip(capture) else {
            return Ok(ArchivedFrame::RecordAlone);
        };
        if !is_shown(state, capture).await? {
            return Ok(ArchivedFrame::HiddenInReplay);
        }
        Ok(replayed_as(replay, asked, capture).unwrap_or(ArchivedFrame::RecordAlone))
    }

    /// Returns where the capture opens, if other captures open in `view`.
    pub(super) fn view(&self, view: ArchivedView) -> ArchivedView {
        match self {
            ArchivedFrame::HiddenInReplay => ArchivedView::Sandbox,
            ArchivedFrame::Replayed { .. } | ArchivedFrame::RecordAlone => view,
        }
    }

    /// Returns whether replay shows the capture.
    pub(super) fn is_replayed(&self) -> bool {
        matches!(self, ArchivedFrame::Replayed { .. })
    }

    /// Shows the frame. The sandbox finds its content by `url` and `at`.
    pub(super) fn show(&self, url: &str, at: Option<&At>) -> Markup {
        match self {
            ArchivedFrame::Replayed {
                origin,
                address,
                scripts,
            } => preview(&format!("{origin}{address}"), *scripts),
            ArchivedFrame::RecordAlone | ArchivedFrame::HiddenInReplay => parts::frame(url, at),
        }
    }

    /// Says why replay does not show a capture that the reader may see.
    pub(super) fn notice(&self) -> Markup {
        html! {
            @if let ArchivedFrame::HiddenInReplay = self { p.callout { (HIDDEN_IN_REPLAY) } }
        }
    }

    /// Says what a reader does not see in the frame. A replayed page whose script was not captured
    /// is empty, so the note leads to its missing parts and to the crawler's picture of it.
    pub(super) fn note(&self, page: &PageBody) -> Markup {
        match self {
            ArchivedFrame::Replayed { address, .. } => html! {
                p.soft {
                    "If the frame is empty or incomplete: "
                    a data-in-place=".whole" href=(link::replay_check(&address.url, &address.time)) { "Check completeness" }
                    @if let Some(picture) = attachments::screenshot(page, &address.time) {
                        " \u{b7} " a href=(picture) target="_blank" rel="noopener" { "Screenshot by the crawler" }
                    }
                }
            },
            ArchivedFrame::RecordAlone | ArchivedFrame::HiddenInReplay => html! {
                p.soft { "The frame shows the record alone: without scripts, and without images and styles from other records." }
            },
        }
    }

    /// Returns the response with a page that contains this frame.
    pub(super) fn answer(&self, page: Html) -> Response {
        match self {
            ArchivedFrame::Replayed { origin, .. } => page.with_frames_of(origin),
            ArchivedFrame::RecordAlone | ArchivedFrame::HiddenInReplay => page.into_response(),
        }
    }
}

fn replayed_as(replay: &ReplayOrigin, asked: &HeaderMap, capture: &CdxRow) -> Option<ArchivedFrame> {
    Some(ArchivedFrame::Replayed {
        origin: replay.origin(asked),
        // With the key, as in the frame below the bar: the document's own frames need it.
        address: Address {
            key: replay.key.clone(),
            modifier: Modifier::Page,
            ..address(capture)?
        },
        scripts: replay.scripts(),
    })
}

/// Returns the address of a capture in replay, or `None` if its URL is not one of the web.
pub(super) fn address(capture: &CdxRow) -> Option<Address> {
    let mut url = Url::parse(&capture.url).ok()?;
    // A fragment names a place in the page, and is not sent to servers.
    url.set_fragment(None);
    Some(Address {
        key: String::new(),
        time: capture.timestamp.clone(),
        modifier: Modifier::None,
        url: url.into(),
    })
}
