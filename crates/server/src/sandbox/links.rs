//! Links of an archived page, turned inwards: each leads to what this archive has of its target.
//!
//! `<a href>` (also in drawings) and `<area href>` become `/page?url=...&at=...`, with the time of the page they stand on;
//! that page says so where the target was not captured. Places in the same page and `mailto:` stay; whatever else
//! could lead somewhere loses its address. References that load something by themselves are left to the sandbox's policy.
//! The page is read and written as a stream; a single tag of more than [`TAG_BYTES_MAX`] ends it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use archive::question::CdxRow;
use html5gum::{Token, Tokenizer};
use lol_html::send::{Element, HtmlRewriter, Settings};
use lol_html::{MemorySettings, element};
use url::Url;

use super::inert::{EFFECTS, Inert, NOSCRIPT};
use crate::link;

/// Memory of the rewriter, in bytes: it holds a tag until that is whole.
const TAG_BYTES_MAX: usize = 8 << 20;

/// Attributes that hold the target of a link.
const TARGETS: [&str; 2] = ["href", "xlink:href"];

/// Where a page stands: its address and the time it was captured.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    url: Option<Url>,
    at: String,
}

impl Spot {
    pub(super) fn of(capture: &CdxRow) -> Spot {
        Spot {
            url: Url::parse(&capture.url).ok(),
            at: capture.timestamp.clone(),
        }
    }

    /// The last label of the host.
    pub(super) fn top_level(&self) -> Option<&str> {
        self.url.as_ref()?.domain()?.rsplit('.').next()
    }

    /// Where a reference leads, resolved against `base`.
    fn lead(&self, base: Option<&Url>, reference: &str) -> Lead {
        let reference = reference.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control());
        if reference.starts_with('#') {
            return Lead::Here(reference.to_owned());
        }
        let resolved = match base {
            Some(base) => base.join(reference),
            None => Url::parse(reference),
        };
        let Ok(mut target) = resolved else {
            return Lead::Nowhere;
        };
        match target.scheme() {
            "mailto" | "tel" => return Lead::Here(target.into()),
            "http" | "https" => {}
            _ => return Lead::Nowhere,
        }
        let fragment = target.fragment().map(|fragment| format!("#{fragment}"));
        target.set_fragment(None);
        let same = |own: &Url| {
            let mut own = own.clone();
            own.set_fragment(None);
            own == target
        };
        match fragment {
            Some(fragment) if self.url.as_ref().is_some_and(same) => Lead::Here(fragment),
            _ => Lead::Page(link::page_at(target.as_str(), &link::At::time(&self.at))),
        }
    }
}

/// What becomes of a link.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    /// It stays in the page, or leaves the browser.
    Here(String),
    /// It leads to a page of this server.
    Page(String),
    Nowhere,
}

/// Takes what the rewriter writes.
type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// Rewrites one page.
pub(super) struct Rewriter {
    /// `None` after the end.
    html: Option<HtmlRewriter<'static, Sink>>,
    written: Arc<Mutex<Vec<u8>>>,
    noscript: Inert,
    inert: Inert,
}

impl Rewriter {
    pub(super) fn new(spot: &Spot) -> Rewriter {
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let sink = Arc::clone(&written);
        let base = Arc::new(Mutex::new((spot.url.clone(), false)));
        let (of_base, of_links, spot) = (Arc::clone(&base), base, spot.clone());
        let settings = Settings::new_send()
            .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(TAG_BYTES_MAX))
            // Where it is not sure how a browser reads a page, it goes on with its guess: the policy holds anyway.
            .with_strict(false)
            .append_element_content_handler(element!("base[href]", move |tag: &mut Element<'_, '_>| {
                let mut base = of_base.lock().unwrap_or_else(PoisonError::into_inner);
                // The first one counts, and only where it says something.
                if let (false, Some(own), Some(href)) = (base.1, &base.0, tag.get_attribute("href"))
                    && let Ok(told) = own.join(unescaped(&href).trim())
                {
                    *base = (Some(told), true);
                }
                Ok(())
            }))
            .append_element_content_handler(element!("a, area", move |tag: &mut Element<'_, '_>| {
                let base = of_links.lock().unwrap_or_else(PoisonError::into_inner);
                turn(tag, &spot, base.0.as_ref())?;
                Ok(())
            }));
        let output: Sink = Box::new(move |piece: &[u8]| {
            sink.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend_from_slice(piece);
        });
        Rewriter {
            html: Some(HtmlRewriter::new(settings, output)),
            written,
            noscript: Inert::new(NOSCRIPT),
            inert: Inert::new(EFFECTS),
        }
    }

    /// Adds to `sent` what a piece becomes; the end of the page with the last one.
    ///
    /// # Errors
    /// Where a tag is too long.
    pub(super) fn push(&mut self, piece: &[u8], last: bool, sent: &mut Vec<u8>) -> io::Result<()> {
        let mut readable = Vec::with_capacity(piece.len());
        self.noscript.push(piece, last, &mut readable);
        // It must not be used again after an error.
        if let Some(mut html) = self.html.take() {
            html.write(&readable).map_err(io::Error::other)?;
            match last {
                true => html.end().map_err(io::Error::other)?,
                false => self.html = Some(html),
            }
        }
        let written = std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        self.inert.push(&written, last, sent);
        Ok(())
    }
}

