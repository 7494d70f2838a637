//! Domains, and URIs in rank order.

use super::Snapshot;
use crate::cut::Row;
use crate::error::SnapshotError;
use crate::rows::{DomainRow, TopRow};
use crate::tables::Table;
use crate::views::rankings::{Ranked, Scope};
use crate::views::uris::Counts;
use crate::views::{domains, rankings};

impl Snapshot {
    /// Returns the counts of a registered domain.
    pub fn domain(&self, domain: &str) -> Result<Option<DomainRow>, SnapshotError> {
        Ok(domains::read(self.cut(), domain)?.map(|row| domain_row(domain.to_owned(), &row)))
    }

    /// Returns domains sorted by name: those after `after`, at most `limit`.
    pub fn domains(&self, after: Option<&str>, limit: usize) -> Result<Vec<DomainRow>, SnapshotError> {
        self.all_domains(after).take(limit).collect()
    }

    /// Returns all domains after `after`, sorted by name.
    pub fn all_domains<'s>(
        &'s self,
        after: Option<&str>,
    ) -> impl Iterator<Item = Result<DomainRow, SnapshotError>> + use<'s> {
        domains::scan(self.cut(), after).map(|row| self.domain_row(row?))
    }

    pub(crate) fn domain_row(&self, (key, value): Row) -> Result<DomainRow, SnapshotError> {
        let decoded =
            domains::domain_of_row(&key).and_then(|name| Ok(domain_row(name, &domains::decode(&value)?)));
        self.cut().decode(Table::Domains, &key, decoded)
    }

    /// Returns URIs of a domain, or all, in rank order: those after `after` (as ranked in this
    /// snapshot), at most `limit`.
    pub fn top(
        &self,
        domain: Option<&str>,
        after: Option<&TopRow>,
        limit: usize,
    ) -> Result<Vec<TopRow>, SnapshotError> {
        let after = after.map(|row| Ranked {
            counts: Counts {
                inlinks: row.inlinks,
                inlinks_external: row.inlinks_external,
            },
            url_key: row.url_key.clone(),
        });
        let ranked = match domain {
            None => rankings::read(
                self.cut(),
                Scope::All,
                &self.inner.totals.ranking,
                after.as_ref(),
                limit,
            )?,
            Some(domain) => {
                let state = domains::read(self.cut(), domain)?.unwrap_or_default();
                rankings::read(
                    self.cut(),
                    Scope::Domain(domain),
                    &state.ranking,
                    after.as_ref(),
                    limit,
                )?
            }
        };
        let row = |ranked: Ranked| TopRow {
            url_key: ranked.url_key,
            inlinks: ranked.counts.inlinks,
            inlinks_external: ranked.counts.inlinks_external,
        };
        Ok(ranked.into_iter().map(row).collect())
    }
}

fn domain_row(domain: String, row: &domains::DomainState) -> DomainRow {
    DomainRow {
        domain,
        uris: row.uris,
        pages: row.pages,
        inlinks_external: row.inlinks_external,
    }
}
