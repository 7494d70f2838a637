//! The tier: memory over disks under reads of stores.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::GetRange;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use tokio::sync::Semaphore;

use crate::block::{BLOCK_BYTES, Class, ObjectId, PIECE_BYTES, bytes_of};
use crate::counts::{User, UserCounts, add};
use crate::device::Gauge;
use crate::directory::{DirectoryTier, NewBlock};
use crate::fetch;
use crate::flight::{Flight, Flights};
use crate::ghost::Ghosts;
use crate::known::{AllKnown, Asked, Known, Version};
use crate::layout::{ObjectInfo, OpenError};
use crate::memory::Memory;
use crate::origin::{Answer, Description, Origin, OriginError};
use crate::read::{FIRST_MAX, Reader};
use crate::rules::{Rules, Treatment};
use crate::settings::Settings;
use crate::upkeep::Upkeep;

/// Fetches from all stores at a time.
const FETCHES_MAX: usize = 64;
/// Times that a read begins again because another version has come.
const ATTEMPTS_MAX: u32 = 4;
/// Part of memory that waits to be written to disks, and its bounds.
const WAITING_PART: u64 = 8;
const WAITING_MAX: u64 = 64 << 20;

/// A cache tier. Cheap to clone.
#[derive(Clone)]
pub struct Cache(pub(crate) Arc<Tier>);

pub(crate) struct Tier {
    pub(crate) memory: Memory,
    pub(crate) directories: Vec<Arc<DirectoryTier>>,
    pub(crate) rules: RwLock<Rules>,
    pub(crate) flights: Flights,
    pub(crate) known: AllKnown,
    pub(crate) ghosts: Ghosts,
    pub(crate) fetches: Semaphore,
    users: [UserCounts; User::ALL.len()],
    gauges: Mutex<FxHashMap<String, Arc<Gauge>>>,
    pub(crate) bound: Duration,
    pub(crate) upkeep: Upkeep,
}

/// A store, read through the tier. Cheap to clone.
#[derive(Clone)]
pub struct CachedOrigin(Reading);

/// What a read needs to know.
#[derive(Clone)]
pub(crate) struct Reading {
    pub(crate) tier: Arc<Tier>,
    pub(crate) origin: Arc<dyn Origin>,
    pub(crate) user: User,
    pub(crate) gauge: Arc<Gauge>,
}

/// Bytes of a version.
pub struct Got {
    /// The version.
    pub description: Arc<Description>,
    /// Which of its bytes follow.
    pub range: Range<u64>,
    /// These bytes. An error ends them early: never are they of another version.
    pub body: BoxStream<'static, Result<Bytes, OriginError>>,
}

