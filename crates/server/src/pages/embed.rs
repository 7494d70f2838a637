//! The HTML with which another site shows an archived page.

use archive::question::CdxRow;
use axum::http::HeaderMap;
use maud::{Markup, html};

use super::archived_frame;
use crate::present;
use crate::replay_origin::ReplayOrigin;
use crate::state::State;

/// Shows the HTML for a capture that replay shows, or how the operator allows other sites.
pub(super) fn part(state: &State, asked: &HeaderMap, capture: &CdxRow) -> Markup {
    let Some(replay) = state.replay_origin() else {
        return html! {};
    };
    let sites = &replay.settings.embed_on;
    let snippet = snippet(replay, asked, capture);
    html! {
        @if let Some(snippet) = snippet {
            details.embed {
                summary { "Embed" }
                @if sites.is_empty() {
                    p {
                        "To let another site show this page in a frame, start the server with "
                        code { "weft serve --embed-on https://example.org" } "."
                    }
                } @else {
                    p { "This HTML shows the archived page on " (present::clean(&sites.join(", "))) ":" }
                    pre.command { code { (present::clean(&snippet)) } }
                }
            }
        }
    }
}

/// Returns the frame as text. The address has no key, so the replay origin adds the page that
/// confines the document.
fn snippet(replay: &ReplayOrigin, asked: &HeaderMap, capture: &CdxRow) -> Option<String> {
    let address = archived_frame::address(capture)?;
    let origin = replay.origin(asked);
    let title = format!("Archived page: {}", present::clean(&capture.url));
    let frame = html! {
        iframe src=(format!("{origin}{address}")) title=(title) width="100%" height="600" loading="lazy" {}
    };
    Some(frame.into_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::settings::ReplaySettings;

    #[test]
    fn the_frame_is_safe_text_and_has_no_key() {
        let replay = ReplayOrigin {
            settings: ReplaySettings {
                listen: ([127, 0, 0, 1], 0).into(),
                any_port: true,
                url: Some("https://replay.example.org".to_owned()),
                scripts: true,
                embed_on: Vec::new(),
                domain: None,
            },
            address: ([127, 0, 0, 1], 8081).into(),
            main_port: 8080,
            key: "secret".to_owned(),
            digests: Arc::default(),
        };
        let capture = |url: &str| CdxRow {
            url: url.to_owned(),
            timestamp: "20140126200624".to_owned(),
            ..CdxRow::default()
        };
        let shown = |url: &str| snippet(&replay, &HeaderMap::new(), &capture(url));
        assert_eq!(
            shown("http://a.example/?q=\"><b>#top").as_deref(),
            Some(
                "<iframe src=\"https://replay.example.org/replay/20140126200624/http://a.example/?q=%22%3E%3Cb%3E\" \
                 title=\"Archived page: http://a.example/?q=&quot;&gt;&lt;b&gt;#top\" width=\"100%\" height=\"600\" \
                 loading=\"lazy\"></iframe>"
            )
        );
        assert_eq!(shown("not a url"), None);
    }
}
