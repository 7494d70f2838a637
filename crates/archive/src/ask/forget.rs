//! Taking inputs out of the ledger: those that were not loaded to their end, and those without captures.
//!
//! What they left in quarantine goes with them, and their captures leave every view. Captures of inputs that are loaded
//! whole are not touched here.

use weave::{InputId, InputState, LedgerEntry};

use super::ledger::is_named;
use crate::AskError;
use crate::load::forget_input;
use crate::parts::Parts;
use crate::question::{Body, ForgottenBody};

/// Takes out the inputs that go by one of these names, or none where all of one name are to stay.
pub(super) fn forget(parts: &Parts, names: &[String]) -> Result<Body, AskError> {
    parts.writable()?;
    // No load may begin or go on meanwhile: it might be reading one of them.
    parts.jobs.while_idle(|| {
        let found = found(parts, names)?;
        for (id, _) in &found {
            forget_input(parts, *id).map_err(AskError::internal)?;
        }
        parts.catch_up_search().map_err(AskError::internal)?;
        let sum = |count: fn(&LedgerEntry) -> u64| found.iter().map(|(_, entry)| count(entry)).sum();
        Ok(Body::Forgotten(ForgottenBody {
            captures: sum(|entry| entry.captures),
            quarantined: sum(|entry| entry.quarantined),
            inputs: found.into_iter().map(|(_, entry)| entry.input).collect(),
        }))
    })?
}

fn may_be_forgotten(entry: &LedgerEntry) -> bool {
    entry.captures == 0 || entry.state != InputState::Done
}

/// Of each name the inputs that may be forgotten: where a file was replaced, what is left of the earlier one goes by the
/// same name as the one that took its place.
fn found(parts: &Parts, names: &[String]) -> Result<Vec<(InputId, LedgerEntry)>, AskError> {
    for name in names {
        let named = parts.weave.inputs(|entry| is_named(entry, name));
        let (_, first) = named
            .first()
            .ok_or_else(|| AskError::not_found(format!("no input {name}")))?;
        if !named.iter().any(|(_, entry)| may_be_forgotten(entry)) {
            return Err(AskError::bad_request(format!(
                "{} is loaded to its end and holds {} captures: only inputs that are not, or that have no captures, can \
                 be forgotten",
                first.input, first.captures
            )));
        }
    }
    Ok(parts
        .weave
        .inputs(|entry| may_be_forgotten(entry) && names.iter().any(|name| is_named(entry, name))))
}
