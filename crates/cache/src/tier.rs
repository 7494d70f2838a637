//! The tier: memory over disks for reads of stores.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use tokio::sync::Semaphore;

use crate::block::ObjectId;
use crate::counts::{User, UserCounts};
use crate::device::Gauge;
use crate::directory::{DirectoryTier, Effort};
use crate::flight::Flights;
use crate::ghost::Ghosts;
use crate::layout::{ObjectInfo, OpenError};
use crate::memory::Memory;
use crate::origin::{Description, Origin};
use crate::rules::{Rules, Treatment};
use crate::settings::Settings;
use crate::upkeep_state::UpkeepState;
use crate::versions::{KnownVersions, Version};

/// Poll interval while waiting for all fetches to finish.
const IDLE_POLL: Duration = Duration::from_millis(5);
/// Maximum number of concurrent fetches from all stores.
const FETCHES_MAX: usize = 64;
/// The write queue may use this fraction of memory (1/8), up to the maximum.
const QUEUE_PART: u64 = 8;
const QUEUE_BYTES_MAX: u64 = 64 << 20;

/// A cache tier. Cheap to clone.
#[derive(Clone)]
pub struct Cache(pub(crate) Arc<Tier>);

pub(crate) struct Tier {
    pub(crate) memory: Memory,
    pub(crate) directories: Vec<Arc<DirectoryTier>>,
    pub(crate) rules: RwLock<Rules>,
    pub(crate) flights: Flights,
    pub(crate) known: KnownVersions,
    pub(crate) ghosts: Ghosts,
    pub(crate) fetches: Semaphore,
    users: [UserCounts; User::ALL.len()],
    gauges: Mutex<FxHashMap<String, Arc<Gauge>>>,
    pub(crate) bound: Duration,
    pub(crate) upkeep: UpkeepState,
}

/// The context of a read.
#[derive(Clone)]
pub(crate) struct ReadContext {
    pub(crate) tier: Arc<Tier>,
    pub(crate) origin: Arc<dyn Origin>,
    pub(crate) user: User,
    pub(crate) gauge: Arc<Gauge>,
}

impl Cache {
    /// Opens a tier with its directories. `program` is the name for statistics; it is empty for a
    /// program that reads nothing and so has no useful counters. A directory that cannot be used is
    /// skipped with a warning, so that the cache never prevents a program from starting.
    ///
    /// # Errors
    /// [`OpenError::NotOurs`] if a directory has other files in it.
    pub fn open(settings: &Settings, program: &'static str) -> Result<Cache, OpenError> {
        let mut rules = Rules::new(settings);
        let memory_bytes = settings.memory_size_bytes.0;
        let with_disk = !settings.directories.is_empty();
        let waiting = if with_disk {
            (memory_bytes / QUEUE_PART).min(QUEUE_BYTES_MAX)
        } else {
            0
        };
        let mut directories: Vec<Arc<DirectoryTier>> = Vec::new();
        // Last directory first, because each refers to the next.
        for directory in settings.directories.iter().rev() {
            let share = waiting / settings.directories.len() as u64;
            let (quota, free_min) = (directory.quota_bytes.0, directory.free_space_min_bytes.0);
            let next = directories.first().cloned();
            match DirectoryTier::open(
                &directory.path,
                settings,
                quota,
                free_min,
                share,
                &mut rules,
                next,
            ) {
                Ok(tier) => directories.insert(0, Arc::new(tier)),
                Err(error @ OpenError::NotOurs(_)) => return Err(error),
                Err(error) => tracing::warn!(%error, "the cache does not use this directory"),
            }
        }
        let space: u64 = settings
            .directories
            .iter()
            .map(|directory| directory.quota_bytes.0)
            .sum();
        let metadata = settings.metadata_size_bytes.0.min(memory_bytes);
        let cache = Cache(Arc::new(Tier {
            memory: Memory::new(memory_bytes - waiting, metadata.min(memory_bytes - waiting)),
            directories,
            rules: RwLock::new(rules),
            flights: Flights::default(),
            known: KnownVersions::new(),
            ghosts: Ghosts::new(space.max(memory_bytes)),
            fetches: Semaphore::new(FETCHES_MAX),
            users: Default::default(),
            gauges: Mutex::default(),
            bound: Duration::from_secs(settings.revalidate_seconds),
            upkeep: UpkeepState::new(program),
        }));
        cache.keep_up();
        Ok(cache)
    }

