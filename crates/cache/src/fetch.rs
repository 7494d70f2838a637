//! A fetch of a run of pieces from the store into the tiers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use object_store::GetRange;
use rustc_hash::FxHashMap;

use crate::block::{BLOCK_BYTES, BlockKey, PIECE_BYTES, Pieces, bytes_of};
use crate::counts::add;
use crate::directory::NewBlock;
use crate::flight::Flight;
use crate::origin::{Answer, OriginError};
use crate::tier::ReadContext;
use crate::versions::Version;

/// Consecutive failures without a byte in between after which a fetch fails.
const FAILURES_MAX: u32 = 3;
/// Delay after the first failure; it doubles with each further one.
const WAIT_FIRST: Duration = Duration::from_millis(100);

/// A store that sends nothing for this long has failed. Others that wait for the same bytes must
/// not wait forever.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Waits for a store, with a timeout.
pub(crate) async fn with_timeout<T>(
    answer: impl Future<Output = Result<T, OriginError>>,
) -> Result<T, OriginError> {
    let answer = tokio::time::timeout(SILENCE_MAX, answer).await;
    answer.unwrap_or_else(|_| Err(OriginError::Passing(Arc::new(NoAnswer))))
}

/// Runs a fetch to its end, even if all waiters are gone. `begun` is a response that has already
/// arrived, and the time of its request.
pub(crate) async fn run(
    reading: ReadContext,
    version: Arc<Version>,
    flight: Arc<Flight>,
    begun: Option<(Answer, Instant)>,
) {
    let tier = &reading.tier;
    let queued = system::now();
    // Closed only when the tier is dropped, which a running fetch prevents.
    let _turn = tier.fetches.acquire().await;
    // The time in the queue is not the store's.
    let began = begun.as_ref().map_or(queued, |(_, asked)| *asked) + system::since(queued);
    let begun = begun.map(|(answer, _)| answer);
    let bytes = bytes_of(&flight.pieces, version.info.description.size_bytes);
    add(&reading.counts().fetches, 1);
    add(&reading.counts().fetched_bytes, bytes.end - bytes.start);
    let ended = fill(&reading, &version, &flight, begun).await;
    let took = system::since(began);
    let arrived = flight.arrived();
    if ended.is_ok() {
        reading.gauge.note(bytes.end - bytes.start, took);
    }
    let blocks = blocks(&version, &flight, arrived);
    // Memory does not cache inputs, which are read once from start to end.
    if !reading.is_scan() {
        for (key, pieces) in &blocks {
            tier.memory.add(*key, &version.info, pieces);
        }
    }
    // Readers continue. Other readers still find the flight until the disk has its blocks or has
    // them queued.
    flight.end(ended);
    if let Some(first) = tier.directories.first() {
        for (key, pieces) in blocks {
            let block = NewBlock::new(key, &version, pieces, reading.effort());
            first.store(block, &reading.gauge).await;
        }
    }
    tier.flights.finish(version.id, &flight);
}

/// Groups the pieces by block.
fn blocks(version: &Version, flight: &Flight, arrived: Vec<Bytes>) -> Vec<(BlockKey, Pieces)> {
    let mut blocks: FxHashMap<BlockKey, Pieces> = FxHashMap::default();
    for (piece, bytes) in flight.pieces.clone().zip(arrived) {
        let (key, at) = version.place(piece);
        blocks.entry(key).or_default().set(at, bytes);
    }
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    blocks.sort_by_key(|(key, _)| *key);
    blocks
}

