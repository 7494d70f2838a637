//! `weft serve --policies`: runs policies when they are due.
//!
//! Invariants:
//! - Invalid rules fail the server before it listens. If the rules become invalid later, no policy
//!   runs.
//! - The catalogue is opened for one policy at a time, so that scans, pages and manual runs get
//!   their turn.
//! - The same error of a policy is reported once, not every minute.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use cluster::ConnectSettings;
use policy::{Policy, Trigger};

use crate::commands::files::open_of;
use crate::commands::files::policy::{Job, line, protected_dirs, read};
use crate::context::Context;
use crate::exit::chain_text;
use crate::outcome::WrongUse;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::store_args::from_environment;
use crate::style::clean;
use crate::units::counted;

/// How often to check which policies are due.
const EVERY: Duration = Duration::from_secs(60);
/// Time between checks for a stop.
const PAUSE: Duration = Duration::from_millis(100);

/// The policies of an archive's rules.
pub(super) struct Policies {
    archive: PathBuf,
    /// The store given to the server; if `None`, the store of the environment.
    store: Option<ConnectSettings>,
    /// The last error per policy; the empty name denotes the rules file.
    reported: HashMap<String, String>,
}

/// The running thread of policies.
pub(super) struct RunningPolicies(JoinHandle<()>);

impl Policies {
    /// Reads the rules. Mistakes in them are reported here.
    pub(super) fn begin(store: Option<ConnectSettings>, context: &Context) -> anyhow::Result<Policies> {
        read(None, &context.archive)?;
        Ok(Policies {
            archive: context.archive.clone(),
            store,
            reported: HashMap::new(),
        })
    }

    /// Continues on a separate thread until a stop.
    pub(super) fn start(mut self, stop: &Stop) -> anyhow::Result<RunningPolicies> {
        let stop = stop.clone();
        let thread = std::thread::Builder::new().name("policies".into());
        let spawned = thread.spawn(move || {
            while !stop.is_requested() {
                self.round(&stop);
                let begun = system::now();
                while !stop.is_requested() && system::since(begun) < EVERY {
                    system::pause(PAUSE);
                }
            }
        });
        Ok(RunningPolicies(spawned.context("start a thread")?))
    }

    fn round(&mut self, stop: &Stop) {
        // Read the rules each time, so that a change takes effect within a minute.
        let rules = match read(None, &self.archive) {
            Ok((_, rules)) => rules,
            Err(error) => return self.say("", Err(error)),
        };
        self.reported.remove("");
        for policy in &rules.policies {
            if stop.is_requested() {
                return;
            }
            // A policy without a trigger runs only when named.
            if policy.trigger != Trigger::default() {
                let result = self.run_if_due(policy, stop);
                self.say(&policy.name, result);
            }
        }
    }

    fn run_if_due(&self, policy: &Policy, stop: &Stop) -> anyhow::Result<Option<String>> {
        let catalogue = open_of(&self.archive)?;
        policy::settle(&catalogue)?;
        if !policy::is_due(&catalogue, policy, system::time_ms())? {
            return Ok(None);
        }
        let job = Job::plan(&catalogue, policy, &protected_dirs(&self.archive), &|| {
            self.store()
        })?;
        if job.is_idle() {
            return Ok(None);
        }
        let grown = job.plan.grown.len() as u64;
        let ran = job.run(stop, &mut |_| Ok(()))?;
        let mut text = line(&ran);
        if grown > 0 {
            text += &format!(
                ", {} by more than the limit",
                counted(grown, "tree grew", "trees grew")
            );
        }
        if !ran.row.end.is_empty() {
            text += &format!("; ended early: {}", ran.row.end);
        }
        Ok(Some(text))
    }

    fn store(&self) -> Result<ConnectSettings, WrongUse> {
        self.store.clone().map_or_else(from_environment, Ok)
    }

    /// Reports the result of a policy, except an error that was already reported.
    fn say(&mut self, name: &str, result: anyhow::Result<Option<String>>) {
        let what = match name {
            "" => "policies.toml".to_owned(),
            name => format!("policy {}", clean(name)),
        };
        match result {
            Ok(line) => {
                self.reported.remove(name);
                if let Some(line) = line {
                    progress_line(&format!("{what}: {line}"));
                }
            }
            Err(error) => {
                let error = chain_text(&error);
                if self.reported.get(name) != Some(&error) {
                    progress_line(&format!("{what}: {error}"));
                    self.reported.insert(name.to_owned(), error);
                }
            }
        }
    }
}

impl RunningPolicies {
    /// Waits for the thread to end. A running policy stops after the files it is working on.
    pub(super) fn end(self) {
        if let Err(panic) = self.0.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
