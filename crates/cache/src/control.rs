//! Statistics and control of a tier.

use std::io;
use std::sync::Arc;

use futures_util::StreamExt;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::counts::User;
use crate::ghost::Advice;
use crate::origin::{Origin, OriginError};
use crate::stats::{Stats, StoreRow, UserRow};
use crate::tier::Cache;

/// An object with cached blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CachedObject {
    /// Its address.
    pub address: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its bytes in memory.
    pub memory_bytes: u64,
    /// Its approximate bytes on disks.
    pub disk_bytes: u64,
    /// Whether it is pinned.
    pub is_pinned: bool,
}

impl Cache {
    /// Returns the statistics of the tier.
    pub fn stats(&self) -> Stats {
        let tier = &self.0;
        let user = |user: User| UserRow {
            user: user.name().to_owned(),
            stats: tier.counts(user).snapshot(),
        };
        let store = |(root, us): (String, Option<f64>)| StoreRow {
            root,
            us_per_mib: us.map(|us| us as u64),
        };
        Stats {
            revalidate_seconds: tier.bound.as_secs(),
            memory: tier.memory.stats(),
            directories: tier
                .directories
                .iter()
                .map(|directory| directory.stats())
                .collect(),
            users: User::ALL.map(user).to_vec(),
            stores: tier.gauges().into_iter().map(store).collect(),
            pins: tier.rules.read().pins().to_vec(),
        }
    }

    /// Returns the cached objects whose address starts with `prefix`, sorted by address. Versions
    /// of one object are combined.
    pub fn objects(&self, prefix: &str) -> Vec<CachedObject> {
        let tier = &self.0;
        let mut all: FxHashMap<String, CachedObject> = FxHashMap::default();
        let mut note =
            |address: String, size_bytes: u64, memory_bytes: u64, disk_bytes: u64, is_pinned: bool| {
                if !address.starts_with(prefix) {
                    return;
                }
                let kept = all.entry(address.clone()).or_insert(CachedObject {
                    address,
                    size_bytes,
                    memory_bytes: 0,
                    disk_bytes: 0,
                    is_pinned: false,
                });
                kept.memory_bytes += memory_bytes;
                kept.disk_bytes += disk_bytes;
                kept.is_pinned |= is_pinned;
            };
        for (info, bytes) in tier.memory.objects() {
            note(info.address(), info.description.size_bytes, bytes, 0, false);
        }
        for kept in tier.directories.iter().flat_map(|directory| directory.objects()) {
            note(
                kept.info.address(),
                kept.info.description.size_bytes,
                0,
                kept.bytes,
                kept.is_pinned,
            );
        }
        let mut all: Vec<CachedObject> = all.into_values().collect();
        all.sort_by(|a, b| a.address.cmp(&b.address));
        all
    }

    /// Drops the cached blocks of objects whose address starts with `prefix`. Other processes on
    /// the same directories follow within seconds. Returns the number of blocks dropped from disks.
    ///
    /// # Errors
    /// Fails if the other processes could not be notified.
    pub fn drop_below(&self, prefix: &str) -> io::Result<u64> {
        let blocks = self.0.drop_below(prefix);
        for directory in &self.0.directories {
            directory.layout().record_drop(prefix)?;
        }
        Ok(blocks)
    }

    /// Pins a prefix, so that its present and future blocks are not evicted, or unpins it. This
    /// also applies to other and later processes on the same directories. Returns whether anything
    /// changed.
    ///
    /// # Errors
    /// Fails if the pin could not be stored; it then holds until this process ends.
    pub fn set_pin(&self, prefix: &str, is_pinned: bool) -> io::Result<bool> {
        let rules = {
            let mut rules = self.0.rules.write();
            if !rules.set_pin(prefix, is_pinned) {
                return Ok(false);
            }
            rules.clone()
        };
        for directory in &self.0.directories {
            directory.repin(&rules);
            directory.layout().keep_pins(rules.pins())?;
        }
        Ok(true)
    }

    /// Estimates the effect of more or less space.
    pub fn advice(&self) -> Vec<Advice> {
        self.0.ghosts.advice()
    }

    /// Reads an object from its store into the disks, except for the parts already there. Calls
    /// `progress` with the number of bytes of each part. Returns the size of the object.
    ///
    /// # Errors
    /// Errors of the origin.
    pub async fn warm(
        &self,
        origin: Arc<dyn Origin>,
        path: &str,
        mut progress: impl FnMut(u64) + Send,
    ) -> Result<u64, OriginError> {
        let through = self.origin_reader(origin, User::Warm);
        let got = through.get(path, None).await?;
        let description = got.description.clone();
        let mut body = got.body;
        while let Some(piece) = body.next().await {
            progress(piece?.len() as u64);
        }
        through.memory_to_disk(path, &description).await;
        Ok(description.size_bytes)
    }
}
