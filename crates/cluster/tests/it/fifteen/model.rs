//! What may be read of an object, given what was answered to those who wrote it.

use bytes::Bytes;
use contract::Key;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// Sizes of contents.
const BYTES_MIN: usize = 1 << 10;
const BYTES_MAX: usize = 200 << 10;

/// Number of a write in its load; 0 is never used.
pub(crate) type Serial = u64;

/// An object, or that there is none.
pub(crate) type State = Option<Serial>;

/// One object.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) key: Key,
    /// What the newest acknowledged operation left, and what attempts since then may have left that failed.
    may: Vec<State>,
    /// Conditional writes that failed without an answer: the decider may still be at it. Until it is known
    /// better they may come after anything.
    late: Vec<State>,
}

impl Model {
    /// An object that was never written.
    pub(crate) fn absent(key: Key) -> Self {
        Self {
            key,
            may: vec![None],
            late: Vec::new(),
        }
    }

    /// An operation was acknowledged.
    pub(crate) fn is_now(&mut self, state: State) {
        self.may = vec![state];
    }

    /// An operation failed in a way that may have left its version.
    pub(crate) fn may_be(&mut self, state: State) {
        self.may.push(state);
    }

    /// As [`Model::may_be`], of a write that somebody else may still finish.
    pub(crate) fn may_come(&mut self, state: State) {
        self.may.push(state);
        self.late.push(state);
    }

    /// Whether this may be read.
    pub(crate) fn allows(&self, state: State) -> bool {
        self.may.contains(&state) || self.late.contains(&state)
    }

    /// The object is there for certain.
    pub(crate) fn is_there(&self) -> bool {
        !self.allows(None)
    }

    /// Whether an object of this size may be there.
    pub(crate) fn allows_size(&self, size: u64) -> bool {
        let mut serials = self.may.iter().chain(&self.late).flatten();
        serials.any(|serial| content(&self.key, *serial).len() as u64 == size)
    }

    /// This was read when everything could be reached. When everything is repaired too, it stays so.
    pub(crate) fn found(&mut self, state: State, stays: bool) {
        assert!(self.allows(state), "{state:?} was read: {self:?}");
        if stays {
            self.late.clear();
            self.is_now(state);
        }
    }
}

/// The content of a write: its number, then what only this key and number give.
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

/// The number of the write that made a content; the whole of it must be as it was written.
pub(crate) fn serial_of(key: &Key, found: &[u8]) -> Serial {
    let serial = found.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    assert!(
        found == content(key, serial),
        "{key}: {} bytes are not what write {serial} wrote",
        found.len()
    );
    serial
}
