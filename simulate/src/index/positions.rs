//! Checks that positions never go back: a ledger state that a reader has seen is never undone,
//! whatever happens.
//!
//! Three events move an input back, up to a bound. A truncated input that grows goes back to the
//! end of its last complete record. An input that grows before it was read to its end goes back to
//! the first of its last responses, whose requests may have arrived. A forgotten input loses its
//! row.

use archive::question::{InputState, LedgerRow};

use super::expected::whole_part;
use super::world::World;

/// Compares an earlier state of the ledger with a later one. `forgotten` are the names of inputs
/// requested to be forgotten in between.
pub(super) fn never_back(
    world: &World,
    before: &[LedgerRow],
    after: &[LedgerRow],
    forgotten: &[String],
) -> Result<(), String> {
    before.iter().try_for_each(|row| {
        check(world, row, before, after, forgotten)
            .map_err(|what| format!("{} was seen, but later {what}; {}", row_told(row), told(after)))
    })
}

/// Formats rows.
pub(super) fn told(rows: &[LedgerRow]) -> String {
    let rows: Vec<String> = rows.iter().map(row_told).collect();
    format!("the ledger now has\n  {}", rows.join("\n  "))
}

/// Formats a row.
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
    // If it was loaded again after that, it starts from zero.
    if is_forgotten {
        return Ok(());
    }
    let to = lowest(world, row);
    let is_same = |one: &LedgerRow, other: &LedgerRow| is_same(world, one, other);
    // There may be another row of the same content that was never read.
    let same = after.iter().filter(|now| is_same(now, row));
    let same = same.max_by_key(|now| now.bytes_done);
    if let Some(now) = same {
        // It was moved back, but is not registered with its new content yet.
        let is_loading = now.state == InputState::Loading;
        if now.bytes_done >= row.bytes_done || is_loading && now.bytes_done >= to {
            return Ok(());
        }
    }
    let Some((content, length)) = world.of(row) else {
        // It was never read, so anything may replace it.
        return if row.captures == 0 {
            Ok(())
        } else {
            Err("no file has ever had this content".to_owned())
        };
    };
    let goes_on = |now: &&LedgerRow| {
        let beginning = world.of(now);
        beginning.is_some_and(|(other, longer)| other == content && longer > length)
    };
    let was_there = |now: &LedgerRow| before.iter().any(|row| is_same(row, now));
    // If several inputs end up with the same content, one row remains: one that existed before, one
    // with another name, or the row of another of these inputs that grew.
    let is_other = |now: &LedgerRow| {
        let mut gone = before.iter().filter(|other| {
            let is_gone = after.iter().all(|now| !is_same(now, other));
            let beginning = world.of(other);
            is_gone && !is_same(other, row) && beginning.is_some_and(|(other, _)| other == content)
        });
        gone.any(|other| now.bytes_done >= lowest(world, other))
    };
    // A new row of another file has the smallest name of its content.
    let is_of_another_file = |now: &LedgerRow| {
        let mut files = world.files().iter();
        files.any(|(file, beginning)| Some(*beginning) == world.of(now) && stem(file) != name(row))
    };
    let is_merged = same.is_none()
        && after
            .iter()
            .filter(goes_on)
            .any(|now| was_there(now) || name(now) != name(row) || is_other(now) || is_of_another_file(now));
    // If a longer file continues with the row, a shorter one may start from zero.
    let has_gone_on = after
        .iter()
        .filter(goes_on)
        .any(|now| !was_there(now) && now.bytes_done >= to);
    match same {
        _ if is_merged || has_gone_on => Ok(()),
        Some(now) => Err(format!("it went back to {}", now.bytes_done)),
        None if row.captures == 0 => Ok(()),
        None => Err("it is gone, and no row continues from there".to_owned()),
    }
}

/// Returns whether two rows have the same content. An input that is hashed while it is read has the
/// digests of longer and longer prefixes.
fn is_same(world: &World, one: &LedgerRow, other: &LedgerRow) -> bool {
    match (world.of(one), world.of(other)) {
        (None, None) => one.digest == other.digest,
        (one, other) => one == other,
    }
}

/// Returns the name of an input, without the folder prefix and the suffix of open files.
fn name(row: &LedgerRow) -> &str {
    stem(row.input.strip_prefix("./").unwrap_or(&row.input))
}

/// Returns the name of a file without the suffix of open files.
fn stem(file: &str) -> &str {
    file.strip_suffix(".open").unwrap_or(file)
}

/// Returns how far an input may be moved back because it grows.
fn lowest(world: &World, row: &LedgerRow) -> u64 {
    let Some((content, length)) = world.of(row) else {
        return row.bytes_done;
    };
    let had_ended = matches!(row.state, InputState::Done | InputState::Failed { .. });
    let read = if had_ended { length } else { row.bytes_done };
    whole_part(world, (content, read)).min(row.bytes_done)
}
