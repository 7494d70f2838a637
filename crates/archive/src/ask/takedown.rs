//! Takes captures down, undoes takedowns, and lists the register.

use std::time::Duration;

use index::{
    CaptureRow, Epoch, InputId, InputState, KeptSelector, LedgerRow, Selector, Takedown, TakedownPreview,
};

use super::basis::Basis;
use super::forget::may_be_forgotten;
use super::key;
use super::ledger::is_named;
use super::limit::clamp;
use crate::AskError;
use crate::crash;
use crate::files::bytes_below;
use crate::load::{forget_inputs, take_down_captures};
use crate::open_archive::OpenArchive;
use crate::posts;
use crate::question::{
    ForgottenBody, Purge, PurgedBody, TakeDown, TakedownRow, TakedownRulesBody, TakedownRulesQuestion,
    TakedownSelector, Takedowns, TakedownsBody, TakenDownBody, TakenDownCapture, TakenDownInput,
    UndoTakedown, UndoneBody, UnreadableCapture,
};

/// How long a purge waits for earlier searches.
const SEARCHES_TIME_MAX: Duration = Duration::from_secs(10);

/// Takes captures down in one epoch. Inputs that were not read to their end are removed from the
/// ledger instead.
pub(super) fn take_down(basis: &Basis<'_>, question: &TakeDown) -> Result<TakenDownBody, AskError> {
    let open = basis.open;
    if question.dry_run {
        let (selector, unfinished) = selector_of(open, &question.takes)?;
        return would_leave(open, selector, &unfinished, clamp(question.limit));
    }
    open.writable()?;
    // No load may run meanwhile, because it might be reading one of these inputs.
    open.jobs.while_idle(|| {
        // After an error, such as a full disk, the index refuses writes until it is opened again.
        open.index.recover().map_err(AskError::internal)?;
        let (selector, unfinished) = selector_of(open, &question.takes)?;
        let mut body = TakenDownBody::default();
        let ids: Vec<InputId> = unfinished.iter().map(|(id, _)| *id).collect();
        forget_inputs(open, &ids).map_err(AskError::internal)?;
        crash::point("forget.before_search");
        body.forgotten = forgotten(&unfinished);
        if let Some(selector) = selector {
            taken_down(open, question, selector, &mut body)?;
        }
        open.catch_up_search().map_err(AskError::internal)?;
        Ok(body)
    })?
}

fn taken_down(
    open: &OpenArchive,
    question: &TakeDown,
    selector: Selector,
    body: &mut TakenDownBody,
) -> Result<(), AskError> {
    let locations = locations_of(open, &selector)?;
    let asked = index::TakedownRequest {
        selector,
        who: question.who.clone(),
        reason: question.reason.clone(),
        at_ms: system::time_ms(),
    };
    let took_down = take_down_captures(open, &asked).map_err(AskError::internal)?;
    for location in &locations {
        open.sources.drop_cached(location);
    }
    body.known = !took_down.is_new;
    if took_down.is_new {
        body.captures = took_down.takedown.captures;
    }
    body.unreadable = took_down.unreadable.into_iter().map(unreadable).collect();
    body.takedown = Some(row(&took_down.takedown));
    Ok(())
}

/// Returns the locations of the inputs that contain selected captures. Caches of these inputs
/// contain them too.
fn locations_of(open: &OpenArchive, selector: &Selector) -> Result<Vec<String>, AskError> {
    let would = open.index.preview_takedown(selector, 0)?;
    let snapshot = open.index.snapshot();
    let locations = would
        .inputs
        .keys()
        .map(|id| Ok(snapshot.input(*id)?.location.clone()));
    Ok(locations.collect::<Result<_, index::SnapshotError>>()?)
}

