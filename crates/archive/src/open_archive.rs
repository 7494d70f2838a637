//! An archive that is open, in the process that owns it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use extract::{DocumentReader, Documents};
use index::{EpochReport, Index, Snapshot, TakedownRules};
use inputs::{DigestCache, Sources};
use parking_lot::Mutex;
use search::SearchIndex;
use vectors::Vectors;

use crate::access_filters::AccessFilters;
use crate::facts_place::place_of;
use crate::facts_writer::{FactsWriter, OpenMode};
use crate::feed::{self, FeedError, FeedState, SearchProgress};
use crate::files::{ArchiveSettings, Files};
use crate::inlink_counts::InlinkCounts;
use crate::jobs::Jobs;
use crate::kept_answers::KeptAnswers;
use crate::memory::Memory;
use crate::rebuild_progress::{RebuildProgress, RunningRebuild};
use crate::recounting::Recounting;
use crate::thumbnails::Thumbnails;
use crate::{AskError, OpenError};

/// Time between two attempts to write a search index that could not be written.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// How long after a search a load makes new pages searchable at once.
const SEARCHED_LATELY: Duration = Duration::from_secs(600);

/// Percentage of deleted documents that may remain in the search index after a load.
const DELETED_PERCENT_MAX: u64 = 5;

/// Number of epochs after which a load feeds the index of images. The changes of these epochs are
/// then still in memory or in the cache, and the index of images need not be rebuilt at the end.
const IMAGES_EPOCHS: u64 = 256;

/// Returns advice for a damaged search index in a folder.
pub(crate) fn remake_advice(folder: &str) -> String {
    format!("remove {folder} while no process has the archive open; the next search rebuilds it")
}

/// The open files and services from which questions are answered and to which loads write.
pub(crate) struct OpenArchive {
    pub(crate) files: Files,
    pub(crate) settings: ArchiveSettings,
    pub(crate) memory: Memory,
    /// Sources of inputs.
    pub(crate) sources: Sources,
    pub(crate) known_digests: DigestCache,
    pub(crate) index: Index,
    pub(crate) search: SearchIndex,
    /// The search index of the images that pages show.
    pub(crate) images: SearchIndex,
    /// Small copies of images.
    pub(crate) thumbnails: Thumbnails,
    /// Locked while one is made.
    pub(crate) making_thumbnail: Mutex<()>,
    /// Facts, which follow the epochs of the index; absent if the archive keeps none.
    pub(crate) facts: Option<FactsWriter>,
    pub(crate) jobs: Arc<Jobs>,
    /// The access rules.
    pub(crate) access_filters: AccessFilters,
    pub(crate) inlink_counts: InlinkCounts,
    pub(crate) kept_answers: KeptAnswers,
    /// If present, loaded captures are recounted instead of kept.
    pub(crate) recounting: Option<Recounting>,
    /// Takedown rules of another archive, if this one is to have the same content.
    pub(crate) kept_out: Option<TakedownRules>,
    /// Reads documents in separate processes.
    pub(crate) document_reader: Option<Arc<dyn DocumentReader>>,
    /// What was fed to the search index. Locked while feeding, so that epochs reach it in order.
    feeding: Mutex<FeedState>,
    /// When somebody last searched while a load was running.
    searched_at: Mutex<Option<Instant>>,
    /// Locked while the index of images is fed, so that two threads do not do the same work.
    feeding_images: Mutex<()>,
    /// Progress of the search index, readable without waiting for feeding.
    pub(crate) search_progress: Arc<SearchProgress>,
    rebuilding: RebuildProgress,
    /// Locked while posted lines are added or deleted. Says whether all operations that were begun
    /// are done.
    pub(crate) posting: Mutex<bool>,
    /// When and why the last attempt to write the search index failed; `None` if it succeeded.
    search_failure: Mutex<Option<(Instant, String)>>,
}

