//! The settings of a node: plain values, from flags or from a `node.toml`.
//!
//! Formats: `docs/format-cluster.md`. Paths in a file are relative to the directory of that file.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use store::upkeep::UpkeepSettings;
use store_protocol::NodeId;

use super::cluster_file::ClusterFile;
use super::config_file::{REPLICAS_MAX, SettingsError, ValueError, check_name, one, read_toml};
use super::secret::Secret;
use super::trust::{Tls, Trust};

/// Name of the node if there is only one process.
pub const LOCAL_NODE: &str = "local";

/// Everything that a node needs to start.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// Its name in the cluster.
    pub id: NodeId,
    /// Where it listens for other nodes and for commands. A free port of the loopback interface if
    /// `None`.
    pub listen: Option<SocketAddr>,
    /// Where others reach it, `host:port`. The address it listens on if `None`. Used only when
    /// layout 1 is made without a cluster file; a cluster file names the address of every node.
    pub advertise: Option<String>,
    /// The volumes that it serves.
    pub volumes: Vec<VolumeSettings>,
    /// The cluster file. `None` for a store of one process. Used only while the volumes hold no
    /// layouts.
    pub cluster: Option<ClusterFile>,
    /// The shared secret of the cluster's nodes.
    pub secret: Secret,
    /// Copies of every object without a cluster file. If `None`: 2 if at least two volumes have a
    /// weight, else 1.
    pub replicas: Option<u8>,
    /// Whether volumes that take part for the first time are made: yes for serving and for the
    /// first put, no for commands that only read.
    pub makes_volumes: bool,
    /// Intervals and rates of the background workers. `None` starts no workers, for short commands
    /// and tests.
    pub upkeep: Option<UpkeepSettings>,
    /// Limits on connections, and how long one may go without a signature.
    pub connections: ConnectionSettings,
}

/// Limits on connections to the port of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionSettings {
    /// Most connections at a time. Others wait in the queue of the operating system.
    pub max: usize,
    /// Most connections per address (for IPv6: per /64 network) that have sent no signed request
    /// yet. Further ones are closed at once.
    pub per_address: usize,
    /// How many of `max` are reserved for networks that have recently sent a signed request.
    pub reserved: usize,
    /// How long a connection may go without a good signature, in seconds.
    pub stranger_seconds: u32,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            max: 2048,
            per_address: 256,
            reserved: 1024,
            stranger_seconds: 10,
        }
    }
}

/// One volume as its node knows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeSettings {
    /// Its name within its node. If not given: the name that the volume got when it was first used,
    /// else the last part of its path.
    #[serde(default)]
    pub name: Option<String>,
    /// Its directory. It is made if it is absent and the volume takes part for the first time; its
    /// parent must exist.
    pub path: PathBuf,
    /// Its failure domain. If `None` and there is no cluster file, each volume is a separate zone.
    #[serde(default)]
    pub zone: Option<String>,
    /// Its share relative to other volumes.
    #[serde(default = "one")]
    pub weight: u32,
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFile {
    id: String,
    listen: Option<SocketAddr>,
    advertise: Option<String>,
    cluster: Option<PathBuf>,
    secret: PathBuf,
    replicas: Option<u8>,
    #[serde(rename = "volume")]
    volumes: Vec<VolumeSettings>,
    #[serde(default)]
    upkeep: UpkeepFile,
    #[serde(default)]
    connections: ConnectionSettings,
}

/// `[upkeep]` as written: the values that an operator may want to change, in seconds.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UpkeepFile {
    scrub_every_s: Option<f64>,
    scrub_bytes_per_s: Option<u64>,
    reconcile_every_s: Option<f64>,
    rebalance_bytes_per_s: Option<u64>,
    unreachable_grace_s: Option<f64>,
    tombstone_grace_s: Option<f64>,
    watch_every_s: Option<f64>,
    retry_after_s: Option<f64>,
    census_every_s: Option<f64>,
}

impl UpkeepFile {
    /// Returns `settings` with the values of the file in place of the present ones.
    fn applied_to(&self, mut settings: UpkeepSettings) -> Result<UpkeepSettings, ValueError> {
        let times = [
            ("scrub_every_s", &mut settings.scrub_every, self.scrub_every_s),
            (
                "reconcile_every_s",
                &mut settings.reconcile_every,
                self.reconcile_every_s,
            ),
            (
                "unreachable_grace_s",
                &mut settings.unreachable_grace,
                self.unreachable_grace_s,
            ),
            (
                "tombstone_grace_s",
                &mut settings.tombstone_grace,
                self.tombstone_grace_s,
            ),
            ("watch_every_s", &mut settings.watch_every, self.watch_every_s),
            ("retry_after_s", &mut settings.retry_after, self.retry_after_s),
            ("census_every_s", &mut settings.census_every, self.census_every_s),
        ];
        for (name, setting, seconds) in times {
            if let Some(seconds) = seconds {
                *setting = Duration::try_from_secs_f64(seconds)
                    .map_err(|error| ValueError::Upkeep(name, seconds, error))?;
            }
        }
        let rates = [
            (&mut settings.scrub_bytes_per_s, self.scrub_bytes_per_s),
            (&mut settings.rebalance_bytes_per_s, self.rebalance_bytes_per_s),
        ];
        for (setting, rate) in rates {
            *setting = rate.unwrap_or(*setting);
        }
        Ok(settings)
    }
}

