//! Ctrl-C and SIGTERM: the first signal requests a clean stop, the second ends the process at once.
//!
//! Ending at once is safe for an archive at any moment, because each epoch is one atomic step. A
//! clean stop only saves the work since the last epoch.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::Notify;

use crate::stderr::progress_line;

/// Exit code after a second signal: 128 + SIGINT, as shells expect.
const EXIT_INTERRUPTED: i32 = 130;

/// A flag that is set when a stop has been requested.
#[derive(Clone)]
pub(crate) struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
    /// Wakes async code.
    notify: Arc<Notify>,
}

impl Stop {
    /// Handles Ctrl-C and SIGTERM from now on. A limit on file size (`ulimit -f`) no longer ends
    /// the process: writes fail as on a full disk.
    pub(crate) fn listen() -> anyhow::Result<Stop> {
        let stop = Stop {
            state: Arc::default(),
            notify: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .context("start listening for signals")?;
        let flag = stop.clone();
        // Register before returning, so that no later Ctrl-C is missed.
        let mut signals = runtime
            .block_on(async { Signals::register() })
            .context("listen for signals")?;
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async {
                    signals.next().await;
                    flag.request();
                    signals.next().await;
                    std::process::exit(EXIT_INTERRUPTED);
                });
            })
            .context("start listening for signals")?;
        Ok(stop)
    }

    /// Returns whether a stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        *self.lock()
    }

    /// Waits until a stop is requested.
    pub(crate) fn wait(&self) {
        let mut asked = self.lock();
        while !*asked {
            asked = self.state.1.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a stop request for at most `time`. Returns whether there was one.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let asked = self.lock();
        let waited = self.state.1.wait_timeout_while(asked, time, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The async version of [`Stop::wait`].
    pub(crate) async fn stopped(&self) {
        let mut notified = std::pin::pin!(self.notify.notified());
        // Register before checking: otherwise a stop between the two would be missed.
        notified.as_mut().enable();
        if !self.is_requested() {
            notified.await;
        }
    }

    /// Ends the process with `code` after `time`, unless it has ended before: after a stop a server
    /// need not wait for running requests. Nothing is lost (see the head of this file).
    pub(crate) fn end_within(time: Duration, code: u8) -> anyhow::Result<()> {
        let name = std::thread::Builder::new().name("end".into());
        name.spawn(move || {
            system::pause(time);
            progress_line("stopped without waiting any longer");
            std::process::exit(code.into());
        })
        .context("start the shutdown timer")?;
        Ok(())
    }

    fn request(&self) {
        *self.lock() = true;
        self.state.1.notify_all();
        self.notify.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        // A bool cannot be left half changed, so a poisoned lock is usable.
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
        // The stream is dropped, but the handler keeps replacing the default action, which ends the
        // process.
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
