//! The catalogue of files in the archive's directory, for the pages and the API.
//!
//! Only one process at a time can have a catalogue open, and a scan holds it open while it runs.
//! Invariants: the server opens the catalogue for one request at a time, on a blocking thread, and
//! closes it with the answer. No request waits longer than [`WAIT_MAX`] for it. The last overview
//! is kept in memory, and shown with its time while another process has the catalogue open.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::catalogue::{Catalogue, CatalogueError, CatalogueSettings, ChildOrder, retry_while_in_use};

mod listing;
mod overview;
mod path;

pub(crate) use listing::{FilesEntry, Listing};
pub(crate) use overview::{FilesClass, FilesDay, FilesGroup, FilesScan, FilesTree, FilesUsage, Overview};
pub(crate) use path::{FilesPath, path_in_query, tidy};

use crate::failure::Failure;

/// Maximum time to wait for the catalogue while another request or another process uses it.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Maximum age of a cached overview.
const OVERVIEW_AGE_MAX: Duration = Duration::from_secs(1);

/// Size of the row cache. The catalogue is closed too soon for more to be useful.
const CACHE_SIZE_BYTES: u64 = 16 << 20;

/// Location of a catalogue of files, and how to name its users.
#[derive(Debug, Clone)]
pub struct CatalogueLocation {
    /// Directory of the catalogue. It may be missing: the first scan creates it.
    pub dir: PathBuf,
    /// Returns the name of a user, if the system has one.
    pub user_name: fn(u32) -> Option<String>,
}

/// The catalogue that a server shows.
pub(crate) struct Files {
    place: CatalogueLocation,
    /// Held while the catalogue is open in this process.
    turn: Arc<tokio::sync::Mutex<()>>,
    last: Mutex<Option<(Instant, Arc<Overview>)>>,
}

/// An overview, and whether it is current.
pub(crate) struct Latest {
    pub(crate) overview: Arc<Overview>,
    /// Another process has the catalogue open, so this is the last overview read.
    pub(crate) in_use: bool,
}

impl Files {
    pub(crate) fn new(place: CatalogueLocation) -> Files {
        Files {
            place,
            turn: Arc::default(),
            last: Mutex::new(None),
        }
    }

    /// Returns whether a catalogue exists now. Checks the disk once.
    pub(crate) fn is_there(&self) -> bool {
        Catalogue::exists_in(&self.place.dir)
    }

    /// Returns the overview of the catalogue.
    pub(crate) async fn overview(&self) -> Result<Latest, Failure> {
        let kept = self.kept();
        if let Some((at, overview)) = &kept
            && system::since(*at) < OVERVIEW_AGE_MAX
        {
            let overview = Arc::clone(overview);
            return Ok(Latest {
                overview,
                in_use: false,
            });
        }
        let user_name = self.place.user_name;
        match self
            .read(move |catalogue| Overview::of(catalogue, user_name))
            .await
        {
            Ok(overview) => {
                let overview = Arc::new(overview);
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some((system::now(), Arc::clone(&overview)));
                Ok(Latest {
                    overview,
                    in_use: false,
                })
            }
            Err(failure) => match kept.filter(|_| failure.is_unavailable()) {
                Some((_, overview)) => Ok(Latest {
                    overview,
                    in_use: true,
                }),
                None => Err(failure),
            },
        }
    }

    /// Returns at most `count` direct children of a directory. The children of the empty path are
    /// the trees.
    pub(crate) async fn listing(
        &self,
        path: Vec<u8>,
        by: ChildOrder,
        count: usize,
    ) -> Result<Listing, Failure> {
        let found = self
            .read(move |catalogue| Listing::of(catalogue, path, by, count))
            .await?;
        found.ok_or_else(|| {
            Failure::not_found("this path is not in the catalogue; weft files scan DIR adds a directory")
        })
    }

    fn kept(&self) -> Option<(Instant, Arc<Overview>)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the catalogue, asks, and closes it.
    async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Catalogue) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, Failure> {
        let begun = system::now();
        let turn = tokio::time::timeout(WAIT_MAX, Arc::clone(&self.turn).lock_owned());
        let turn = turn.await.map_err(|_| busy())?;
        let dir = self.place.dir.clone();
        let task = system::blocking(move || {
            // Held until the catalogue is closed, even if the request has been dropped by then.
            let _turn = turn;
            let settings = CatalogueSettings {
                cache_size_bytes: CACHE_SIZE_BYTES,
            };
            let left = WAIT_MAX.saturating_sub(system::since(begun));
            let catalogue = retry_while_in_use(left, || Catalogue::open(&dir, &settings))?;
            question(&catalogue)
        });
        match task.await {
            Ok(answer) => answer.map_err(failure_of),
            Err(error) => {
                tracing::error!(%error, "a query of the catalogue of files failed");
                Err(Failure::internal())
            }
        }
    }
}

fn busy() -> Failure {
    Failure::unavailable("the catalogue of files is in use by a scan or another query; try again")
}

fn failure_of(error: CatalogueError) -> Failure {
    match error {
        CatalogueError::InUse { .. } => busy(),
        // It was removed since the check.
        CatalogueError::Missing { .. } => Failure::not_found("the catalogue of files no longer exists"),
        error => {
            tracing::error!(%error, "cannot read the catalogue of files");
            Failure::internal()
        }
    }
}
