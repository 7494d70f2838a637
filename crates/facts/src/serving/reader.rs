//! Reads one serving table by row groups.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader as _, Length, SerializedFileReader};

use super::group::Group;
use super::manifest::{MANIFEST, ServedTable};
use super::tables::ServingTable;
use super::writer::GROUP_ROWS;
use super::{ReadAt, ServingError, ServingFolder};
use crate::data_file::guarded;
use crate::field::Field;

/// A row group of a table, and the key of its first row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPlace {
    /// Number of its file.
    file: usize,
    /// Number in the file.
    row_group: usize,
    /// Number of its rows.
    pub rows: u64,
    /// The first key ([`Group::key`]).
    pub first: Box<[u8]>,
}

/// The row groups of a table, in the order of their keys.
#[derive(Debug)]
pub struct ServingReader {
    table: ServingTable,
    paths: Vec<String>,
    places: Vec<GroupPlace>,
}

impl ServingReader {
    /// Reads the first keys of a table.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn open(
        folder: &dyn ServingFolder,
        table: ServingTable,
        served: Option<&ServedTable>,
    ) -> Result<ServingReader, ServingError> {
        let Some(served) = served else {
            return Err(ServingError::Damaged {
                path: folder.locate(MANIFEST),
                why: format!("no table {}", table.name()),
            });
        };
        let damaged = |why: &str| ServingError::Damaged {
            path: folder.locate(served.first_keys.as_deref().unwrap_or(MANIFEST)),
            why: why.to_owned(),
        };
        let mut places = Vec::new();
        if let Some(path) = &served.first_keys {
            let groups = read_all(folder, path, table.first_fields(), table.key())?;
            for group in &groups {
                let found = (0..group.len()).map(|row| place_of(group, row));
                let found = found.collect::<Option<Vec<_>>>();
                places.extend(found.ok_or_else(|| damaged("a row group has an impossible place or size"))?);
            }
        }
        if places.iter().map(|place| place.rows).sum::<u64>() != served.rows {
            return Err(damaged(
                "the first keys have another number of rows than the manifest",
            ));
        }
        if places.iter().any(|place| place.file >= served.files.len()) {
            return Err(damaged("a row group is in a file that the manifest lacks"));
        }
        if !places.is_sorted_by(|a, b| a.first <= b.first) {
            return Err(damaged("the first keys are not sorted"));
        }
        Ok(ServingReader {
            table,
            paths: served.files.iter().map(|file| file.path.clone()).collect(),
            places,
        })
    }

    /// Returns the row groups.
    pub fn places(&self) -> &[GroupPlace] {
        &self.places
    }

    /// Reads a row group. `number` is its index in [`ServingReader::places`].
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn read(&self, folder: &dyn ServingFolder, number: usize) -> Result<Group, ServingError> {
        let Some(place) = self.places.get(number) else {
            return Err(ServingError::Damaged {
                path: folder.locate(self.table.name()),
                why: format!("no row group {number}"),
            });
        };
        let path = &self.paths[place.file];
        with_file(folder, path, |file| {
            if place.row_group >= file.num_row_groups() {
                let missing = format!("no row group {}", place.row_group);
                return Err(ParquetError::General(missing));
            }
            // The rows are decoded into memory, so their number is checked first.
            let rows = file.metadata().row_group(place.row_group).num_rows();
            if u64::try_from(rows) != Ok(place.rows) {
                let other = format!(
                    "row group {} has {rows} rows, not {}",
                    place.row_group, place.rows
                );
                return Err(ParquetError::General(other));
            }
            Group::read(
                &*file.get_row_group(place.row_group)?,
                self.table.fields(),
                self.table.key(),
            )
        })
    }
}

/// Reads all row groups of a file.
fn read_all(
    folder: &dyn ServingFolder,
    path: &str,
    fields: &'static [Field],
    key: &'static [Field],
) -> Result<Vec<Group>, ServingError> {
    with_file(folder, path, |file| {
        (0..file.num_row_groups())
            .map(|number| Group::read(&*file.get_row_group(number)?, fields, key))
            .collect()
    })
}

fn with_file<T>(
    folder: &dyn ServingFolder,
    path: &str,
    read: impl FnOnce(&SerializedFileReader<Chunks>) -> Result<T, ParquetError>,
) -> Result<T, ServingError> {
    let opened = folder.open(path).and_then(Chunks::new);
    let chunks = opened.map_err(|source| ServingError::Io {
        doing: "read",
        path: folder.locate(path),
        source,
    })?;
    guarded(|| read(&SerializedFileReader::new(chunks)?)).map_err(|error| ServingError::Damaged {
        path: folder.locate(path),
        why: error.to_string(),
    })
}

/// Returns a row of first keys; `None` if it has an impossible number.
fn place_of(group: &Group, row: usize) -> Option<GroupPlace> {
    let number = |column| usize::try_from(group.number(column, row)?).ok();
    Some(GroupPlace {
        file: number("file")?,
        row_group: number("row_group")?,
        // This bounds the memory of a look-up.
        rows: number("rows").filter(|rows| *rows <= GROUP_ROWS)? as u64,
        first: group.key(row).into(),
    })
}

/// A file as the Parquet library reads it.
struct Chunks {
    file: Arc<dyn ReadAt>,
    size: u64,
}

impl Chunks {
    fn new(file: Arc<dyn ReadAt>) -> io::Result<Chunks> {
        let size = file.size()?;
        Ok(Chunks { file, size })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<FileCursor>;

    fn get_read(&self, start: u64) -> Result<BufReader<FileCursor>, ParquetError> {
        Ok(BufReader::new(FileCursor {
            file: Arc::clone(&self.file),
            at: start,
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A damaged footer may ask for any number of bytes.
        if start.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} of a file of {} bytes",
                self.size
            )));
        }
        let mut bytes = vec![0; length];
        FileCursor {
            file: Arc::clone(&self.file),
            at: start,
        }
        .read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Reads a file from an offset on.
struct FileCursor {
    file: Arc<dyn ReadAt>,
    at: u64,
}

impl Read for FileCursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
