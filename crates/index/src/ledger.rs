//! Ledger and quarantine: how far each input was loaded, and which parts of it were unusable.
//!
//! Invariants: an [`InputId`] is never used twice (a forgotten input leaves an empty row); `digest`
//! is unique among digested entries; `bytes_done`, `records`, `captures`, `index_lines` and
//! `quarantined` change only with the epoch that indexes those records. So does `digest` if the
//! input is digested while it is read.

use serde::{Deserialize, Serialize};

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use format::file_name::{name_bytes, name_text};

/// State of an input in the ledger. In JSON it is the text of `Display`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum InputState {
    /// Registered, nothing read yet.
    #[default]
    Pending,
    /// Read up to `bytes_done`.
    Loading,
    /// Read to its end.
    Done,
    /// Given up.
    Failed {
        /// Why, as text.
        reason: String,
    },
    /// Taken down as a whole: no view has any of it, and it is not read again.
    TakenDown,
    /// Removed from the ledger and all views. Only its number remains, which is not used again.
    Forgotten,
}

impl std::fmt::Display for InputState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InputState::Pending => f.write_str("pending"),
            InputState::Loading => f.write_str("loading"),
            InputState::Done => f.write_str("done"),
            InputState::Failed { reason } => write!(f, "failed({reason})"),
            InputState::TakenDown => f.write_str("taken_down"),
            InputState::Forgotten => f.write_str("forgotten"),
        }
    }
}

impl From<InputState> for String {
    fn from(state: InputState) -> String {
        state.to_string()
    }
}

impl TryFrom<String> for InputState {
    type Error = ParseInputStateError;

    fn try_from(text: String) -> Result<InputState, ParseInputStateError> {
        text.parse()
    }
}

/// A text is not the state of an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown input state: {0:?}")]
pub struct ParseInputStateError(String);

impl std::str::FromStr for InputState {
    type Err = ParseInputStateError;

    /// Parses the format of `Display`.
    fn from_str(text: &str) -> Result<InputState, ParseInputStateError> {
        let reason = |text: &str| Some(text.strip_prefix("failed(")?.strip_suffix(')')?.to_owned());
        match text {
            "pending" => Ok(InputState::Pending),
            "loading" => Ok(InputState::Loading),
            "done" => Ok(InputState::Done),
            "taken_down" => Ok(InputState::TakenDown),
            "forgotten" => Ok(InputState::Forgotten),
            _ => match reason(text) {
                Some(reason) => Ok(InputState::Failed { reason }),
                None => Err(ParseInputStateError(text.to_owned())),
            },
        }
    }
}

/// One input and how far it was loaded.
// Invariants of the fields are in the head of this file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LedgerRow {
    /// Name of the input given when it was loaded.
    // As text, see [`name_text`]; a load that continues the input may give it another.
    #[cfg_attr(feature = "schema", schemars(example = &"iana.warc.gz"))]
    pub input: String,
    /// `sha256:<hex>` of the first `size` bytes. For an input not yet read to its end it may be
    /// `sha256:<hex>/<n>`, the digest of the first `n` bytes.
    // Then `n` is at least `bytes_done`. If there was never anything to read, it is [`NO_CONTENT`]
    // and the hash of the location.
    pub digest: String,
    /// Size of the input in bytes when it was last checked.
    pub size: u64,
    /// `pending`, `loading`, `done`, `failed(<reason>)`, or `taken_down` if the whole input is
    /// taken down.
    #[cfg_attr(feature = "schema", schemars(with = "String", example = &"done"))]
    pub state: InputState,
    /// Number of records read and indexed.
    pub records: u64,
    /// Number of these records that are captures.
    pub captures: u64,
    /// Number of records and byte ranges that are damaged or could not be used.
    pub quarantined: u64,
    /// Number of captures that takedowns keep out of the archive; not included in `captures`.
    // With the index lines that they keep out, which are not in `index_lines` either.
    pub taken_down: u64,
    /// Number of index lines that describe captures, or of attachments of pages.
    pub index_lines: u64,
    /// Offset in bytes up to which everything was read and indexed.
    pub bytes_done: u64,
    /// Label of the input; empty if it has none.
    pub collection: String,
    /// Absolute path or address that the bytes are read from; empty in the HTTP API.
    pub location: String,
    /// How the end of the input is cut off; empty if the input is complete.
    // The available part of its last record was used.
    pub cut: String,
    /// Why the input could not be read or continued, or that its file was replaced, when it was last
    /// loaded; empty if nothing was wrong. Data loaded before is kept.
    pub missing: String,
    /// At most `bytes_done`: a reader that starts here meets the requests of all captures from
    /// `bytes_done` on. 0 is always valid.
    #[serde(skip)]
    pub exchange_from: u64,
    /// State that the reader of the input needs to continue its digest, in a format of the reader.
    /// Empty once the input is digested.
    #[serde(skip)]
    pub digesting: String,
}