fn would_leave(
    open: &OpenArchive,
    selector: Option<Selector>,
    unfinished: &[(InputId, LedgerRow)],
    limit: usize,
) -> Result<TakenDownBody, AskError> {
    let would = match &selector {
        Some(selector) => open.index.preview_takedown(selector, limit)?,
        None => TakedownPreview::default(),
    };
    let snapshot = open.index.snapshot();
    let inputs = would.inputs.iter().map(|(id, captures)| {
        Ok(TakenDownInput {
            input: snapshot.input(*id)?.input.clone(),
            captures: *captures,
        })
    });
    Ok(TakenDownBody {
        dry_run: true,
        captures: would.captures,
        inputs: inputs.collect::<Result<_, index::SnapshotError>>()?,
        rows: would.rows.into_iter().map(capture).collect(),
        forgotten: forgotten(unfinished),
        ..TakenDownBody::default()
    })
}

fn forgotten(unfinished: &[(InputId, LedgerRow)]) -> ForgottenBody {
    let sum = |count: fn(&LedgerRow) -> u64| unfinished.iter().map(|(_, entry)| count(entry)).sum();
    ForgottenBody {
        inputs: unfinished.iter().map(|(_, entry)| entry.input.clone()).collect(),
        captures: sum(|entry| entry.captures),
        quarantined: sum(|entry| entry.quarantined),
    }
}

/// An input with its number.
type Numbered = (InputId, LedgerRow);

/// Returns the selection, and the selected inputs that are not read to their end.
fn selector_of(
    open: &OpenArchive,
    takes: &TakedownSelector,
) -> Result<(Option<Selector>, Vec<Numbered>), AskError> {
    let selector = match takes {
        TakedownSelector::Url(url) => Selector::Url(key::url_key(url)?),
        TakedownSelector::Prefix(prefix) => Selector::Prefix(prefix_of(prefix)?),
        TakedownSelector::Collection(label) if label.is_empty() => {
            return Err(AskError::bad_request(
                "the name of the collection must not be empty",
            ));
        }
        TakedownSelector::Collection(label) => Selector::Collection(label.clone()),
        TakedownSelector::Before(time) => Selector::Before(before_ms(time)?),
        TakedownSelector::Inputs(names) => {
            let (unfinished, whole) = inputs_named(open, names)?;
            let ids: Vec<InputId> = whole.into_iter().map(|(id, _)| id).collect();
            let selector = (!ids.is_empty()).then_some(Selector::Inputs(ids));
            return Ok((selector, unfinished));
        }
    };
    Ok((Some(selector), Vec::new()))
}

/// Returns the inputs with these names: those not read to their end, and the others. The name of a
/// package stands for its members. Each name must have an input.
fn inputs_named(open: &OpenArchive, names: &[String]) -> Result<(Vec<Numbered>, Vec<Numbered>), AskError> {
    for name in names {
        if open.index.inputs(|entry| is_meant(entry, name)).is_empty() {
            return Err(AskError::not_found(format!("no input {name}")));
        }
    }
    let named = open.index.inputs(|entry| {
        entry.state != InputState::TakenDown && names.iter().any(|name| is_meant(entry, name))
    });
    // An input with captures kept out by takedowns must stay known. If it were forgotten, loading
    // it again would not restore them.
    let is_unfinished = |(_, entry): &Numbered| may_be_forgotten(entry) && entry.taken_down == 0;
    Ok(named.into_iter().partition(is_unfinished))
}

/// Returns whether an input or its package has this name or place, or the input has this digest.
fn is_meant(entry: &LedgerRow, name: &str) -> bool {
    let is_package = || {
        let package = inputs::package_of(&entry.location).map(|(package, _)| package);
        entry.package_name() == Some(name) || package.as_deref() == Some(name)
    };
    is_named(entry, name) || is_package()
}

/// Returns the prefix of URL keys that a prefix means: that of a URL with its last slash, or a key
/// prefix unchanged.
fn prefix_of(prefix: &str) -> Result<String, AskError> {
    let prefix = prefix.trim().trim_end_matches('*');
    let before_path = prefix.split('/').next().unwrap_or_default();
    let is_key = !prefix.contains("://") && before_path.contains([',', ')']);
    if is_key {
        return Ok(prefix.to_owned());
    }
    let url = key::with_scheme(prefix);
    let ranges = urlkey::url_ranges(&url, urlkey::MatchType::Prefix);
    let ranges =
        ranges.map_err(|error| AskError::bad_request(format!("{prefix:?} has no URL key: {error}")))?;
    let start = ranges.into_iter().next().map(|range| range.start);
    start
        .filter(|start| !start.is_empty())
        .ok_or_else(|| AskError::bad_request(format!("{prefix:?} is not the beginning of any URL")))
}