/// Fills a flight. After a failure it resumes at the next missing byte.
async fn fill(
    reading: &ReadContext,
    version: &Version,
    flight: &Flight,
    mut begun: Option<Answer>,
) -> Result<(), OriginError> {
    let description = &version.info.description;
    let bytes = bytes_of(&flight.pieces, description.size_bytes);
    let mut pieces = FetchBuffer::new(flight, bytes.start, bytes.end);
    let mut failures = 0;
    while pieces.at < bytes.end {
        let (path, from) = (&version.info.path, pieces.at);
        let answer = match begun.take() {
            Some(answer) => Ok(answer),
            None => {
                let wanted = GetRange::Bounded(from..bytes.end);
                with_timeout(reading.origin.get(path, Some(description), Some(wanted))).await
            }
        };
        let failure = match answer {
            Ok(answer) => pieces.drain(answer, version).await,
            Err(failure) => Err(failure),
        };
        let Err(failure) = failure else { continue };
        if pieces.at > from {
            failures = 0;
        }
        match failure {
            OriginError::Passing(_) if failures < FAILURES_MAX => {
                tokio::time::sleep(WAIT_FIRST * 2_u32.pow(failures)).await;
                failures += 1;
            }
            // The description promised a longer object.
            OriginError::Range { .. } => return Err(OriginError::Changed),
            other => return Err(other),
        }
    }
    Ok(())
}

/// Splits the received bytes into pieces.
struct FetchBuffer<'a> {
    flight: &'a Flight,
    at: u64,
    end: u64,
    /// Received bytes of the next piece, with capacity for the rest of its block. Pieces that are
    /// evicted together share one allocation, because an allocator may use an extra page for each.
    piece: BytesMut,
}

impl FetchBuffer<'_> {
    fn new(flight: &Flight, at: u64, end: u64) -> FetchBuffer<'_> {
        FetchBuffer {
            flight,
            at,
            end,
            piece: BytesMut::new(),
        }
    }

    /// Reads a response to its end.
    async fn drain(&mut self, answer: Answer, version: &Version) -> Result<(), OriginError> {
        let Answer {
            description,
            range,
            mut body,
        } = answer;
        if !description.is_same_version(&version.info.description) {
            return Err(OriginError::Changed);
        }
        // A response requested before the size was known may start before the first whole piece.
        let mut skip = self
            .at
            .checked_sub(range.start)
            .ok_or_else(|| wrong_range(self.at, &range))?;
        while self.at < self.end {
            let next = async { body.next().await.transpose() };
            let Some(chunk) = with_timeout(next).await? else {
                return Err(OriginError::Passing(Arc::new(TruncatedBody)));
            };
            let skipped = skip.min(chunk.len() as u64);
            skip -= skipped;
            self.take(&chunk[skipped as usize..]);
        }
        Ok(())
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while self.at < self.end && !bytes.is_empty() {
            let end = (self.at / PIECE_BYTES + 1)
                .saturating_mul(PIECE_BYTES)
                .min(self.end);
            if self.piece.capacity() == 0 {
                let of_block = (self.at / BLOCK_BYTES + 1)
                    .saturating_mul(BLOCK_BYTES)
                    .min(self.end);
                self.piece = BytesMut::with_capacity((of_block - self.at) as usize);
            }
            let (now, later) = bytes.split_at(bytes.len().min((end - self.at) as usize));
            self.piece.extend_from_slice(now);
            self.at += now.len() as u64;
            bytes = later;
            if self.at == end {
                self.flight.arrive(self.piece.split().freeze());
            }
        }
    }
}

fn wrong_range(at: u64, range: &std::ops::Range<u64>) -> OriginError {
    OriginError::Lasting(Arc::new(WrongRange {
        asked: at,
        start: range.start,
    }))
}

/// No response.
#[derive(Debug, thiserror::Error)]
#[error("nothing came for {} s", SILENCE_MAX.as_secs())]
struct NoAnswer;

/// A truncated response.
#[derive(Debug, thiserror::Error)]
#[error("the answer ended early")]
struct TruncatedBody;

/// A response for another range than requested.
#[derive(Debug, thiserror::Error)]
#[error("asked for bytes from {asked}, got them from {start}")]
struct WrongRange {
    asked: u64,
    start: u64,
}