/// Prefix of [`LedgerRow::digest`] for an input that had no content so far.
pub const NO_CONTENT: &str = "none:";

impl LedgerRow {
    /// Returns the entry of an input of which nothing is loaded yet.
    pub fn pending(input: &str, location: &str, digest: &str, size: u64, collection: &str) -> LedgerRow {
        LedgerRow {
            input: input.to_owned(),
            location: location.to_owned(),
            digest: digest.to_owned(),
            size,
            collection: collection.to_owned(),
            ..LedgerRow::default()
        }
    }

    /// Returns the row as answers have it: without the fields that JSON leaves out.
    pub fn without_reader_state(self) -> LedgerRow {
        LedgerRow {
            exchange_from: 0,
            digesting: String::new(),
            ..self
        }
    }

    /// Returns the entry that remains of a forgotten input.
    pub(crate) fn forgotten() -> LedgerRow {
        LedgerRow {
            state: InputState::Forgotten,
            ..LedgerRow::pending("", "", "", 0, "")
        }
    }

    /// Returns whether the input ever had content to read.
    pub fn has_content(&self) -> bool {
        !self.digest.starts_with(NO_CONTENT)
    }

    /// Returns whether something of the input could not be read or used.
    pub fn has_losses(&self) -> bool {
        let has_failed = matches!(self.state, InputState::Failed { .. }) || !self.missing.is_empty();
        has_failed || self.quarantined > 0 || !self.cut.is_empty()
    }

    /// Returns the name of the package that contains the input; `None` if it is not in a package.
    pub fn package_name(&self) -> Option<&str> {
        // The ending may be in capitals. Lower case keeps the positions of bytes.
        let at = self.input.to_ascii_lowercase().find(".wacz#")?;
        self.input.get(..at + ".wacz".len())
    }

    /// Returns how many bytes `digest` covers, and their digest without that number.
    pub fn beginning(&self) -> (u64, &str) {
        digested_beginning(&self.digest).unwrap_or((self.size, &self.digest))
    }

    /// Returns whether `digest` covers all `size` bytes. Only then does it identify the input:
    /// inputs with the same beginning have the same digests of it.
    pub fn is_digested(&self) -> bool {
        digested_beginning(&self.digest).is_none()
    }
}

/// Formats the digest of the first `bytes` of a longer input, as in [`LedgerRow::digest`].
pub fn digest_of_beginning(digest: &str, bytes: u64) -> String {
    format!("{digest}/{bytes}")
}

/// Splits the result of [`digest_of_beginning`] into the number of bytes and the digest; `None` for
/// another digest.
pub fn digested_beginning(digest: &str) -> Option<(u64, &str)> {
    let (digest, bytes) = digest.rsplit_once('/')?;
    Some((bytes.parse().ok()?, digest))
}

/// A quarantined record or span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QuarantineEntry {
    /// First byte in the input.
    pub offset: u64,
    /// Bytes in the input.
    pub length: u64,
    /// Short reason, the same for the same kind of defect.
    pub reason: String,
    /// What was found.
    pub detail: String,
}

