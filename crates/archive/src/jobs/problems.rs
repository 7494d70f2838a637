//! Problems of the inputs of a load.
//!
//! The list of rows is bounded, and a package can have thousands of members that fail in the same
//! way. Their rows come last, so that they do not hide those of other inputs.

use std::collections::BTreeMap;

use index::{InputId, InputState};

use crate::question::{FailedPackage, LedgerRow};

/// Limit of ledger rows listed as problems.
const PROBLEMS_MAX: usize = 1000;

/// Number of failed members above which a package counts as a failed one.
const MEMBERS_MAX: u64 = 3;

/// What went wrong with the inputs of a load.
pub(super) struct Problems {
    /// Number of inputs with a loss.
    pub(super) inputs_with_losses: u64,
    /// Packages with many failed members.
    pub(super) failed_packages: Vec<FailedPackage>,
    /// At most [`PROBLEMS_MAX`] rows; those of failed packages come last.
    pub(super) rows: Vec<LedgerRow>,
}

impl Problems {
    /// Collects the problems of the inputs of a load that gives this label, and of arguments that
    /// name nothing.
    pub(super) fn of(inputs: &[&(InputId, LedgerRow)], absent: &[LedgerRow], label: &str) -> Problems {
        let failed_packages = failed_packages(inputs);
        let reportable = inputs
            .iter()
            .map(|(_, entry)| entry)
            .filter(|entry| is_reportable(entry) || keeps_label(entry, label));
        let (of_packages, others): (Vec<&LedgerRow>, Vec<&LedgerRow>) =
            reportable.partition(|entry| failed_packages.iter().any(|package| package.has(entry)));
        let rows = absent.iter().chain(others).chain(of_packages).take(PROBLEMS_MAX);
        let with_losses = inputs.iter().filter(|(_, entry)| entry.has_losses()).count();
        Problems {
            inputs_with_losses: (absent.len() + with_losses) as u64,
            rows: rows.map(|entry| entry.clone().without_reader_state()).collect(),
            failed_packages,
        }
    }
}

/// Returns whether an input has another label than the one that the load gives.
pub(super) fn keeps_label(entry: &LedgerRow, label: &str) -> bool {
    !label.is_empty() && entry.collection != label
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
