//! Links of an archived page. Each leads to what this archive has of its target.
//!
//! `<a href>` (also in drawings) and `<area href>` become `/page?url=...&at=...` with the time of the page
//! they are on. If the target was not captured, that page says so. Places in the same page and `mailto:` are
//! kept; everything else that could lead somewhere loses its address ([`super::kept`]).

use archive::question::CdxRow;
use url::Url;

use crate::link;

/// The address of a page and the time it was captured.
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

    /// What a reference becomes, resolved against `base`.
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

    /// The document that a frame shows, if its address is http or https.
    pub(super) fn framed(&self, base: Option<&Url>, reference: &str) -> Option<Url> {
        let mut target = resolved(base, trimmed(reference))?;
        target.set_fragment(None);
        matches!(target.scheme(), "http" | "https").then_some(target)
    }

    /// The address of this server's page about a URL at this time.
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

/// What a link becomes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// It is kept: it leads to a place in the page or to another program, such as mail.
    Here(String),
    /// It leads to a page of this server.
    Page(String),
    Nowhere,
}
