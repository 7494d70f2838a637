//! What crawlers added to a page, as a section of it: a small picture, and a list of the others.
//! Archived content is shown only in the sandbox.

use archive::question::{AttachmentKind, AttachmentRow, CdxRow, PageBody};
use maud::{Markup, html};

use super::parts::{self, Align, Column};
use crate::link::{self, At};
use crate::{present, sandbox};

/// Maximum number of attachments in the list. The API has the others.
const SHOWN_MAX: usize = 24;

/// Width of the small picture, in pixels.
const PICTURE_PIXELS: u32 = 320;

/// Returns the section, or nothing if the page has no attachments.
pub(super) fn section(page: &PageBody) -> Markup {
    let rows = &page.attachments;
    let mut thumbnails = rows.iter().filter(|row| row.kind == AttachmentKind::Thumbnail);
    let picture = thumbnails.find_map(|row| picture_address(&page.url, &row.capture));
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="attachments" {
                h2 #attachments { "Attachments" span.amount { (present::count(rows.len() as u64)) } }
                p.soft { "Records that the crawler added to the page." }
                @if let Some(picture) = picture {
                    p { img src=(picture) width=(PICTURE_PIXELS) loading="lazy" alt="Small picture of the page, made by the crawler"; }
                }
                (provenance(page))
                (list(page))
            }
        }
    }
}

/// Returns the address of the screenshot of a page nearest to a time (digits), if it has one.
pub(super) fn screenshot(page: &PageBody, time: &str) -> Option<String> {
    let away_ms = |row: &&AttachmentRow| {
        let taken_ms = format::date::ms_of_digits(&row.capture.timestamp);
        taken_ms.abs_diff(format::date::ms_of_digits(time))
    };
    let shown = page.attachments.iter().filter(|row| {
        let is_screenshot = matches!(
            row.kind,
            AttachmentKind::View | AttachmentKind::FullPage | AttachmentKind::Screenshot
        );
        is_screenshot && picture_address(&page.url, &row.capture).is_some()
    });
    let nearest = shown.min_by_key(away_ms)?;
    picture_address(&page.url, &nearest.capture)
}

/// Returns a link to the newest document that tells how the page was captured, if there is one.
fn provenance(page: &PageBody) -> Markup {
    let mut documents = page
        .attachments
        .iter()
        .filter(|row| row.kind == AttachmentKind::Provenance);
    let address = documents.find_map(|row| content_address(&page.url, &row.capture));
    html! {
        @if let Some(address) = address {
            p { a href=(address) target="_blank" rel="noopener" { "How the page was captured" } }
        }
    }
}

/// Returns the address of the content of an attachment of a URL, if the sandbox can show it.
fn content_address(url: &str, attachment: &CdxRow) -> Option<String> {
    let is_shown = sandbox::worth_showing(attachment.status, &attachment.mime, attachment.kind);
    let address = is_shown.then(|| link::sandbox(url, Some(&At::exactly(attachment))))?;
    link::if_short(address)
}

/// Returns the address of an attachment of a URL if it is a picture. SVG is sent as a document.
pub(super) fn picture_address(url: &str, attachment: &CdxRow) -> Option<String> {
    let is_picture = attachment.mime.starts_with("image/") && attachment.mime != "image/svg+xml";
    content_address(url, attachment).filter(|_| is_picture)
}

fn list(page: &PageBody) -> Markup {
    const COLUMNS: [Column; 5] = [
        Column("Captured (UTC)", Align::Text),
        Column("Attachment", Align::Text),
        Column("Type", Align::Text),
        Column("Size", Align::Number),
        Column("Record", Align::Text),
    ];
    let rows = page.attachments.iter().take(SHOWN_MAX).map(|row| {
        vec![
            parts::time(&row.capture.fetch_time),
            html! { (row.kind.name()) span.where { (parts::url_text(&row.capture.url)) } },
            parts::media(&row.capture.mime),
            html! { (present::size(row.capture.length)) },
            record_links(page, row),
        ]
    });
    parts::table("Attachments", &COLUMNS, rows.collect())
}