impl OpenArchive {
    /// Opens index and search index. The caller holds the lock.
    pub(crate) fn open(
        files: Files,
        settings: ArchiveSettings,
        memory: Memory,
        vectors: Option<&Path>,
        sources: Sources,
        opened_for: OpenMode,
    ) -> Result<OpenArchive, OpenError> {
        let dir = || files.dir().display().to_string();
        let index = Index::open(&files.index(), Some(settings.links), memory.index()).map_err(|error| {
            OpenError::Index {
                dir: dir(),
                message: error.to_string(),
            }
        })?;
        let search_settings = search::Settings {
            vectors: vectors.map(Vectors::open).transpose()?.map(Arc::new),
            ..memory.search()
        };
        let search =
            SearchIndex::open(&files.search(), search_settings).map_err(|error| OpenError::Search {
                dir: dir(),
                message: error.to_string(),
            })?;
        let images =
            SearchIndex::open(&files.images(), memory.images()).map_err(|error| OpenError::Search {
                dir: dir(),
                message: error.to_string(),
            })?;
        let facts = settings.facts.as_ref().map(|settings| {
            let place = place_of(settings, &files.facts(), &sources);
            let facts = FactsWriter::open(settings, place, &index, opened_for);
            if opened_for == OpenMode::Writing && index.lost_epochs().is_some() {
                facts.roll_back(index.snapshot().epoch());
            }
            facts
        });
        let search_progress = Arc::<SearchProgress>::default();
        Ok(OpenArchive {
            facts,
            known_digests: DigestCache::at(files.known_digests()),
            access_filters: AccessFilters::of_file(files.rights()),
            inlink_counts: InlinkCounts::default(),
            kept_answers: KeptAnswers::default(),
            thumbnails: Thumbnails::at(files.thumbnails()),
            files,
            settings,
            memory,
            sources,
            index,
            feeding: Mutex::new(
                FeedState::at(search.covered_epoch()).with_progress(Arc::clone(&search_progress)),
            ),
            search_progress,
            search,
            images,
            searched_at: Mutex::default(),
            feeding_images: Mutex::default(),
            making_thumbnail: Mutex::default(),
            rebuilding: RebuildProgress::default(),
            posting: Mutex::default(),
            search_failure: Mutex::default(),
            jobs: Arc::default(),
            recounting: None,
            kept_out: None,
            document_reader: None,
        })
    }

    /// Returns the settings for making captures from records. Records read again use them too,
    /// because the same settings give the same capture.
    pub(crate) fn extract_settings(&self) -> extract::Settings {
        extract::Settings {
            links: self.settings.links,
            text: true,
            documents: Documents {
                scope: self.settings.documents,
                reader: self.document_reader.clone(),
            },
        }
    }

    /// Fails if the archive is open read-only.
    pub(crate) fn writable(&self) -> Result<(), AskError> {
        if self.files.is_read_only() {
            Err(AskError::unavailable(format!(
                "{} is open read-only, so it cannot be changed",
                self.files.dir().display()
            )))
        } else {
            Ok(())
        }
    }

    /// Feeds to the search index and the index of images the changes they missed, if any.
    pub(crate) fn catch_up_search(&self) -> Result<(), FeedError> {
        let mut fed = self.feeding.lock();
        self.catch_up(&mut fed)?;
        self.catch_up_images()
    }

    fn catch_up_images(&self) -> Result<(), FeedError> {
        let _feeding = self.feeding_images.lock();
        feed::images::catch_up(&self.images, &self.index.snapshot())
    }

    fn catch_up(&self, fed: &mut FeedState) -> Result<(), FeedError> {
        let snapshot = self.index.snapshot();
        let outcome = feed::feed_waiting(&self.search, fed, &snapshot);
        *self.search_failure.lock() = match &outcome {
            Err(FeedError::Search(error)) => Some((system::now(), error.message.clone())),
            _ => None,
        };
        outcome
    }

    /// Brings the search index up to date before an answer, because it may be behind after a crash.
    /// While a load runs, that load keeps it up to date from now on. If the index cannot be
    /// written, for example because the disk is full, the answer is from the epoch it covers.
    pub(crate) fn freshen_search(&self) -> Result<(), FeedError> {
        let failed_lately =
            matches!(&*self.search_failure.lock(), Some((at, _)) if system::since(*at) < RETRY_INTERVAL);
        let is_loading = self.jobs.active() > 0;
        if is_loading {
            *self.searched_at.lock() = Some(system::now());
        }
        let is_left_to_load = is_loading && !self.should_search_feed();
        // A rebuild holds the lock for feeding, so search answers from the present state.
        if is_left_to_load || failed_lately || self.rebuilding.is_running() {
            return Ok(());
        }
        match self.catch_up_search() {
            // A search index that covers a later epoch than the index would return pages that the
            // index does not have, so it must not answer.
            Err(FeedError::Search(error)) if error.covered_epoch <= self.index.snapshot().epoch().0 => {
                tracing::warn!(%error, "cannot update the search index");
                Ok(())
            }
            other => other,
        }
    }

