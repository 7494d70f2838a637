//! Clients that ask for one page, again and again.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::http::{Connection, encoded};
use bench::weft_server::Server;

use crate::pages::{CAPTURED, Page};

/// How a page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Rewritten, as in the frame of a reader.
    Replayed,
    /// The payload as it was captured (`id_`).
    Payload,
    /// The record as it is stored.
    Record,
}

/// What a server did.
#[derive(Default)]
pub(crate) struct Measured {
    /// Processor time of the server.
    cpu_seconds: f64,
    /// Of each request, in microseconds.
    latencies_us: Vec<u32>,
}

impl Measured {
    pub(crate) fn add(&mut self, more: Measured) {
        self.cpu_seconds += more.cpu_seconds;
        self.latencies_us.extend(more.latencies_us);
        self.latencies_us.sort_unstable();
    }

    /// Processor time of a request, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.latencies_us.len() as f64
    }

    pub(crate) fn median_us(&self) -> f64 {
        f64::from(self.latencies_us[self.latencies_us.len() / 2])
    }
}

/// Asks for a page over so many connections.
pub(crate) fn ask(
    server: &Server,
    way: Way,
    page: &Page,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    let cpu_begun = bench::process::cpu_seconds(server.id())?;
    let until = Instant::now() + time;
    let latencies = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| client(server, way, page, until)))
            .collect();
        let mut latencies = Vec::new();
        for client in clients {
            match client.join() {
                Ok(done) => latencies.extend(done?),
                Err(_) => anyhow::bail!("a client panicked"),
            }
        }
        Ok(latencies)
    })?;
    Ok(Measured {
        cpu_seconds: bench::process::cpu_seconds(server.id())? - cpu_begun,
        latencies_us: latencies,
    })
}

fn client(server: &Server, way: Way, page: &Page, until: Instant) -> anyhow::Result<Vec<u32>> {
    let url = &page.url;
    let replay = server.replay.context("weft serve shows no archived pages")?;
    let (address, path) = match way {
        Way::Replayed => (replay, format!("/replay/{CAPTURED}mp_/{url}")),
        Way::Payload => (replay, format!("/replay/{CAPTURED}id_/{url}")),
        Way::Record => (
            server.address,
            format!("/record?url={}&at={CAPTURED}", encoded(url)),
        ),
    };
    let mut connection = Connection::open(address)?;
    let mut latencies = Vec::new();
    // One answer at least, so that there is a median.
    while latencies.is_empty() || Instant::now() < until {
        let begun = Instant::now();
        let answer = connection.get(&path)?;
        latencies.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
        // A page that is rewritten is longer, a record that is compressed is shorter.
        let is_right = match way {
            Way::Replayed => answer.body.len() > page.html.len(),
            Way::Payload => answer.body == page.html.as_bytes(),
            Way::Record => !answer.body.is_empty(),
        };
        ensure!(
            answer.status == 200 && is_right,
            "{path}: status {}, {} bytes",
            answer.status,
            answer.body.len()
        );
    }
    Ok(latencies)
}
