//! An input read by ranges as if it were a file.
//!
//! The reader holds one chunk and, during a sequential read, fetches the next one: two chunks of at
//! most half of [`READ_AHEAD_BYTES`] each. A first read, and a read at another position, fetches
//! little ([`FIRST_BYTES`], enough for most records). Chunks grow while reading is sequential. Only
//! the next chunk is fetched ahead, so a slow reader slows the network.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::range_source::RangeSource;
use crate::retry::fetch_range;
use crate::runtime::{Spawner, Started};
use crate::settings::Retry;

/// Maximum memory of an opened input in bytes: the chunk being read, and the chunk fetched ahead.
pub const READ_AHEAD_BYTES: u64 = 8 << 20;

/// Maximum size of a chunk.
const CHUNK_BYTES_MAX: u64 = READ_AHEAD_BYTES / 2;

/// Size of the first chunk.
const FIRST_BYTES: u64 = 64 << 10;

/// Growth factor between consecutive chunks.
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
    /// The next chunk, being fetched.
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

    /// Loads the chunk that contains `offset`, which must be below the size.
    fn go_to(&self, state: &mut State, offset: u64, wanted: u64) -> io::Result<()> {
        let length = state.chunk.len() as u64;
        let goes_on = length > 0 && offset == state.end();
        let bytes = if goes_on {
            (length * GROWTH).min(CHUNK_BYTES_MAX)
        } else {
            // A jump to another position, perhaps for a single record: fetch only the requested
            // bytes.
            wanted.clamp(FIRST_BYTES, CHUNK_BYTES_MAX)
        };
        // Cleared first: if the fetch fails, an old chunk must not remain with a new offset.
        let ahead = std::mem::take(state).ahead;
        let chunk = match ahead {
            Some(ahead) if goes_on => ahead.wait()?,
            _ => self.start(offset, bytes).wait()?,
        };
        state.start = offset;
        state.chunk = chunk;
        // Read-ahead starts at the second chunk, so that a single read costs one request.
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
            .start(async move { fetch_range(&*fetch, offset, end, retry).await })
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
        // Held during the fetch: readers of one input share its chunk and so take turns.
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
