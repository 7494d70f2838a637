//! Events of the fixity log: changes and checks of replicas and volumes, and their causes.

use placement::VolumeId;
use serde::{Deserialize, Serialize};

use crate::clock::Version;
use crate::key::Key;

/// Why a volume verifies, removes or writes. The fixity log records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A client's write.
    Write,
    /// The periodic scrub.
    Scrub,
    /// Restoring a missing or bad replica.
    Repair,
    /// A layout change, or the return of a hand-off.
    Rebalance,
    /// A reader found a bad block.
    Read,
    /// An operator's request.
    Request,
}

/// One line of the append-only fixity log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixityEvent {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// What happened: `verified`, `bad`, `missing`, `repaired`, `dropped`, `volume-wiped`,
    /// `volume-out`, ...
    pub event: String,
    /// Volume concerned.
    pub volume: VolumeId,
    /// Object concerned. Absent for events of a whole volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Why it was looked at.
    pub cause: Cause,
    /// Evidence: digests found and expected, the replica that a repair was made from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Log target of the messages that report events of volumes to operators. Programs show them even
/// if they hide other messages of level `info`.
pub const NEWS: &str = "store::news";
