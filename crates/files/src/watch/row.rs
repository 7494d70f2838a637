//! How fresh a tree is: the row that a watch keeps of it, and what a reader may conclude from it.

use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::tables::Table;
use crate::varint::{Corrupt, Reader, put_signed};
use crate::watch::alive::Alive;

/// Why a tree may have changed without the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleReason {
    /// It changed, or may have, while no watch ran.
    Restart,
    /// More changed at a time than could be noted.
    Overflow,
    /// Another directory was in its place, or none: what was mounted there was not.
    Away,
    /// The system does not let this program watch all of its directories.
    Limit,
    /// The watch ended in order.
    Ended,
    /// The watch is gone and did not say so: it was killed, or the machine stopped.
    Killed,
}

impl StaleReason {
    const ALL: [StaleReason; 6] = [
        StaleReason::Restart,
        StaleReason::Overflow,
        StaleReason::Away,
        StaleReason::Limit,
        StaleReason::Ended,
        StaleReason::Killed,
    ];
}

/// Since when a tree may have changed without the catalogue, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Stale {
    /// In milliseconds since 1970.
    pub since_ms: i64,
    /// The last reason.
    pub reason: StaleReason,
    /// Whether names were compared since: what may be wrong is what a directory's times do not show, such as sizes.
    pub has_names: bool,
}

/// What a watch keeps of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchRow {
    /// When the process that watches, or watched, began: its number.
    pub(crate) watch_ms: i64,
    /// Whether it has not said that it ended.
    pub(crate) is_live: bool,
    /// What changed before is in the catalogue, unless it is stale.
    pub(crate) current_until_ms: i64,
    pub(crate) last_event_ms: i64,
    pub(crate) stale: Option<Stale>,
}

impl WatchRow {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.is_live)];
        put_signed(&mut out, self.watch_ms);
        put_signed(&mut out, self.current_until_ms);
        put_signed(&mut out, self.last_event_ms);
        match self.stale {
            None => out.push(0),
            Some(stale) => {
                out.push(1 + u8::from(stale.has_names));
                out.push(stale.reason as u8);
                put_signed(&mut out, stale.since_ms);
            }
        }
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<WatchRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a watch");
        let is_live = reader.byte()? != 0;
        let (watch_ms, current_until_ms) = (reader.signed()?, reader.signed()?);
        let last_event_ms = reader.signed()?;
        let stale = match reader.byte()? {
            0 => None,
            has_names => {
                let number = usize::from(reader.byte()?);
                let reason = StaleReason::ALL.get(number).ok_or(reader.corrupt())?;
                Some(Stale {
                    since_ms: reader.signed()?,
                    reason: *reason,
                    has_names: has_names > 1,
                })
            }
        };
        Ok(WatchRow {
            watch_ms,
            is_live,
            current_until_ms,
            last_event_ms,
            stale,
        })
    }
}

/// How fresh a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freshness {
    /// Whether a watch runs that keeps it current.
    pub is_watched: bool,
    /// What changed before is in the catalogue, unless it is stale since earlier.
    pub current_until_ms: i64,
    /// When the last event came; 0 if none did.
    pub last_event_ms: i64,
    /// Since when it may be stale; `None` while it is current.
    pub stale: Option<Stale>,
}

impl Catalogue {
    pub(crate) fn watch_row(&self, root: &[u8]) -> Result<Option<WatchRow>, CatalogueError> {
        let row = self.tables.space(Table::Watches).get(root)?;
        Ok(row.map(|row| WatchRow::of_bytes(&row)).transpose()?)
    }

    /// How fresh a tree is; `None` if it was never watched.
    ///
    /// # Errors
    /// A row could not be read.
    pub fn freshness(&self, root: &[u8]) -> Result<Option<Freshness>, CatalogueError> {
        let Some(row) = self.watch_row(root)? else {
            return Ok(None);
        };
        let beat = Alive::of(&self.dir).filter(|beat| beat.watch_ms == row.watch_ms);
        let is_watched = row.is_live && beat.as_ref().is_some_and(|beat| beat.is_held);
        let until_ms = match beat {
            Some(beat) if row.stale.is_none() && row.is_live => beat.at_ms.max(row.current_until_ms),
            _ => row.current_until_ms,
        };
        let stale = match is_watched {
            true => row.stale,
            false => Some(self.stale_since(root, &row, until_ms)?),
        };
        Ok(Some(Freshness {
            is_watched,
            current_until_ms: until_ms,
            last_event_ms: row.last_event_ms,
            stale,
        }))
    }

    /// All that changed in a tree before this time, in milliseconds since 1970, is in the catalogue: since then no scan has read
    /// all of it, nor has a watch kept it current. 0 if it was never scanned whole.
    ///
    /// # Errors
    /// A row could not be read.
    pub fn known_until_ms(&self, root: &[u8]) -> Result<i64, CatalogueError> {
        let whole_ms = self.whole_since_ms(root)?;
        let watched_ms = self.freshness(root)?.map_or(0, |fresh| match fresh.stale {
            Some(stale) => stale.since_ms,
            None => fresh.current_until_ms,
        });
        Ok(if whole_ms > 0 { whole_ms.max(watched_ms) } else { 0 })
    }

    /// What no watch keeps current is stale since the watch ended, or the last scan of all of it began.
    fn stale_since(&self, root: &[u8], row: &WatchRow, until_ms: i64) -> Result<Stale, CatalogueError> {
        let reason = match row.is_live {
            true => StaleReason::Killed,
            false => StaleReason::Ended,
        };
        let since_ms = row.stale.map_or(until_ms, |stale| stale.since_ms);
        Ok(Stale {
            since_ms: since_ms.max(self.whole_since_ms(root)?),
            reason,
            has_names: false,
        })
    }

    /// Whether a watch that runs keeps a tree current, or may: one that has just begun has not said which trees are its own.
    pub(crate) fn may_be_watched(&self, root: &[u8]) -> Result<bool, CatalogueError> {
        let Some(beat) = Alive::of(&self.dir).filter(|beat| beat.is_held) else {
            return Ok(false);
        };
        let is_of = |row: &WatchRow| row.watch_ms == beat.watch_ms;
        if let Some(row) = self.watch_row(root)?
            && is_of(&row)
        {
            return Ok(true);
        }
        for row in self.tables.space(Table::Watches).iter() {
            if is_of(&WatchRow::of_bytes(&row.value()?)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// When the last scan of all of a tree began, in milliseconds since 1970; 0 if none ended.
    pub(crate) fn whole_since_ms(&self, root: &[u8]) -> Result<i64, CatalogueError> {
        let Some(root) = self.root(root)?.filter(|root| root.whole_scan > 0) else {
            return Ok(0);
        };
        Ok(self.scan_row(root.whole_scan)?.map_or(0, |scan| scan.begun_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let stales = StaleReason::ALL.into_iter().flat_map(|reason| {
            [true, false].map(|has_names| {
                Some(Stale {
                    since_ms: 1_700_000_000_000,
                    reason,
                    has_names,
                })
            })
        });
        for stale in stales.chain([None]) {
            let row = WatchRow {
                watch_ms: 1_800_000_000_000,
                is_live: stale.is_some(),
                current_until_ms: 5,
                last_event_ms: 0,
                stale,
            };
            let bytes = row.to_bytes();
            assert_eq!(WatchRow::of_bytes(&bytes), Ok(row));
            for end in 0..bytes.len() {
                assert!(WatchRow::of_bytes(&bytes[..end]).is_err());
            }
        }
    }
}
