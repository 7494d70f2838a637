//! A small cluster in memory with objects in it, and the check at the end of every test.

use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest, Md5};
use parking_lot::Mutex;
use placement::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use sha2::Sha256;
use store_protocol::{Digests, Key, Meta, Version, VolumeId};
use store_testkit::{MemoryVolume, table};

use super::nodes::MemConnect;
use crate::cluster::Cluster;
use crate::upkeep::{Census, RepairOptions, RepairReport, census, repair_all};

/// A cluster of one node in each zone, with one volume each.
pub(crate) struct World {
    pub cluster: Arc<Cluster>,
    pub connect: MemConnect,
    /// Expected content of every object by its newest version; `None` after a deletion.
    pub truth: BTreeMap<Key, (Version, Option<Vec<u8>>)>,
    wrote: u64,
}

/// Returns the roles of volumes `a/v`, `b/v` and so on, with these weights.
pub(crate) fn roles(replicas: u8, weights: &[u32]) -> Roles {
    let names: Vec<_> = (0..weights.len())
        .map(|i| char::from(b'a' + i as u8).to_string())
        .collect();
    let node = |name: &String| NodeRole {
        id: name.clone().into(),
        zone: format!("zone-{name}"),
        address: "127.0.0.1:1".into(),
    };
    let volume = |(name, weight): (&String, &u32)| VolumeRole {
        id: format!("{name}/v").into(),
        node: name.clone().into(),
        zone: format!("zone-{name}"),
        weight: *weight,
    };
    Roles {
        replicas,
        nodes: names.iter().map(node).collect(),
        volumes: names.iter().zip(weights).map(volume).collect(),
        retired: Default::default(),
    }
}

/// Returns the metadata of an object with this content.
pub(crate) fn meta(key: &Key, version: Version, content: Option<&[u8]>) -> Meta {
    let bytes = content.unwrap_or_default();
    let digests = Digests {
        md5: Md5::digest(bytes).into(),
        sha256: Sha256::digest(bytes).into(),
        blake3: table(bytes).1,
    };
    Meta {
        key: key.clone(),
        version,
        deleted: content.is_none(),
        size: bytes.len() as u64,
        etag: String::new(),
        attributes: BTreeMap::from([("content-type".to_owned(), "text/plain".to_owned())]),
        digests,
        write: None,
    }
}

impl World {
    pub(crate) fn new(replicas: u8, weights: &[u32]) -> Self {
        let layouts = Layouts {
            current: Layout {
                number: 1,
                seed: 7,
                roles: roles(replicas, weights),
            },
            older: Vec::new(),
        };
        let connect = MemConnect {
            volumes: Arc::default(),
            layouts: Arc::new(Mutex::new(layouts.clone())),
        };
        Self {
            cluster: Cluster::new(None, layouts, Box::new(connect.clone())),
            connect,
            truth: BTreeMap::new(),
            wrote: 0,
        }
    }

    /// Returns a world with some objects of all sizes, each on its home volumes.
    pub(crate) fn with_objects(replicas: u8, weights: &[u32], count: u64) -> Self {
        let mut world = Self::new(replicas, weights);
        for i in 0..count {
            let sizes = [0, 1, 1000, 262_144, 262_145, 900_000];
            let content = content(i, sizes[(i % 6) as usize]);
            world.write(&key(i), Some(&content));
        }
        world
    }

    /// Writes a new version to all home volumes; `None` writes a tombstone.
    pub(crate) fn write(&mut self, key: &Key, content: Option<&[u8]>) -> Version {
        let homes = self.home(key);
        self.write_on(key, content, &homes)
    }

