//! The directory of an index: made where there is none, made anew where it is of another format.

use std::path::Path;

use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexSettings};

use crate::crash;
use crate::error::OpenError;
use crate::schema;
use crate::writer::Covered;

/// Makes sure that there is an index of this format.
pub(super) fn prepare(dir: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        dir: dir.to_owned(),
        source,
    };
    let failed = |error| OpenError::index(dir, &error);
    std::fs::create_dir_all(dir).map_err(io)?;
    let directory = MmapDirectory::open(dir).map_err(|error| failed(error.into()))?;
    if Index::exists(&directory).map_err(|error| failed(error.into()))? {
        if is_current(&Index::open(directory).map_err(failed)?).map_err(failed)? {
            return Ok(());
        }
        tracing::warn!(dir = %dir.display(), "search index of another format: built anew");
        // Nothing is lost: every document comes from the views of the archive, which fill the index again.
        std::fs::remove_dir_all(dir).map_err(io)?;
        std::fs::create_dir_all(dir).map_err(io)?;
    }
    let directory = MmapDirectory::open(dir).map_err(|error| failed(error.into()))?;
    let settings = IndexSettings {
        // One thread less beside the loader; rows are small.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let (wanted, _) = schema::schema();
    crash::point("search.before_create");
    Index::create(directory, wanted, settings).map_err(failed)?;
    Ok(())
}

fn is_current(index: &Index) -> tantivy::Result<bool> {
    let (wanted, _) = schema::schema();
    let payload = index.load_metas()?.payload;
    // Without a payload it was made but never committed to.
    let format = payload.map_or(Some(schema::FORMAT), |text| {
        let covered = serde_json::from_str::<Covered>(&text).ok();
        covered.map(|covered| covered.format)
    });
    Ok(format == Some(schema::FORMAT) && index.schema() == wanted)
}