/// Parses a time given as digits, or as ISO 8601.
fn before_ms(text: &str) -> Result<i64, AskError> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let ms = format::date::ms_of_iso(text).or_else(|| {
        let (text, fraction) = match text.split_at_checked(format::date::DIGITS) {
            Some((digits, fraction)) if fraction.len() <= 3 && is_digits(text) => (digits, fraction),
            _ => (text, ""),
        };
        let digits = format::date::digits_of_text(text)
            .filter(|digits| digits.len() >= 4 && digits.len().is_multiple_of(2))?;
        Some(format::date::ms_of_digits(&(digits + fraction)))
    });
    ms.ok_or_else(|| {
        AskError::bad_request(format!(
            "{text:?} is not a time: expected a year, month, day and so on, as in 2014, 2014-01-26, 20140126200624 or \
             2014-01-26T20:06:24Z"
        ))
    })
}

/// Ends a takedown.
pub(super) fn undo(basis: &Basis<'_>, question: &UndoTakedown) -> Result<UndoneBody, AskError> {
    let open = basis.open;
    open.writable()?;
    open.jobs.while_idle(|| {
        open.index.recover().map_err(AskError::internal)?;
        let undone = open
            .index
            .undo_takedown(question.id, &question.who, system::time_ms())
            .map_err(AskError::internal)?;
        let undone = undone.ok_or_else(|| AskError::not_found(format!("no takedown {}", question.id)))?;
        Ok(UndoneBody {
            inputs: to_load_again(open, &undone)?,
            takedown: row(&undone),
        })
    })?
}

fn to_load_again(open: &OpenArchive, undone: &Takedown) -> Result<Vec<String>, AskError> {
    if let KeptSelector::Inputs { ids, .. } = &undone.rule {
        let pending = open.index.inputs(|entry| entry.state == InputState::Pending);
        let back = pending.into_iter().filter(|(id, _)| ids.contains(&id.0));
        return Ok(back.map(|(_, entry)| entry.location).collect());
    }
    let mut inputs = Vec::new();
    for (id, entry) in open.index.inputs(|entry| entry.taken_down > 0) {
        let returning = open.index.returning(id)?;
        if returning.iter().any(|kept_out| kept_out.takedown == undone.id) {
            inputs.push(entry.location);
        }
    }
    Ok(inputs)
}

/// Returns the result of the purge.
pub(super) fn purge(basis: &Basis<'_>, _: &Purge) -> Result<PurgedBody, AskError> {
    let purged = basis.purged.clone();
    purged.ok_or_else(|| AskError::internal("nothing was purged"))
}

/// Rewrites the index and the search index, and removes files of facts that are no longer
/// referenced. The caller must not hold a snapshot.
pub(super) fn purge_now(open: &OpenArchive) -> Result<PurgedBody, AskError> {
    open.writable()?;
    let begun = open.rebuild_begins()?;
    open.jobs.while_idle(|| {
        open.index.recover().map_err(AskError::internal)?;
        open.catch_up_search().map_err(AskError::internal)?;
        let searches = open.search.searches();
        let mut body = PurgedBody {
            disk_bytes_before: bytes_below(open.files.dir()),
            ..PurgedBody::default()
        };
        // Posts come before the index, because purging them writes their new digests to the index.
        posts::purge(open).map_err(AskError::internal)?;
        let covered = open.search.covered_epoch().min(open.images.covered_epoch());
        let covered = Epoch(covered);
        open.index
            .purge(covered, &mut |table, rows| begun.at(table, rows))
            .map_err(AskError::internal)?;
        open.rebuild_search(&mut |rows| begun.at("search", rows))
            .map_err(AskError::internal)?;
        open.search.purge().map_err(AskError::internal)?;
        open.images.purge().map_err(AskError::internal)?;
        open.thumbnails.clear().map_err(AskError::internal)?;
        if let Some(facts) = &open.facts {
            body.notes = facts.purge(&open.index).map_err(AskError::internal)?;
        }
        if !searches.wait_for_end(SEARCHES_TIME_MAX) {
            body.notes.push(format!(
                "a search that began before the purge is still running: the files of the old search index are deleted from \
                 {}, but take up disk space until it ends",
                open.search_folder()
            ));
        }
        body.disk_bytes = bytes_below(open.files.dir());
        Ok(body)
    })?
}

