//! Rankings by visible in-links.
//!
//! The number of visible in-links of a URI is never greater than the total. So URIs are visited in
//! the order of all their in-links, until the rest cannot come before the rows already found.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use index::{SnapshotError, TopRow};

use super::VisibleSnapshot;

/// Number of URIs read at a time.
const URIS: usize = 500;

/// A place in a ranking: the smallest comes first.
type Rank = (Reverse<u64>, Reverse<u64>, String);

impl VisibleSnapshot<'_> {
    /// Returns the URIs of a domain, or of all domains, in rank order: those after `after`, at most
    /// `limit`.
    pub(in crate::ask) fn top(
        &self,
        domain: Option<&str>,
        after: Option<&TopRow>,
        limit: usize,
    ) -> Result<Vec<TopRow>, SnapshotError> {
        if self.sees_everything {
            return self.snapshot.top(domain, after, limit);
        }
        let after = after.map(rank);
        let mut best: BTreeSet<Rank> = BTreeSet::new();
        let mut last: Option<TopRow> = None;
        'all: loop {
            let rows = self.snapshot.top(domain, last.as_ref(), URIS)?;
            for row in &rows {
                // This row and all later ones have this place at best.
                if best.len() >= limit && best.last().is_none_or(|worst| *worst < rank(row)) {
                    break 'all;
                }
                if let Some(visible) = self.top_seen(row)?
                    && after.as_ref().is_none_or(|after| rank(&visible) > *after)
                {
                    best.insert(rank(&visible));
                    if best.len() > limit {
                        best.pop_last();
                    }
                }
            }
            if rows.len() < URIS {
                break;
            } else {
                last = rows.into_iter().next_back()
            }
        }
        let row = |(Reverse(inlinks_external), Reverse(inlinks), url_key)| TopRow {
            url_key,
            inlinks,
            inlinks_external,
        };
        Ok(best.into_iter().map(row).collect())
    }

    fn top_seen(&self, row: &TopRow) -> Result<Option<TopRow>, SnapshotError> {
        Ok(self.uri(&row.url_key)?.map(|uri| TopRow {
            url_key: uri.url_key,
            inlinks: uri.inlinks,
            inlinks_external: uri.inlinks_external,
        }))
    }
}

fn rank(row: &TopRow) -> Rank {
    (
        Reverse(row.inlinks_external),
        Reverse(row.inlinks),
        row.url_key.clone(),
    )
}
