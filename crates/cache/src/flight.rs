//! Fetches in progress: each piece is fetched once for all its readers.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::block::ObjectId;
use crate::origin::OriginError;

/// A run of pieces of an object that is being fetched.
pub(crate) struct Flight {
    pub(crate) pieces: Range<u64>,
    arrived: Mutex<Vec<Bytes>>,
    /// Number of pieces received, and the result.
    progress: watch::Sender<Progress>,
}

#[derive(Clone, Default)]
struct Progress {
    arrived: usize,
    ended: Option<Result<(), OriginError>>,
}

impl Flight {
    pub(crate) fn new(pieces: Range<u64>) -> Flight {
        Flight {
            pieces,
            arrived: Mutex::default(),
            progress: watch::Sender::new(Progress::default()),
        }
    }

    /// Adds the next piece.
    pub(crate) fn arrive(&self, piece: Bytes) {
        self.arrived.lock().push(piece);
        self.progress.send_modify(|progress| progress.arrived += 1);
    }

    /// Ends the flight.
    pub(crate) fn end(&self, how: Result<(), OriginError>) {
        self.progress.send_modify(|progress| {
            progress.ended.get_or_insert(how);
        });
    }

    /// Waits for a piece.
    ///
    /// # Errors
    /// Why the piece does not arrive.
    pub(crate) async fn piece(&self, piece: u64) -> Result<Bytes, OriginError> {
        let index = usize::try_from(piece.saturating_sub(self.pieces.start)).unwrap_or(usize::MAX);
        let mut progress = self.progress.subscribe();
        let waited = progress
            .wait_for(|progress| progress.arrived > index || progress.ended.is_some())
            .await
            .map(|progress| progress.clone());
        if let Some(piece) = self.arrived.lock().get(index) {
            return Ok(piece.clone());
        }
        match waited.map(|progress| progress.ended) {
            Ok(Some(Err(error))) => Err(error),
            _ => Err(OriginError::Passing(Arc::new(Abandoned))),
        }
    }

    /// Returns the pieces received.
    pub(crate) fn arrived(&self) -> Vec<Bytes> {
        self.arrived.lock().clone()
    }
}

/// A fetch that ended without a result, for example when the process ends.
#[derive(Debug, thiserror::Error)]
#[error("the fetch was abandoned")]
struct Abandoned;

/// All fetches in progress.
#[derive(Default)]
pub(crate) struct Flights(Mutex<FxHashMap<ObjectId, Vec<Arc<Flight>>>>);

/// The fetch that provides a piece.
pub(crate) enum FetchSource {
    /// A running fetch.
    Joined(Arc<Flight>),
    /// A new fetch, which the caller must start.
    New(Arc<Flight>),
}

impl Flights {
    /// Assigns each run of pieces to a fetch: a running one, or a new one of at most `run_max`
    /// pieces. For a piece that no fetch provides, `arrived` returns whether it has reached a tier
    /// meanwhile; such pieces are in no run.
    pub(crate) fn assign(
        &self,
        object: ObjectId,
        wanted: impl Iterator<Item = u64>,
        run_max: u64,
        arrived: impl Fn(u64) -> bool,
    ) -> Vec<(Range<u64>, FetchSource)> {
        let mut all = self.0.lock();
        let of = all.entry(object).or_default();
        let mut runs: Vec<(Range<u64>, Option<Arc<Flight>>)> = Vec::new();
        for piece in wanted {
            let flight = of.iter().find(|flight| flight.pieces.contains(&piece)).cloned();
            // Under the lock no fetch can end: a piece that is not in flight was never requested,
            // or is in a tier.
            if flight.is_none() && arrived(piece) {
                continue;
            }
            match runs.last_mut() {
                Some((run, last))
                    if run.end == piece
                        && match (&*last, &flight) {
                            (Some(last), Some(flight)) => Arc::ptr_eq(last, flight),
                            (None, None) => run.end - run.start < run_max,
                            _ => false,
                        } =>
                {
                    run.end += 1;
                }
                _ => runs.push((piece..piece + 1, flight)),
            }
        }
        let mut begin = |run: &Range<u64>| {
            let flight = Arc::new(Flight::new(run.clone()));
            of.push(flight.clone());
            FetchSource::New(flight)
        };
        let assigned = runs
            .into_iter()
            .map(|(run, flight)| {
                let source = flight.map_or_else(|| begin(&run), FetchSource::Joined);
                (run, source)
            })
            .collect();
        if of.is_empty() {
            all.remove(&object);
        }
        assigned
    }

    /// Registers a running fetch, unless another one overlaps it.
    pub(crate) fn register(&self, object: ObjectId, flight: &Arc<Flight>) -> bool {
        let mut all = self.0.lock();
        let of = all.entry(object).or_default();
        let overlaps = |other: &Arc<Flight>| {
            other.pieces.start < flight.pieces.end && flight.pieces.start < other.pieces.end
        };
        if of.iter().any(overlaps) {
            return false;
        }
        of.push(flight.clone());
        true
    }

    /// Returns whether no fetch is in progress, including writes to disks.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Removes a fetch that has ended. Its pieces are in a tier, unless they are not cached.
    pub(crate) fn finish(&self, object: ObjectId, flight: &Arc<Flight>) {
        let mut all = self.0.lock();
        if let Some(of) = all.get_mut(&object) {
            of.retain(|other| !Arc::ptr_eq(other, flight));
            if of.is_empty() {
                all.remove(&object);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_is_joined_and_the_rest_begun() {
        let flights = Flights::default();
        let object = ObjectId(1);
        let first = flights.assign(object, 2..6, 100, |_| false);
        assert!(matches!(&first[..], [(run, FetchSource::New(_))] if *run == (2..6)));
        let second = flights.assign(object, 0..10, 3, |piece| piece == 0);
        let shown: Vec<_> = second
            .iter()
            .map(|(run, source)| (run.clone(), matches!(source, FetchSource::New(_))))
            .collect();
        assert_eq!(shown, [(1..2, true), (2..6, false), (6..9, true), (9..10, true)]);
        for (_, source) in first.iter().chain(&second) {
            if let FetchSource::New(flight) = source {
                flights.finish(object, flight);
            }
        }
        assert!(flights.0.lock().is_empty());
    }
}
