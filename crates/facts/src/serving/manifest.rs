//! The manifest: the files of every table of a batch.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use system::FileStore;

use super::{ServingError, ServingFolder, ServingTable, read_whole};

/// Name of the manifest in the folder.
pub const MANIFEST: &str = "manifest.json";

/// The format that this program writes and reads.
const FORMAT: u32 = 1;

/// The tables of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Number of the format.
    format: u32,
    /// Number of the batch. An archive writes its epoch.
    pub batch: u64,
    /// Whether the archive had access rules.
    pub has_rules: bool,
    /// Name and version of the program.
    #[serde(default)]
    pub written_by: String,
    /// The tables by name.
    tables: BTreeMap<String, ServedTable>,
}

/// The files of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedTable {
    /// Number of rows.
    pub rows: u64,
    /// Data files, in the order of their rows.
    pub files: Vec<ServedFile>,
    /// The file of first keys; absent if there are no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_keys: Option<String>,
}

/// A data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedFile {
    /// Path in the folder.
    pub path: String,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl Manifest {
    /// Returns a manifest without tables.
    pub fn new(batch: u64, has_rules: bool) -> Manifest {
        Manifest {
            format: FORMAT,
            batch,
            has_rules,
            written_by: concat!("weft ", env!("CARGO_PKG_VERSION")).to_owned(),
            tables: BTreeMap::new(),
        }
    }

    /// Adds a table.
    pub fn insert(&mut self, table: ServingTable, files: ServedTable) {
        self.tables.insert(table.name().to_owned(), files);
    }

    /// Returns the files of a table; `None` if the manifest lacks it.
    pub fn table(&self, table: ServingTable) -> Option<&ServedTable> {
        self.tables.get(table.name())
    }

    /// Returns the paths of all files.
    fn paths(&self) -> impl Iterator<Item = &str> {
        self.tables.values().flat_map(|table| {
            let files = table.files.iter().map(|file| file.path.as_str());
            files.chain(table.first_keys.as_deref())
        })
    }

    /// Replaces the manifest of a folder. All files that it names must be written.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn write(&self, place: &dyn FileStore) -> Result<(), ServingError> {
        let io = |source| ServingError::Io {
            doing: "write",
            path: place.locate(MANIFEST),
            source,
        };
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| io(error.into()))?;
        text.push(b'\n');
        place.put(MANIFEST, Bytes::from(text)).map_err(io)
    }

    /// Reads the manifest of a folder.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn read(folder: &dyn ServingFolder) -> Result<Manifest, ServingError> {
        let path = folder.locate(MANIFEST);
        let opened = folder.open(MANIFEST).and_then(|file| read_whole(&*file));
        match opened {
            Ok(text) => parse(&text, &path),
            Err(source) if source.kind() == ErrorKind::NotFound => Err(ServingError::Missing { path }),
            Err(source) => Err(ServingError::Io {
                doing: "read",
                path,
                source,
            }),
        }
    }

    /// Returns the manifest that a writer would replace, if there is one.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn existing(place: &dyn FileStore) -> Result<Option<Manifest>, ServingError> {
        let path = place.locate(MANIFEST);
        match place.get(MANIFEST) {
            Ok(text) => text.map(|text| parse(&text, &path)).transpose(),
            Err(source) => Err(ServingError::Io {
                doing: "read",
                path,
                source,
            }),
        }
    }
}

fn parse(text: &[u8], path: &str) -> Result<Manifest, ServingError> {
    let damaged = |error: serde_json::Error| ServingError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let Format { format } = serde_json::from_slice(text).map_err(damaged)?;
    if format != FORMAT {
        return Err(ServingError::Format {
            path: path.to_owned(),
            found: format,
            expected: FORMAT,
        });
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(damaged)?;
    let outside = manifest.paths().find(|path| !is_inside(path));
    match outside.map(str::to_owned) {
        Some(outside) => Err(ServingError::Damaged {
            path: path.to_owned(),
            why: format!("{outside:?} is not a plain path in the folder"),
        }),
        None => Ok(manifest),
    }
}

/// Returns whether a path stays in the folder. Other characters are refused, because a path of this
/// machine may spell a dot as `\x2e`, and an address as `%2e`.
fn is_inside(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '=');
    path.split('/')
        .all(|part| !matches!(part, "" | "." | "..") && part.chars().all(is_plain))
}

/// The part of a manifest that every format has.
#[derive(Deserialize)]
struct Format {
    format: u32,
}
