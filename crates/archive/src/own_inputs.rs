//! Inputs that are files of the archive itself: segments of posted lines. Their addresses are
//! relative to the archive (`posted://COLLECTION/000001.cdx`), so that they remain valid if the
//! archive is moved or copied.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use inputs::{InputSource, InputStat, open_file};
use warc::Input;

use crate::files::Files;

/// The prefix of their locations.
pub(crate) const POSTED: &str = "posted://";

/// Reads these inputs from the folder of an archive.
struct OwnInputs {
    root: PathBuf,
}

/// Returns the source of the inputs that are in the archive at `dir` itself.
pub fn own_inputs(dir: &Path) -> Arc<dyn InputSource> {
    Arc::new(OwnInputs {
        root: Files::posted_in(dir),
    })
}

impl OwnInputs {
    fn path(&self, address: &str) -> io::Result<PathBuf> {
        let below = address.strip_prefix(POSTED).map(Path::new);
        let is_inside = |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        match below.filter(is_inside) {
            Some(below) => Ok(self.root.join(below)),
            None => Err(io::Error::new(ErrorKind::InvalidInput, "no file of this archive")),
        }
    }
}

impl InputSource for OwnInputs {
    fn serves(&self, address: &str) -> bool {
        address.starts_with(POSTED)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>> {
        let of = |address: &&str| match self.path(address)?.metadata() {
            Ok(metadata) => Ok(Some(InputStat {
                size: metadata.len(),
                ..InputStat::default()
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        addresses.iter().map(of).collect()
    }

    fn list(&self, _folder: &str) -> io::Result<Vec<(String, InputStat)>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn open(&self, address: &str, _seen: Option<&InputStat>) -> io::Result<Arc<dyn Input>> {
        Ok(Arc::new(open_file(&self.path(address)?)?))
    }
}
