//! Reads of a range of a version from memory, disks, running fetches and new ones.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use rustc_hash::FxHashMap;
use tokio::task::JoinHandle;

use crate::block::{BlockKey, PIECE_BYTES, PIECES, Pieces, pieces_of, place};
use crate::counts::{add, add_time};
use crate::fetch;
use crate::flight::{FetchSource, Flight};
use crate::origin::OriginError;
use crate::tier::ReadContext;
use crate::versions::Version;

/// Maximum number of pieces per request to a store: 4 MiB, which a link of 100 MB/s transfers in
/// four round trips.
pub(crate) const RUN_MAX: u64 = 64;
/// Number of pieces requested before the first has arrived.
pub(crate) const FIRST_MAX: u64 = PIECES as u64;
/// Maximum number of pieces in flight for one reader.
const AHEAD_MAX: u64 = 3 * RUN_MAX;

/// A reader of a range.
pub(crate) struct Reader {
    reading: ReadContext,
    version: Arc<Version>,
    range: Range<u64>,
    /// Planned parts, in order.
    parts: VecDeque<Part>,
    /// The next piece to plan.
    planned: u64,
    /// The next piece to return.
    next: u64,
    first: u64,
    /// The last block recorded for the estimates of hit rates.
    noted: Option<BlockKey>,
}

/// Consecutive pieces from one source.
struct Part {
    pieces: Range<u64>,
    source: Source,
}

enum Source {
    Memory(Bytes),
    Disk(Disk),
    Flight { flight: Arc<Flight>, is_joined: bool },
}

/// A read of a block, and its result.
enum Disk {
    Reading(JoinHandle<Option<Pieces>>),
    Read(Box<Pieces>),
}

impl Reader {
    pub(crate) fn new(reading: ReadContext, version: Arc<Version>, range: Range<u64>) -> Reader {
        let first = pieces_of(&range).start;
        Reader {
            reading,
            version,
            range,
            parts: VecDeque::new(),
            planned: first,
            next: first,
            first,
            noted: None,
        }
    }

