//! Checks a load from time to time while it runs.
//!
//! A load that waits for an input makes no epochs, so its stages are not called. Pages that wait
//! for the search index would then wait although somebody has searched. The search itself must not
//! feed them, because many pages take minutes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Time between two checks.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Runs `load`, and calls `check` in another thread after each interval until the load ends.
pub(super) fn checked<T>(interval: Duration, check: impl Fn() + Send, load: impl FnOnce() -> T) -> T {
    let (running, ended) = sync_channel::<()>(0);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("stalled".into());
        let started = thread.spawn_scoped(scope, move || repeat(interval, &ended, check));
        if let Err(error) = started {
            tracing::warn!(%error, "new pages are searchable late if the load stalls");
        }
        let outcome = load();
        // Ends the thread. A panic of the load does the same.
        drop(running);
        outcome
    })
}

fn repeat(interval: Duration, ended: &Receiver<()>, check: impl Fn()) {
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_checked_until_it_ends() {
        let (sender, checks) = sync_channel(1);
        let check = move || {
            let _ = sender.try_send(());
        };
        let is_checked = checked(Duration::ZERO, check, || checks.recv().is_ok());
        assert!(is_checked);
        // The thread has ended, and the sender with it: at most one check is left.
        assert!(checks.iter().count() <= 1);
    }
}
