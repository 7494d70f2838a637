//! Links that open an archived page in one click: in replay if the server has it, otherwise in the
//! sandbox.

use archive::question::{CaptureKind, CdxRow};
use maud::{Markup, html};

use crate::link::{self, At};
use crate::replay::can_replay;
use crate::state::State;
use crate::{present, sandbox};
use format::date::DateTime;

/// Where archived pages open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArchivedView {
    /// In a frame of the replay origin, with images and styles.
    Replay,
    /// In the sandbox, alone and without scripts.
    Sandbox,
}

/// The address that opens an archived page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenLink {
    address: String,
    /// The sandbox has no navigation, so it opens in a new tab.
    in_new_tab: bool,
}

impl ArchivedView {
    /// Returns where this server opens archived pages.
    pub(super) fn of(state: &State) -> ArchivedView {
        match state.replay_origin() {
            Some(_) => ArchivedView::Replay,
            None => ArchivedView::Sandbox,
        }
    }

    /// Returns the link to one capture, or `None` if its content cannot be shown.
    pub(super) fn capture(self, row: &CdxRow, at: &At) -> Option<OpenLink> {
        if row.index_only {
            None
        } else if self.replays(row) {
            replay(&row.url, &row.timestamp)
        } else if sandbox::worth_showing(row.status, &row.mime, row.kind) {
            in_sandbox(&row.url, Some(at))
        } else {
            None
        }
    }

    /// Returns whether replay shows a capture.
    pub(super) fn replays(self, row: &CdxRow) -> bool {
        self == ArchivedView::Replay && !row.index_only && can_replay(row.kind) && is_replayed(&row.url)
    }

    /// Returns the link to a captured URL near a time, or to its newest capture. An empty media
    /// type is unknown.
    pub(super) fn page(self, url: &str, time: Option<&str>, mime: &str) -> Option<OpenLink> {
        let digits = time.and_then(DateTime::of_text).map(DateTime::digits);
        let is_shown = mime.is_empty() || sandbox::worth_showing(0, mime, CaptureKind::Response);
        if self == ArchivedView::Replay && is_replayed(url) {
            replay(url, digits.as_deref().unwrap_or_default())
        } else if is_shown {
            in_sandbox(url, digits.as_deref().map(At::time).as_ref())
        } else {
            None
        }
    }
}

/// Replay shows only URLs of the web, such as no `dns:` and no keys.
fn is_replayed(url: &str) -> bool {
    link::outside(url).is_some()
}

fn replay(url: &str, time: &str) -> Option<OpenLink> {
    let in_new_tab = false;
    link::if_short(link::replay(url, time)).map(|address| OpenLink { address, in_new_tab })
}

fn in_sandbox(url: &str, at: Option<&At>) -> Option<OpenLink> {
    let in_new_tab = true;
    link::if_short(link::sandbox(url, at)).map(|address| OpenLink { address, in_new_tab })
}

impl OpenLink {
    /// Shows the link as one word. Screen readers also read the title, or the URL if it is empty.
    pub(super) fn word(&self, title: &str, url: &str) -> Markup {
        let name = if title.trim().is_empty() { url } else { title };
        let name = present::clean(present::cut(name, 120).0);
        self.element(
            "open",
            html! { "Open" span.hidden { " archived page " bdi { (name) } } },
        )
    }

    /// Shows the link as the main button of a page.
    pub(super) fn button(&self) -> Markup {
        self.element("button", html! { "Open archived page" })
    }

    fn element(&self, class: &str, words: Markup) -> Markup {
        let (target, rel) = (
            self.in_new_tab.then_some("_blank"),
            self.in_new_tab.then_some("noopener"),
        );
        html! { a class=(class) href=(self.address) target=[target] rel=[rel] { (words) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [ArchivedView; 2] = [ArchivedView::Replay, ArchivedView::Sandbox];

    fn capture(status: u16, mime: &str, kind: CaptureKind) -> CdxRow {
        CdxRow {
            url: "http://a/".into(),
            timestamp: "20140126200624".into(),
            status,
            mime: mime.into(),
            kind,
            ..CdxRow::default()
        }
    }

    /// Returns the addresses in replay and in the sandbox, or `-` where the link is absent.
    fn addresses(row: &CdxRow) -> [String; 2] {
        let at = At::time(&row.timestamp);
        BOTH.map(|view| view.capture(row, &at).map_or("-".into(), |link| link.address))
    }

    #[test]
    fn a_capture_opens_where_its_content_is_shown() {
        let replay = "/replay?url=http%3A%2F%2Fa%2F&at=20140126200624";
        let sandbox = "/sandbox/content?url=http%3A%2F%2Fa%2F&at=20140126200624";
        let page = capture(200, "text/html", CaptureKind::Response);
        assert_eq!(addresses(&page), [replay, sandbox]);
        // Replay follows redirects and leaves other content to the browser.
        let redirect = capture(302, "text/html", CaptureKind::Response);
        assert_eq!(addresses(&redirect), [replay, "-"]);
        let pdf = capture(200, "application/pdf", CaptureKind::Response);
        assert_eq!(addresses(&pdf), [replay, "-"]);
        // Text of other captures is no page to replay.
        let text = capture(200, "text/plain", CaptureKind::Wet);
        assert_eq!(addresses(&text), [sandbox, sandbox]);
        let name = CdxRow {
            url: "dns:a".into(),
            ..capture(0, "text/dns", CaptureKind::Response)
        };
        assert_eq!(addresses(&name), ["-", "-"]);
        let index_only = CdxRow {
            index_only: true,
            ..page
        };
        assert_eq!(addresses(&index_only), ["-", "-"]);
    }

    #[test]
    fn a_page_opens_near_a_time_or_at_its_newest_capture() {
        let address = |view: ArchivedView, time, mime| {
            let link = view.page("http://a/", time, mime);
            link.map_or("-".into(), |link| link.address)
        };
        let time = Some("2014-01-26T20:06:24.123Z");
        assert_eq!(
            BOTH.map(|view| address(view, time, "text/html")),
            [
                "/replay?url=http%3A%2F%2Fa%2F&at=20140126200624",
                "/sandbox/content?url=http%3A%2F%2Fa%2F&at=20140126200624"
            ]
        );
        assert_eq!(
            BOTH.map(|view| address(view, None, "")),
            [
                "/replay?url=http%3A%2F%2Fa%2F",
                "/sandbox/content?url=http%3A%2F%2Fa%2F"
            ]
        );
        assert_eq!(
            BOTH.map(|view| address(view, None, "application/pdf")),
            ["/replay?url=http%3A%2F%2Fa%2F", "-"]
        );
        let key = ArchivedView::Replay.page("com,example)/", None, "");
        assert_eq!(
            key.map(|link| link.address).as_deref(),
            Some("/sandbox/content?url=com%2Cexample%29%2F")
        );
    }

    #[test]
    fn only_the_sandbox_opens_in_a_new_tab_and_names_are_text() {
        let shown = |view: ArchivedView| {
            let link = view.page("http://a/", None, "");
            link.map_or_else(String::new, |link| link.word("<b>", "").into_string())
        };
        let sandbox = shown(ArchivedView::Sandbox);
        assert!(
            sandbox.contains("target=\"_blank\" rel=\"noopener\""),
            "{sandbox}"
        );
        let replay = shown(ArchivedView::Replay);
        assert!(!replay.contains("target"), "{replay}");
        assert!(
            replay.contains("&lt;b&gt;") && !replay.contains("<b>"),
            "{replay}"
        );
    }
}
