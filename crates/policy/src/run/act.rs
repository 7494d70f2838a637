//! What is done with one file.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use files::{
    ActRow, ActState, Attributes, Catalogue, CatalogueError, Copy, Digest, Kind, Notes, Place, Seen,
};
use sha2::{Digest as _, Sha256};

use super::{CRASH_POINTS, Runner, now_ms};
use crate::condition::name_of;
use crate::plan::{Planned, holds, is_below, path_of};
use crate::rules::Action;
use crate::trash::{self, TRASH};

/// An action that was done.
struct Done {
    why: String,
    /// What was found out of the content.
    digest: Option<Digest>,
}

impl Done {
    fn new(why: impl Into<String>) -> Done {
        Done {
            why: why.into(),
            digest: None,
        }
    }
}

/// An action that was not done, and why.
enum Not {
    Skipped(String),
    Failed(String),
}

impl From<CatalogueError> for Not {
    fn from(error: CatalogueError) -> Not {
        Not::Failed(error.to_string())
    }
}

impl Not {
    fn failed(what: &str, error: impl std::fmt::Display) -> Not {
        Not::Failed(format!("{what}: {error}"))
    }
}

/// A file that was looked at, and is what was planned.
struct Ready<'a> {
    item: &'a Planned,
    place: Place,
    file: Attributes,
    act: u64,
    row: ActRow,
}

