//! How a volume in memory misbehaves: always, or once at a step.

use std::collections::HashMap;
use std::time::Duration;

use contract::{VolumeError, VolumeId};

/// How a volume behaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mood {
    /// Every operation works.
    #[default]
    Well,
    /// Every question fails at once.
    Unreachable,
    /// Out of service.
    Out,
    /// Takes no content, but reads, lists, and deletes.
    Full,
    /// Every question takes so long.
    Slow(Duration),
    /// Answers nothing.
    Frozen,
    /// Works, but "not found" means "not known".
    Rebuilding,
}

/// A question, which can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    Receive,
    Prepare,
    ReadUpload,
    Commit,
    Abort,
    Head,
    Unsettled,
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

/// What is to go wrong.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) mood: Mood,
    /// Fails at the call of this number of a step, counted down, with this error.
    pub(super) trips: HashMap<Step, (u32, VolumeError)>,
    /// Questions that change something and are still answered.
    pub(super) changes_left: Option<u64>,
    pub(super) calls: HashMap<Step, u64>,
    /// Partitions in one answer to a survey.
    pub(super) survey_most: Option<usize>,
    /// A stream of content ends after so many bytes.
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
    /// The error that a question of this step is answered with, if it is.
    pub(super) fn meet(&mut self, volume: &VolumeId, step: Step) -> Result<(), VolumeError> {
        self.answers(volume)?;
        *self.calls.entry(step).or_default() += 1;
        match &mut self.changes_left {
            Some(0) if step.changes() => return Err(unreachable(volume)),
            Some(left) if step.changes() => *left -= 1,
            _ => {}
        }
        let Some((left, error)) = self.trips.get_mut(&step) else {
            return Ok(());
        };
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        let error = error.clone();
        self.trips.remove(&step);
        Err(error)
    }

    /// An error unless the volume answers at all.
    pub(super) fn answers(&self, volume: &VolumeId) -> Result<(), VolumeError> {
        match self.mood {
            Mood::Unreachable => Err(unreachable(volume)),
            Mood::Out => Err(VolumeError::Out {
                volume: volume.clone(),
                detail: "told to".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// An error unless there is room for content.
    pub(super) fn room(&self, volume: &VolumeId) -> Result<(), VolumeError> {
        if self.mood != Mood::Full {
            return Ok(());
        }
        Err(VolumeError::Full {
            volume: volume.clone(),
            detail: "told to".to_owned(),
        })
    }
}

fn unreachable(volume: &VolumeId) -> VolumeError {
    VolumeError::Unreachable {
        volume: volume.clone(),
        detail: "told to".to_owned(),
    }
}