/// Progress of one input since the last batch; it is committed with the captures.
#[derive(Debug, Clone)]
pub struct InputProgress {
    /// The input.
    pub input: InputId,
    /// New position: every byte before it is accounted for in this batch or an earlier one.
    pub bytes_done: u64,
    /// As [`LedgerRow::exchange_from`].
    pub exchange_from: u64,
    /// Records read since the last progress.
    pub records: u64,
    /// Captures since the last progress that are only counted, not indexed (see [`crate::Recount`]).
    pub captures_recounted: u64,
    /// Quarantine entries since the last progress.
    pub quarantined: Vec<QuarantineEntry>,
    /// New state.
    pub state: InputState,
    /// How the input is cut off, if this is its end and it is cut off.
    pub cut: Option<String>,
    /// New state of the digest, if the input is digested while it is read.
    pub digested: Option<DigestProgress>,
}

/// How far an input is digested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestProgress {
    /// As [`LedgerRow::digest`].
    pub digest: String,
    /// As [`LedgerRow::digesting`].
    pub digesting: String,
    /// As [`LedgerRow::size`], if the input has grown with this batch.
    pub size: Option<u64>,
}

/// Names of inputs by id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a>(&'a [LedgerRow]);

impl<'a> Names<'a> {
    /// Takes `entries` in the order of their ids; the first id is 1.
    pub(crate) fn new(entries: &'a [LedgerRow]) -> Names<'a> {
        Names(entries)
    }

    /// Name of an input; empty for an unknown id (a batch is checked before it is indexed).
    pub(crate) fn get(self, id: InputId) -> &'a str {
        self.entry(id).map_or("", |entry| entry.input.as_str())
    }

    /// Collection label of an input; empty for an unknown id.
    pub(crate) fn collection(self, id: InputId) -> &'a str {
        self.entry(id).map_or("", |entry| entry.collection.as_str())
    }

    fn entry(self, id: InputId) -> Option<&'a LedgerRow> {
        self.0.get((id.0 as usize).wrapping_sub(1))
    }
}

const ENTRY_VERSION: u8 = 1;

/// Key of an input's row.
pub(crate) fn entry_key(id: InputId) -> [u8; 4] {
    id.0.to_be_bytes()
}

pub(crate) fn encode_entry(entry: &LedgerRow) -> Vec<u8> {
    let mut out = vec![ENTRY_VERSION];
    for name in [&entry.input, &entry.location] {
        codec::put_bytes(&mut out, &name_bytes(name));
    }
    for text in [&entry.digest, &entry.collection] {
        codec::put_bytes(&mut out, text.as_bytes());
    }
    let (state, reason) = match &entry.state {
        InputState::Pending => (0, ""),
        InputState::Loading => (1, ""),
        InputState::Done => (2, ""),
        InputState::Failed { reason } => (3, reason.as_str()),
        InputState::Forgotten => (4, ""),
        InputState::TakenDown => (5, ""),
    };
    out.push(state);
    codec::put_bytes(&mut out, reason.as_bytes());
    for number in [
        entry.size,
        entry.records,
        entry.captures,
        entry.quarantined,
        entry.bytes_done,
    ] {
        codec::put_varint(&mut out, number);
    }
    for text in [&entry.cut, &entry.missing, &entry.digesting] {
        codec::put_bytes(&mut out, text.as_bytes());
    }
    for number in [entry.taken_down, entry.index_lines, entry.exchange_from] {
        codec::put_varint(&mut out, number);
    }
    out
}

