//! Links of an archived page, turned inwards: each leads to what this archive has of its target.
//!
//! `<a href>` (also in drawings) and `<area href>` become `/page?url=...&at=...`, with the time of the page they stand on;
//! that page says so where the target was not captured. Places in the same page and `mailto:` stay; whatever else
//! could lead somewhere loses its address ([`super::kept`]).

use archive::question::CdxRow;
use url::Url;

use crate::link;

/// Where a page stands: its address and the time it was captured.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    url: Option<Url>,
    at: String,
    is_xml: bool,
}

impl Spot {
    pub(super) fn of(capture: &CdxRow) -> Spot {
        Spot {
            url: Url::parse(&capture.url).ok(),
            at: capture.timestamp.clone(),
            is_xml: capture.mime == "application/xhtml+xml",
        }
    }

    /// The address of the page.
    pub(super) fn url(&self) -> Option<&Url> {
        self.url.as_ref()
    }

    /// Whether browsers read the page as XML.
    pub(super) fn is_xml(&self) -> bool {
        self.is_xml
    }

    /// The last label of the host.
    pub(super) fn top_level(&self) -> Option<&str> {
        self.url.as_ref()?.domain()?.rsplit('.').next()
    }

    /// Where a reference leads, resolved against `base`.
    pub(super) fn lead(&self, base: Option<&Url>, reference: &str) -> Lead {
        let reference = trimmed(reference);
        if reference.starts_with('#') {
            return Lead::Here(reference.to_owned());
        }
        let Some(mut target) = resolved(base, reference) else {
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
            _ => self.page_of(&target).map_or(Lead::Nowhere, Lead::Page),
        }
    }

    /// The document that a frame shows, if it is one of the web.
    pub(super) fn framed(&self, base: Option<&Url>, reference: &str) -> Option<Url> {
        let mut target = resolved(base, trimmed(reference))?;
        target.set_fragment(None);
        matches!(target.scheme(), "http" | "https").then_some(target)
    }

    /// The page of this server that tells of a URL at this time.
    pub(super) fn page_of(&self, target: &Url) -> Option<String> {
        link::if_short(link::page_at(target.as_str(), &link::At::time(&self.at)))
    }
}

fn trimmed(reference: &str) -> &str {
    reference.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control())
}

fn resolved(base: Option<&Url>, reference: &str) -> Option<Url> {
    match base {
        Some(base) => base.join(reference).ok(),
        None => Url::parse(reference).ok(),
    }
}

/// What becomes of a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// It stays in the page, or leaves the browser.
    Here(String),
    /// It leads to a page of this server.
    Page(String),
    Nowhere,
}
