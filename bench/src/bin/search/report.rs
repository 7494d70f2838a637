//! Prints the tables.

use std::time::Duration;

use crate::clients::Measured;
use crate::findable;
use crate::queries::{Queries, TRIED};
use crate::server::Server;

/// Bizosys search on HBase, June 2010: 1 million pages of Wikipedia, 100 results per page, 100
/// users; mean before and after tuning. There are no published figures for fewer users.
const PUBLISHED_CLIENTS: usize = 100;
const PUBLISHED_DOCUMENTS: u64 = 1_000_000;
const PUBLISHED_MEAN_S: f64 = 5.0;
const PUBLISHED_MEAN_UNTUNED_S: f64 = 46.0;

/// Prints the archive and the queries.
pub(crate) fn subject(server: &Server, queries: &Queries) -> anyhow::Result<()> {
    let status = server.get("/api/v1/status")?;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "\nsearch: {} documents, epoch {}, {cores} cores for server and clients; {} queries, {} of them \
         without a match ({} of {TRIED} tried), 100 results per page",
        status["search_documents"],
        status["search_epoch"],
        queries.paths.len(),
        queries.without_match,
        queries.tried_without_match,
    );
    println!(
        "for comparison: Bizosys search on HBase, 2010, 1 million pages: mean of 100 users \
         {PUBLISHED_MEAN_S} s, untuned {PUBLISHED_MEAN_UNTUNED_S} s"
    );
    if status["search_documents"].as_u64() < Some(PUBLISHED_DOCUMENTS) {
        println!("(fewer documents than theirs, so the ratios are not comparable; use --full)");
    }
    Ok(())
}

pub(crate) fn heading(when: &str) {
    println!("\n{when}");
    println!(
        "{:>8}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}  against 5 s / 46 s",
        "clients", "queries/s", "mean ms", "p50 ms", "p95 ms", "p99 ms", "KB each", "refused"
    );
}

pub(crate) fn row(clients: usize, measured: &Measured) {
    let count = measured.times.len();
    let total: Duration = measured.times.iter().sum();
    let mean = total.as_secs_f64() / count.max(1) as f64;
    let ms = |share: f64| at(&measured.times, share).as_secs_f64() * 1000.0;
    let line = format!(
        "{clients:>8}{:>12.1}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>10.1}{:>10}",
        count as f64 / measured.wall.as_secs_f64(),
        mean * 1000.0,
        ms(0.50),
        ms(0.95),
        ms(0.99),
        measured.bytes as f64 / 1024.0 / count.max(1) as f64,
        measured.refused,
    );
    let beside = if clients == PUBLISHED_CLIENTS && count > 0 {
        format!(
            "  {:.0}x / {:.0}x",
            PUBLISHED_MEAN_S / mean,
            PUBLISHED_MEAN_UNTUNED_S / mean
        )
    } else {
        String::new()
    };
    println!("{line}{beside}");
}

/// Prints how long it took until captures were found.
pub(crate) fn findable(times: &[Duration]) {
    let ms = |share: f64| at(times, share).as_secs_f64() * 1000.0;
    println!(
        "\ntime from the start of `weft load` of one new page until a search finds it ({} pages, while {} \
         clients query): p50 {:.0} ms, p99 {:.0} ms",
        times.len(),
        findable::CLIENTS,
        ms(0.50),
        ms(0.99),
    );
}

/// Returns the time that a fraction of the answers did not exceed.
fn at(times: &[Duration], share: f64) -> Duration {
    let index = (times.len() as f64 * share).ceil() as usize;
    times.get(index.saturating_sub(1)).copied().unwrap_or_default()
}