pub(crate) fn decode_entry(bytes: &[u8]) -> Result<LedgerRow, Corrupt> {
    let mut r = Reader::versioned(bytes, ENTRY_VERSION)?;
    Ok(LedgerRow {
        input: name_text(r.bytes()?),
        location: name_text(r.bytes()?),
        digest: r.str()?.to_owned(),
        collection: r.str()?.to_owned(),
        state: {
            let state = r.u8()?;
            let reason = r.str()?.to_owned();
            match state {
                0 => InputState::Pending,
                1 => InputState::Loading,
                2 => InputState::Done,
                3 => InputState::Failed { reason },
                4 => InputState::Forgotten,
                5 => InputState::TakenDown,
                _ => return Err(Corrupt("unknown input state")),
            }
        },
        size: r.varint()?,
        records: r.varint()?,
        captures: r.varint()?,
        quarantined: r.varint()?,
        bytes_done: r.varint()?,
        cut: r.str()?.to_owned(),
        missing: r.str()?.to_owned(),
        digesting: r.str()?.to_owned(),
        taken_down: r.varint()?,
        index_lines: r.varint()?,
        exchange_from: r.varint()?,
    })
}

/// Returns every entry by id, including those of forgotten inputs.
pub(crate) fn read_all(cut: &Cut) -> Result<Vec<(InputId, LedgerRow)>, SnapshotError> {
    cut.iter(Table::Inputs)
        .map(|row| {
            let (key, value) = row?;
            let entry = cut.decode(Table::Inputs, &key, decode_entry(&value))?;
            let id = cut.decode(Table::Inputs, &key, input_of_key(&key))?;
            Ok((id, entry))
        })
        .collect()
}

fn input_of_key(key: &[u8]) -> Result<InputId, Corrupt> {
    let bytes = key.first_chunk::<4>().ok_or(Corrupt("key is too short"))?;
    Ok(InputId(u32::from_be_bytes(*bytes)))
}

/// Key of a quarantine row: input, offset, then the reason, which distinguishes entries of one
/// offset.
pub(crate) fn quarantine_key(input: InputId, entry: &QuarantineEntry) -> Vec<u8> {
    let mut key = entry_key(input).to_vec();
    key.extend_from_slice(&entry.offset.to_be_bytes());
    let reason = &entry.reason.as_bytes()[..entry.reason.len().min(256)];
    key.extend_from_slice(reason);
    key
}

const QUARANTINE_VERSION: u8 = 1;

pub(crate) fn encode_quarantine(entry: &QuarantineEntry) -> Vec<u8> {
    let mut out = vec![QUARANTINE_VERSION];
    codec::put_varint(&mut out, entry.length);
    codec::put_bytes(&mut out, entry.reason.as_bytes());
    codec::put_bytes(&mut out, entry.detail.as_bytes());
    out
}

