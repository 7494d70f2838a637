//! Computes content digests of inputs, and digests of some prefixes in the same pass. An input that
//! was loaded while it grew, or was renamed since, is recognised by the digest of its first bytes.

use std::collections::HashMap;
use std::io::{self, Read};

use sha2::digest::common::hazmat::SerializableState;
use sha2::{Digest, Sha256};

/// Bytes read at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Digest of the content of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentDigest {
    /// Size of the content in bytes.
    pub size: u64,
    /// `sha256:<hex>` of the content. For an input that is digested while it is read, the digest of
    /// its beginning in the form of [`index::digest_of_beginning`].
    pub digest: String,
    /// Digest of the first `n` bytes, for every requested `n` up to the size of the input.
    pub prefixes: HashMap<u64, String>,
}

/// A digest in progress, computed from front to back.
#[derive(Clone, Default)]
pub struct Digesting {
    hasher: Sha256,
    /// Number of bytes taken so far.
    position: u64,
}

impl Digesting {
    /// Adds the next bytes.
    pub fn take(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.position += piece.len() as u64;
    }

    /// Returns the number of bytes taken so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the digest of the bytes taken so far.
    pub fn digest(&self) -> String {
        text(&self.hasher.clone().finalize())
    }

    /// Returns the state from which [`Digesting::of_state`] continues.
    pub fn state(&self) -> Vec<u8> {
        self.hasher.serialize().to_vec()
    }

    /// Restores a digest after `position` bytes whose digest is `digest`. Returns `None` if `state`
    /// does not match.
    pub fn of_state(state: &[u8], position: u64, digest: &str) -> Option<Digesting> {
        let hasher = Sha256::deserialize(state.try_into().ok()?).ok()?;
        let digesting = Digesting { hasher, position };
        (digesting.digest() == digest).then_some(digesting)
    }

    /// Reads `content` to its end, and calls `each` with every piece. Returns the digests of the
    /// prefixes of the given sizes, as far as the content reaches.
    pub fn take_all(
        &mut self,
        mut content: impl Read,
        sizes: &[u64],
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<HashMap<u64, String>> {
        let mut sizes: Vec<u64> = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        let mut sizes = sizes.into_iter().peekable();
        let mut prefixes = HashMap::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            // Stop reading at the next prefix size, so that its digest can be taken exactly there.
            while let Some(reached) = sizes.next_if(|wanted| *wanted <= self.position) {
                prefixes.insert(reached, self.digest());
            }
            let room = sizes.peek().map_or(BUFFER_BYTES as u64, |wanted| {
                (wanted - self.position).min(BUFFER_BYTES as u64)
            });
            let count = match content.read(&mut buffer[..room as usize]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if count == 0 {
                return Ok(prefixes);
            }
            self.take(&buffer[..count]);
            each(&buffer[..count]);
        }
    }
}

/// Digests `content` to its end, and its prefixes of the given sizes. Calls `each` with every
/// piece.
pub fn digest(content: impl Read, sizes: &[u64], each: impl FnMut(&[u8])) -> io::Result<ContentDigest> {
    let mut digesting = Digesting::default();
    let prefixes = digesting.take_all(content, sizes, each)?;
    Ok(ContentDigest {
        size: digesting.position(),
        digest: digesting.digest(),
        prefixes,
    })
}

/// Returns a digest in the form used in the ledger.
pub fn text(sha256: &[u8]) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(sha256))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_taken_up_where_it_was_stored() {
        let bytes: Vec<u8> = (0..1000_u32).map(|number| number as u8).collect();
        let whole = digest(&bytes[..], &[], |_| {}).unwrap().digest;
        for at in [0, 1, 63, 64, 65, 500, 1000] {
            let mut begun = Digesting::default();
            begun.take(&bytes[..at]);
            let (state, position, digest) = (begun.state(), begun.position(), begun.digest());
            let mut rest = Digesting::of_state(&state, position, &digest).unwrap();
            rest.take(&bytes[at..]);
            assert_eq!((rest.position(), rest.digest()), (1000, whole.clone()), "at {at}");
            assert!(Digesting::of_state(&state, position, &whole).is_none() || at == 1000);
            assert!(Digesting::of_state(&state[1..], position, &digest).is_none());
        }
    }
}
