//! Domains, counted over what is seen of them.

use weave::{DomainRow, SnapshotError};

use super::Seen;

impl Seen<'_> {
    /// Counts of a registered domain; `None` where nothing of it is seen.
    pub(in crate::ask) fn domain(&self, name: &str) -> Result<Option<DomainRow>, SnapshotError> {
        match self.snapshot.domain(name)? {
            Some(row) if !self.sees_everything => self.domain_seen(row),
            row => Ok(row),
        }
    }

    /// What is seen of a domain: every URI of it is looked at, and every in-link of those.
    pub(in crate::ask) fn domain_seen(&self, row: DomainRow) -> Result<Option<DomainRow>, SnapshotError> {
        let mut seen = DomainRow {
            uris: 0,
            pages: 0,
            inlinks_external: 0,
            ..row
        };
        // A domain has a row only if a key has it, and a key's domain is a host name or an address.
        for range in urlkey::domain_ranges(&seen.domain).unwrap_or_default() {
            for uri in self.snapshot.uris_between(&range.start, &range.end) {
                let uri = uri?;
                // Below a public suffix that is a domain itself there are other domains.
                if *urlkey::domain_of_key(&uri.url_key) != *seen.domain {
                    continue;
                }
                if let Some(uri) = self.uri_seen(uri)? {
                    seen.uris += 1;
                    seen.pages += u64::from(uri.is_page);
                    seen.inlinks_external += uri.inlinks_external;
                }
            }
        }
        Ok((seen.uris > 0).then_some(seen))
    }

    /// Every domain of which something is seen, sorted by name: those after `after`.
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

    /// Every domain as it is, seen or not, sorted by name: only to find out which may come first.
    pub(in crate::ask) fn domains_at_most(&self) -> impl Iterator<Item = Result<DomainRow, SnapshotError>> {
        self.snapshot.all_domains(None)
    }
}
