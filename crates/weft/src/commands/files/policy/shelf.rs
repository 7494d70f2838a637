//! The replicated store as policies use it.

use std::fs::{File, Metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use bytes::BytesMut;
use futures_util::{StreamExt, stream};
use policy::{CopyStore, CopyStoreError, ObjectState};
use store::upkeep::right_replicas;
use store::{ByteStream, Condition, Key, Meta, Put, Store, StoreError, Topology};
use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;

use crate::commands::store::key;
use crate::commands::store::session::Session;

/// An open store for the duration of one command. Its methods block, so they must be called on
/// threads that may block.
pub(crate) struct StoreShelf {
    store: Store,
    topology: Arc<Topology>,
    runtime: Handle,
}

impl StoreShelf {
    /// Must be called on a thread of the runtime.
    pub(crate) fn new(session: &Session) -> StoreShelf {
        StoreShelf {
            store: session.store(),
            topology: session.topology(),
            runtime: Handle::current(),
        }
    }

    async fn meta(&self, key: &Key) -> Result<Option<Meta>, StoreError> {
        match self.store.head(key).await {
            Ok(meta) => Ok(Some(meta)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Bytes read from a file at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Streams the content of a file. If the file has changed since `before`, the stream ends in an
/// error, so that nothing is committed.
fn body(file: File, before: Metadata) -> ByteStream {
    let state = Some((tokio::fs::File::from_std(file), before));
    Box::pin(stream::unfold(state, |state| async move {
        let (mut file, before) = state?;
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        let read = match file.read_buf(&mut piece).await {
            Ok(0) => match file.metadata().await {
                Ok(now) if stamp(&now) == stamp(&before) => return None,
                Ok(_) => Err(std::io::Error::other("the file changed while it was read")),
                Err(error) => Err(error),
            },
            Ok(_) => Ok(piece.freeze()),
            Err(error) => Err(error),
        };
        let next = read.is_ok().then_some((file, before));
        Some((read, next))
    }))
}

/// Returns the metadata that changes on every write: length and times of the last change of content
/// and attributes.
fn stamp(file: &Metadata) -> (u64, [i64; 4]) {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
    (file.len(), times)
}

impl CopyStore for StoreShelf {
    fn find(&self, address: &str) -> Result<Option<[u8; 32]>, CopyStoreError> {
        let key = key::object(address)?;
        let meta = self.runtime.block_on(self.meta(&key))?;
        Ok(meta.map(|meta| meta.digests.sha256))
    }

    fn put(&self, address: &str, file: File) -> Result<[u8; 32], CopyStoreError> {
        let key = key::object(address)?;
        let before = file.metadata()?;
        self.runtime.block_on(async {
            let made = key::make_bucket(&self.store, key.bucket()).await;
            made.map_err(|error| format!("{error:#}"))?;
            let versioning = self.store.versioning(key.bucket()).await;
            let put = Put {
                size: Some(before.len()),
                condition: Condition::Absent,
                versioning: versioning?,
                ..Put::default()
            };
            let meta = self.store.put(&key, body(file, before), put).await;
            Ok(meta?.digests.sha256)
        })
    }

    fn verify(&self, address: &str) -> Result<Option<ObjectState>, CopyStoreError> {
        let key = key::object(address)?;
        self.runtime.block_on(async {
            let Some(meta) = self.meta(&key).await? else {
                return Ok(None);
            };
            Ok(Some(ObjectState {
                sha256: meta.digests.sha256,
                replicas: right_replicas(&self.topology, &meta).await,
            }))
        })
    }

    fn get(&self, address: &str, mut into: File) -> Result<(), CopyStoreError> {
        let key = key::object(address)?;
        self.runtime.block_on(async {
            let mut object = self.store.get(&key, None).await?;
            while let Some(piece) = object.body.next().await {
                into.write_all(&piece?)?;
            }
            Ok(())
        })
    }
}
