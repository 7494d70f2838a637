//! Looks at the directories of a node's volumes before any of them is opened. Nothing is written.

use std::io;
use std::path::{Path, PathBuf};

use contract::VolumeId;
use volume::DiskVolume;

use super::NodeSettings;
use super::keeper::Kept;

/// One directory.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) state: FoundState,
    /// The layouts kept there.
    pub(super) kept: Option<Kept>,
    /// The volume that the directory says it is, by its layouts or by its `volume.json`.
    pub(super) id: Option<VolumeId>,
}

/// What a directory shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FoundState {
    /// There is no such directory.
    Absent,
    /// It has no sign of a volume.
    Fresh,
    /// It was used as a volume before; the text names the sign.
    Used(String),
    /// It cannot be read.
    Unreadable(String),
}

impl Found {
    /// Looks at all directories.
    pub(super) fn all(settings: &NodeSettings) -> Vec<Self> {
        let volumes = settings.volumes.iter();
        volumes.map(|volume| Self::at(&volume.path)).collect()
    }

    fn at(path: &Path) -> Self {
        let (kept, damage) = match Kept::read(path) {
            Ok(kept) => (kept, None),
            Err(detail) => (None, Some(detail)),
        };
        let said = DiskVolume::id_in(path).ok().flatten();
        let state = match (state_of(path), damage) {
            (FoundState::Fresh, Some(damage)) => FoundState::Used(damage),
            (FoundState::Used(sign), Some(damage)) => FoundState::Used(format!("{sign}; {damage}")),
            (state, _) => state,
        };
        Self {
            path: path.to_owned(),
            state,
            id: kept.as_ref().map(|kept| kept.volume.clone()).or(said),
            kept,
        }
    }

    /// Whether nothing was ever kept there, as far as can be seen.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.state, FoundState::Absent | FoundState::Fresh) && self.kept.is_none()
    }

    /// Describes the directory in words, for a person who looks for what is missing.
    pub(super) fn told(&self) -> String {
        let path = self.path.display();
        match &self.state {
            FoundState::Absent => format!("{path} is absent"),
            FoundState::Fresh => format!("{path} is empty"),
            FoundState::Used(sign) => format!("{path} was used before ({sign})"),
            FoundState::Unreadable(detail) => format!("{path} cannot be read ({detail})"),
        }
    }
}

fn state_of(path: &Path) -> FoundState {
    let unreadable = |error: io::Error| FoundState::Unreadable(error.to_string());
    match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => FoundState::Absent,
        Err(error) => unreadable(error),
        Ok(_) => match DiskVolume::sign_of_use(path) {
            Ok(Some(sign)) => FoundState::Used(sign.to_owned()),
            Ok(None) => FoundState::Fresh,
            Err(error) => unreadable(error),
        },
    }
}