/// Turns the targets of one link.
fn turn(
    tag: &mut Element<'_, '_>,
    spot: &Spot,
    base: Option<&Url>,
) -> Result<(), lol_html::errors::AttributeNameError> {
    // It would tell another server of the click.
    tag.remove_attribute("ping");
    tag.remove_attribute("target");
    for name in TARGETS {
        let Some(reference) = tag.get_attribute(name) else {
            continue;
        };
        match spot.lead(base, &unescaped(&reference)) {
            Lead::Here(reference) => tag.set_attribute(name, &escaped(&reference))?,
            Lead::Page(page) => {
                tag.set_attribute(name, &escaped(&page))?;
                // Pages of this server are never shown in a frame.
                tag.set_attribute("target", "_top")?;
            }
            Lead::Nowhere => tag.remove_attribute(name),
        }
    }
    Ok(())
}

/// An attribute's value without character references, which the rewriter leaves in.
fn unescaped(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    let tag = format!("<p x=\"{}\">", value.replace('"', "&quot;"));
    let Some(Ok(Token::StartTag(tag))) = Tokenizer::new(&tag).next() else {
        return value.to_owned();
    };
    let decoded = tag.attributes.values().next().map(|value| value.to_vec());
    decoded.map_or_else(String::new, |value| String::from_utf8_lossy(&value).into_owned())
}

/// The rewriter escapes quotes alone.
fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(url: &str, html: &str, piece_bytes: usize) -> String {
        let capture = CdxRow {
            url: url.to_owned(),
            timestamp: "20140126200624".to_owned(),
            ..CdxRow::default()
        };
        let mut rewriter = Rewriter::new(&Spot::of(&capture));
        let mut sent = Vec::new();
        for piece in html.as_bytes().chunks(piece_bytes) {
            rewriter.push(piece, false, &mut sent).expect("short tags");
        }
        rewriter.push(b"", true, &mut sent).expect("short tags");
        String::from_utf8(sent).expect("UTF-8")
    }

    #[track_caller]
    fn check(html: &str, expected: &str) {
        for piece_bytes in [1, 7, html.len()] {
            assert_eq!(
                rewritten("http://a.example/b/c?d#e", html, piece_bytes),
                expected,
                "in pieces of {piece_bytes}"
            );
        }
    }

    fn page(url: &str) -> String {
        format!(
            "href=\"{}\" target=\"_top\"",
            link::page_at(url, &link::At::time("20140126200624")).replace('&', "&amp;")
        )
    }

    #[test]
    fn links_lead_to_what_the_archive_has() {
        for (reference, target) in [
            ("x", "http://a.example/b/x"),
            ("/x?y=1&amp;z=2#f", "http://a.example/x?y=1&z=2"),
            ("//b.example", "http://b.example/"),
            ("https://b.example/\u{e4} ", "https://b.example/%C3%A4"),
            ("", "http://a.example/b/c?d"),
            ("?q=&copy;", "http://a.example/b/c?q=%C2%A9"),
        ] {
            check(
                &format!("<a href='{reference}'>t</a>"),
                &format!("<a {}>t</a>", page(target)),
            );
        }
        check(
            "<AREA HREF=x>",
            &format!(
                "<AREA {}>",
                page("http://a.example/b/x").replacen("href", "HREF", 1)
            ),
        );
    }

    #[test]
    fn places_in_the_page_stay_and_what_leads_out_of_the_web_goes() {
        check("<a href='#f'>t</a>", "<a href=\"#f\">t</a>");
        check("<a href='/b/c?d#f'>t</a>", "<a href=\"#f\">t</a>");
        check(
            "<a href=mailto:a@b.example>t</a>",
            "<a href=\"mailto:a@b.example\">t</a>",
        );
        for reference in [
            "javascript:alert(1)",
            " java\nscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://[x",
        ] {
            check(
                &format!("<a href='{reference}' class=x>t</a>"),
                "<a class=x>t</a>",
            );
        }
        check(
            "<a ping=http://b.example target=_parent id=x>t</a>",
            "<a id=x>t</a>",
        );
        check(
            "<p>a &amp; b<img src=/x><form action=/y>",
            "<p>a &amp; b<img src=/x><form action=/y>",
        );
    }

    #[test]
    fn the_first_base_counts_also_in_drawings() {
        check(
            "<base href=http://c.example/d/><base href=http://e.example/><a href=x>t</a>",
            &format!(
                "<base href=http://c.example/d/><base href=http://e.example/><a {}>t</a>",
                page("http://c.example/d/x")
            ),
        );
        check(
            "<svg><a xlink:href='/x'>t</a></svg>",
            &format!("<svg><a xlink:{}>t</a></svg>", page("http://a.example/x")),
        );
    }

    #[test]
    fn a_tag_without_end_ends_the_page() {
        let capture = CdxRow::default();
        let mut rewriter = Rewriter::new(&Spot::of(&capture));
        let (mut sent, piece) = (Vec::new(), vec![b'x'; 1 << 20]);
        let mut pushed = rewriter.push(b"<a href=", false, &mut sent);
        for _ in 0..2 * TAG_BYTES_MAX / piece.len() {
            pushed = pushed.and_then(|()| rewriter.push(&piece, false, &mut sent));
        }
        assert!(pushed.is_err());
    }
}
