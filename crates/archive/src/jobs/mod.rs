//! Loads, one after the other. Any thread may request, watch and cancel them.
//!
//! Invariants:
//! - at most one job runs; the others wait in the order of their requests;
//! - a job ends in exactly one of `done`, `cancelled`, `interrupted`, `failed`;
//! - after [`Jobs::close`] no job runs and none can be added.

mod job;
mod pace;
mod problems;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

pub(crate) use job::Job;

use crate::AskError;
use crate::load::LoadError;
use crate::question::{JobBody, LoadRequest};

/// Limit of finished jobs that are kept.
const FINISHED_MAX: usize = 100;

/// The jobs of an archive.
#[derive(Default)]
pub(crate) struct Jobs {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    /// All jobs that are kept, oldest first.
    all: Vec<Arc<Job>>,
    waiting: VecDeque<Arc<Job>>,
    last_id: u64,
    closing: bool,
}

impl Jobs {
    /// Adds a load to the end of the queue. Returns its state before it begins, without its inputs,
    /// because those are known only from the ledger.
    pub(crate) fn submit(&self, request: LoadRequest) -> Result<JobBody, AskError> {
        let mut state = self.state.lock();
        if state.closing {
            return Err(AskError::unavailable("the archive is being closed"));
        }
        state.last_id += 1;
        let job = Arc::new(Job::new(state.last_id, request));
        let queued = job.body(&[]);
        state.forget_finished();
        state.all.push(job.clone());
        state.waiting.push_back(job);
        self.wake.notify_all();
        Ok(queued)
    }

    pub(crate) fn get(&self, id: u64) -> Result<Arc<Job>, AskError> {
        let state = self.state.lock();
        let found = state.all.iter().find(|job| job.id == id);
        found
            .cloned()
            .ok_or_else(|| AskError::not_found(format!("no job {id}")))
    }

    /// Returns all jobs that are kept, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        self.state.lock().all.iter().rev().cloned().collect()
    }

    /// Returns every job and whether it has begun and ended, newest first.
    pub(crate) fn phases(&self) -> Vec<(u64, bool, bool)> {
        let all = self.all();
        all.iter()
            .map(|job| (job.id, job.has_begun(), job.has_ended()))
            .collect()
    }

    /// Returns the newest job that has begun.
    pub(crate) fn current(&self) -> Option<Arc<Job>> {
        self.all().into_iter().find(|job| job.has_begun())
    }

    /// Returns the number of jobs that have not ended.
    pub(crate) fn active(&self) -> u64 {
        self.state
            .lock()
            .all
            .iter()
            .filter(|job| !job.has_ended())
            .count() as u64
    }

    /// Runs `work` if no job is running or waiting. Holds the lock meanwhile, so that none can be
    /// added.
    pub(crate) fn while_idle<T>(&self, work: impl FnOnce() -> T) -> Result<T, AskError> {
        let state = self.state.lock();
        if state.all.iter().any(|job| !job.has_ended()) {
            return Err(AskError::unavailable(
                "a load is running; try again when it has ended",
            ));
        }
        Ok(work())
    }

    /// Stops a job: at its next epoch if it is running, immediately if it waits.
    pub(crate) fn cancel(&self, id: u64) -> Result<Arc<Job>, AskError> {
        let job = self.get(id)?;
        job.stop();
        let mut state = self.state.lock();
        if let Some(place) = state.waiting.iter().position(|waiting| waiting.id == id) {
            state.waiting.remove(place);
            job.end(Ok(()));
        }
        Ok(job)
    }

    /// Starts the thread that runs the jobs.
    pub(crate) fn start(
        self: &Arc<Jobs>,
        run: impl Fn(&Arc<Job>) -> Result<(), LoadError> + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let jobs = self.clone();
        std::thread::Builder::new().name("jobs".into()).spawn(move || {
            while let Some(job) = jobs.next() {
                job.begin();
                // A panic must not end the thread, or the jobs after this one would wait forever.
                let outcome = catch_unwind(AssertUnwindSafe(|| run(&job)));
                job.end(outcome.unwrap_or_else(|_| Err(LoadError::Panic)));
            }
        })
    }

    fn next(&self) -> Option<Arc<Job>> {
        let mut state = self.state.lock();
        loop {
            if state.closing {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            self.wake.wait(&mut state);
        }
    }

    /// Interrupts all jobs. The caller then joins the thread.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        for job in state.all.iter().filter(|job| !job.has_ended()) {
            job.interrupt();
        }
        for job in std::mem::take(&mut state.waiting) {
            job.end(Ok(()));
        }
        self.wake.notify_all();
    }
}

impl State {
    fn forget_finished(&mut self) {
        let finished = self.all.iter().filter(|job| job.has_ended()).count();
        let mut surplus = (finished + 1).saturating_sub(FINISHED_MAX);
        self.all.retain(|job| {
            let forget = surplus > 0 && job.has_ended();
            surplus -= usize::from(forget);
            !forget
        });
    }
}
