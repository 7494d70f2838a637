//! A policy's plan and its run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::catalogue::{ActRow, Catalogue};
use anyhow::Context as _;
use cluster::ConnectSettings;
use policy::{Action, CopyStore, FinishedRun, Plan, Policy, RunSettings};

use super::shelf::StoreShelf;
use crate::commands::store::session::{StoreMode, with_store_until};
use crate::outcome::WrongUse;
use crate::stop::Stop;

/// A plan, with the store that it needs.
pub(crate) struct Job<'a> {
    catalogue: &'a Arc<Catalogue>,
    pub(crate) policy: &'a Policy,
    pub(crate) plan: Plan,
    store: Option<ConnectSettings>,
}

impl<'a> Job<'a> {
    /// Plans a policy. `store` is called only if the plan needs a store. No policy acts inside the
    /// directories of `kept`.
    pub(crate) fn plan(
        catalogue: &'a Arc<Catalogue>,
        policy: &'a Policy,
        kept: &[Vec<u8>],
        store: &dyn Fn() -> Result<ConnectSettings, WrongUse>,
    ) -> anyhow::Result<Job<'a>> {
        let plan = policy::plan(catalogue, policy, kept, system::time_ms())?;
        let needs_store = policy.action.kind().needs_store() && !plan.items.is_empty();
        let store = needs_store.then(store).transpose();
        let store = store.context(format!("policy {}", policy.name))?;
        Ok(Job {
            catalogue,
            policy,
            plan,
            store,
        })
    }

    /// Returns whether the run can be skipped without a log entry. A time trigger needs the entry,
    /// since it counts from the last run.
    pub(crate) fn is_idle(&self) -> bool {
        self.plan.items.is_empty() && self.plan.grown.is_empty() && self.policy.trigger.every_ms.is_none()
    }

    /// Returns whether the plan must be printed because the log will not contain all of it.
    pub(crate) fn is_listed(&self) -> bool {
        !self.plan.grown.is_empty() || matches!(self.policy.action, Action::Report)
    }

    /// Runs the plan and calls `each` after each file. A stop request ends the run soon; the next
    /// run continues it.
    pub(crate) fn run(
        self,
        stop: &Stop,
        each: &mut dyn FnMut(&ActRow) -> anyhow::Result<()>,
    ) -> anyhow::Result<FinishedRun> {
        let Job {
            catalogue,
            policy,
            plan,
            store,
        } = self;
        match store {
            Some(place) => with_store_until(stop.clone(), place, StoreMode::Create, async |session| {
                // This thread waits for the run's thread. The store's work is done by the threads
                // of the runtime.
                let shelf = StoreShelf::new(session);
                act(catalogue, policy, plan, Some(&shelf), stop, each)
            }),
            None => act(catalogue, policy, plan, None, stop, each),
        }
    }
}

fn act(
    catalogue: &Arc<Catalogue>,
    policy: &Policy,
    plan: Plan,
    shelf: Option<&dyn CopyStore>,
    stop: &Stop,
    each: &mut dyn FnMut(&ActRow) -> anyhow::Result<()>,
) -> anyhow::Result<FinishedRun> {
    let flag = AtomicBool::new(false);
    let (sender, acts) = std::sync::mpsc::channel::<ActRow>();
    let ran = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut send = |act: &ActRow| {
                // The receiver may have been dropped.
                let _ = sender.send(act.clone());
            };
            let mut settings = RunSettings {
                store: shelf,
                stop: &flag,
                each: &mut send,
            };
            policy::run(catalogue, policy, plan, &mut settings)
        });
        let mut told = Ok(());
        while !worker.is_finished() {
            if stop.is_requested() || told.is_err() {
                flag.store(true, Ordering::Relaxed);
            }
            if let Ok(act) = acts.recv_timeout(Duration::from_millis(20))
                && told.is_ok()
            {
                told = each(&act);
            }
        }
        for act in acts.try_iter() {
            told = told.and_then(|()| each(&act));
        }
        told.map(|()| worker.join())
    })?;
    match ran {
        Ok(ran) => Ok(ran?),
        Err(_) => anyhow::bail!("the run panicked: this is a bug in Weft"),
    }
}
