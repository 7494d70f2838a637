//! Decides what to do about a partition: a pure function of the gathered state.
//!
//! For every key the newest version anywhere decides, whatever its state: a bad replica or an entry
//! without its file proves that the version existed. "Home" is the R volumes of the partition by
//! the current layout:
//!  1. good replicas of the newest version with different digests: a conflict; nothing is changed;
//!  2. no good replica of a live newest version: torn, or lost if some blocks are known bad in all
//!     replicas; bad replicas are then only read once more. An older good version is never used;
//!  3. a home volume without a good replica gets a copy, from good ones; blocks that are right in
//!     no good replica come from bad ones;
//!  4. for a home volume that is full, or away longer than the grace time, a stand-in elsewhere;
//!  5. if every volume in force answered, there are as many home volumes as requested copies, and
//!     all will hold the newest version, they are verified; then all other replicas are dropped;
//!  6. a tombstone on home volumes only is collected once it is old enough, no older layout is in
//!     force and the partition has no stray files (one of them could be an older version).

use std::collections::{BTreeMap, BTreeSet};

use store_protocol::{BlockSet, Cause, Key, ReplicaState, SurveyEntry, Version, VolumeId};

use super::gather::VolumeReports;

/// Inputs of the decision, in addition to the gathered state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// Age in milliseconds from which a tombstone may be collected.
    pub tombstone_grace_ms: u64,
}

/// Everything to be done about a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Every key found, in order of keys.
    pub findings: Vec<Finding>,
    /// Files that belong to no replica and must be settled: volume and path.
    pub strays: Vec<(VolumeId, String)>,
}

/// The state of one key, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The object.
    pub key: Key,
    /// Its newest version anywhere.
    pub version: Version,
    /// Whether that version is a tombstone.
    pub deleted: bool,
    /// Its size in bytes, as far as known.
    pub size: u64,
    /// Volumes with a good replica of it.
    pub good: Vec<VolumeId>,
    /// Number of good replicas on home volumes.
    pub good_home: u64,
    /// Number of bad replicas of it, anywhere.
    pub bad: u64,
    /// Home volumes that lack it or are away, and requested copies that have no home volume.
    pub missing: u64,
    /// Its index entries without a file, on home volumes.
    pub files_missing: u64,
    /// Good replicas that do not belong: its own on other volumes, and older versions anywhere.
    pub surplus: u64,
    /// State of the object.
    pub state: ObjectState,
    /// What to do, in this order. Later steps depend on earlier ones.
    pub steps: Vec<Step>,
}

/// State of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectState {
    /// There is a good replica of the newest version.
    Safe,
    /// There is no good replica, but as far as is known each block is intact in some replica. The
    /// text lists the findings.
    Torn(String),
    /// There is no good replica, and none can be made. The text names the bytes that are right in
    /// no replica.
    Lost(String),
    /// Good replicas disagree. The text gives their digests.
    Conflict(String),
}

/// One step. All steps of a finding concern its key, and its newest version unless stated
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a replica.
    Copy(Copy),
    /// Verify a replica against its digests.
    Verify {
        /// The volume of the replica.
        on: VolumeId,
        /// Why.
        cause: Cause,
        /// The known bad blocks. If the read finds others, the plan is decided again.
        known: Option<BlockSet>,
    },
    /// Remove a replica that does not belong, after all of `home` were verified or made in this
    /// run.
    Drop {
        /// The volume of the replica.
        on: VolumeId,
        /// The newest version, or an older one.
        version: Version,
        /// The volumes that must certainly hold the newest version.
        home: Vec<VolumeId>,
    },
    /// Remove the tombstone everywhere, after all home volumes were verified to hold it.
    Collect {
        /// The home volumes, the only ones that hold it.
        home: Vec<VolumeId>,
    },
}

/// A replica to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The target volume.
    pub to: VolumeId,
    /// Source volumes, best first.
    pub from: Vec<VolumeId>,
    /// Bad replicas, read for the blocks that are right in no replica of `from`.
    pub torn: Vec<VolumeId>,
    /// The target's present state.
    pub replaces: Replaces,
    /// BLAKE3 that the content must have, in hexadecimal. Empty if no replica knows it (a
    /// tombstone's entry).
    pub blake3: String,
    /// Why.
    pub cause: Cause,
}

/// What a copy replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaces {
    /// No replica, or one of an older version. If the version arrives there in the meantime, the
    /// step is done.
    Nothing,
    /// A bad replica.
    Bad,
    /// An entry without its file.
    NoFile,
}

