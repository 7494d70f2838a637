//! The stages that give inputs their place in the ledger and read them.
//!
//! Invariants:
//!  - inputs are registered one at a time, in the order of the arguments: of two with the same content the
//!    first gives the name, whatever the number of threads;
//!  - the chunks of an input follow one another without gap from the ledger's `bytes_done`;
//!  - only the last chunk of an input carries a state other than `loading`.

use std::collections::HashSet;

use flow::{Out, StageResult};
use sha2::{Digest, Sha256};
use warc::{Entry, Input, Reader, ReaderSettings};
use weave::{InputId, InputState, LedgerEntry};

use super::Context;
use super::chunk::{Chunk, Digested, Growing, Registered};
use crate::inputs::{self, ContentDigest, Found, FromStart};

/// A chunk is full with this many entries.
const ENTRIES_MAX: usize = 64;

/// A chunk is full with this many bytes; one record may be larger.
const CHUNK_BYTES: u64 = 1 << 20;

/// Stage `register`: the input's place in the ledger. `claimed` are the inputs of this load so far.
pub(super) fn register(
    context: &Context,
    claimed: &mut HashSet<InputId>,
    digested: Digested,
    out: &mut Out<'_, Registered>,
) -> StageResult {
    let Digested {
        found,
        content,
        copy,
        growing,
    } = digested;
    if context.job.is_stopped() {
        return Ok(());
    }
    let location = found.place.location();
    let (digest, size, continues) = match &content {
        Ok(content) => (
            content.digest.clone(),
            content.size,
            context.continues(claimed, &location, content),
        ),
        Err(_) => (no_content(&location), 0, None),
    };
    let asked = LedgerEntry {
        input: found.name.clone(),
        location,
        digest,
        size,
        collection: context.collection.clone(),
        state: InputState::Pending,
        records: 0,
        captures: 0,
        quarantined: 0,
        bytes_done: 0,
    };
    let (id, entry) = context.parts.weave.register_input(asked, continues)?;
    context.job.touch(id, entry.bytes_done);
    if !claimed.insert(id) || entry.state == InputState::Done {
        context.job.counters.inputs_known.add(1);
        context.job.counters.bytes_done.add(found.size);
        return Ok(());
    }
    let mut found = found;
    found.problem = content.err().or_else(|| exhausted(&entry));
    context
        .job
        .counters
        .bytes_done
        .add(entry.bytes_done.min(found.size));
    out.send(Registered {
        id,
        found,
        entry,
        copy,
        growing,
    })
}

/// An input that failed at its very end fails again: there is nothing more to read.
fn exhausted(entry: &LedgerEntry) -> Option<String> {
    match &entry.state {
        InputState::Failed { reason } if entry.bytes_done >= entry.size => Some(reason.clone()),
        _ => None,
    }
}

/// In place of a digest where there is no content: one row a location.
fn no_content(location: &str) -> String {
    let hash = Sha256::digest(location);
    format!("none:{}", data_encoding::HEXLOWER.encode(&hash))
}

impl Context {
    /// The unfinished input that this content continues: a prefix of it (it grew or was renamed), or a
    /// failed look for the same location. Not one that this load has already: that keeps its name.
    fn continues(
        &self,
        claimed: &HashSet<InputId>,
        location: &str,
        content: &ContentDigest,
    ) -> Option<InputId> {
        let absent = no_content(location);
        let prefix_of = |entry: &LedgerEntry| content.prefixes.get(&entry.size) == Some(&entry.digest);
        let free = self.unfinished.iter().filter(|(id, _)| !claimed.contains(id));
        let matching = free.filter(|(_, entry)| match entry.state {
            // Every content begins with nothing: a name alone is no sign.
            InputState::Loading => {
                entry.size > 0 && prefix_of(entry) || entry.location == location && prefix_of(entry)
            }
            _ => entry.location == location && (entry.digest == absent || prefix_of(entry)),
        });
        let longest = matching.max_by_key(|(_, entry)| entry.size);
        longest.map(|(id, _)| *id)
    }
}

/// Stage `read`: entries in chunks. A stopped load sends nothing more: what was read but not sent is read
/// again by the load that continues.
pub(super) fn read(context: &Context, mut registered: Registered, out: &mut Out<'_, Chunk>) -> StageResult {
    let mut chunk = Chunk::new(registered.id, registered.entry.bytes_done);
    let mut reader = match open(context, &mut registered) {
        Ok(reader) => reader,
        Err(reason) => {
            chunk.state = InputState::Failed { reason };
            return out.send(chunk);
        }
    };
    let mut useless = registered.entry.records == 0;
    while !context.job.is_stopped() {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                useless &= !matches!(entry, Entry::Record(_));
                chunk.push(entry);
            }
            Ok(None) => {
                let size = registered.entry.size;
                let incomplete = chunk.bytes_done < size || reader.size() != size;
                let useless = useless && !(incomplete && may_hold_records(context, &registered.found));
                chunk.state = end_state(registered.growing, incomplete, useless);
                return out.send(chunk);
            }
            Err(error) => {
                chunk.state = InputState::Failed {
                    reason: error.to_string(),
                };
                return out.send(chunk);
            }
        }
        if chunk.entries.len() >= context.chunk_entries_max || chunk.bytes >= CHUNK_BYTES {
            let rest = Chunk::new(registered.id, chunk.bytes_done);
            out.send(std::mem::replace(&mut chunk, rest))?;
        }
    }
    Ok(())
}

/// Opens an input where the ledger stands, from its copy if there is one, or says why it failed.
fn open(context: &Context, registered: &mut Registered) -> Result<Reader, String> {
    let found = &registered.found;
    if let Some(problem) = &found.problem {
        return Err(problem.clone());
    }
    let mut settings = ReaderSettings::default();
    settings.verify_digests = context.verify;
    settings.start_offset = registered.entry.bytes_done;
    settings.growing = registered.growing != Growing::No;
    let location = found.place.location();
    let input: Box<dyn Input> = match registered.copy.take() {
        Some(copy) => Box::new(copy),
        None => match found.place.open(&context.parts.sources) {
            Ok(input) => Box::new(input),
            Err(error) => return Err(format!("read {location} at offset 0: {error}")),
        },
    };
    Reader::from_input(input, &location, settings).map_err(|error| error.to_string())
}

/// Whether an input begins like records, or cannot be looked at.
fn may_hold_records(context: &Context, found: &Found) -> bool {
    let input = found.place.open(&context.parts.sources);
    input.map_or(true, |input| {
        inputs::may_hold_records(FromStart::of(input), &found.name)
    })
}

/// `incomplete`: the tail is cut, or the file is not any more as long as when it was digested. `useless`: it
/// holds no record, nor the beginning of one.
fn end_state(growing: Growing, incomplete: bool, useless: bool) -> InputState {
    match growing {
        Growing::Open => InputState::Loading,
        _ if useless => InputState::Failed {
            reason: "no WARC or ARC record in it".into(),
        },
        Growing::Recent if incomplete => InputState::Loading,
        _ => InputState::Done,
    }
}

/// Entries of a chunk under a rate limit: a chunk is paid for as a whole, so small ones pass more evenly.
pub(super) fn chunk_entries_max(rate_pages_per_s: Option<f64>) -> usize {
    match rate_pages_per_s {
        Some(rate) => ((rate / 4.0) as usize).clamp(1, ENTRIES_MAX),
        None => ENTRIES_MAX,
    }
}
