//! Finds trees that grew by more than a policy allows.

use catalogue::{Catalogue, Root};

use super::{GrownTree, Plan, PlanError};
use crate::path::path_of;
use crate::rules::Policy;

/// Lists the trees that have grown by more than a percentage since the last full scan before the
/// period, or else since the first scan.
pub(super) fn growth(
    catalogue: &Catalogue,
    policy: &Policy,
    trees: &[Root],
    more_than_percent: f64,
    within_ms: i64,
    now_ms: i64,
) -> Result<Plan, PlanError> {
    let scans = catalogue.scans()?;
    let mut grown = Vec::new();
    for tree in trees {
        let path = path_of(&tree.path);
        if !policy.scope.is_empty() && !policy.scope.contains(&path) {
            continue;
        }
        let whole = scans.iter().filter(|(_, scan)| {
            *scan.root == *tree.path && scan.below.is_empty() && scan.state == catalogue::ScanState::Done
        });
        let whole: Vec<_> = whole
            .map(|(_, scan)| (scan.ended_ms, scan.total.size_bytes))
            .collect();
        let from_ms = now_ms.saturating_sub(within_ms);
        let before = whole
            .iter()
            .rev()
            .find(|(at_ms, _)| *at_ms <= from_ms)
            .or(whole.first());
        let Some(&(at_ms, before)) = before else { continue };
        let size_bytes = tree.usage.size_bytes;
        let percent = (size_bytes - before) as f64 * 100.0 / before.max(1) as f64;
        if percent > more_than_percent {
            grown.push(GrownTree {
                path: tree.path.clone(),
                before: (before, at_ms),
                size_bytes,
                percent,
            });
        }
    }
    if let Some(path) = policy
        .scope
        .iter()
        .find(|path| !trees.iter().any(|tree| path_of(&tree.path) == **path))
    {
        return Err(PlanError::Unknown {
            policy: policy.name.clone(),
            path: path.clone(),
        });
    }
    Ok(Plan {
        cause: "due, or asked for".to_owned(),
        grown,
        ..Plan::default()
    })
}
