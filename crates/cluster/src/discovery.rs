//! Examines the directories of a node's volumes before any of them is opened. Writes nothing.

use std::io;
use std::path::{Path, PathBuf};

use store_protocol::VolumeId;
use volume::DiskVolume;

use super::layout_log::LayoutsFile;
use super::settings::NodeSettings;

/// One directory.
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) state: DirectoryState,
    /// The layout file stored there.
    pub(super) file: Option<LayoutsFile>,
    /// The volume that the directory claims to be, by its layouts or by its `volume.json`.
    pub(super) id: Option<VolumeId>,
}

/// The state of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DirectoryState {
    /// The directory does not exist.
    Absent,
    /// It has no sign of a volume.
    Fresh,
    /// It was used as a volume before. The text names the sign.
    Used(String),
    /// It cannot be read.
    Unreadable(String),
}

impl Directory {
    /// Examines all directories.
    pub(super) fn all(settings: &NodeSettings) -> Vec<Self> {
        let volumes = settings.volumes.iter();
        volumes.map(|volume| Self::at(&volume.path)).collect()
    }

    fn at(path: &Path) -> Self {
        let (file, damage) = match LayoutsFile::read(path) {
            Ok(file) => (file, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let said = DiskVolume::id_in(path).ok().flatten();
        let state = match (state_of(path), damage) {
            (DirectoryState::Fresh, Some(damage)) => DirectoryState::Used(damage),
            (DirectoryState::Used(sign), Some(damage)) => DirectoryState::Used(format!("{sign}; {damage}")),
            (state, _) => state,
        };
        Self {
            path: path.to_owned(),
            state,
            id: file.as_ref().map(|file| file.volume.clone()).or(said),
            file,
        }
    }

    /// Returns whether the directory was never used as a volume, as far as can be seen.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.state, DirectoryState::Absent | DirectoryState::Fresh) && self.file.is_none()
    }

    /// Describes the directory for an operator who looks for a missing volume.
    pub(super) fn description(&self) -> String {
        let path = self.path.display();
        match &self.state {
            DirectoryState::Absent => format!("{path} is absent"),
            DirectoryState::Fresh => format!("{path} is empty"),
            DirectoryState::Used(sign) => format!("{path} was used before ({sign})"),
            DirectoryState::Unreadable(detail) => format!("{path} cannot be read ({detail})"),
        }
    }
}

/// Describes several directories.
pub(super) fn describe(directories: &[Directory]) -> String {
    let descriptions: Vec<_> = directories.iter().map(Directory::description).collect();
    descriptions.join(", ")
}

fn state_of(path: &Path) -> DirectoryState {
    let unreadable = |error: io::Error| DirectoryState::Unreadable(error.to_string());
    match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => DirectoryState::Absent,
        Err(error) => unreadable(error),
        Ok(_) => match DiskVolume::sign_of_use(path) {
            Ok(Some(sign)) => DirectoryState::Used(sign.to_owned()),
            Ok(None) => DirectoryState::Fresh,
            Err(error) => unreadable(error),
        },
    }
}
