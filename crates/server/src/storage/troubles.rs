//! Problems of a store and what an administrator can do about them, as sentences.
//!
//! Invariants: if there is no problem here, the store is whole as far as its report shows. Each
//! problem is reported once, by the most precise source, and names the next step.

use store::upkeep::Census;
use store::{WorkerState, WorkerStatus};

use super::report::{NodeReport, StoreReport, VolumeCondition, VolumeReport};
use crate::present;

/// Maximum age of a census that counts as current, in milliseconds.
const FRESH_MS: u64 = 60_000;

/// Maximum number of objects that a sentence names.
const NAMED_MAX: usize = 3;

impl StoreReport {
    /// Returns all problems that need an administrator, with the next step. Empty if there are
    /// none.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        troubles.extend(self.too_few_volumes());
        troubles.extend(self.nodes.iter().filter_map(NodeReport::trouble));
        troubles.extend(self.volumes.iter().filter_map(|volume| self.state(volume)));
        troubles.extend(self.volumes.iter().filter_map(VolumeReport::damage));
        if let Some(census) = &self.census {
            self.counted(census, &mut troubles);
        }
        troubles.extend(self.nodes.iter().flat_map(NodeReport::work));
        troubles
    }

    fn too_few_volumes(&self) -> Option<String> {
        self.replicas_asked.map(|asked| {
            format!(
                "layout {} requires {asked} copies of every object, but only {} {} a weight above 0: new \
                 objects have {}; give another volume a weight, or reduce the number of copies (weft store \
                 layout plan)",
                self.layout,
                present::counted(u64::from(self.replicas), "volume", "volumes"),
                if self.replicas == 1 { "has" } else { "have" },
                present::counted(u64::from(self.replicas), "copy", "copies"),
            )
        })
    }

    fn state(&self, volume: &VolumeReport) -> Option<String> {
        let VolumeReport { id, node, .. } = volume;
        let what = match volume.problem.as_str() {
            "" => format!("volume {id} is {}", volume.state),
            problem => format!("volume {id} is {}: {problem}", volume.state),
        };
        match volume.state {
            VolumeCondition::Out => Some(format!(
                "{what}; check the disk; if the volume does not come back by itself, restart node {node}"
            )),
            VolumeCondition::Unreachable if self.answers(node) => Some(format!(
                "{what}; add it to the node and restart the node, or remove it from the layout (weft store \
                 layout plan)"
            )),
            // The node itself is already reported.
            VolumeCondition::Unreachable => None,
            VolumeCondition::Rebuilding => Some(format!(
                "{what}: some of its replicas are still missing; weft store repair repairs them now"
            )),
            _ if volume.is_full() => Some(format!(
                "volume {id} is full; free space on it, or add a volume (weft store layout plan)"
            )),
            _ => None,
        }
    }

    fn answers(&self, id: &str) -> bool {
        self.nodes.iter().any(|node| node.id == id && node.reachable)
    }

    fn counted(&self, census: &Census, troubles: &mut Vec<String>) {
        let age = age(self.time_ms.saturating_sub(census.time_ms));
        let mut say = |number: u64, one: &str, many: &str, next: &str| {
            let (subject, verb) = if number == 1 { (one, "is") } else { (many, "are") };
            if number > 0 {
                let number = present::count(number);
                troubles.push(format!("{number} {subject} {verb} {next}{age}"));
            }
        };
        let lost = format!(
            "lost: some blocks are damaged in every replica{}",
            names(&census.lost)
        );
        say(
            census.objects_lost,
            "object",
            "objects",
            &format!("{lost}; bring back a volume that held a replica, or put the object again"),
        );
        let conflict = format!(
            "in conflict: good replicas differ in their digest{}",
            names(&census.conflicting)
        );
        say(
            census.conflicts,
            "object",
            "objects",
            &format!("{conflict}; all are kept: put the correct object again"),
        );
        let known_bad: u64 = self.volumes.iter().map(|volume| volume.bad).sum();
        let wanting = if self.layouts_older.is_empty() {
            "missing where the layout requires a copy; weft store repair copies or moves what it can"
        } else {
            "missing where the new layout requires a copy; data is moving, weft store repair moves it now"
        };
        // Volumes include entries with a missing file in their count of bad replicas.
        let files_known = known_bad
            .saturating_sub(census.replicas_bad)
            .min(census.files_missing);
        let missing = census.replicas_missing.saturating_sub(files_known);
        say(missing, "replica", "replicas", wanting);
        say(
            if known_bad == 0 { census.replicas_bad } else { 0 },
            "replica",
            "replicas",
            "bad; run weft store repair",
        );
        say(
            census.strays,
            "file",
            "files",
            "not part of any object; weft store repair moves strays aside",
        );
        let is_said = |silent: &&String| {
            let away = |volume: &&VolumeReport| !volume.state.takes_part();
            let mut away = self.volumes.iter().filter(away);
            away.any(|volume| silent.contains(&volume.id))
        };
        let silent = census.volumes_unreachable.iter();
        troubles.extend(
            silent
                .filter(|silent| !is_said(silent))
                .map(|silent| format!("the census got no response from volume {silent}{age}")),
        );
    }
}

impl NodeReport {
    fn trouble(&self) -> Option<String> {
        let Self { id, problem, .. } = self;
        let told = format!("node {id} cannot be reached: ");
        let problem = problem.strip_prefix(&told).unwrap_or(problem);
        let colon = if problem.is_empty() { "" } else { ": " };
        (!self.reachable).then(|| {
            format!(
                "node {id} does not respond{colon}{problem}; start it, or remove it from the layout if it \
                 is gone for good"
            )
        })
    }

