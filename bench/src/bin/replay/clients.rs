//! Clients that request pages repeatedly.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::http::{Connection, encoded};
use bench::weft_server::Server;

use crate::pages::Page;

/// How a page is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Rewritten, as for display in a frame.
    Replayed,
    /// The captured payload (`id_`).
    Payload,
    /// The stored record.
    Record,
}

/// The measurements of a server.
#[derive(Default)]
pub(crate) struct Measured {
    /// Processor time of the server.
    cpu_seconds: f64,
    /// Latency of each request, in microseconds.
    latencies_us: Vec<u32>,
}

impl Measured {
    pub(crate) fn add(&mut self, more: Measured) {
        self.cpu_seconds += more.cpu_seconds;
        self.latencies_us.extend(more.latencies_us);
        self.latencies_us.sort_unstable();
    }

    /// Returns the processor time per request, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.latencies_us.len() as f64
    }

    pub(crate) fn median_us(&self) -> f64 {
        f64::from(self.latencies_us[self.latencies_us.len() / 2])
    }
}

/// Requests pages in turn, over a number of connections.
pub(crate) fn ask(
    server: &Server,
    way: Way,
    pages: &[Page],
    connections: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    let cpu_begun = bench::process::cpu_seconds(server.id())?;
    let until = Instant::now() + time;
    let latencies = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| client(server, way, pages, until)))
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

fn client(server: &Server, way: Way, pages: &[Page], until: Instant) -> anyhow::Result<Vec<u32>> {
    let mut client = Client::open(server, way)?;
    let mut latencies = Vec::new();
    for page in pages.iter().cycle() {
        latencies.push(client.get(page)?);
        if Instant::now() >= until {
            break;
        }
    }
    Ok(latencies)
}

/// Returns the latency of a single page in microseconds: the median of `times` requests.
pub(crate) fn latency_us(client: &mut Client, page: &Page, times: usize) -> anyhow::Result<u32> {
    let latencies: anyhow::Result<Vec<u32>> = (0..times).map(|_| client.get(page)).collect();
    let mut latencies = latencies?;
    latencies.sort_unstable();
    Ok(latencies[times / 2])
}

/// A connection that requests pages in one way.
pub(crate) struct Client {
    connection: Connection,
    way: Way,
}

impl Client {
    pub(crate) fn open(server: &Server, way: Way) -> anyhow::Result<Client> {
        let address = match way {
            Way::Record => server.address,
            Way::Replayed | Way::Payload => server.replay.context("weft serve does not replay pages")?,
        };
        Ok(Client {
            connection: Connection::open(address)?,
            way,
        })
    }

    /// Requests a page, checks the response, and returns the time it took, in microseconds.
    fn get(&mut self, page: &Page) -> anyhow::Result<u32> {
        let Page { url, time, html, .. } = page;
        let path = match self.way {
            Way::Replayed => format!("/replay/{time}mp_/{url}"),
            Way::Payload => format!("/replay/{time}id_/{url}"),
            Way::Record => format!("/record?url={}&at={time}", encoded(url)),
        };
        let begun = Instant::now();
        let answer = self.connection.get(&path)?;
        let latency = u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX);
        let is_right = match self.way {
            Way::Replayed => answer.body != *html,
            Way::Payload => answer.body == *html,
            Way::Record => !answer.body.is_empty(),
        };
        ensure!(
            answer.status == 200 && is_right,
            "{path}: status {}, {} bytes",
            answer.status,
            answer.body.len()
        );
        Ok(latency)
    }
}
