//! Sums over the whole archive, updated with every epoch.

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::tables::Table;
use crate::views::rankings::RankingState;

/// Key of the row in table `meta`.
pub(crate) const ROW: &str = "totals";
const ROW_VERSION: u8 = 1;

/// Row `totals`: the epoch, sums, and the state that the writer keeps between epochs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TotalsRow {
    pub(crate) epoch: Epoch,
    pub(crate) records: u64,
    pub(crate) captures: u64,
    pub(crate) pages: u64,
    pub(crate) links: u64,
    pub(crate) uris: u64,
    pub(crate) domains: u64,
    pub(crate) quarantined: u64,
    /// Least and greatest fetch time of all captures; meaningless without any.
    pub(crate) fetch_time_ms_first: i64,
    pub(crate) fetch_time_ms_last: i64,
    /// First number not yet assigned to a URI.
    pub(crate) next_number: u64,
    /// Ranking over all URIs.
    pub(crate) ranking: RankingState,
}

impl TotalsRow {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![ROW_VERSION];
        for number in [
            self.epoch.0,
            self.records,
            self.captures,
            self.pages,
            self.links,
            self.uris,
            self.domains,
            self.quarantined,
            self.next_number,
        ] {
            codec::put_varint(&mut out, number);
        }
        codec::put_signed(&mut out, self.fetch_time_ms_first);
        codec::put_signed(&mut out, self.fetch_time_ms_last);
        self.ranking.encode(&mut out);
        out
    }

    fn decode(row: &[u8]) -> Result<TotalsRow, Corrupt> {
        let mut r = Reader::versioned(row, ROW_VERSION)?;
        Ok(TotalsRow {
            epoch: Epoch(r.varint()?),
            records: r.varint()?,
            captures: r.varint()?,
            pages: r.varint()?,
            links: r.varint()?,
            uris: r.varint()?,
            domains: r.varint()?,
            quarantined: r.varint()?,
            next_number: r.varint()?,
            fetch_time_ms_first: r.signed()?,
            fetch_time_ms_last: r.signed()?,
            ranking: RankingState::decode(&mut r)?,
        })
    }
}

/// Returns the row of a cut, or the row of an empty archive if it is not written yet.
pub(crate) fn read(cut: &Cut) -> Result<TotalsRow, SnapshotError> {
    match cut.get(Table::Meta, ROW.as_bytes())? {
        None => Ok(TotalsRow::default()),
        Some(row) => cut.decode(Table::Meta, ROW.as_bytes(), TotalsRow::decode(&row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let totals = TotalsRow {
            epoch: Epoch(3),
            records: 1,
            captures: 2,
            fetch_time_ms_first: -1,
            fetch_time_ms_last: 5,
            next_number: 1 << 33,
            ..TotalsRow::default()
        };
        assert_eq!(TotalsRow::decode(&totals.encode()), Ok(totals));
    }
}