    /// Feeds the epochs that a running load lets wait, if somebody has searched and the load makes
    /// no epochs.
    pub(crate) fn feed_stalled(&self) {
        let Some(mut fed) = self.feeding.try_lock() else {
            return;
        };
        if !self.was_searched_lately() || !fed.has_stalled() {
            return;
        }
        if let Err(error) = self.catch_up(&mut fed) {
            // The load tries again with its next epoch, or when it ends.
            tracing::warn!(%error, "cannot update the search index");
        }
    }

    /// Returns whether a search should feed the epochs that a running load lets wait.
    fn should_search_feed(&self) -> bool {
        self.feeding
            .try_lock()
            .is_some_and(|fed| fed.should_search_feed())
    }

    fn was_searched_lately(&self) -> bool {
        self.searched_at
            .lock()
            .is_some_and(|at| system::since(at) < SEARCHED_LATELY)
    }

    /// Begins a rebuild, which lasts until the returned value is dropped.
    pub(crate) fn rebuild_begins(&self) -> Result<RunningRebuild, AskError> {
        let running = || AskError::unavailable("another rebuild is running; try again when it has ended");
        self.rebuilding.begin().ok_or_else(running)
    }

    /// Returns the part that the running rebuild has reached, and its progress.
    pub(crate) fn rebuild_progress(&self) -> (String, u64) {
        self.rebuilding.at()
    }

    /// Rebuilds the search index from the newest epoch, while searches continue to use the previous
    /// one. Returns the number of pages.
    pub(crate) fn rebuild_search(&self, made: &mut dyn FnMut(u64)) -> Result<u64, FeedError> {
        let mut fed = self.feeding.lock();
        let snapshot = self.index.snapshot();
        let pages = feed::rebuild(&self.search, &snapshot, made)?;
        fed.settle_at(snapshot.epoch().0);
        let _feeding = self.feeding_images.lock();
        feed::images::rebuild(&self.images, &snapshot)?;
        Ok(pages)
    }

    /// Returns why the search index is behind, if it could not be written.
    pub(crate) fn search_failure(&self) -> Option<String> {
        let failure = self.search_failure.lock();
        failure.as_ref().map(|(_, why)| why.clone())
    }

    /// Returns the folder of the search index in the archive, for messages.
    pub(crate) fn search_folder(&self) -> String {
        self.files.dir().join("search").display().to_string()
    }

    /// Returns the folder of the index of images, for messages.
    pub(crate) fn images_folder(&self) -> String {
        self.files.images().display().to_string()
    }

    /// Feeds the epochs of a load. If it `may_wait` and nobody searches, the epochs of a large load
    /// wait until it ends.
    pub(crate) fn feed_search(
        &self,
        may_wait: bool,
        epochs: impl Iterator<Item = (EpochReport, Snapshot)>,
    ) -> Result<(), FeedError> {
        let may_wait = may_wait && !self.was_searched_lately();
        feed::feed(&self.search, &mut self.feeding.lock(), may_wait, epochs)?;
        if self.index.snapshot().epoch().0 >= self.images.covered_epoch() + IMAGES_EPOCHS {
            self.catch_up_images()?;
        }
        Ok(())
    }

    /// Makes everything that was fed or waits searchable and durable, and merges deleted documents
    /// away. After a stopped load, many pages that wait are left to the next load or search.
    pub(crate) fn flush_search(&self, is_stopped: bool) -> Result<(), FeedError> {
        let mut fed = self.feeding.lock();
        fed.end_load();
        if is_stopped && fed.is_far_behind() {
            self.search.flush()?;
            return Ok(());
        }
        // The first flush may fail. Changes that it lost, and those not fed by any stage, are fed
        // again here. A second failure goes to the caller.
        self.catch_up(&mut fed)?;
        self.search.flush()?;
        if let Err(error) = self.search.compact(DELETED_PERCENT_MAX) {
            // Searches are not affected. The end of the next load tries again.
            tracing::warn!(%error, "cannot merge deleted documents away");
        }
        tracing::info!(
            indexed = self.search.documents_added(),
            on_disk = self.search.documents_on_disk(),
            deleted = self.search.documents_deleted(),
            "the search index covers the load"
        );
        self.catch_up_images()
    }
}
