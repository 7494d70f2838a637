//! Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the process at once.
//!
//! Ending at once is safe for an archive at any moment, because every epoch is one atomic step. A clean stop
//! only saves the work since the last epoch.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::Notify;

use crate::stderr::progress_line;

/// Exit code after a second signal: 128 + SIGINT, as shells expect.
const EXIT_INTERRUPTED: i32 = 130;

/// Whether a stop was asked for.
#[derive(Clone)]
pub(crate) struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
    /// Wakes async code.
    told: Arc<Notify>,
}

impl Stop {
    /// Handles Ctrl-C and SIGTERM from now on. A limit on the size of files (`ulimit -f`) no longer ends the process: writing
    /// fails, as it does on a full disk.
    pub(crate) fn listen() -> anyhow::Result<Stop> {
        let stop = Stop {
            state: Arc::default(),
            told: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .context("start listening for signals")?;
        let flag = stop.clone();
        // Register before this returns, so that no Ctrl-C from here on is missed.
        let mut signals = runtime
            .block_on(async { Signals::register() })
            .context("listen for signals")?;
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async {
                    signals.next().await;
                    flag.ask();
                    signals.next().await;
                    std::process::exit(EXIT_INTERRUPTED);
                });
            })
            .context("start listening for signals")?;
        Ok(stop)
    }

    /// Whether a stop was asked for.
    pub(crate) fn asked(&self) -> bool {
        *self.lock()
    }

    /// Waits until a stop is asked for.
    pub(crate) fn wait(&self) {
        let mut asked = self.lock();
        while !*asked {
            asked = self.state.1.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until a stop is asked for, but no longer than `time`; whether it was.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let asked = self.lock();
        let waited = self.state.1.wait_timeout_while(asked, time, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Like [`Stop::wait`], for async code.
    pub(crate) async fn stopped(&self) {
        let mut told = std::pin::pin!(self.told.notified());
        // Register before looking: otherwise a stop between the two would be missed.
        told.as_mut().enable();
        if !self.asked() {
            told.await;
        }
    }

    /// Ends the process with `code` after `time`, unless it has ended before: after a stop a server need not
    /// wait for running requests. Nothing is lost by this (see the head of this file).
    pub(crate) fn end_within(time: Duration, code: u8) -> anyhow::Result<()> {
        let name = std::thread::Builder::new().name("end".into());
        name.spawn(move || {
            system::pause(time);
            progress_line("stopped without waiting any longer");
            std::process::exit(code.into());
        })
        .context("start waiting for the end")?;
        Ok(())
    }

    fn ask(&self) {
        *self.lock() = true;
        self.state.1.notify_all();
        self.told.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        // A panic cannot leave a bool half changed, so a poisoned lock can be used.
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn register() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        // Nobody listens, but the handler stays in the place of the default, which ends the process.
        drop(signal(SignalKind::from_raw(
            rustix::process::Signal::XFSZ.as_raw(),
        ))?);
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn register() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