/// Returns links to the content, if the sandbox can show it, and to the record.
fn record_links(page: &PageBody, row: &AttachmentRow) -> Markup {
    let record = link::record(&page.url, Some(&At::exactly(&row.capture)));
    let Some(record) = link::if_short(record) else {
        return html! { span.soft { "address too long" } };
    };
    let of = format!(" of {}", present::clean(&row.capture.url));
    html! {
        @if let Some(content) = content_address(&page.url, &row.capture) {
            a.open href=(content) target="_blank" rel="noopener" { "Open" span.hidden { (of) } }
            " \u{b7} "
        }
        a href=(record) download { "Download" span.hidden { " the record" (of) } }
    }
}

#[cfg(test)]
mod tests {
    use archive::question::CaptureKind;

    use super::*;

    fn attachment(kind: AttachmentKind, mime: &str) -> AttachmentRow {
        AttachmentRow {
            kind,
            capture: CdxRow {
                mime: mime.into(),
                offset: 7,
                filename: "x.warc".into(),
                kind: CaptureKind::Conversion,
                ..CdxRow::default()
            },
        }
    }

    #[track_caller]
    fn check(kind: AttachmentKind, mime: &str, has_picture: bool, has_content: bool) {
        let page = PageBody {
            url: "http://a/".into(),
            attachments: vec![attachment(kind, mime)],
            ..PageBody::default()
        };
        let html = section(&page).into_string();
        let picture = "<img src=\"/sandbox/content?url=http%3A%2F%2Fa%2F&amp;capture=7%2Cx.warc\"";
        assert_eq!(html.contains(picture), has_picture, "{html}");
        assert_eq!(html.contains("class=\"open\""), has_content, "{html}");
        assert!(
            html.contains("href=\"/record?url=http%3A%2F%2Fa%2F&amp;capture=7%2Cx.warc\""),
            "{html}"
        );
    }

    #[test]
    fn only_a_small_picture_is_shown_on_the_page() {
        check(AttachmentKind::Thumbnail, "image/png", true, true);
        check(AttachmentKind::Thumbnail, "image/svg+xml", false, true);
        check(AttachmentKind::Thumbnail, "image/tiff", false, false);
        check(AttachmentKind::FullPage, "image/png", false, true);
        check(AttachmentKind::Text, "text/plain", false, true);
    }

    #[test]
    fn the_screenshot_nearest_in_time_is_chosen() {
        let taken = |kind, time: &str, offset| {
            let mut row = attachment(kind, "image/png");
            row.capture.timestamp = time.into();
            row.capture.offset = offset;
            row
        };
        let page = PageBody {
            url: "http://a/".into(),
            attachments: vec![
                taken(AttachmentKind::FullPage, "20160101000000", 1),
                taken(AttachmentKind::View, "20140101000000", 2),
                taken(AttachmentKind::Text, "20150101000000", 3),
            ],
            ..PageBody::default()
        };
        for (time, offset) in [("20150301000000", 1), ("20141201000000", 2)] {
            let found = screenshot(&page, time).unwrap_or_default();
            assert!(found.contains(&format!("capture={offset}%2Cx.warc")), "{found}");
        }
        assert_eq!(screenshot(&PageBody::default(), "20140101000000"), None);
    }

    #[test]
    fn documents_about_the_capture_have_a_link() {
        for (kind, mime, expected) in [
            (AttachmentKind::Provenance, "text/html", true),
            (AttachmentKind::Provenance, "application/zip", false),
            (AttachmentKind::Other, "text/html", false),
        ] {
            let page = PageBody {
                url: "http://a/".into(),
                attachments: vec![attachment(kind, mime)],
                ..PageBody::default()
            };
            let html = section(&page).into_string();
            assert_eq!(html.contains("How the page was captured"), expected, "{html}");
        }
    }

    /// Several attachments may have the same kind and time.
    #[test]
    fn each_attachment_has_its_address() {
        let mut row = attachment(AttachmentKind::Other, "text/html");
        row.capture.url = "onreadydom:http://a/".into();
        let page = PageBody {
            url: "http://a/".into(),
            attachments: vec![row],
            ..PageBody::default()
        };
        let html = section(&page).into_string();
        assert_eq!(html.matches("onreadydom:http://a/").count(), 3, "{html}");
    }

    #[test]
    fn a_page_without_attachments_has_no_section() {
        assert_eq!(section(&PageBody::default()).into_string(), "");
    }
}
