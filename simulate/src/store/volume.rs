//! One volume whose machine stops at any operation, compared with a map.
//!
//! The following must hold under all faults: a write or removal that returned `Ok` is never undone;
//! a failed one has happened or not, and this does not change once observed; prepared uploads are
//! found again; damaged bytes are never taken for good; after each open, files, index and counts
//! agree.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use store_protocol::{
    Cause, Digests, Key, ListQuery, Meta, PARTITIONS, Partition, Purpose, ReplicaState, SurveyEntry, Term,
    UploadId, Verdict, Version, Volume, VolumeError, VolumeState,
};
use store_testkit::Dice;
use volume::{CRASH_POINTS, DiskVolume, FixityLog};

use super::disk::{Fault, Platter, Stop};
use super::machine::Home;
use crate::{Trace, surroundings};

const KEYS: u64 = 6;
const STEPS: u64 = 40;

/// Lengths of contents: empty, small, a block, several blocks.
const SIZES: [u64; 5] = [0, 100, 5_000, 262_144, 600_000];

/// A possible value of a key.
type Held = Option<(Meta, Bytes)>;

struct World {
    trace: Trace,
    dice: Dice,
    home: Home,
    volume: Option<Arc<DiskVolume>>,
    millis: u64,
    /// Possible values of every key.
    model: BTreeMap<Key, Vec<Held>>,
    /// Prepared uploads for which no commit was requested.
    prepared: BTreeMap<UploadId, (Meta, Bytes)>,
    /// All uploads, except those that must be rejected.
    begun: BTreeMap<UploadId, (Meta, Bytes)>,
    /// Replicas with a flipped bit, by key.
    flipped: BTreeMap<Key, Version>,
}

/// Runs one seed.
pub(super) fn run(seed: u64, trace: &Trace) -> Result<(), String> {
    let dir = surroundings::directory()?;
    trace.hide(dir.path().display());
    surroundings::run(seed, async {
        let mut dice = Dice(seed);
        let home = Home::new(dir.path(), "n0/v".to_owned().into(), dice.roll(u64::MAX), trace);
        let mut world = World {
            trace: trace.clone(),
            home: home.map_err(|error| format!("{}: {error}", dir.path().display()))?,
            dice,
            volume: None,
            millis: 1_000_000,
            model: BTreeMap::new(),
            prepared: BTreeMap::new(),
            begun: BTreeMap::new(),
            flipped: BTreeMap::new(),
        };
        world.restart().await?;
        for _ in 0..STEPS {
            world.step().await?;
        }
        world.stop();
        world.restart().await
    })
}

impl World {
    async fn step(&mut self) -> Result<(), String> {
        match self.dice.roll(100) {
            0..45 => self.put().await?,
            45..53 => self.remove().await?,
            53..60 => self.settle().await?,
            60..66 => self.flip().await?,
            66..90 => return self.break_something(),
            90..93 => self.volume().run_housekeeping(),
            93..96 => self.stop(),
            _ => self.check().await?,
        }
        self.recover().await
    }

    fn volume(&self) -> Arc<DiskVolume> {
        self.volume.clone().expect("the volume is open between steps")
    }

    fn break_something(&mut self) -> Result<(), String> {
        let point = CRASH_POINTS[self.dice.roll(CRASH_POINTS.len() as u64) as usize];
        let fault = match self.dice.roll(10) {
            0 => Fault::Sync(1 + self.dice.roll(3)),
            1 => Fault::TornWrite(1 + self.dice.roll(3)),
            2 => Fault::Read(1 + self.dice.roll(3)),
            3 => Fault::Full,
            4 => Fault::NearlyFull,
            5 | 6 => Fault::StopAt(1 + self.dice.roll(25)),
            _ => Fault::StopAtPoint(point),
        };
        self.trace.line(format_args!("fault: {fault:?}"));
        self.home.inject(Some(fault));
        Ok(())
    }

