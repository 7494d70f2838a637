//! Inputs, and the parts of them that could not be used.

use format::file_name::base_name;
use index::{InputId, QuarantineEntry};

use super::basis::Basis;
use super::cursor;
use super::limit::{clamp, page_of};
use crate::AskError;
use crate::question::{Ledger, LedgerBody, LedgerRow, Quarantine, QuarantineBody, QuarantineRow};

/// Returns rows sorted by name, then digest. With `state`, only inputs in that state; with `input`,
/// only those with that name.
pub(super) fn ledger(basis: &Basis<'_>, question: &Ledger) -> Result<LedgerBody, AskError> {
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let (state, limit) = (question.state, clamp(question.limit));
    let ledger = basis.snapshot.ledger()?;
    let input = question.input.as_deref();
    let mut entries: Vec<LedgerRow> = ledger.into_iter().map(|(_, entry)| entry).collect();
    let place = |entry: &LedgerRow| (entry.input.clone(), entry.digest.clone());
    let after = match after {
        None => None,
        Some(after) => {
            let mut places = entries.iter().map(place);
            let found = places.find(|place| cursor::stand_in(place) == after);
            Some(found.ok_or_else(|| AskError::bad_request(cursor::NO_CURSOR))?)
        }
    };
    entries.retain(|entry| {
        let is_wanted = state.is_none_or(|state| state.includes(entry));
        let goes_by_it = input.is_none_or(|name| goes_by(entry, name));
        is_wanted && goes_by_it && after.as_ref().is_none_or(|after| place(entry) > *after)
    });
    entries.sort_by_cached_key(place);
    let next = page_of(&mut entries, limit, |entry| {
        cursor::encode(&cursor::stand_in(&place(entry)))
    });
    let rows = entries.into_iter().map(LedgerRow::without_reader_state);
    Ok(LedgerBody {
        rows: rows.collect(),
        next,
    })
}

/// Returns whether an input has this name, location or digest, or its name ends in this part.
fn goes_by(entry: &LedgerRow, name: &str) -> bool {
    is_named(entry, name) || base_name(&entry.input) == name
}

/// Returns whether an input has this name, location or digest. Names and locations may be given
/// escaped or unescaped; the two differ if a name contains a backslash.
pub(super) fn is_named(entry: &LedgerRow, name: &str) -> bool {
    let text = format::file_name::name_text(name.as_bytes());
    let goes_by = |name: &&str| entry.input == **name || entry.location == **name;
    entry.digest == name || [name, &text].iter().any(goes_by)
}

/// Returns rows by input, in the order of loading, then offset.
pub(super) fn quarantine(basis: &Basis<'_>, question: &Quarantine) -> Result<QuarantineBody, AskError> {
    let (snapshot, input) = (&basis.snapshot, question.input.as_deref());
    let after: Option<(InputId, QuarantineEntry)> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
    let ledger = snapshot.ledger()?;
    // The ledger is sorted by number.
    let name = |id: InputId| {
        let found = ledger.binary_search_by_key(&id, |(known, _)| *known);
        found.map_or("", |at| ledger[at].1.input.as_str())
    };
    let wanted: Vec<Option<InputId>> = match input {
        None => vec![None],
        Some(input) => {
            let same = ledger.iter().filter(|(_, entry)| goes_by(entry, input));
            same.map(|(id, _)| Some(*id)).collect()
        }
    };
    if wanted.is_empty() {
        return Err(AskError::not_found(format!(
            "no input {}",
            input.unwrap_or_default()
        )));
    }
    let mut entries = Vec::new();
    for id in wanted {
        if let (Some(id), Some((last, _))) = (id, &after)
            && id < *last
        {
            continue;
        }
        let after = after.as_ref().filter(|(last, _)| id.is_none_or(|id| id == *last));
        entries.extend(snapshot.quarantine(id, after, limit + 1 - entries.len().min(limit + 1))?);
    }
    let next = page_of(&mut entries, limit, cursor::encode);
    let rows = entries.into_iter().map(|(id, entry)| QuarantineRow {
        input: name(id).to_owned(),
        offset: entry.offset,
        reason: entry.reason,
        detail: entry.detail,
    });
    Ok(QuarantineBody {
        rows: rows.collect(),
        next,
    })
}