/// Lists the register.
pub(super) fn takedowns(basis: &Basis<'_>, _: &Takedowns) -> Result<TakedownsBody, AskError> {
    let totals = basis.snapshot.totals()?;
    Ok(TakedownsBody {
        rows: basis.open.index.takedowns().iter().map(row).collect(),
        captures_taken_down: totals.captures_taken_down,
        inputs_taken_down: totals.inputs_taken_down,
    })
}

/// Returns the rules of all takedowns.
pub(super) fn rules(basis: &Basis<'_>, _: &TakedownRulesQuestion) -> Result<TakedownRulesBody, AskError> {
    let rules = basis.open.index.takedown_rules()?;
    let rules = serde_json::to_string(&rules).map_err(AskError::internal)?;
    Ok(TakedownRulesBody { rules })
}

fn row(takedown: &Takedown) -> TakedownRow {
    let (kind, before) = match &takedown.rule {
        KeptSelector::Url { .. } => ("url", None),
        KeptSelector::Prefix { .. } => ("prefix", None),
        KeptSelector::Inputs { .. } => ("inputs", None),
        KeptSelector::Collection { .. } => ("collection", None),
        KeptSelector::Before { before_ms } => ("before", Some(format::date::iso(*before_ms))),
    };
    let undone = takedown.undone.as_ref();
    TakedownRow {
        id: takedown.id,
        at: format::date::iso(takedown.at_ms),
        who: takedown.who.clone(),
        reason: takedown.reason.clone(),
        kind: kind.to_owned(),
        before,
        captures: takedown.captures,
        pages: takedown.pages,
        inputs: takedown.inputs,
        undone: undone.map(|undone| format::date::iso(undone.at_ms)),
        undone_by: undone.map(|undone| undone.who.clone()),
    }
}

fn capture(row: CaptureRow) -> TakenDownCapture {
    TakenDownCapture {
        fetch_time: format::date::iso(row.fetch_time_ms),
        url: row.url,
        input: row.input_name,
        offset: row.offset,
    }
}

fn unreadable((row, why): (CaptureRow, String)) -> UnreadableCapture {
    UnreadableCapture {
        url: row.url,
        input: row.input_name,
        offset: row.offset,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_prefix(typed: &str, expected: Option<&str>) {
        assert_eq!(prefix_of(typed).ok().as_deref(), expected, "{typed}");
    }

    #[test]
    fn prefixes_are_of_urls_or_of_keys() {
        check_prefix("http://www.a.org/private/", Some("org,a)/private/"));
        check_prefix("a.org/private", Some("org,a)/private"));
        check_prefix("a.org/private*", Some("org,a)/private"));
        check_prefix("org,a)/private", Some("org,a)/private"));
        check_prefix("org,a,", Some("org,a,"));
        check_prefix("a.org", Some("org,a)/"));
        check_prefix("", None);
        check_prefix("*", None);
    }

    #[test]
    fn times_are_digits_or_iso() {
        let of = |text: &str| before_ms(text).ok().map(format::date::iso);
        let start = Some("2014-01-01T00:00:00.000Z".to_owned());
        assert_eq!(of("2014"), start);
        assert_eq!(of("2014-01-01"), start);
        assert_eq!(of("20140126200624"), of("2014-01-26T20:06:24Z"));
        assert_eq!(of("20140101000000000"), start);
        assert_eq!(of("2014-01-01T00:00:00.000Z"), start);
        // A lenient parser would take down more than was meant: `2012-2` was once read as the end
        // of that year.
        for none in [
            "x",
            "12",
            "yesterday 2014",
            "2012-2",
            "20122",
            "2012-13",
            "20129999",
            "2012-02-30",
            "201401010000000000",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
