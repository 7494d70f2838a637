//! Computes MD5, SHA-256 and BLAKE3 of content, each once, in parallel on different cores.
//!
//! No thread blocks on content: hashing runs in short tasks, so that any number of slow uploads
//! cannot use up the threads that the volumes need.

use bytes::Bytes;
use digests::{Md5, Sha256};
use futures_util::future::try_join3;
use futures_util::stream::StreamExt;
use store_protocol::{ByteStream, Digests};
use tokio::task::JoinError;

use super::intake::{Sink, channel};

/// Up to this length all digests are computed in the calling task: handing the work to other
/// threads takes longer.
const INLINE_BYTES_MAX: usize = 32 * 1024;

/// Returns the digests of short content.
pub(super) fn digest_now(content: &[u8]) -> Digests {
    Digests {
        md5: Md5::of(content),
        sha256: Sha256::of(content),
        blake3: *blake3::hash(content).as_bytes(),
    }
}

/// Returns the digests of content in memory.
///
/// # Errors
/// [`JoinError`] when the process is shutting down.
pub(super) async fn digest_whole(content: &Bytes) -> Result<Digests, JoinError> {
    if content.len() <= INLINE_BYTES_MAX {
        return Ok(digest_now(content));
    }
    let (first, second, third) = (content.clone(), content.clone(), content.clone());
    let (md5, sha256, blake3) = try_join3(
        system::blocking(move || Md5::of(&first)),
        system::blocking(move || Sha256::of(&second)),
        system::blocking(move || *blake3::hash(&third).as_bytes()),
    )
    .await?;
    Ok(Digests { md5, sha256, blake3 })
}

/// Computes digests while content passes. Feed the sinks that [`ContentHasher::start`] returns,
/// then call [`ContentHasher::finish`].
pub(super) struct ContentHasher {
    md5: tokio::task::JoinHandle<Option<Md5>>,
    sha256: tokio::task::JoinHandle<Option<Sha256>>,
    blake3: tokio::task::JoinHandle<Option<blake3::Hasher>>,
}

impl ContentHasher {
    /// Starts the computation and returns the sinks for the content.
    pub(super) fn start() -> (Self, Vec<Sink>) {
        let (md5_sink, md5) = channel();
        let (sha256_sink, sha256) = channel();
        let (blake3_sink, blake3) = channel();
        let digesting = Self {
            md5: tokio::spawn(fold(md5, Md5::default(), |state, piece| state.update(piece))),
            sha256: tokio::spawn(fold(sha256, Sha256::default(), |state, piece| {
                state.update(piece)
            })),
            blake3: tokio::spawn(fold(blake3, blake3::Hasher::new(), |state, piece| {
                state.update(piece);
            })),
        };
        (digesting, vec![md5_sink, sha256_sink, blake3_sink])
    }

    /// Returns the digests, or `None` if the content was cut short or the process is shutting down.
    pub(super) async fn finish(self) -> Option<Digests> {
        let (md5, sha256, blake3) = try_join3(self.md5, self.sha256, self.blake3).await.ok()?;
        Some(Digests {
            md5: md5?.finish(),
            sha256: sha256?.finish(),
            blake3: *blake3?.finalize().as_bytes(),
        })
    }
}

/// Feeds content to a digest, hashing all waiting pieces in one task.
async fn fold<S: Send + 'static>(body: ByteStream, mut state: S, update: fn(&mut S, &[u8])) -> Option<S> {
    let mut waiting = body.ready_chunks(super::intake::SINK_PIECES);
    while let Some(pieces) = waiting.next().await {
        let pieces: Vec<Bytes> = pieces.into_iter().collect::<Result<_, _>>().ok()?;
        let work = system::blocking(move || {
            pieces.iter().for_each(|piece| update(&mut state, piece));
            state
        });
        state = work.await.ok()?;
    }
    Some(state)
}
