//! Faults of a volume in memory: permanent, or once at a step.

use std::collections::HashMap;
use std::time::Duration;

use store_protocol::{VolumeError, VolumeId};

/// How a volume behaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FaultMode {
    /// Every operation works.
    #[default]
    Well,
    /// Every request fails at once.
    Unreachable,
    /// Out of service.
    Out,
    /// Accepts no content, but reads, lists, and deletes.
    Full,
    /// Every request takes this long.
    Slow(Duration),
    /// Never answers.
    Frozen,
    /// Works, but "not found" means "not known".
    Rebuilding,
}

/// A kind of request, which can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    Receive,
    Prepare,
    ReadUpload,
    Commit,
    Abort,
    Head,
    KeysInDoubt,
    Read,
    List,
    Survey,
    Verify,
    Remove,
    SettleStray,
    Rebuilt,
    Fixity,
    Status,
}

/// The faults of a volume.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) fault_mode: FaultMode,
    /// By step: the number of calls until the failing one, counted down, and its error.
    pub(super) failures: HashMap<Step, (u32, VolumeError)>,
    /// How many more requests that change something are answered.
    pub(super) changes_left: Option<u64>,
    pub(super) calls: HashMap<Step, u64>,
    /// Maximum number of partitions in a response to a survey.
    pub(super) survey_most: Option<usize>,
    /// A stream of content ends after this many bytes.
    pub(super) cut_reads_after: Option<usize>,
}

impl Step {
    fn changes(self) -> bool {
        matches!(
            self,
            Self::Receive | Self::Prepare | Self::Commit | Self::Remove | Self::SettleStray | Self::Rebuilt
        )
    }
}

impl Faults {
    /// Returns the error with which a request of this step is answered, if any.
    pub(super) fn meet(&mut self, volume: &VolumeId, step: Step) -> Result<(), VolumeError> {
        self.answers(volume)?;
        *self.calls.entry(step).or_default() += 1;
        match &mut self.changes_left {
            Some(0) if step.changes() => return Err(unreachable(volume)),
            Some(left) if step.changes() => *left -= 1,
            _ => {}
        }
        let Some((left, error)) = self.failures.get_mut(&step) else {
            return Ok(());
        };
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        let error = error.clone();
        self.failures.remove(&step);
        Err(error)
    }

    /// Returns an error if the volume does not answer at all.
    pub(super) fn answers(&self, volume: &VolumeId) -> Result<(), VolumeError> {
        match self.fault_mode {
            FaultMode::Unreachable => Err(unreachable(volume)),
            FaultMode::Out => Err(VolumeError::Out {
                volume: volume.clone(),
                detail: "injected fault".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns an error if there is no space for content.
    pub(super) fn room(&self, volume: &VolumeId) -> Result<(), VolumeError> {
        if self.fault_mode != FaultMode::Full {
            return Ok(());
        }
        Err(VolumeError::Full {
            volume: volume.clone(),
            detail: "injected fault".to_owned(),
        })
    }
}

fn unreachable(volume: &VolumeId) -> VolumeError {
    VolumeError::Unreachable {
        volume: volume.clone(),
        detail: "injected fault".to_owned(),
    }
}
