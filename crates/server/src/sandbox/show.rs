//! Selects the content that is shown, and its form. Archived media types are never used unchanged.

use archive::question::CaptureKind;

/// How a browser shows content, which decides how it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    Html,
    Text,
    Image,
    /// SVG.
    Drawing,
}

fn show_as(mime: &str) -> Option<Show> {
    match mime {
        "text/html" | "application/xhtml+xml" | "unk" => Some(Show::Html),
        "text/plain"
        | "text/css"
        | "text/xml"
        | "application/xml"
        | "application/json"
        | "application/javascript"
        | "application/x-javascript"
        | "text/javascript" => Some(Show::Text),
        "image/png"
        | "image/jpeg"
        | "image/gif"
        | "image/webp"
        | "image/avif"
        | "image/bmp"
        | "image/x-icon"
        | "image/vnd.microsoft.icon" => Some(Show::Image),
        "image/svg+xml" => Some(Show::Drawing),
        _ => None,
    }
}

/// Returns whether a capture has content worth showing. The content of a redirect is not, and a
/// reader would take it for the page.
pub(crate) fn worth_showing(status: u16, mime: &str, kind: CaptureKind) -> bool {
    !(300..400).contains(&status) && can_show(mime, kind)
}

/// Returns whether content of this type and kind of capture can be shown.
pub(super) fn can_show(mime: &str, kind: CaptureKind) -> bool {
    match kind {
        CaptureKind::Wat => false,
        // A revisit is shown with the content that it refers to, which its own media type does not
        // describe.
        CaptureKind::Wet | CaptureKind::Revisit => true,
        CaptureKind::Arc | CaptureKind::Resource | CaptureKind::Response | CaptureKind::Conversion => {
            show_as(mime).is_some()
        }
    }
}

/// Returns how content is shown and the media type it is sent with. HTML, XHTML and SVG are always
/// sent as UTF-8 HTML written by this program.
pub(super) fn shown(mime: &str, kind: CaptureKind) -> (Show, String) {
    let text = "text/plain; charset=utf-8".to_owned();
    let html = "text/html; charset=utf-8".to_owned();
    match show_as(mime) {
        _ if kind == CaptureKind::Wet => (Show::Text, text),
        Some(show @ (Show::Html | Show::Drawing)) => (show, html),
        Some(Show::Image) => (Show::Image, mime.to_owned()),
        Some(Show::Text) | None => (Show::Text, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mime: &str, expected: &str) {
        assert_eq!(shown(mime, CaptureKind::Response).1, expected);
    }

    #[test]
    fn content_types_are_never_taken_as_they_come() {
        check("text/html", "text/html; charset=utf-8");
        check("application/xhtml+xml", "text/html; charset=utf-8");
        check("text/javascript", "text/plain; charset=utf-8");
        check("image/png", "image/png");
        check("image/svg+xml", "text/html; charset=utf-8");
        check("application/x-shockwave-flash", "text/plain; charset=utf-8");
        assert_eq!(shown("text/html", CaptureKind::Wet).0, Show::Text);
        assert!(
            !can_show("application/pdf", CaptureKind::Response) && !can_show("text/html", CaptureKind::Wat)
        );
    }
}
