//! One fetch of a run of pieces, from the store into the tiers.

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
use crate::known::Version;
use crate::origin::{Answer, OriginError};
use crate::tier::Reading;

/// Failures in a row, without a byte between them, after which a fetch fails.
const FAILURES_MAX: u32 = 3;
/// Wait after the first failure; doubled after each further one.
const WAIT_FIRST: Duration = Duration::from_millis(100);

/// A store that says nothing for so long has failed: nobody who waits for the same bytes should wait for ever.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Waits for a store, but not for ever.
pub(crate) async fn heard<T>(answer: impl Future<Output = Result<T, OriginError>>) -> Result<T, OriginError> {
    let heard = tokio::time::timeout(SILENCE_MAX, answer).await;
    heard.unwrap_or_else(|_| Err(OriginError::Passing(Arc::new(Silent))))
}

/// Runs a fetch to its end, whoever still waits for it. `begun` is an answer that is there already, and when it was
/// asked for.
pub(crate) async fn run(
    reading: Reading,
    version: Arc<Version>,
    flight: Arc<Flight>,
    begun: Option<(Answer, Instant)>,
) {
    let tier = &reading.tier;
    let queued = system::now();
    // Only closed when the tier is dropped, which a fetch keeps from happening.
    let _turn = tier.fetches.acquire().await;
    // Waiting for a turn says nothing of the store.
    let began = begun.as_ref().map_or(queued, |(_, asked)| *asked) + system::since(queued);
    let begun = begun.map(|(answer, _)| answer);
    let bytes = bytes_of(&flight.pieces, version.info.description.size_bytes);
    add(&reading.counts().fetches, 1);
    add(&reading.counts().fetched_bytes, bytes.end - bytes.start);
    let ended = filled(&reading, &version, &flight, begun).await;
    let took = system::since(began);
    let arrived = flight.arrived();
    if ended.is_ok() {
        reading.gauge.note(bytes.end - bytes.start, took);
    }
    let blocks = blocks(&version, &flight, arrived);
    // What is read once from front to back is of no use to memory.
    if !reading.is_scan() {
        for (key, pieces) in &blocks {
            tier.memory.add(*key, &version.info, pieces);
        }
    }
    // Readers go on; the flight stays where others find it until the disk has it, or has it waiting.
    flight.end(ended);
    if let Some(first) = tier.directories.first() {
        for (key, pieces) in blocks {
            let block = NewBlock::new(key, &version, pieces, reading.effort());
            first.store(block, &reading.gauge).await;
        }
    }
    tier.flights.landed(version.id, &flight);
}

/// The pieces by their blocks.
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

/// Fills a flight, from the byte reached after each failure.
async fn filled(
    reading: &Reading,
    version: &Version,
    flight: &Flight,
    mut begun: Option<Answer>,
) -> Result<(), OriginError> {
    let description = &version.info.description;
    let bytes = bytes_of(&flight.pieces, description.size_bytes);
    let mut pieces = Filling::new(flight, bytes.start, bytes.end);
    let mut failures = 0;
    while pieces.at < bytes.end {
        let (path, from) = (&version.info.path, pieces.at);
        let answer = match begun.take() {
            Some(answer) => Ok(answer),
            None => {
                let wanted = GetRange::Bounded(from..bytes.end);
                heard(reading.origin.get(path, Some(description), Some(wanted))).await
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
            // The object was long enough when it was described.
            OriginError::Range { .. } => return Err(OriginError::Changed),
            other => return Err(other),
        }
    }
    Ok(())
}

/// Cuts what arrives into pieces.
struct Filling<'a> {
    flight: &'a Flight,
    at: u64,
    end: u64,
    /// What has come of the next piece, with room for the rest of its block: pieces that leave memory together are one
    /// allocation, because an allocator may take a page more for each.
    piece: BytesMut,
}

impl Filling<'_> {
    fn new(flight: &Flight, at: u64, end: u64) -> Filling<'_> {
        Filling {
            flight,
            at,
            end,
            piece: BytesMut::new(),
        }
    }

    /// Takes an answer up to its end.
    async fn drain(&mut self, answer: Answer, version: &Version) -> Result<(), OriginError> {
        let Answer {
            description,
            range,
            mut body,
        } = answer;
        if !description.is_same_version(&version.info.description) {
            return Err(OriginError::Changed);
        }
        // An answer that was asked for before the object's size was known may begin before the first whole piece.
        let mut skip = self
            .at
            .checked_sub(range.start)
            .ok_or_else(|| elsewhere(self.at, &range))?;
        while self.at < self.end {
            let next = async { body.next().await.transpose() };
            let Some(chunk) = heard(next).await? else {
                return Err(OriginError::Passing(Arc::new(Short)));
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

fn elsewhere(at: u64, range: &std::ops::Range<u64>) -> OriginError {
    OriginError::Lasting(Arc::new(Elsewhere {
        asked: at,
        start: range.start,
    }))
}

/// No answer.
#[derive(Debug, thiserror::Error)]
#[error("nothing came for {} s", SILENCE_MAX.as_secs())]
struct Silent;

/// An answer that ended before its end.
#[derive(Debug, thiserror::Error)]
#[error("the answer ended early")]
struct Short;

/// An answer of other bytes than those that were asked for.
#[derive(Debug, thiserror::Error)]
#[error("asked for bytes from {asked}, got them from {start}")]
struct Elsewhere {
    asked: u64,
    start: u64,
}
