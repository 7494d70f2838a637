//! A consistent snapshot of the index for searching.

use std::sync::Arc;

use access::{AccessFilter, AccessFilterId};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tantivy::Searcher;

use crate::collect::years::Years;
use crate::documents::buckets::Buckets;
use crate::documents::rows::Rows;
use crate::documents::schema::Fields;
use crate::documents::schema::TextFields;
use crate::filter::visible::{VisibleDocs, VisibleDocsCache};
use crate::query::Versions;
use crate::scoring::forms::StemRulesInUse;
use crate::scoring::lists::Lists;
use crate::scoring::live::LiveStatistics;
use crate::words::StemMemos;

/// Maximum number of callers' statistics that a view caches.
const STATISTICS_MAX: usize = 100;

/// The snapshot that one search uses from start to end.
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    /// Epoch the searcher covers.
    pub(crate) epoch: u64,
    /// Statistics of current documents. Past versions are in no statistics.
    pub(crate) live: Arc<LiveStatistics>,
    /// Shared by all views of the index.
    pub(crate) rows: Arc<Rows>,
    pub(crate) buckets: Arc<Buckets>,
    /// Shared by all views of the index.
    pub(crate) memos: Arc<StemMemos>,
    pub(crate) fields: Fields,
    pub(crate) rules_in_use: StemRulesInUse,
    pub(crate) lists: Arc<Lists>,
    /// Shared by all views of the index.
    visible: Arc<VisibleDocsCache>,
    /// Shared by all views of the index.
    pub(crate) years: Arc<Years>,
    /// Statistics for callers from whom something is hidden, computed from their visible documents
    /// only.
    statistics: Mutex<FxHashMap<AccessFilterId, Arc<LiveStatistics>>>,
}

/// The part of a view that a caller can see, and the statistics for scoring.
pub(crate) struct VisibleView {
    pub(crate) visible: VisibleDocs,
    pub(crate) live: Arc<LiveStatistics>,
    /// Statistics of visible documents only, whether or not the sight is strict: they decide what
    /// matches.
    pub(crate) seen: Arc<LiveStatistics>,
    /// In-links of hidden pages count too. The buckets are therefore empty if hidden pages must not
    /// affect scores.
    pub(crate) buckets: Arc<Buckets>,
    /// Whether the caller may know of all links. Anchor texts of hidden pages would reveal them.
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
        let visible = before.map_or_else(
            || Arc::new(VisibleDocsCache::new()),
            |view| Arc::clone(&view.visible),
        );
        let current = visible.of(&searcher, &AccessFilter::everything(), Versions::Current)?;
        let lists = Arc::new(Lists::new(&searcher, before.map(|view| &*view.lists))?);
        let live = LiveStatistics::new(
            (&searcher, &lists),
            fields.anywhere(),
            current,
            before.map(|view| &*view.live),
        )?;
        Ok(View {
            rules_in_use: StemRulesInUse::read(&searcher)?,
            searcher,
            lists,
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

    /// Returns the part of the view that `sight` can see.
    pub(crate) fn visible_to(
        &self,
        sight: &AccessFilter,
        versions: Versions,
    ) -> tantivy::Result<VisibleView> {
        let visible = self.visible.of(&self.searcher, sight, versions)?;
        let seen = if sight.sees_everything() {
            Arc::clone(&self.live)
        } else {
            self.statistics(sight)?
        };
        let (live, buckets) = if sight.is_strict() && !sight.sees_everything() {
            (Arc::clone(&seen), Arc::default())
        } else {
            (Arc::clone(&self.live), Arc::clone(&self.buckets))
        };
        Ok(VisibleView {
            visible,
            live,
            seen,
            buckets,
            sees_links: sight.sees_everything(),
        })
    }

    fn statistics(&self, sight: &AccessFilter) -> tantivy::Result<Arc<LiveStatistics>> {
        if let Some(live) = self.statistics.lock().get(&sight.id()) {
            return Ok(Arc::clone(live));
        }
        // Computed without the lock: two callers may compute the same statistics, but no one waits
        // for those of another.
        let visible = self.visible.of(&self.searcher, sight, Versions::Current)?;
        let text_fields = TextFields {
            anchors: None,
            ..self.fields.anywhere()
        };
        let live = LiveStatistics::new((&self.searcher, &self.lists), text_fields, visible, None)?;
        let live = Arc::new(live);
        let mut statistics = self.statistics.lock();
        if statistics.len() >= STATISTICS_MAX {
            statistics.clear();
        }
        statistics.insert(sight.id(), Arc::clone(&live));
        Ok(live)
    }
}
