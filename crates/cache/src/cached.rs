//! A store read through the tier: current versions and their bytes.
//!
//! Invariants:
//!  - A response belongs to one version, which was current at some moment within the bound.
//!  - If nothing is known about an object, one request returns its description together with its
//!    first bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::GetRange;

use crate::block::{BLOCK_BYTES, Class, PIECE_BYTES, bytes_of};
use crate::counts::{User, add};
use crate::directory::NewBlock;
use crate::fetch;
use crate::flight::Flight;
use crate::layout::ObjectInfo;
use crate::origin::{Answer, Description, Origin, OriginError};
use crate::read::{FIRST_MAX, Reader};
use crate::rules::Treatment;
use crate::tier::{Cache, ReadContext};
use crate::versions::{KnownVersion, PendingVersion, Version};

/// How many times a read restarts because the object was replaced.
const ATTEMPTS_MAX: u32 = 4;

/// A store read through the tier. Cheap to clone.
#[derive(Clone)]
pub struct CachedOrigin(ReadContext);

/// Bytes of a version.
pub struct ObjectRead {
    /// The version.
    pub description: Arc<Description>,
    /// The range of bytes in `body`.
    pub range: Range<u64>,
    /// The bytes. An error ends the stream early; it never yields bytes of another version.
    pub body: BoxStream<'static, Result<Bytes, OriginError>>,
}

impl Cache {
    /// Returns a store that a user reads through this tier.
    pub fn origin_reader(&self, origin: Arc<dyn Origin>, user: User) -> CachedOrigin {
        let gauge = self.0.gauge(origin.root());
        CachedOrigin(ReadContext {
            tier: self.0.clone(),
            origin,
            user,
            gauge,
        })
    }
}

impl CachedOrigin {
    /// Returns the current version, or one that was current within the bound of the settings.
    ///
    /// # Errors
    /// Errors of the origin.
    pub async fn describe(&self, path: &str) -> Result<Arc<Description>, OriginError> {
        let treatment = self.treatment(path);
        let described = if treatment.is_cached {
            self.known(path, &treatment, None)
                .await
                .map(|known| known.version.info.description.clone())
        } else {
            self.0.origin.describe(path).await
        };
        self.count_error(described.map(Arc::new))
    }

