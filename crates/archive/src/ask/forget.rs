//! Taking inputs out of the ledger: those that failed, and those without captures.
//!
//! What they left in quarantine goes with them. Captures of a failed input leave every view; those of others are
//! not touched here.

use weave::{InputId, InputState, LedgerEntry};

use super::ledger::is_named;
use crate::AskError;
use crate::load::forget_input;
use crate::parts::Parts;
use crate::question::Body;

/// Takes out every input that goes by one of these names, or none where one may not be.
pub(super) fn forget(parts: &Parts, names: &[String]) -> Result<Body, AskError> {
    parts.writable()?;
    // No load may begin or go on meanwhile: it might be reading one of them.
    parts.jobs.while_idle(|| {
        let found = found(parts, names)?;
        if let Some((_, entry)) = found.iter().find(|(_, entry)| !may_be_forgotten(entry)) {
            return Err(AskError::bad_request(format!(
                "{} did not fail and holds {} captures: only inputs that failed, or that have no captures, can be \
                 forgotten",
                entry.input, entry.captures
            )));
        }
        for (id, _) in &found {
            forget_input(parts, *id).map_err(AskError::internal)?;
        }
        parts.catch_up_search().map_err(AskError::internal)?;
        let inputs = found.into_iter().map(|(_, entry)| entry.input).collect();
        Ok(Body::Forgotten { inputs })
    })?
}

fn may_be_forgotten(entry: &LedgerEntry) -> bool {
    entry.captures == 0 || matches!(entry.state, InputState::Failed { .. })
}

fn found(parts: &Parts, names: &[String]) -> Result<Vec<(InputId, LedgerEntry)>, AskError> {
    let unknown = |name: &&String| parts.weave.inputs(|entry| is_named(entry, name)).is_empty();
    match names.iter().find(unknown) {
        Some(name) => Err(AskError::not_found(format!("no input {name}"))),
        None => Ok(parts
            .weave
            .inputs(|entry| names.iter().any(|name| is_named(entry, name)))),
    }
}
