//! A history of an archive: files arrive and change, loads are killed and resumed, and in the end
//! everything is loaded.

use std::fs;
use std::path::{Path, PathBuf};

use archive::question::{InputState, LedgerRow, LinkScope};
use store_testkit::Dice;

use super::check::{check, check_index};
use super::expected::whole_part;
use super::journal;
use super::order::{self, Action, Ended, Order, Seen, carry_out};
use super::plan::{self, Fault};
use super::positions::{never_back, told};
use super::process::{self, Outcome};
use super::world::World;
use crate::Trace;

/// Minimum number of steps of a history, and the range above it.
const STEPS_MIN: u64 = 3;
const STEPS_SPREAD: u64 = 6;

/// Runs the history that the seed determines.
pub(super) fn run(seed: u64, trace: &Trace) -> Result<(), String> {
    let home = tempfile::Builder::new()
        .prefix("weft-simulate-")
        .tempdir_in(temporary());
    let home = home.map_err(|error| format!("cannot create a folder: {error}"))?;
    let mut dice = Dice(seed);
    let links = [LinkScope::All, LinkScope::External][dice.roll(2) as usize];
    // A simulated power failure truncates the index's journal. In reality syncs ensure that the
    // facts are not ahead of it, but the truncation ignores them. So histories that keep facts have
    // no power failures.
    let facts = dice.roll(2) == 0;
    trace.line(format!(
        "links {links}, facts {}",
        if facts { "kept" } else { "not kept" }
    ));
    let mut history = History {
        world: World::new(home.path().join("inputs")),
        archive: home.path().join("a"),
        links,
        facts,
        dice,
        trace,
        rows: Vec::new(),
        forgotten: Vec::new(),
        epoch: 0,
        synced: None,
        is_torn: false,
    };
    let steps = STEPS_MIN + history.dice.roll(STEPS_SPREAD);
    for number in 1..=steps {
        history
            .step(number)
            .map_err(|what| format!("step {number}: {what}"))?;
    }
    history.end().map_err(|what| format!("at the end: {what}"))
}

/// Returns an in-memory directory if there is one, because syncing to a disk is slow.
fn temporary() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let is_writable = fs::metadata(memory).is_ok_and(|metadata| !metadata.permissions().readonly());
    if is_writable {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

struct History<'t> {
    world: World,
    archive: PathBuf,
    links: LinkScope,
    facts: bool,
    dice: Dice,
    trace: &'t Trace,
    /// The ledger as last seen.
    rows: Vec<LedgerRow>,
    /// Names of inputs requested to be forgotten since then.
    forgotten: Vec<String>,
    /// The greatest epoch seen.
    epoch: u64,
    /// The journal, and its synced length.
    synced: Option<(PathBuf, u64)>,
    /// Whether the journal was truncated: writes synced since a reader saw it may be lost too.
    is_torn: bool,
}

