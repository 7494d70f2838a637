//! One step of a history, in this process or in another: opens the archive, runs one action, closes
//! it.
//!
//! Meanwhile the ledger is read repeatedly. A state seen by a reader is durable: no crash may undo
//! it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::question::{
    Cancel, FactsPlace, Forget, Job, JobBody, JobState, Ledger, LedgerRow, LinkScope, LoadRequest,
    SearchQuestion,
};
use archive::{Archive, AskError, OpenSettings};
use serde::{Deserialize, Serialize};

use super::journal;

/// Interval between two reads of the ledger during a load.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// An action and its options, as passed to another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    /// Directory of the archive.
    pub(super) archive: PathBuf,
    /// Which links to keep, if the archive is created.
    pub(super) links: LinkScope,
    /// Whether to keep facts, if the archive is created.
    pub(super) facts: bool,
    pub(super) action: Action,
    /// Abort once a reader sees this many new epochs.
    pub(super) abort_after_epochs: Option<u64>,
    /// If the action fails, remove the limit on file sizes and try again.
    pub(super) make_room: bool,
}

/// An action on the open archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Action {
    Load(LoadRequest),
    /// A load that is cancelled once it has added this many epochs.
    Cancel(LoadRequest, u64),
    /// Forgets the inputs with these names.
    Forget(Vec<String>),
    /// A query, which makes search catch up.
    Search,
}

/// The state of one epoch that a reader saw.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) epoch: u64,
    pub(super) rows: Vec<LedgerRow>,
    /// The journal file and its length after this epoch was seen: everything before is synced.
    pub(super) journal: Option<(PathBuf, u64)>,
}

/// The result of the action.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Ended {
    /// A load ended in this state.
    Job(Box<JobBody>),
    /// The action succeeded.
    Done,
    /// The archive could not be opened, or rejected the action.
    Refused(String),
}

impl Ended {
    /// Returns the error of a failed action.
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Ended::Done => None,
            Ended::Refused(why) => Some(why.clone()),
            Ended::Job(job) if matches!(job.state, JobState::Done | JobState::Cancelled) => None,
            Ended::Job(job) => Some(format!(
                "load {:?}: {}",
                job.state,
                job.error.clone().unwrap_or_default()
            )),
        }
    }
}

/// Executes an order; calls `see` for every epoch that a reader sees.
pub(super) fn carry_out(order: &Order, see: &mut dyn FnMut(Seen)) -> Ended {
    let archive = match open(&order.archive, order.links, order.facts) {
        Err(_) if order.make_room => {
            make_room();
            open(&order.archive, order.links, order.facts)
        }
        opened => opened,
    };
    let archive = match archive {
        Ok(archive) => archive,
        Err(why) => return Ended::Refused(why),
    };
    let mut reader = Reader {
        archive: &archive,
        index: order.archive.join("index"),
        first_epoch: None,
        last: None,
        abort_after_epochs: order.abort_after_epochs,
        see,
    };
    let result = reader.run(&order.action);
    let ended = result.unwrap_or_else(|error| Ended::Refused(error.message));
    if ended.failure().is_none() || !order.make_room {
        return ended;
    }
    make_room();
    let again = reader.run(&order.action);
    again.unwrap_or_else(|error| Ended::Refused(format!("after room was made: {}", error.message)))
}

/// Opens the archive as its owner, and creates it if necessary.
pub(super) fn open(dir: &Path, links: LinkScope, facts: bool) -> Result<Archive, String> {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    settings.links = Some(links);
    settings.facts = (!facts).then_some(FactsPlace::None);
    Archive::open(dir, settings).map_err(|error| error.to_string())
}

/// Returns the ledger and its epoch.
pub(super) fn ledger(archive: &Archive) -> Result<(u64, Vec<LedgerRow>), AskError> {
    let answer = archive.ask(Ledger {
        limit: 1000,
        ..Ledger::default()
    })?;
    Ok((answer.epoch, answer.body.rows))
}

/// Removes the limit on the size of this process's files. Only the soft limit was set.
fn make_room() {
    let pid = std::process::id().to_string();
    let arguments = ["--pid", &pid, "--fsize=unlimited:"];
    let raised = std::process::Command::new("prlimit").args(arguments).status();
    assert!(
        raised.is_ok_and(|status| status.success()),
        "prlimit cannot raise the soft limit"
    );
}

struct Reader<'a> {
    archive: &'a Archive,
    index: PathBuf,
    first_epoch: Option<u64>,
    last: Option<(u64, Vec<LedgerRow>)>,
    abort_after_epochs: Option<u64>,
    see: &'a mut dyn FnMut(Seen),
}

impl Reader<'_> {
    fn run(&mut self, action: &Action) -> Result<Ended, AskError> {
        self.look()?;
        let ended = match action {
            Action::Load(request) => self.load(request, None)?,
            Action::Cancel(request, epochs) => self.load(request, Some(*epochs))?,
            Action::Forget(inputs) => {
                let inputs = inputs.clone();
                self.archive.ask(Forget { inputs })?;
                Ended::Done
            }
            Action::Search => {
                self.archive.ask(SearchQuestion {
                    query: super::web::EVERYWHERE.to_owned(),
                    ..SearchQuestion::default()
                })?;
                Ended::Done
            }
        };
        self.look()?;
        Ok(ended)
    }

    /// As [`Archive::load`], but polls more often.
    fn load(&mut self, request: &LoadRequest, cancel_after: Option<u64>) -> Result<Ended, AskError> {
        let mut job = self.archive.ask(request.clone())?.body;
        let mut cancelled = false;
        while !job.state.has_ended() {
            let epochs = self.look()?;
            if !cancelled && cancel_after.is_some_and(|after| epochs >= after) {
                self.archive.ask(Cancel { id: job.id })?;
                cancelled = true;
            }
            std::thread::sleep(LOOK_INTERVAL);
            job = self.archive.ask(Job { id: job.id })?.body;
        }
        Ok(Ended::Job(Box::new(job)))
    }

    /// Reports the ledger if it changed; returns the number of epochs since the start.
    fn look(&mut self) -> Result<u64, AskError> {
        let (epoch, rows) = ledger(self.archive)?;
        let first = *self.first_epoch.get_or_insert(epoch);
        let epochs = epoch.saturating_sub(first);
        // A row may change without an epoch.
        let now = Some((epoch, rows.clone()));
        if self.last == now {
            return Ok(epochs);
        }
        self.last = now;
        // Measured after the epoch was seen, so it may include later writes but misses none.
        let journal = journal::end(&self.index);
        (self.see)(Seen { epoch, rows, journal });
        if self.abort_after_epochs.is_some_and(|after| epochs >= after) {
            std::process::abort();
        }
        Ok(epochs)
    }
}
