//! Splits a file by size or number of records, or by host, type or day.
//!
//! Every record is in one part, byte for byte. The `warcinfo` record that applies to the records of
//! a part is at their head. The first part has the original, other parts a copy with its own id and
//! the name of its file (WARC/1.1, 5.2, 5.17 and 6.2). `WARC-Warcinfo-ID` of the records thus keeps
//! its meaning.

mod key;
mod part;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use warc::{Compression, Format, Kind, Record};

use crate::Progress;
use crate::error::WriteError;
use crate::folder::{Folder, WrittenFolder};
use crate::record_digests;
use crate::source::Source;
pub use key::SplitKey;
use part::{Part, Stored};

/// Maximum number of parts that are open at a time. Others are opened again when they get a record.
const OPEN_PARTS_MAX: usize = 64;

/// Maximum length in bytes of a `warcinfo` record that is copied. Longer ones are only in one part.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 20;

/// Where a part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitLimit {
    /// After the record with which it reaches this many stored bytes, and the following records of
    /// the same URL.
    Size(u64),
    /// After this many records, not counting `warcinfo`, and the following records of the same URL.
    Records(u64),
    /// There is one part for each value.
    By(SplitKey),
}

/// Maximum number of following records of one URL in a full part: a request and its metadata stay
/// with their response.
const EXCHANGE_RECORDS_MAX: u64 = 8;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SplitReport {
    /// Number of records of the input. Each is in one part.
    pub records: u64,
    /// Number of copied `warcinfo` records, which are not counted above.
    pub copies: u64,
    /// Size of the input.
    pub input_bytes: u64,
    /// The parts, in the order in which they began.
    pub parts: Vec<PartReport>,
}

/// A part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// Its name in the folder.
    pub name: String,
    /// Number of records, including copied `warcinfo` records.
    pub records: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Writes the records of `input` to files in a temporary folder for `out`. `each` is called with
/// the bytes read so far, and stops the work by returning false.
///
/// # Errors
/// [`WriteError`], mostly for damage in the input. Nothing is left then.
pub fn write(
    input: &Path,
    out: &Path,
    how: SplitLimit,
    compression: &Compression,
    each: &mut Progress<'_>,
) -> Result<(WrittenFolder, SplitReport), WriteError> {
    let folder = Folder::new(out)?;
    let mut source = Source::open(input, &folder.path().join("part"))?;
    let mut parts = Parts {
        folder: folder.path().to_owned(),
        names: Names::of(input, compression),
        compression: compression.clone(),
        how,
        by_key: HashMap::new(),
        all: Vec::new(),
        description: None,
        descriptions: 0,
        url: None,
        beyond: 0,
    };
    let mut split = SplitReport::default();
    while let Some(record) = source.next()? {
        split.records += 1;
        parts.add(&mut source, &record)?;
        source.reader.recycle(record);
        if !each(source.reader.position()) {
            return Err(WriteError::Stopped);
        }
    }
    if split.records == 0 {
        return Err(WriteError::NoRecord {
            path: input.display().to_string(),
        });
    }
    parts.write_last_description()?;
    source.check_unchanged()?;
    split.input_bytes = source.reader.size();
    let mut files = Vec::new();
    for part in parts.all {
        split.copies += part.copies;
        let (path, record_digests, bytes) = part.finish()?;
        split.parts.push(PartReport {
            name: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            records: record_digests.records(),
            bytes,
        });
        files.push((path, record_digests));
    }
    Ok((folder.finish_named(files), split))
}

/// The `warcinfo` record that applies to the records after it.
struct Description {
    stored: Stored,
    format: Format,
    /// Whether the original is in a part already.
    is_written: bool,
}

struct Parts {
    folder: PathBuf,
    names: Names,
    compression: Compression,
    how: SplitLimit,
    /// Indexes into `all`. Parts of a sequence share the key "".
    by_key: HashMap<String, usize>,
    all: Vec<Part>,
    description: Option<Description>,
    /// Number of `warcinfo` records so far.
    descriptions: u64,
    /// URL of the last record.
    url: Option<String>,
    /// Number of records that the current part has beyond its end.
    beyond: u64,
}

