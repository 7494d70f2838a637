//! Measures how long it takes until a search finds a new capture.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use warc::{Compression, Draft, Writer};

use crate::clients;
use crate::queries::Queries;
use crate::server::Server;

/// Number of captures, loaded one after the other.
const CAPTURES: usize = 200;

/// Timeout.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Fetch time of the captures.
const DATE_MS: i64 = 1_750_000_000_000;

/// Number of clients that search meanwhile.
pub(crate) const CLIENTS: usize = 10;

/// Returns the times from the start of a `weft load` of a file with one page until a search finds
/// the word that only this page has; ascending.
pub(crate) fn measure(
    server: &Server,
    weft: &Path,
    archive: &Path,
    dir: &Path,
    queries: &Queries,
) -> anyhow::Result<Vec<Duration>> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                clients::ask(server, queries, CLIENTS, Duration::from_secs(1))?;
            }
            anyhow::Ok(())
        });
        let times = one_by_one(server, weft, archive, dir);
        is_over.store(true, Ordering::Relaxed);
        asking.join().ok().context("a client thread panicked")??;
        times
    })
}

fn one_by_one(server: &Server, weft: &Path, archive: &Path, dir: &Path) -> anyhow::Result<Vec<Duration>> {
    // The word depends on the run, because the pages of earlier runs are still in the archive.
    let run = format!("{:x}", std::process::id());
    let mut times = Vec::with_capacity(CAPTURES);
    for number in 0..CAPTURES {
        let word = format!("zq{run}x{number}");
        let file = dir.join(format!("{word}.warc"));
        write(&file, &word)?;
        let begin = Instant::now();
        let mut load = Command::new(weft)
            .arg("load")
            .arg(&file)
            .arg("--archive")
            .arg(archive)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start weft load")?;
        while server.get(&format!("/api/v1/search?q={word}"))?["total"] != 1 {
            ensure!(
                begin.elapsed() < TIME_MAX,
                "{word} was not found within {TIME_MAX:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        times.push(begin.elapsed());
        let status = load.wait()?;
        ensure!(status.success(), "weft load failed: {status}");
    }
    times.sort_unstable();
    Ok(times)
}

fn write(path: &Path, word: &str) -> anyhow::Result<()> {
    let body = format!("<html lang=en><title>A new page</title><p>It has the word {word}.");
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}").into_bytes();
    let url = format!("http://new.example/{word}");
    let mut writer = Writer::create(path, Compression::Plain)?;
    writer.write(&Draft::response(&url, DATE_MS, block))?;
    writer.finish()?;
    Ok(())
}
