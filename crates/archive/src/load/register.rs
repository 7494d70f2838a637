//! Stage `register`: inputs get their place in the ledger, where reading begins.
//!
//! Invariants:
//!  - inputs are registered one at a time, in the order of the arguments: of two with the same content the
//!    first gives the name, whatever the number of threads;
//!  - one input has one row: content that is known or continues what is known, and what was loaded once and is gone
//!    now, gets no other.

use std::collections::HashSet;

use flow::{Out, StageResult};
use sha2::{Digest, Sha256};
use weave::{InputId, InputState, LedgerEntry, NO_CONTENT};

use super::Context;
use super::chunk::{Digested, Registered};
use crate::inputs::ContentDigest;

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
    if let Err(problem) = &content
        && note_missing(context, claimed, &location, problem)?
    {
        return Ok(());
    }
    let (digest, size, continues) = match &content {
        Ok(content) => (
            // All empty files have one content: each has a row of its own all the same.
            if content.size == 0 {
                no_content(&location)
            } else {
                content.digest.clone()
            },
            content.size,
            context.continues(claimed, &location, content),
        ),
        Err(_) => (no_content(&location), 0, None),
    };
    let asked = LedgerEntry::pending(&found.name, &location, &digest, size, &context.collection);
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

/// What was loaded from here, wholly or in part, stays as it is: its row tells that it is gone now.
fn note_missing(
    context: &Context,
    claimed: &mut HashSet<InputId>,
    location: &str,
    problem: &str,
) -> Result<bool, weave::ApplyError> {
    let weave = &context.parts.weave;
    let Some((id, entry)) = weave.input_at(location) else {
        return Ok(false);
    };
    weave.note_missing(id, problem)?;
    claimed.insert(id);
    context.job.touch(id, entry.bytes_done);
    context.job.counters.inputs_failed.add(1);
    Ok(true)
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
    format!("{NO_CONTENT}{}", data_encoding::HEXLOWER.encode(&hash))
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
        let matching = free.filter(|(_, entry)| {
            let is_here = entry.location == location && (entry.digest == absent || prefix_of(entry));
            // Every content begins with nothing: a name alone is no sign.
            is_here || entry.state == InputState::Loading && entry.size > 0 && prefix_of(entry)
        });
        let longest = matching.max_by_key(|(_, entry)| entry.size);
        longest.map(|(id, _)| *id)
    }
}
