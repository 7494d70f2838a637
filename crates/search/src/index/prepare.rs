//! Prepares the directory of an index: creates a missing index, and replaces one of another format.

use std::path::Path;

use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexSettings};

use crate::documents::schema;
use crate::error::OpenError;
use crate::index::crash;
use crate::index::writer::CommitPayload;

/// Ensures that the directory has an index of the current format.
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
        tracing::warn!(dir = %dir.display(), "the search index has another format and is rebuilt");
        // No data is lost: the index is filled again from the views of the archive.
        std::fs::remove_dir_all(dir).map_err(io)?;
        std::fs::create_dir_all(dir).map_err(io)?;
    }
    let directory = MmapDirectory::open(dir).map_err(|error| failed(error.into()))?;
    let settings = IndexSettings {
        // Avoids another thread next to the loader's. Rows are small.
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
    // An index without a payload was created but never committed to.
    let format = payload.map_or(Some(schema::FORMAT), |text| {
        let covered = serde_json::from_str::<CommitPayload>(&text).ok();
        covered.map(|covered| covered.format)
    });
    Ok(format == Some(schema::FORMAT) && index.schema() == wanted)
}
