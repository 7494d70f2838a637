//! Links of an archived page. Each leads to this archive's page about its target.
//!
//! `<a href>` (also in drawings) and `<area href>` lead to the page about their target at the
//! capture time of the page that contains them. Fragments of the same page and `mailto:` are kept;
//! all other attributes that could lead somewhere lose their address ([`super::allow_list`]).

use url::Url;

use crate::scope::is_web;

/// A page whose HTML is rewritten.
#[derive(Debug, Clone)]
pub struct ArchivedPage {
    /// Address of the page. `None` if it is not a URL.
    pub url: Option<Url>,
    /// Time of the capture, as `page_address` takes it.
    pub time: String,
    /// Whether browsers parse the page as XML.
    pub is_xml: bool,
    /// Returns the address of the archive's page about a URL at a time, or `None` if the URL cannot
    /// have one. Links lead there.
    pub page_address: fn(url: &str, time: &str) -> Option<String>,
}

impl ArchivedPage {
    /// Returns the last label of the host.
    pub fn top_level(&self) -> Option<&str> {
        self.url.as_ref()?.domain()?.rsplit('.').next()
    }

    /// Returns the rewritten form of a reference, resolved against `base`.
    pub(super) fn link_target(&self, base: Option<&Url>, reference: &str) -> LinkTarget {
        let reference = trimmed(reference);
        if reference.starts_with('#') {
            return LinkTarget::Kept(reference.to_owned());
        }
        let Some(mut target) = resolved(base, reference) else {
            return LinkTarget::None;
        };
        match target.scheme() {
            "mailto" | "tel" => return LinkTarget::Kept(target.into()),
            "http" | "https" => {}
            _ => return LinkTarget::None,
        }
        let fragment = target.fragment().map(|fragment| format!("#{fragment}"));
        target.set_fragment(None);
        let same = |own: &Url| {
            let mut own = own.clone();
            own.set_fragment(None);
            own == target
        };
        match fragment {
            Some(fragment) if self.url.as_ref().is_some_and(same) => LinkTarget::Kept(fragment),
            _ => self
                .address_in_archive(&target)
                .map_or(LinkTarget::None, LinkTarget::Page),
        }
    }

    /// Returns the document that a frame shows, if its address is http or https.
    pub(super) fn frame_target(&self, base: Option<&Url>, reference: &str) -> Option<Url> {
        let mut target = resolved(base, trimmed(reference))?;
        target.set_fragment(None);
        is_web(&target).then_some(target)
    }

    /// Returns the address of the archive's page about a URL at this time.
    pub(super) fn address_in_archive(&self, target: &Url) -> Option<String> {
        (self.page_address)(target.as_str(), &self.time)
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
pub(super) enum LinkTarget {
    /// Kept: it leads to a place in the page or to another program, such as mail.
    Kept(String),
    /// Leads to a page of the archive.
    Page(String),
    /// Leads nowhere: the address is removed.
    None,
}
