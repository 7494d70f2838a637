//! Lists domains by name or by a count.
//!
//! By name, the list is read from the cursor on. No view is ordered by a count, so for such an
//! order all domains are read, and only as many are kept as the answer has rows. In both cases the
//! cursor names the last row, not a number of rows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use index::SnapshotError;

use super::basis::LookUps;
use super::cursor;
use super::limit::{clamp, page_of};
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;
use crate::question::{DomainOrder, DomainRow, Domains, DomainsBody};

/// A row's place in an order by count: the highest count first, then by name.
type Position = (Reverse<u64>, String);

pub(super) fn domains(basis: &LookUps<'_>, question: &Domains) -> Result<DomainsBody, AskError> {
    let (visible, after) = (&basis.visible(), question.after.as_deref());
    let limit = clamp(question.limit);
    let (rows, next) = match question.order {
        DomainOrder::Name => by_name(visible, after, limit)?,
        DomainOrder::Pages => by_count(visible, after, limit, |row| row.pages)?,
        DomainOrder::Inlinks => by_count(visible, after, limit, |row| row.inlinks_external)?,
    };
    Ok(DomainsBody { rows, next })
}

/// Rows, and the cursor after them if there are more.
type Rows = (Vec<DomainRow>, Option<String>);

fn by_name(visible: &VisibleSnapshot<'_>, after: Option<&str>, limit: usize) -> Result<Rows, AskError> {
    let after: Option<String> = cursor::decode(after)?;
    // One row more than the limit shows whether the list continues.
    let rows = visible.all_domains(after.as_deref()).take(limit + 1);
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    let next = page_of(&mut rows, limit, |row| cursor::encode(&row.domain));
    Ok((rows, next))
}

fn by_count(
    visible: &VisibleSnapshot<'_>,
    after: Option<&str>,
    limit: usize,
    count: fn(&DomainRow) -> u64,
) -> Result<Rows, AskError> {
    let after: Option<(u64, String)> = cursor::decode(after)?;
    let after: Option<Position> = after.map(|(count, name)| (Reverse(count), name));
    let mut rows = if visible.sees_everything() {
        best(visible.all_domains(None), after.as_ref(), limit + 1, count)?
    } else {
        best_seen(visible, after.as_ref(), limit + 1, count)?
    };
    let next = page_of(&mut rows, limit, |row| cursor::encode(&(count(row), &row.domain)));
    Ok((rows, next))
}

/// Returns the first `wanted` rows after `after`, in the order of their places.
fn best<E>(
    rows: impl Iterator<Item = Result<DomainRow, E>>,
    after: Option<&Position>,
    wanted: usize,
    count: fn(&DomainRow) -> u64,
) -> Result<Vec<DomainRow>, E> {
    let mut held: BTreeMap<Position, DomainRow> = BTreeMap::new();
    for row in rows {
        let row = row?;
        let place = (Reverse(count(&row)), row.domain.clone());
        if after.is_some_and(|after| place <= *after) {
            continue;
        }
        held.insert(place, row);
        if held.len() > wanted {
            held.pop_last();
        }
    }
    Ok(held.into_values().collect())
}

/// Like [`best`], for the visible part of each domain. A count of visible links or pages is never
/// greater than the total. So the domains are visited in the order of the totals, until the rest
/// cannot come before the rows already found.
fn best_seen(
    visible: &VisibleSnapshot<'_>,
    after: Option<&Position>,
    wanted: usize,
    count: fn(&DomainRow) -> u64,
) -> Result<Vec<DomainRow>, SnapshotError> {
    let place = |row: &DomainRow| (Reverse(count(row)), row.domain.clone());
    let mut all = visible.domains_at_most().collect::<Result<Vec<_>, _>>()?;
    all.sort_by_cached_key(place);
    let mut held: BTreeMap<Position, DomainRow> = BTreeMap::new();
    for row in all {
        if held.len() >= wanted
            && held
                .last_key_value()
                .is_none_or(|(worst, _)| *worst < place(&row))
        {
            break;
        }
        let Some(row) = visible.domain_seen(row)? else {
            continue;
        };
        if after.is_some_and(|after| place(&row) <= *after) {
            continue;
        }
        held.insert(place(&row), row);
        if held.len() > wanted {
            held.pop_last();
        }
    }
    Ok(held.into_values().collect())
}
