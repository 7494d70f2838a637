//! The links of one capture: resolved, deduplicated, in scope, bounded.
//!
//! Invariants: one link per target key, in the order of first occurrence; `anchor` is the first
//! that is not empty; `nofollow` is set only if every occurrence has it; the page's own key is
//! never a target; at most [`LINKS_MAX`] links. `dropped` counts the distinct targets beyond that,
//! references that are too long, and all links after [`LINK_BYTES_MAX`] bytes were spent.

use crate::resolve::Resolver;
use crate::text::Collapser;
use crate::{Link, LinkKind, simple};
use hashbrown::{HashSet, HashTable};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

/// Which links of a page are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LinkScope {
    /// Every link except those to the page's own key.
    #[default]
    All,
    /// Only links whose target has another registered domain than the page.
    External,
}

impl LinkScope {
    /// Returns its name on the command line and in responses.
    pub fn name(self) -> &'static str {
        match self {
            LinkScope::All => "all",
            LinkScope::External => "external",
        }
    }
}

impl std::fmt::Display for LinkScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Largest number of links kept of a page.
pub const LINKS_MAX: usize = 10_000;

/// Largest number of characters kept of an anchor text.
pub const ANCHOR_CHARS_MAX: usize = 256;

/// Longer references are counted but not kept as links: their keys would be longer than an index
/// can store.
pub(crate) const REFERENCE_BYTES_MAX: usize = 64 << 10;

/// Maximum number of bytes of resolved URLs and keys, and of bases read for them, for one page.
/// Resolving a short reference reads the whole base, and may copy it. Without this bound a page of
/// 100 KB could need gigabytes, and one of 1 MB minutes.
const LINK_BYTES_MAX: usize = 64 << 20;

/// Returns whether a `rel` says that the link is no recommendation.
pub(crate) fn is_nofollow(rel: Option<&[u8]>) -> bool {
    const WORDS: [&[u8]; 3] = [b"nofollow", b"ugc", b"sponsored"];
    rel.is_some_and(|rel| {
        rel.split(u8::is_ascii_whitespace)
            .any(|word| WORDS.iter().any(|w| word.eq_ignore_ascii_case(w)))
    })
}

/// One occurrence of a link, as written in the document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occurrence<Text> {
    /// The reference, not yet resolved.
    pub(crate) reference: Text,
    /// Anchor text, with any spacing and length.
    pub(crate) anchor: Text,
    pub(crate) nofollow: bool,
    pub(crate) kind: LinkKind,
}

/// The resolved target of a reference.
#[derive(Debug)]
pub(crate) struct LinkTarget {
    url_key: String,
    url: String,
}

/// Collects the links of one page.
pub(crate) struct LinkSet<'a> {
    resolver: &'a Resolver,
    page_key: &'a str,
    scope: Option<ExternalOnly>,
    links: Vec<Link>,
    /// Positions in `links`, by the hash of the key.
    places: HashTable<u32>,
    /// Hashes of the keys beyond the limit, and of references that are not resolved. Two with the
    /// same hash count once.
    overflow: HashSet<u64, FxBuildHasher>,
    /// The rest of [`LINK_BYTES_MAX`].
    bytes_left: usize,
}

/// The data that `LinkScope::External` needs to drop a link before it is resolved.
struct ExternalOnly {
    page_host: String,
    page_domain: String,
    page_key: String,
    /// Whether references without a host stay within the domain of the page.
    base_is_internal: bool,
    /// The last host and its result: links to one host often follow one another.
    last: (String, TargetSite),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetSite {
    Internal,
    External,
    /// Only the key of the target can decide.
    Unknown,
}

impl<'a> LinkSet<'a> {
    /// Makes an empty set for the page of `resolver`.
    pub(crate) fn new(resolver: &'a Resolver, page_key: &'a str, scope: LinkScope) -> Self {
        LinkSet {
            resolver,
            page_key,
            scope: (scope == LinkScope::External).then(|| ExternalOnly::new(resolver, page_key)),
            links: Vec::new(),
            places: HashTable::new(),
            overflow: HashSet::default(),
            bytes_left: LINK_BYTES_MAX,
        }
    }

    /// Reserves memory for the links of `occurrences` occurrences, because growing step by step
    /// would copy them several times.
    pub(crate) fn reserve(&mut self, occurrences: usize) {
        let count = occurrences.min(LINKS_MAX);
        let links = &mut self.links;
        links.reserve(count);
        self.places
            .reserve(count, |place| hash_of(&links[*place as usize]));
    }

    /// Adds one occurrence. Occurrences must come in document order.
    pub(crate) fn add(&mut self, occurrence: Occurrence<&str>) {
        if let Some(target) = self.target_of(occurrence.reference) {
            self.insert(target, occurrence.anchor, occurrence.nofollow, occurrence.kind);
        }
    }

