//! Typical web pages, with styles, scripts, navigation, paragraphs with links, pictures, and a
//! footer; and the pages of crawls.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use bench::http::Connection;
use serde_json::Value;
use warc::{Compression, Draft, Writer};

/// 2014-01-26T20:06:24Z
const CAPTURED_MS: i64 = 1_390_766_784_000;

/// The same time as digits.
const CAPTURED: &str = "20140126200624";

/// A page of the benchmark.
pub(crate) struct Page {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) time: String,
    /// The payload, as `id_` returns it.
    pub(crate) html: Vec<u8>,
}

impl Page {
    /// Returns the number of apparent references.
    pub(crate) fn links(&self) -> usize {
        let html = String::from_utf8_lossy(&self.html).to_ascii_lowercase();
        ["href=", "src=", "url("]
            .map(|word| html.matches(word).count())
            .iter()
            .sum()
    }
}

/// Returns a small, a medium and a large page.
pub(crate) fn made() -> Vec<Page> {
    [("small", 4 << 10), ("middle", 25 << 10), ("large", 100 << 10)]
        .map(|(name, bytes)| page(name, bytes))
        .into()
}

/// Returns a page of at least this many bytes, with a reference about every 180 bytes.
fn page(name: &'static str, bytes: usize) -> Page {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Looms and threads</title>\n\
         <link rel=\"stylesheet\" href=\"/styles/main.css\"><link rel=\"shortcut icon\" href=\"/favicon.ico\">\n\
         <style>body { margin: 0; background: #fff url(/images/paper.png) repeat } .nav li { display: inline }</style>\n\
         <script src=\"/scripts/main.js\"></script><script>var section = 'looms'; if (!section) { location.href = '/'; }</script>\n\
         </head><body class=\"front\">\n",
    );
    for number in 0.. {
        if html.len() >= bytes {
            break;
        }
        // Writing to a string never fails.
        let _ = match number % 8 {
            0 => writeln!(
                html,
                "<div class=\"teaser\" style=\"background:url('/images/bg{}.gif')\"><img src=\"/images/{number}.jpg\" width=\"120\" height=\"80\" alt=\"A loom\"></div>",
                number % 5
            ),
            1 => writeln!(
                html,
                "<li class=\"nav-item\"><a href=\"http://www.weavers.example/section/{}/\" title=\"To the section\">Section</a></li>",
                number % 12
            ),
            2 => writeln!(
                html,
                "<p class=\"ad\"><a href=\"//ads.example/click?id={number}&amp;to=loom\" target=\"_blank\" onclick=\"count({number})\">A word from those who pay</a></p>"
            ),
            _ => writeln!(
                html,
                "<p>The warp is what the weft goes through, over and under, and number {number} of the threads is \
                 <a href=\"../threads/{number}.html\" class=\"more\">told of at length</a> where the pattern is.</p>"
            ),
        };
    }
    html.push_str("</body></html>\n");
    Page {
        name,
        url: format!("http://www.weavers.example/front/{name}"),
        time: CAPTURED.to_owned(),
        html: html.into_bytes(),
    }
}

/// Returns the HTML pages of an index (CDXJ): one capture of each URL, if its payload is available.
pub(crate) fn of_index(cdxj: &Path, replay: SocketAddr) -> anyhow::Result<Vec<Page>> {
    let text = std::fs::read_to_string(cdxj).with_context(|| format!("read {}", cdxj.display()))?;
    let mut connection = Connection::open(replay)?;
    let (mut pages, mut seen) = (Vec::new(), BTreeSet::new());
    for line in text.lines() {
        let mut parts = line.splitn(3, ' ');
        let (Some(_), Some(time), Some(fields)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let fields: Value = serde_json::from_str(fields)?;
        let is_page = fields["mime"] == "text/html" && fields["status"] == "200";
        let url = fields["url"].as_str().unwrap_or_default();
        if !is_page || !seen.insert(url.to_owned()) {
            continue;
        }
        let payload = connection.get(&format!("/replay/{time}id_/{url}"))?;
        if payload.status == 200 && !payload.body.is_empty() {
            pages.push(Page {
                name: "crawl",
                url: url.to_owned(),
                time: time.to_owned(),
                html: payload.body,
            });
        }
    }
    Ok(pages)
}

/// Writes the pages as captures.
pub(crate) fn write(file: &Path, pages: &[Page]) -> anyhow::Result<()> {
    let mut writer = Writer::create(file, Compression::GZIP)?;
    for page in pages {
        let mut message = format!(
            "HTTP/1.1 200 OK\r\nServer: Apache\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
            page.html.len()
        )
        .into_bytes();
        message.extend_from_slice(&page.html);
        writer.write(&Draft::response(&page.url, CAPTURED_MS, message))?;
    }
    writer.finish()?;
    Ok(())
}
