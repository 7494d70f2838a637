//! A watched tree: its freshness, and when it is to be swept.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::attributes::FileId;
use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::timed_call::TimedCall;
use crate::walk::{Handles, stat_at};
use crate::watch_row::{Stale, StaleReason, WatchRow};

pub(super) struct Tree {
    /// Its path, as bytes.
    pub(super) path: Vec<u8>,
    /// Its directory, once it was scanned in full.
    pub(super) root: Option<FileId>,
    /// Whether it was missing at the last check. Then it is not read.
    pub(super) is_away: bool,
    pub(super) stale: Option<Stale>,
    /// Whether its row in the catalogue says that it is stale.
    pub(super) is_stale_recorded: bool,
    pub(super) current_until_ms: i64,
    /// When to read the directories whose times have changed.
    pub(super) names_due: Option<Instant>,
    /// When to read the whole tree.
    pub(super) whole_due: Instant,
    /// Delay of the next full scan.
    delay: Duration,
    delay_max: Duration,
    answer_within: Duration,
    /// The last check of its directory, which may hang.
    check: TimedCall<bool>,
}

impl Tree {
    /// Creates the state of a tree from the catalogue.
    pub(super) fn new(
        catalogue: &Catalogue,
        path: Vec<u8>,
        now_ms: i64,
        delays: (Duration, Duration),
        answer_within: Duration,
    ) -> Result<Tree, CatalogueError> {
        let root = catalogue.root(&path)?.filter(|root| root.whole_scan > 0);
        let fresh = catalogue.freshness(&path)?;
        let since_ms = match fresh.and_then(|fresh| fresh.stale) {
            Some(stale) => stale.since_ms,
            None => catalogue.whole_since_ms(&path)?,
        };
        let now = system::now();
        let is_known = root.is_some();
        Ok(Tree {
            path,
            root: root.map(|root| root.attributes.id),
            is_away: false,
            stale: Some(Stale {
                since_ms: if is_known { since_ms } else { now_ms },
                reason: StaleReason::Restart,
                has_names: false,
            }),
            is_stale_recorded: false,
            current_until_ms: since_ms,
            names_due: is_known.then_some(now),
            whole_due: if is_known { now + delays.0 } else { now },
            delay: delays.0,
            delay_max: delays.1,
            answer_within,
            check: TimedCall::default(),
        })
    }

    /// Returns whether the catalogued directory is at its path. A directory that does not answer is
    /// not.
    pub(super) fn is_there(&mut self, root: FileId) -> bool {
        let path = self.path_buf();
        let look = move || {
            let looked = Handles::new()
                .open_root(&path)
                .and_then(|handle| stat_at(&handle, b""));
            looked.is_ok_and(|looked| looked.id(root.volume) == root)
        };
        self.check.call(self.answer_within, look).unwrap_or(false)
    }

    pub(super) fn path_buf(&self) -> PathBuf {
        PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
            &self.path,
        ))
    }

    /// Marks the tree as stale: names are compared soon, and the whole tree later, with increasing
    /// delays.
    pub(super) fn mark_stale(&mut self, reason: StaleReason, names_after: Duration) {
        let since_ms = self.stale.map_or(self.current_until_ms, |stale| stale.since_ms);
        self.stale = Some(Stale {
            since_ms,
            reason,
            has_names: false,
        });
        let now = system::now();
        self.names_due.get_or_insert(now + names_after);
        self.whole_due = self.whole_due.min(now + self.delay);
    }

    /// All directories whose times had changed were read.
    pub(super) fn names_compared(&mut self) {
        self.names_due = None;
        if let Some(stale) = &mut self.stale {
            stale.has_names = true;
        }
    }

    /// The whole tree was read, and was watched since before the read.
    pub(super) fn is_current(&mut self, since_ms: i64) {
        self.stale = None;
        self.names_due = None;
        self.current_until_ms = since_ms;
    }

    /// Increases the delay of the next full scan.
    pub(super) fn put_off(&mut self, usual: Duration) {
        self.delay = (self.delay * 2).min(self.delay_max);
        let after = if self.stale.is_some() { self.delay } else { usual };
        self.whole_due = system::now() + after;
    }

    pub(super) fn row(&self, watch_ms: i64, is_live: bool, last_event_ms: i64) -> WatchRow {
        WatchRow {
            watch_ms,
            is_live,
            current_until_ms: self.current_until_ms,
            last_event_ms,
            stale: self.stale,
        }
    }
}
