//! What users search: an archive that `weft load` has filled, and `weft serve` in front of it, both
//! with default settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use bench::http::{Connection, encoded};
use bench::weft_server::Server;
use search::Document;
use serde_json::Value;
use tempfile::TempDir;
use warc::{Compression, Draft, Writer};

/// The pages of documents are at this address, followed by the number of the document. Their words
/// should not be in any query.
const PLACE: &str = "http://judged.invalid/d";

/// 2020-01-01, when all documents were captured.
const DATE_MS: i64 = 1_577_836_800_000;

/// A server over an archive in a temporary folder.
pub(crate) struct Served {
    /// Ends before the folder is removed.
    server: Server,
    _dir: TempDir,
}

impl Served {
    /// Loads and serves documents, each as a web page.
    pub(crate) fn documents(weft: &Path, documents: &[Document]) -> anyhow::Result<Served> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("documents.warc");
        write(&file, documents).context("write the documents as a WARC file")?;
        Served::start(weft, dir, &[file])
    }

    /// Loads and serves files of a crawl.
    pub(crate) fn files(weft: &Path, files: &[PathBuf]) -> anyhow::Result<Served> {
        Served::start(weft, tempfile::tempdir()?, files)
    }

    fn start(weft: &Path, dir: TempDir, files: &[PathBuf]) -> anyhow::Result<Served> {
        let archive = dir.path().join("archive");
        let status = Command::new(weft)
            .arg("load")
            .args(files)
            .arg("--archive")
            .arg(&archive)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("start weft load")?;
        ensure!(status.success(), "weft load failed: {status}");
        let server = Server::weft(weft, &archive, &["--no-replay"])?;
        Ok(Served { server, _dir: dir })
    }

    /// Returns the URL keys of the best results of a query.
    pub(crate) fn keys(&self, query: &str, limit: usize) -> anyhow::Result<Vec<String>> {
        let path = format!("/api/v1/search?q={}&limit={limit}", encoded(query));
        let answer = Connection::open(self.server.address)?.get(&path)?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!(answer.status == 200, "{path}: status {}: {text}", answer.status);
        let found: Value =
            serde_json::from_str(&text).with_context(|| format!("parse the response to {path}"))?;
        let hits = found["hits"]
            .as_array()
            .context("the response has no list of results")?;
        let key = |hit: &Value| hit["url_key"].as_str().map(str::to_owned);
        let keys: Option<Vec<String>> = hits.iter().map(key).collect();
        keys.context("a result has no URL key")
    }

    /// Returns the names of the best documents for a query.
    pub(crate) fn names(
        &self,
        query: &str,
        documents: &[Document],
        limit: usize,
    ) -> anyhow::Result<Vec<String>> {
        let name = |key: String| {
            let number = key.rsplit_once("/d").and_then(|(_, number)| number.parse().ok());
            let document = number.and_then(|number: usize| documents.get(number));
            let document = document.with_context(|| format!("{key} is no document"))?;
            Ok(document.url_key.clone())
        };
        self.keys(query, limit)?.into_iter().map(name).collect()
    }
}

fn write(file: &Path, documents: &[Document]) -> anyhow::Result<()> {
    let mut writer = Writer::create(file, Compression::Plain)?;
    for (number, document) in documents.iter().enumerate() {
        let block = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{}",
            html(document)
        );
        writer.write(&Draft::response(
            &format!("{PLACE}{number}"),
            DATE_MS,
            block.into_bytes(),
        ))?;
    }
    writer.finish()?;
    Ok(())
}

fn html(document: &Document) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html><html lang=\"{}\"><title>{}</title><p>{}</p></html>",
        document.language,
        escaped(&document.title),
        escaped(&document.text)
    )
}