impl Runner<'_> {
    /// Acts on some files, and returns what came of each. Those that a stop came before are left out.
    pub(super) fn chunk(
        &mut self,
        items: &[Planned],
        stop: &AtomicBool,
    ) -> Result<Vec<ActRow>, CatalogueError> {
        let (mut ready, mut ended) = (Vec::new(), Vec::new());
        for item in items {
            let act = self.next_act;
            self.next_act += 1;
            let mut row = ActRow {
                action: self.policy.action.name().to_owned(),
                state: ActState::Begun,
                at_ms: now_ms(),
                path: item.path.clone(),
                to: self.to(item, act),
                seen: Seen::of(&item.file),
                access: (item.file.mode, item.file.uid, item.file.gid),
                why: String::new(),
            };
            match self.check(item) {
                Ok((place, file)) => {
                    row.access = (file.mode, file.uid, file.gid);
                    row.seen = Seen::of(&file);
                    ready.push(Ready {
                        item,
                        place,
                        file,
                        act,
                        row,
                    });
                }
                Err(end) => {
                    set(&mut row, Err(end));
                    ended.push((act, row));
                }
            }
        }
        let begun = ready
            .iter()
            .map(|ready| (self.number, ready.act, ready.row.clone()));
        self.catalogue.note(&Notes {
            acts: begun.collect(),
            ..Notes::default()
        })?;
        crashpoint::pass(&CRASH_POINTS, "policy.begun");
        let mut digests = Vec::new();
        for mut ready in ready {
            let end = match stop.load(Relaxed) {
                true => Err(Not::Skipped("stopped before it was done".to_owned())),
                // Files before it in the chunk may have taken long.
                false => match self.check(ready.item) {
                    Ok((place, file)) => {
                        ready.row.seen = Seen::of(&file);
                        (ready.place, ready.file) = (place, file);
                        self.act(&mut ready, stop)
                    }
                    Err(end) => Err(end),
                },
            };
            if let Some(digest) = set(&mut ready.row, end) {
                digests.push(digest);
            }
            ended.push((ready.act, ready.row));
        }
        ended.sort_by_key(|(act, _)| *act);
        crashpoint::pass(&CRASH_POINTS, "policy.acted");
        let mut acts = trash::emptied(self.catalogue, ended.iter().map(|(_, row)| row))?;
        acts.extend(ended.iter().map(|(act, row)| (self.number, *act, row.clone())));
        self.catalogue.note(&Notes {
            acts,
            digests,
            ..Notes::default()
        })?;
        Ok(ended.into_iter().map(|(_, row)| row).collect())
    }

    /// Where a file goes: known before anything is done, so that a run that was killed can be settled.
    fn to(&self, item: &Planned, act: u64) -> Vec<u8> {
        let below = item.path.get(item.below.len()..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        match &self.policy.action {
            Action::Copy { to, .. } => {
                let mut address = to.clone().into_bytes();
                files::join(&mut address, below);
                address
            }
            Action::Move { to } => {
                let mut path = std::os::unix::ffi::OsStrExt::as_bytes(to.as_os_str()).to_vec();
                files::join(&mut path, below);
                path
            }
            Action::Delete | Action::Release { .. } => {
                trash::place_of(&item.tree, self.number, act, name_of(&item.path))
            }
            _ => Vec::new(),
        }
    }

    /// Looks at the file: it must be what was planned, and the condition must hold of it as it is now.
    fn check(&self, item: &Planned) -> Result<(Place, Attributes), Not> {
        let missing = || Not::Skipped("it is not there any more".to_owned());
        let place = match Place::open(&item.path) {
            Ok(place) => place,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(Not::failed("it cannot be reached", error)),
        };
        let file = place
            .look(self.catalogue)
            .map_err(|error| Not::failed("it cannot be read", error))?;
        let file = file.ok_or_else(missing)?;
        if file.id != item.file.id {
            return Err(Not::Skipped("another file has its name".to_owned()));
        }
        if matches!(self.policy.action, Action::EmptyTrash { .. }) {
            return Ok((place, file));
        }
        if !holds(self.catalogue, self.policy, item, &file, now_ms())? {
            return Err(Not::Skipped(
                "it has changed: the condition holds no more".to_owned(),
            ));
        }
        Ok((place, file))
    }

    fn act(&self, ready: &mut Ready<'_>, stop: &AtomicBool) -> Result<Done, Not> {
        match &self.policy.action {
            Action::Verify => self.verify(ready, stop),
            Action::Copy { replicas, .. } => self.copy(ready, *replicas, stop),
            Action::Release { replicas } => self.release(ready, *replicas),
            Action::Move { .. } => self.shift(ready, 0o755),
            Action::Delete => self.shift(ready, 0o700),
            Action::EmptyTrash { .. } => empty(ready),
            Action::Command(command) => run_command(command, ready),
            // They are listed by the plan.
            Action::Report | Action::Growth { .. } => Ok(Done::new("")),
        }
    }

    /// Reads a file whole. It must be the same before and after: else it was being written, and says nothing.
    fn read(&self, ready: &Ready<'_>, stop: &AtomicBool) -> Result<[u8; 32], Not> {
        let file = ready
            .place
            .read()
            .map_err(|error| Not::failed("it cannot be opened", error))?;
        let sha256 = digest(file, stop).map_err(|error| Not::failed("it cannot be read", error))?;
        let sha256 = sha256.ok_or_else(|| Not::Skipped("stopped before it was done".to_owned()))?;
        self.same(ready)?;
        Ok(sha256)
    }

    fn same(&self, ready: &Ready<'_>) -> Result<(), Not> {
        let after = ready
            .place
            .look(self.catalogue)
            .map_err(|error| Not::failed("it cannot be read", error))?;
        match after.as_ref().map(Seen::of) == Some(Seen::of(&ready.file)) {
            true => Ok(()),
            false => Err(Not::Skipped("it changed while it was being read".to_owned())),
        }
    }

    fn verify(&self, ready: &Ready<'_>, stop: &AtomicBool) -> Result<Done, Not> {
        let known = self.catalogue.known(&ready.file)?;
        let sha256 = self.read(ready, stop)?;
        let mut digest = Digest {
            seen: Seen::of(&ready.file),
            sha256,
            verified_ms: now_ms(),
            damaged_ms: None,
            copy: None,
        };
        let Some(known) = known else {
            let why = "read for the first time as it is";
            return Ok(Done {
                why: why.to_owned(),
                digest: Some(digest),
            });
        };
        if known.sha256 == sha256 {
            digest.copy = known.copy;
            return Ok(Done {
                why: "its digest is what it was".to_owned(),
                digest: Some(digest),
            });
        }
        // The digest that was right stays, and so does what is known of its copy: with it the file can be restored.
        let damaged = Digest {
            damaged_ms: Some(now_ms()),
            ..known
        };
        self.catalogue.note(&Notes {
            digests: vec![damaged],
            ..Notes::default()
        })?;
        Err(Not::Failed(
            "DAMAGED: its digest is not what it was, though nothing says that it was written".to_owned(),
        ))
    }

    fn copy(&self, ready: &Ready<'_>, replicas: u32, stop: &AtomicBool) -> Result<Done, Not> {
        let shelf = self
            .shelf
            .ok_or_else(|| Not::Failed("there is no store".to_owned()))?;
        let address = String::from_utf8(ready.row.to.clone())
            .map_err(|_| Not::Failed("its path is no text, and keys of objects are".to_owned()))?;
        let known = self.catalogue.known(&ready.file)?;
        if known.as_ref().is_some_and(|digest| digest.damaged_ms.is_some()) {
            return Err(Not::Failed("it is damaged: its copy is not replaced".to_owned()));
        }
        let failed = |error: String| Not::failed("the store", error);
        let sha256 = match shelf.find(&address).map_err(failed)? {
            Some(theirs) => {
                let ours = self.read(ready, stop)?;
                if ours != theirs {
                    let message =
                        format!("{address} is another object: it is left as it is; copy with another prefix");
                    return Err(Not::Failed(message));
                }
                ours
            }
            None => {
                let file = ready
                    .place
                    .read()
                    .map_err(|error| Not::failed("it cannot be opened", error))?;
                let sha256 = shelf.put(&address, file).map_err(failed)?;
                crashpoint::pass(&CRASH_POINTS, "policy.put");
                self.same(ready)?;
                sha256
            }
        };
        let found = shelf.verify(&address).map_err(failed)?;
        let found = found.ok_or_else(|| Not::Failed(format!("{address} is gone again")))?;
        crashpoint::pass(&CRASH_POINTS, "policy.verified");
        if found.sha256 != sha256 {
            return Err(Not::Failed(format!(
                "{address} is another object than the one that was written"
            )));
        }
        let verified_ms = now_ms();
        let digest = Digest {
            seen: Seen::of(&ready.file),
            sha256,
            verified_ms,
            damaged_ms: None,
            copy: Some(Copy {
                address: address.clone(),
                replicas: found.replicas,
                verified_ms,
            }),
        };
        if found.replicas < replicas {
            // What is there is known all the same.
            self.catalogue.note(&Notes {
                digests: vec![digest],
                ..Notes::default()
            })?;
            let message = format!("{address} has {} right replicas of {replicas}", found.replicas);
            return Err(Not::Failed(message));
        }
        Ok(Done {
            why: format!("{} replicas were read and are right", found.replicas),
            digest: Some(digest),
        })
    }

    /// Removes a file whose replicas are right now, and which is what was copied.
    fn release(&self, ready: &mut Ready<'_>, replicas: u32) -> Result<Done, Not> {
        let shelf = self
            .shelf
            .ok_or_else(|| Not::Failed("there is no store".to_owned()))?;
        let digest = self.catalogue.known(&ready.file)?;
        let digest = digest
            .ok_or_else(|| Not::Skipped("it has changed since it was copied, or never was".to_owned()))?;
        let copy = digest
            .copy
            .ok_or_else(|| Not::Skipped("it was never copied".to_owned()))?;
        let found = shelf
            .verify(&copy.address)
            .map_err(|error| Not::failed("the store", error))?
            .ok_or_else(|| Not::Failed(format!("{} is gone", copy.address)))?;
        if found.sha256 != digest.sha256 || found.replicas < replicas {
            let message = format!(
                "{} has {} right replicas of {replicas}",
                copy.address, found.replicas
            );
            return Err(Not::Failed(message));
        }
        crashpoint::pass(&CRASH_POINTS, "policy.verified");
        let staged = self.stage(ready, 0o700)?;
        crashpoint::pass(&CRASH_POINTS, "policy.staged");
        staged
            .remove()
            .map_err(|error| Not::failed("it lies in the trash and cannot be removed", error))?;
        crashpoint::pass(&CRASH_POINTS, "policy.unlinked");
        remove_empty(&ready.row.to, &ready.item.tree);
        ready.row.to = copy.address.clone().into_bytes();
        Ok(Done::new(format!(
            "{} has {} replicas that were read and are right",
            copy.address, found.replicas
        )))
    }

    fn shift(&self, ready: &Ready<'_>, mode: u16) -> Result<Done, Not> {
        self.stage(ready, mode)?;
        crashpoint::pass(&CRASH_POINTS, "policy.staged");
        Ok(Done::new("the condition held"))
    }

    /// Renames a file to where it goes, and looks at what has come there: if that is another file, it goes back.
    fn stage(&self, ready: &Ready<'_>, mode: u16) -> Result<Place, Not> {
        let staged = self.rename(ready, mode);
        if staged.is_err() {
            remove_empty(&ready.row.to, &ready.item.tree);
        }
        staged
    }

    fn rename(&self, ready: &Ready<'_>, mode: u16) -> Result<Place, Not> {
        let to = Place::make(&ready.row.to, mode).map_err(|error| {
            Not::failed(
                &format!("{} cannot be made", path_of(&ready.row.to).display()),
                error,
            )
        })?;
        ready.place.rename(&to).map_err(|error| match error.kind() {
            std::io::ErrorKind::CrossesDevices => Not::Failed(format!(
                "{} is on another file system: a file is only moved within one (copy it into a store, and release it)",
                path_of(to.path()).display()
            )),
            std::io::ErrorKind::AlreadyExists => {
                Not::Failed(format!("{} is there already", path_of(to.path()).display()))
            }
            std::io::ErrorKind::NotFound => Not::Skipped("it is not there any more".to_owned()),
            _ => Not::failed("it cannot be renamed", error),
        })?;
        let came = to.look(self.catalogue);
        if matches!(&came, Ok(Some(came)) if Seen::of(came) == Seen::of(&ready.file)) {
            return Ok(to);
        }
        match to.rename(&ready.place) {
            Ok(()) => Err(Not::Skipped(
                "it changed at the last moment, and is where it was".to_owned(),
            )),
            Err(error) => Err(Not::failed(
                &format!(
                    "it changed at the last moment, and is now {}",
                    path_of(to.path()).display()
                ),
                error,
            )),
        }
    }
}

