//! A model of what may be read of an object, given the responses to its writers.

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use store_protocol::Key;

/// Bounds of content sizes.
const BYTES_MIN: usize = 1 << 10;
const BYTES_MAX: usize = 200 << 10;

/// Number of a write in its load. 0 is never used.
pub(crate) type Serial = u64;

/// The write that made the object, or `None` if there is no object.
pub(crate) type State = Option<Serial>;

/// One object.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) key: Key,
    /// The state after the newest acknowledged operation, and the states that failed attempts since
    /// then may have left.
    may: Vec<State>,
    /// Conditional writes that failed without a response. The decider may still carry them out, so
    /// until all values are fixed they may take effect after any other operation.
    late: Vec<State>,
}

impl Model {
    /// Returns an object that was never written.
    pub(crate) fn absent(key: Key) -> Self {
        Self {
            key,
            may: vec![None],
            late: Vec::new(),
        }
    }

    /// Records an acknowledged operation.
    pub(crate) fn is_now(&mut self, state: State) {
        self.may = vec![state];
    }

    /// Records a failed operation that may have left its version.
    pub(crate) fn may_be(&mut self, state: State) {
        self.may.push(state);
    }

    /// Like [`Model::may_be`], for a write that another node may still finish.
    pub(crate) fn may_come(&mut self, state: State) {
        self.may.push(state);
        self.late.push(state);
    }

    /// Returns whether this state may be read.
    pub(crate) fn allows(&self, state: State) -> bool {
        self.may.contains(&state) || self.late.contains(&state)
    }

    /// Returns whether the object certainly exists.
    pub(crate) fn is_there(&self) -> bool {
        !self.allows(None)
    }

    /// Returns whether the object may exist with this size.
    pub(crate) fn allows_size(&self, size: u64) -> bool {
        let mut serials = self.may.iter().chain(&self.late).flatten();
        serials.any(|serial| content(&self.key, *serial).len() as u64 == size)
    }

    /// Records a state that was read when everything could be reached. With `stays` everything is
    /// also repaired, and the state is fixed.
    pub(crate) fn found(&mut self, state: State, stays: bool) {
        assert!(self.allows(state), "{state:?} was read: {self:?}");
        if stays {
            self.late.clear();
            self.is_now(state);
        }
    }
}

/// Returns the content of a write: its number, then bytes that depend only on key and number.
pub(crate) fn content(key: &Key, serial: Serial) -> Bytes {
    let hash = blake3::hash(format!("{key} {serial}").as_bytes());
    let mut random = StdRng::from_seed(*hash.as_bytes());
    // As many small ones as large ones, by order of magnitude.
    let magnitude = random.random_range((BYTES_MIN as f64).ln()..(BYTES_MAX as f64).ln());
    let mut content = vec![0; magnitude.exp() as usize];
    blake3::Hasher::new_keyed(hash.as_bytes())
        .finalize_xof()
        .fill(&mut content);
    content[..8].copy_from_slice(&serial.to_be_bytes());
    content.into()
}

/// Returns the number of the write that made some content. All bytes must be those of that write.
pub(crate) fn serial_of(key: &Key, found: &[u8]) -> Serial {
    let serial = found.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    assert!(
        found == content(key, serial),
        "{key}: {} bytes are not what write {serial} wrote",
        found.len()
    );
    serial
}
