//! Links of an archived page. Each leads to this archive's page about its target.
//!
//! `<a href>` (also in drawings) and `<area href>` become `/page?url=...&at=...` with the capture
//! time of the page that contains them. If the target was not captured, that page says so.
//! Fragments of the same page and `mailto:` are kept; all other attributes that could lead
//! somewhere lose their address ([`super::kept`]).

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

    /// Returns the address of the page.
    pub(super) fn url(&self) -> Option<&Url> {
        self.url.as_ref()
    }

    /// Returns whether browsers parse the page as XML.
    pub(super) fn is_xml(&self) -> bool {
        self.is_xml
    }

    /// Returns the last label of the host.
    pub(super) fn top_level(&self) -> Option<&str> {
        self.url.as_ref()?.domain()?.rsplit('.').next()
    }

    /// Returns the rewritten form of a reference, resolved against `base`.
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

    /// Returns the document that a frame shows, if its address is http or https.
    pub(super) fn framed(&self, base: Option<&Url>, reference: &str) -> Option<Url> {
        let mut target = resolved(base, trimmed(reference))?;
        target.set_fragment(None);
        matches!(target.scheme(), "http" | "https").then_some(target)
    }

    /// Returns the address of this server's page about a URL at this time.
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

/// The rewritten form of a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Kept: it leads to a place in the page or to another program, such as mail.
    Here(String),
    /// Leads to a page of this server.
    Page(String),
    Nowhere,
}