/// Input and entry of a quarantine row.
pub(crate) fn decode_quarantine(key: &[u8], value: &[u8]) -> Result<(InputId, QuarantineEntry), Corrupt> {
    let input = input_of_key(key)?;
    let offset = key
        .get(4..12)
        .and_then(|b| b.first_chunk::<8>())
        .ok_or(Corrupt("key is too short"))?;
    let mut r = Reader::versioned(value, QUARANTINE_VERSION)?;
    let entry = QuarantineEntry {
        offset: u64::from_be_bytes(*offset),
        length: r.varint()?,
        reason: r.str()?.to_owned(),
        detail: r.str()?.to_owned(),
    };
    Ok((input, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_packages_name_their_package() {
        for (input, package) in [
            ("crawls/a.wacz#archive/x.warc", Some("crawls/a.wacz")),
            ("A.WACZ#archive/x.warc", Some("A.WACZ")),
            ("a.wacz", None),
            ("x.warc", None),
        ] {
            let row = LedgerRow::pending(input, "", "", 0, "");
            assert_eq!(row.package_name(), package, "{input}");
        }
    }

    #[test]
    fn states_are_read_as_they_are_written() {
        let failed = |reason: &str| InputState::Failed {
            reason: reason.to_owned(),
        };
        for (state, text) in [
            (InputState::Pending, "pending"),
            (InputState::Loading, "loading"),
            (InputState::Done, "done"),
            (InputState::Forgotten, "forgotten"),
            (InputState::TakenDown, "taken_down"),
            (
                failed("no such file (os error 2)"),
                "failed(no such file (os error 2))",
            ),
            (failed(""), "failed()"),
        ] {
            assert_eq!(state.to_string(), text);
            assert_eq!(text.parse(), Ok(state));
        }
        for text in ["", "Done", "failed", "failed(", "cut"] {
            assert!(text.parse::<InputState>().is_err(), "{text:?}");
        }
    }

    /// A row of format 1, byte by byte.
    #[test]
    fn rows_of_version_1_are_read() {
        let row = b"\x01\x01a\x02/a\x09sha256:00\x00\x02\x00\x05\x03\x02\x01\x05\x00\x00\x00\x00\x00\x00";
        let mut expected = LedgerRow::pending("a", "/a", "sha256:00", 5, "");
        (expected.state, expected.bytes_done) = (InputState::Done, 5);
        (expected.records, expected.captures, expected.quarantined) = (3, 2, 1);
        assert_eq!(decode_entry(row), Ok(expected));
        assert!(decode_entry(&[ENTRY_VERSION + 1]).is_err());
    }

    #[test]
    fn names_that_are_not_utf8_are_stored_as_they_are() {
        let mut entry = LedgerRow::pending("caf\\xe9.warc", "/caf\\xe9.warc", "sha256:00", 5, "");
        let row = encode_entry(&entry);
        assert!(row.windows(9).any(|bytes| bytes == b"caf\xe9.warc"), "{row:?}");
        assert_eq!(decode_entry(&row), Ok(entry.clone()));
        // In a row, an apparent escape is part of the name.
        let row =
            b"\x01\x07a\\xe9.w\x02/a\x09sha256:00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
        entry = LedgerRow::pending("a\\x5cxe9.w", "/a", "sha256:00", 5, "");
        assert_eq!(decode_entry(row), Ok(entry));
    }

    #[test]
    fn digests_of_beginnings_tell_of_how_many_bytes() {
        let mut entry = LedgerRow::pending("a", "/a", "sha256:00", 9, "");
        assert_eq!((entry.beginning(), entry.is_digested()), ((9, "sha256:00"), true));
        entry.digest = digest_of_beginning("sha256:00", 5);
        assert_eq!(
            (entry.beginning(), entry.is_digested()),
            ((5, "sha256:00"), false)
        );
        entry.digest = format!("{NO_CONTENT}00");
        assert!(entry.is_digested() && !entry.has_content());
    }

    #[test]
    fn rows_come_back() {
        let mut entry = LedgerRow {
            input: "a.warc.gz".into(),
            location: "/x/a.warc.gz".into(),
            digest: "sha256:00".into(),
            size: 1 << 40,
            collection: "c".into(),
            state: InputState::Failed {
                reason: "gone".into(),
            },
            records: 3,
            captures: 2,
            quarantined: 1,
            taken_down: 0,
            index_lines: 0,
            bytes_done: 17,
            exchange_from: 0,
            cut: "truncated-member: at 17".into(),
            missing: "no such file".into(),
            digesting: String::new(),
        };
        for (digesting, taken_down, index_lines, exchange_from) in [
            ("", 0, 0, 0),
            ("words", 0, 0, 0),
            ("", 7, 0, 0),
            ("", 0, 9, 0),
            ("", 0, 0, 11),
        ] {
            (entry.digesting, entry.taken_down) = (digesting.into(), taken_down);
            (entry.index_lines, entry.exchange_from) = (index_lines, exchange_from);
            assert_eq!(decode_entry(&encode_entry(&entry)), Ok(entry.clone()));
        }
        let row = QuarantineEntry {
            offset: 5,
            length: 6,
            reason: "cut".into(),
            detail: "member ends early".into(),
        };
        let key = quarantine_key(InputId(9), &row);
        assert_eq!(
            decode_quarantine(&key, &encode_quarantine(&row)),
            Ok((InputId(9), row))
        );
    }
}