    /// Restarts the machine after a step if it has stopped or its volume went out of service.
    async fn recover(&mut self) -> Result<(), String> {
        let status = self.volume().status().await;
        let is_out = status.is_ok_and(|status| matches!(status.state, VolumeState::Out(_)));
        if is_out || !self.home.platter.is_on() {
            self.restart().await?;
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.trace.line("the machine stops");
        self.home.platter.turn_off();
    }

    /// Restarts the machine, repeatedly if necessary.
    async fn restart(&mut self) -> Result<(), String> {
        for attempt in 0.. {
            let how = if self.dice.roll(2) == 0 {
                Stop::Kill
            } else {
                Stop::Power
            };
            self.trace.line(format_args!("restart after {how:?}"));
            self.trace.count(&format!("stopped by {how:?}"));
            let crashed = self.home.crash(how, &mut self.dice);
            crashed.map_err(|error| format!("cannot prepare the restart: {error}"))?;
            self.volume = None;
            // A start can be interrupted too.
            if attempt < 3 && self.dice.roll(4) == 0 {
                self.home.inject(Some(Fault::StopAt(1 + self.dice.roll(60))));
            }
            match self.home.open(&FixityLog::new(), || {}) {
                Ok(volume) if self.home.platter.is_on() => self.volume = Some(volume),
                Ok(_) => continue,
                Err(_) if !self.home.platter.is_on() => continue,
                Err(error) => return Err(format!("the volume cannot be opened: {error}")),
            }
            self.home.inject(None);
            return self.check().await;
        }
        Ok(())
    }

    fn some_key(&mut self) -> Key {
        key(self.dice.roll(KEYS))
    }

    /// Makes sure that the value of a key is certain, and returns it.
    async fn known(&mut self, key: &Key) -> Result<Held, String> {
        if self.model.get(key).is_some_and(|can_be| can_be.len() > 1) {
            self.home.inject(None);
            self.recover().await?;
            self.check().await?;
        }
        Ok(self
            .model
            .get(key)
            .and_then(|can_be| can_be.first().cloned())
            .flatten())
    }

    async fn put(&mut self) -> Result<(), String> {
        let key = self.some_key();
        let before = self.known(&key).await?;
        self.millis += 1;
        let is_deleted = self.dice.roll(6) == 0;
        let size = if is_deleted {
            0
        } else {
            SIZES[self.dice.roll(SIZES.len() as u64) as usize]
        };
        let content = content(size, self.millis);
        let meta = meta(&key, self.millis, &content, is_deleted);
        let upload = UploadId(u128::from(self.millis));
        let arrives = if size > 0 && self.dice.roll(10) == 0 {
            self.damaged(&content)
        } else {
            content.clone()
        };
        let is_damaged = arrives != content;
        if !is_damaged {
            self.begun.insert(upload, (meta.clone(), content.clone()));
        }
        if self.dice.roll(10) == 0 {
            // Written in full but not synced, so opening may find holes in it.
            self.home.inject(Some(Fault::StopAtPoint("prepare.before_sync")));
        }
        let volume = self.volume();
        let prepared = match (is_deleted, self.dice.roll(2)) {
            (true, _) => volume.prepare(upload, &meta, Purpose::Write).await,
            (false, 0) => volume.prepare_whole(upload, &meta, arrives).await,
            (false, _) => in_steps(volume.as_ref(), upload, &meta, &arrives).await,
        };
        self.trace.line(format_args!(
            "prepare {key} at {}, {size} bytes: {}",
            self.millis,
            told(&prepared)
        ));
        self.trace.count("writes");
        if is_damaged && prepared.is_ok() {
            return Err(format!("{key} was damaged in transit, but was accepted"));
        }
        let after = Some((meta.clone(), content.clone()));
        if prepared.is_err() {
            // It may be found prepared after a crash, but it never becomes visible by itself.
            return Ok(());
        }
        if self.dice.roll(8) == 0 {
            self.prepared.insert(upload, (meta, content));
            return Ok(());
        }
        let committed = volume.commit(upload, Cause::Write, "").await;
        self.trace.line(format_args!(
            "commit {key} at {}: {}",
            self.millis,
            told(&committed)
        ));
        self.note(key, before, after, &committed);
        Ok(())
    }

    /// Returns a damaged content: one byte is changed or missing.
    fn damaged(&mut self, content: &Bytes) -> Bytes {
        self.trace.count("contents damaged in transit");
        let mut bytes = content.to_vec();
        let at = self.dice.roll(bytes.len() as u64) as usize;
        match self.dice.roll(4) {
            0 => drop(bytes.remove(at)),
            bit => bytes[at] ^= 1 << bit,
        }
        bytes.into()
    }

    /// Commits an upload that was prepared before.
    async fn settle(&mut self) -> Result<(), String> {
        let at = self.dice.roll(self.prepared.len() as u64 + 1) as usize;
        let Some((upload, (meta, content))) = self.prepared.iter().nth(at).map(|(id, of)| (*id, of.clone()))
        else {
            return Ok(());
        };
        let before = self.known(&meta.key).await?;
        let committed = self.volume().commit(upload, Cause::Write, "").await;
        self.trace.line(format_args!(
            "commit {} at {} later: {}",
            meta.key,
            meta.version.millis,
            told(&committed)
        ));
        self.prepared.remove(&upload);
        let is_newest = before
            .as_ref()
            .is_none_or(|(before, _)| before.version < meta.version);
        let after = if is_newest {
            Some((meta.clone(), content))
        } else {
            before.clone()
        };
        match committed {
            // Discarded when the volume was opened, because there was a later version.
            Err(VolumeError::Missing { .. }) if !is_newest => Ok(()),
            Err(VolumeError::Missing { .. }) => Err(format!("the prepared upload of {} is gone", meta.key)),
            committed => {
                if committed.is_err() {
                    self.prepared.insert(
                        upload,
                        (
                            meta.clone(),
                            after.clone().map(|(_, content)| content).unwrap_or_default(),
                        ),
                    );
                }
                self.note(meta.key.clone(), before, after, &committed);
                Ok(())
            }
        }
    }

    async fn remove(&mut self) -> Result<(), String> {
        let key = self.some_key();
        let Some((meta, content)) = self.known(&key).await? else {
            return Ok(());
        };
        let removed = self
            .volume()
            .remove(&key, meta.version, Cause::Rebalance, "test")
            .await;
        self.trace.line(format_args!("remove {key}: {}", told(&removed)));
        self.trace.count("removals");
        self.note(key, Some((meta, content)), None, &removed);
        Ok(())
    }

    fn note(&mut self, key: Key, before: Held, after: Held, answer: &Result<(), VolumeError>) {
        let can_be = match answer {
            Ok(()) => vec![after],
            Err(_) => vec![before, after],
        };
        self.flipped.remove(&key);
        // A commit supersedes earlier prepared uploads, and may have been carried out even if it
        // failed.
        if let Some((meta, _)) = can_be.last().and_then(Option::as_ref) {
            let version = meta.version;
            self.prepared
                .retain(|_, (prepared, _)| prepared.key != key || prepared.version > version);
        }
        self.model.insert(key, can_be);
    }

    /// Flips a bit in a replica's file. It must be detected, unless a later version replaces the
    /// file.
    async fn flip(&mut self) -> Result<(), String> {
        let key = self.some_key();
        let Some((meta, _)) = self.known(&key).await? else {
            return Ok(());
        };
        self.recover().await?;
        let hash = data_encoding::HEXLOWER.encode(&key.hash());
        let name = format!("objects/{}/{}.{}", &hash[..3], &hash[..32], meta.version);
        let path = self.home.path.join(name);
        let length = std::fs::metadata(&path).map_or(0, |found| found.len());
        if length == 0 || self.flipped.contains_key(&key) {
            return Ok(());
        }
        let at = self.dice.roll(length);
        self.trace.line(format_args!("bit {at} of {key} is flipped"));
        self.trace.count("flipped bits");
        Platter::flip(&path, at).map_err(|error| format!("cannot flip a bit: {error}"))?;
        self.flipped.insert(key.clone(), meta.version);
        self.home.inject(None);
        let verdict = self.volume().verify(&key, meta.version, Cause::Scrub).await;
        match verdict {
            Ok(Verdict::Good { .. }) => Err(format!("{key} has a flipped bit, but was verified as good")),
            _ => Ok(()),
        }?;
        // Writes the same version again, like repair.
        let (upload, content) = (
            UploadId(1 << 64 | u128::from(self.millis)),
            self.known(&key).await?,
        );
        self.millis += 1;
        let Some((meta, content)) = content else {
            return Ok(());
        };
        let copied = if meta.deleted {
            self.volume().prepare(upload, &meta, Purpose::Copy).await
        } else {
            in_steps(self.volume().as_ref(), upload, &meta, &content).await
        };
        copied.map_err(|error| format!("cannot copy {key}: {error}"))?;
        let committed = self.volume().commit(upload, Cause::Repair, "test").await;
        committed.map_err(|error| format!("cannot repair {key}: {error}"))?;
        self.flipped.remove(&key);
        Ok(())
    }

    /// Compares everything, and takes the found values as certain.
    async fn check(&mut self) -> Result<(), String> {
        self.home.inject(None);
        if !self.home.platter.is_on() {
            return Ok(());
        }
        self.trace.count("checks");
        let volume = self.volume();
        let listed = volume.list(&everything()).await;
        let listed = match listed {
            Ok(listed) => listed,
            Err(VolumeError::Out { .. }) => return Ok(()),
            Err(error) => return Err(format!("list: {error}")),
        };
        let mut held = BTreeMap::new();
        for found in listed {
            if found.state != ReplicaState::Good {
                return Err(format!("{} is {:?}", found.meta.key, found.state));
            }
            held.insert(found.meta.key.clone(), found.meta);
        }
        for (key, can_be) in &mut self.model {
            let found = held.remove(key);
            let allowed: Vec<_> = can_be
                .iter()
                .map(|one| one.as_ref().map(|(meta, _)| meta.version.millis))
                .collect();
            can_be.retain(|one| one.as_ref().map(|(meta, _)| meta) == found.as_ref());
            can_be.truncate(1);
            let Some(is) = can_be.first() else {
                let found = found.map(|meta| meta.version.millis);
                return Err(format!("{key} is {found:?}, expected one of {allowed:?}"));
            };
            if let Some((meta, content)) = is {
                check_content(volume.as_ref(), meta, content).await?;
            }
        }
        if let Some(key) = held.keys().next() {
            return Err(format!("{key} exists, but no client wrote it"));
        }
        self.check_files(volume.as_ref()).await?;
        self.check_prepared(volume.as_ref()).await?;
        self.check_pending(volume.as_ref()).await
    }

    /// Checks that files, index and counts agree.
    async fn check_files(&self, volume: &DiskVolume) -> Result<(), String> {
        let live = self.model.values().filter_map(|can_be| can_be.first()?.as_ref());
        let (mut replicas, mut tombstones, mut bytes) = (0, 0, 0);
        for (meta, _) in live {
            let count = if meta.deleted {
                &mut tombstones
            } else {
                &mut replicas
            };
            *count += 1;
            bytes += meta.size;
        }
        let status = volume
            .status()
            .await
            .map_err(|error| format!("status: {error}"))?;
        let counted = (
            status.replicas,
            status.tombstones,
            status.replica_bytes,
            status.bad,
        );
        if counted != (replicas, tombstones, bytes, 0) {
            return Err(format!(
                "counted {counted:?}, expected {:?}",
                (replicas, tombstones, bytes, 0)
            ));
        }
        let all: Vec<_> = (0..PARTITIONS).map(Partition).collect();
        let surveyed = volume
            .survey(&all)
            .await
            .map_err(|error| format!("survey: {error}"))?;
        for found in surveyed.iter().flatten() {
            let is_good = matches!(
                found,
                SurveyEntry::Replica {
                    state: ReplicaState::Good,
                    ..
                }
            );
            if !is_good {
                return Err(format!("found {found:?}"));
            }
        }
        let found = surveyed.iter().flatten().count() as u64;
        if found != replicas + tombstones {
            return Err(format!(
                "found {found} replicas, expected {}",
                replicas + tombstones
            ));
        }
        Ok(())
    }

    /// Checks that prepared uploads newer than the visible version still exist.
    async fn check_prepared(&mut self, volume: &DiskVolume) -> Result<(), String> {
        let mut newest: BTreeMap<Key, Version> = BTreeMap::new();
        let visible = |key: &Key| -> Option<Version> {
            let is = self.model.get(key)?.first()?.as_ref()?;
            Some(is.0.version)
        };
        self.prepared
            .retain(|_, (meta, _)| visible(&meta.key).is_none_or(|version| version < meta.version));
        for (meta, _) in self.prepared.values() {
            let of_key = newest.entry(meta.key.clone()).or_insert(meta.version);
            *of_key = meta.version.max(*of_key);
        }
        for (key, version) in newest {
            let head = volume
                .head(&key)
                .await
                .map_err(|error| format!("head: {error}"))?;
            let pending = head.pending.map(|pending| pending.meta.version);
            if pending < Some(version) {
                return Err(format!("{key} at {version} was prepared, found {pending:?}"));
            }
        }
        Ok(())
    }

    /// Checks that every upload reported as prepared, even if its prepare failed, is one that a
    /// client wrote.
    async fn check_pending(&self, volume: &DiskVolume) -> Result<(), String> {
        for key in (0..KEYS).map(key) {
            let head = volume.head(&key).await;
            let Some(pending) = head.map_err(|error| format!("head: {error}"))?.pending else {
                continue;
            };
            let version = pending.meta.version;
            let Some((meta, content)) = self.begun.get(&pending.upload) else {
                return Err(format!("{key} at {version} is prepared, but no client wrote it"));
            };
            let read = volume.read_upload(pending.upload).await;
            let read = read.map_err(|error| format!("cannot read the prepared upload: {error}"))?;
            let found = read.bytes.try_collect::<Vec<_>>().await;
            let found = found.map_err(|error| format!("cannot read the prepared upload: {error}"))?;
            if pending.meta != *meta || found.concat() != *content {
                return Err(format!(
                    "{key} at {version} is prepared, but not what was written"
                ));
            }
        }
        Ok(())
    }
}

/// Writes content as sent by a client in pieces.
async fn in_steps(
    volume: &DiskVolume,
    upload: UploadId,
    meta: &Meta,
    content: &Bytes,
) -> Result<(), VolumeError> {
    let pieces: Vec<_> = content
        .chunks(70_000)
        .map(|piece| Ok(content.slice_ref(piece)))
        .collect();
    volume.receive(upload, Box::pin(stream::iter(pieces))).await?;
    volume.prepare(upload, meta, Purpose::Write).await
}

/// Reads a replica as stored, and compares all of it.
async fn check_content(volume: &DiskVolume, meta: &Meta, content: &Bytes) -> Result<(), String> {
    if meta.deleted {
        return Ok(());
    }
    let read = volume.read(&meta.key, meta.version, 0..u64::MAX).await;
    let mut read = read.map_err(|error| format!("read {}: {error}", meta.key))?;
    let mut bytes = Vec::new();
    while let Some(piece) = read.bytes.next().await {
        bytes.extend(piece.map_err(|error| format!("read {}: {error}", meta.key))?);
    }
    if read.meta != *meta || read.table.root() != Some(meta.digests.blake3) || bytes != *content {
        return Err(format!(
            "{} at {} is not what was written",
            meta.key, meta.version
        ));
    }
    Ok(())
}

fn everything() -> ListQuery {
    ListQuery {
        prefix: String::new(),
        after: None,
        limit: usize::MAX,
    }
}

fn key(number: u64) -> Key {
    Key::new("bucket", &format!("k{number}")).expect("the name is short")
}

/// Returns bytes that differ from block to block and from content to content.
fn content(size: u64, seed: u64) -> Bytes {
    let byte = |i: u64| (i.wrapping_mul(31) ^ (i >> 11) ^ seed) as u8;
    (0..size).map(byte).collect::<Vec<u8>>().into()
}

fn meta(key: &Key, millis: u64, content: &[u8], deleted: bool) -> Meta {
    Meta {
        key: key.clone(),
        version: Version {
            term: Term::NONE,
            millis,
            counter: 0,
            node: 7,
        },
        deleted,
        size: content.len() as u64,
        etag: "etag".to_owned(),
        attributes: BTreeMap::new(),
        digests: Digests {
            md5: [1; 16],
            sha256: [2; 32],
            blake3: *blake3::hash(content).as_bytes(),
        },
        write: None,
    }
}

fn told(answer: &Result<(), VolumeError>) -> String {
    match answer {
        Ok(()) => "ok".to_owned(),
        Err(error) => error.to_string(),
    }
}