    /// Returns the target of a reference, if that is a link of this page.
    pub(crate) fn target_of(&mut self, reference: &str) -> Option<LinkTarget> {
        let place = match &mut self.scope {
            Some(scope) => scope.place_of(reference),
            None => TargetSite::External,
        };
        if place == TargetSite::Internal {
            return None;
        }
        if reference.len() > REFERENCE_BYTES_MAX || self.bytes_left == 0 {
            // References such as `javascript:` and `data:` are no links, however long they are.
            if !simple::has_other_scheme(reference.trim_ascii_start()) {
                self.overflow.insert(FxBuildHasher.hash_one(reference));
            }
            return None;
        }
        let url = self.resolver.resolve(reference);
        let url_bytes = url.as_ref().map_or(0, String::len);
        self.spend(url_bytes.max(self.resolver.base_bytes_read(reference)));
        let url = url?;
        let url_key = urlkey::url_key(&url).ok()?;
        self.spend(url_key.len());
        if url_key == self.page_key {
            return None;
        }
        if place == TargetSite::Unknown
            && self
                .scope
                .as_ref()
                .is_some_and(|scope| scope.is_internal_key(&url_key))
        {
            return None;
        }
        Some(LinkTarget { url_key, url })
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// Adds an occurrence of a link to `target`.
    pub(crate) fn insert(&mut self, target: LinkTarget, anchor: &str, nofollow: bool, kind: LinkKind) {
        let LinkTarget { url_key, url } = target;
        let hash = FxBuildHasher.hash_one(url_key.as_str());
        let links = &mut self.links;
        if let Some(place) = self
            .places
            .find(hash, |place| links[*place as usize].url_key == url_key)
        {
            let link = &mut links[*place as usize];
            link.nofollow &= nofollow;
            if link.anchor.is_empty() {
                link.anchor = anchor_of(anchor);
            }
            return;
        }
        if links.len() == LINKS_MAX {
            self.overflow.insert(hash);
            return;
        }
        let place = links.len() as u32;
        links.push(Link {
            url_key,
            url,
            anchor: anchor_of(anchor),
            nofollow,
            kind,
        });
        self.places
            .insert_unique(hash, place, |place| hash_of(&links[*place as usize]));
    }

    /// Returns the links, and how many were not kept.
    pub(crate) fn finish(self) -> (Vec<Link>, u32) {
        (self.links, u32::try_from(self.overflow.len()).unwrap_or(u32::MAX))
    }
}

fn hash_of(link: &Link) -> u64 {
    FxBuildHasher.hash_one(link.url_key.as_str())
}

impl ExternalOnly {
    fn new(resolver: &Resolver, page_key: &str) -> Self {
        let mut scope = ExternalOnly {
            page_host: resolver.page_host().to_owned(),
            page_domain: urlkey::domain_of_key(page_key),
            page_key: page_key.to_owned(),
            base_is_internal: false,
            last: (String::new(), TargetSite::Unknown),
        };
        scope.base_is_internal = scope.place_of_host(resolver.base_host()) == TargetSite::Internal;
        scope
    }

    fn place_of(&mut self, reference: &str) -> TargetSite {
        if let Some(absolute) = simple::split_absolute(reference) {
            return self.place_of_host(absolute.host);
        }
        if self.base_is_internal && simple::is_relative(reference) {
            TargetSite::Internal
        } else {
            TargetSite::Unknown
        }
    }

    fn place_of_host(&mut self, host: &str) -> TargetSite {
        if host == self.page_host {
            return TargetSite::Internal;
        }
        if host != self.last.0 {
            let place = self.look_up(host);
            self.last.0.clear();
            self.last.0.push_str(host);
            self.last.1 = place;
        }
        self.last.1
    }

    /// Decides from the host alone. The domain of a host is that of its key, unless the `www` that
    /// keys drop is part of the domain.
    fn look_up(&self, host: &str) -> TargetSite {
        if !simple::is_canonical_host(host) {
            return TargetSite::Unknown;
        }
        let domain = urlkey::domain_of_host(host);
        if domain.starts_with("www") {
            TargetSite::Unknown
        } else if domain == self.page_domain {
            TargetSite::Internal
        } else {
            TargetSite::External
        }
    }

    fn is_internal_key(&self, url_key: &str) -> bool {
        urlkey::same_domain(url_key, &self.page_key)
    }
}

/// Returns anchor text with collapsed white space, cut to [`ANCHOR_CHARS_MAX`].
fn anchor_of(text: &str) -> String {
    if text.len() <= ANCHOR_CHARS_MAX && is_collapsed(text.as_bytes()) {
        return text.to_owned();
    }
    let mut collapser = Collapser::line(ANCHOR_CHARS_MAX);
    collapser.push(text.as_bytes());
    collapser.finish().0
}

/// Returns whether collapsing would change nothing: ASCII, single blanks, no blanks at the ends.
/// May return false for other such texts.
fn is_collapsed(text: &[u8]) -> bool {
    let mut before = b' ';
    for byte in text {
        if !matches!(byte, b' '..=b'~') || (*byte == b' ' && before == b' ') {
            return false;
        }
        before = *byte;
    }
    text.is_empty() || before != b' '
}

#[cfg(test)]
mod tests;
