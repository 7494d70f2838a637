//! Repairs single keys that readers and scrub report.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use store_protocol::Key;

use super::board::{Board, FailureSubject};
use super::shared::Shared;

/// Interval between checks of the queue if nothing is added.
const LOOK_EVERY: Duration = Duration::from_mins(1);

pub(super) async fn run(shared: Arc<Shared>, board: Board) {
    let mut running = FuturesUnordered::new();
    loop {
        let next = if running.len() < shared.settings.repairs_at_once {
            shared.queue.take()
        } else {
            Err(None)
        };
        let wait = match next {
            Ok(key) => {
                board.busy();
                running.push(repair(&shared, &board, key));
                continue;
            }
            Err(wait) => wait.unwrap_or(LOOK_EVERY),
        };
        if running.is_empty() {
            board.idle();
        }
        tokio::select! {
            biased;
            () = shared.gate.stopped() => break,
            // Before arrivals: repairs proceed only while this is polled.
            Some(()) = running.next() => {}
            () = shared.queue.arrival() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn repair(shared: &Shared, board: &Board, key: Key) {
    let done = shared.reconciler.key(shared.cluster(), &key).await;
    // While a volume is away, its copies wait for it or for the end of the grace time, which a
    // normal pass handles. For a lost object nothing is left to try.
    if done.failures.is_empty() && (done.home_complete || !done.away.is_empty()) {
        shared.queue.done(&key);
    } else {
        shared.queue.again(&key);
    }
    let waiting = shared.queue.len() as u64;
    board.update(|status| {
        status.done += 1;
        status.total = Some(status.done + waiting);
        status.bytes += done.copied_bytes;
        status.found += done.found;
        status.repaired += done.repaired;
    });
    let failure = match (done.failures.last(), done.lost.first()) {
        (Some((what, why)), _) => Err(format!("{what}: {why}")),
        (None, Some((key, why))) => Err(format!("{key} is lost: {why}")),
        (None, None) => Ok(()),
    };
    board.ended(FailureSubject::Key(key), failure);
}
