//! Problems of the inputs of a load.
//!
//! The list of rows is bounded, and a package can have thousands of members that fail in the same
//! way. Their rows come last, so that they do not hide those of other inputs. Rows of inputs that
//! only keep another label come after those with losses, for the same reason.

use std::collections::{BTreeMap, HashSet};

use index::{InputId, InputState};

use crate::question::{FailedPackage, LedgerRow};

/// Limit of ledger rows listed as problems, and of packages.
const PROBLEMS_MAX: usize = 1000;

/// Number of failed members above which a package counts as a failed one.
const MEMBERS_MAX: u64 = 3;

/// What went wrong with the inputs of a load.
pub(super) struct Problems {
    /// Number of inputs with a loss.
    pub(super) inputs_with_losses: u64,
    /// Packages with many failed members; at most [`PROBLEMS_MAX`].
    pub(super) failed_packages: Vec<FailedPackage>,
    /// At most [`PROBLEMS_MAX`] rows; those of failed packages come last.
    pub(super) rows: Vec<LedgerRow>,
}

impl Problems {
    /// Collects the problems of the inputs of a load that gives this label, and of arguments that
    /// name nothing.
    pub(super) fn of(inputs: &[&(InputId, LedgerRow)], absent: &[LedgerRow], label: &str) -> Problems {
        let mut failed_packages = failed_packages(inputs);
        let mut reportable: Vec<&LedgerRow> = inputs
            .iter()
            .map(|(_, entry)| entry)
            .filter(|entry| is_reportable(entry) || keeps_label(entry, label))
            .collect();
        sort(&mut reportable, &failed_packages);
        let rows = absent.iter().chain(reportable).take(PROBLEMS_MAX);
        let rows = rows.map(|entry| entry.clone().without_reader_state()).collect();
        let with_losses = inputs.iter().filter(|(_, entry)| entry.has_losses()).count();
        failed_packages.truncate(PROBLEMS_MAX);
        Problems {
            inputs_with_losses: (absent.len() + with_losses) as u64,
            rows,
            failed_packages,
        }
    }
}

/// Sorts rows: losses first, members of failed packages last. The sort is stable.
fn sort(rows: &mut [&LedgerRow], failed_packages: &[FailedPackage]) {
    let packages: HashSet<&str> = failed_packages
        .iter()
        .map(|failed| failed.package.as_str())
        .collect();
    rows.sort_by_cached_key(|entry| {
        let has_failed = matches!(entry.state, InputState::Failed { .. });
        let package = entry.package_name().filter(|_| has_failed);
        let is_of_package = package.is_some_and(|name| packages.contains(name));
        (is_of_package, !entry.has_losses(), !is_reportable(entry))
    });
}

/// Returns whether an input has another label than the one that the load gives. Of a file that was
/// replaced, the load has read the new content.
pub(super) fn keeps_label(entry: &LedgerRow, label: &str) -> bool {
    !label.is_empty() && entry.collection != label && entry.missing.is_empty()
}

fn is_reportable(entry: &LedgerRow) -> bool {
    let has_ended = matches!(entry.state, InputState::Done | InputState::TakenDown);
    let is_whole = has_ended && entry.cut.is_empty();
    !is_whole || entry.quarantined > 0 || !entry.missing.is_empty()
}

/// Returns the packages of which many members failed, in the order of their names.
fn failed_packages(inputs: &[&(InputId, LedgerRow)]) -> Vec<FailedPackage> {
    let mut packages: BTreeMap<&str, FailedPackage> = BTreeMap::new();
    for (_, entry) in inputs {
        let InputState::Failed { reason } = &entry.state else {
            continue;
        };
        let Some(name) = entry.package_name() else {
            continue;
        };
        let package = packages.entry(name).or_insert_with(|| FailedPackage {
            package: name.to_owned(),
            members_failed: 0,
            reason: reason.clone(),
        });
        package.members_failed += 1;
    }
    packages
        .into_values()
        .filter(|package| package.members_failed > MEMBERS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_that_keep_another_label_do_not_hide_losses() {
        let known = |number: u32| {
            let row = LedgerRow {
                state: InputState::Done,
                ..LedgerRow::pending(&format!("{number}.warc"), "", "", 1, "spring")
            };
            (InputId(number), row)
        };
        let mut inputs: Vec<_> = (0..2000).map(known).collect();
        inputs.push(failed(2000, "other.warc"));
        let inputs: Vec<_> = inputs.iter().collect();
        let problems = Problems::of(&inputs, &[], "autumn");
        assert_eq!(problems.inputs_with_losses, 1);
        let names: Vec<_> = problems.rows.iter().map(|row| row.input.as_str()).collect();
        assert_eq!(
            (&names[..2], names.len()),
            (&["other.warc", "0.warc"][..], PROBLEMS_MAX)
        );
    }

    fn failed(number: u32, input: &str) -> (InputId, LedgerRow) {
        let reason = "no WARC or ARC record in it".to_owned();
        let row = LedgerRow {
            state: InputState::Failed { reason },
            ..LedgerRow::pending(input, "", "", 1, "")
        };
        (InputId(number), row)
    }

    #[test]
    fn the_members_of_a_bad_package_do_not_hide_other_failures() {
        let mut inputs: Vec<_> = (0..2000)
            .map(|number| failed(number, &format!("many.wacz#archive/{number}.warc")))
            .collect();
        inputs.push(failed(2000, "other.warc"));
        inputs.push(failed(2001, "few.wacz#archive/a.warc"));
        let inputs: Vec<_> = inputs.iter().collect();
        let problems = Problems::of(&inputs, &[failed(0, "absent.warc").1], "");
        assert_eq!(problems.inputs_with_losses, 2003);
        let packages = problems.failed_packages.iter();
        let packages: Vec<_> = packages
            .map(|package| (package.package.as_str(), package.members_failed))
            .collect();
        assert_eq!(packages, [("many.wacz", 2000)]);
        let names = problems.rows.iter().take(3).map(|row| row.input.as_str());
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["absent.warc", "other.warc", "few.wacz#archive/a.warc"]
        );
        assert_eq!(problems.rows.len(), PROBLEMS_MAX);
    }
}