/// Decides about a whole partition, or about one key of it.
pub fn decide(found: &VolumeReports, rules: &Rules) -> Plan {
    let mut keys: BTreeMap<&Key, Vec<Entry<'_>>> = BTreeMap::new();
    let mut strays = Vec::new();
    for (volume, surveyed) in &found.volumes {
        for item in surveyed {
            if let SurveyEntry::Stray { path, .. } = item {
                strays.push((volume.clone(), path.clone()));
            } else if let Some((key, entry)) = Entry::of(volume, item) {
                keys.entry(key).or_default().push(entry);
            }
        }
    }
    let has_strays = !strays.is_empty();
    let findings = keys
        .into_iter()
        .filter_map(|(key, entries)| Case::new(found, rules, has_strays, key, entries))
        .map(|case| case.finding())
        .collect();
    Plan { findings, strays }
}

impl Plan {
    /// Returns whether every object is whole and in its place, and there are no strays: nothing to
    /// do.
    pub fn is_quiet(&self) -> bool {
        let quiet = |finding: &Finding| finding.is_whole() && finding.steps.is_empty();
        self.strays.is_empty() && self.findings.iter().all(quiet)
    }
}

impl Finding {
    /// Returns whether every home volume has a good replica, and nothing is bad, lost or in
    /// conflict.
    pub fn is_whole(&self) -> bool {
        self.state == ObjectState::Safe && self.missing + self.bad == 0
    }
}

/// One replica or entry of a key.
#[derive(Clone, Copy)]
struct Entry<'a> {
    volume: &'a VolumeId,
    version: Version,
    deleted: bool,
    size: u64,
    blake3: &'a str,
    kind: Kind,
    bad_blocks: Option<&'a BlockSet>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Good,
    Bad,
    NoFile,
}

impl<'a> Entry<'a> {
    /// Returns the key and entry of a survey's item, or `None` for a stray.
    fn of(volume: &'a VolumeId, item: &'a SurveyEntry) -> Option<(&'a Key, Self)> {
        match item {
            SurveyEntry::Replica {
                key,
                version,
                deleted,
                size,
                blake3,
                state,
                bad_blocks,
            } => {
                let kind = match state {
                    ReplicaState::Good => Kind::Good,
                    ReplicaState::Bad(_) => Kind::Bad,
                };
                Some((
                    key,
                    Self {
                        volume,
                        version: *version,
                        deleted: *deleted,
                        size: *size,
                        blake3,
                        kind,
                        bad_blocks: bad_blocks.as_ref(),
                    },
                ))
            }
            SurveyEntry::FileMissing {
                key,
                version,
                deleted,
            } => {
                let (version, deleted, kind) = (*version, *deleted, Kind::NoFile);
                Some((
                    key,
                    Self {
                        volume,
                        version,
                        deleted,
                        size: 0,
                        blake3: "",
                        kind,
                        bad_blocks: None,
                    },
                ))
            }
            SurveyEntry::Stray { .. } => None,
        }
    }

    /// Returns the properties that good replicas of one version must share. A tombstone's digest is
    /// left out.
    fn identity(&self) -> (bool, u64, &str) {
        (
            self.deleted,
            self.size,
            if self.deleted { "" } else { self.blake3 },
        )
    }
}

/// Everything found about one key.
struct Case<'a> {
    found: &'a VolumeReports,
    rules: &'a Rules,
    has_strays: bool,
    key: &'a Key,
    /// Entries of the newest version; never empty.
    newest: Vec<Entry<'a>>,
    /// Entries of older versions.
    older: Vec<Entry<'a>>,
    version: Version,
    /// Whether it is a tombstone, according to a good replica, or, without one, to every remaining
    /// entry.
    deleted: bool,
}

