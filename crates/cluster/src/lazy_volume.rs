//! A volume of this node that could not be opened: out of service, with the reason, until it can be
//! opened.
//!
//! The other volumes serve meanwhile. The watching worker calls [`Volume::revive`] from time to
//! time, which tries again. Once the volume opens, all calls go to it.
//!
//! Invariants:
//!  - one attempt runs at a time, on a thread that may block on a hanging disk; no caller waits for
//!    it;
//!  - a volume whose layouts contradict those in force stays out; newer layouts are adopted before
//!    it is used.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::RwLock;
use store_protocol::{
    ByteStream, Cause, ContentBlocks, Key, Meta, Receipt, ReplicaRead, UploadId, UploadRead, Version, Volume,
    VolumeError, VolumeId, VolumeRequest, VolumeResponse, VolumeState, VolumeStatus,
};
use tokio::task::JoinError;
use volume::{FixityLog, fixity};

use super::layout_log::{LayoutLog, LayoutLogError, LayoutsFile};
use super::open::{OpenVolume, Opener};
use super::start_error::StartError;

/// Everything needed to open a volume.
#[derive(Clone)]
pub(super) struct Opening {
    pub(super) opener: Opener,
    pub(super) layout_log: Arc<LayoutLog>,
    /// The node's fixity log; `None` if the caller opens the volumes itself, or for a short
    /// command.
    pub(super) log: Option<Arc<FixityLog>>,
}

/// A volume of this node that could not be opened, or that was opened later.
pub(super) struct LazyVolume {
    me: Weak<Self>,
    given: OpenVolume,
    opening: Opening,
    held: RwLock<OpenState>,
    trying: AtomicBool,
}

enum OpenState {
    /// Why the volume is not open.
    Closed(String),
    Open(Arc<dyn Volume>),
}

/// Why a volume stays out of service.
#[derive(Debug, thiserror::Error)]
enum ReviveError {
    #[error("{}", without_path(.0))]
    Open(StartError),
    #[error("opening it ended without a result: {0}")]
    NoResult(JoinError),
    #[error(transparent)]
    Layouts(#[from] LayoutLogError),
    #[error("write the node's own files: {0}")]
    NodeFiles(io::Error),
}

/// Returns the text of an error without the path of the volume, which its status names.
fn without_path(error: &StartError) -> String {
    match error {
        StartError::Volume { detail, .. } => detail.clone(),
        other => other.to_string(),
    }
}

impl LazyVolume {
    /// Makes a volume that could not be opened for `reason`.
    pub(super) fn new(given: OpenVolume, reason: String, opening: Opening) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            given,
            opening,
            held: RwLock::new(OpenState::Closed(reason)),
            trying: AtomicBool::new(false),
        })
    }

    fn volume(&self) -> Result<Arc<dyn Volume>, VolumeError> {
        match &*self.held.read() {
            OpenState::Open(volume) => Ok(volume.clone()),
            OpenState::Closed(reason) => Err(VolumeError::Out {
                volume: self.given.id.clone(),
                detail: reason.clone(),
            }),
        }
    }

    async fn open(&self) {
        match self.try_open().await {
            Ok(volume) => {
                *self.held.write() = OpenState::Open(volume);
                let detail = "it could be opened again";
                let event = fixity::event("volume-back", &self.given.id, None, Cause::Request, detail);
                if let Some(log) = &self.opening.log {
                    log.append(&event, true);
                }
            }
            Err(error) => *self.held.write() = OpenState::Closed(error.to_string()),
        }
    }

    async fn try_open(&self) -> Result<Arc<dyn Volume>, ReviveError> {
        let (opener, given) = (self.opening.opener.clone(), self.given.clone());
        let open = move || {
            // An unreadable layout file is written again, because the other volumes have the
            // layouts.
            let file = LayoutsFile::read(&given.path).ok().flatten();
            let furnish = given
                .write_node_files
                .clone()
                .map(|furnish| (furnish, given.path.clone()));
            let volume = opener(given).map_err(ReviveError::Open)?;
            Ok::<_, ReviveError>((file, volume, furnish))
        };
        let (file, volume, furnish) = blocking(open).await??;
        if let Some(file) = file {
            // Must come before the volume is used: if its layouts contradict ours, it must stay
            // out.
            self.opening.layout_log.merge_file(file).await?;
        }
        if let Some((furnish, path)) = furnish {
            let written = blocking(move || furnish(&path)).await?;
            written.map_err(ReviveError::NodeFiles)?;
        }
        Ok(volume)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ReviveError> {
    system::blocking(work).await.map_err(ReviveError::NoResult)
}

/// Returns the status of an unopened volume. Its sizes and counts are unknown and set to 0.
pub(super) fn out(id: &VolumeId, path: String, reason: String) -> VolumeStatus {
    VolumeStatus {
        id: id.clone(),
        path,
        state: VolumeState::Out(reason),
        capacity_bytes: 0,
        free_bytes: 0,
        replicas: 0,
        replica_bytes: 0,
        tombstones: 0,
        bad: 0,
        uploads: 0,
    }
}

#[async_trait]
impl Volume for LazyVolume {
    fn id(&self) -> &VolumeId {
        &self.given.id
    }

    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        match (self.volume(), ask) {
            (Ok(volume), ask) => volume.call(ask).await,
            // The volume never received the upload, so there is nothing to abort.
            (Err(_), VolumeRequest::Abort { .. }) => Ok(().into()),
            (Err(VolumeError::Out { detail, .. }), VolumeRequest::Status) => {
                let path = self.given.path.display().to_string();
                Ok(out(&self.given.id, path, detail).into())
            }
            (Err(error), _) => Err(error),
        }
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        self.volume()?.receive(upload, body).await
    }

    async fn receive_hashed(
        &self,
        upload: UploadId,
        body: ByteStream,
        blocks: ContentBlocks,
    ) -> Result<Receipt, VolumeError> {
        self.volume()?.receive_hashed(upload, body, blocks).await
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        self.volume()?.prepare_whole(upload, meta, content).await
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        self.volume()?.read_upload(upload).await
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        self.volume()?.read(key, version, blocks).await
    }

    fn revive(&self) {
        let Some(me) = self.me.upgrade() else { return };
        if self.volume().is_ok() || self.trying.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            me.open().await;
            me.trying.store(false, Ordering::Release);
        });
    }
}
