//! `weft store stat`: shows digests, version and attributes of an object, and the state of its
//! replicas.

use std::io::Write;

use cluster::ConnectSettings;
use data_encoding::HEXLOWER;
use serde::Serialize;
use store::{Key, Meta, Protection, ReplicaEntry, ReplicaState, Topology, VolumeId};

use super::key;
use super::retention::ProtectionBody;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, instant};

const EXAMPLES: &str = "\
Examples:
  weft store stat store://crawls/a.warc.gz
  weft store stat crawls/a.warc.gz --json

Exit code 1 if a required replica is missing or bad (weft store repair).";

/// Flags of `weft store stat`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Object to show
    #[arg(value_name = "OBJECT")]
    object: String,
    /// If too few nodes answer to determine the current version, take the newest reachable one
    #[arg(long)]
    any: bool,
}

/// A volume that has or should have a replica.
#[derive(Debug, Serialize)]
struct Replica {
    volume: String,
    node: String,
    zone: String,
    /// Whether the layout in force places a replica here.
    home: bool,
    state: CopyState,
    detail: String,
}

/// The state of a replica, compared with the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
enum CopyState {
    /// The replica exists, according to its volume.
    Good,
    /// Some of its bytes are corrupt.
    Bad,
    /// The volume has no replica.
    Missing,
    /// The replica has an older version of the object.
    Older,
    /// The volume is being rebuilt and may have a replica.
    NotKnown,
    /// The volume did not answer.
    Unreachable,
}

impl CopyState {
    fn name(self) -> &'static str {
        match self {
            CopyState::Good => "good",
            CopyState::Bad => "bad",
            CopyState::Missing => "missing",
            CopyState::Older => "older",
            CopyState::NotKnown => "not known",
            CopyState::Unreachable => "unreachable",
        }
    }
}

impl From<CopyState> for &'static str {
    fn from(state: CopyState) -> &'static str {
        state.name()
    }
}

/// The whole result as printed by `--json`.
#[derive(Serialize)]
struct Stat<'a> {
    object: &'a Meta,
    partition: u16,
    protection: ProtectionBody,
    replicas: &'a [Replica],
}

/// Runs `weft store stat`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let key = key::object(&args.object)?;
    with_store(place, StoreMode::Existing, async |session| {
        session.read_any(args.any);
        let meta = session.store().head(&key).await?;
        let replicas = replicas(session, &key, &meta).await;
        if context.json {
            context.out.json(&Stat {
                object: &meta,
                partition: key.partition().0,
                protection: ProtectionBody::of(Protection::of(&meta.attributes)),
                replicas: &replicas,
            })?;
        } else {
            print(&meta, &replicas, context)?;
        }
        let whole = replicas
            .iter()
            .filter(|replica| replica.home)
            .all(|replica| replica.state == CopyState::Good);
        Ok(if whole { Outcome::Done } else { Outcome::Losses })
    })
}

/// Asks every volume, those of the layout first. Other volumes may hold a replica after a hand-off,
/// or from an older layout.
async fn replicas(session: &Session, key: &Key, meta: &Meta) -> Vec<Replica> {
    let topology = session.topology();
    let home = topology.home(key.partition()).to_vec();
    let others: Vec<VolumeId> = topology
        .volumes
        .keys()
        .filter(|id| !home.contains(id))
        .cloned()
        .collect();
    let asked: Vec<_> = home
        .iter()
        .chain(&others)
        .filter_map(|id| {
            let volume = topology.volumes.get(id)?.clone();
            let key = key.clone();
            Some((id.clone(), tokio::spawn(async move { volume.head(&key).await })))
        })
        .collect();
    let mut replicas = Vec::new();
    for (id, asked) in asked {
        let (state, detail) = match asked.await {
            Ok(Ok(head)) => state_of(head.found.as_ref(), head.complete, meta),
            Ok(Err(error)) => (CopyState::Unreachable, error.to_string()),
            Err(error) => (CopyState::Unreachable, error.to_string()),
        };
        let at_home = home.contains(&id);
        if at_home || !matches!(state, CopyState::Missing | CopyState::NotKnown) {
            replicas.push(described(&topology, &id, at_home, state, detail));
        }
    }
    replicas
}

fn state_of(found: Option<&ReplicaEntry>, complete: bool, meta: &Meta) -> (CopyState, String) {
    match found {
        None if complete => (CopyState::Missing, String::new()),
        None => (CopyState::NotKnown, "the volume is being rebuilt".to_owned()),
        Some(held) if held.meta.version != meta.version => {
            (CopyState::Older, format!("version {}", held.meta.version))
        }
        Some(held) => match &held.state {
            ReplicaState::Good => (CopyState::Good, String::new()),
            ReplicaState::Bad(detail) => (CopyState::Bad, detail.clone()),
        },
    }
}

fn described(topology: &Topology, id: &VolumeId, home: bool, state: CopyState, detail: String) -> Replica {
    let mut roles = std::iter::once(&topology.layouts.current)
        .chain(&topology.layouts.older)
        .flat_map(|layout| &layout.roles.volumes);
    let role = roles.find(|role| role.id == *id);
    Replica {
        volume: id.to_string(),
        node: role.map(|role| role.node.to_string()).unwrap_or_default(),
        zone: role.map(|role| role.zone.clone()).unwrap_or_default(),
        home,
        state,
        detail,
    }
}

fn print(meta: &Meta, replicas: &[Replica], context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let hex = |digest: &[u8]| HEXLOWER.encode(digest);
    let mut lines = vec![
        ("object", key::display_key(meta.key.as_str())),
        (
            "size",
            format!("{} ({} bytes)", bytes(meta.size), count(meta.size)),
        ),
        ("written", format!("{} UTC", instant(meta.version.millis))),
        ("version", meta.version.to_string()),
        ("etag", meta.etag.clone()),
        ("MD5", hex(&meta.digests.md5)),
        ("SHA-256", hex(&meta.digests.sha256)),
        ("BLAKE3", hex(&meta.digests.blake3)),
        ("place", format!("partition {}", meta.key.partition().0)),
    ];
    let protection = Protection::of(&meta.attributes);
    if protection != Protection::default() {
        let ended = match protection.in_force(system::wall_ms()) {
            Some(_) => "",
            None => "; no longer in force",
        };
        lines.push(("protected", format!("{protection}{ended}")));
    }
    let mut attributes = meta.attributes.clone();
    // Protection attributes are printed on a separate line.
    Protection::default().write_to(&mut attributes);
    for (name, value) in &attributes {
        lines.push((name, value.clone()));
    }
    for (name, value) in lines {
        let name = out.style.dim(&format!("{:<8}", clean(name)));
        writeln!(out, "{name} {}", clean(&value))?;
    }
    writeln!(out)?;
    let mut table = Table::new(&[
        ("replica on", Column::Left),
        ("zone", Column::Left),
        ("node", Column::Left),
        ("belongs", Column::Left),
        ("state", Column::Left),
        ("detail", Column::Flexible),
    ]);
    for replica in replicas {
        table.row([
            replica.volume.clone(),
            replica.zone.clone(),
            replica.node.clone(),
            if replica.home { "here" } else { "elsewhere" }.to_owned(),
            replica.state.name().to_owned(),
            replica.detail.clone(),
        ]);
    }
    table.print(out)?;
    Ok(())
}
