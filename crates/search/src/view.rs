//! A consistent cut of the index for searching.

use std::sync::Arc;

use parking_lot::Mutex;
use rights::{Sight, SightId};
use rustc_hash::FxHashMap;
use tantivy::Searcher;

use crate::buckets::Buckets;
use crate::forms::{Place, RulesInUse};
use crate::live::Live;
use crate::rows::Rows;
use crate::schema::Fields;
use crate::visible::{Versions, Visible, VisibleBits};
use crate::words::StemMemos;
use crate::years::Years;

/// Statistics of what somebody sees that are kept for a view.
const STATISTICS_MAX: usize = 100;

/// What one search sees from beginning to end.
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    /// Epoch the searcher covers.
    pub(crate) epoch: u64,
    /// Of current documents, as all statistics.
    pub(crate) live: Arc<Live>,
    /// Shared by all views of the index.
    pub(crate) rows: Arc<Rows>,
    pub(crate) buckets: Arc<Buckets>,
    /// Shared by all views of the index.
    pub(crate) memos: Arc<StemMemos>,
    pub(crate) fields: Fields,
    pub(crate) rules_in_use: RulesInUse,
    /// Shared by all views of the index.
    visible: Arc<VisibleBits>,
    /// Shared by all views of the index.
    pub(crate) years: Arc<Years>,
    /// Statistics of what those see who may not know of more.
    statistics: Mutex<FxHashMap<SightId, Arc<Live>>>,
}

/// What of a view somebody sees, and what scores are made from.
pub(crate) struct Seen {
    pub(crate) visible: Visible,
    pub(crate) live: Arc<Live>,
    /// In-links of hidden pages count too, so there are none where nothing hidden may show.
    pub(crate) buckets: Arc<Buckets>,
    /// Whether all links may be known of: what those of hidden pages say would show them.
    pub(crate) sees_links: bool,
}

impl View {
    pub(crate) fn new(
        searcher: Searcher,
        epoch: u64,
        fields: Fields,
        before: Option<&View>,
        buckets: Buckets,
    ) -> tantivy::Result<View> {
        let visible = before.map_or_else(|| Arc::new(VisibleBits::new()), |view| Arc::clone(&view.visible));
        let current = visible.of(&searcher, &Sight::everything(), Versions::Current)?;
        let live = Live::new(
            &searcher,
            fields.anywhere(),
            current,
            before.map(|view| &*view.live),
        )?;
        Ok(View {
            rules_in_use: RulesInUse::of(&searcher)?,
            searcher,
            epoch,
            live: Arc::new(live),
            rows: before.map_or_else(|| Arc::new(Rows::new()), |view| Arc::clone(&view.rows)),
            visible,
            years: before.map_or_else(|| Arc::new(Years::new()), |view| Arc::clone(&view.years)),
            memos: before.map_or_else(Arc::default, |view| Arc::clone(&view.memos)),
            statistics: Mutex::default(),
            buckets: Arc::new(buckets),
            fields,
        })
    }

    /// What somebody sees of it.
    pub(crate) fn seen(&self, sight: &Sight, versions: Versions) -> tantivy::Result<Seen> {
        let visible = self.visible.of(&self.searcher, sight, versions)?;
        let (live, buckets) = match sight.is_strict() && !sight.sees_everything() {
            true => (self.statistics(sight)?, Arc::default()),
            false => (Arc::clone(&self.live), Arc::clone(&self.buckets)),
        };
        Ok(Seen {
            visible,
            live,
            buckets,
            sees_links: sight.sees_everything(),
        })
    }

    fn statistics(&self, sight: &Sight) -> tantivy::Result<Arc<Live>> {
        if let Some(live) = self.statistics.lock().get(&sight.id()) {
            return Ok(Arc::clone(live));
        }
        // Made without the lock: two may make the same, but none who needs another waits.
        let visible = self.visible.of(&self.searcher, sight, Versions::Current)?;
        let place = Place {
            anchors: None,
            ..self.fields.anywhere()
        };
        let live = Live::new(&self.searcher, place, visible, None)?;
        let live = Arc::new(live);
        let mut statistics = self.statistics.lock();
        if statistics.len() >= STATISTICS_MAX {
            statistics.clear();
        }
        statistics.insert(sight.id(), Arc::clone(&live));
        Ok(live)
    }
}