    /// Opens a tier with the settings from a file. On an error, logs a warning and returns `None`.
    /// With `in_memory_alone` nothing is written to disks.
    pub fn open_if_possible(file: &Path, program: &'static str, in_memory_alone: bool) -> Option<Cache> {
        let warn = |error: String| tracing::warn!(error, "cannot open the cache; reading without it");
        let settings = Settings::read(file).map_err(|error| warn(error.to_string()));
        let mut settings = settings.ok()?;
        if in_memory_alone {
            settings.directories.clear();
        }
        let opened = Cache::open(&settings, program);
        opened.map_err(|error| warn(error.to_string())).ok()
    }

    /// Waits until all fetched blocks are on the disks, for at most `time_max`. Returns whether
    /// they are.
    pub async fn wait_until_stored(&self, time_max: Duration) -> bool {
        let began = system::now();
        // Readers receive their bytes before the blocks are queued for the disk.
        while !self.0.flights.is_idle() && system::since(began) < time_max {
            tokio::time::sleep(IDLE_POLL).await;
        }
        let mut all = self.0.flights.is_idle();
        for directory in &self.0.directories {
            all &= directory.settled(time_max).await;
        }
        self.write_stats();
        all
    }
}

impl Tier {
    pub(crate) fn counts(&self, user: User) -> &UserCounts {
        &self.users[user as usize]
    }

    /// Returns the gauge of the store with this address.
    pub(crate) fn gauge(&self, root: &str) -> Arc<Gauge> {
        self.gauges.lock().entry(root.to_owned()).or_default().clone()
    }

    /// Returns the addresses of the stores and their time per MiB.
    pub(crate) fn gauges(&self) -> Vec<(String, Option<f64>)> {
        let gauges = self.gauges.lock();
        let mut all: Vec<_> = gauges
            .iter()
            .map(|(root, gauge)| (root.clone(), gauge.us_per_mib()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Drops the cached blocks of objects in all tiers. Returns the number of blocks dropped from
    /// disks.
    pub(crate) fn forget_objects(&self, which: impl Fn(ObjectId, &ObjectInfo) -> bool + Copy) -> u64 {
        self.memory.forget(which);
        let mut blocks = 0;
        for directory in &self.directories {
            let keys = directory.blocks_of(which);
            blocks += keys.len() as u64;
            directory.forget(&keys);
        }
        blocks
    }

    /// Drops the cached blocks of objects whose address has this prefix.
    pub(crate) fn drop_below(&self, prefix: &str) -> u64 {
        self.known.forget_below(prefix);
        self.forget_objects(|_, info| info.address().starts_with(prefix))
    }

    pub(crate) fn forget_object(&self, id: ObjectId) {
        self.forget_objects(|other, _| other == id);
    }
}

impl ReadContext {
    pub(crate) fn counts(&self) -> &UserCounts {
        self.tier.counts(self.user)
    }

    /// Returns the counters with a reference to the tier, for use in streams.
    pub(crate) fn counts_of(&self) -> CountsOf {
        CountsOf(self.tier.clone(), self.user)
    }

    /// Returns the effort to store the blocks fetched by this user.
    pub(crate) fn effort(&self) -> Effort {
        match self.user {
            User::Inputs => Effort::IfThereIsRoom,
            User::Warm => Effort::WaitForOwner,
            User::Records | User::Sql | User::Gateway => Effort::Usual,
        }
    }

    /// Returns whether objects are read once, from start to end.
    pub(crate) fn is_scan(&self) -> bool {
        self.user == User::Inputs
    }

    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.origin.root())
    }

    pub(crate) fn version(
        &self,
        path: &str,
        description: Description,
        treatment: &Treatment,
    ) -> Arc<Version> {
        let info = ObjectInfo {
            endpoint: self.origin.endpoint().to_owned(),
            root: self.origin.root().to_owned(),
            path: path.to_owned(),
            description,
        };
        Arc::new(Version::new(info, treatment.clone()))
    }
}

pub(crate) struct CountsOf(Arc<Tier>, User);

impl std::ops::Deref for CountsOf {
    type Target = UserCounts;

    fn deref(&self) -> &UserCounts {
        self.0.counts(self.1)
    }
}