/// Sets how an action ended, and returns what was found out of the content.
fn set(row: &mut ActRow, end: Result<Done, Not>) -> Option<Digest> {
    row.at_ms = now_ms();
    let (state, why, digest) = match end {
        Ok(Done { why, digest }) => (ActState::Done, why, digest),
        Err(Not::Skipped(why)) => (ActState::Skipped, why, None),
        Err(Not::Failed(why)) => (ActState::Failed, why, None),
    };
    row.state = state;
    row.why = why;
    digest
}

/// SHA-256 of a file; `None` where it was told to stop.
pub(super) fn digest(mut file: File, stop: &AtomicBool) -> std::io::Result<Option<[u8; 32]>> {
    let mut buffer = vec![0; 1 << 20];
    let mut sha256 = Sha256::new();
    loop {
        if stop.load(Relaxed) {
            return Ok(None);
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(sha256.finalize().into())),
            Ok(length) => sha256.update(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes for good what is in the trash.
fn empty(ready: &Ready<'_>) -> Result<Done, Not> {
    ready
        .place
        .remove()
        .map_err(|error| Not::failed("it cannot be removed", error))?;
    remove_empty(&ready.item.path, &ready.item.tree);
    Ok(Done::new("it has been in the trash for long enough"))
}

/// Removes the directories that were made in the trash for one file; those that hold others stay.
pub(super) fn remove_empty(path: &[u8], tree: &[u8]) {
    let mut at = path;
    while let Some(end) = at.iter().rposition(|&byte| byte == b'/') {
        at = &at[..end];
        let is_in_trash = is_below(at, tree)
            && at
                .split(|&byte| byte == b'/')
                .any(|name| name == TRASH.as_bytes());
        // An error says that something is in it: then it is still needed.
        if !is_in_trash || std::fs::remove_dir(path_of(at)).is_err() {
            return;
        }
    }
}

/// Runs a command for a file, without a shell.
fn run_command(command: &[String], ready: &Ready<'_>) -> Result<Done, Not> {
    let path = path_of(&ready.item.path);
    let mut arguments = command.iter().map(|argument| fill(argument, ready));
    let program = arguments.next().unwrap_or_default();
    let output = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| Not::failed(&format!("{} cannot be run", program.display()), error))?;
    if output.status.success() {
        return Ok(Done::new(format!("{} said that it was done", program.display())));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said
        .lines()
        .last()
        .unwrap_or("without a word")
        .chars()
        .take(300)
        .collect::<String>();
    Err(Not::Failed(format!(
        "{} for {}: {}: {said}",
        program.display(),
        path.display(),
        output.status
    )))
}

/// Puts what a command is to know in the place of `{path}`, `{name}`, `{size}` and `{tree}`.
fn fill(argument: &str, ready: &Ready<'_>) -> std::ffi::OsString {
    let mut out = Vec::new();
    let mut rest = argument;
    while let Some(open) = rest.find('{') {
        out.extend_from_slice(&rest.as_bytes()[..open]);
        rest = &rest[open..];
        let size = ready.file.size_bytes.to_string();
        let known: [(&str, &[u8]); 4] = [
            ("{path}", &ready.item.path),
            ("{name}", name_of(&ready.item.path)),
            ("{size}", size.as_bytes()),
            ("{tree}", &ready.item.tree),
        ];
        match known.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.extend_from_slice(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push(b'{');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest.as_bytes());
    std::os::unix::ffi::OsStringExt::from_vec(out)
}

/// Whether a path stands for a file of this identity now.
pub(crate) fn is_there(catalogue: &Catalogue, path: &[u8], seen: &Seen) -> bool {
    let found = Place::open(path).and_then(|place| place.look(catalogue));
    matches!(found, Ok(Some(file)) if file.id == seen.id && file.kind != Kind::Directory)
}
