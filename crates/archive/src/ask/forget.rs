//! Removes inputs from the ledger: those that were not loaded to their end, and those without
//! captures.
//!
//! Their rows in the quarantine are removed too, and their captures from every view. Captures of
//! completely loaded inputs are not touched.

use index::{InputId, InputState, LedgerRow};

use super::basis::Basis;
use super::ledger::is_named;
use crate::AskError;
use crate::crash;
use crate::load::forget_inputs;
use crate::open_archive::OpenArchive;
use crate::question::{Forget, ForgottenBody};

/// Removes the inputs with one of these names in one epoch. If any name has no removable input,
/// nothing is removed.
pub(super) fn forget(basis: &Basis<'_>, question: &Forget) -> Result<ForgottenBody, AskError> {
    let (open, names) = (basis.open, &question.inputs);
    open.writable()?;
    // No load may run meanwhile, because it might be reading one of these inputs.
    open.jobs.while_idle(|| {
        let found = found(open, names)?;
        let ids: Vec<InputId> = found.iter().map(|(id, _)| *id).collect();
        forget_inputs(open, &ids).map_err(AskError::internal)?;
        crash::point("forget.before_search");
        open.catch_up_search().map_err(AskError::internal)?;
        let sum = |count: fn(&LedgerRow) -> u64| found.iter().map(|(_, entry)| count(entry)).sum();
        Ok(ForgottenBody {
            captures: sum(|entry| entry.captures),
            quarantined: sum(|entry| entry.quarantined),
            inputs: found.into_iter().map(|(_, entry)| entry.input).collect(),
        })
    })?
}

pub(super) fn may_be_forgotten(entry: &LedgerRow) -> bool {
    entry.state != InputState::TakenDown
        && (entry.captures + entry.index_lines == 0 || entry.state != InputState::Done)
}

/// Returns the removable inputs of each name. If a file was replaced, the remainder of the earlier
/// file has the same name as its replacement.
fn found(open: &OpenArchive, names: &[String]) -> Result<Vec<(InputId, LedgerRow)>, AskError> {
    for name in names {
        let named = open.index.inputs(|entry| is_named(entry, name));
        let (_, first) = named
            .first()
            .ok_or_else(|| AskError::not_found(format!("no input {name}")))?;
        if !named.iter().any(|(_, entry)| may_be_forgotten(entry)) {
            return Err(AskError::bad_request(format!(
                "{} is loaded to its end and holds {} captures: only inputs that are incomplete or have no captures can \
                 leave the ledger; use weft forget --input to take it down",
                first.input, first.captures
            )));
        }
    }
    Ok(open
        .index
        .inputs(|entry| may_be_forgotten(entry) && names.iter().any(|name| is_named(entry, name))))
}
