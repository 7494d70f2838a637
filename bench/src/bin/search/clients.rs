//! Clients that send one query after the other, each over its own connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::queries::Queries;
use crate::server::Server;
use bench::http::Connection;

/// The measurements.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Time of each answer, ascending.
    pub(crate) times: Vec<Duration>,
    /// Number of answers without results (busy, timeout).
    pub(crate) refused: usize,
    /// Bytes of all answers.
    pub(crate) bytes: u64,
    /// From the first query to the last answer.
    pub(crate) wall: Duration,
}

/// Sends queries from a number of clients for a time.
pub(crate) fn ask(
    server: &Server,
    queries: &Queries,
    clients: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    let until = begin + time;
    let mut all = Measured::default();
    std::thread::scope(|scope| {
        let client = || ask_until(server, queries, &next, until);
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        for thread in threads {
            let measured = thread.join().ok().context("a client thread panicked")??;
            all.times.extend(measured.times);
            all.refused += measured.refused;
            all.bytes += measured.bytes;
        }
        anyhow::Ok(())
    })?;
    all.wall = begin.elapsed();
    all.times.sort_unstable();
    Ok(all)
}

fn ask_until(
    server: &Server,
    queries: &Queries,
    next: &AtomicUsize,
    until: Instant,
) -> anyhow::Result<Measured> {
    let mut connection = Connection::open(server.address)?;
    let mut measured = Measured::default();
    while Instant::now() < until {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let begin = Instant::now();
        let answer = connection.get(&queries.paths[number % queries.paths.len()])?;
        if answer.status == 200 {
            measured.times.push(begin.elapsed());
        } else {
            measured.refused += 1;
        }
        measured.bytes += answer.body.len() as u64;
    }
    Ok(measured)
}
