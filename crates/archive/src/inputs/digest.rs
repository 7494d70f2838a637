//! Content digests of inputs. Digests of some prefixes are computed in the same pass: an input that was
//! loaded while it grew, or was renamed since, is recognised by the digest of its first bytes.

use std::collections::HashMap;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Bytes read at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Digest of the bytes that an input had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentDigest {
    /// Bytes read.
    pub(crate) size: u64,
    /// `sha256:<hex>` of these bytes.
    pub(crate) digest: String,
    /// Digest of the first `n` bytes, for every requested `n` that the input reaches.
    pub(crate) prefixes: HashMap<u64, String>,
}

/// Digests `content` to its end, and its prefixes of the given sizes. Calls `each` with every piece.
pub(crate) fn digest(
    mut content: impl Read,
    sizes: &[u64],
    mut each: impl FnMut(&[u8]),
) -> io::Result<ContentDigest> {
    let mut sizes: Vec<u64> = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    let mut sizes = sizes.into_iter().peekable();
    let mut hasher = Sha256::new();
    let mut prefixes = HashMap::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0;
    loop {
        // Stop short at the next prefix, so that the state can be copied exactly there.
        while let Some(reached) = sizes.next_if(|wanted| *wanted <= size) {
            prefixes.insert(reached, text(&hasher.clone().finalize()));
        }
        let room = sizes.peek().map_or(BUFFER_BYTES as u64, |wanted| {
            (wanted - size).min(BUFFER_BYTES as u64)
        });
        let count = match content.read(&mut buffer[..room as usize]) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if count == 0 {
            return Ok(ContentDigest {
                size,
                digest: text(&hasher.finalize()),
                prefixes,
            });
        }
        hasher.update(&buffer[..count]);
        each(&buffer[..count]);
        size += count as u64;
    }
}

/// A digest in the form that the ledger has.
pub(crate) fn text(sha256: &[u8]) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(sha256))
}
