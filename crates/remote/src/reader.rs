//! An input read by ranges as if it were a file.
//!
//! The reader holds one chunk and, while that is read from front to back, fetches the next one: two chunks of at most
//! half of [`READ_AHEAD_BYTES`]. A first read, and one elsewhere, fetches little ([`FIRST_BYTES`], enough for most
//! records); chunks grow while reading goes on where it stopped. What is not read is not fetched: a slow reader
//! slows the network.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::range_source::RangeSource;
use crate::retry::fetched;
use crate::runtime::{Spawner, Started};
use crate::settings::Retry;

/// Memory of an opened input: what is being read, and what is fetched ahead.
pub const READ_AHEAD_BYTES: u64 = 8 << 20;

/// Bytes of a chunk at most.
const CHUNK_BYTES_MAX: u64 = READ_AHEAD_BYTES / 2;

/// Bytes of a first chunk.
const FIRST_BYTES: u64 = 64 << 10;

/// Growth from a chunk to the next.
const GROWTH: u64 = 4;

/// An input of known size.
pub(crate) struct RangeReader {
    fetch: Arc<dyn RangeSource>,
    size: u64,
    retry: Retry,
    spawner: Spawner,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Offset of `chunk[0]`.
    start: u64,
    chunk: Bytes,
    /// What follows the chunk, being fetched.
    ahead: Option<Started<Bytes>>,
}

impl State {
    fn end(&self) -> u64 {
        self.start + self.chunk.len() as u64
    }
}

impl RangeReader {
    pub(crate) fn new(fetch: Arc<dyn RangeSource>, size: u64, retry: Retry, spawner: Spawner) -> RangeReader {
        RangeReader {
            fetch,
            size,
            retry,
            spawner,
            state: Mutex::default(),
        }
    }

    /// Makes `offset`, which is below the size, be within the chunk.
    fn go_to(&self, state: &mut State, offset: u64, wanted: u64) -> io::Result<()> {
        let length = state.chunk.len() as u64;
        let goes_on = length > 0 && offset == state.end();
        let bytes = if goes_on {
            (length * GROWTH).min(CHUNK_BYTES_MAX)
        } else {
            // Elsewhere than where reading stopped: perhaps for one record alone, so no more than is asked
            // for.
            wanted.clamp(FIRST_BYTES, CHUNK_BYTES_MAX)
        };
        // Whatever fails now, an old chunk must not stand beside a new offset.
        let ahead = std::mem::take(state).ahead;
        let chunk = match ahead {
            Some(ahead) if goes_on => ahead.wait()?,
            _ => self.start(offset, bytes).wait()?,
        };
        state.start = offset;
        state.chunk = chunk;
        // Fetched ahead only from the second chunk on: one look into an input costs one request.
        if goes_on && state.end() < self.size {
            let next = (state.chunk.len() as u64 * GROWTH).min(CHUNK_BYTES_MAX);
            state.ahead = Some(self.start(state.end(), next));
        }
        Ok(())
    }

    fn start(&self, offset: u64, bytes: u64) -> Started<Bytes> {
        let (fetch, retry) = (self.fetch.clone(), self.retry);
        let end = offset.saturating_add(bytes).min(self.size);
        self.spawner
            .start(async move { fetched(&*fetch, offset, end, retry).await })
    }
}

impl warc::Input for RangeReader {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if into.is_empty() || offset >= self.size {
            return Ok(0);
        }
        // Held while a chunk is fetched: readers of one input take turns, as they share its chunk.
        let mut state = self.state.lock();
        if offset < state.start || offset >= state.end() {
            self.go_to(&mut state, offset, into.len() as u64)?;
        }
        let from = usize::try_from(offset - state.start).map_err(io::Error::other)?;
        let rest = &state.chunk[from.min(state.chunk.len())..];
        let bytes = rest.len().min(into.len());
        into[..bytes].copy_from_slice(&rest[..bytes]);
        Ok(bytes)
    }
}