    /// Returns workers that are stuck, and repairs that failed and will be retried.
    fn work(&self) -> Vec<String> {
        let say = |worker: &WorkerStatus| {
            let WorkerStatus { name, last_error, .. } = worker;
            if let WorkerState::Failed(_) = worker.state {
                return Some(format!("{name} on node {} has {}", self.id, worker.state));
            }
            let waiting = worker.total.unwrap_or(0).saturating_sub(worker.done);
            let is_stuck = name == "repair" && waiting > 0 && !last_error.is_empty();
            is_stuck.then(|| {
                format!(
                    "{} repairs on node {} are waiting for a retry; last failure: {last_error}",
                    present::count(waiting),
                    self.id
                )
            })
        };
        self.workers.iter().filter_map(say).collect()
    }
}

impl VolumeReport {
    /// Returns whether there is no space for content. A drained volume needs none.
    fn is_full(&self) -> bool {
        self.capacity_bytes > 0 && self.free_bytes == 0 && self.weight > 0
    }

    fn damage(&self) -> Option<String> {
        let replicas = if self.bad == 1 { "replica" } else { "replicas" };
        (self.bad > 0).then(|| {
            format!(
                "volume {} has {} bad {replicas} (damaged or missing); run weft store repair",
                self.id,
                present::count(self.bad)
            )
        })
    }
}

/// Returns the age of the census, if it is worth mentioning.
fn age(ms: u64) -> String {
    if ms < FRESH_MS {
        return String::new();
    }
    format!(" (counted {} ago)", present::span(ms))
}

/// Returns the first objects, in brackets.
fn names(objects: &[String]) -> String {
    if objects.is_empty() {
        return String::new();
    }
    let more = if objects.len() > NAMED_MAX { ", ..." } else { "" };
    let first: Vec<&str> = objects.iter().take(NAMED_MAX).map(String::as_str).collect();
    format!(" ({}{more})", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn well() -> StoreReport {
        let volume = |id: &str| VolumeReport {
            id: id.into(),
            node: "n1".into(),
            weight: 1,
            capacity_bytes: 100,
            free_bytes: 50,
            ..VolumeReport::default()
        };
        StoreReport {
            time_ms: 1_000_000,
            nodes: vec![NodeReport {
                id: "n1".into(),
                reachable: true,
                ..NodeReport::default()
            }],
            volumes: vec![volume("n1/a"), volume("n1/b")],
            census: Some(Census {
                time_ms: 1_000_000,
                ..Census::default()
            }),
            ..StoreReport::default()
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut StoreReport), said: &[&str]) {
        let mut report = well();
        change(&mut report);
        let troubles = report.troubles();
        assert_eq!(troubles.len(), said.len(), "{troubles:#?}");
        for (trouble, said) in troubles.iter().zip(said) {
            assert!(trouble.contains(said), "{said} is not in {trouble}");
        }
    }

    fn census(report: &mut StoreReport) -> &mut Census {
        report.census.get_or_insert_default()
    }

    #[test]
    fn each_trouble_is_said_once() {
        check(|_| {}, &[]);
        check(|report| report.census = None, &[]);
        check(
            |report| {
                let node = &mut report.nodes[0];
                (node.reachable, node.problem) = (false, "node n1 cannot be reached: refused".into());
                report.volumes[0].state = VolumeCondition::Unreachable;
            },
            &["node n1 does not respond: refused; start it"],
        );
        check(
            |report| (report.layout, report.replicas, report.replicas_asked) = (3, 1, Some(2)),
            &[
                "layout 3 requires 2 copies of every object, but only 1 volume has a weight above 0: new objects have 1 copy;",
            ],
        );
        check(
            |report| report.volumes[0].free_bytes = 0,
            &["volume n1/a is full; free space on it"],
        );
        check(
            |report| (report.volumes[0].free_bytes, report.volumes[0].weight) = (0, 0),
            &[],
        );
        check(
            |report| {
                report.volumes[1].bad = 1;
                census(report).replicas_bad = 1;
            },
            &["volume n1/b has 1 bad replica (damaged or missing); run weft store repair"],
        );
        check(
            |report| {
                report.volumes[1].bad = 2;
                let census = census(report);
                (census.replicas_bad, census.replicas_missing, census.files_missing) = (1, 1, 1);
            },
            &["volume n1/b has 2 bad replicas"],
        );
        check(
            |report| {
                report.volumes[0].state = VolumeCondition::Out;
                report.volumes[0].problem = "sync failed".into();
                census(report).volumes_unreachable = vec!["n1/a".into()];
            },
            &[
                "volume n1/a is out: sync failed; check the disk; if the volume does not come back by itself, restart node n1",
            ],
        );
    }

    #[test]
    fn what_a_census_counted_is_said_with_its_age() {
        check(
            |report| {
                report.time_ms += 7_200_000;
                let census = census(report);
                (census.objects_lost, census.lost) = (1, vec!["b/x".into()]);
                (census.replicas_missing, census.replicas_bad, census.strays) = (2, 1, 1);
            },
            &[
                "1 object is lost: some blocks are damaged in every replica (b/x); bring back",
                "2 replicas are missing where the layout requires a copy; weft store repair copies or moves what it can (counted 2 h 00 min ago)",
                "1 replica is bad",
                "1 file is not part of any object",
            ],
        );
    }

    #[test]
    fn failed_repairs_that_wait_are_a_trouble_and_those_made_good_are_none() {
        let repair = |done| WorkerStatus {
            name: "repair".into(),
            done,
            total: Some(3),
            last_error: "b/x: volume n1/b is full".into(),
            ..WorkerStatus::default()
        };
        check(
            |report| report.nodes[0].workers = vec![repair(1)],
            &["2 repairs on node n1 are waiting for a retry; last failure: b/x: volume n1/b is full"],
        );
        check(|report| report.nodes[0].workers = vec![repair(3)], &[]);
    }
}
