//! Self-check of the demo: a few queries over HTTP, and the same through the archive's socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use generate::demo::Web;
use serde_json::Value;

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
    let socket = Socket { archive };
    let url = encoded(&web.url);
    let query = encoded(&web.query);
    let checks: [(&str, anyhow::Result<()>); 10] = [
        ("home page over HTTP", http.page("/")),
        (
            "search over HTTP",
            http.json(&format!("/api/v1/search?q={query}"))
                .and_then(|a| check_search(&a, web)),
        ),
        (
            "in-links over HTTP",
            http.json(&format!("/api/v1/inlinks?url={url}"))
                .and_then(|a| check_links(&a, web)),
        ),
        (
            "captures over HTTP",
            http.get(&format!("/cdx?url={url}"))
                .and_then(|body| check_captures(&body, web)),
        ),
        (
            "an archived page with its images and styles",
            replay
                .context("the server has no replay address")
                .and_then(|replay| check_replay(&http, &replay, web)),
        ),
        (
            "search",
            socket
                .json(&["search", &web.query])
                .and_then(|a| check_search(&a, web)),
        ),
        (
            "in-links",
            socket
                .json(&["inlinks", &web.url])
                .and_then(|a| check_links(&a, web)),
        ),
        (
            "captures",
            socket
                .run(&["cdx", &web.url])
                .and_then(|text| check_captures(&text, web)),
        ),
        ("ranking", socket.json(&["top"]).and_then(|a| check_ranks(&a))),
        (
            "views",
            socket
                .run(&["dump", "pages"])
                .and_then(|text| check_page_count(&text, web)),
        ),
    ];
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

/// Checks that a replayed page has its own stylesheet and picture. A synthetic web has neither.
fn check_replay(http: &Http, replay: &Http, web: &Web) -> anyhow::Result<()> {
    let framed = http.get(&format!("/replay/{}", web.url))?;
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
    for begin in ["<link rel=\"stylesheet\" href=\"", "<img class=\"crate\" src=\""] {
        if let Some((_, rest)) = page.split_once(begin) {
            let part = rest.split('"').next().unwrap_or_default();
            ensure!(!replay.get(part)?.is_empty(), "{part} is empty");
        } else {
            ensure!(
                !web.url.starts_with("https://crates.io/"),
                "the page has no {begin:?}"
            );
        }
    }
    Ok(())
}

fn check_search(answer: &Value, web: &Web) -> anyhow::Result<()> {
    let hits = answer["hits"].as_array().context("the answer has no hits")?;
    let found = hits.iter().any(|hit| hit["url"] == web.url.as_str());
    ensure!(found, "{} is not among the first {} results", web.url, hits.len());
    Ok(())
}

fn check_links(answer: &Value, web: &Web) -> anyhow::Result<()> {
    let total = answer["total"].as_u64().context("the answer has no total")?;
    ensure!(
        total >= web.inlinks_min,
        "{total} pages link to {}, expected {} or more",
        web.url,
        web.inlinks_min
    );
    Ok(())
}

fn check_captures(lines: &str, web: &Web) -> anyhow::Result<()> {
    ensure!(
        lines.lines().any(|line| line.contains(&web.url)),
        "no capture of {} in {lines:?}",
        web.url
    );
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

/// Escapes `text` for a query string.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn query_strings_are_encoded() {
        assert_eq!(encoded("https://a.b/c?d=é"), "https%3A%2F%2Fa.b%2Fc%3Fd%3D%C3%A9");
    }
}
