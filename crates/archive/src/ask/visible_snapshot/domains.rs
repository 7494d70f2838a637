//! Domains, counted over their visible URIs.

use index::{DomainRow, SnapshotError};

use super::VisibleSnapshot;

impl VisibleSnapshot<'_> {
    /// Returns the counts of a registered domain; `None` if it is completely hidden.
    pub(in crate::ask) fn domain(&self, name: &str) -> Result<Option<DomainRow>, SnapshotError> {
        match self.snapshot.domain(name)? {
            Some(row) if !self.sees_everything => self.domain_seen(row),
            row => Ok(row),
        }
    }

    /// Counts the visible part of a domain. Reads every URI of it, and every in-link of those.
    pub(in crate::ask) fn domain_seen(&self, row: DomainRow) -> Result<Option<DomainRow>, SnapshotError> {
        let mut visible = DomainRow {
            uris: 0,
            pages: 0,
            inlinks_external: 0,
            ..row
        };
        // A domain has a row only if a key has it, and a key's domain is a host name or an address.
        for range in urlkey::domain_ranges(&visible.domain).unwrap_or_default() {
            for uri in self.snapshot.uris_between(&range.start, &range.end) {
                let uri = uri?;
                // Below a public suffix that is itself a domain there are other domains.
                if *urlkey::domain_of_key(&uri.url_key) != *visible.domain {
                    continue;
                }
                if let Some(uri) = self.uri_seen(uri)? {
                    visible.uris += 1;
                    visible.pages += u64::from(uri.is_page);
                    visible.inlinks_external += uri.inlinks_external;
                }
            }
        }
        Ok((visible.uris > 0).then_some(visible))
    }

    /// Returns every domain with a visible URI, sorted by name, after `after`.
    pub(in crate::ask) fn all_domains(
        &self,
        after: Option<&str>,
    ) -> impl Iterator<Item = Result<DomainRow, SnapshotError>> {
        let domains = self.snapshot.all_domains(after);
        domains.filter_map(|row| match row {
            Ok(row) if !self.sees_everything => self.domain_seen(row).transpose(),
            row => Some(row),
        })
    }

    /// Returns every domain with its total counts, hidden URIs included, sorted by name. Use only
    /// to find out which may come first.
    pub(in crate::ask) fn domains_at_most(&self) -> impl Iterator<Item = Result<DomainRow, SnapshotError>> {
        self.snapshot.all_domains(None)
    }
}