    /// Reads bytes of the current version, or of one that was current within the bound: all, or the
    /// range `wanted`.
    ///
    /// # Errors
    /// Errors of the origin; [`OriginError::Range`] if the range is beyond the end of the object.
    pub async fn get(&self, path: &str, wanted: Option<GetRange>) -> Result<ObjectRead, OriginError> {
        add(&self.0.counts().reads, 1);
        let treatment = self.treatment(path);
        if !treatment.is_cached {
            let got = self.read_directly(path, None, wanted).await;
            return self.count_error(got);
        }
        let first = wanted.clone().unwrap_or(GetRange::Offset(0));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let known = self.count_error(self.known(path, &treatment, Some(&first)).await)?;
            match self.read(&known.version, wanted.as_ref()).await {
                // The version is no longer available, and no byte of it was returned yet. Retry
                // with the current version.
                Err(OriginError::Changed) if attempts < ATTEMPTS_MAX => self.forget(path),
                other => return self.count_error(other),
            }
        }
    }

    /// Reads bytes of a version that [`CachedOrigin::describe`] returned.
    ///
    /// # Errors
    /// As [`CachedOrigin::get`]; [`OriginError::Changed`] if its bytes are no longer available.
    /// Then the version is forgotten here too.
    pub async fn get_version(
        &self,
        path: &str,
        of: &Arc<Description>,
        wanted: Option<GetRange>,
    ) -> Result<ObjectRead, OriginError> {
        add(&self.0.counts().reads, 1);
        let treatment = self.treatment(path);
        if !treatment.is_cached {
            let got = self.read_directly(path, Some(of), wanted).await;
            return self.count_error(got);
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
        self.count_error(read)
    }

    /// Forgets the version of an object after a write, so that the next read asks the store.
    pub fn forget(&self, path: &str) {
        self.0.tier.known.forget(&self.0.address(path));
    }

    /// Forgets the versions of all paths with this prefix.
    pub fn forget_below(&self, prefix: &str) {
        self.0.tier.known.forget_below(&self.0.address(prefix));
    }

    /// Writes the blocks of a version that are only in memory to the disks.
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
                let block = NewBlock::new(key, &version, pieces, self.0.effort());
                first.store(block, &self.0.gauge).await;
            }
        }
    }

    fn count_error<T>(&self, result: Result<T, OriginError>) -> Result<T, OriginError> {
        if let Err(OriginError::Passing(_) | OriginError::Lasting(_)) = &result {
            add(&self.0.counts().errors, 1);
        }
        result
    }

    fn treatment(&self, path: &str) -> Treatment {
        self.0.tier.rules.read().of(self.0.origin.root(), path)
    }

    /// Reads from the origin directly, bypassing the tier.
    async fn read_directly(
        &self,
        path: &str,
        of: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<ObjectRead, OriginError> {
        let answer = self.0.origin.get(path, of, wanted).await?;
        let counts = self.0.counts_of();
        let body = answer.body.inspect(move |piece| {
            if let Ok(piece) = piece {
                add(&counts.passed_bytes, piece.len() as u64);
            }
        });
        Ok(ObjectRead {
            description: Arc::new(answer.description),
            range: answer.range,
            body: body.boxed(),
        })
    }

    async fn read(
        &self,
        version: &Arc<Version>,
        wanted: Option<&GetRange>,
    ) -> Result<ObjectRead, OriginError> {
        let size_bytes = version.info.description.size_bytes;
        let range = resolve(wanted, size_bytes)?;
        let mut reader = Reader::new(self.0.clone(), version.clone(), range.clone());
        // The first piece shows whether the bytes of the version are available.
        let first = reader.piece().await.transpose()?;
        let (reading, address) = (self.0.clone(), self.0.address(&version.info.path));
        let rest = reader.stream().inspect(move |piece| {
            if let Err(OriginError::Changed) = piece {
                reading.tier.known.forget(&address);
            }
        });
        Ok(ObjectRead {
            description: Arc::new(version.info.description.clone()),
            range,
            body: stream::iter(first.map(Ok)).chain(rest).boxed(),
        })
    }

    /// Returns the current version of an object. If nothing is known about it, the request also
    /// asks for the bytes `wanted`.
    async fn known(
        &self,
        path: &str,
        treatment: &Treatment,
        wanted: Option<&GetRange>,
    ) -> Result<KnownVersion, OriginError> {
        let address = self.0.address(path);
        let known = &self.0.tier.known;
        loop {
            let fresh = known.fresh(&address, self.0.tier.bound);
            if let Some(known) = fresh.filter(|known| self.understands(&known.version.info)) {
                return Ok(known);
            }
            let began = system::now();
            let (pending, is_mine) = self.request_version(path, &address, treatment, wanted);
            let answer = pending.await;
            // The answer to another reader's request may be older than this reader's bound permits.
            let serves =
                |found: &KnownVersion| self.holds(found, began) && self.understands(&found.version.info);
            if is_mine || answer.as_ref().map_or(true, serves) {
                return answer;
            }
        }
    }

    fn understands(&self, info: &ObjectInfo) -> bool {
        self.0.origin.understands(&info.description.beside)
    }

    fn holds(&self, found: &KnownVersion, at: std::time::Instant) -> bool {
        found.version.treatment.is_immutable
            || at.saturating_duration_since(found.requested_at) < self.0.tier.bound
    }

    fn request_version(
        &self,
        path: &str,
        address: &str,
        treatment: &Treatment,
        wanted: Option<&GetRange>,
    ) -> (PendingVersion, bool) {
        let known = &self.0.tier.known;
        known.request(address, |number| {
            let (this, path, address) = (self.clone(), path.to_owned(), address.to_owned());
            let (treatment, wanted) = (treatment.clone(), wanted.cloned());
            let work = async move {
                let answer = this
                    .fetch_version(&path, &address, &treatment, wanted.as_ref())
                    .await;
                let tier = &this.0.tier;
                if let Some(before) = tier.known.finish_request(&address, number, &answer) {
                    // No reader can ask for the previous version any more.
                    tier.forget_object(before.version.id);
                }
                answer
            };
            // A separate task, so that it finishes even if all waiters are cancelled.
            Box::pin(async move {
                let task = tokio::spawn(work);
                task.await
                    .unwrap_or_else(|error| Err(OriginError::Passing(Arc::new(error))))
            })
        })
    }

    /// Asks the store, or returns the version on disk if the object is immutable.
    async fn fetch_version(
        &self,
        path: &str,
        address: &str,
        treatment: &Treatment,
        wanted: Option<&GetRange>,
    ) -> Result<KnownVersion, OriginError> {
        let requested_at = system::now();
        let tier = &self.0.tier;
        let endpoint = self.0.origin.endpoint();
        let on_disk = tier
            .directories
            .iter()
            .find_map(|directory| directory.object_at(endpoint, address));
        if let Some(info) = on_disk
            .as_ref()
            .filter(|info| treatment.is_immutable && self.understands(info))
        {
            let version = self.0.version(path, info.description.clone(), treatment);
            return Ok(KnownVersion {
                version,
                requested_at,
            });
        }
        // If something of the object is cached, a request without bytes is cheaper.
        let is_new = on_disk.is_none() && tier.known.get(address).is_none();
        if let Some(first) = wanted.filter(|_| is_new).and_then(first_of) {
            match fetch::with_timeout(self.0.origin.get(path, None, Some(first))).await {
                Ok(answer) => return Ok(self.start_flight(path, treatment, answer, requested_at)),
                // The range is beyond the end; the size in the description decides the response.
                Err(OriginError::Range { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        add(&self.0.counts().checks, 1);
        let description = fetch::with_timeout(self.0.origin.describe(path)).await?;
        Ok(KnownVersion {
            version: self.0.version(path, description, treatment),
            requested_at,
        })
    }

    /// Handles a response that included the description: its body becomes a running fetch.
    fn start_flight(
        &self,
        path: &str,
        treatment: &Treatment,
        answer: Answer,
        requested_at: std::time::Instant,
    ) -> KnownVersion {
        let version = self.0.version(path, answer.description.clone(), treatment);
        let size_bytes = version.info.description.size_bytes;
        let end = if answer.range.end == size_bytes {
            size_bytes.div_ceil(PIECE_BYTES)
        } else {
            answer.range.end / PIECE_BYTES
        };
        let pieces = answer.range.start.div_ceil(PIECE_BYTES)..end;
        if !bytes_of(&pieces, size_bytes).is_empty() {
            let flight = Arc::new(Flight::new(pieces));
            if self.0.tier.flights.register(version.id, &flight) {
                tokio::spawn(fetch::run(
                    self.0.clone(),
                    version.clone(),
                    flight,
                    Some((answer, requested_at)),
                ));
            }
        }
        KnownVersion {
            version,
            requested_at,
        }
    }
}

/// Returns the range to request before the size is known: whole pieces, but at most as much as a
/// first read needs.
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
        // The first whole piece starts less than one piece after the start of the suffix.
        GetRange::Suffix(bytes) if *bytes > 0 && *bytes <= first_bytes => {
            Some(GetRange::Suffix(bytes + PIECE_BYTES))
        }
        GetRange::Suffix(_) => None,
    }
}

/// Resolves a range for an object of this size.
///
/// # Errors
/// [`OriginError::Range`] if the result is empty.
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