    /// Returns the remaining bytes as a stream.
    pub(crate) fn stream(self) -> BoxStream<'static, Result<Bytes, OriginError>> {
        let read = |reader: Option<Reader>| async move {
            let mut reader = reader?;
            match reader.piece().await? {
                Ok(bytes) => Some((Ok(bytes), Some(reader))),
                Err(error) => Some((Err(error), None)),
            }
        };
        stream::unfold(Some(self), read).fuse().boxed()
    }

    /// Returns the next bytes; `None` at the end.
    pub(crate) async fn piece(&mut self) -> Option<Result<Bytes, OriginError>> {
        let end = pieces_of(&self.range).end;
        if self.next >= end || self.range.is_empty() {
            return None;
        }
        // The read-ahead grows with the number of pieces already returned.
        let ahead = (2 * (self.next - self.first)).clamp(FIRST_MAX, AHEAD_MAX);
        while self.planned < end && self.planned < self.next + ahead {
            let window = self.planned..end.min(self.planned + RUN_MAX).min(self.next + ahead);
            self.planned = window.end;
            self.plan(window, true);
        }
        let piece = self.next;
        let bytes = match self.given(piece).await {
            Ok(bytes) => bytes,
            Err(error) => return Some(Err(error)),
        };
        self.next += 1;
        let start = piece * PIECE_BYTES;
        let from = self.range.start.saturating_sub(start) as usize;
        let to = (self.range.end - start).min(bytes.len() as u64) as usize;
        Some(Ok(bytes.slice(from.min(to)..to)))
    }

    /// Returns the bytes of a planned piece.
    async fn given(&mut self, piece: u64) -> Result<Bytes, OriginError> {
        let counts = self.reading.counts_of();
        loop {
            let Some(part) = self.parts.front_mut() else {
                // Every piece before `planned` should be in a part; this one is in none.
                self.plan(piece..piece + 1, false);
                continue;
            };
            if part.pieces.end <= piece {
                self.parts.pop_front();
                continue;
            }
            match &mut part.source {
                Source::Memory(bytes) => {
                    add(&counts.memory_bytes, bytes.len() as u64);
                    return Ok(bytes.clone());
                }
                Source::Flight { flight, is_joined } => {
                    let began = system::now();
                    let bytes = flight.piece(piece).await;
                    add_time(&counts.wait_us, system::since(began));
                    if let (true, Ok(bytes)) = (*is_joined, &bytes) {
                        add(&counts.joined_bytes, bytes.len() as u64);
                    }
                    return bytes;
                }
                Source::Disk(Disk::Reading(read)) => {
                    let began = system::now();
                    let pieces = read.await.ok().flatten().unwrap_or_default();
                    add_time(&counts.wait_us, system::since(began));
                    part.source = Source::Disk(Disk::Read(Box::new(pieces)));
                }
                Source::Disk(Disk::Read(pieces)) => {
                    if let Some(bytes) = pieces.get(place(piece).1) {
                        add(&counts.disk_bytes, bytes.len() as u64);
                        return Ok(bytes.clone());
                    }
                    // Missing or damaged on disk: fetch them.
                    let missing = pieces_missing(pieces, piece, part.pieces.end);
                    part.pieces.start = missing.end;
                    self.plan(missing, false);
                }
            }
        }
    }

    /// Finds a source for each piece and queues the parts in order.
    fn plan(&mut self, window: Range<u64>, with_disk: bool) {
        let mut parts: Vec<Part> = Vec::new();
        let mut wanted: Vec<u64> = Vec::new();
        let mut begin = window.start;
        while begin < window.end {
            let (key, _) = self.version.place(begin);
            let class = key.class;
            let in_block = (u64::from(key.block) + 1) * PIECES as u64;
            let mut end = begin + 1;
            while end < window.end.min(in_block) && self.version.classes.of_piece(end) == class {
                end += 1;
            }
            // Counted once per pass of a reader over a block, however many parts it is planned in.
            if with_disk && self.noted.replace(key) != Some(key) {
                self.reading.tier.ghosts.read(&key, &self.version.treatment.group);
            }
            self.plan_block(key, begin..end, with_disk, &mut parts, &mut wanted);
            begin = end;
        }
        self.plan_fetches(wanted, &mut parts);
        parts.sort_by_key(|part| part.pieces.start);
        // A part planned again for one piece goes before the rest.
        if self.parts.front().is_some_and(|front| {
            parts
                .first()
                .is_some_and(|part| part.pieces.start < front.pieces.start)
        }) {
            parts
                .into_iter()
                .rev()
                .for_each(|part| self.parts.push_front(part))
        } else {
            self.parts.extend(parts)
        }
    }

    fn plan_block(
        &self,
        key: BlockKey,
        pieces: Range<u64>,
        with_disk: bool,
        parts: &mut Vec<Part>,
        wanted: &mut Vec<u64>,
    ) {
        let tier = &self.reading.tier;
        let bit = |piece: u64| 1_u16 << place(piece).1;
        let there = tier.memory.get(&key).unwrap_or_default();
        let mut rest: u16 = pieces.clone().map(bit).sum();
        for piece in pieces.clone() {
            if let Some(bytes) = there.get(place(piece).1) {
                rest &= !bit(piece);
                let source = Source::Memory(bytes.clone());
                parts.push(Part {
                    pieces: piece..piece + 1,
                    source,
                });
            }
        }
        if with_disk {
            for directory in &tier.directories {
                let on_disk = directory.mask(&key) & rest;
                if on_disk == 0 {
                    continue;
                }
                // Split into runs, because a part has consecutive pieces. Each run is a separate
                // read.
                let mut from = pieces.start;
                while from < pieces.end {
                    let mut to = from;
                    while to < pieces.end && on_disk & bit(to) != 0 {
                        to += 1;
                    }
                    if from < to {
                        let run: u16 = (from..to).map(bit).sum();
                        let read = self.read_disk(directory.clone(), key, run);
                        parts.push(Part {
                            pieces: from..to,
                            source: Source::Disk(Disk::Reading(read)),
                        });
                    }
                    from = to.max(from + 1);
                }
                rest &= !on_disk;
            }
        }
        wanted.extend(pieces.filter(|piece| rest & bit(*piece) != 0));
    }

    fn read_disk(
        &self,
        directory: Arc<crate::directory::DirectoryTier>,
        key: BlockKey,
        run: u16,
    ) -> JoinHandle<Option<Pieces>> {
        let (tier, gauge, info) = (
            self.reading.tier.clone(),
            self.reading.gauge.clone(),
            self.version.info.clone(),
        );
        tokio::spawn(async move {
            let pieces = directory.read(key, run, &gauge).await?;
            tier.memory.add(key, &info, &pieces);
            Some(pieces)
        })
    }

    fn plan_fetches(&self, wanted: Vec<u64>, parts: &mut Vec<Part>) {
        if wanted.is_empty() {
            return;
        }
        let (tier, version) = (&self.reading.tier, &self.version);
        let arrived: RefCell<FxHashMap<u64, Bytes>> = RefCell::default();
        let runs = tier
            .flights
            .assign(version.id, wanted.into_iter(), RUN_MAX, |piece| {
                let (key, at) = version.place(piece);
                let there = tier.memory.get(&key).and_then(|pieces| pieces.get(at).cloned());
                match there {
                    Some(bytes) => arrived.borrow_mut().insert(piece, bytes).is_none(),
                    None => false,
                }
            });
        for (run, source) in runs {
            let (flight, is_joined) = match source {
                FetchSource::Joined(flight) => (flight, true),
                FetchSource::New(flight) => {
                    let (reading, version, of_task) = (self.reading.clone(), version.clone(), flight.clone());
                    tokio::spawn(fetch::run(reading, version, of_task, None));
                    (flight, false)
                }
            };
            parts.push(Part {
                pieces: run,
                source: Source::Flight { flight, is_joined },
            });
        }
        for (piece, bytes) in arrived.into_inner() {
            parts.push(Part {
                pieces: piece..piece + 1,
                source: Source::Memory(bytes),
            });
        }
    }
}

/// Returns the pieces from `piece` on that a read did not return, up to the next one that it did.
fn pieces_missing(read: &Pieces, piece: u64, end: u64) -> Range<u64> {
    let next = (piece + 1..end).find(|next| read.get(place(*next).1).is_some());
    piece..next.unwrap_or(end)
}