impl History<'_> {
    fn step(&mut self, number: u64) -> Result<(), String> {
        let mut grown = None;
        for _ in 0..1 + self.dice.roll(3) {
            grown = self.world.change(&mut self.dice, self.trace).or(grown);
        }
        // It may have been renamed, replaced or removed after it grew.
        grown = grown.filter(|name| self.world.files().contains_key(name));
        if self.dice.roll(16) == 0 {
            self.trace.count("search index removed");
            self.trace.line("the search index is removed");
            let _ = fs::remove_dir_all(self.archive.join("search"));
        }
        let action = plan::action(&self.world, self.links, grown.as_deref(), &mut self.dice);
        let fault = plan::fault(&action, number < 3, grown.is_some(), &mut self.dice);
        self.trace.line(format!("{}; {fault}", plan::told(&action)));
        self.trace.count(match action {
            Action::Load(_) => "load",
            Action::Cancel(..) => "load cancelled",
            Action::Forget(_) => "forget",
            Action::Search => "search",
        });
        let order = Order {
            archive: self.archive.clone(),
            links: self.links,
            facts: self.facts,
            action,
            abort_after_epochs: match fault {
                Fault::Abort { epochs } => Some(epochs),
                _ => None,
            },
            make_room: matches!(fault, Fault::Full { make_room: true, .. }),
        };
        let outcome = self.carry_out(&order, &fault)?;
        let forgotten = match &order.action {
            Action::Forget(names) => names.clone(),
            _ => Vec::new(),
        };
        self.take_in(outcome.seen, forgotten)?;
        // Rolled in any case: later steps must not depend on how this one ended.
        let (tears, mut tearing, checks) = (
            self.dice.roll(2) == 0,
            Dice(self.dice.roll(1 << 62)),
            self.dice.roll(3),
        );
        match &outcome.ended {
            None => {
                self.trace.count(&match fault {
                    Fault::Kill { point, .. } => format!("killed at {point}"),
                    _ => "killed after some epochs".to_owned(),
                });
                if let Some((journal, synced)) = self.synced.as_ref().filter(|_| tears && !self.facts)
                    && let Some(what) = journal::tear(journal, *synced, &mut tearing)
                {
                    self.trace.count(&format!("journal {what}"));
                    self.is_torn = true;
                }
            }
            Some(ended) => self.judge(&order, &fault, ended)?,
        }
        match checks {
            0 => Ok(()),
            checks => self.check(checks == 1),
        }
    }

    fn carry_out(&mut self, order: &Order, fault: &Fault) -> Result<Outcome, String> {
        let file_bytes_max = match fault {
            Fault::None => {
                let mut seen = Vec::new();
                let ended = Some(carry_out(order, &mut |now| seen.push(now)));
                return Ok(Outcome { seen, ended });
            }
            Fault::Full { bytes, .. } => {
                self.trace.count("full disk");
                let end = journal::end(&self.archive.join("index")).map_or(0, |(_, end)| end);
                Some(end + bytes)
            }
            Fault::Kill { .. } | Fault::Abort { .. } => None,
        };
        process::run(order, fault, file_bytes_max)
    }

    /// Processes the states seen by readers, each of which must include the previous one. At the
    /// first of them the action, which forgets the inputs `forgotten`, has not begun.
    fn take_in(&mut self, seen: Vec<Seen>, forgotten: Vec<String>) -> Result<(), String> {
        for seen in seen {
            self.see(seen.epoch, seen.rows)?;
            self.synced = seen.journal;
            self.forgotten.clone_from(&forgotten);
        }
        self.forgotten.extend(forgotten);
        Ok(())
    }

    fn see(&mut self, epoch: u64, rows: Vec<LedgerRow>) -> Result<(), String> {
        if epoch < self.epoch {
            return Err(format!("epoch {epoch} was seen after epoch {}", self.epoch));
        }
        never_back(&self.world, &self.rows, &rows, &self.forgotten)?;
        (self.epoch, self.rows) = (epoch, rows);
        self.forgotten.clear();
        Ok(())
    }

    /// Checks the result of an action that ended.
    fn judge(&self, order: &Order, fault: &Fault, ended: &Ended) -> Result<(), String> {
        let Some(why) = ended.failure() else {
            return match &order.action {
                Action::Load(request) => {
                    self.all_loaded(&request.inputs.iter().map(|i| &*i.name).collect::<Vec<_>>())
                }
                _ => Ok(()),
            };
        };
        let other_links = matches!(&order.action, Action::Load(request) | Action::Cancel(request, _)
            if request.links.is_some_and(|links| links != self.links));
        let refuses = ["is loaded to its end", "no input ", "cannot be read again"];
        let is_expected = match (&order.action, fault) {
            // If there are several errors, they are reported together.
            _ if other_links && why.contains("links") => true,
            (Action::Forget(_), _) if refuses.iter().any(|words| why.contains(words)) => true,
            // Only a load reopens an index that refuses writes.
            (Action::Forget(_), Fault::Full { .. }) if why.contains("refuses writes") => true,
            (_, Fault::Full { make_room, .. }) => {
                self.trace.count("full disk: refused");
                !make_room
            }
            _ => false,
        };
        if is_expected {
            Ok(())
        } else {
            Err(format!("the action failed: {why}"))
        }
    }

    /// Checks that these files are loaded to their end.
    fn all_loaded(&self, names: &[&str]) -> Result<(), String> {
        for (name, beginning) in self.world.files() {
            if !names.contains(&".") && !names.contains(&name.as_str()) {
                continue;
            }
            let digest = self.world.digest(*beginning);
            let row = self.rows.iter().find(|row| row.digest == digest);
            let is_loaded = match row {
                // Data that the views need from it can no longer be read, as a row reports in
                // `missing`.
                None => self.world.is_anything_gone && self.rows.iter().any(|row| !row.missing.is_empty()),
                Some(row) => match row.state {
                    InputState::Done => row.bytes_done == row.size,
                    InputState::Failed { .. } => row.captures == 0,
                    // The input may grow.
                    _ => row.bytes_done >= whole_part(&self.world, *beginning),
                },
            };
            // If several files have the same content, the first decides whether the input may grow.
            let is_closed = self
                .world
                .files()
                .iter()
                .all(|(name, other)| other != beginning || !name.ends_with(".open"));
            let is_unfinished = row.is_some_and(|row| row.state == InputState::Loading);
            if !is_loaded || is_unfinished && is_closed {
                return Err(format!("{name} is not loaded; {}", told(&self.rows)));
            }
        }
        Ok(())
    }

    fn check(&mut self, whole: bool) -> Result<(), String> {
        self.trace.count("check");
        let archive = order::open(&self.archive, self.links, self.facts)?;
        let found = check(&archive, &self.world, self.links)?;
        if whole {
            check_index(&archive, self.is_torn)?;
        }
        drop(archive);
        self.see(found.epoch, found.rows)?;
        self.synced = journal::end(&self.archive.join("index"));
        Ok(())
    }

    /// Ends all faults and loads everything.
    fn end(&mut self) -> Result<(), String> {
        // Checked before the files change: the present contents of the archive must still be known.
        self.check(false)?;
        self.world.complete();
        let order = Order {
            archive: self.archive.clone(),
            links: self.links,
            facts: self.facts,
            action: Action::Load(plan::load_all(&self.world)),
            abort_after_epochs: None,
            make_room: false,
        };
        self.load_whole(&order)?;
        // Data that the views need from a file may be in a renamed file that this load found later.
        // The row reports it as missing, and the next load reads it.
        if self.rows.iter().any(|row| !row.missing.is_empty()) {
            self.trace.count("loaded again");
            self.load_whole(&order)?;
        }
        self.all_loaded(&["."])?;
        self.check(true)
    }

    /// Runs a load without a fault, which must succeed.
    fn load_whole(&mut self, order: &Order) -> Result<(), String> {
        let outcome = self.carry_out(order, &Fault::None)?;
        self.take_in(outcome.seen, Vec::new())?;
        match outcome.ended.and_then(|ended| ended.failure()) {
            Some(why) => Err(format!("the action failed: {why}")),
            None => Ok(()),
        }
    }
}
