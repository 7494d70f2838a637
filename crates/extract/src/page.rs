//! Makes the page of a document: resolves links and images, normalises declarations, decides the
//! language.

use crate::html::Document;
use crate::links::{LinkSet, Occurrence, REFERENCE_BYTES_MAX};
use crate::resolve::Resolver;
use crate::text::Collapser;
use crate::{LinkKind, LinkScope, Page, images, language};

/// Largest number of characters kept of `meta name=robots`.
const ROBOTS_CHARS_MAX: usize = 256;

/// A document, with the needed fields of its capture.
pub(crate) struct PageSource<'a> {
    pub(crate) document: Document,
    pub(crate) url: &'a str,
    pub(crate) url_key: &'a str,
    /// The Content-Language of the HTTP header.
    pub(crate) content_language: Option<&'a str>,
    /// The absolute URL that the `Refresh` of the HTTP header leads to.
    pub(crate) refresh: Option<&'a str>,
    pub(crate) scope: LinkScope,
}

/// Makes the page. If the `url` crate cannot parse the URL of the page, it has no links.
pub(crate) fn assemble(source: PageSource) -> Page {
    let PageSource {
        document,
        url,
        url_key,
        content_language,
        refresh,
        scope,
    } = source;
    let resolver = Resolver::new(url, document.base.as_deref());
    let mut page = Page::default();
    if let Some(resolver) = &resolver {
        let mut set = LinkSet::new(resolver, url_key, scope);
        set.reserve(document.links_count());
        let of_header = refresh.map(refresh_link);
        of_header
            .into_iter()
            .chain(document.links())
            .for_each(|occurrence| set.add(occurrence));
        (page.links, page.links_dropped) = set.finish();
        page.canonical = document
            .canonical
            .as_deref()
            .and_then(|reference| resolver.resolve(reference))
            .filter(|url| url.len() <= REFERENCE_BYTES_MAX);
    }
    page.robots = document.robots.as_deref().and_then(robots);
    // The document's own declaration is more reliable than the server's.
    let declared = [
        document.language.as_deref(),
        document.content_language.as_deref(),
        content_language,
    ];
    let declared = declared.into_iter().flatten().find_map(language::declared);
    page.title = document.title.finish().0;
    (page.text, page.text_truncated) = document.text.finish();
    if let Some(resolver) = &resolver {
        page.images = images::resolve(document.images.into_list(), resolver, &page.text);
    }
    page.language = declared
        .or_else(|| language::detect(&page.text))
        .unwrap_or_default();
    page
}

/// Returns the link of a `Refresh` header.
pub(crate) fn refresh_link(reference: &str) -> Occurrence<&str> {
    Occurrence {
        reference,
        anchor: "",
        nofollow: false,
        kind: LinkKind::Refresh,
    }
}

/// Returns the value of `meta name=robots` in lower case.
pub(crate) fn robots(content: &str) -> Option<String> {
    let mut collapser = Collapser::line(ROBOTS_CHARS_MAX);
    collapser.push(content.as_bytes());
    let robots = collapser.finish().0.to_lowercase();
    (!robots.is_empty()).then_some(robots)
}