impl Cache {
    /// Opens a tier with its directories, for a program of this name (none for one that reads nothing, whose counts say nothing). A directory that cannot be used is left out, with a
    /// warning: the cache is never why something does not start.
    ///
    /// # Errors
    /// [`OpenError::NotOurs`] if a directory has other files in it.
    pub fn open(settings: &Settings, program: &'static str) -> Result<Cache, OpenError> {
        let mut rules = Rules::new(settings);
        let memory_bytes = settings.memory_size_bytes.0;
        let with_disk = !settings.directories.is_empty();
        let waiting = match with_disk {
            true => (memory_bytes / WAITING_PART).min(WAITING_MAX),
            false => 0,
        };
        let mut directories: Vec<Arc<DirectoryTier>> = Vec::new();
        // The last first: each knows the next.
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
                Err(error) => tracing::warn!(%error, "the cache goes without this directory"),
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
            known: AllKnown::new(),
            ghosts: Ghosts::new(space.max(memory_bytes)),
            fetches: Semaphore::new(FETCHES_MAX),
            users: Default::default(),
            gauges: Mutex::default(),
            bound: Duration::from_secs(settings.revalidate_seconds),
            upkeep: Upkeep::new(program),
        }));
        cache.keep_up();
        Ok(cache)
    }

    /// Opens a tier with the settings of a file, for a program that reads through it if it can: what is wrong is a warning, and
    /// then there is none. With `in_memory_alone` nothing is written to disks.
    pub fn open_if_possible(file: &Path, program: &'static str, in_memory_alone: bool) -> Option<Cache> {
        let opened = Settings::read(file)
            .map_err(|error| error.to_string())
            .and_then(|mut settings| {
                if in_memory_alone {
                    settings.directories.clear();
                }
                Cache::open(&settings, program).map_err(|error| error.to_string())
            });
        opened
            .inspect_err(|error| tracing::warn!(error, "everything is read without a cache"))
            .ok()
    }

    /// A store, read through this tier by a user.
    pub fn over(&self, origin: Arc<dyn Origin>, user: User) -> CachedOrigin {
        let gauge = self
            .0
            .gauges
            .lock()
            .entry(origin.root().to_owned())
            .or_default()
            .clone();
        CachedOrigin(Reading {
            tier: self.0.clone(),
            origin,
            user,
            gauge,
        })
    }

    /// Waits until what was fetched is on the disks, at most for `time_max`. Says whether it is.
    pub async fn settled(&self, time_max: Duration) -> bool {
        let mut all = true;
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

    /// Store addresses and what a MiB of each takes.
    pub(crate) fn gauges(&self) -> Vec<(String, Option<f64>)> {
        let gauges = self.gauges.lock();
        let mut all: Vec<_> = gauges
            .iter()
            .map(|(root, gauge)| (root.clone(), gauge.us_per_mib()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Drops what is kept of objects, in all tiers. Returns how many blocks of disks that were.
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

    /// Drops what is kept of objects whose address begins so.
    pub(crate) fn drop_below(&self, prefix: &str) -> u64 {
        self.known.forget_below(prefix);
        self.forget_objects(|_, info| info.address().starts_with(prefix))
    }

    fn forget_object(&self, id: ObjectId) {
        self.forget_objects(|other, _| other == id);
    }
}

impl Reading {
    pub(crate) fn counts(&self) -> &UserCounts {
        self.tier.counts(self.user)
    }

    /// The same, for as long as somebody holds it.
    pub(crate) fn counts_of(&self) -> CountsOf {
        CountsOf(self.tier.clone(), self.user)
    }

    /// Whether everything is read once, from front to back.
    pub(crate) fn is_scan(&self) -> bool {
        self.user == User::Inputs
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.origin.root())
    }

    fn version(&self, path: &str, description: Description, treatment: &Treatment) -> Arc<Version> {
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

impl CachedOrigin {
    /// The version that is there, or was within the bound of the settings.
    ///
    /// # Errors
    /// What the origin says.
    pub async fn describe(&self, path: &str) -> Result<Arc<Description>, OriginError> {
        let treatment = self.treatment(path);
        let described = match treatment.is_cached {
            false => self.0.origin.describe(path).await,
            true => self
                .known(path, &treatment, None)
                .await
                .map(|known| known.version.info.description.clone()),
        };
        self.counted(described.map(Arc::new))
    }

    /// Bytes of the version that is there, or was within the bound: all, or those `wanted`.
    ///
    /// # Errors
    /// What the origin says; [`OriginError::Range`] if nothing of it is in the range.
    pub async fn get(&self, path: &str, wanted: Option<GetRange>) -> Result<Got, OriginError> {
        add(&self.0.counts().reads, 1);
        let treatment = self.treatment(path);
        if !treatment.is_cached {
            let got = self.passed(path, None, wanted).await;
            return self.counted(got);
        }
        let first = wanted.clone().unwrap_or(GetRange::Offset(0));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let known = self.counted(self.known(path, &treatment, Some(&first)).await)?;
            match self.read(&known.version, wanted.as_ref()).await {
                // Its bytes cannot be had any more, and none was given: what is there now is as good an answer.
                Err(OriginError::Changed) if attempts < ATTEMPTS_MAX => self.forget(path),
                other => return self.counted(other),
            }
        }
    }

    /// Bytes of a version that [`CachedOrigin::describe`] gave.
    ///
    /// # Errors
    /// As [`CachedOrigin::get`]; [`OriginError::Changed`] if they cannot be had any more: then it is forgotten here, too.
    pub async fn get_version(
        &self,
        path: &str,
        of: &Arc<Description>,
        wanted: Option<GetRange>,
    ) -> Result<Got, OriginError> {
        add(&self.0.counts().reads, 1);
        let treatment = self.treatment(path);
        if !treatment.is_cached {
            let got = self.passed(path, Some(of), wanted).await;
            return self.counted(got);
        }
        let known = self.0.tier.known.get(&self.0.address(path));
        let version = match known {
            Some(known) if known.version.info.description.is_same_version(of) => known.version,
            _ => self.0.version(path, (**of).clone(), &treatment),
        };
        let read = self.read(&version, wanted.as_ref()).await;
        if matches!(read, Err(OriginError::Changed)) {
            self.forget(path);
        }
        self.counted(read)
    }

    /// After a write: the next answer is of what is there then.
    pub fn forget(&self, path: &str) {
        self.0.tier.known.forget(&self.0.address(path));
    }

    /// The same for all paths that begin so.
    pub fn forget_below(&self, prefix: &str) {
        self.0.tier.known.forget_below(&self.0.address(prefix));
    }

    /// Writes to the disks what only memory has of a version.
    pub(crate) async fn memory_to_disk(&self, path: &str, description: &Description) {
        let Some(first) = self.0.tier.directories.first() else {
            return;
        };
        let treatment = self.treatment(path);
        if !treatment.is_cached {
            return;
        }
        let version = self.0.version(path, description.clone(), &treatment);
        let blocks = u32::try_from(description.size_bytes.div_ceil(BLOCK_BYTES)).unwrap_or(u32::MAX);
        for key in (0..blocks)
            .flat_map(|block| [Class::Data, Class::Metadata].map(|class| version.key(block, class)))
        {
            let Some(pieces) = self.0.tier.memory.get(&key) else {
                continue;
            };
            if pieces.mask() & !first.mask(&key) != 0 {
                let block = NewBlock::new(key, &version, pieces, false);
                first.store(block, &self.0.gauge).await;
            }
        }
    }

    fn counted<T>(&self, result: Result<T, OriginError>) -> Result<T, OriginError> {
        if let Err(OriginError::Passing(_) | OriginError::Lasting(_)) = &result {
            add(&self.0.counts().errors, 1);
        }
        result
    }

    fn treatment(&self, path: &str) -> Treatment {
        self.0.tier.rules.read().of(self.0.origin.root(), path)
    }

    /// Past the tier.
    async fn passed(
        &self,
        path: &str,
        of: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<Got, OriginError> {
        let answer = self.0.origin.get(path, of, wanted).await?;
        let counts = self.0.counts_of();
        let body = answer.body.inspect(move |piece| {
            if let Ok(piece) = piece {
                add(&counts.passed_bytes, piece.len() as u64);
            }
        });
        Ok(Got {
            description: Arc::new(answer.description),
            range: answer.range,
            body: body.boxed(),
        })
    }

    async fn read(&self, version: &Arc<Version>, wanted: Option<&GetRange>) -> Result<Got, OriginError> {
        let size_bytes = version.info.description.size_bytes;
        let range = resolve(wanted, size_bytes)?;
        let mut reader = Reader::new(self.0.clone(), version.clone(), range.clone());
        // Whether its bytes can be had is known with the first of them.
        let first = reader.piece().await.transpose()?;
        let (reading, address) = (self.0.clone(), self.0.address(&version.info.path));
        let rest = reader.stream().inspect(move |piece| {
            if let Err(OriginError::Changed) = piece {
                reading.tier.known.forget(&address);
            }
        });
        Ok(Got {
            description: Arc::new(version.info.description.clone()),
            range,
            body: stream::iter(first.map(Ok)).chain(rest).boxed(),
        })
    }

    /// What holds of an object now. Where nothing is known, the bytes `wanted` are asked for with the description.
    async fn known(
        &self,
        path: &str,
        treatment: &Treatment,
        wanted: Option<&GetRange>,
    ) -> Result<Known, OriginError> {
        let address = self.0.address(path);
        let known = &self.0.tier.known;
        loop {
            let fresh = known.fresh(&address, self.0.tier.bound);
            if let Some(known) = fresh.filter(|known| self.understands(&known.version.info)) {
                return Ok(known);
            }
            let began = ambient::now();
            let (asked, is_mine) = self.ask(path, &address, treatment, wanted);
            let answer = asked.await;
            // An answer to another's question may be of before the bound that holds for this reader.
            let serves = |found: &Known| self.holds(found, began) && self.understands(&found.version.info);
            if is_mine || answer.as_ref().map_or(true, serves) {
                return answer;
            }
        }
    }

    fn understands(&self, info: &ObjectInfo) -> bool {
        self.0.origin.understands(&info.description.beside)
    }

    fn holds(&self, found: &Known, at: std::time::Instant) -> bool {
        found.version.treatment.is_immutable || at.saturating_duration_since(found.asked) < self.0.tier.bound
    }

    fn ask(
        &self,
        path: &str,
        address: &str,
        treatment: &Treatment,
        wanted: Option<&GetRange>,
    ) -> (Asked, bool) {
        let known = &self.0.tier.known;
        known.ask(address, |number| {
            let (this, path, address) = (self.clone(), path.to_owned(), address.to_owned());
            let (treatment, wanted) = (treatment.clone(), wanted.cloned());
            let work = async move {
                let answer = this.asked(&path, &address, &treatment, wanted.as_ref()).await;
                let tier = &this.0.tier;
                if let Some(before) = tier.known.answered(&address, number, &answer) {
                    // Nobody can ask for the version before any more.
                    tier.forget_object(before.version.id);
                }
                answer
            };
            // A task of its own, so that it comes to its end whoever stops waiting.
            Box::pin(async move {
                let task = tokio::spawn(work);
                task.await
                    .unwrap_or_else(|error| Err(OriginError::Passing(Arc::new(error))))
            })
        })
    }

    /// Asks the store, or what is on the disks of an immutable object.
    async fn asked(
        &self,
        path: &str,
        address: &str,
        treatment: &Treatment,
        wanted: Option<&GetRange>,
    ) -> Result<Known, OriginError> {
        let asked = ambient::now();
        let tier = &self.0.tier;
        if treatment.is_immutable
            && let Some(info) = tier
                .directories
                .iter()
                .find_map(|directory| directory.object_at(self.0.origin.endpoint(), address))
            && self.understands(&info)
        {
            let version = self.0.version(path, info.description.clone(), treatment);
            return Ok(Known { version, asked });
        }
        let is_new = tier.known.get(address).is_none();
        if let Some(first) = wanted.filter(|_| is_new).and_then(first_of) {
            match fetch::heard(self.0.origin.get(path, None, Some(first))).await {
                Ok(answer) => return Ok(self.begun(path, treatment, answer, asked)),
                // Nothing of it is there; its size says what to answer.
                Err(OriginError::Range { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        add(&self.0.counts().checks, 1);
        let description = fetch::heard(self.0.origin.describe(path)).await?;
        Ok(Known {
            version: self.0.version(path, description, treatment),
            asked,
        })
    }

    /// An answer that came with the description: its bytes are a fetch under way.
    fn begun(&self, path: &str, treatment: &Treatment, answer: Answer, asked: std::time::Instant) -> Known {
        let version = self.0.version(path, answer.description.clone(), treatment);
        let size_bytes = version.info.description.size_bytes;
        let end = match answer.range.end == size_bytes {
            true => size_bytes.div_ceil(PIECE_BYTES),
            false => answer.range.end / PIECE_BYTES,
        };
        let pieces = answer.range.start.div_ceil(PIECE_BYTES)..end;
        if !bytes_of(&pieces, size_bytes).is_empty() {
            let flight = Arc::new(Flight::new(pieces));
            if self.0.tier.flights.register(version.id, &flight) {
                tokio::spawn(fetch::run(
                    self.0.clone(),
                    version.clone(),
                    flight,
                    Some((answer, asked)),
                ));
            }
        }
        Known { version, asked }
    }
}

/// The range to ask for before the size is known: whole pieces, and not more than a first answer needs.
fn first_of(wanted: &GetRange) -> Option<GetRange> {
    let first_bytes = FIRST_MAX * PIECE_BYTES;
    let from = |start: u64, end: u64| {
        let start = start / PIECE_BYTES * PIECE_BYTES;
        let end = end
            .checked_next_multiple_of(PIECE_BYTES)?
            .min(start.checked_add(first_bytes)?);
        (start < end).then_some(GetRange::Bounded(start..end))
    };
    match wanted {
        GetRange::Bounded(range) => from(range.start, range.end),
        GetRange::Offset(start) => from(*start, start.checked_add(first_bytes)?),
        // Its first whole piece begins at most a piece later.
        GetRange::Suffix(bytes) if *bytes > 0 && *bytes <= first_bytes => {
            Some(GetRange::Suffix(bytes + PIECE_BYTES))
        }
        GetRange::Suffix(_) => None,
    }
}

/// The bytes of an object of this size that a range means.
///
/// # Errors
/// [`OriginError::Range`] if there are none.
pub fn resolve(wanted: Option<&GetRange>, size_bytes: u64) -> Result<Range<u64>, OriginError> {
    let beyond = Err(OriginError::Range { size_bytes });
    match wanted {
        None => Ok(0..size_bytes),
        Some(GetRange::Bounded(range)) if range.start >= size_bytes || range.is_empty() => beyond,
        Some(GetRange::Bounded(range)) => Ok(range.start..range.end.min(size_bytes)),
        Some(GetRange::Offset(start)) if *start >= size_bytes => beyond,
        Some(GetRange::Offset(start)) => Ok(*start..size_bytes),
        Some(GetRange::Suffix(0)) => beyond,
        Some(GetRange::Suffix(bytes)) => Ok(size_bytes.saturating_sub(*bytes)..size_bytes),
    }
}