impl<'a> Case<'a> {
    fn new(
        found: &'a VolumeReports,
        rules: &'a Rules,
        has_strays: bool,
        key: &'a Key,
        entries: Vec<Entry<'a>>,
    ) -> Option<Self> {
        let version = entries.iter().map(|entry| entry.version).max()?;
        let (newest, older): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.version == version);
        let good = newest.iter().find(|entry| entry.kind == Kind::Good);
        let deleted = good.map_or_else(|| newest.iter().all(|entry| entry.deleted), |good| good.deleted);
        Some(Self {
            found,
            rules,
            has_strays,
            key,
            newest,
            older,
            version,
            deleted,
        })
    }

    fn finding(&self) -> Finding {
        let state = self.state();
        let steps = match state {
            ObjectState::Conflict(_) => Vec::new(),
            ObjectState::Lost(_) => self.second_looks(),
            ObjectState::Torn(_) => self.joins(),
            ObjectState::Safe => self.steps(),
        };
        let home = |entry: &&Entry<'_>| self.is_home(entry.volume);
        let good_home = self.of(Kind::Good).filter(home).count() as u64;
        let bad_home = self.of(Kind::Bad).filter(home).count() as u64;
        let older_good = self.older.iter().filter(|entry| entry.kind == Kind::Good);
        Finding {
            key: self.key.clone(),
            version: self.version,
            deleted: self.deleted,
            size: self.newest.iter().map(|entry| entry.size).max().unwrap_or(0),
            good: self.of(Kind::Good).map(|entry| entry.volume.clone()).collect(),
            good_home,
            bad: self.of(Kind::Bad).count() as u64,
            missing: (self.found.wanted() as u64).saturating_sub(good_home + bad_home),
            files_missing: self.of(Kind::NoFile).filter(home).count() as u64,
            surplus: self
                .of(Kind::Good)
                .filter(|entry| !self.is_home(entry.volume))
                .count() as u64
                + older_good.count() as u64,
            state,
            steps,
        }
    }

    fn state(&self) -> ObjectState {
        let good: Vec<_> = self.of(Kind::Good).collect();
        let identities: BTreeSet<_> = good.iter().map(|entry| entry.identity()).collect();
        if identities.len() > 1 {
            let says =
                |entry: &&Entry<'_>| format!("{}: {} bytes {}", entry.volume, entry.size, entry.blake3);
            return ObjectState::Conflict(good.iter().map(says).collect::<Vec<_>>().join("; "));
        }
        if !good.is_empty() || self.deleted {
            return ObjectState::Safe;
        }
        let says = |entry: &Entry<'_>| match entry.kind {
            Kind::NoFile => format!("{}: no file", entry.volume),
            Kind::Good | Kind::Bad => format!("{}: bad", entry.volume),
        };
        let what = self.newest.iter().map(says).collect::<Vec<_>>().join("; ");
        match self.lost_everywhere() {
            None => ObjectState::Torn(format!("version {}: {what}", self.version)),
            Some(nowhere) => ObjectState::Lost(format!("version {}: {nowhere}; {what}", self.version)),
        }
    }

    /// Returns the bytes known to be bad in every replica, as text, if there is no good replica.
    fn lost_everywhere(&self) -> Option<String> {
        let mut bad = self.of(Kind::Bad);
        let Some(first) = bad.next() else {
            return Some("no volume has a file".to_owned());
        };
        if self
            .of(Kind::Bad)
            .any(|entry| entry.identity() != first.identity())
        {
            return Some("the bad replicas have different digests".to_owned());
        }
        // If a replica's bad blocks are not known, any of its blocks may be right.
        let mut nowhere = first.bad_blocks?.clone();
        for entry in bad {
            nowhere = nowhere.shared_with(entry.bad_blocks?);
        }
        let text = || format!("{} have no intact replica", nowhere.bytes_text(first.size));
        (!nowhere.is_empty()).then(text)
    }

    /// Returns steps that make a whole replica of bad ones. Replicas whose bad blocks are not known
    /// are read completely first, because one may be good.
    fn joins(&self) -> Vec<Step> {
        let known = self.of(Kind::Bad).all(|entry| entry.bad_blocks.is_some());
        let looks = if known { Vec::new() } else { self.second_looks() };
        looks.into_iter().chain(self.copies()).collect()
    }

    /// Returns steps that read bad replicas again, because a temporary disk error may have marked
    /// one.
    fn second_looks(&self) -> Vec<Step> {
        self.of(Kind::Bad)
            .map(|entry| Step::Verify {
                on: entry.volume.clone(),
                cause: Cause::Repair,
                known: entry.bad_blocks.cloned(),
            })
            .collect()
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = self.copies();
        // With fewer home volumes than requested copies, a replica elsewhere may be the only other
        // one.
        let can_drop = self.found.away.is_empty() && self.has_enough_homes();
        let drops = if can_drop { self.drops() } else { Vec::new() };
        let collect = drops.is_empty() && steps.is_empty() && self.is_collectable();
        if !drops.is_empty() || collect {
            steps.extend(self.found.home.iter().map(|on| Step::Verify {
                on: on.clone(),
                cause: Cause::Rebalance,
                known: None,
            }));
        }
        steps.extend(drops);
        if collect {
            steps.push(Step::Collect {
                home: self.found.home.clone(),
            });
        }
        steps
    }

    fn copies(&self) -> Vec<Step> {
        let lacking = self
            .found
            .home
            .iter()
            .filter(|volume| self.can_take(volume) && !self.has_good(volume));
        lacking.chain(self.stand_ins()).map(|to| self.copy(to)).collect()
    }

    /// Returns volumes that hold copies in place of home volumes that are full or away for long.
    fn stand_ins(&self) -> impl Iterator<Item = &VolumeId> {
        let away_long = |volume| self.found.away.get(volume).is_some_and(|away| away.long);
        let no_room = |volume| self.found.full.contains(volume) && !self.has_good(volume);
        let wanting = self
            .found
            .home
            .iter()
            .filter(|volume| away_long(*volume) || no_room(*volume));
        let elsewhere = self.of(Kind::Good).filter(|entry| !self.is_home(entry.volume));
        let number = wanting.count().saturating_sub(elsewhere.count());
        let fallbacks = self.found.fallbacks.iter();
        fallbacks
            .filter(|volume| self.can_take(volume) && !self.is_home(volume) && !self.has_good(volume))
            .take(number)
    }

    fn copy(&self, to: &VolumeId) -> Step {
        let there = self.newest.iter().find(|entry| entry.volume == to);
        let replaces = match there.map(|entry| entry.kind) {
            None | Some(Kind::Good) => Replaces::Nothing,
            Some(Kind::Bad) => Replaces::Bad,
            Some(Kind::NoFile) => Replaces::NoFile,
        };
        let moving =
            replaces == Replaces::Nothing && self.of(Kind::Good).any(|entry| !self.is_home(entry.volume));
        let digests = self.of(Kind::Good).chain(self.of(Kind::Bad));
        let digest = digests.map(|entry| entry.blake3).next();
        let torn = self.of(Kind::Bad).filter(|_| !self.deleted);
        Step::Copy(Copy {
            to: to.clone(),
            from: self.sources(),
            torn: torn.map(|entry| entry.volume.clone()).collect(),
            replaces,
            blake3: digest.unwrap_or_default().to_owned(),
            cause: if moving { Cause::Rebalance } else { Cause::Repair },
        })
    }

    /// Returns the good replicas, home first. For a tombstone also index entries, which describe it
    /// completely.
    fn sources(&self) -> Vec<VolumeId> {
        let home = self.found.home.iter().filter(|volume| self.has_good(volume));
        let others = self
            .of(Kind::Good)
            .map(|entry| entry.volume)
            .filter(|volume| !self.is_home(volume));
        let entries = self
            .newest
            .iter()
            .filter(|entry| self.deleted && entry.kind != Kind::Good);
        home.chain(others)
            .chain(entries.map(|entry| entry.volume))
            .cloned()
            .collect()
    }

    /// Returns steps that drop everything that does not belong: the newest version away from home,
    /// and older ones anywhere.
    fn drops(&self) -> Vec<Step> {
        let surplus = self.newest.iter().filter(|entry| !self.is_home(entry.volume));
        surplus
            .chain(&self.older)
            .map(|entry| Step::Drop {
                on: entry.volume.clone(),
                version: entry.version,
                home: self.found.home.clone(),
            })
            .collect()
    }

    fn is_collectable(&self) -> bool {
        let age_ms = self.rules.now_ms.saturating_sub(self.version.millis);
        self.deleted
            && self.found.whole
            && !self.has_strays
            && !self.found.older_layouts
            && self.found.away.is_empty()
            && self.has_enough_homes()
            && age_ms > self.rules.tombstone_grace_ms
    }

    fn has_enough_homes(&self) -> bool {
        !self.found.home.is_empty() && self.found.home.len() == self.found.wanted()
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &Entry<'a>> {
        self.newest.iter().filter(move |entry| entry.kind == kind)
    }

    fn is_home(&self, volume: &VolumeId) -> bool {
        self.found.home.contains(volume)
    }

    fn can_take(&self, volume: &VolumeId) -> bool {
        self.found.volumes.contains_key(volume) && !self.found.full.contains(volume)
    }

    fn has_good(&self, volume: &VolumeId) -> bool {
        self.of(Kind::Good).any(|entry| entry.volume == volume)
    }
}
