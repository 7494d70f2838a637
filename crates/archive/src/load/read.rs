//! The first stages of a load: digest, register, read.
//!
//! Invariants:
//!  - inputs are registered one at a time, in the order of the arguments: of two with the same content the
//!    first gives the name, whatever the number of threads;
//!  - the chunks of an input follow one another without gap from the ledger's `bytes_done`;
//!  - only the last chunk of an input carries a state other than `loading`.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use flow::{Out, StageResult};
use sha2::{Digest, Sha256};
use warc::{Entry, Reader, ReaderSettings};
use weave::{InputId, InputState, LedgerEntry};

use super::Context;
use super::chunk::{Chunk, Digested, Growing, Registered};
use crate::inputs::{self, ContentDigest, Found};

/// A chunk is full with this many entries.
const ENTRIES_MAX: usize = 64;

/// A chunk is full with this many bytes; one record may be larger.
const CHUNK_BYTES: u64 = 1 << 20;

/// A file changed this recently may still be written to.
const RECENT: Duration = Duration::from_secs(5);

/// Stage `digest`: the content's name.
pub(super) fn digest(context: &Context, found: Found, out: &mut Out<'_, Digested>) -> StageResult {
    if context.job.is_stopped() {
        return Ok(());
    }
    let growing = growing(&found.path);
    let content = match &found.problem {
        Some(problem) => Err(problem.clone()),
        None => inputs::digest(&found.path, found.size, &context.prefix_sizes)
            .map_err(|error| format!("cannot be read: {error}")),
    };
    out.send(Digested {
        found,
        content,
        growing,
    })
}

fn growing(path: &Path) -> Growing {
    if path.extension().is_some_and(|extension| extension == "open") {
        return Growing::Open;
    }
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    let age = modified.map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
    if age.is_ok_and(|age| age < RECENT) {
        Growing::Recent
    } else {
        Growing::No
    }
}

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
        growing,
    } = digested;
    if context.job.is_stopped() {
        return Ok(());
    }
    let (digest, size, continues) = match &content {
        Ok(content) => (
            content.digest.clone(),
            content.size,
            context.continues(&found, content),
        ),
        Err(_) => (no_content(&found.path), 0, None),
    };
    let asked = LedgerEntry {
        input: found.name.clone(),
        location: found.path.to_string_lossy().into_owned(),
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
        growing,
        bytes_max: u64::MAX,
    })
}

/// An input that failed at its very end fails again: there is nothing more to read.
fn exhausted(entry: &LedgerEntry) -> Option<String> {
    match &entry.state {
        InputState::Failed { reason } if entry.bytes_done >= entry.size => Some(reason.clone()),
        _ => None,
    }
}

/// In place of a digest where there is no content: one row a path.
fn no_content(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    format!("none:{}", data_encoding::HEXLOWER.encode(&hash))
}

impl Context {
    /// The unfinished input that this content continues: a prefix of it (it grew or was renamed), or a
    /// failed look for the same path.
    fn continues(&self, found: &Found, content: &ContentDigest) -> Option<InputId> {
        let absent = no_content(&found.path);
        let prefix_of = |entry: &LedgerEntry| content.prefixes.get(&entry.size) == Some(&entry.digest);
        let mut matching = self.unfinished.iter().filter(|(_, entry)| {
            entry.digest == absent
                || (entry.state == InputState::Loading && entry.size > 0 && prefix_of(entry))
        });
        let longest = matching.by_ref().max_by_key(|(_, entry)| entry.size);
        longest.map(|(id, _)| *id)
    }
}

/// Stage `read`: entries in chunks.
pub(super) fn read(context: &Context, registered: Registered, out: &mut Out<'_, Chunk>) -> StageResult {
    let Registered {
        id,
        found,
        entry,
        growing,
        bytes_max,
    } = registered;
    let mut chunk = Chunk::new(id, entry.bytes_done);
    if let Some(reason) = found.problem {
        chunk.state = InputState::Failed { reason };
        return out.send(chunk);
    }
    let mut settings = ReaderSettings::default();
    settings.verify_digests = context.verify;
    settings.start_offset = entry.bytes_done;
    settings.growing = growing != Growing::No;
    let mut reader = match Reader::open(&found.path, settings) {
        Ok(reader) => reader,
        Err(error) => {
            chunk.state = InputState::Failed {
                reason: error.to_string(),
            };
            return out.send(chunk);
        }
    };
    let mut useless = entry.records == 0;
    loop {
        if context.job.is_stopped() {
            // What was read but not sent is read again by the load that continues.
            return Ok(());
        }
        let next = if chunk.bytes_done < bytes_max {
            reader.next_entry()
        } else {
            Ok(None)
        };
        match next {
            Ok(Some(entry)) => {
                useless &= !matches!(entry, Entry::Record(_));
                chunk.push(entry);
            }
            Ok(None) => {
                chunk.state = end_state(&found, growing, chunk.bytes_done, useless);
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
            let rest = Chunk::new(id, chunk.bytes_done);
            out.send(std::mem::replace(&mut chunk, rest))?;
        }
    }
}

fn end_state(found: &Found, growing: Growing, bytes_done: u64, useless: bool) -> InputState {
    match growing {
        Growing::Open => InputState::Loading,
        Growing::Recent if bytes_done < found.size => InputState::Loading,
        _ if useless => InputState::Failed {
            reason: "no WARC or ARC record in it".into(),
        },
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
