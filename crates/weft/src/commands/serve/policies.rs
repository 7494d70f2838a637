//! `weft serve --policies`: policies that are due run by themselves.
//!
//! Invariants:
//!  - rules that are wrong end the server before it listens; while they are wrong later, nothing runs;
//!  - the catalogue is open for one policy at a time, so that scans, pages and runs by hand come in between;
//!  - the same error of the same policy is said once, and not each minute.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use cluster::ConnectSettings;
use policy::{Policy, Trigger};

use crate::commands::files::open_of;
use crate::commands::files::policy::{Job, kept, line, read};
use crate::commands::files::when::now_ms;
use crate::context::Context;
use crate::exit::chain_text;
use crate::outcome::WrongUse;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::style::clean;
use crate::units::counted;
use crate::which_store::of_environment;

/// How often it is looked which policies are due.
const EVERY: Duration = Duration::from_secs(60);
/// Between looks whether to end.
const PAUSE: Duration = Duration::from_millis(100);

/// Policies of an archive's rules.
pub(super) struct Policies {
    archive: PathBuf,
    /// The store that the server was given; without one, that of the environment.
    store: Option<ConnectSettings>,
    /// The last error of each policy, and of the rules under an empty name.
    said: HashMap<String, String>,
}

/// The same while it runs.
pub(super) struct Running(JoinHandle<()>);

impl Policies {
    /// Reads the rules: what is wrong with them is found here.
    pub(super) fn begin(store: Option<ConnectSettings>, context: &Context) -> anyhow::Result<Policies> {
        read(None, &context.archive)?;
        Ok(Policies {
            archive: context.archive.clone(),
            store,
            said: HashMap::new(),
        })
    }

    /// Goes on in a thread of its own, until a stop.
    pub(super) fn start(mut self, stop: &Stop) -> anyhow::Result<Running> {
        let stop = stop.clone();
        let thread = std::thread::Builder::new().name("policies".into());
        let spawned = thread.spawn(move || {
            while !stop.asked() {
                self.round(&stop);
                let begun = system::now();
                while !stop.asked() && system::since(begun) < EVERY {
                    system::pause(PAUSE);
                }
            }
        });
        Ok(Running(spawned.context("start a thread")?))
    }

    fn round(&mut self, stop: &Stop) {
        // Each time, so that what is changed there holds a minute later.
        let rules = match read(None, &self.archive) {
            Ok((_, rules)) => rules,
            Err(error) => return self.say("", Err(error)),
        };
        self.said.remove("");
        for policy in &rules.policies {
            if stop.asked() {
                return;
            }
            // Without a trigger it runs when it is named.
            if policy.trigger != Trigger::default() {
                let result = self.run_if_due(policy, stop);
                self.say(&policy.name, result);
            }
        }
    }

    fn run_if_due(&self, policy: &Policy, stop: &Stop) -> anyhow::Result<Option<String>> {
        let catalogue = open_of(&self.archive)?;
        policy::settle(&catalogue)?;
        if !policy::is_due(&catalogue, policy, now_ms())? {
            return Ok(None);
        }
        let job = Job::plan(&catalogue, policy, &kept(&self.archive), &|| self.store())?;
        if job.is_idle() {
            return Ok(None);
        }
        let grown = job.plan.grown.len() as u64;
        let ran = job.run(stop, &mut |_| Ok(()))?;
        let mut said = line(&ran);
        if grown > 0 {
            said += &format!(", {} too much", counted(grown, "tree grew", "trees grew"));
        }
        if !ran.row.end.is_empty() {
            said += &format!("; it ended before all was done: {}", ran.row.end);
        }
        Ok(Some(said))
    }

    fn store(&self) -> Result<ConnectSettings, WrongUse> {
        self.store.clone().map_or_else(of_environment, Ok)
    }

    /// Says what a policy did, or why it did not, unless that was said before.
    fn say(&mut self, name: &str, result: anyhow::Result<Option<String>>) {
        let what = match name {
            "" => "the rules of policies".to_owned(),
            name => format!("policy {}", clean(name)),
        };
        match result {
            Ok(line) => {
                self.said.remove(name);
                if let Some(line) = line {
                    progress_line(&format!("{what}: {line}"));
                }
            }
            Err(error) => {
                let error = chain_text(&error);
                if self.said.get(name) != Some(&error) {
                    progress_line(&format!("{what}: {error}"));
                    self.said.insert(name.to_owned(), error);
                }
            }
        }
    }
}

impl Running {
    /// Waits until it has ended: a run that is under way ends with the files that it is at.
    pub(super) fn end(self) {
        if let Err(panic) = self.0.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
