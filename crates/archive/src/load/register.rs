//! Stage `register`: gives inputs their row in the ledger, which says where reading begins.
//!
//! Invariants:
//! - inputs are registered one at a time, in the order of the arguments; of several inputs with the
//!   same content the least name counts, in whatever order they come;
//! - an input has one row: no row is added if its content is known or continues known content, or
//!   if it was loaded before and is missing now;
//! - if an input continues one that was believed complete, reading begins after the last complete
//!   record of that one;
//! - an input without a label gets that of the input that was at its place;
//! - an input keeps its state if other content is at its place now, and its row says so.

use std::collections::HashSet;
use std::sync::Arc;

use index::{InputId, InputState, LedgerRow, NO_CONTENT};
use inputs::{DiscoveredInput, Spool};
use pipeline::{Out, StageResult};
use sha2::{Digest, Sha256};

use super::chunk::{DigestedInput, RegisteredInput};
use super::context::Context;
use super::digest;
use super::readmit;
use super::replaced;
use super::saved_digest::SavedDigest;
use super::take_back::{self, TakeBackFailure};
use crate::crash;

/// Why an input cannot be continued after its file was replaced or rewritten.
const OTHER_CONTENT: &str =
    "other content is at its place, so it cannot be read on; weft forget --input takes it back";

/// Finds or makes the row of one input. `claimed` contains the inputs that this load has registered
/// so far.
pub(super) fn register(
    context: &Context,
    claimed: &mut HashSet<InputId>,
    digested: DigestedInput,
    out: &mut Out<'_, RegisteredInput>,
) -> StageResult {
    let DigestedInput {
        found,
        content,
        copy,
        version,
        growing,
        rest,
    } = digested;
    if context.job.is_stopped() {
        return Ok(());
    }
    let location = found.place.location();
    if let Err(error) = &content
        && note_missing(context, claimed, &location, &error.to_string())?
    {
        return Ok(());
    }
    let absent = no_content(&location);
    let (digest, size) = match &content {
        // All empty files have the same content, but each gets its own row.
        Ok(content) if content.size > 0 => (content.digest.clone(), content.size),
        _ => (absent.clone(), 0),
    };
    let earlier = content
        .as_ref()
        .ok()
        .and_then(|content| context.earlier.continued_by(&found, content, &absent, claimed));
    let mut continues = earlier.map(|(id, _)| *id);
    if let Some((id, entry)) = earlier {
        let is_known = is_known_elsewhere(context, *id, &digest);
        match prepare_continuation(context, (*id, entry), (&digest, size), &found, copy.as_ref()) {
            Ok(stays) => {
                crash::point("continue.before_register");
                continues = continues.filter(|_| stays);
            }
            Err(TakeBackFailure::Epoch(error)) => return Err(error.into()),
            Err(failure) => {
                context.open.index.note_missing(*id, &failure.to_string())?;
                context.job.touch(*id, entry.bytes_done);
                if !is_known {
                    claimed.insert(*id);
                    context.job.counters.inputs_failed.add(1);
                    return Ok(());
                }
                // The earlier input stays next to the input with this content. Its own file may
                // come later in this load.
                continues = None;
            }
        }
    }
    if content.is_ok() {
        note_other_content(context, claimed, &location, continues, &digest)?;
    }
    let label = label(context, &location);
    let mut asked = LedgerRow::pending(&found.name, &location, &digest, size, &label);
    if let Some(rest) = &rest {
        asked.digesting = SavedDigest::of(rest, version, growing);
    }
    let index = &context.open.index;
    let (id, entry) = match &context.open.facts {
        // The input may get another name, which must also be written to the facts.
        Some(facts) => facts.register(index, asked, continues)?,
        None => index.register_input(asked, continues)?,
    };
    context.job.touch(id, entry.bytes_done);
    let is_first = claimed.insert(id);
    if is_first && content.is_ok() {
        take_in(context, (id, &entry), &found, copy.as_ref())?;
    }
    if !is_first || matches!(entry.state, InputState::Done | InputState::TakenDown) {
        context.job.counters.inputs_known.add(1);
        context.job.counters.bytes_done.add(found.size);
        context.job.counters.bytes_read.add(found.size);
        return Ok(());
    }
    let mut found = found;
    let problem = content.err().map(|error| error.to_string());
    found.problem = problem.or_else(|| exhausted(&entry));
    let begun = entry.bytes_done.min(found.size);
    context.job.counters.bytes_done.add(begun);
    context.job.counters.bytes_read.add(begun);
    out.send(RegisteredInput {
        id,
        found,
        entry,
        copy,
        version,
        growing,
        rest,
    })
}

/// Returns the label of an input: that of the load, or else that of the input loaded from its place
/// before. A file that replaces another, such as a redacted copy, stays under the same rules.
fn label(context: &Context, location: &str) -> String {
    if !context.collection.is_empty() {
        return context.collection.clone();
    }
    let earlier = context.open.index.input_at(location);
    earlier.map(|(_, entry)| entry.collection).unwrap_or_default()
}

