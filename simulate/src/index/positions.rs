//! Positions never go back: what a reader saw of the ledger holds at any later time, whatever happened between.
//!
//! Three things may take an input back, and only so far: a cut input that goes on, to the end of the last record that was
//! complete before; one that goes on before it was read to its end, to the first of its last answers, whose requests may
//! have come; and a forgotten one, whose row goes.

use archive::question::{InputState, LedgerRow};

use super::expected::whole_part;
use super::world::World;

/// Compares what was seen of the ledger earlier with what is seen later. `forgotten` are names of inputs that somebody
/// wanted to forget meanwhile.
pub(super) fn never_back(
    world: &World,
    before: &[LedgerRow],
    after: &[LedgerRow],
    forgotten: &[String],
) -> Result<(), String> {
    before.iter().try_for_each(|row| {
        check(world, row, before, after, forgotten)
            .map_err(|what| format!("{} was seen, but {what}; {}", row_told(row), told(after)))
    })
}

/// Rows in words.
pub(super) fn told(rows: &[LedgerRow]) -> String {
    let rows: Vec<String> = rows.iter().map(row_told).collect();
    format!("the ledger has now\n  {}", rows.join("\n  "))
}

/// A row in words.
fn row_told(row: &LedgerRow) -> String {
    let digest = row.digest.get(..15).unwrap_or(&row.digest);
    let missing = match row.missing.as_str() {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    format!(
        "{} ({digest}): {}, {} of {} bytes{missing}",
        row.input, row.state, row.bytes_done, row.size
    )
}

fn check(
    world: &World,
    row: &LedgerRow,
    before: &[LedgerRow],
    after: &[LedgerRow],
    forgotten: &[String],
) -> Result<(), String> {
    let may_be_forgotten = row.captures == 0 || row.state != InputState::Done;
    let is_forgotten = may_be_forgotten && forgotten.contains(&row.input);
    // Forgotten and loaded again, it begins anew.
    if is_forgotten {
        return Ok(());
    }
    let to = lowest(world, row);
    let is_same = |one: &LedgerRow, other: &LedgerRow| is_same(world, one, other);
    // A row of the same content that was never read may be beside it.
    let same = after.iter().filter(|now| is_same(now, row));
    let same = same.max_by_key(|now| now.bytes_done);
    if let Some(now) = same {
        // Between being taken back and being registered with its new content it is as it was, but for this.
        let is_loading = now.state == InputState::Loading;
        if now.bytes_done >= row.bytes_done || is_loading && now.bytes_done >= to {
            return Ok(());
        }
    }
    let Some((content, length)) = world.of(row) else {
        // Nothing was ever read of it, so anything may take its place.
        return if row.captures == 0 {
            Ok(())
        } else {
            Err("no file ever had this content".to_owned())
        };
    };
    let goes_on = |now: &&LedgerRow| {
        let beginning = world.of(now);
        beginning.is_some_and(|(other, longer)| other == content && longer > length)
    };
    let was_there = |now: &LedgerRow| before.iter().any(|row| is_same(row, now));
    // Of inputs that come to have one content one is left: one that was there, one with another name, or the row of
    // another of them, which went on.
    let is_other = |now: &LedgerRow| {
        let mut gone = before.iter().filter(|other| {
            let is_gone = after.iter().all(|now| !is_same(now, other));
            let beginning = world.of(other);
            is_gone && !is_same(other, row) && beginning.is_some_and(|(other, _)| other == content)
        });
        gone.any(|other| now.bytes_done >= lowest(world, other))
    };
    // A new row of another file has the least name that its content has.
    let is_of_another_file = |now: &LedgerRow| {
        let mut files = world.files().iter();
        files.any(|(file, beginning)| Some(*beginning) == world.of(now) && stem(file) != name(row))
    };
    let is_merged = same.is_none()
        && after
            .iter()
            .filter(goes_on)
            .any(|now| was_there(now) || name(now) != name(row) || is_other(now) || is_of_another_file(now));
    // Where a longer file goes on with its row, a shorter one may begin anew.
    let has_gone_on = after
        .iter()
        .filter(goes_on)
        .any(|now| !was_there(now) && now.bytes_done >= to);
    match same {
        _ if is_merged || has_gone_on => Ok(()),
        Some(now) => Err(format!("it went back to {}", now.bytes_done)),
        None if row.captures == 0 => Ok(()),
        None => Err("it is gone, and nothing goes on from there".to_owned()),
    }
}

/// Whether two rows are of one content. An input that is digested while it is read has the digests of more and more of
/// it.
fn is_same(world: &World, one: &LedgerRow, other: &LedgerRow) -> bool {
    match (world.of(one), world.of(other)) {
        (None, None) => one.digest == other.digest,
        (one, other) => one == other,
    }
}

/// The name of an input, whether it was found in the folder or by itself, and whether more is to come or not.
fn name(row: &LedgerRow) -> &str {
    stem(row.input.strip_prefix("./").unwrap_or(&row.input))
}

/// The name of a file, whether more is to come or not.
fn stem(file: &str) -> &str {
    file.strip_suffix(".open").unwrap_or(file)
}

/// How far an input may be taken back because it goes on.
fn lowest(world: &World, row: &LedgerRow) -> u64 {
    let Some((content, length)) = world.of(row) else {
        return row.bytes_done;
    };
    let had_ended = matches!(row.state, InputState::Done | InputState::Failed { .. });
    let read = if had_ended { length } else { row.bytes_done };
    whole_part(world, (content, read)).min(row.bytes_done)
}
