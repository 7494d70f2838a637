//! Real archives, loaded from files.

use std::path::{Path, PathBuf};

use archive::question::{JobBody, JobState, LoadRequest};
use archive::{Archive, OpenSettings};
use inputs::LoadInput;
use tempfile::TempDir;

/// An archive in a temporary folder.
pub(crate) struct Loaded {
    pub(crate) archive: Archive,
    pub(crate) job: JobBody,
    dir: TempDir,
}

impl Loaded {
    /// Returns the archive's directory.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }
}

/// Loads `files` into a new archive.
pub(crate) fn load(files: &[PathBuf], collection: Option<&str>) -> Loaded {
    let dir = tempfile::tempdir().expect("a folder");
    let mut settings = OpenSettings::default();
    settings.create = true;
    let archive = Archive::open(dir.path(), settings).expect("a new archive");
    let (_, job) = archive
        .load(&request(files, collection), &mut |_, _| true)
        .expect("a load");
    assert_eq!(job.state, JobState::Done, "{:?}", job.error);
    Loaded { archive, job, dir }
}

/// Returns the request to load `files`.
pub(crate) fn request(files: &[PathBuf], collection: Option<&str>) -> LoadRequest {
    let inputs = files.iter().map(|path| LoadInput {
        name: path.file_name().expect("a file").to_string_lossy().into_owned(),
        path: path.display().to_string(),
    });
    LoadRequest {
        inputs: inputs.collect(),
        collection: collection.map(str::to_owned),
        ..LoadRequest::default()
    }
}
