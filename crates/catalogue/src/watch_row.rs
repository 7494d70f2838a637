//! The freshness of a tree: the row that a watch keeps, and its meaning for readers.

use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::tables::Table;
use crate::varint::{Corrupt, Reader, put_signed};
use crate::watch_heartbeat::WatchHeartbeat;

/// Why a tree may differ from the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleReason {
    /// It changed, or may have changed, while no watch was running.
    Restart,
    /// More changes came at a time than could be recorded.
    Overflow,
    /// Another directory, or none, was at its path: its file system was not mounted.
    Away,
    /// The system does not allow this program to watch all of its directories.
    Limit,
    /// The watch ended normally.
    Ended,
    /// The watch did not end normally: it was killed, or the machine crashed.
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

/// Since when a tree may differ from the catalogue, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Stale {
    /// In milliseconds since 1970.
    pub since_ms: i64,
    /// The last reason.
    pub reason: StaleReason,
    /// Whether names were compared since then. Only changes that leave the times of directories
    /// unchanged, such as sizes, may be missing.
    pub has_names: bool,
}

/// The state of a tree, as a watch stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchRow {
    /// When the watch began; serves as its number.
    pub(crate) watch_ms: i64,
    /// Whether the watch has not recorded its end.
    pub(crate) is_live: bool,
    /// All earlier changes are in the catalogue, unless the tree is stale.
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

/// The freshness of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freshness {
    /// Whether a running watch keeps it current.
    pub is_watched: bool,
    /// All earlier changes are in the catalogue, unless the tree has been stale since before.
    pub current_until_ms: i64,
    /// Time of the last event, or 0.
    pub last_event_ms: i64,
    /// Since when it may be stale; `None` while it is current.
    pub stale: Option<Stale>,
}

impl Catalogue {
    pub(crate) fn watch_row(&self, root: &[u8]) -> Result<Option<WatchRow>, CatalogueError> {
        let row = self.tables.space(Table::Watches).get(root)?;
        Ok(row.map(|row| WatchRow::of_bytes(&row)).transpose()?)
    }

    /// Returns the freshness of a tree; `None` if it was never watched.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn freshness(&self, root: &[u8]) -> Result<Option<Freshness>, CatalogueError> {
        let Some(row) = self.watch_row(root)? else {
            return Ok(None);
        };
        let beat = WatchHeartbeat::read(&self.dir).filter(|beat| beat.watch_ms == row.watch_ms);
        let is_watched = row.is_live && beat.as_ref().is_some_and(|beat| beat.is_held);
        let until_ms = match beat {
            Some(beat) if row.stale.is_none() && row.is_live => beat.at_ms.max(row.current_until_ms),
            _ => row.current_until_ms,
        };
        let stale = if is_watched {
            row.stale
        } else {
            Some(self.stale_since(root, &row, until_ms)?)
        };
        Ok(Some(Freshness {
            is_watched,
            current_until_ms: until_ms,
            last_event_ms: row.last_event_ms,
            stale,
        }))
    }

    /// Returns the time, in milliseconds since 1970, before which all changes of a tree are in the
    /// catalogue: the start of the last full scan, or the time until which a watch kept it current.
    /// 0 if it was never scanned in full.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn known_until_ms(&self, root: &[u8]) -> Result<i64, CatalogueError> {
        let whole_ms = self.whole_since_ms(root)?;
        let watched_ms = self.freshness(root)?.map_or(0, |fresh| match fresh.stale {
            Some(stale) => stale.since_ms,
            None => fresh.current_until_ms,
        });
        Ok(if whole_ms > 0 { whole_ms.max(watched_ms) } else { 0 })
    }

    /// Returns the staleness of a tree without a running watch: since the watch ended, or since the
    /// last full scan began.
    fn stale_since(&self, root: &[u8], row: &WatchRow, until_ms: i64) -> Result<Stale, CatalogueError> {
        let reason = if row.is_live {
            StaleReason::Killed
        } else {
            StaleReason::Ended
        };
        let since_ms = row.stale.map_or(until_ms, |stale| stale.since_ms);
        Ok(Stale {
            since_ms: since_ms.max(self.whole_since_ms(root)?),
            reason,
            has_names: false,
        })
    }

    /// Returns whether a running watch keeps a tree current, or may: a watch that has just begun
    /// has not recorded its trees.
    pub(crate) fn may_be_watched(&self, root: &[u8]) -> Result<bool, CatalogueError> {
        let Some(beat) = WatchHeartbeat::read(&self.dir).filter(|beat| beat.is_held) else {
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

    /// Returns when the last finished scan of the whole tree began, in milliseconds since 1970, or
    /// 0.
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