impl NodeSettings {
    /// Returns the settings of a single process with these volumes, named `local`. No file is
    /// needed. A new secret is made at every start, and commands find it in the beacons on the
    /// volumes.
    pub fn of_volumes(volumes: Vec<VolumeSettings>) -> Self {
        Self {
            id: NodeId::from(LOCAL_NODE.to_owned()),
            listen: None,
            advertise: None,
            volumes,
            cluster: None,
            secret: Secret::random(),
            replicas: None,
            makes_volumes: true,
            upkeep: Some(UpkeepSettings::default()),
            connections: ConnectionSettings::default(),
        }
    }

    /// Reads settings from a `node.toml`, with the cluster file and the secret that it names. An
    /// absent secret file is made.
    ///
    /// # Errors
    /// [`SettingsError`] for a file that cannot be read or has a wrong value.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let file: NodeFile = read_toml(path)?;
        let wrong = |error| SettingsError::Format {
            path: path.to_owned(),
            error,
        };
        let beside = |other: &Path| path.parent().unwrap_or(Path::new(".")).join(other);
        let cluster = file
            .cluster
            .map(|cluster| ClusterFile::read(&beside(&cluster)))
            .transpose()?;
        let settings = Self {
            id: NodeId::from(file.id),
            listen: file.listen,
            advertise: file.advertise,
            volumes: file
                .volumes
                .into_iter()
                .map(|volume| VolumeSettings {
                    path: beside(&volume.path),
                    ..volume
                })
                .collect(),
            cluster,
            secret: Secret::of_file(&beside(&file.secret))?,
            replicas: file.replicas,
            makes_volumes: true,
            upkeep: Some(file.upkeep.applied_to(UpkeepSettings::default()).map_err(wrong)?),
            connections: file.connections,
        };
        settings.check().map_err(wrong)?;
        Ok(settings)
    }

    /// Returns the secret and keys with which this node talks to others.
    pub(super) fn trust(&self) -> Result<Trust, SettingsError> {
        let tls = self.cluster.as_ref().map_or(Tls::On, |cluster| cluster.tls);
        Trust::new(self.secret.clone(), tls)
    }

    /// Refuses settings that are wrong whatever the volumes hold.
    pub(super) fn check(&self) -> Result<(), ValueError> {
        check_name("node", &self.id.0)?;
        if self.volumes.is_empty() {
            return Err(ValueError::NoVolume);
        }
        let mut names = BTreeSet::new();
        for name in self.volumes.iter().filter_map(|volume| volume.name.as_deref()) {
            check_name("volume", name)?;
            if !names.insert(name) {
                return Err(ValueError::SameVolume(name.to_owned()));
            }
        }
        if self.replicas == Some(0) || self.replicas > Some(REPLICAS_MAX) {
            return Err(ValueError::NodeReplicas);
        }
        match &self.cluster {
            Some(cluster) if !cluster.nodes.iter().any(|node| node.id == *self.id.0) => {
                Err(ValueError::NoNode(self.id.0.to_string()))
            }
            _ => Ok(()),
        }
    }
}

impl VolumeSettings {
    /// Returns a volume in this directory, with everything else by default.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            name: None,
            path: path.into(),
            zone: None,
            weight: 1,
        }
    }
}

/// `DIR[,name=NAME][,zone=ZONE][,weight=NUMBER]`.
impl FromStr for VolumeSettings {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let wrong = |error| SettingsError::Volume {
            text: text.to_owned(),
            error,
        };
        let mut parts = text.split(',');
        let mut volume = Self::at(parts.next().unwrap_or_default());
        if volume.path.as_os_str().is_empty() {
            return Err(wrong(ValueError::NoDirectory));
        }
        for part in parts {
            match part.split_once('=') {
                Some(("name", name)) => {
                    check_name("volume", name).map_err(wrong)?;
                    volume.name = Some(name.to_owned());
                }
                Some(("zone", zone)) if !zone.is_empty() => volume.zone = Some(zone.to_owned()),
                Some(("weight", weight)) => {
                    let refused = |_| wrong(ValueError::Weight(weight.to_owned()));
                    volume.weight = weight.parse().map_err(refused)?;
                }
                _ => return Err(wrong(ValueError::VolumePart(part.to_owned()))),
            }
        }
        Ok(volume)
    }
}
