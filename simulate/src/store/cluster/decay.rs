//! Bit flips on the disks of a simulated cluster, and direct reads of every volume.
//!
//! At most one replica of a key is damaged until everything is repaired, so the others are good.
//! Clients must never receive the damage, and it must never be copied.

use std::path::PathBuf;

use futures_util::TryStreamExt as _;
use store_protocol::{Key, ReplicaState, Volume};
use store_testkit::Dice;
use store_testkit::linear::Value;
use volume::replica::CONTENT_AT;

use super::super::disk::Platter;
use super::super::machine::Home;
use super::World;
use super::clients::{KEYS, key};

impl World {
    /// Damages one replica of each object after everything is repaired. Then clients read, or the
    /// layout changes and replicas are copied before the damage is detected.
    pub(super) async fn decay(&self, values: &[Value; KEYS], dice: &mut Dice) -> Result<(), String> {
        let store = self.any_store()?;
        let topology = store.cluster().topology();
        for (at, _) in values.iter().enumerate().filter(|(_, value)| **value != 0) {
            let volumes = topology.home(key(at).partition());
            let id = &volumes[dice.roll(volumes.len() as u64) as usize];
            let homes = self.machines.homes.iter().flatten();
            for home in homes.filter(|home| home.id == *id) {
                self.flip(home, &key(at), dice)?;
            }
        }
        if dice.roll(2) == 0 {
            self.read_again(values).await?;
        }
        let machine = dice.roll(self.machines.shape.first as u64) as usize;
        self.change_layout(machine, dice.roll(u64::MAX)).await;
        self.repair(&self.any_store()?, 0).await;
        self.look_at_contents().await?;
        self.read_again(values).await?;
        self.settle().await?;
        self.check_replicas(values).await?;
        self.flipped.lock().clear();
        self.read_again(values).await
    }

    async fn read_again(&self, values: &[Value; KEYS]) -> Result<(), String> {
        let again = self.read_all().await?;
        if again == *values {
            Ok(())
        } else {
            Err(format!(
                "the keys were {values:?}, but are {again:?} on damaged disks"
            ))
        }
    }

    /// Flips a bit in a replica of any key on a volume.
    pub(super) fn flip_any(&self, home: &Home, dice: &mut Dice) -> Result<(), String> {
        self.flip(home, &key(dice.roll(KEYS as u64) as usize), dice)
    }

    /// Flips a bit in the newest replica of a key on a volume, more often in its content than
    /// around it.
    fn flip(&self, home: &Home, key: &Key, dice: &mut Dice) -> Result<(), String> {
        let Some(path) = replica_of(home, key) else {
            return Ok(());
        };
        let length = std::fs::metadata(&path).map_or(0, |found| found.len());
        if length <= CONTENT_AT || self.flipped.lock().contains_key(key) {
            return Ok(());
        }
        let at = match dice.roll(4) {
            0 => dice.roll(length),
            // The first bytes belong to the content of every replica.
            1 => CONTENT_AT,
            _ => CONTENT_AT + dice.roll(length - CONTENT_AT),
        };
        self.trace.count("flipped bits");
        self.trace
            .line(format_args!("bit {at} of {} is flipped", path.display()));
        Platter::flip(&path, at).map_err(|error| format!("cannot flip a bit: {error}"))?;
        self.flipped.lock().insert(key.clone(), home.id.clone());
        Ok(())
    }

    /// Reads everything that any volume holds or has prepared. The bytes must be those a client
    /// wrote, except where a bit was flipped.
    pub(super) async fn look_at_contents(&self) -> Result<(), String> {
        for machine in 0..self.machines.shape.machines {
            for (volume, home) in self.machines.volumes(machine) {
                for key in (0..KEYS).map(key) {
                    let is_flipped = self.flipped.lock().get(&key) == Some(&home.id);
                    let looked = self.look_at(volume.as_ref(), &key, is_flipped).await;
                    looked.map_err(|error| format!("{key} on {}: {error}", home.id))?;
                }
            }
        }
        Ok(())
    }

    async fn look_at(&self, volume: &dyn Volume, key: &Key, is_flipped: bool) -> Result<(), String> {
        let told = |error: store_protocol::VolumeError| error.to_string();
        let head = volume.head(key).await.map_err(told)?;
        if let Some(pending) = head.pending.filter(|pending| !pending.meta.deleted) {
            let read = volume.read_upload(pending.upload).await.map_err(told)?;
            let found = read.bytes.try_collect::<Vec<_>>().await;
            let found = found.map_err(|error| error.to_string())?.concat();
            if self.history.content_of(&pending.meta.etag) != Some(found) {
                return Err(format!(
                    "{} is prepared, but no client wrote it",
                    pending.meta.version
                ));
            }
        }
        let held = head
            .found
            .filter(|held| !held.meta.deleted && held.state == ReplicaState::Good);
        let Some(held) = held.filter(|_| !is_flipped) else {
            return Ok(());
        };
        let read = volume
            .read(key, held.meta.version, 0..u64::MAX)
            .await
            .map_err(told)?;
        let found = read.bytes.try_collect::<Vec<_>>().await;
        let found = found.map_err(|error| error.to_string())?.concat();
        if self.history.content_of(&held.meta.etag) != Some(found) {
            return Err(format!("{} has bytes that no client wrote", held.meta.version));
        }
        Ok(())
    }
}

/// Returns the file of the newest replica of a key.
fn replica_of(home: &Home, key: &Key) -> Option<PathBuf> {
    let hash = data_encoding::HEXLOWER.encode(&key.hash());
    let dir = home.path.join(format!("objects/{}", &hash[..3]));
    let entries = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let is_of_key = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&hash[..32]))
    };
    entries.filter(is_of_key).max()
}
