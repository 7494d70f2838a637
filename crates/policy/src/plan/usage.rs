//! Triggers by usage: of a plan is left what is needed to come from above `high` to `low`.

use std::path::Path;

use files::{Catalogue, Place, Root};
use rustc_hash::FxHashMap;

use super::{Plan, PlanError, path_of};
use crate::rules::{Level, Policy, Usage, UsageOf};

/// Leaves of the plan what is needed to come from above `high` to `low`.
pub(super) fn until_free(
    catalogue: &Catalogue,
    policy: &Policy,
    usage: &Usage,
    directories: &[(&Root, Vec<u8>)],
    plan: &mut Plan,
) -> Result<(), PlanError> {
    // What is too much, by file system, owner, or for all.
    let mut excess: FxHashMap<u64, i64> = FxHashMap::default();
    let mut causes = Vec::new();
    match usage.of {
        UsageOf::Volume => {
            for (_, path) in directories {
                let room = |source| PlanError::Room {
                    policy: policy.name.clone(),
                    path: path_of(path),
                    source,
                };
                let mut probe = path.clone();
                files::join(&mut probe, b"x");
                let (total, free) = Place::open(&probe).and_then(|place| place.room()).map_err(room)?;
                let volume = catalogue.locate(Path::new(&path_of(path)))?;
                let volume = volume.map_or(0, |found| u64::from(found.attributes.id.volume));
                let (total, free) = (total as i64, free as i64);
                let used = total - free;
                let level = |level: Level| match level {
                    Level::Percent(percent) => (total as f64 * percent / 100.0) as i64,
                    Level::Number(bytes) => bytes,
                };
                if used >= level(usage.high) {
                    excess.insert(volume, used - level(usage.low));
                    let percent = used as f64 * 100.0 / (total.max(1)) as f64;
                    causes.push(format!(
                        "the file system of {} is {percent:.1}% full",
                        path_of(path).display()
                    ));
                }
            }
        }
        UsageOf::Owner => {
            let mut owners: FxHashMap<u32, i64> = FxHashMap::default();
            for (group, sums) in catalogue.groups()? {
                *owners.entry(group.uid).or_default() += sums.size_bytes;
            }
            for (uid, used) in owners {
                if let (Level::Number(high), Level::Number(low)) = (usage.high, usage.low)
                    && used >= high
                {
                    excess.insert(u64::from(uid), used - low);
                    causes.push(format!("user {uid} has {used} bytes"));
                }
            }
        }
        UsageOf::Count => {
            let entries: i64 = directories.iter().map(|(tree, _)| tree.usage.entries).sum();
            if let (Level::Number(high), Level::Number(low)) = (usage.high, usage.low)
                && entries >= high
            {
                excess.insert(0, entries - low);
                causes.push(format!("there are {entries} entries"));
            }
        }
    }
    causes.sort();
    plan.cause = match causes.is_empty() {
        true => "less is used than the trigger says".to_owned(),
        false => causes.join(", "),
    };
    plan.items.retain(|item| {
        let file = &item.file;
        let (key, frees) = match usage.of {
            // What has other names takes its room as before.
            UsageOf::Volume if file.links > 1 => (u64::from(file.id.volume), 0),
            UsageOf::Volume => (u64::from(file.id.volume), file.blocks.saturating_mul(512)),
            UsageOf::Owner => (u64::from(file.uid), file.size_bytes),
            UsageOf::Count => (0, 1),
        };
        match excess.get_mut(&key) {
            Some(left) if *left > 0 && frees > 0 => {
                *left = left.saturating_sub_unsigned(frees);
                true
            }
            _ => false,
        }
    });
    Ok(())
}
