//! URIs, and the links of current versions.

use super::Snapshot;
use crate::codec;
use crate::domain_of::DomainOf;
use crate::error::SnapshotError;
use crate::rows::{AnchorRow, LinkRow, UriRow};
use crate::tables::Table;
use crate::views::{links, uris};

impl Snapshot {
    /// Returns whether a URL key is captured, and the counts of links to it.
    pub fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError> {
        Ok(uris::read(self.cut(), url_key)?.map(|uri| UriRow {
            url_key: url_key.to_owned(),
            captured: uri.captured,
            is_page: uri.is_page,
            inlinks: uri.counts.inlinks,
            inlinks_external: uri.counts.inlinks_external,
        }))
    }

    /// Returns the number of external links to a URI, and the weightiest anchor texts of all links:
    /// at most 16, by weight and then by text.
    pub fn anchors(&self, url_key: &str) -> Result<(u64, Vec<AnchorRow>), SnapshotError> {
        uris::read_anchors(self.cut(), url_key)
    }

    /// Returns the URIs with keys from `from` (inclusive) to `to` (exclusive), sorted by key.
    pub fn uris_between<'s>(
        &'s self,
        from: &str,
        to: &str,
    ) -> impl Iterator<Item = Result<UriRow, SnapshotError>> + use<'s> {
        let rows = self.cut().range(Table::Uris, from.as_bytes(), to.as_bytes());
        rows.map(|row| {
            let (key, value) = row?;
            let decoded = codec::to_text(&key).and_then(|url_key| {
                let uri = uris::decode_counts(&value)?;
                Ok(UriRow {
                    url_key,
                    captured: uri.captured,
                    is_page: uri.is_page,
                    inlinks: uri.counts.inlinks,
                    inlinks_external: uri.counts.inlinks_external,
                })
            });
            self.cut().decode(Table::Uris, &key, decoded)
        })
    }

    /// Returns the keys of versions that link to a key, sorted: those after `after`, at most
    /// `limit`.
    pub fn sources(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        uris::read_sources(self.cut(), url_key, after, limit)
    }

    /// Returns the links of a key's current version, sorted by target key: those after target
    /// `after`, at most `limit`.
    pub fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        let mut taken = 0;
        let links = links::read(self.cut(), url_key, |target| {
            let is_wanted = taken < limit && after.is_none_or(|after| target > after.as_bytes());
            taken += usize::from(is_wanted);
            is_wanted
        })?;
        let mut domain_of = DomainOf::default();
        Ok(links
            .into_iter()
            .map(|link| link_row(&mut domain_of, url_key, link))
            .collect())
    }

    /// Returns the links to a key, sorted by source key: those after source `after`, at most
    /// `limit`.
    pub fn inlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        let mut domain_of = DomainOf::default();
        let mut rows = Vec::new();
        for source_key in uris::read_sources(self.cut(), url_key, after, limit)? {
            let links = links::read(self.cut(), &source_key, |target| target == url_key.as_bytes())?;
            rows.extend(
                links
                    .into_iter()
                    .map(|link| link_row(&mut domain_of, &source_key, link)),
            );
        }
        Ok(rows)
    }
}

pub(super) fn link_row(domain_of: &mut DomainOf, source_key: &str, link: extract::Link) -> LinkRow {
    LinkRow {
        source_key: source_key.to_owned(),
        external: domain_of.get(source_key) != domain_of.get(&link.url_key),
        target_key: link.url_key,
        target_url: link.url,
        anchor: link.anchor,
        nofollow: link.nofollow,
    }
}