impl Parts {
    fn add(&mut self, source: &mut Source, record: &Record) -> Result<(), WriteError> {
        let is_description = record.kind == Kind::Warcinfo && record.body_length <= DESCRIPTION_BYTES_MAX;
        if is_description {
            self.write_last_description()?;
            self.descriptions += 1;
            self.description = Some(Description {
                stored: Stored::of(source, record, &self.folder)?,
                format: record.format,
                is_written: false,
            });
            return Ok(());
        }
        let index = self.part_of(record)?;
        self.url = record.target().map(str::to_owned);
        self.describe(index)?;
        let line_ends = source.line_ends(record.format)?;
        let header = source.reader.header_bytes().to_vec();
        let failed = record_digests::keep(&self.folder);
        let block = source
            .reader
            .block(record)
            .map_err(&failed)?
            .take(record.body_length);
        let part = &mut self.all[index];
        part.write(&header, block, record.body_length, &line_ends)?;
        part.counted += 1;
        self.close_some(index)
    }

    /// Writes a `warcinfo` record that no record followed.
    fn write_last_description(&mut self) -> Result<(), WriteError> {
        if self
            .description
            .as_ref()
            .is_none_or(|description| description.is_written)
        {
            return Ok(());
        }
        let index = match self.all.len() {
            0 => self.begin("1".to_owned())?,
            parts => parts - 1,
        };
        self.describe(index)
    }

    /// Returns the part that a record belongs to.
    fn part_of(&mut self, record: &Record) -> Result<usize, WriteError> {
        let key = match self.how {
            SplitLimit::By(by) => by.key(record),
            SplitLimit::Size(_) | SplitLimit::Records(_) => String::new(),
        };
        let is_full = |part: &Part| match self.how {
            SplitLimit::Size(bytes) => part.counted > 0 && part.bytes() >= bytes,
            SplitLimit::Records(records) => part.counted >= records,
            SplitLimit::By(_) => false,
        };
        let is_of_exchange = self.url.is_some() && self.url.as_deref() == record.target();
        match self.by_key.entry(key) {
            Place::Occupied(place) if !is_full(&self.all[*place.get()]) => Ok(*place.get()),
            Place::Occupied(place) if is_of_exchange && self.beyond < EXCHANGE_RECORDS_MAX => {
                self.beyond += 1;
                Ok(*place.get())
            }
            place => {
                self.beyond = 0;
                let name = match self.how {
                    SplitLimit::By(_) => place.key().clone(),
                    _ => format!("{:05}", self.all.len() + 1),
                };
                let index = self.all.len();
                place.insert_entry(index);
                self.begin(name)
            }
        }
    }

    fn begin(&mut self, name: String) -> Result<usize, WriteError> {
        let path = self.folder.join(self.names.of_part(&name));
        self.all.push(Part::new(path, self.compression.clone())?);
        Ok(self.all.len() - 1)
    }

    /// Writes the current `warcinfo` record to a part, unless the part has it.
    fn describe(&mut self, index: usize) -> Result<(), WriteError> {
        let (part, number) = (&mut self.all[index], self.descriptions);
        let Some(description) = self.description.as_mut().filter(|_| part.described != number) else {
            return Ok(());
        };
        part.described = number;
        if !description.is_written {
            description.is_written = true;
            return part.write_stored(&description.stored);
        }
        part.copies += 1;
        match description.format {
            // An ARC file begins with its version block, which has no id.
            Format::Arc(_) => part.write_stored(&description.stored),
            _ => {
                let copy = description.stored.copy_for(&part.name());
                part.write_stored(&copy)
            }
        }
    }

    /// Closes all parts but the last one written if too many are open.
    fn close_some(&mut self, last: usize) -> Result<(), WriteError> {
        if self.all.iter().filter(|part| part.is_open()).count() <= OPEN_PARTS_MAX {
            return Ok(());
        }
        for (index, part) in self.all.iter_mut().enumerate() {
            if index != last {
                part.close()?;
            }
        }
        Ok(())
    }
}

/// The names of parts.
struct Names {
    stem: String,
    extension: String,
}

impl Names {
    /// Derives the names from that of the input, with a suffix before the extension.
    fn of(input: &Path, compression: &Compression) -> Names {
        let name = input
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let lower = name.to_ascii_lowercase();
        let (at, kind) = match (lower.rfind(".warc"), lower.rfind(".arc")) {
            (Some(at), _) => (at, ".warc"),
            (None, Some(at)) => (at, ".arc"),
            (None, None) => (name.len(), ".warc"),
        };
        let compressed = compression
            .extension()
            .map(|extension| format!(".{extension}"))
            .unwrap_or_default();
        Names {
            stem: name[..at].to_owned(),
            extension: format!("{kind}{compressed}"),
        }
    }

    fn of_part(&self, name: &str) -> String {
        format!("{}-{name}{}", self.stem, self.extension)
    }
}
