//! Random choice of the action of a step and of its fault.
//!
//! The choice depends on the files, not on the state of the archive: a plan is a function of the
//! seed, independent of the threads of a load.

use std::fmt;
use std::path::Path;

use archive::question::{LinkScope, LoadRequest};
use inputs::LoadInput;
use store_testkit::Dice;

use super::order::Action;
use super::world::World;

/// An injected fault.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    None,
    /// The process ends when it passes a crash point for the nth time.
    Kill {
        point: &'static str,
        nth: u64,
    },
    /// The process ends when a reader has seen this many new epochs.
    Abort {
        epochs: u64,
    },
    /// Files cannot grow beyond the end of the journal plus some bytes.
    Full {
        bytes: u64,
        make_room: bool,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::None => f.write_str("no fault"),
            Fault::Kill { point, nth } => write!(f, "killed at {point}:{nth}"),
            Fault::Abort { epochs } => write!(f, "killed after {epochs} epochs"),
            Fault::Full { bytes, make_room } => {
                let then = if *make_room { ", then room is made" } else { "" };
                write!(f, "room for {bytes} bytes{then}")
            }
        }
    }
}

/// Chooses an action. Actions on a file that has just grown are more likely.
pub(super) fn action(world: &World, links: LinkScope, grown: Option<&str>, dice: &mut Dice) -> Action {
    match dice.roll(20) {
        0..14 => Action::Load(load(world, links, grown, dice)),
        14 => Action::Cancel(load(world, links, grown, dice), 1 + dice.roll(8)),
        15..19 => Action::Forget((0..1 + dice.roll(2)).map(|_| forgettable(world, dice)).collect()),
        _ => Action::Search,
    }
}

/// Returns any name, mostly of a file that is still open: a fully loaded input cannot be forgotten.
fn forgettable(world: &World, dice: &mut Dice) -> String {
    let open: Vec<&String> = world
        .names()
        .iter()
        .filter(|name| name.ends_with(".open"))
        .collect();
    let names = match dice.roll(4) {
        1.. if !open.is_empty() => open,
        _ => world.names().iter().collect(),
    };
    names[dice.roll(names.len() as u64) as usize].clone()
}

/// Chooses a fault for an action. `is_young`: the archive may be incomplete. `has_grown`: a file
/// has grown, so that its truncated end is loaded again.
pub(super) fn fault(action: &Action, is_young: bool, has_grown: bool, dice: &mut Dice) -> Fault {
    let is_taken_back = match action {
        Action::Load(_) | Action::Cancel(..) => has_grown,
        Action::Forget(_) => true,
        Action::Search => false,
    };
    match dice.roll(20) {
        0..10 => {
            let mut points = points(action, is_young);
            if is_taken_back && dice.roll(2) == 0 {
                points.retain(|point| {
                    ["take_back.", "continue.", "forget."]
                        .iter()
                        .any(|area| point.starts_with(area))
                });
            }
            let point = points[dice.roll(points.len() as u64) as usize];
            // Points of an epoch are passed many times, the others rarely more than once.
            let nth = match (point.split_once('.'), dice.roll(4)) {
                (Some(("apply", _)), _) => 1 + dice.roll(12),
                (_, 0) => 2 + dice.roll(2),
                _ => 1,
            };
            Fault::Kill { point, nth }
        }
        10..12 => Fault::Abort {
            epochs: 1 + dice.roll(10),
        },
        12..15 => Fault::Full {
            bytes: dice.roll(4) * dice.roll(8_000),
            make_room: dice.roll(2) == 0,
        },
        _ => Fault::None,
    }
}

/// Returns all crash points.
pub(super) fn all_points() -> impl Iterator<Item = &'static str> {
    let (archive, search) = (
        archive::CRASH_POINTS.into_iter(),
        search::CRASH_POINTS.into_iter(),
    );
    let facts = facts::CRASH_POINTS.into_iter();
    index::CRASH_POINTS
        .into_iter()
        .chain(archive)
        .chain(search)
        .chain(facts)
}

fn points(action: &Action, is_young: bool) -> Vec<&'static str> {
    let is_passed = |point: &&str| {
        let area = point.split('.').next().unwrap_or_default();
        match (area, action) {
            ("create" | "settings", _) => is_young,
            ("search", _) => is_young || *point != "search.before_create",
            (_, Action::Search) => false,
            ("take_back", _) => true,
            ("forget", Action::Forget(_)) => true,
            ("forget", _) | (_, Action::Forget(_)) => false,
            _ => true,
        }
    };
    all_points().filter(is_passed).collect()
}

fn load(world: &World, links: LinkScope, grown: Option<&str>, dice: &mut Dice) -> LoadRequest {
    let names: Vec<&String> = world.files().keys().collect();
    let mut inputs = match dice.roll(4) {
        _ if names.is_empty() => vec![folder(world.folder())],
        0 => vec![folder(world.folder())],
        // A name may occur twice.
        _ => (0..1 + dice.roll(4))
            .map(|_| file(world.folder(), names[dice.roll(names.len() as u64) as usize]))
            .collect(),
    };
    if let Some(name) = grown.filter(|_| dice.roll(4) > 0) {
        inputs.push(file(world.folder(), name));
    }
    let refused = match links {
        LinkScope::All => LinkScope::External,
        LinkScope::External => LinkScope::All,
    };
    LoadRequest {
        inputs,
        links: match dice.roll(20) {
            0 => Some(refused),
            1..10 => Some(links),
            _ => None,
        },
        threads: Some([1, 1, 1, 3][dice.roll(4) as usize]),
        epoch_bytes: [Some(1), Some(1), Some(2_000), Some(20_000), None][dice.roll(5) as usize],
        ..LoadRequest::default()
    }
}

/// Returns a load of everything.
pub(super) fn load_all(world: &World) -> LoadRequest {
    LoadRequest {
        inputs: vec![folder(world.folder())],
        threads: Some(1),
        ..LoadRequest::default()
    }
}

fn file(folder: &Path, name: &str) -> LoadInput {
    LoadInput {
        name: name.to_owned(),
        path: inputs::path_text(&folder.join(name)),
    }
}

fn folder(folder: &Path) -> LoadInput {
    LoadInput {
        name: ".".to_owned(),
        path: inputs::path_text(folder),
    }
}

/// Describes an action.
pub(super) fn told(action: &Action) -> String {
    let load = |request: &LoadRequest| {
        let names: Vec<&str> = request.inputs.iter().map(|input| input.name.as_str()).collect();
        let epochs = request
            .epoch_bytes
            .map_or(String::new(), |bytes| format!(", epochs of {bytes} bytes"));
        let links = request
            .links
            .map_or(String::new(), |links| format!(", links {links}"));
        let threads = request.threads.unwrap_or_default();
        format!("load {} with {threads} threads{epochs}{links}", names.join(" "))
    };
    match action {
        Action::Load(request) => load(request),
        Action::Cancel(request, epochs) => format!("{}, cancelled after {epochs} epochs", load(request)),
        Action::Forget(names) => format!("forget {}", names.join(" ")),
        Action::Search => "search".to_owned(),
    }
}