    /// Writes a new version to these volumes only.
    pub(crate) fn write_on(&mut self, key: &Key, content: Option<&[u8]>, volumes: &[VolumeId]) -> Version {
        self.wrote += 1;
        // An hour ago, so that it is not mistaken for a write in progress.
        let version = Version {
            term: store_protocol::Term::NONE,
            millis: system::wall_ms() - 3_600_000 + self.wrote,
            counter: 0,
            node: 1,
        };
        let meta = meta(key, version, content);
        for id in volumes {
            self.volume(id).put(&meta, content.unwrap_or_default());
        }
        self.truth
            .insert(key.clone(), (version, content.map(<[u8]>::to_vec)));
        version
    }

    pub(crate) fn home(&self, key: &Key) -> Vec<VolumeId> {
        self.cluster.topology().home(key.partition()).to_vec()
    }

    /// Returns a volume that is not a home of the key.
    pub(crate) fn elsewhere(&self, key: &Key) -> VolumeId {
        let topology = self.cluster.topology();
        let fallbacks = topology.placements[0].fallbacks(key.partition());
        fallbacks
            .into_iter()
            .next()
            .expect("there are more volumes than replicas")
    }

    pub(crate) fn volume(&self, id: &VolumeId) -> Arc<MemoryVolume> {
        self.connect.volumes.lock()[id].clone()
    }

    pub(crate) fn volumes(&self) -> Vec<Arc<MemoryVolume>> {
        self.connect.volumes.lock().values().cloned().collect()
    }

    /// Returns the newest version of an object.
    pub(crate) fn version(&self, key: &Key) -> Version {
        self.truth[key].0
    }

    /// Puts a layout in force after the current one.
    pub(crate) fn change_layout(&self, roles: Roles) {
        let topology = self.cluster.topology();
        let mut older = vec![topology.layouts.current.clone()];
        older.extend(topology.layouts.older.clone());
        let layouts = Layouts {
            current: Layout {
                number: topology.layouts.current.number + 1,
                seed: 7,
                roles,
            },
            older,
        };
        *self.connect.layouts.lock() = layouts.clone();
        self.cluster.adopt(layouts);
    }

    pub(crate) async fn repair(&self) -> RepairReport {
        repair_all(&self.cluster, &RepairOptions::default(), &|_| {}).await
    }

    pub(crate) async fn census(&self) -> Census {
        census(&self.cluster.topology(), &|_| {}).await
    }

    /// Checks the census and the volumes' contents: every object reads correctly on all its home
    /// volumes, and no other replica exists.
    pub(crate) async fn check_whole(&self) {
        let census = self.census().await;
        assert!(census.is_whole(), "{census:?}");
        assert_eq!(census.replicas_surplus, 0, "{census:?}");
        let live = self
            .truth
            .values()
            .filter(|(_, content)| content.is_some())
            .count();
        assert_eq!(census.objects, live as u64);
        self.check_objects();
    }

    /// Checks that every object reads correctly on all its home volumes and has no other replica.
    pub(crate) fn check_objects(&self) {
        for (key, (version, content)) in &self.truth {
            let mut home = self.home(key);
            home.sort();
            let mut holders = Vec::new();
            for (id, volume) in self.connect.volumes.lock().iter() {
                let replicas = volume.replicas().into_iter();
                for replica in replicas.filter(|replica| replica.meta.key == *key) {
                    assert_eq!(replica.meta.version, *version, "{key} on {id}");
                    assert_eq!(
                        replica.meta,
                        meta(key, *version, content.as_deref()),
                        "{key} on {id}"
                    );
                    assert_eq!(
                        replica.content.as_deref(),
                        Some(content.as_deref().unwrap_or_default())
                    );
                    assert_eq!(replica.bad, None);
                    holders.push(id.clone());
                }
            }
            assert_eq!(holders, home, "{key}");
        }
    }
}

pub(crate) fn key(i: u64) -> Key {
    Key::new("bucket", &format!("object-{i}")).expect("a key")
}

pub(crate) fn content(seed: u64, size: usize) -> Vec<u8> {
    (0..size as u64)
        .map(|i| ((i * 31 + seed * 7) % 251) as u8)
        .collect()
}