/// Adds the captures of a known input whose takedown is undone. If a record cannot be read, the
/// input's row says so.
fn take_in(
    context: &Context,
    (id, entry): (InputId, &LedgerRow),
    found: &DiscoveredInput,
    copy: Option<&Arc<Spool>>,
) -> StageResult {
    let input = || -> std::io::Result<Arc<dyn warc::Input>> {
        match copy {
            Some(copy) => Ok(copy.clone()),
            None => found.place.open(&context.open.sources),
        }
    };
    match readmit::readmit(context, (id, entry), input) {
        Ok(()) => Ok(()),
        Err(readmit::Failure::Epoch(error)) => Err(error.into()),
        Err(failure) => {
            context.open.index.note_missing(id, &failure.to_string())?;
            context.job.counters.inputs_failed.add(1);
            Ok(())
        }
    }
}

/// Returns whether an input other than `id` has this content.
fn is_known_elsewhere(context: &Context, id: InputId, digest: &str) -> bool {
    let known = context.open.index.input_of(digest);
    known.is_some_and(|known| known != id)
}

/// Returns whether the content at the place of an input still begins with the known bytes.
fn is_still_there(context: &Context, entry: &LedgerRow) -> bool {
    let (bytes, digest) = entry.beginning();
    let input = context.open.sources.open(&entry.location);
    let now = input.and_then(|input| digest::digest_again(context, input, bytes));
    now.is_ok_and(|now| now.size == bytes && now.digest == digest)
}

/// Prepares an earlier input to be continued by content of this digest and size. Returns `false` if
/// no input continues it, because another input already has exactly that content. In that case the
/// earlier input is removed, unless it is still at its place: then the content is a longer copy,
/// and every load that finds both would read the removed beginning again.
fn prepare_continuation(
    context: &Context,
    (id, entry): (InputId, &LedgerRow),
    (digest, size): (&str, u64),
    found: &DiscoveredInput,
    copy: Option<&Arc<Spool>>,
) -> Result<bool, TakeBackFailure> {
    let input = || -> Result<Arc<dyn warc::Input>, TakeBackFailure> {
        match copy {
            Some(copy) => Ok(copy.clone()),
            None => {
                let opened = found.place.open(&context.open.sources);
                opened.map_err(|error| TakeBackFailure::Input(error.to_string()))
            }
        }
    };
    if entry.state == InputState::TakenDown && is_known_elsewhere(context, id, digest) {
        return Ok(false);
    }
    if is_known_elsewhere(context, id, digest) {
        if entry.location != found.place.location() && is_still_there(context, entry) {
            return Ok(false);
        }
        take_back::into_nothing(&context.open, &context.extract, id, Some(&input()?))?;
        return Ok(false);
    }
    let had_ended = matches!(entry.state, InputState::Done | InputState::Failed { .. });
    let is_woven = entry.has_content() && entry.bytes_done > 0;
    if format::file_name::is_index_name(&entry.location) && is_woven && entry.size < size {
        // The lines of an index may be in another order, so a longer index does not continue a
        // shorter one.
        let begin = InputState::Loading;
        take_back::to_the_beginning(&context.open, &context.extract, id, begin, Some(&input()?))?;
    } else if had_ended && is_woven && entry.size < size {
        take_back::to_last_whole_record(context, (id, entry), &input()?)?;
    } else if is_woven && entry.size < size {
        take_back::to_early_answers(context, (id, entry), &input()?)?;
    }
    Ok(true)
}

/// Keeps the input loaded from this location before, and notes in its row that it is missing now.
/// Returns whether there is such an input.
fn note_missing(
    context: &Context,
    claimed: &mut HashSet<InputId>,
    location: &str,
    problem: &str,
) -> Result<bool, index::ApplyError> {
    let index = &context.open.index;
    let Some((id, entry)) = index.input_at(location) else {
        return Ok(false);
    };
    index.note_missing(id, problem)?;
    claimed.insert(id);
    context.job.touch(id, entry.bytes_done);
    context.job.counters.inputs_failed.add(1);
    Ok(true)
}

/// Notes in the rows of inputs read from this location that other content is there now: those read
/// in part cannot be continued, and the captures of the others cannot be read.
fn note_other_content(
    context: &Context,
    claimed: &HashSet<InputId>,
    location: &str,
    continues: Option<InputId>,
    digest: &str,
) -> Result<(), index::ApplyError> {
    let index = &context.open.index;
    let is_left = |entry: &LedgerRow| {
        let is_read = match &entry.state {
            InputState::Loading => entry.bytes_done > 0,
            InputState::Failed { .. } | InputState::Done => entry.captures > 0,
            InputState::Pending | InputState::TakenDown | InputState::Forgotten => false,
        };
        is_read && entry.location == location && entry.digest != digest
    };
    for (id, entry) in index.inputs(is_left) {
        if continues != Some(id) && !claimed.contains(&id) {
            let note = match entry.state {
                InputState::Done => replaced::note_of(&entry),
                _ => OTHER_CONTENT.to_owned(),
            };
            index.note_missing(id, &note)?;
            context.job.touch(id, entry.bytes_done);
        }
    }
    Ok(())
}

/// Returns the reason of an input that failed at its very end. It fails again, because no bytes are
/// left to read.
fn exhausted(entry: &LedgerRow) -> Option<String> {
    match &entry.state {
        InputState::Failed { reason } if entry.bytes_done >= entry.size => Some(reason.clone()),
        _ => None,
    }
}

/// Returns a stand-in digest for an input without content, so that each location has one row.
fn no_content(location: &str) -> String {
    let hash = Sha256::digest(location);
    format!("{NO_CONTENT}{}", data_encoding::HEXLOWER.encode(&hash))
}
