//! Clients that send one request after the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use bench::http::Connection;

use crate::captures::Captures;
use bench::weft_server::Server;

/// The measurements of a server.
pub(crate) struct Measured {
    pub(crate) answers: u64,
    pub(crate) seconds: f64,
    /// Processor time of the server.
    pub(crate) cpu_seconds: f64,
}

/// Requests captures at `path` over a number of connections.
pub(crate) fn ask(
    server: &Server,
    path: &str,
    captures: &Captures,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    let next = AtomicU64::new(0);
    let cpu_begun = bench::process::cpu_seconds(server.id())?;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| client(server, path, captures, &next, begun + time)))
            .collect();
        clients.into_iter().try_for_each(|client| match client.join() {
            Ok(done) => done,
            Err(_) => anyhow::bail!("a client panicked"),
        })
    })?;
    Ok(Measured {
        answers: next.load(Ordering::Relaxed),
        seconds: begun.elapsed().as_secs_f64(),
        cpu_seconds: bench::process::cpu_seconds(server.id())? - cpu_begun,
    })
}

fn client(
    server: &Server,
    path: &str,
    captures: &Captures,
    next: &AtomicU64,
    until: Instant,
) -> anyhow::Result<()> {
    let mut connection = Connection::open(server.address)?;
    while Instant::now() < until {
        let number = next.fetch_add(1, Ordering::Relaxed) as usize;
        let url = &captures.urls[number % captures.urls.len()];
        let answer = connection.get(&format!("{path}?url={url}"))?;
        // Each URL was captured.
        ensure!(
            answer.status == 200 && answer.body.ends_with(b"\n"),
            "{path}?url={url}: status {}, {} bytes",
            answer.status,
            answer.body.len()
        );
    }
    Ok(())
}
