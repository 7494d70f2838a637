//! Self-check of the demo: a few queries over HTTP, and the same through the archive's socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use generate::demo::Web;
use serde_json::Value;

use super::query_value;

use crate::stderr::progress_line;
use crate::stdout::Out;
use crate::web_server::WebServer;

/// Time limit of a query, far above what the demo needs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Queries the running demo. Prints each failed check on standard error and returns their number.
pub(crate) fn check(web: &Web, server: &WebServer, archive: &Path, out: &mut Out) -> anyhow::Result<u64> {
    let http = Http {
        address: server.address(),
    };
    let replay = server.replay_address().map(|address| Http { address });
    let mut checks = check_http(web, &http, replay.as_ref());
    checks.extend(check_socket(web, &Socket { archive }));
    let mut failed = 0;
    for (name, result) in &checks {
        match result {
            Ok(()) => writeln!(out, "ok      {name}")?,
            Err(error) => {
                failed += 1;
                out.flush()?;
                progress_line(&format!("failed  {name}: {error:#}"));
            }
        }
    }
    Ok(failed)
}

/// A name and the result of a check.
type Check = (&'static str, anyhow::Result<()>);

/// What a browser asks.
fn check_http(web: &Web, http: &Http, replay: Option<&Http>) -> Vec<Check> {
    let (url, query) = (query_value(&web.page_url), query_value(&web.query));
    let inlinks = format!("/api/v1/inlinks?url={url}");
    vec![
        ("home page over HTTP", http.page("/")),
        (
            "search over HTTP",
            http.json(&format!("/api/v1/search?q={query}"))
                .and_then(|answer| check_search(&answer, web)),
        ),
        (
            "in-links over HTTP",
            http.json(&inlinks).and_then(|answer| check_links(&answer, web)),
        ),
        (
            "captures over HTTP",
            http.get(&format!("/cdx?url={url}"))
                .and_then(|lines| check_captures(&lines, web)),
        ),
        (
            "calendar over HTTP",
            http.json(&format!("/api/v1/calendar?url={url}"))
                .and_then(|answer| check_calendar(&answer, web)),
        ),
        (
            "changes over HTTP",
            http.json(&format!("/api/v1/diff?url={url}"))
                .and_then(|answer| check_changes(&answer)),
        ),
        (
            "an archived page with its images, styles and scripts",
            replay
                .context("the server has no replay address")
                .and_then(|replay| check_replay(http, replay, web)),
        ),
    ]
}

/// What a command asks.
fn check_socket(web: &Web, socket: &Socket) -> Vec<Check> {
    let (page, start) = (web.page_url.as_str(), web.start_url.as_str());
    vec![
        (
            "search",
            socket
                .json(&["search", &web.query])
                .and_then(|answer| check_search(&answer, web)),
        ),
        (
            "in-links",
            socket
                .json(&["inlinks", page])
                .and_then(|answer| check_links(&answer, web)),
        ),
        (
            "captures",
            socket
                .run(&["cdx", page])
                .and_then(|lines| check_captures(&lines, web)),
        ),
        (
            "changes",
            socket
                .json(&["diff", page])
                .and_then(|answer| check_changes(&answer)),
        ),
        // Exit code 1 if parts are missing.
        (
            "parts of the start page",
            socket.run(&["replay-check", start]).map(drop),
        ),
        (
            "ranking",
            socket.json(&["top"]).and_then(|answer| check_ranks(&answer)),
        ),
        (
            "views",
            socket
                .run(&["dump", "pages"])
                .and_then(|rows| check_page_count(&rows, web)),
        ),
        (
            "no quarantine",
            socket.json(&["status"]).and_then(|answer| check_losses(&answer)),
        ),
    ]
}

/// Checks that the replayed start page has its style, script and logo.
fn check_replay(http: &Http, replay: &Http, web: &Web) -> anyhow::Result<()> {
    let framed = http.get(&format!("/replay/{}", web.start_url))?;
    let (_, rest) = framed
        .split_once("<iframe")
        .context("the replay bar has no frame")?;
    let src = rest
        .split("src=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let src = src.context("the frame has no address")?;
    let path = src
        .find("/replay/")
        .map(|begin| &src[begin..])
        .context("the frame shows no capture")?;
    let page = replay.get(path)?;
    for begin in [
        "<link rel=\"stylesheet\" href=\"",
        "<script src=\"",
        "<img src=\"",
    ] {
        let (_, rest) = page
            .split_once(begin)
            .with_context(|| format!("the page has no {begin:?}"))?;
        let part = rest.split('"').next().unwrap_or_default();
        ensure!(!replay.get(part)?.is_empty(), "{part} is empty");
    }
    Ok(())
}

fn check_search(answer: &Value, web: &Web) -> anyhow::Result<()> {
    let hits = answer["hits"].as_array().context("the answer has no hits")?;
    let found = hits.iter().any(|hit| hit["url"] == web.page_url.as_str());
    ensure!(
        found,
        "{} is not among the first {} results",
        web.page_url,
        hits.len()
    );
    Ok(())
}

fn check_links(answer: &Value, web: &Web) -> anyhow::Result<()> {
    let total = answer["total"].as_u64().context("the answer has no total")?;
    ensure!(
        total >= web.inlinks_min,
        "{total} pages link to {}, expected {} or more",
        web.page_url,
        web.inlinks_min
    );
    Ok(())
}

fn check_captures(lines: &str, web: &Web) -> anyhow::Result<()> {
    let captures = lines.lines().filter(|line| line.contains(&web.page_url)).count();
    let expected = web.crawled_ms.len();
    ensure!(captures == expected, "{captures} captures, expected {expected}");
    Ok(())
}

fn check_calendar(answer: &Value, web: &Web) -> anyhow::Result<()> {
    let contents = answer["contents"]
        .as_u64()
        .context("the answer has no contents")?;
    let expected = web.crawled_ms.len() as u64;
    ensure!(contents == expected, "{contents} contents, expected {expected}");
    Ok(())
}

fn check_changes(answer: &Value) -> anyhow::Result<()> {
    let parts = answer["parts"].as_array().context("the answer has no parts")?;
    let changed = |change: &str| parts.iter().any(|part| part["change"] == change);
    ensure!(changed("new"), "no new words");
    ensure!(changed("same"), "no words of the version before");
    Ok(())
}

fn check_ranks(answer: &Value) -> anyhow::Result<()> {
    let rows = answer["rows"].as_array().context("the answer has no rows")?;
    let counts: Vec<u64> = rows
        .iter()
        .filter_map(|row| row["inlinks_external"].as_u64())
        .collect();
    ensure!(
        !counts.is_empty() && counts.is_sorted_by(|a, b| a >= b),
        "not sorted by in-links: {counts:?}"
    );
    Ok(())
}

fn check_page_count(dump: &str, web: &Web) -> anyhow::Result<()> {
    let pages = dump.lines().count() as u64;
    ensure!(
        pages >= web.pages,
        "{pages} pages, expected {} or more",
        web.pages
    );
    Ok(())
}

fn check_losses(answer: &Value) -> anyhow::Result<()> {
    let quarantined = answer["quarantined"]
        .as_u64()
        .context("the answer has no quarantine")?;
    ensure!(quarantined == 0, "{quarantined} spans are quarantined");
    Ok(())
}

/// A client that queries the server as a browser does.
struct Http {
    address: SocketAddr,
}

impl Http {
    fn json(&self, path: &str) -> anyhow::Result<Value> {
        serde_json::from_str(&self.get(path)?).with_context(|| format!("read the answer of {path}"))
    }

    fn page(&self, path: &str) -> anyhow::Result<()> {
        let page = self.get(path)?;
        ensure!(page.contains("</html>"), "{path} is not a complete page");
        Ok(())
    }

    /// Returns the body of a page that must exist.
    #[expect(
        clippy::disallowed_methods,
        reason = "a single request to this process's own server, with timeouts"
    )]
    fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, ANSWER_TIMEOUT).context("connect")?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        // Under HTTP/1.0 the response is not chunked and ends when the connection closes.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address)?;
        let mut answer = Vec::new();
        stream
            .read_to_end(&mut answer)
            .with_context(|| format!("read {path}"))?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .with_context(|| format!("{path} gave no answer"))?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status != "200" {
            bail!("{path} gave status {status}");
        }
        Ok(body.to_owned())
    }
}

/// A client that runs this program in another process, which reaches the archive through its
/// owner's socket.
struct Socket<'a> {
    archive: &'a Path,
}

impl Socket<'_> {
    fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.run(&arguments)?).context("read its answer")
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let program = std::env::current_exe().context("find this program")?;
        let output = Command::new(program)
            .args(arguments)
            .arg("--archive")
            .arg(self.archive)
            .output()
            .with_context(|| format!("run weft {}", arguments.join(" ")))?;
        if !output.status.success() {
            bail!(
                "weft {} failed: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        String::from_utf8(output.stdout).context("read its output")
    }
}
