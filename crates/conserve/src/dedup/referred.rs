//! The records that revisits of the inputs refer to already. They must not become revisits themselves: who looks for the payload
//! of a revisit would find another record without it.

use std::collections::HashSet;
use std::path::PathBuf;

use warc::{Entry, Kind, Reader, ReaderSettings, Record};

use crate::Each;
use crate::error::WriteError;
use crate::short_digest;
use crate::source::Original;

/// What revisits refer to: 32 bytes of memory each.
#[derive(Debug, Default)]
pub struct Referred {
    keys: HashSet<[u8; 16]>,
}

/// Reads through inputs for the revisits in them. `each` is told how much of all inputs was read, and ends it by returning
/// false.
///
/// # Errors
/// [`WriteError::Read`], [`WriteError::Stopped`]. Damage is no error.
pub fn referred(inputs: &[PathBuf], each: &mut Each<'_>) -> Result<Referred, WriteError> {
    let mut referred = Referred::default();
    let mut before = 0;
    for input in inputs {
        let original = Original::open(input)?;
        let mut settings = ReaderSettings::default();
        settings.body_bytes_max = 0;
        let mut reader = Reader::from_input(Box::new(original.file()?), &original.name(), settings)?;
        while let Some(entry) = reader.next_entry()? {
            if let Entry::Record(record) = entry {
                referred.add(&record);
                reader.recycle(record);
            }
            if !each(before + reader.position()) {
                return Err(WriteError::Stopped);
            }
        }
        before += reader.size();
    }
    Ok(referred)
}

impl Referred {
    fn add(&mut self, record: &Record) {
        if record.kind != Kind::Revisit {
            return;
        }
        let field = |name: &str| record.headers.get(name);
        self.keys.extend(field("WARC-Refers-To").map(|id| key(&[id])));
        if let (Some(url), Some(date)) = (field("WARC-Refers-To-Target-URI"), field("WARC-Refers-To-Date")) {
            self.keys.insert(key(&[url, date]));
        }
    }

    /// Whether a revisit refers to a record, by its id or by its URL and date.
    pub(super) fn has(&self, record: &Record) -> bool {
        let field = |name: &str| record.headers.get(name).unwrap_or_default();
        let by_place = [field("WARC-Target-URI"), field("WARC-Date")];
        self.keys.contains(&key(&[field("WARC-Record-ID")])) || self.keys.contains(&key(&by_place))
    }
}

fn key(parts: &[&str]) -> [u8; 16] {
    short_digest(&parts.join("\n"))
}
