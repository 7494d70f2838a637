//! One step of a history as it is carried out, in this process or in another: open the archive, do one thing, close it.
//!
//! Whoever carries it out reads the ledger again and again meanwhile. What a reader has seen is durable: no crash may take
//! it back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::question::{
    Cancel, FactsPlace, Forget, Job, JobBody, JobState, Ledger, LedgerRow, LinkScope, LoadRequest,
    SearchQuestion,
};
use archive::{Archive, AskError, OpenSettings};
use serde::{Deserialize, Serialize};

use super::journal;

/// Time between two looks at a load.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// What to do, as it is handed to another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    /// The archive's directory.
    pub(super) archive: PathBuf,
    /// Which links it keeps, if it is to be created.
    pub(super) links: LinkScope,
    /// Whether it keeps facts, if it is to be created.
    pub(super) facts: bool,
    pub(super) action: Action,
    /// Abort when a reader sees so many epochs more than at the beginning.
    pub(super) abort_after_epochs: Option<u64>,
    /// Give the process room again when the action failed, and try again.
    pub(super) make_room: bool,
}

/// What is done with the open archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Action {
    Load(LoadRequest),
    /// A load that is cancelled when it has added so many epochs.
    Cancel(LoadRequest, u64),
    /// Inputs of these names.
    Forget(Vec<String>),
    /// Only a question, which makes search catch up.
    Search,
}

/// What a reader saw of one epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) epoch: u64,
    pub(super) rows: Vec<LedgerRow>,
    /// The journal's file and its length after this epoch was seen: everything before it is synced.
    pub(super) journal: Option<(PathBuf, u64)>,
}

/// How the action ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Ended {
    /// A load ended in this state.
    Job(Box<JobBody>),
    /// The action is done.
    Done,
    /// The archive could not be opened, or refused the action.
    Refused(String),
}

impl Ended {
    /// Why the action was not carried out, if it was not.
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

/// Carries an order out; `see` is called for every epoch that a reader sees.
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
    again.unwrap_or_else(|error| Ended::Refused(format!("with room again: {}", error.message)))
}

/// Opens as owner, creating the archive.
pub(super) fn open(dir: &Path, links: LinkScope, facts: bool) -> Result<Archive, String> {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    settings.links = Some(links);
    settings.facts = (!facts).then_some(FactsPlace::None);
    Archive::open(dir, settings).map_err(|error| error.to_string())
}

/// The ledger, and the epoch that it is of.
pub(super) fn ledger(archive: &Archive) -> Result<(u64, Vec<LedgerRow>), AskError> {
    let answer = archive.ask(Ledger {
        limit: 1000,
        ..Ledger::default()
    })?;
    Ok((answer.epoch, answer.body.rows))
}

/// Takes the limit on the size of this process's files away; only the soft one was set.
fn make_room() {
    let pid = std::process::id().to_string();
    let arguments = ["--pid", &pid, "--fsize=unlimited:"];
    let raised = std::process::Command::new("prlimit").args(arguments).status();
    assert!(
        raised.is_ok_and(|status| status.success()),
        "prlimit raises a soft limit"
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

    /// As [`Archive::load`], but looking more often.
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

    /// Shows the ledger if it is another one; returns how many epochs there were since the beginning.
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
        // Measured after the epoch was seen, so what it contains of later ones is too much at most.
        let journal = journal::end(&self.index);
        (self.see)(Seen { epoch, rows, journal });
        if self.abort_after_epochs.is_some_and(|after| epochs >= after) {
            std::process::abort();
        }
        Ok(epochs)
    }
}
